"""How a ticket is carried out: each tick compares the tasks with Kafka and says what to store and what to send.

    step(ticket state, execution, observation) -> what to store, then what to send

    PENDING ──▶ RUNNING ──▶ DONE                  DONE, REVERTED: only once it was seen in Kafka
       │           ├──────▶ FAILED                the topic was deleted, or another tool moved the partition
       │           └──▶ REVERTING ──▶ REVERTED    the ticket is being cancelled (FAILED here too, for the same reasons)
       ├──────────────────────────▶ REVERTED      it never started
       └──────────────────────────▶ FAILED        it never started: it needed the room of one that failed

    RUNNING ticket      every task goes to its end; then SUCCEEDED, or FAILED when any task failed
    CANCELLING ticket   nothing starts; what is under way goes back, but for replicas that have already arrived (to
                        take those back would copy all of it again): they finish; then CANCELLED

Intent before effect: a task becomes RUNNING, and a throttle is recorded, in the state that is stored before anything
is sent. A step that is repeated after a crash, on whatever Kafka shows by then, comes to the same end, because the
effects follow from the stored state and the observation alone.

Order in time: throttles are sent when a task starts; what copies data is sent only once Kafka shows them, and they
go when Kafka shows that the copy is over. The ticket ends when none of them is left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from guardian.core import throttling
from guardian.core.converging import Aim, Look, Standing, copy_of, has_arrived, look, was_moved_away
from guardian.core.effects import (
    AlterConfigs,
    AlterReassignments,
    AlterReplicaLogDirs,
    ConfigChange,
    ConfigKey,
    Effect,
    ElectLeaders,
)
from guardian.core.throttling import TOPIC, Copy
from guardian.core.warming import WarmUp
from guardian.errors import InvalidInput
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

_ACTIVE = (TaskState.RUNNING, TaskState.REVERTING)
_ENDINGS = {TaskState.RUNNING: TaskState.DONE, TaskState.REVERTING: TaskState.REVERTED}
_TIERED = "remote.storage.enable"
_HOLD_LIMIT = 2  # warm-up times: one to copy, one in sync
_NAMED = 3  # how many partitions a sentence names


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """Moves at the same time: replicas into a broker, replicas out of one (its leaders and log dirs), partitions in
    a cluster."""

    per_broker_in: int = 5
    per_broker_out: int = 5
    per_cluster: int = 1250

    def __post_init__(self) -> None:
        for name in ("per_broker_in", "per_broker_out", "per_cluster"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}: use at least 1")


@dataclass(frozen=True, slots=True)
class Step:
    """`execution` is to be stored together with `transition` (the new state and why); then `effects` are to be sent in
    their order. `sentence` says what was done and what is awaited, and stays the same while nothing happens."""

    execution: Execution
    transition: tuple[TicketState, str] | None
    effects: tuple[Effect, ...]
    sentence: str


def begin(ticket: Ticket, plan: Plan, tiered: Collection[str] = (), warm_up_s: float = 0.0) -> Execution:
    """All tasks PENDING, in the order in which they start: the plan's own, or most relief per byte first, then by name.

    New replicas of the `tiered` topics lead when they hold what is written in `warm_up_s`; at once when that is 0.
    """
    moves: Sequence[PartitionMove] = plan.moves
    if not plan.is_ordered:
        moves = sorted(moves, key=lambda m: (-m.write_rate / max(m.bytes_to_copy, 1), m.partition))
    numbered = enumerate(moves, start=1)
    warm_ups = dict.fromkeys(tiered, warm_up_s)
    return Execution(
        ticket.id, tuple(_task(number, move, warm_ups.get(move.partition.topic, 0.0)) for number, move in numbered)
    )


def tiered_topics(observation: ClusterObservation) -> frozenset[str]:
    """The topics whose segments are copied to remote storage."""
    configs = observation.configs.items()
    return frozenset(name for (kind, name), values in configs if kind == TOPIC and values.get(_TIERED) == "true")


def _task(number: int, move: PartitionMove, warm_up_s: float) -> ExecutionTask:
    return ExecutionTask(
        number, move, cover_bytes=round(move.write_rate * warm_up_s), hold_ms=round(_HOLD_LIMIT * warm_up_s * 1000)
    )


def why_stale(plan: Plan, observation: ClusterObservation) -> str:
    """Why the plan must not start (the cluster changed since it was made); empty when it may."""
    return next((reason for move in plan.moves if (reason := was_moved_away(move, observation))), "")


def brokers_of(execution: Execution | Plan) -> frozenset[int]:
    """All brokers that a ticket may touch. Tickets that share one share its rates, so they run one after the other."""
    moves = execution.moves if isinstance(execution, Plan) else [task.move for task in execution.tasks]
    return frozenset(broker for move in moves for broker in (*move.original_brokers, *move.target_brokers))


def step(
    ticket_state: TicketState,
    execution: Execution,
    observation: ClusterObservation,
    limits: ExecutionLimits,
    throttle: int,
    now_ms: int,
    refusals: Mapping[TopicPartition, str] | None = None,
) -> Step:
    """What to do about a RUNNING or CANCELLING ticket now.

    `throttle` is bytes/s per broker, 0 for none; `refusals` are Kafka's answers of the last tick, by partition.
    """
    if ticket_state is TicketState.CANCELLING:
        tasks = _take_back(execution.tasks, observation, now_ms)
    else:
        tasks = _start(execution.tasks, observation, limits, now_ms)
    looks = {task.number: look(_aim(task, now_ms), observation) for task in tasks if task.state in _ACTIVE}
    tasks = tuple(
        _settle(old, new, looks.get(new.number), now_ms) for old, new in zip(execution.tasks, tasks, strict=True)
    )
    copies = _copies(tasks, observation, now_ms)
    wanted = throttling.wanted(copies.values(), throttle)
    before = throttling.wanted(_copies(execution.tasks, observation, now_ms).values(), throttle)
    throttles = throttling.reconcile(execution.throttles, wanted, before, observation)
    held = frozenset(
        number for number, copy in copies.items() if throttles.unset & throttling.wanted([copy], throttle).keys
    )
    tasks = tuple(_explain(task, looks.get(task.number), held, refusals or {}) for task in tasks)
    effects = _effects(tasks, looks, held, throttles.changes)
    transition = None if throttles.intents or effects else _ending(ticket_state, tasks)
    sentence = _sentence(execution.tasks, tasks, (throttling.explain(wanted, throttle), *throttles.notes), transition)
    stored = replace(execution, tasks=tasks, throttles=throttles.intents, note=sentence)
    return Step(stored, transition, effects, sentence)


def _aim(task: ExecutionTask, now_ms: int) -> Aim:
    """The hold of a task that did not start yet would begin now."""
    until_ms = (task.started_at_ms or now_ms) + task.hold_ms
    warm_up = WarmUp(task.cover_bytes, until_ms) if task.hold_ms else None
    return Aim(task.move, back=task.state is TaskState.REVERTING, warm_up=warm_up)


def _take_back(
    tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, now_ms: int
) -> tuple[ExecutionTask, ...]:
    return tuple(_take_back_one(task, observation, now_ms) for task in tasks)


def _take_back_one(task: ExecutionTask, observation: ClusterObservation, now_ms: int) -> ExecutionTask:
    if task.state is TaskState.PENDING:
        return replace(task, state=TaskState.REVERTED, detail="never started", ended_at_ms=now_ms)
    if task.state is not TaskState.RUNNING or has_arrived(task.move, observation):
        return task
    if look(_aim(task, now_ms), observation).standing is Standing.REACHED:
        return task
    # The way back is as long as the way there: what is held on it gets the whole time again.
    hold_ms = task.hold_ms and now_ms - task.started_at_ms + task.hold_ms
    return replace(task, state=TaskState.REVERTING, hold_ms=hold_ms)


def _start(
    tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, limits: ExecutionLimits, now_ms: int
) -> tuple[ExecutionTask, ...]:
    """Pending tasks enter in their order as slots free up; one that does not fit holds nobody back, in its stage.

    A stage takes the room that the ones before it made, so it begins when these are over, and not at all when a task
    of theirs failed.
    """
    slots = _Slots(limits)
    for task in tasks:
        if task.state in _ACTIVE:
            slots.take(copy_of(_aim(task, now_ms), observation))
    stage = min((task.move.stage for task in tasks if not task.state.is_over), default=0)
    failed = next((task for task in tasks if task.state is TaskState.FAILED and task.move.stage < stage), None)
    return tuple(
        _start_one(task, observation, slots, stage, failed, now_ms) if task.state is TaskState.PENDING else task
        for task in tasks
    )


def _start_one(
    task: ExecutionTask,
    observation: ClusterObservation,
    slots: _Slots,
    stage: int,
    failed: ExecutionTask | None,
    now_ms: int,
) -> ExecutionTask:
    if failed:
        detail = f"never started: {failed.move.partition} of stage {failed.move.stage} failed, whose room it may need"
        return replace(task, state=TaskState.FAILED, detail=detail, ended_at_ms=now_ms)
    if task.move.stage > stage:
        return replace(task, detail=f"waits for the room that stage {stage} makes")
    found = look(_aim(task, now_ms), observation)
    if found.standing is Standing.WAIT:
        return replace(task, detail=found.detail)
    copy = copy_of(_aim(task, now_ms), observation)
    if not slots.fit(copy):
        return replace(task, detail="waits for a slot")
    slots.take(copy)
    return replace(task, state=TaskState.RUNNING, detail="", started_at_ms=now_ms)


class _Slots:
    """What is under way at once, against the limits."""

    def __init__(self, limits: ExecutionLimits) -> None:
        self._limits = limits
        self._in: Counter[int] = Counter()
        self._out: Counter[int] = Counter()
        self._partitions = 0

    def fit(self, copy: Copy | None) -> bool:
        if self._partitions >= self._limits.per_cluster:
            return False
        entering, leaving = _ends(copy)
        return all(self._in[broker] < self._limits.per_broker_in for broker in entering) and all(
            self._out[broker] < self._limits.per_broker_out for broker in leaving
        )

    def take(self, copy: Copy | None) -> None:
        entering, leaving = _ends(copy)
        self._in.update(entering)
        self._out.update(leaving)
        self._partitions += 1


def _ends(copy: Copy | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The brokers that a copy enters and leaves; a copy between log dirs does both on its broker."""
    if copy is None:
        return (), ()
    leader = (copy.leader,) if copy.destinations else ()
    return copy.destinations + copy.log_dir_brokers, leader + copy.log_dir_brokers


