"""Is the cluster well, and would it be without some of its brokers?

    trouble        what is wrong now, but for what follows from the brokers that we ourselves have taken down
    why_not_down   which partition would miss them: its ISR less these brokers must still meet its min ISR

All sentences say which partition, how many of them, and in what numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from guardian.execution.operations.turn import named
from guardian.execution.operations.world import OperationWorld
from guardian.model.cluster_state import PartitionState
from guardian.model.topology import TopicPartition


def trouble(world: OperationWorld, spared: Collection[int] = (), accepted: Collection[str] = ()) -> str:
    """Return what is wrong; "" when nothing is.

    Left out is what is wrong on the brokers that are `spared`, on those that are away by another ticket's doing, and
    with the partitions that are `accepted` by name.
    """
    expected = world.away - world.observation.brokers.keys()
    down = world.registered - world.observation.brokers.keys() - expected - set(spared)
    if down:
        return f"{named(down)} {'are' if len(down) > 1 else 'is'} down"
    return counted(_troubles(world, frozenset(spared) | expected, accepted))


def lagging(world: OperationWorld, nodes: Collection[int]) -> str:
    """Say which of these brokers' replicas are not in sync; empty when all are."""
    return counted(
        f"{partition} waits for {named(missing)} to be in sync"
        for partition, state in world.observation.partitions.items()
        if (missing := [b for b in _staying(partition, state, world) if b in nodes and b not in state.isr])
    )


def out_of_sync(world: OperationWorld) -> frozenset[int]:
    """Return the living brokers that have replicas out of sync, those on their way apart."""
    return frozenset(
        broker
        for partition, state in world.observation.partitions.items()
        if len(state.isr) < len(state.replicas)
        for broker in _staying(partition, state, world)
        if broker not in state.isr and world.is_alive(broker)
    )


def why_not_down(world: OperationWorld, nodes: Collection[int], *, accept_unavailable: bool = False) -> str:
    """Say why these brokers must not be down at once, with those that others have taken offline; empty when they
    may.
    """
    asked = frozenset(nodes)
    going = asked | world.away
    found = (
        why
        for partition, state in world.observation.partitions.items()
        if not asked.isdisjoint(state.replicas)
        and (why := _why_missed(partition, state, going, world, accept_unavailable))
    )
    return counted(found)


def batch_of(waiting: Collection[int], world: OperationWorld, limit: int, *, accept_unavailable: bool) -> list[int]:
    """The next brokers that may be down at once: of the first rack of which any may, as many as ISR allows."""
    rack_of = {broker: world.observation.brokers[broker].rack for broker in waiting if world.is_alive(broker)}
    hosted = _by_broker(world)
    for rack in sorted(set(rack_of.values())):
        batch: list[int] = []
        for broker in sorted(broker for broker in rack_of if rack_of[broker] == rack):
            if len(batch) == limit:
                break
            going = world.away.union(batch, [broker])
            affected = hosted.get(broker, {}).items()
            if not any(_why_missed(p, state, going, world, accept_unavailable) for p, state in affected):
                batch.append(broker)
        if batch:
            return batch
    return []


def why_no_majority(world: OperationWorld, nodes: Collection[int], what: str = "broker") -> str:
    """Say why the controllers' quorum can't do without these at once, with what other tickets may take down at any
    moment. Empty when it can, or when none of them votes. A voter that went down counts as caught up for some seconds.
    """
    quorum = world.quorum
    if quorum is None or quorum.voters.isdisjoint(nodes):
        return ""
    majority = len(quorum.voters) // 2 + 1
    others = (world.away & quorum.voters) - set(nodes)
    left = len(quorum.caught_up - set(nodes) - others)
    if left >= majority:
        return ""
    held = f" and {named(others, 'node')}, away or about to go" if others else ""
    return (
        f"without {named(nodes, what)}{held}, {left} of the quorum's {len(quorum.voters)} voters would be caught up, "
        f"and {majority} are its majority"
    )


def counted(sentences: Iterator[str]) -> str:
    """The first one, and how many more there are."""
    first = next(sentences, "")
    more = sum(1 for _ in sentences)
    return f"{first} (and {more} more partition{'s' if more > 1 else ''})" if more else first


def _troubles(world: OperationWorld, spared: frozenset[int], accepted: Collection[str]) -> Iterator[str]:
    for partition, state in world.observation.partitions.items():
        if accepted and str(partition) in accepted:
            continue
        if state.leader < 0:
            # Without unclean elections nobody else can lead it before one of these is back.
            if not spared.issuperset(state.isr or state.replicas):
                yield f"{partition} has no leader"
            continue
        missing = [b for b in _staying(partition, state, world) if b not in state.isr and b not in spared]
        if missing:
            yield f"{partition} lacks {named(missing)} in its ISR"


def _staying(partition: TopicPartition, state: PartitionState, world: OperationWorld) -> list[int]:
    """Its replicas but those that are on their way."""
    reassignment = world.observation.reassignments.get(partition)
    moving = {*reassignment.adding, *reassignment.removing} if reassignment else set()
    return [broker for broker in state.replicas if broker not in moving]


def _why_missed(
    partition: TopicPartition,
    state: PartitionState,
    going: frozenset[int],
    world: OperationWorld,
    accept_unavailable: bool,
) -> str:
    need = max(world.min_isr.get(partition.topic, 1), 1)
    left = [broker for broker in state.isr if broker not in going]
    # One that is short already, by none of ours, is as it was.
    if len(left) >= need or going.isdisjoint(state.isr):
        return ""
    on_them = sum(broker in going for broker in state.replicas)
    if accept_unavailable and on_them == 1 and len(state.replicas) - 1 < need:
        return ""
    return (
        f"{partition} has {len(state.isr)} of {len(state.replicas)} replicas in sync, would have {len(left)} without "
        f"{named(b for b in going if b in state.replicas)}, and needs {need}"
    )


def _by_broker(world: OperationWorld) -> Mapping[int, dict[TopicPartition, PartitionState]]:
    hosted: dict[int, dict[TopicPartition, PartitionState]] = {}
    for partition, state in world.observation.partitions.items():
        for broker in state.replicas:
            hosted.setdefault(broker, {})[partition] = state
    return hosted
