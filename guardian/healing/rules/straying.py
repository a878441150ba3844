"""Replicas that have strayed to excluded brokers go elsewhere: which they are, and a plan that moves them.

    excluded broker:   held when it was excluded ──▶ may stay (a removal or a person decides about them)
                       anything else ─────────────▶ stray: it goes to the broker that suits best

A replica strays where Kafka knows no cordons, or somebody names the broker explicitly. It is new there, so the plan is
a simple one. Each stray goes to a live broker that is not excluded and that the topic's labels allow. Of these, one is
chosen that keeps the data centres that its policy asks for, then racks apart, then stays in the same data centre, then
has the fewest replicas. None gets more than its disks may hold by the planner's limits. What can't be placed is said,
and stays.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from guardian.federation.rules.placing import suits
from guardian.healing.rules.cure import was_withdrawn
from guardian.model.cluster_state import LogDir, PartitionState
from guardian.model.cordon import Cordon
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from guardian.model.units import human_bytes

KIND = "stray-replicas"
MAX_MOVES = 500  # of one ticket; the rest goes with the next one
RETRY_MS = 300_000  # after a ticket that failed, was refused or was withdrawn
_MAX_EVIDENCE = 20
_AGAIN = (TicketState.FAILED, TicketState.EXPIRED, TicketState.SUCCEEDED, TicketState.ROLLED_BACK)
_REFUSED = (TicketState.REJECTED, TicketState.CANCELLED)
_RESTS = (TicketState.FAILED, *_REFUSED)


@dataclass(frozen=True, slots=True)
class BrokerPlace:
    """A live broker: where it stands, and for whom."""

    rack: str = ""
    idc: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What people have said: labels by topic (`placing.labels_by_topic`), labels whose brokers take anybody's, and the
    replicas by data centre that a topic's policy asks for."""

    labels: Mapping[str, Collection[str]] = field(default_factory=dict)
    shared: Collection[str] = ()
    idcs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Disks:
    """What brokers tell of their log dirs. `room`, of each broker that told and each log dir that is online, is how
    many bytes may still come there, infinite where the broker does not know. `sizes` are of the largest replica that
    was told, in bytes.
    """

    room: Mapping[int, Mapping[str, float]]
    sizes: Mapping[TopicPartition, int]

    @classmethod
    def of(cls, log_dirs: Iterable[LogDir], disk_limit: float, disk_reserve: float) -> Disks:
        """`disk_limit` is the share of a disk that replicas may fill, `disk_reserve` the share that stays usable."""
        room: dict[int, dict[str, float]] = {}
        sizes: dict[TopicPartition, int] = {}
        for each in log_dirs:
            of_broker = room.setdefault(each.broker, {})
            if not each.error:
                of_broker[each.path] = _room(each, disk_limit, disk_reserve)
            for partition, replica in each.replicas.items():
                sizes[partition] = max(sizes.get(partition, 0), replica.size_bytes)
        return cls(room, sizes)


@dataclass(frozen=True, slots=True)
class Relocation:
    """`plan` None: no stray can be moved now. `unplaced` are sentences about those that nobody can take."""

    plan: Plan | None
    unplaced: tuple[str, ...]


def strays(
    cordons: Iterable[Cordon],
    partitions: Mapping[TopicPartition, PartitionState],
    leave: Collection[TopicPartition] = (),
) -> dict[TopicPartition, tuple[int, ...]]:
    """Return by partition the excluded brokers that it has strayed to; `leave` are those that somebody moves
    already.
    """
    held = {cordon.broker_id: cordon.held for cordon in cordons if not cordon.is_lifted}
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for partition, state in sorted(partitions.items()):
        brokers = tuple(broker for broker in state.replicas if broker in held and partition not in held[broker])
        if brokers and partition not in leave:
            found[partition] = brokers
    return found


def relocate(
    cluster: str,
    found: Mapping[TopicPartition, tuple[int, ...]],
    partitions: Mapping[TopicPartition, PartitionState],
    brokers: Mapping[int, BrokerPlace],
    excluded: Collection[int],
    rules: Rules,
    disks: Disks,
    now_ms: int,
) -> Relocation:
    """A plan for the strays. `brokers` are the live ones, `partitions` all of the cluster's."""
    loads = Counter(broker for state in partitions.values() for broker in state.replicas)
    room = {broker: dict(log_dirs) for broker, log_dirs in disks.room.items()}
    moves: list[PartitionMove] = []
    unplaced: list[str] = []
    for partition, strayed in found.items():
        if len(moves) == MAX_MOVES:
            break
        before = tuple(map(ReplicaPlacement, partitions[partition].replicas))
        replicas, size = list(before), disks.sizes.get(partition)
        for broker in strayed:
            held = [replica.broker for replica in replicas]
            able = _able(partition, held, brokers, excluded, rules)
            roomy = [each for each in able if size is not None and size <= _most_room(room, each)]
            if not roomy:
                unplaced.append(f"{partition} has strayed to broker {broker}, and {_why_nobody(able, size, room)}")
                continue
            taker = _nearest(roomy, partition, broker, held, brokers, rules, loads)
            replicas[held.index(broker)] = _placed(taker, size or 0, room[taker])
            loads[taker] += 1
        if tuple(replicas) != before:
            moves.append(_move(partition, before, tuple(replicas), strayed))
    said = tuple(_first(unplaced))
    if not moves:
        return Relocation(None, said)
    names = ", ".join(map(str, sorted({broker for strayed in found.values() for broker in strayed})))
    told = f"replicas that came to excluded brokers ({names}) after they were excluded"
    plan = Plan(cluster, KIND, tuple(moves), now_ms, told, unmet=said, notes=(f"moves {told}",))
    return Relocation(plan, said)


