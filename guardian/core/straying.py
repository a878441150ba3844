"""Replicas that have strayed to excluded brokers go elsewhere: which they are, and a plan that moves them.

    excluded broker:   held when it was excluded ──▶ may stay (a removal or a person decides about them)
                       anything else ─────────────▶ stray: it goes to the broker that suits best

A replica strays where Kafka knows no cordons, or somebody names the broker explicitly. It is new there, so the plan is
a simple one: each stray goes to a live broker that is not excluded and that the topic's labels allow; of these, one
that keeps the data centres that its policy asks for, then racks apart, then stays in the same data centre, then has
the fewest replicas. What can't be placed is said, and stays.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from guardian.core.healing import was_withdrawn
from guardian.core.placing import suits
from guardian.model.cluster_state import PartitionState
from guardian.model.cordon import Cordon
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

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
class Relocation:
    """`plan` None: no stray can be moved now. `unplaced` are sentences about those that nobody can take."""

    plan: Plan | None
    unplaced: tuple[str, ...]


def strays(
    cordons: Iterable[Cordon],
    partitions: Mapping[TopicPartition, PartitionState],
    leave: Collection[TopicPartition] = (),
) -> dict[TopicPartition, tuple[int, ...]]:
    """By partition, the excluded brokers that it has strayed to; `leave` are those that somebody moves already."""
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
    now_ms: int,
) -> Relocation:
    """A plan for the strays. `brokers` are the live ones, `partitions` all of the cluster's."""
    loads = Counter(broker for state in partitions.values() for broker in state.replicas)
    moves: list[PartitionMove] = []
    unplaced: list[str] = []
    for partition, strayed in list(found.items())[:MAX_MOVES]:
        replicas = list(partitions[partition].replicas)
        for broker in strayed:
            taker = _taker(partition, broker, replicas, brokers, excluded, rules, loads)
            if taker is None:
                unplaced.append(f"{partition} has strayed to broker {broker}, and no other broker may take it")
                continue
            replicas[replicas.index(broker)] = taker
            loads[taker] += 1
        if tuple(replicas) != partitions[partition].replicas:
            moves.append(_move(partition, partitions[partition].replicas, tuple(replicas), strayed))
    if not moves:
        return Relocation(None, tuple(unplaced))
    names = ", ".join(map(str, sorted({broker for strayed in found.values() for broker in strayed})))
    told = f"replicas that came to excluded brokers ({names}) after they were excluded"
    plan = Plan(cluster, KIND, tuple(moves), now_ms, told, unmet=tuple(unplaced), notes=(f"moves {told}",))
    return Relocation(plan, tuple(unplaced))


def evidence(plan: Plan) -> list[str]:
    """What was seen, a line for each partition, and how many more there are."""
    lines = [f"{move.partition} is on brokers {list(move.original_brokers)}: {move.reason}" for move in plan.moves]
    more = len(lines) - _MAX_EVIDENCE
    return [*lines[:_MAX_EVIDENCE], f"and {more} more"] if more > 0 else lines


def idempotency_key(plan: Plan, tickets: Iterable[Ticket]) -> str:
    """The same strays make one ticket. Where a person has refused it, that holds; where one like it has ended
    otherwise, or a storm took it back, strays that look the same are new."""
    rounds = sum(
        ticket.state in _AGAIN or (ticket.state in _REFUSED and was_withdrawn(ticket))
        for ticket in tickets
        if ticket.kind == KIND
    )
    content = ";".join(f"{move.partition}:{move.original_brokers}" for move in plan.moves)
    return f"{KIND}-{plan.cluster}-{rounds}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def why_not_now(tickets: Iterable[Ticket], now_ms: int) -> str:
    """Why no ticket is made for strays of this cluster now, by its tickets; empty: make one."""
    ours = [ticket for ticket in tickets if ticket.kind == KIND]
    under_way = next((ticket for ticket in ours if not ticket.state.is_over), None)
    if under_way is not None:
        return f"ticket {under_way.id} ({under_way.state.name}) moves strays already"
    last = next(
        (ticket for ticket in ours if ticket.state in _RESTS and now_ms - ticket.updated_at_ms < RETRY_MS),
        None,
    )
    return f"ticket {last.id} is {last.state.name} since a short while: the next one comes later" if last else ""


def _taker(
    partition: TopicPartition,
    stray: int,
    replicas: list[int],
    brokers: Mapping[int, BrokerPlace],
    excluded: Collection[int],
    rules: Rules,
    loads: Counter[int],
) -> int | None:
    labels = rules.labels.get(partition.topic, ())
    others = [brokers.get(broker, BrokerPlace()) for broker in replicas if broker != stray]
    racks = Counter(place.rack for place in others)
    idcs = Counter(place.idc for place in others)
    wanted = rules.idcs.get(partition.topic)
    home = brokers.get(stray, BrokerPlace()).idc

    def cost(broker: int) -> tuple[int, int, int, int, int]:
        place = brokers[broker]
        breaks_policy = wanted is not None and idcs[place.idc] >= wanted.get(place.idc, 0)
        shares_rack = racks[place.rack] if place.rack else 0
        return (int(breaks_policy), shares_rack, int(place.idc != home), loads[broker], broker)

    able = [
        broker
        for broker, place in brokers.items()
        if broker not in replicas and broker not in excluded and suits(place.label, labels, rules.shared)
    ]
    return min(able, key=cost, default=None)


def _move(
    partition: TopicPartition, before: tuple[int, ...], after: tuple[int, ...], strayed: tuple[int, ...]
) -> PartitionMove:
    named = ", ".join(map(str, strayed))
    return PartitionMove(
        partition,
        tuple(ReplicaPlacement(broker) for broker in before),
        tuple(ReplicaPlacement(broker) for broker in after),
        reason=f"it came to broker {named}, which is excluded, after it was excluded",
        goal="exclusion",
    )