def _settle(old: ExecutionTask, task: ExecutionTask, found: Look | None, now_ms: int) -> ExecutionTask:
    """The task's state after the look at it.

    What goes back only now is looked at once more: the request that started it may still be on its way.
    """
    if found is None or (task.state is TaskState.REVERTING and old.state is TaskState.RUNNING):
        return task
    if found.standing in (Standing.GONE, Standing.TAKEN):
        return replace(task, state=TaskState.FAILED, detail=found.detail, ended_at_ms=now_ms)
    if found.standing is Standing.REACHED:
        return replace(task, state=_ENDINGS[task.state], detail="", ended_at_ms=now_ms)
    return task


def _explain(
    task: ExecutionTask, found: Look | None, held: frozenset[int], refusals: Mapping[TopicPartition, str]
) -> ExecutionTask:
    """What the active task does or waits for, and what Kafka had against it."""
    if found is None or task.state not in _ACTIVE:
        return task
    detail = "waits for its throttle to be set" if found.copies and task.number in held else found.detail
    refusal = refusals.get(task.move.partition)
    if refusal and found.standing is Standing.ACT:
        detail += f"; Kafka refused it: {refusal}"
    return replace(task, detail=detail)


def _copies(tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, now_ms: int) -> dict[int, Copy]:
    found = {task.number: copy_of(_aim(task, now_ms), observation) for task in tasks if task.state in _ACTIVE}
    return {number: copy for number, copy in found.items() if copy}