def evidence(plan: Plan) -> list[str]:
    """Return what was seen, a line for each partition, and how many more there are."""
    lines = [f"{move.partition} is on brokers {list(move.original_brokers)}: {move.reason}" for move in plan.moves]
    return _first(lines)


def idempotency_key(plan: Plan, tickets: Iterable[Ticket]) -> str:
    """Return the key by which the same strays make one ticket; `tickets` are those of this kind, newest first.

    Where a person has refused it, that holds; where the newest one like it has ended otherwise, or a storm took it
    back, strays that look the same are new."""
    content = ";".join(f"{move.partition}:{move.original_brokers}" for move in plan.moves)
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    alike = (each for each in tickets if each.kind == KIND and each.idempotency_key.endswith(f"-{digest}"))
    newest = next(alike, None)
    if newest is None:
        return f"{KIND}-{plan.cluster}-{digest}"
    if newest.state in _AGAIN or (newest.state in _REFUSED and was_withdrawn(newest)):
        return f"{KIND}-{plan.cluster}-{newest.id}-{digest}"
    return newest.idempotency_key


def why_not_now(tickets: Iterable[Ticket], now_ms: int) -> str:
    """Say why no ticket is made for strays of this cluster now, by its tickets; empty: make one."""
    ours = [ticket for ticket in tickets if ticket.kind == KIND]
    under_way = next((ticket for ticket in ours if not ticket.state.is_over), None)
    if under_way is not None:
        return f"ticket {under_way.id} ({under_way.state.name}) moves strays already"
    last = next(
        (ticket for ticket in ours if ticket.state in _RESTS and now_ms - ticket.updated_at_ms < RETRY_MS),
        None,
    )
    return f"ticket {last.id} is {last.state.name} since a short while: the next one comes later" if last else ""


def _first(lines: list[str]) -> list[str]:
    more = len(lines) - _MAX_EVIDENCE
    return [*lines[:_MAX_EVIDENCE], f"and {more} more"] if more > 0 else lines


def _room(log_dir: LogDir, disk_limit: float, disk_reserve: float) -> float:
    """Return the log dir's room as planners count it, in bytes, without what they know of growth."""
    if log_dir.total_bytes < 0 or log_dir.usable_bytes < 0:
        return math.inf
    held = sum(each.size_bytes for each in (*log_dir.replicas.values(), *log_dir.future_replicas.values()))
    below_limit = disk_limit * log_dir.total_bytes - held
    return max(0.0, min(below_limit, log_dir.usable_bytes - disk_reserve * log_dir.total_bytes))


def _most_room(room: Mapping[int, Mapping[str, float]], broker: int) -> float:
    """Return the most room in one log dir, in bytes; -1 where the broker has told of none that is online."""
    return max(room.get(broker, {}).values(), default=-1.0)


def _placed(broker: int, size: int, room: dict[str, float]) -> ReplicaPlacement:
    """Place a replica in the log dir with most room, of which it takes its part; where all are alike to us, the broker
    chooses.
    """
    path = max(sorted(room), key=lambda each: room[each])
    is_free_to_choose = len(room) == 1 or all(map(math.isinf, room.values()))
    room[path] -= size
    return ReplicaPlacement(broker, ANY_LOG_DIR if is_free_to_choose else path)


def _able(
    partition: TopicPartition,
    held: Collection[int],
    brokers: Mapping[int, BrokerPlace],
    excluded: Collection[int],
    rules: Rules,
) -> list[int]:
    labels = rules.labels.get(partition.topic, ())
    return [
        broker
        for broker, place in brokers.items()
        if broker not in held and broker not in excluded and suits(place.label, labels, rules.shared)
    ]


def _why_nobody(able: Collection[int], size: int | None, room: Mapping[int, Mapping[str, float]]) -> str:
    if not able:
        return "no other broker may take it"
    if size is None:
        return "no broker tells how large it is"
    roomiest = max(sorted(able), key=lambda broker: _most_room(room, broker))
    most = _most_room(room, roomiest)
    if most < 0:
        return f"no broker that may take it ({', '.join(map(str, sorted(able)))}) tells of a log dir that is online"
    return (
        f"no broker that may take it has room for its {human_bytes(size)}: disk_limit and disk_reserve leave "
        f"{human_bytes(most)} at most, on broker {roomiest}"
    )


def _nearest(
    able: Collection[int],
    partition: TopicPartition,
    stray: int,
    held: Collection[int],
    brokers: Mapping[int, BrokerPlace],
    rules: Rules,
    loads: Counter[int],
) -> int:
    others = [brokers.get(broker, BrokerPlace()) for broker in held if broker != stray]
    racks = Counter(place.rack for place in others)
    idcs = Counter(place.idc for place in others)
    wanted = rules.idcs.get(partition.topic)
    home = brokers.get(stray, BrokerPlace()).idc

    def cost(broker: int) -> tuple[int, int, int, int, int]:
        place = brokers[broker]
        breaks_policy = wanted is not None and idcs[place.idc] >= wanted.get(place.idc, 0)
        shares_rack = racks[place.rack] if place.rack else 0
        return (int(breaks_policy), shares_rack, int(place.idc != home), loads[broker], broker)

    return min(able, key=cost)


def _move(
    partition: TopicPartition,
    before: tuple[ReplicaPlacement, ...],
    after: tuple[ReplicaPlacement, ...],
    strayed: tuple[int, ...],
) -> PartitionMove:
    named = ", ".join(map(str, strayed))
    return PartitionMove(
        partition,
        before,
        after,
        reason=f"it came to broker {named}, which is excluded, after it was excluded",
        goal="exclusion",
    )
