"""All moves in their order: whether there is room at every moment.

Moves of a stage may run in any order and at once. So while it runs, all its copies are there and all that it brings is
carried, and nothing that it takes away is gone yet. When it is over, what it took away is. Plans from elsewhere have no
order: all their moves are one stage, and brokers are judged by what they carry at the end of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from guardian.model.plan import PartitionMove, Plan
from spark_analytics.checker.rules import Rule, Violation
from spark_analytics.checker.world import DISK, RESOURCES, TOLERANCE, Held, World, after


def check_stages(world: World, plan: Plan) -> Iterator[Violation]:
    held, usable = held_by_disk(world), {disk: usable for disk, (_, usable) in world.room.items()}
    used = {broker: list(world.carried.get(broker, _NOTHING))[: len(RESOURCES)] for broker in world.brokers}
    last = -1
    for move in plan.moves:
        if move.stage < last:
            yield Violation(Rule.TASK, f"{move.partition} is in stage {move.stage} and comes after stage {last}")
        last = max(last, move.stage)
    for stage, moves in sorted(_by_stage(plan).items()):
        copied, freed = copies(world, moves)
        yield from _disks_full(world, stage, held, usable, copied)
        for disk in copied.keys() | freed.keys():
            held[disk] += copied[disk] - freed[disk]
            usable[disk] += freed[disk] - copied[disk]
        gained, change = carried(world, moves)
        if plan.is_ordered:
            yield from _brokers_full(world, stage, used, gained)
        for broker, loads in change.items():
            for resource, load in enumerate(loads):
                used[broker][resource] += load
    if not plan.is_ordered:
        yield from _over_at_the_end(world, used)


def _by_stage(plan: Plan) -> Mapping[int, Sequence[PartitionMove]]:
    stages: dict[int, list[PartitionMove]] = defaultdict(list)
    for move in plan.moves:
        stages[move.stage].append(move)
    return stages


def held_by_disk(world: World) -> dict[int, float]:
    """Bytes of replicas on each disk."""
    held: dict[int, float] = defaultdict(float)
    for place, (size, _) in world.stored.items():
        held[world.disk_of[place]] += size
    return held


_NOTHING = (0.0,) * len(RESOURCES)


def copies(world: World, moves: Sequence[PartitionMove]) -> tuple[dict[int, float], dict[int, float]]:
    """Bytes that come to each disk, and that leave it when all is over.

    A copy into one of several log dirs that the broker chooses is not charged: it chooses one with room. What is to be
    created is charged with the size that the plan expects of it.
    """
    copied: dict[int, float] = defaultdict(float)
    freed: dict[int, float] = defaultdict(float)
    for move in moves:
        if move.is_new:
            for place in move.target:
                created_in = world.where(place)
                if created_in is not None and created_in in world.disk_of:
                    copied[world.disk_of[created_in]] += move.size_bytes
            continue
        now = {held.place: held for held in world.partitions[move.partition]}
        stays = set()
        for place, maybe in after(world, move):
            log_dir = world.where(place)
            if log_dir in now:
                stays.add(log_dir)
            elif place.log_dir == "any" and place.broker in {held.broker for held in maybe}:
                stays.update(held.place for held in maybe if held.broker == place.broker)
            elif log_dir is not None and log_dir in world.disk_of:
                copied[world.disk_of[log_dir]] += min(held.load[DISK] for held in maybe)
        for at, held in now.items():
            if at not in stays:
                freed[held.disk] += held.load[DISK]
    return copied, freed


def _disks_full(
    world: World, stage: int, held: Mapping[int, float], usable: Mapping[int, float], copied: Mapping[int, float]
) -> Iterator[Violation]:
    for disk, incoming in sorted(copied.items()):
        total, _ = world.room[disk]
        limit, slack = world.settings.disk_limit * total, TOLERANCE * total + 1
        if incoming > 0 and held[disk] + incoming > limit + slack:
            yield Violation(
                Rule.DISK_ROOM,
                f"{_log_dirs(world, disk)} in stage {stage}: {held[disk]:.0f} B and {incoming:.0f} B more "
                f"exceed {limit:.0f} B",
            )
        reserve = world.settings.disk_reserve * total
        if incoming > 0 and incoming > usable[disk] - reserve + slack:
            yield Violation(
                Rule.DISK_ROOM,
                f"{_log_dirs(world, disk)} in stage {stage}: {incoming:.0f} B more leave less than {reserve:.0f} of "
                f"{usable[disk]:.0f} B usable",
            )


def _log_dirs(world: World, disk: int) -> str:
    return ", ".join(f"{at.broker}:{at.log_dir}" for at, on in world.disk_of.items() if on == disk)


def carried(world: World, moves: Sequence[PartitionMove]) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Return by broker the sum of what moves add there, and what all of them change in the end: the least that it can
    be.
    """
    gained: dict[int, list[float]] = defaultdict(lambda: [0.0] * len(RESOURCES))
    change: dict[int, list[float]] = defaultdict(lambda: [0.0] * len(RESOURCES))
    for move in moves:
        if move.is_new:
            continue
        for broker, loads in _difference(world, move).items():
            for resource, load in enumerate(loads):
                gained[broker][resource] += max(0.0, load)
                change[broker][resource] += load
    return gained, change


def _difference(world: World, move: PartitionMove) -> dict[int, list[float]]:
    """Return what the move changes at each broker."""
    difference: dict[int, list[float]] = defaultdict(lambda: [0.0] * len(RESOURCES))
    leads = world.leader_load[move.partition]
    for nth, held in enumerate(world.partitions[move.partition]):
        _add(difference[held.broker], held, leads if nth == 0 else _NOTHING, -1)
    for nth, (place, maybe) in enumerate(after(world, move)):
        lightest = min(maybe, key=lambda held: tuple(held.load)) if maybe else None
        if lightest is not None:
            _add(difference[place.broker], lightest, leads if nth == 0 else _NOTHING, 1)
    return difference


def _add(loads: list[float], held: Held, leads: Sequence[float], sign: int) -> None:
    for resource in range(len(RESOURCES)):
        loads[resource] += sign * (held.load[resource] + leads[resource])


def _brokers_full(
    world: World, stage: int, used: Mapping[int, Sequence[float]], gained: Mapping[int, Sequence[float]]
) -> Iterator[Violation]:
    for broker, loads in sorted(gained.items()):
        for resource, load in enumerate(loads):
            limit, now = world.brokers[broker].limits[resource], used[broker][resource]
            if load > TOLERANCE * (now + load) and now + load > limit * (1 + TOLERANCE):
                yield Violation(
                    Rule.CAPACITY,
                    f"broker {broker} in stage {stage}: {RESOURCES[resource]} {now:.6g} and {load:.6g} more "
                    f"exceed {limit:.6g}",
                )


def _over_at_the_end(world: World, used: Mapping[int, Sequence[float]]) -> Iterator[Violation]:
    for broker, loads in sorted(used.items()):
        for resource, load in enumerate(loads):
            limit, was = world.brokers[broker].limits[resource], world.carried.get(broker, _NOTHING)[resource]
            if load > limit * (1 + TOLERANCE) and load > was * (1 + TOLERANCE):
                yield Violation(
                    Rule.CAPACITY,
                    f"broker {broker}: {RESOURCES[resource]} from {was:.6g} to {load:.6g}, above {limit:.6g}",
                )
