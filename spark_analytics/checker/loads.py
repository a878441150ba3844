"""The load table, added up again from nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from guardian.model.plan import PartitionMove, Plan
from guardian.model.topology import ANY_LOG_DIR
from spark_analytics.checker.rules import Rule, Violation
from spark_analytics.checker.world import CPU, DISK, NW_IN, NW_OUT, RESOURCES, TOLERANCE, Held, World, after

_OF_BROKER = (*RESOURCES, "replicas", "leaders")
_OF_LOG_DIR = ("disk", "disk_io")

Key = tuple[int, str, str]  # broker, log dir, resource
Sums = Mapping[Key, float]


def check_loads(world: World, plan: Plan, totals: tuple[Sums, Sums, Sums]) -> Iterator[Violation]:
    """Check the loads of the resources that the table has rows of: new ones may come, and older tables have fewer."""
    rows = {(row.broker, row.log_dir, str(row.resource)): row for row in plan.loads}
    before, will, slack = totals
    for key in _expected(world, rows):
        if key not in rows:
            yield Violation(Rule.LOADS, f"{_words(key)} is missing")
            continue
        row = rows[key]
        near = TOLERANCE * max(abs(before[key]), abs(will[key]), 1.0)
        if abs(row.before - before[key]) > near or abs(row.after - will[key]) > near + slack[key]:
            yield Violation(
                Rule.LOADS,
                f"{_words(key)} {row.before:.6g} -> {row.after:.6g}, but it adds up to "
                f"{before[key]:.6g} -> {will[key]:.6g}",
            )
        if not row.log_dir and not world.brokers[row.broker].alive and not row.is_leaving:
            yield Violation(Rule.LOADS, f"{_words(key)} counts, though its broker is dead")
    yield from _in_all(world, plan, will)
    for broker, log_dir, resource in sorted(rows):
        known = broker in world.brokers and (not log_dir or log_dir in world.paths.get(broker, (ANY_LOG_DIR,)))
        if not known:
            yield Violation(Rule.LOADS, f"{_words((broker, log_dir, resource))} is not in the model")


def _in_all(world: World, plan: Plan, will: Sums) -> Iterator[Violation]:
    """Whichever replica goes where, all brokers carry as much together, unless replicas are made or dropped."""
    if any(move.is_new or len(move.target) != len(world.partitions[move.partition]) for move in plan.moves):
        return
    told: dict[str, float] = defaultdict(float)
    summed: dict[str, float] = defaultdict(float)
    for row in plan.loads:
        if not row.log_dir and str(row.resource) in _OF_BROKER and row.broker in world.brokers:
            told[row.resource] += row.after
            summed[row.resource] += will[(row.broker, "", str(row.resource))]
    for resource in sorted(told):
        if abs(told[resource] - summed[resource]) > TOLERANCE * max(abs(summed[resource]), 1.0):
            yield Violation(
                Rule.LOADS,
                f"all brokers {resource} after is {told[resource]:.6g}, but it adds up to {summed[resource]:.6g}",
            )


def as_told(plan: Plan, totals: tuple[Sums, Sums, Sums]) -> Sums:
    """Loads after, of the ways in which replicas may go to their places by the one that the plan's load table tells.

    What the table leaves out, or tells wrongly, is as it adds up here.
    """
    _, will, slack = totals
    told = dict(will)
    for row in plan.loads:
        key = row.broker, row.log_dir, str(row.resource)
        if key in told and abs(row.after - told[key]) <= slack[key]:
            told[key] = row.after
    return defaultdict(float, told)


def _words(key: Key) -> str:
    broker, log_dir, resource = key
    return f"{f'log dir {log_dir} of ' if log_dir else ''}broker {broker} {resource}"


def _expected(world: World, rows: Mapping[Key, object]) -> Iterator[Key]:
    """A row for each broker and known log dir, of each resource that is in the table. New machines may stay out."""
    of_broker = {resource for _, log_dir, resource in rows if not log_dir} & set(_OF_BROKER)
    of_log_dir = {resource for _, log_dir, resource in rows if log_dir} & set(_OF_LOG_DIR)
    for broker in sorted(world.paths):
        for resource in sorted(of_broker):
            yield broker, "", resource
        for path in world.paths[broker]:
            for resource in sorted(of_log_dir):
                if path != ANY_LOG_DIR:
                    yield broker, path, resource
    for broker in sorted(world.brokers.keys() - world.paths.keys()):
        for resource in sorted(of_broker):
            if (broker, "", resource) in rows:
                yield broker, "", resource


def sums(world: World, plan: Plan) -> tuple[Sums, Sums, Sums]:
    """Loads before, loads after, and by how much the latter can't be told.

    That is where a plan leaves open which replica goes where, or in which log dir, and where partitions are new.
    """
    before: dict[Key, float] = defaultdict(float)
    for broker, loads in world.carried.items():
        for resource, load in zip(_OF_BROKER, loads, strict=True):
            before[(broker, "", resource)] = load
    for place, loads in world.stored.items():
        for resource, load in zip(_OF_LOG_DIR, loads, strict=True):
            before[(place.broker, place.log_dir, resource)] = load
    will = before.copy()
    slack: dict[Key, float] = defaultdict(float)
    for move in plan.moves:
        leads = world.leader_load.get(move.partition)
        for nth, held in enumerate(world.partitions.get(move.partition, ())):
            _add(will, held.broker, held.log_dir, held, leads if nth == 0 else None, -1)
        _add_move(world, move, will, slack)
    return before, will, slack


def _add(
    loads: dict[Key, float], broker: int, log_dir: str, held: Held, leads: Sequence[float] | None, sign: int = 1
) -> None:
    for resource, load in zip(RESOURCES, held.load, strict=True):
        loads[(broker, "", resource)] += sign * load
    if leads is not None:
        for resource, load in zip(RESOURCES, leads, strict=True):
            loads[(broker, "", resource)] += sign * load
        loads[(broker, "", "leaders")] += sign
    loads[(broker, "", "replicas")] += sign
    loads[(broker, log_dir, "disk")] += sign * held.load[DISK]
    loads[(broker, log_dir, "disk_io")] += sign * held.io


def _add_move(world: World, move: PartitionMove, will: dict[Key, float], slack: dict[Key, float]) -> None:
    now = world.partitions.get(move.partition, ())
    leads = world.leader_load.get(move.partition, (0.0,) * len(RESOURCES))
    for nth, (place, maybe) in enumerate(after(world, move)):
        if move.is_new:
            _leave_open(world, slack, place.broker, float("inf"))
            will[(place.broker, "", "replicas")] += 1
            will[(place.broker, "", "leaders")] += nth == 0
            continue
        log_dir = world.where(place)
        if log_dir is None:  # the broker chooses: what its log dirs carry can't be told
            for path in world.paths.get(place.broker, ()):
                for resource in _OF_LOG_DIR:
                    slack[(place.broker, path, resource)] = float("inf")
        path = log_dir.log_dir if log_dir else ANY_LOG_DIR
        if place.log_dir == ANY_LOG_DIR and len(maybe) == 1 and maybe[0].broker == place.broker:
            path = maybe[0].log_dir
        _add(will, place.broker, path, maybe[0], leads if nth == 0 else None)
        _leave_open_between(slack, place.broker, path, maybe)
        if len(move.target) != len(now):
            changed = abs(len(move.target) - len(now)) * maybe[0].load[NW_IN]
            slack[(place.broker, "", "nw_out")] += changed + max(held.load[NW_OUT] for held in now)
            slack[(place.broker, "", "cpu")] += max(held.load[CPU] for held in now)


def _leave_open(world: World, slack: dict[Key, float], broker: int, amount: float) -> None:
    for resource in RESOURCES:
        slack[(broker, "", resource)] += amount
    for path in world.paths.get(broker, ()):
        for resource in _OF_LOG_DIR:
            slack[(broker, path, resource)] += amount


def _leave_open_between(slack: dict[Key, float], broker: int, path: str, maybe: Sequence[Held]) -> None:
    """Widen the slack by as much as the replicas differ of which one comes."""
    for index, resource in enumerate(RESOURCES):
        loads = [held.load[index] for held in maybe]
        slack[(broker, "", resource)] += max(loads) - min(loads)
    sizes, ios = [held.load[DISK] for held in maybe], [held.io for held in maybe]
    slack[(broker, path, "disk")] += max(sizes) - min(sizes)
    slack[(broker, path, "disk_io")] += max(ios) - min(ios)
