"""How far a ticket is: bytes that have arrived, bytes that are left, and when it may be over. Pure.

    DONE, REVERTED         all that the task had to copy
    RUNNING, REVERTING     what Kafka shows of it, in steps of a tenth: each step is stored
    else                   nothing yet

The rate is that of the whole time that the ticket ran, pauses left out: of a copy by steps no shorter time tells more.
How long the rest takes at least and at most is reckoned from the throttle's slow start and the executor's slots
(guardian/execution/rules/lasting.py). It is widened by what the rate so far says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from guardian.execution.rules.lasting import USUAL_PACING, Asked, Left, Pacing, lasting
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.progress import Progress

_STEPS = 10
_MOVING = (TicketState.RUNNING, TicketState.ROLLING_BACK)
# The states of a task that does not move yet, moves, and has moved.
_THERE = (TaskState.PENDING, TaskState.RUNNING, TaskState.DONE)
_BACK = (TaskState.DONE, TaskState.REVERTING, TaskState.REVERTED)


def progress(ticket: Ticket, execution: Execution | None, now_ms: int, pacing: Pacing = USUAL_PACING) -> Progress:
    """Return how far it is on the way there, or on the way back where it is rolled back."""
    if execution is None:
        return Progress(ticket.bytes_to_copy)
    parts = [part_of(ticket.state, task) for task in execution.tasks]
    total, copied = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if ticket.state not in _MOVING:
        return Progress(total, copied)
    ran_ms = moved_ms(ticket, now_ms)
    rate = copied * 1000 / ran_ms if ran_ms > 0 else 0.0
    if copied == total:
        return Progress(total, copied, rate, 0, 0, 0)
    asked = Asked(ticket.throttle, ticket.max_throttle, execution.rates, now_ms)
    found = lasting(_left(ticket, execution), asked, pacing)
    least_ms, most_ms = round(found.least_s * 1000), None if found.most_s is None else round(found.most_s * 1000)
    if rate <= 0:
        likely_ms = None if most_ms is None else (least_ms + most_ms) // 2
        return Progress(total, copied, 0.0, likely_ms, least_ms, most_ms)
    eta_ms = round((total - copied) * 1000 / rate)
    longest_ms = None if most_ms is None else max(most_ms, eta_ms)
    return Progress(total, copied, rate, eta_ms, min(least_ms, eta_ms), longest_ms)


def moved_ms(ticket: Ticket, now_ms: int) -> int:
    """Return how long the ticket has been in its present state, or was before in the same, in ms: pauses are left
    out.
    """
    ends = [*(past.at_ms for past in ticket.history[1:]), now_ms]
    spans = zip(ticket.history, ends, strict=True) if ticket.history else ()
    return sum(max(end - past.at_ms, 0) for past, end in spans if past.state is ticket.state)


def measured(task: ExecutionTask, observation: ClusterObservation) -> ExecutionTask:
    """The task with what Kafka shows of its copies; as it was while that is less than another tenth, or while a broker
    that copies does not tell."""
    back = task.state is TaskState.REVERTING
    total = bytes_of(task.move, back=back)
    if total == 0 or not _copying_brokers(task.move, back=back) <= {each.broker for each in observation.log_dirs}:
        return task
    step = min(_arrived(task.move, observation, back=back) * _STEPS // total, _STEPS)
    return _with_copied(task, total * step // _STEPS)


def finished(task: ExecutionTask) -> ExecutionTask:
    """The task when all of it has arrived."""
    return _with_copied(task, bytes_of(task.move, back=task.state is TaskState.REVERTED))


def bytes_of(move: PartitionMove, *, back: bool = False) -> int:
    """Return how many bytes the move copies, there or back."""
    if not back:
        return move.bytes_to_copy
    return _reversed(move).bytes_to_copy if move.original else 0


def _with_copied(task: ExecutionTask, copied: int) -> ExecutionTask:
    return replace(task, copied_bytes=copied) if task.copied_bytes != copied else task


def part_of(state: TicketState, task: ExecutionTask) -> tuple[int, int]:
    """The task's share of the total, and of what is copied, in a ticket of this state."""
    goes_back = state in (TicketState.ROLLING_BACK, TicketState.ROLLED_BACK)
    total = bytes_of(task.move, back=goes_back)
    starts, moves, ends = _BACK if goes_back else _THERE
    if task.state is starts:
        return total, 0
    if task.state is moves:
        return total, min(task.copied_bytes, total)
    if task.state is ends:
        return (task.copied_bytes, task.copied_bytes) if goes_back else (total, total)
    return 0, 0


def _copying_brokers(move: PartitionMove, *, back: bool) -> set[int]:
    way = _reversed(move) if back and move.original else move
    return {*way.added_brokers, *(replica.broker for replica in way.log_dir_moves)}


def _arrived(move: PartitionMove, observation: ClusterObservation, *, back: bool) -> int:
    """Bytes that lie where they were not before."""
    way = _reversed(move) if back and move.original else move
    here = set(way.original_brokers)
    arrived = 0
    for replica in way.target:
        if replica.broker not in here:
            arrived += _size(move, replica.broker, observation)
    for replica in way.log_dir_moves:
        arrived += _moved_inside(move, replica, observation)
    return arrived


def _size(move: PartitionMove, broker: int, observation: ClusterObservation) -> int:
    """Return the size of the replica on the broker, and no more than was planned: producers write on."""
    for log_dir in observation.log_dirs:
        if log_dir.broker == broker and move.partition in log_dir.replicas:
            return min(log_dir.replicas[move.partition].size_bytes, move.size_bytes)
    return 0


def _moved_inside(move: PartitionMove, replica: ReplicaPlacement, observation: ClusterObservation) -> int:
    if observation.log_dir_of(move.partition, replica.broker) == replica.log_dir:
        return move.size_bytes
    for log_dir in observation.log_dirs:
        if (log_dir.broker, log_dir.path) == (replica.broker, replica.log_dir):
            future = log_dir.future_replicas.get(move.partition)
            return min(future.size_bytes, move.size_bytes) if future else 0
    return 0


def _left(ticket: Ticket, execution: Execution) -> Iterator[Left]:
    """Yield what its tasks still copy, each by its way there or back."""
    back = ticket.state is TicketState.ROLLING_BACK
    waits, moves, _ = _BACK if back else _THERE
    for task in execution.tasks:
        if task.state in (waits, moves):
            total, copied = part_of(ticket.state, task)
            way = _reversed(task.move) if back and task.move.original else task.move
            copies = len(way.added_brokers) + len(way.log_dir_moves)
            yield Left(way, (total - copied) / copies if copies else 0.0)


def _reversed(move: PartitionMove) -> PartitionMove:
    """The way back."""
    return PartitionMove(move.partition, move.target, move.original, move.size_bytes)
