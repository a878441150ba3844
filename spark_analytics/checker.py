"""Does a plan keep the rules? Asked of every plan, also of one that was made elsewhere.

This is not the maker: it shares no code with the planners and goals, walks the plan in plain Python, and adds up the
loads again from nothing. Numbers here are slow and obvious on purpose.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from math import isclose

from guardian.model.plan import ANY_LOG_DIR, LoadSummary, PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners.settings import BalanceSettings


class Rule(Enum):
    """What a plan can break."""

    CLUSTER = "the plan is for another cluster"
    PARTITION_KNOWN = "a partition is not in the model"
    BROKER_KNOWN = "a broker is not in the model"
    LOG_DIR_KNOWN = "a log dir is not in the model"
    LOG_DIR_ONLINE = "a log dir is offline"
    REPLICATION_FACTOR = "the number of replicas changes"
    ONE_REPLICA_A_BROKER = "a broker would hold two replicas of a partition"
    ORIGINAL = "the original placement is not the model's"
    ONE_MOVE_A_PARTITION = "a partition is in the plan twice"
    RACKS = "replicas of a partition would stand in fewer racks"
    CAPACITY = "a disk would be too full"
    LOADS = "the load table is wrong"


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that the plan breaks, where, and by what numbers."""

    rule: Rule
    detail: str

    def __str__(self) -> str:
        return f"{self.rule.value}: {self.detail}"


