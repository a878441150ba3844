"""A broker that dies in mid-move, or one of its log dirs: how long a move waits, and what becomes of it then. Pure.

    a replica that the move needs is lost ──▶ since when is stored ──▶ back in time: nothing happened
                                                                   └─▶ after the patience:
        never started                        FAILED
        its copy is under way                REVERTING: the replicas go back, their order too
        its replicas have left the others    lost is one that stayed: DONE, which says so
                                             lost is one that came: FAILED; the plan that follows decides, for taking it
                                             back would copy all of it
        it is to be created                  FAILED, with the partitions that can't be created without it

    a move on its way back, or of a ticket that is being cancelled, needs one that is lost, after the same patience:
        its replicas have arrived            FAILED: they stay where they are
        it goes back to that broker          what is in flight is cancelled, then FAILED: they stay where they are

A move needs the replicas that it brings, and those that it keeps too: Kafka ends a reassignment only when all of them
are in sync. One of nothing but the order, or between log dirs, needs those that it leads to and moves.

The ticket ends as failed once the rest is over, unless a new plan puts what is left elsewhere (the driver asks for it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from guardian.execution.rules.converging import Aim, Losses, has_arrived, needed
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import ExecutionTask, TaskReason, TaskState
from guardian.model.plan import PartitionMove
from guardian.model.units import human_duration


def without_lost(
    tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, patience_ms: int, now_ms: int
) -> tuple[ExecutionTask, ...]:
    """The tasks, with those given up that needed what was lost for too long."""
    losses = Losses(observation)
    looked = tuple(_looked_at(task, observation, losses, patience_ms, now_ms) for task in tasks)
    return _without_siblings(looked, observation, now_ms)


def without_stranded(
    tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, patience_ms: int, now_ms: int
) -> tuple[ExecutionTask, ...]:
    """The tasks of a ticket that is being cancelled, with those given up that would end only with what is lost."""
    losses = Losses(observation)
    return tuple(watched(task, observation, losses, patience_ms, now_ms) for task in tasks)


def aimed(
    aim: Aim, task: ExecutionTask, observation: ClusterObservation, losses: Losses, patience_ms: int, now_ms: int
) -> Aim:
    """Return where the task goes once it has waited for too long: nowhere any more, or on without what only stayed."""
    if not _is_late(task, patience_ms, now_ms):
        return aim
    missing = _missing(task, observation, losses)
    if task.state is TaskState.REVERTING:
        return replace(aim, is_given_up=bool(missing))
    return replace(aim, forgone=tuple(missing)) if _only_stayed(task.move, missing, observation) else aim


def is_lost(task: ExecutionTask) -> bool:
    """Return whether a new plan may do what the task was for. It was given up because of a broker, or before it began
    because its partition went elsewhere.
    """
    return bool(task.missing_since_ms) and task.state in (TaskState.REVERTED, TaskState.FAILED)


def overtaken(task: ExecutionTask, where: str, now_ms: int) -> ExecutionTask:
    """Give up a task whose partition went elsewhere before it began, as healing may have it. What it was for is planned
    anew at the ticket's end, as of one that a dead broker took.
    """
    failed = _failed(task, f"never started: {where}", now_ms)
    return replace(failed, reason=TaskReason.OVERTAKEN, missing_since_ms=now_ms)


def was_overtaken(task: ExecutionTask) -> bool:
    """Return whether the task was given up because its partition went elsewhere."""
    return is_lost(task) and task.reason == TaskReason.OVERTAKEN


def why_useless(moves: Iterable[PartitionMove], observation: ClusterObservation) -> str:
    """Say why moves of a new plan would be given up as those before them; empty where they would not."""
    losses = Losses(observation)
    for move in moves:
        lost = _lost_there(move, losses)
        if lost:
            return f"{move.partition} would need {_one_of(lost)}, which is down"
    return ""


def replaced(tasks: tuple[ExecutionTask, ...], new: tuple[ExecutionTask, ...]) -> tuple[ExecutionTask, ...]:
    """The tasks with those of a new plan behind them, which stand for the lost ones."""
    first = 1 + max((task.number for task in tasks), default=0)
    given_up = tuple(
        replace(task, state=TaskState.REVERTED, missing_since_ms=0, detail=f"{task.detail}; a new plan took its place")
        if is_lost(task)
        else task
        for task in tasks
    )
    return given_up + tuple(replace(task, number=number) for number, task in enumerate(new, start=first))


def last_words(task: ExecutionTask, aim: Aim, losses: Losses) -> str:
    """Say what a task that ends does without, which it has lost; empty where it lost nothing."""
    if aim.forgone:
        lost = losses.of(task.move.partition, task.move.target)
        return f"without {' and '.join(lost.get(b, f'broker {b}') for b in aim.forgone)}, which is down"
    if task.state is not TaskState.REVERTING or not task.missing_since_ms:
        return ""
    lost = _lost_there(task.move, losses)
    if lost:
        return f"taken back: {_one_of(lost)} was down while it copied"
    known = ", ".join(map(str, needed(Aim(task.move))))
    return f"taken back: one of brokers {known}, or a log dir of theirs, was down while it copied"


def watched(
    task: ExecutionTask, observation: ClusterObservation, losses: Losses, patience_ms: int, now_ms: int
) -> ExecutionTask:
    """The task, given up when it would end only with what was lost for too long."""
    if task.state not in (TaskState.RUNNING, TaskState.REVERTING):
        return task
    missing = _missing(task, observation, losses)
    waiting = _marked(task, missing, now_ms)
    in_flight = task.move.partition in observation.reassignments
    if not missing or in_flight or not _is_late(waiting, patience_ms, now_ms):
        return waiting
    when = "on its way back" if task.state is TaskState.REVERTING else "after the copy"
    return _failed(task, f"{_was_down(task, missing, now_ms)}, {when}{_goes_on_alone(task, missing)}", now_ms)


def awaiting_way_back(
    task: ExecutionTask, reverting: ExecutionTask, observation: ClusterObservation, patience_ms: int, now_ms: int
) -> ExecutionTask:
    """A task that waits for its turn to go back, given up when it would need what was lost for too long; `reverting` is
    the same on its way."""
    missing = _missing(reverting, observation, Losses(observation))
    waiting = _marked(task, missing, now_ms)
    if not missing or not _is_late(waiting, patience_ms, now_ms):
        return waiting
    return _failed(waiting, f"{_was_down(waiting, missing, now_ms)}, so it did not go back", now_ms)


def _looked_at(
    task: ExecutionTask, observation: ClusterObservation, losses: Losses, patience_ms: int, now_ms: int
) -> ExecutionTask:
    if task.state is TaskState.REVERTING and task.missing_since_ms:
        found = watched(task, observation, losses, patience_ms, now_ms)
        # That it was lost is kept, also where all that it needs for its way back lives.
        return found if found.state.is_over else task
    if task.state not in (TaskState.PENDING, TaskState.RUNNING):
        return task
    missing = _lost_there(task.move, losses)
    waiting = _marked(task, missing, now_ms)
    if not missing or not _is_late(waiting, patience_ms, now_ms):
        return waiting
    if task.state is TaskState.RUNNING and not task.move.is_new:
        if not has_arrived(task.move, observation):
            return replace(task, state=TaskState.REVERTING)
        if _only_stayed(task.move, missing, observation):
            return task
    return _failed(task, f"{_was_down(task, missing, now_ms)}, {_when(task, observation)}", now_ms)


def _when(task: ExecutionTask, observation: ClusterObservation) -> str:
    if task.move.is_new:
        return f"{'after' if task.move.partition in observation.partitions else 'before'} it was created"
    return "after the copy" if task.state is TaskState.RUNNING else "before it started"


def _without_siblings(
    tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, now_ms: int
) -> tuple[ExecutionTask, ...]:
    """Kafka creates a topic whole and adds partitions without a gap: those beside one that is given up go with it."""
    given_up = {
        task.move.partition.topic: task
        for task in tasks
        if task.move.is_new and task.state is TaskState.FAILED and is_lost(task) and not _is_there(task, observation)
    }
    if not given_up:
        return tasks
    return tuple(
        _failed_with(task, given_up[task.move.partition.topic], now_ms)
        if task.move.is_new
        and not task.state.is_over
        and task.move.partition.topic in given_up
        and not _is_there(task, observation)
        else task
        for task in tasks
    )


def _failed_with(task: ExecutionTask, given_up: ExecutionTask, now_ms: int) -> ExecutionTask:
    """Lost as the other one is, so that a new plan stands for both."""
    lost = replace(task, missing_since_ms=given_up.missing_since_ms)
    return _failed(lost, f"can't be created without {given_up.move.partition}", now_ms)


def _is_there(task: ExecutionTask, observation: ClusterObservation) -> bool:
    return task.move.partition in observation.partitions


def _lost_there(move: PartitionMove, losses: Losses) -> dict[int, str]:
    """Return by broker what is lost of that without which the move does not reach its target."""
    lost = losses.of(move.partition, move.target)
    if not lost:  # mostly so, and asked of each task at each tick
        return lost
    wanted = needed(Aim(move))
    return {broker: why for broker, why in lost.items() if broker in wanted}


def _missing(task: ExecutionTask, observation: ClusterObservation, losses: Losses) -> dict[int, str]:
    """Return by broker what is lost of that without which the task can't end, the way that it goes."""
    move = task.move
    if task.state is not TaskState.REVERTING:
        return _lost_there(move, losses)
    state = observation.partitions.get(move.partition)
    if state is None:
        return {}
    lost = losses.of(move.partition, move.original)
    if move.partition in observation.reassignments or set(state.replicas) != set(move.original_brokers):
        return lost
    if state.replicas != move.original_brokers:
        return {}
    return {broker: why for broker, why in lost.items() if broker in _between_log_dirs(move)}


