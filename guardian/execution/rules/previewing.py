"""What a ticket would send to Kafka, found by carrying it out on paper. Pure, and with the executor's own steps.

    observation ──▶ step ──▶ requests ──▶ as if Kafka had done them all ──▶ step ──▶ ... until the ticket is over

The first round is what the first tick sends, given the cluster as it is and brokers that are not in trouble (nobody
asks them before copies begin). It holds rates as low as they begin, standing rates, holds of tiered topics. Those after
it come in this order, but not at these times: here each copy ends before the next tick, and nobody else changes
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from guardian.execution.rules.executing import Step
from guardian.model.cluster_state import ClusterObservation, LogDir, LogDirReplica, PartitionState, Reassignment
from guardian.model.effects import (
    AlterConfigs,
    AlterReassignments,
    AlterReplicaLogDirs,
    ConfigChange,
    ConfigKey,
    CreatePartitions,
    CreateTopics,
    Effect,
    ElectLeaders,
    NewTopic,
    SettleDebts,
)
from guardian.model.execution import Execution
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.preview import Preview, PreviewRequest, PreviewRound
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds.registry import kind_of

ADAPTS = (
    "rates begin as shown and adapt to what brokers measure: one in trouble, or behind a line without room, gets less "
    "from the first tick on"
)
_ALTER_CONFIGS = "IncrementalAlterConfigs"
_TICK_MS = 1000
_MOST_ROUNDS = 200
_MOST_LOOKS = 20_000  # at tasks, over all rounds: a preview of a large plan ends early and says so
_IDLE_ROUNDS = 3

Mover = Callable[[TicketState, Execution, ClusterObservation, int], Step]  # executing.step, all else bound


def is_moves_only(ticket: Ticket) -> bool:
    """Return whether what the ticket would send can be shown: of others, their own commands tell what they do."""
    return ticket.ask is None and kind_of(ticket).moves_replicas


def preview(state: TicketState, execution: Execution, observation: ClusterObservation, move: Mover) -> Preview:
    """Preview a ticket in a state that the executor drives; an APPROVED one as if it had just begun."""
    state = TicketState.RUNNING if state is TicketState.APPROVED else state
    now_ms = observation.observed_at_ms
    paper = _Paper(observation)
    rounds: list[PreviewRound] = []
    idle = 0
    sent: tuple[Effect, ...] = ()
    most = max(_IDLE_ROUNDS, min(_MOST_ROUNDS, _MOST_LOOKS // max(len(execution.tasks), 1)))
    for number in range(most):
        at_ms = now_ms + number * _TICK_MS
        decided = move(state, execution, paper.observation(at_ms), at_ms)
        requests = tuple(request for effect in decided.effects for request in described(effect, paper.observation(0)))
        if requests and decided.effects != sent:
            rounds.append(PreviewRound(requests, decided.sentence))
        if decided.transition is not None:
            return Preview(tuple(rounds), f"then the ticket is {decided.transition[0].name}: {decided.transition[1]}")
        is_at_rest = decided.effects == sent and all(isinstance(effect, SettleDebts) for effect in sent)
        sent = decided.effects
        idle = 0 if not is_at_rest or replace(decided.execution, note="") != replace(execution, note="") else idle + 1
        if idle == _IDLE_ROUNDS:
            return Preview(tuple(rounds), f"then it waits: {decided.sentence}")
        execution = decided.execution
        paper.let_time_pass()
        for effect in decided.effects:
            paper.do(effect)
    left = sum(not task.state.is_over for task in execution.tasks)
    return Preview(tuple(rounds), f"and so on, in the plan's order: {left} of {len(execution.tasks)} moves are left")


def has_rates(found: Preview) -> bool:
    """Return whether something is copied under a throttle."""
    return any(request.api == _ALTER_CONFIGS for each in found.rounds for request in each.requests)


def described(  # noqa: PLR0912  one case for each kind of effect
    effect: Effect, observation: ClusterObservation
) -> Iterator[PreviewRequest]:
    """Describe what the effect asks for, a line each."""
    match effect:
        case AlterConfigs(changes):
            for key, change in changes.items():
                yield PreviewRequest(_ALTER_CONFIGS, _resource(key), _config(key, change))
        case SettleDebts(values):
            for key, value in values.items():
                subject = f"{_resource(key)}, through a controller"
                yield PreviewRequest(_ALTER_CONFIGS, subject, _restored(key, value))
        case AlterReassignments(targets):
            for partition, target in targets.items():
                change_of = _reassignment(partition, target, observation)
                yield PreviewRequest("AlterPartitionReassignments", str(partition), change_of)
        case AlterReplicaLogDirs(moved, ahead):
            when = " (told before the replica comes)" if ahead else ""
            for (partition, broker), path in moved.items():
                yield PreviewRequest("AlterReplicaLogDirs", f"{partition} on broker {broker}", f"into {path}{when}")
        case ElectLeaders(partitions):
            yield from (PreviewRequest("ElectLeaders", str(each), _election(each, observation)) for each in partitions)
        case CreateTopics(topics):
            yield from (request for name, topic in topics.items() for request in _creation(name, topic))
        case CreatePartitions(assignments):
            for partition, brokers in assignments.items():
                yield PreviewRequest("CreatePartitions", str(partition), f"on {list(brokers)}")
        case _:
            assert_never(effect)


def _restored(key: ConfigKey, value: str | None) -> str:
    return f"delete {key.key}" if value is None else f"{key.key} = {value}"


def _creation(name: str, topic: NewTopic) -> Iterator[PreviewRequest]:
    configs = "".join(f", {key}={value}" for key, value in sorted(topic.configs.items()))
    for number, brokers in sorted(topic.assignments.items()):
        yield PreviewRequest("CreateTopics", f"{name}-{number}", f"on {list(brokers)}{configs}")


def _election(partition: TopicPartition, observation: ClusterObservation) -> str:
    state = observation.partitions.get(partition)
    return f"its first replica leads{f' instead of broker {state.leader}' if state and state.leader >= 0 else ''}"


def _resource(key: ConfigKey) -> str:
    return f"{key.resource_type.lower()} {key.resource_name}"


def _config(key: ConfigKey, change: ConfigChange) -> str:
    before = "not set" if change.expected is None else change.expected
    return f"delete {key.key} ({before})" if change.value is None else f"{key.key} = {change.value} (before: {before})"


def _reassignment(partition: TopicPartition, target: tuple[int, ...] | None, observation: ClusterObservation) -> str:
    state = observation.partitions.get(partition)
    present = f"{list(state.replicas)} -> " if state else ""
    return f"{present}{list(target)}" if target is not None else "cancel what is in flight"


class _Paper:
    """The cluster as it would be: every request is accepted, and every copy ends before the next tick."""

    def __init__(self, observation: ClusterObservation) -> None:
        self._observation = observation
        self._partitions = dict(observation.partitions)
        self._reassignments = dict(observation.reassignments)
        self._configs = {resource: dict(values) for resource, values in observation.configs.items()}
        self._dirs = {(d.broker, d.path): dict(d.replicas) for d in observation.log_dirs}
        self._futures = {(d.broker, d.path): dict(d.future_replicas) for d in observation.log_dirs}
        self._remembered: dict[tuple[TopicPartition, int], str] = {}

    def observation(self, at_ms: int) -> ClusterObservation:
        return replace(
            self._observation,
            observed_at_ms=at_ms,
            partitions=dict(self._partitions),
            reassignments=dict(self._reassignments),
            log_dirs=tuple(self._log_dir(log_dir) for log_dir in self._observation.log_dirs),
            configs={resource: dict(values) for resource, values in self._configs.items()},
        )

    def let_time_pass(self) -> None:
        """End what is in flight."""
        for partition, reassignment in list(self._reassignments.items()):
            heading = tuple(broker for broker in reassignment.replicas if broker not in reassignment.removing)
            del self._reassignments[partition]
            self._place(partition, heading)
        for place, futures in self._futures.items():
            for partition in list(futures):
                del futures[partition]
                self._into_log_dir(partition, *place)

    def do(self, effect: Effect) -> None:
        """Do the effect as if Kafka had accepted it."""
        match effect:
            case AlterConfigs(changes):
                self._configure(changes)
            case SettleDebts():
                pass  # a broker that is down shows nothing of it
            case AlterReassignments(targets):
                for partition, target in targets.items():
                    self._reassign(partition, target)
            case AlterReplicaLogDirs(moved, ahead):
                self._move_inside(moved, is_ahead=ahead)
            case ElectLeaders(partitions):
                for partition in partitions:
                    state = self._partitions[partition]
                    self._partitions[partition] = replace(state, leader=state.replicas[0])
            case CreateTopics(topics):
                self._create(topics)
            case CreatePartitions(assignments):
                for partition, brokers in assignments.items():
                    self._place(partition, brokers)
            case _:
                assert_never(effect)

    def _move_inside(self, moved: Mapping[tuple[TopicPartition, int], str], *, is_ahead: bool) -> None:
        if is_ahead:
            self._remembered.update(moved)
            return
        for (partition, broker), path in moved.items():
            self._into_log_dir(partition, broker, path)

    def _create(self, topics: Mapping[str, NewTopic]) -> None:
        for name, topic in topics.items():
            self._configs.setdefault(("TOPIC", name), dict(topic.configs))
            for number, brokers in topic.assignments.items():
                self._place(TopicPartition(name, number), brokers)

    def _log_dir(self, log_dir: LogDir) -> LogDir:
        place = log_dir.broker, log_dir.path
        return replace(log_dir, replicas=dict(self._dirs[place]), future_replicas=dict(self._futures[place]))

    def _configure(self, changes: Mapping[ConfigKey, ConfigChange]) -> None:
        for key, change in changes.items():
            values = self._configs.setdefault((key.resource_type, key.resource_name), {})
            if change.value is None:
                values.pop(key.key, None)
            else:
                values[key.key] = change.value

    def _reassign(self, partition: TopicPartition, target: tuple[int, ...] | None) -> None:
        in_flight = self._reassignments.pop(partition, None)
        if target is not None:
            self._begin(partition, target)
        elif in_flight is not None:
            self._place(partition, tuple(broker for broker in in_flight.replicas if broker not in in_flight.adding))

    def _begin(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        """Begin a reassignment. What copies is in flight until time passes; an order is Kafka's at once."""
        state = self._partitions[partition]
        adding = tuple(broker for broker in target if broker not in state.replicas)
        removing = tuple(broker for broker in state.replicas if broker not in target)
        if not adding:
            self._place(partition, target)
            return
        union = (*target, *removing)
        self._reassignments[partition] = Reassignment(union, adding, removing)
        self._partitions[partition] = replace(state, replicas=union)

    def _place(self, partition: TopicPartition, brokers: tuple[int, ...]) -> None:
        before = self._partitions.get(partition)
        leader = before.leader if before is not None and before.leader in brokers else brokers[0]
        self._partitions[partition] = PartitionState(leader, brokers, brokers)
        sizes = [
            replicas.pop(partition) for place, replicas in self._dirs.items() if self._leaves(place, partition, brokers)
        ]
        size = sizes[0].size_bytes if sizes else self._size(partition)
        hosts = {broker for (broker, _), replicas in self._dirs.items() if partition in replicas}
        for broker in brokers:
            if broker not in hosts:
                self._host(partition, broker, size)

    def _leaves(self, place: tuple[int, str], partition: TopicPartition, brokers: tuple[int, ...]) -> bool:
        return place[0] not in brokers and partition in self._dirs[place]

    def _size(self, partition: TopicPartition) -> int:
        found = (replicas[partition].size_bytes for replicas in self._dirs.values() if partition in replicas)
        return next(found, 0)

    def _host(self, partition: TopicPartition, broker: int, size: int) -> None:
        """Kafka chooses the log dir with the fewest replicas where none was told."""
        places = [place for place in self._dirs if place[0] == broker]
        if places:
            told = broker, self._remembered.get((partition, broker), "")
            place = told if told in self._dirs else min(places, key=lambda each: len(self._dirs[each]))
            self._dirs[place][partition] = LogDirReplica(size, 0, is_future=False)

    def _into_log_dir(self, partition: TopicPartition, broker: int, path: str) -> None:
        for (host, other), replicas in self._dirs.items():
            if host == broker and other != path and partition in replicas and (broker, path) in self._dirs:
                self._dirs[broker, path][partition] = replicas.pop(partition)
                return
