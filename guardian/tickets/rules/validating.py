"""A plan against the live cluster: complete it, or say in one sentence what is wrong with it.

A plan names what shall be; the cluster says what is. `resolve` joins them into the plan that a ticket carries, in
which every move says where its replicas were, so that it can be taken back. It refuses at the first thing that is
wrong: a plan is never carried out in part because the rest was bad input.

A replication factor changes only in a plan of the kind that is for it, and never to less than min.insync.replicas: then
acks=all would fail. Partitions that are to be created follow those that are there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from guardian.errors import ClusterUnavailable, Conflict, InvalidInput
from guardian.execution.rules.creating import MAX_NEW_PARTITIONS, topic_configs
from guardian.model.cluster_state import ClusterDescription, LogDir, PartitionState, Reassignment
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from guardian.tickets.kinds.registry import kind_of

MIN_INSYNC = "min.insync.replicas"
MAX_WRITE_RATE = 1e12  # bytes/s into one replica: far more than a broker takes


def resolve(
    plan: Plan,
    description: ClusterDescription,
    partitions: Mapping[TopicPartition, PartitionState],
    log_dirs: Sequence[LogDir],
    reassignments: Mapping[TopicPartition, Reassignment],
    min_insync: Mapping[str, int] | None = None,
    ours: Collection[TopicPartition] = (),
) -> Plan:
    """The plan with `original` and `size_bytes` from the cluster, without the moves that are already true.

    `seconds` grow with the bytes to copy.

    `partitions` holds at least those of the plan's topics, `log_dirs` those of every live broker, `min_insync` the
    min.insync.replicas of the topics that change their replication factor. What is reassigned of `ours` is so by
    Guardian's tickets, which give way where the plan expands a topic.
    Raises InvalidInput for a plan that can't be carried out here, Conflict for one that is stale,
    ClusterUnavailable when a broker did not tell its log dirs.
    """
    if not plan.moves:
        raise InvalidInput("moves of the plan is empty: nothing to do")
    resizes = kind_of(plan).resizes
    view = _View(plan.cluster, resizes, description, partitions, tuple(log_dirs), reassignments, min_insync or {}, ours)
    _check_new(plan, view)
    moves = tuple(move for move in (_resolve_move(move, view) for move in plan.moves) if move)
    if not moves:
        raise InvalidInput(
            f"all {len(plan.moves)} moves of the plan are already true in cluster {plan.cluster}: nothing to do"
        )
    resolved = replace(plan, moves=moves)
    # Partitions have grown since the plan's samples: the time that copies take at least is told of the same bytes.
    growth = resolved.bytes_to_copy / plan.bytes_to_copy if plan.bytes_to_copy else 1.0
    return replace(resolved, seconds=plan.seconds * growth)


@dataclass(frozen=True, slots=True)
class _View:
    cluster: str
    resizes: bool
    description: ClusterDescription
    partitions: Mapping[TopicPartition, PartitionState]
    log_dirs: tuple[LogDir, ...]
    reassignments: Mapping[TopicPartition, Reassignment]
    min_insync: Mapping[str, int] = field(default_factory=dict)
    ours: Collection[TopicPartition] = ()

    def log_dirs_of(self, broker: int) -> tuple[LogDir, ...]:
        return tuple(log_dir for log_dir in self.log_dirs if log_dir.broker == broker)

    def holding(self, partition: TopicPartition, broker: int) -> LogDir | None:
        return next((log_dir for log_dir in self.log_dirs_of(broker) if partition in log_dir.replicas), None)


def _resolve_move(move: PartitionMove, view: _View) -> PartitionMove | None:
    """The completed move, or None when it is already true."""
    _check_write_rate(move)
    if move.is_new:
        _check_places(move, view)
        return move
    state = _state(move, view)
    _check_replication_factor(move, state, view)
    _check_places(move, view)
    present = _placements(move.partition, state, view)
    if _is_true(move, present, state):
        return None
    _check_fresh(move, present)
    return replace(move, original=present, size_bytes=_size(move.partition, view))


def topics_to_create(plan: Plan, partitions: Mapping[TopicPartition, PartitionState]) -> frozenset[str]:
    """Topics of which the plan creates all partitions; those of which it adds some exist."""
    there = {partition.topic for partition in partitions}
    return frozenset(move.partition.topic for move in plan.moves if move.is_new) - there


def _check_new(plan: Plan, view: _View) -> None:
    """The numbers of new partitions leave no gap, and they have as many replicas as the others of their topic."""
    by_topic: dict[str, list[PartitionMove]] = {}
    for move in plan.moves:
        if move.is_new:
            if move.partition in view.partitions:
                raise Conflict(f"the plan is stale: it creates {move.partition}, which exists by now: make a new plan")
            by_topic.setdefault(move.partition.topic, []).append(move)
    if len(by_topic) > 1 and topic_configs(plan):
        raise InvalidInput(f"configs of the task give a configuration to {len(by_topic)} new topics: give it to one")
    for topic, moves in by_topic.items():
        _check_new_of(topic, moves, topic_configs(plan), view)


def _check_new_of(topic: str, moves: Sequence[PartitionMove], configs: Mapping[str, str], view: _View) -> None:
    there = [partition for partition in view.partitions if partition.topic == topic]
    foreign = view.reassignments.keys() - set(view.ours)
    moved = min((partition for partition in foreign if partition.topic == topic), default=None)
    if moved is not None:
        # Kafka counts the replicas of any one partition, those that come and those that go.
        raise Conflict(
            f"topic {topic} can't be expanded while {moved} is reassigned: Kafka would take its replicas, old and new, "
            "for those of the topic, and no ticket of Guardian moves it that could give way, so wait until it ends"
        )
    numbers = sorted(move.partition.partition for move in moves)
    expected = list(range(len(there), len(there) + len(moves)))
    if numbers != expected:
        raise InvalidInput(
            f"new partitions of topic {topic} are {_range(numbers)}: it has {len(there)}, so give {_range(expected)}"
        )
    if len(moves) > MAX_NEW_PARTITIONS:
        raise InvalidInput(
            f"topic {topic} gets {len(moves)} partitions at once: use up to {MAX_NEW_PARTITIONS}, and expand it later"
        )
    if there and configs:
        raise InvalidInput(f"configs of the task give topic {topic} a configuration, yet it exists: leave that out")
    factor = _replicas_at_rest(there[0], view) if there else len(moves[0].target)
    for move in moves:
        if len(move.target) != factor:
            raise InvalidInput(
                f"replicas of {move.partition} names {len(move.target)} brokers, and the other partitions of its topic "
                f"have {factor}: give {factor}"
            )
    least = configs.get(MIN_INSYNC, "")
    if least.isdecimal() and int(least) > factor:
        raise InvalidInput(
            f"{MIN_INSYNC} of topic {topic} is {least}, more than its {factor} replicas: acks=all would always fail"
        )


def _replicas_at_rest(partition: TopicPartition, view: _View) -> int:
    """Return how many replicas it has once what is in flight for it is cancelled."""
    in_flight = view.reassignments.get(partition)
    arriving = in_flight.adding if in_flight is not None else ()
    return len(set(view.partitions[partition].replicas) - set(arriving))


def _range(numbers: Sequence[int]) -> str:
    is_whole = numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]} to {numbers[-1]}" if is_whole and len(numbers) > 1 else ", ".join(map(str, numbers[:10]))


def _check_places(move: PartitionMove, view: _View) -> None:
    for replica in move.target:
        _check_broker(move.partition, replica.broker, view)
        _check_log_dir(move.partition, replica, view)


def _state(move: PartitionMove, view: _View) -> PartitionState:
    partition = move.partition
    state = view.partitions.get(partition)
    if state is None:
        known = sorted(other.partition for other in view.partitions if other.topic == partition.topic)
        if not known:
            raise InvalidInput(
                f"topic {partition.topic} does not exist in cluster {view.cluster}, or is being deleted: "
                "take it out of the plan"
            )
        raise InvalidInput(
            f"partition {partition} does not exist in cluster {view.cluster}: "
            f"topic {partition.topic} has {known[0]} to {known[-1]}"
        )
    if partition in view.reassignments:
        raise InvalidInput(
            f"{partition} has a reassignment in flight already, by another tool or ticket: "
            "wait until it ends, or cancel it"
        )
    return state


def _check_replication_factor(move: PartitionMove, state: PartitionState, view: _View) -> None:
    before, after = len(state.replicas), len(move.target)
    if before == after:
        return
    if not view.resizes:
        raise InvalidInput(
            f"replicas of {move.partition} would change the replication factor from {before} to {after}: "
            f"give {before} brokers, or ask for it (--change-replication-factor)"
        )
    least = view.min_insync.get(move.partition.topic, 1)
    if after < least:
        raise InvalidInput(
            f"replicas of {move.partition} would go from {before} to {after}, fewer than {MIN_INSYNC} {least} of its "
            f"topic: acks=all would fail, so give at least {least}, or lower that first"
        )
    staying = [broker for broker in state.replicas if broker in move.target_brokers]
    if after < before and not set(staying) & set(state.isr):
        raise Conflict(
            f"none of the replicas of {move.partition} that would stay, {staying}, is in sync: wait until one is"
        )


def _check_write_rate(move: PartitionMove) -> None:
    """The throttle is computed from it, by the executor, which has nobody to tell."""
    if not 0 <= move.write_rate <= MAX_WRITE_RATE:
        raise InvalidInput(
            f"write_rate of {move.partition} is {move.write_rate} bytes/s: "
            f"use 0 to {MAX_WRITE_RATE:.0f}, 0 when it is not known"
        )


def _check_broker(partition: TopicPartition, broker: int, view: _View) -> None:
    alive = view.description.brokers
    if broker in alive:
        return
    names = ", ".join(str(other) for other in sorted(alive))
    if any(broker in state.replicas for state in view.partitions.values()):
        raise InvalidInput(f"broker {broker} of {partition} is not alive: start it, or choose from {names}")
    raise InvalidInput(f"broker {broker} of {partition} is not in cluster {view.cluster}: its brokers are {names}")


def _check_log_dir(partition: TopicPartition, replica: ReplicaPlacement, view: _View) -> None:
    if replica.log_dir == ANY_LOG_DIR:
        return
    known = _known_log_dirs(replica.broker, view)
    asked = next((log_dir for log_dir in known if log_dir.path == replica.log_dir), None)
    paths = ", ".join(log_dir.path for log_dir in known if not log_dir.error)
    if asked is None:
        raise InvalidInput(
            f"log_dir {replica.log_dir} of {partition} is not one of broker {replica.broker}: its log dirs are {paths}"
        )
    if asked.error:
        raise InvalidInput(
            f"log_dir {replica.log_dir} of {partition} is offline on broker {replica.broker} ({asked.error}): "
            f"choose from {paths or 'another broker'}"
        )


def _known_log_dirs(broker: int, view: _View) -> tuple[LogDir, ...]:
    known = view.log_dirs_of(broker)
    if not known:
        raise ClusterUnavailable(
            f"broker {broker} of cluster {view.cluster} did not tell its log dirs: try again when it answers"
        )
    return known


def _placements(partition: TopicPartition, state: PartitionState, view: _View) -> tuple[ReplicaPlacement, ...]:
    """Return where the replicas are, in Kafka's order; "any" where the broker is down or the log dir offline."""
    placements = []
    for broker in state.replicas:
        if broker in view.description.brokers:
            _known_log_dirs(broker, view)
        holder = view.holding(partition, broker)
        placements.append(ReplicaPlacement(broker, holder.path if holder else ANY_LOG_DIR))
    return tuple(placements)


