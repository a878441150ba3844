"""Expansions go before moves: a topic that a ticket expands is moved by no other one meanwhile. Pure.

Kafka counts the replicas that come and go, so it makes no partitions for a topic of which one is being reassigned.

    ticket that expands: RUNNING ──▶ other tickets' moves of its topic
        PENDING                  wait, until the new partitions are there
        RUNNING, still copying   REVERTING: cancelled; a task behind them makes the same move again, PENDING
        RUNNING, all arrived     go on: nothing of them is in flight any more
        of healing, on their way back    are not cancelled: the expansion waits for them
    none of them is left, and Kafka shows none ──▶ CreatePartitions ──▶ the others go on

The task that makes a move again is stored by the very command that gives the move up, so nobody can die in between.
Nobody gives way to an expansion that could not be made now, since a broker that it needs is down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from guardian.execution.rules.converging import has_arrived
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import ACTIVE, Execution, ExecutionTask, TaskReason, TaskState
from guardian.model.plan import PartitionMove, Plan
from guardian.model.text import some
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.trimming import is_healing

CANCELLED = "cancelled, since its topic was to be expanded, and planned again"
_ARRIVED = "not needed: the copy of before had arrived"
_NO_TICKETS: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class Expansions:
    """By topic that is to grow: the tickets that expand it, and those that have moves of it in flight."""

    expanding: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_TICKETS)
    moving: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_TICKETS)

    def by_others(self, ticket_id: str) -> Mapping[str, str]:
        """Return the topics that other tickets expand, each with one of them."""
        return _others(self.expanding, ticket_id)

    def moved_by_others(self, ticket_id: str) -> Mapping[str, str]:
        """Return the topics that other tickets have moves of in flight, each with one of them."""
        return _others(self.moving, ticket_id)


@dataclass(frozen=True, slots=True)
class WayGiven:
    """Hold what is to be stored of a ticket whose moves give way. `sentence` says what is cancelled and for whom;
    empty where a copy had arrived before it could be cancelled, which is all that changed."""

    execution: Execution
    sentence: str


def only_expands(plan: Plan) -> bool:
    """Return whether the plan adds partitions to topics that exist, and does nothing else: it copies nothing."""
    return bool(plan.moves) and all(move.is_new and move.partition.partition > 0 for move in plan.moves)


def topics_expanded(plan: Plan) -> frozenset[str]:
    """Return the topics that the plan adds partitions to."""
    new = [move.partition for move in plan.moves if move.is_new]
    return frozenset({each.topic for each in new} - {each.topic for each in new if each.partition == 0})


def found(under_way: Collection[tuple[TicketState, Execution]], observation: ClusterObservation) -> Expansions:
    """Return what the tickets of a cluster that are `under_way` expand now, and what is in the way of that."""
    expanding: defaultdict[str, list[str]] = defaultdict(list)
    for state, execution in under_way:
        for topic in expanded_topics(execution, observation) if state is TicketState.RUNNING else ():
            expanding[topic].append(execution.ticket_id)
    if not expanding:
        return Expansions()
    moving: defaultdict[str, list[str]] = defaultdict(list)
    for _, execution in under_way:
        for topic in sorted(
            {task.move.partition.topic for task in execution.tasks if _is_in_the_way(task, observation)}
        ):
            moving[topic].append(execution.ticket_id)
    return Expansions(
        {topic: tuple(tickets) for topic, tickets in expanding.items()},
        {topic: tuple(tickets) for topic, tickets in moving.items() if topic in expanding},
    )


def expanded_topics(execution: Execution, observation: ClusterObservation) -> frozenset[str]:
    """Return the topics that the ticket expands as soon as nothing of them is moved: brokers that are to have the new
    partitions live, and it is these tasks' turn."""
    left = [task for task in execution.tasks if not task.state.is_over]
    new = [task for task in left if task.move.is_new and task.move.partition not in observation.partitions]
    if not new:
        return frozenset()
    stage = min(task.move.stage for task in left)
    there = {partition.topic for partition in observation.partitions}
    due = {task.move.partition.topic for task in new if task.move.stage == stage} & there
    impossible = {
        task.move.partition.topic for task in new if not observation.brokers.keys() >= set(task.move.target_brokers)
    }
    return frozenset(due - impossible)


def give_way(
    ticket: Ticket, execution: Execution, expansions: Expansions, observation: ClusterObservation, now_ms: int
) -> WayGiven | None:
    """Return the execution whose moves give way to other tickets' expansions; None where nothing changes.

    A move whose copy arrived before its cancel did goes on to its end instead of all the way back.
    """
    if ticket.state not in (TicketState.RUNNING, TicketState.PAUSED):
        return None
    others = {} if is_healing(ticket) else expansions.by_others(ticket.id)
    arrived = {task.move.partition: task.move for task in execution.tasks if _came_too_late(task, observation)}
    given_up = _giving_way(execution, others, observation)
    if not arrived and not given_up:
        return None
    numbers = {task.number for task in given_up}
    tasks = tuple(
        _cancelled(task, now_ms) if task.number in numbers else _gone_on(task, arrived, now_ms)
        for task in execution.tasks
    )
    first = 1 + max(task.number for task in tasks)
    again = tuple(_again(number, task) for number, task in enumerate(given_up, start=first))
    return WayGiven(replace(execution, tasks=tasks + again), _sentence(given_up, others) if given_up else "")