def check(model: ClusterModel, plan: Plan, settings: BalanceSettings | None = None) -> tuple[Violation, ...]:
    """Every rule that the plan breaks on this model, in the plan's order. Empty when it keeps them all.

    An empty `original` stands for the model's, and "any" log dir for every one of its broker. The load table is
    checked where the plan has one.
    """
    facts = _Facts.of(model)
    found = [] if plan.cluster == model.cluster else [Violation(Rule.CLUSTER, f"{plan.cluster}, not {model.cluster}")]
    seen: set[TopicPartition] = set()
    for move in plan.moves:
        if move.partition in seen:
            found.append(Violation(Rule.ONE_MOVE_A_PARTITION, str(move.partition)))
        seen.add(move.partition)
        found.extend(_check_move(facts, move))
    if found:
        return tuple(found)  # the sums below need known places
    found.extend(_check_capacity(facts, plan, settings or BalanceSettings()))
    found.extend(_check_loads(facts, plan))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The model as plain dictionaries. `disk_of` maps a place to its disk, `room` a disk to (total, usable) bytes."""

    rack: Mapping[int, int]
    offline: Mapping[ReplicaPlacement, bool]
    disk_of: Mapping[ReplicaPlacement, int]
    room: Mapping[int, tuple[float, float]]
    replicas: Mapping[TopicPartition, tuple[ReplicaPlacement, ...]]
    rates: Mapping[TopicPartition, tuple[float, float]]  # written, read
    size: Mapping[TopicPartition, float]

    @classmethod
    def of(cls, model: ClusterModel) -> _Facts:
        places = [model.placement(index) for index in range(len(model.log_dirs))]
        totals, usable = model.disk_total_bytes.tolist(), model.disk_usable_bytes.tolist()
        return cls(
            rack=dict(zip(model.broker_ids.tolist(), model.rack.tolist(), strict=True)),
            offline=dict(zip(places, model.log_dir_offline.tolist(), strict=True)),
            disk_of=dict(zip(places, model.log_dir_disk.tolist(), strict=True)),
            room=dict(enumerate(zip(totals, usable, strict=True))),
            replicas={partition: model.replicas(index) for index, partition in enumerate(model.partitions)},
            rates={
                partition: (written, read)
                for partition, written, read in zip(
                    model.partitions, model.write_rate.tolist(), model.read_rate.tolist(), strict=True
                )
            },
            size=dict(zip(model.partitions, model.size_bytes.tolist(), strict=True)),
        )


def _check_move(facts: _Facts, move: PartitionMove) -> Iterator[Violation]:
    name = str(move.partition)
    now = facts.replicas.get(move.partition)
    if now is None:
        yield Violation(Rule.PARTITION_KNOWN, name)
        return
    if move.original and not _same_places(move.original, now):
        yield Violation(Rule.ORIGINAL, f"{name} is on {_words(now)}, the plan says {_words(move.original)}")
    if len(move.target) != len(now):
        yield Violation(Rule.REPLICATION_FACTOR, f"{name} from {len(now)} to {len(move.target)}")
    brokers = [place.broker for place in move.target]
    if len(set(brokers)) < len(brokers):
        yield Violation(Rule.ONE_REPLICA_A_BROKER, f"{name} on brokers {brokers}")
    for place in move.target:
        if place.broker not in facts.rack:
            yield Violation(Rule.BROKER_KNOWN, f"{name} on broker {place.broker}")
        elif place.log_dir != ANY_LOG_DIR and place not in facts.offline:
            yield Violation(Rule.LOG_DIR_KNOWN, f"{name} on {_words((place,))}")
        elif facts.offline.get(place, False) and place not in now:
            yield Violation(Rule.LOG_DIR_ONLINE, f"{name} on {_words((place,))}")
    before = {facts.rack[place.broker] for place in now}
    after = {facts.rack[broker] for broker in brokers if broker in facts.rack}
    if set(brokers) <= facts.rack.keys() and len(after) < len(before):
        yield Violation(Rule.RACKS, f"{name} from {len(before)} racks to {len(after)}")


def _same_places(claimed: tuple[ReplicaPlacement, ...], now: tuple[ReplicaPlacement, ...]) -> bool:
    """The same log dirs on the same brokers, in any order: samples do not tell the order of followers."""
    where = {place.broker: place.log_dir for place in now}
    return len(claimed) == len(now) and all(
        place.broker in where and place.log_dir in (ANY_LOG_DIR, where[place.broker]) for place in claimed
    )


def _words(places: tuple[ReplicaPlacement, ...]) -> str:
    return ", ".join(f"{place.broker}:{place.log_dir}" for place in places)


def _check_capacity(facts: _Facts, plan: Plan, settings: BalanceSettings) -> Iterator[Violation]:
    """All copies in, nothing freed yet. A copy into "any" log dir is not charged: its broker chooses one with room."""
    held: dict[int, float] = defaultdict(float)
    for partition, places in facts.replicas.items():
        for place in places:
            held[facts.disk_of[place]] += facts.size[partition]
    incoming: dict[int, float] = defaultdict(float)
    for move in plan.moves:
        for place in move.target:
            if place.log_dir != ANY_LOG_DIR and place not in facts.replicas[move.partition]:
                incoming[facts.disk_of[place]] += facts.size[move.partition]
    for disk, copied in sorted(incoming.items()):
        total, usable = facts.room[disk]
        where = _words(tuple(place for place, on in facts.disk_of.items() if on == disk))
        limit, reserve = settings.capacity_limit * total, settings.capacity_reserve * total
        if copied > 0 and held[disk] + copied > limit * (1 + _TOLERANCE):
            yield Violation(Rule.CAPACITY, f"{where}: {held[disk]:.0f} B and {copied:.0f} B more exceed {limit:.0f} B")
        if copied > 0 and usable - copied < reserve * (1 - _TOLERANCE):
            yield Violation(
                Rule.CAPACITY, f"{where} has {usable:.0f} B usable, {copied:.0f} B more leave less than {reserve:.0f} B"
            )


_TOLERANCE = 1e-6


def _check_loads(facts: _Facts, plan: Plan) -> Iterator[Violation]:
    if not plan.loads:
        return
    targets = {move.partition: move.target for move in plan.moves}
    before, after = _loads(facts, facts.replicas), _loads(facts, {**facts.replicas, **targets})
    guessed = {place.broker for move in plan.moves for place in move.target if place.log_dir == ANY_LOG_DIR}
    expected = {(broker, "") for broker in facts.rack}
    expected |= {(place.broker, place.log_dir) for place, offline in facts.offline.items() if not offline}
    rows = {(row.broker, row.log_dir): row for row in plan.loads}
    for key in sorted(expected ^ rows.keys()):
        yield Violation(Rule.LOADS, f"broker {key[0]} {key[1]}: is {'missing' if key in expected else 'not known'}")
    for key in sorted(expected & rows.keys()):
        if not _agrees(rows[key], before[key], after[key], known=key[0] not in guessed or not key[1]):
            row = rows[key]
            yield Violation(
                Rule.LOADS,
                f"broker {key[0]} {key[1]}: {row.before:.1f} -> {row.after:.1f} B/s, "
                f"but it adds up to {before[key]:.1f} -> {after[key]:.1f} B/s",
            )


def _agrees(row: LoadSummary, before: float, after: float, known: bool) -> bool:
    """Not `known`: the broker chooses the log dir of a copy, so what comes after can't be said."""
    return isclose(row.before, before, rel_tol=_TOLERANCE, abs_tol=1e-3) and (
        not known or isclose(row.after, after, rel_tol=_TOLERANCE, abs_tol=1e-3)
    )


def _loads(
    facts: _Facts, replicas: Mapping[TopicPartition, tuple[ReplicaPlacement, ...]]
) -> Mapping[tuple[int, str], float]:
    """bytes/s by (broker, "") and (broker, log dir): a replica writes what its partition takes in, the first serves."""
    loads: dict[tuple[int, str], float] = defaultdict(float)
    for partition, places in replicas.items():
        written, read = facts.rates[partition]
        for place in places:
            loads[(place.broker, "")] += written
            loads[(place.broker, place.log_dir)] += written
        loads[(places[0].broker, "")] += read
    return loads