def _effects(
    tasks: tuple[ExecutionTask, ...],
    looks: Mapping[int, Look],
    held: frozenset[int],
    changes: Mapping[ConfigKey, ConfigChange],
) -> tuple[Effect, ...]:
    """Throttles first, then one request of each kind for all tasks; what copies waits while its throttle is unset."""
    active = [task.number for task in tasks if task.state in _ACTIVE]
    allowed = [looks[number] for number in active if not (looks[number].copies and number in held)]
    throttle: tuple[Effect, ...] = (AlterConfigs(changes),) if changes else ()
    return throttle + _batched(effect for found in allowed for effect in found.effects)


def _batched(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The log dirs of replicas that are to come are told before the reassignment that brings them (trap 22)."""
    ahead: dict[tuple[TopicPartition, int], str] = {}
    targets: dict[TopicPartition, tuple[int, ...] | None] = {}
    log_dirs: dict[tuple[TopicPartition, int], str] = {}
    elections: list[TopicPartition] = []
    for effect in effects:
        match effect:
            case AlterReplicaLogDirs(moved, is_ahead):
                (ahead if is_ahead else log_dirs).update(moved)
            case AlterReassignments(reassigned):
                targets.update(reassigned)
            case ElectLeaders(elected):
                elections.extend(elected)
    batches: list[Effect] = []
    if ahead:
        batches.append(AlterReplicaLogDirs(ahead, ahead=True))
    if targets:
        batches.append(AlterReassignments(targets))
    if log_dirs:
        batches.append(AlterReplicaLogDirs(log_dirs))
    if elections:
        batches.append(ElectLeaders(tuple(elections)))
    return tuple(batches)


def _ending(ticket_state: TicketState, tasks: tuple[ExecutionTask, ...]) -> tuple[TicketState, str] | None:
    """The ticket's last state and why; None while a task is not over."""
    if not all(task.state.is_over for task in tasks):
        return None
    failed = [task for task in tasks if task.state is TaskState.FAILED]
    why = "".join(f"; {task.move.partition} failed: {task.detail}" for task in failed[:_NAMED])
    done = sum(task.state is TaskState.DONE for task in tasks)
    if ticket_state is TicketState.CANCELLING:
        reverted = sum(task.state is TaskState.REVERTED for task in tasks)
        reason = f"{reverted} of {len(tasks)} moves are as before, {done} were done and stay done{why}"
        return TicketState.CANCELLED, reason
    if failed:
        return TicketState.FAILED, f"{len(failed)} of {len(tasks)} moves failed{why}"
    return TicketState.SUCCEEDED, f"all {len(tasks)} moves were seen in Kafka"


def _sentence(
    before: tuple[ExecutionTask, ...],
    tasks: tuple[ExecutionTask, ...],
    throttle_notes: tuple[str, ...],
    transition: tuple[TicketState, str] | None,
) -> str:
    if transition:
        return f"{transition[0].name}: {transition[1]}"
    states = Counter(task.state for task in tasks)
    over = sum(task.state.is_over for task in tasks)
    parts = [f"{over} of {len(tasks)} moves are over, {sum(states[state] for state in _ACTIVE)} under way"]
    for state, verb in _VERBS.items():
        changed = [new for old, new in zip(before, tasks, strict=True) if new.state is state is not old.state]
        if changed:
            parts.append(f"{verb} {_named(changed)}")
    if over == len(tasks):
        parts.append("waits until its throttles are gone")
    parts.extend(_waits(tasks))
    return "; ".join(part for part in (*parts, *throttle_notes) if part)


_VERBS = {
    TaskState.RUNNING: "started",
    TaskState.DONE: "done:",
    TaskState.REVERTING: "takes back",
    TaskState.REVERTED: "as before:",
    TaskState.FAILED: "failed:",
}


def _waits(tasks: tuple[ExecutionTask, ...]) -> list[str]:
    """What is awaited, the same reasons together."""
    waiting: dict[str, list[ExecutionTask]] = defaultdict(list)
    for task in tasks:
        if not task.state.is_over and task.detail:
            waiting[task.detail].append(task)
    reasons = [f"{_named(held)}: {detail}" for detail, held in waiting.items()]
    return reasons[:_NAMED] + ([f"{len(reasons) - _NAMED} more reasons"] if len(reasons) > _NAMED else [])


def _named(tasks: list[ExecutionTask]) -> str:
    names = ", ".join(str(task.move.partition) for task in tasks[:_NAMED])
    return names if len(tasks) <= _NAMED else f"{names} and {len(tasks) - _NAMED} more"