def _between_log_dirs(move: PartitionMove) -> dict[int, str]:
    """Return by broker the log dir that a move between log dirs goes to."""
    return {replica.broker: replica.log_dir for replica in move.log_dir_moves}


def _only_stayed(move: PartitionMove, missing: Iterable[int], observation: ClusterObservation) -> bool:
    """Return whether all has arrived and what is lost was there before, in the same log dir."""
    moved = (*move.added_brokers, *_between_log_dirs(move))
    return has_arrived(move, observation) and not move.is_new and not any(broker in moved for broker in missing)


def _marked(task: ExecutionTask, missing: Iterable[int], now_ms: int) -> ExecutionTask:
    """Return the task with since when something is lost."""
    since = (task.missing_since_ms or now_ms) if any(True for _ in missing) else 0
    return replace(task, missing_since_ms=since) if task.missing_since_ms != since else task


def _is_late(task: ExecutionTask, patience_ms: int, now_ms: int) -> bool:
    return bool(task.missing_since_ms) and now_ms - task.missing_since_ms >= patience_ms


def _failed(task: ExecutionTask, detail: str, now_ms: int) -> ExecutionTask:
    return replace(task, state=TaskState.FAILED, detail=detail, ended_at_ms=now_ms)


def _was_down(task: ExecutionTask, missing: dict[int, str], now_ms: int) -> str:
    return f"{_one_of(missing)} was down for {human_duration(now_ms - task.missing_since_ms)}"


def _goes_on_alone(task: ExecutionTask, missing: dict[int, str]) -> str:
    """Say what to know of a copy between log dirs that nobody could stop; empty where there is none."""
    left = {b: path for b, path in _between_log_dirs(task.move).items() if b in missing}
    if task.state is not TaskState.REVERTING or not left:
        return ""
    copies = " and ".join(f"to {path} on broker {broker}" for broker, path in left.items())
    return f": its copy {copies} may go on once that is back"


def _one_of(lost: dict[int, str]) -> str:
    names = list(lost.values())
    if len(names) == 1:
        return names[0]
    if all(name == f"broker {broker}" for broker, name in lost.items()):
        return f"one of brokers {', '.join(map(str, lost))}"
    return f"one of {', '.join(names)}"