def cancelled_for(
    topics: Collection[str], ticket: Ticket, execution: Execution, observation: ClusterObservation
) -> str:
    """Say what becomes of the ticket's moves in flight when another one expands these topics; empty where none is."""
    may_cancel = ticket.state in (TicketState.RUNNING, TicketState.PAUSED) and not is_healing(ticket)
    given_up = _giving_way(execution, dict.fromkeys(topics, ""), observation) if may_cancel else ()
    if given_up:
        many = len(given_up) > 1
        moves, again = ("moves", "makes them again") if many else ("move", "makes it again")
        return f"cancels {len(given_up)} {moves} of ticket {ticket.id}, which {again} afterwards: {_named(given_up)}"
    waited = [t for t in execution.tasks if t.move.partition.topic in topics and _is_in_the_way(t, observation)]
    why = "heals" if is_healing(ticket) else "takes them back"
    return f"waits for moves of ticket {ticket.id}, which {why}: {_named(waited)}" if waited else ""


def gave_way(task: ExecutionTask) -> bool:
    """Return whether the task was cancelled for an expansion."""
    return task.reason == TaskReason.GAVE_WAY


def changes_brokers(move: PartitionMove) -> bool:
    """Return whether Kafka has to reassign the partition for longer than a moment."""
    return not move.is_new and set(move.original_brokers) != set(move.target_brokers)


def reassigned(topic: str, observation: ClusterObservation) -> TopicPartition | None:
    """Return the first partition of the topic that Kafka reassigns, whoever asked for it; None: none is."""
    return min((each for each in observation.reassignments if each.topic == topic), default=None)


def _others(tickets: Mapping[str, tuple[str, ...]], ticket_id: str) -> dict[str, str]:
    known = {topic: next((each for each in found if each != ticket_id), "") for topic, found in tickets.items()}
    return {topic: other for topic, other in known.items() if other}


def _is_in_the_way(task: ExecutionTask, observation: ClusterObservation) -> bool:
    """Return whether Kafka reassigns the task's partition, or may at any moment."""
    if task.state not in ACTIVE or not changes_brokers(task.move):
        return False
    return task.state is TaskState.REVERTING or not has_arrived(task.move, observation)


def _giving_way(
    execution: Execution, others: Mapping[str, str], observation: ClusterObservation
) -> tuple[ExecutionTask, ...]:
    """The tasks that are to be cancelled for the expansions of others."""
    tasks = [task for task in execution.tasks if task.move.partition.topic in others] if others else []
    active = {task.move.partition for task in tasks if task.state in ACTIVE}
    return tuple(
        task
        for task in tasks
        if (task.state is TaskState.RUNNING and _is_in_the_way(task, observation))
        or (task.move.partition not in active and _started_late(task, observation))
    )


def _started_late(task: ExecutionTask, observation: ClusterObservation) -> bool:
    """Return whether a request that a dead leader sent reached Kafka only after its move had been given up."""
    in_flight = observation.reassignments.get(task.move.partition)
    if task.state is not TaskState.PENDING or in_flight is None:
        return False
    heading = set(in_flight.replicas) - set(in_flight.removing)
    return heading == set(task.move.target_brokers) and changes_brokers(task.move)


def _came_too_late(task: ExecutionTask, observation: ClusterObservation) -> bool:
    is_cancelled = task.state is TaskState.REVERTING and gave_way(task)
    return is_cancelled and has_arrived(task.move, observation)


def _cancelled(task: ExecutionTask, now_ms: int) -> ExecutionTask:
    started_at_ms = task.started_at_ms or now_ms
    # The way back is as long as the way there: what is held on it gets the whole time again.
    hold_ms = task.hold_ms and now_ms - started_at_ms + task.hold_ms
    taken_back = replace(task, state=TaskState.REVERTING, reason=TaskReason.GAVE_WAY, started_at_ms=started_at_ms)
    return replace(taken_back, hold_ms=hold_ms, missing_since_ms=0, refused_since_ms=0)


def _again(number: int, task: ExecutionTask) -> ExecutionTask:
    fresh = ExecutionTask(number, task.move, topic_partitions=task.topic_partitions)
    return replace(fresh, cover_bytes=task.cover_bytes, hold_ms=task.hold_ms)


def _gone_on(task: ExecutionTask, arrived: Mapping[TopicPartition, PartitionMove], now_ms: int) -> ExecutionTask:
    if arrived.get(task.move.partition) != task.move:
        return task
    if task.state is TaskState.PENDING:
        return replace(task, state=TaskState.REVERTED, detail=_ARRIVED, ended_at_ms=now_ms, reason=TaskReason.GAVE_WAY)
    if task.state is TaskState.REVERTING:
        return replace(task, state=TaskState.RUNNING, reason=TaskReason.NONE)
    return task


def _sentence(tasks: Collection[ExecutionTask], others: Mapping[str, str]) -> str:
    by_topic: defaultdict[str, list[ExecutionTask]] = defaultdict(list)
    for task in tasks:
        by_topic[task.move.partition.topic].append(task)
    told = (
        f"ticket {others[topic]} expands topic {topic}, so {_named(moved)} {'are' if len(moved) > 1 else 'is'} "
        "cancelled and planned again after that"
        for topic, moved in by_topic.items()
    )
    return "; ".join(told)


def _named(tasks: Iterable[ExecutionTask]) -> str:
    return some(f"{task.move.partition} to {list(task.move.target_brokers)}" for task in tasks)