def _is_true(move: PartitionMove, present: tuple[ReplicaPlacement, ...], state: PartitionState) -> bool:
    brokers = tuple(replica.broker for replica in present)
    if len(present) != len(move.target):
        return False
    in_place = all(
        target.log_dir in (ANY_LOG_DIR, now.log_dir) for target, now in zip(move.target, present, strict=True)
    )
    return in_place and brokers == move.target_brokers and state.leader == brokers[0]


def _check_fresh(move: PartitionMove, present: tuple[ReplicaPlacement, ...]) -> None:
    """Check that what the plan was made from is still so. The order of replicas is Kafka's alone: metrics don't tell
    it.

    A log dir is compared where both sides know it.
    """
    if not move.original:
        return
    expected = {replica.broker: replica.log_dir for replica in move.original}
    found = {replica.broker: replica.log_dir for replica in present}
    if expected.keys() != found.keys() or not all(
        ANY_LOG_DIR in (expected[broker], found[broker]) or expected[broker] == found[broker] for broker in expected
    ):
        raise Conflict(
            f"the plan is stale: it expects {move.partition} on {_named(move.original)}, and the cluster has it on "
            f"{_named(present)}: make a new plan"
        )


def _named(placements: tuple[ReplicaPlacement, ...]) -> str:
    names = (str(p.broker) if p.log_dir == ANY_LOG_DIR else f"{p.broker}:{p.log_dir}" for p in placements)
    return f"[{', '.join(names)}]"


def _size(partition: TopicPartition, view: _View) -> int:
    return max((dir_.replicas[partition].size_bytes for dir_ in view.log_dirs if partition in dir_.replicas), default=0)
