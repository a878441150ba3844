"""How a ticket is carried out: each tick compares the tasks with Kafka and says what to store and what to send.

    step(ticket state, execution, observation) -> what to store, then what to send

    PENDING ──▶ RUNNING ──▶ DONE                  DONE, REVERTED: only once it was seen in Kafka
       │           ├──────▶ FAILED                another tool moved the partition, or a broker stayed away (losing.py)
       │           ├──────▶ REVERTED              its topic was deleted: nothing is left to move, or to fail
       │           └──▶ REVERTING ──▶ REVERTED    the ticket is being cancelled (FAILED here too, for the same reasons)
       ├──────────────────────────▶ REVERTED      it never started
       └──────────────────────────▶ FAILED        it never started: it needed the room of one that failed

    RUNNING ticket      every task goes to its end; then SUCCEEDED, or FAILED when any task failed
    PAUSED ticket       no task and no copy starts; what copies goes on to its end, or back where a broker that it needs
                        stays away; when all is over, as RUNNING
    CANCELLING ticket   nothing starts; what is under way goes back, but for replicas that have already arrived (to
                        take those back would copy all of it again): they finish; then CANCELLED. What needs a broker
                        that stays away is FAILED, so that the ticket ends (losing.py)
    ROLLING_BACK ticket every task that was done goes back, as slots free up (rolling_back.py); then ROLLED_BACK. What
                        needs a broker that stays away is FAILED here too

Intent before effect: a task becomes RUNNING, and a throttle is recorded, in the state that is stored before anything
is sent. A step that is repeated after a crash, on whatever Kafka shows by then, comes to the same end, because the
effects follow from the stored state and the observation alone.

Order in time: throttles are sent when a task starts; what copies data is sent only once Kafka shows them, and they
go when Kafka shows that the copy is over. The ticket ends when none of them is left, and one more look at all that it
moved has shown none either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from guardian.core import adapting, creating, losing, rolling_back, throttling
from guardian.core.adapting import Around
from guardian.core.converging import Aim, Look, Losses, Standing, copy_of, gone, has_arrived, look, was_moved_away
from guardian.core.effects import (
    BROKER,
    TOPIC,
    AlterConfigs,
    AlterReassignments,
    AlterReplicaLogDirs,
    ConfigChange,
    ConfigKey,
    CreatePartitions,
    Effect,
    ElectLeaders,
    SettleDebts,
)
from guardian.core.holding import Beside
from guardian.core.progressing import bytes_of, finished, measured
from guardian.core.slots import ExecutionLimits, Slots
from guardian.core.throttling import LISTS, Copy
from guardian.core.warming import WarmUp
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution, ExecutionTask, TaskReason, TaskState
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove, Plan
from guardian.model.text import Text, some, without_text
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

_ACTIVE = (TaskState.RUNNING, TaskState.REVERTING)
_ALONE = Beside()
_ENDINGS = {TaskState.RUNNING: TaskState.DONE, TaskState.REVERTING: TaskState.REVERTED}
TIERED = "remote.storage.enable"
_HOLD_LIMIT = 2  # warm-up times: one to copy, one in sync
_SOON_OVER_MS, _SOON_OVER_BYTES = 1_000, 50_000_000
_NAMED = 3  # how many partitions a sentence names


@dataclass(frozen=True, slots=True)
class Step:
    """`execution` is to be stored together with `transition` (the new state and why); then `effects` are to be sent in
    their order. `sentence` says what was done and what is awaited, and stays the same while nothing happens."""

    execution: Execution
    transition: tuple[TicketState, Text] | None
    effects: tuple[Effect, ...]
    sentence: Text


def begin(ticket: Ticket, plan: Plan, tiered: Collection[str] = (), warm_up_s: float = 0.0) -> Execution:
    """All tasks PENDING, in the order in which they start: the plan's own, or most relief per byte first, then by name.

    New replicas of the `tiered` topics lead when they hold what is written in `warm_up_s`; at once when that is 0.
    """
    moves: Sequence[PartitionMove] = plan.moves
    if not plan.is_ordered:
        moves = sorted(moves, key=lambda m: (-m.write_rate / max(m.bytes_to_copy, 1), m.partition))
    numbered = enumerate(moves, start=1)
    warm_ups = dict.fromkeys(tiered, warm_up_s)
    tasks = tuple(_task(number, move, warm_ups.get(move.partition.topic, 0.0)) for number, move in numbered)
    configs = tuple(sorted(creating.topic_configs(plan).items()))
    if configs:
        tasks = tuple(replace(task, topic_configs=configs) if _creates_topic(task) else task for task in tasks)
    return Execution(ticket.id, tasks)


def _creates_topic(task: ExecutionTask) -> bool:
    return task.move.is_new and task.move.partition.partition == 0


def tiered_topics(observation: ClusterObservation) -> frozenset[str]:
    """The topics whose segments are copied to remote storage."""
    configs = observation.configs.items()
    return frozenset(name for (kind, name), values in configs if kind == TOPIC and values.get(TIERED) == "true")


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
    return _brokers(moves)


def brokers_held(work: Execution | Plan, state: TicketState) -> frozenset[int]:
    """Those that a ticket keeps from others: all of its own, unless rates are all that is left of it, as on a broker
    that is down."""
    if (
        isinstance(work, Plan)
        or state is TicketState.ROLLING_BACK
        or not all(task.state.is_over for task in work.tasks)
    ):
        return brokers_of(work)
    if not work.throttles or any(intent.resource_type != BROKER for intent in work.throttles):
        return brokers_of(work)
    return frozenset(int(intent.resource_name) for intent in work.throttles)


def brokers_at_work(work: Execution | Plan) -> frozenset[int]:
    """Those whose load a decision about rates needs: of the tasks under way; of all when none is yet."""
    if isinstance(work, Plan):
        return brokers_of(work)
    active = [task.move for task in work.tasks if task.state in _ACTIVE]
    return _brokers(active or [task.move for task in work.tasks if not task.state.is_over])


def _brokers(moves: Iterable[PartitionMove]) -> frozenset[int]:
    return frozenset([replica.broker for move in moves for replica in (*move.original, *move.target)])


class _Copies:
    """What tasks copy, as this step sees it. Each is worked out once: slots, rates and throttles all ask for it."""

    def __init__(self, observation: ClusterObservation, now_ms: int) -> None:
        self._observation = observation
        self._now_ms = now_ms
        self._known: dict[tuple[int, TaskState, int, int], Copy | None] = {}

    def of(self, task: ExecutionTask) -> Copy | None:
        """None when the task moves no data."""
        # Within a step a task keeps its move: its way and its hold are all that may change.
        key = (task.number, task.state, task.started_at_ms, task.hold_ms)
        if key not in self._known:
            self._known[key] = copy_of(_aim(task, self._now_ms), self._observation)
        return self._known[key]

    def of_active(self, tasks: Iterable[ExecutionTask]) -> dict[int, Copy]:
        """By the task's number."""
        return {task.number: copy for task in tasks if task.state in _ACTIVE and (copy := self.of(task))}


def under_way(execution: Execution, observation: ClusterObservation, now_ms: int) -> tuple[Copy | None, ...]:
    """What its active tasks copy, one each: what slots know of a ticket. None: no data moves."""
    copies_of = _Copies(observation, now_ms)
    return tuple(copies_of.of(task) for task in execution.tasks if task.state in _ACTIVE and not task.move.is_new)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a step depends on, besides the ticket and what is seen of its partitions.

    `max_throttle` is how far the throttle may rise where `around` shows room, bytes/s per broker, 0: not at all;
    `standing` are the rates that people set for brokers, bytes/s. `refusals` are Kafka's answers of the last tick, by
    partition, `settled` what a controller put back since then. `others` is what other tickets of the cluster have under
    way, `beside` what they are at, and `held_by_others` are the keys that they and the protection of disks hold. Since
    `since_ms` the ticket has been in its state. `remarks` are to be said of its copies.
    """

    around: Around | None = None
    max_throttle: int = 0
    standing: Mapping[int, int] = field(default_factory=dict)
    refusals: Mapping[TopicPartition, str] = field(default_factory=dict)
    settled: frozenset[ConfigKey] = frozenset()
    others: Sequence[Copy | None] = ()
    beside: Beside = _ALONE
    held_by_others: frozenset[ConfigKey] = frozenset()
    since_ms: int = 0
    remarks: Sequence[str] = ()


_NONE = Circumstances()


def step(
    ticket_state: TicketState,
    execution: Execution,
    observation: ClusterObservation,
    limits: ExecutionLimits,
    throttle: int,
    now_ms: int,
    at: Circumstances = _NONE,
) -> Step:
    """What to do about a ticket that began, now. `throttle` is bytes/s per broker, 0 for none."""
    copies_of = _Copies(observation, now_ms)
    idcs = at.around.idcs if at.around else {}
    slots = Slots(limits, idcs, at.others)
    tasks = _turned(
        ticket_state, execution.tasks, observation, copies_of, limits, now_ms, slots, at.since_ms, at.beside
    )
    tasks = _without_deleted(tasks, observation, now_ms)
    losses, patience_ms = Losses(observation), _patience_ms(limits)
    aims = {
        task.number: losing.aimed(_aim(task, now_ms), task, observation, losses, patience_ms, now_ms)
        for task in tasks
        if task.state in _ACTIVE
    }
    looks = {number: look(aim, observation) for number, aim in aims.items()}
    tasks = tuple(
        _settle(old, new, looks[new.number], losing.last_words(new, aims[new.number], losses), now_ms)
        if new.number in looks
        else new
        for old, new in zip(execution.tasks, tasks, strict=True)
    )
    idle = _idle(looks) if ticket_state is TicketState.PAUSED else frozenset()
    copies = copies_of.of_active(task for task in tasks if task.number not in idle)
    paced = adapting.pace(execution.rates, copies.values(), throttle, at.around, now_ms, at.max_throttle, at.standing)
    pace = throttling.capped(paced.pace, at.standing)
    wanted = throttling.wanted(copies.values(), pace)
    recorded = execution.throttles + _shown_again(execution, observation, at.held_by_others)
    gone_brokers = _gone(recorded, tasks, observation)
    throttles = throttling.reconcile(recorded, wanted, observation, gone_brokers, at.settled, at.beside.rates)
    held = frozenset(
        number
        for number, copy in (copies.items() if throttles.unset else ())
        if throttles.unset & throttling.wanted([copy], throttle).required.keys()
    )
    tasks = tuple(_explain(task, looks.get(task.number), held, at.refusals) for task in tasks)
    tasks = tuple(_measure(task, observation, is_idle=task.number in idle) for task in tasks)
    effects = _effects(tasks, looks, held | idle, throttles.changes, observation)
    effects += (SettleDebts(throttles.debts),) if throttles.debts else ()
    transition = None if throttles.settings or effects else _ending(ticket_state, tasks)
    lifted = throttling.lifted(execution.lifted, recorded, throttles)
    is_last_look = bool(transition and lifted) and looks_once_more(execution)
    silent = throttling.unread(lifted, observation) if is_last_look else frozenset()
    if transition and lifted:
        lifted, transition = ((), transition) if is_last_look and not silent else (lifted, None)
    explained = (throttling.explain(wanted, pace), *paced.notes, *at.remarks) if wanted.rates else ()
    notes = (_pause(ticket_state, tasks), *explained, *throttles.notes, _not_read(silent))
    sentence = _sentence(ticket_state, execution.tasks, tasks, notes, transition)
    stored = replace(
        execution, tasks=tasks, throttles=throttles.settings, rates=paced.rates, note=sentence, lifted=lifted
    )
    return Step(stored, transition, effects, sentence)


def may_soon_be_over(execution: Execution, throttle: int, now_ms: int) -> bool:
    """Whether a small move began so lately that it may end at any moment: its slot would lie idle until the next look.

    Kafka alone takes up to half a second (`replica.fetch.wait.max.ms`) until a follower asks for a partition that is
    new to it. What is still not over after a second goes slowly. `throttle` is bytes/s per broker, 0 for none.
    """
    at_once = min(_SOON_OVER_BYTES, throttle * _SOON_OVER_MS // 1_000) if throttle else _SOON_OVER_BYTES
    return any(
        task.state in _ACTIVE
        and 0 <= now_ms - task.started_at_ms < _SOON_OVER_MS  # less by the clock of a former leader
        and bytes_of(task.move, back=task.state is TaskState.REVERTING) <= at_once
        for task in execution.tasks
    )


def leads_on(before: Execution, after: Execution, effects: Iterable[object]) -> bool:
    """Whether another step may follow this one at once.

    How much is copied, how fast it may be and what is said of it wait for the clock: each look takes a few milliseconds
    of the brokers' time, and clients feel those.
    """
    return (
        len(before.tasks) != len(after.tasks)
        or any(map(_is_elsewhere, before.tasks, after.tasks))
        or _held_throttles(before) != _held_throttles(after)
        or (before.foreign, before.directory) != (after.foreign, after.directory)
        or without_text(before.operation) != without_text(after.operation)
        or any(map(_does_more_than_adapt, effects))
    )


def _is_elsewhere(before: ExecutionTask, after: ExecutionTask) -> bool:
    """Whether more than its progress changed."""
    if before is after:
        return False
    return replace(before, copied_bytes=after.copied_bytes, detail=after.detail, reason=after.reason) != after


def _held_throttles(execution: Execution) -> set[tuple[object, ...]]:
    """Return the keys, and of lists their entries."""
    return {(ConfigKey.of(each), *(each.values if each.key in LISTS else ())) for each in execution.throttles}


def _does_more_than_adapt(effect: object) -> bool:
    """Whether it is more than rates that take the place of rates, or what costs nobody anything while it waits."""
    if isinstance(effect, AlterConfigs):
        return any(
            key.resource_type == TOPIC or change.expected is None or change.value is None
            for key, change in effect.changes.items()
        )
    return not isinstance(effect, SettleDebts)


def looks_once_more(execution: Execution) -> bool:
    """Whether all that the ticket moved must be observed: its throttles were put back, and it may end."""
    is_done_with_throttles = bool(execution.lifted) and not execution.throttles
    return is_done_with_throttles and all(task.state.is_over for task in execution.tasks)


def _shown_again(
    execution: Execution, observation: ClusterObservation, held_by_others: frozenset[ConfigKey]
) -> tuple[OwnedSetting, ...]:
    """Throttles that were put back, and yet are there at the last look, though nobody else holds them."""
    if not looks_once_more(execution):
        return ()
    copies = [copy for task in execution.tasks if (copy := _copy_of_ended(task))]
    shown = throttling.rates_shown_again(execution.lifted, observation)
    shown += throttling.entries_shown_again(execution.lifted, copies, observation)
    return tuple(intent for intent in shown if ConfigKey.of(intent) not in held_by_others)


def _copy_of_ended(task: ExecutionTask) -> Copy | None:
    """What it listed: on its way, and, where it is not where it was to go, on its way back."""
    original = {replica.broker for replica in task.move.original}
    target = {replica.broker for replica in task.move.target}
    copied = target - original if task.state is TaskState.DONE else original ^ target
    if not task.started_at_ms or not original or not copied:
        return None
    return Copy(task.move.partition, 0.0, 0, tuple(original | target), tuple(copied))


def _gone(
    throttles: tuple[OwnedSetting, ...], tasks: tuple[ExecutionTask, ...], observation: ClusterObservation
) -> frozenset[int]:
    """Throttled brokers that are down, and that no task waits for any more."""
    throttled = {int(intent.resource_name) for intent in throttles if intent.resource_type == BROKER}
    down = throttled - observation.brokers.keys()
    return frozenset(down - _brokers(task.move for task in tasks if not task.state.is_over)) if down else frozenset()


def _aim(task: ExecutionTask, now_ms: int) -> Aim:
    """The hold of a task that did not start yet would begin now."""
    until_ms = (task.started_at_ms or now_ms) + task.hold_ms
    warm_up = WarmUp(task.cover_bytes, until_ms) if task.hold_ms else None
    return Aim(task.move, back=task.state is TaskState.REVERTING, warm_up=warm_up)


def _turned(
    ticket_state: TicketState,
    tasks: tuple[ExecutionTask, ...],
    observation: ClusterObservation,
    copies_of: _Copies,
    limits: ExecutionLimits,
    now_ms: int,
    slots: Slots,
    since_ms: int,
    beside: Beside,
) -> tuple[ExecutionTask, ...]:
    """The tasks, with those set out whose turn it is, the way that the ticket goes."""
    match ticket_state:
        case TicketState.CANCELLING:
            left = _take_back(tasks, observation, now_ms)
            found = losing.without_stranded(left, observation, _patience_ms(limits), now_ms)
            # What goes back only now is looked at once more, as in `_settle`.
            return tuple(
                back if back.state is TaskState.REVERTING is not old.state else watched
                for old, back, watched in zip(tasks, left, found, strict=True)
            )
        case TicketState.ROLLING_BACK:
            way = rolling_back.Way(observation, lambda task: _aim(task, now_ms), _patience_ms(limits), since_ms, now_ms)
            return rolling_back.go_back(tasks, slots, way)
        case TicketState.PAUSED:
            left = losing.without_lost(tasks, observation, _patience_ms(limits), now_ms)
            return tuple(
                old if old.state is TaskState.PENDING else watched for old, watched in zip(tasks, left, strict=True)
            )
        case _:
            left = losing.without_lost(tasks, observation, _patience_ms(limits), now_ms)
            return _start(left, observation, copies_of, slots, beside, now_ms)


def _patience_ms(limits: ExecutionLimits) -> int:
    return int(limits.broker_patience_s * 1000)


def _idle(looks: Mapping[int, Look]) -> frozenset[int]:
    """Tasks that wait for a copy that did not begin: of a paused ticket it does not, and needs no throttle."""
    return frozenset(number for number, found in looks.items() if found.copies)


def _measure(task: ExecutionTask, observation: ClusterObservation, *, is_idle: bool) -> ExecutionTask:
    if is_idle:
        return replace(task, detail="paused before its copy began")
    return measured(task, observation) if task.state in _ACTIVE else task


def _pause(ticket_state: TicketState, tasks: tuple[ExecutionTask, ...]) -> str:
    waiting = sum(task.state is TaskState.PENDING for task in tasks)
    return f"paused: {waiting} do not start" if ticket_state is TicketState.PAUSED else ""


def _not_read(brokers: Collection[int]) -> str:
    named = ", ".join(map(str, sorted(brokers)))
    return f"the configuration of broker {named} can't be read until it answers" if brokers else ""


def _without_deleted(
    tasks: tuple[ExecutionTask, ...], observation: ClusterObservation, now_ms: int
) -> tuple[ExecutionTask, ...]:
    """A topic that was deleted while it was being made is not made again."""
    deleted = creating.deleted(tasks, observation)
    return tuple(
        replace(task, state=TaskState.FAILED, detail=gone(task.move.partition), ended_at_ms=now_ms)
        if task.number in deleted
        else task
        for task in tasks
    )


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
    tasks: tuple[ExecutionTask, ...],
    observation: ClusterObservation,
    copies_of: _Copies,
    slots: Slots,
    beside: Beside,
    now_ms: int,
) -> tuple[ExecutionTask, ...]:
    """Pending tasks enter in their order as slots free up; one that does not fit holds nobody back, in its stage.

    A stage takes the room that the ones before it made, so it begins when these are over, and not at all when a task
    of theirs failed.
    """
    for task in tasks:
        if task.state in _ACTIVE and not task.move.is_new:
            slots.take(copies_of.of(task))
    stage = min((task.move.stage for task in tasks if not task.state.is_over), default=0)
    failed = next((task for task in tasks if task.state is TaskState.FAILED and task.move.stage < stage), None)
    return tuple(
        _start_one(task, observation, copies_of, slots, beside, stage, failed, now_ms)
        if task.state is TaskState.PENDING
        else task
        for task in tasks
    )


def _start_one(
    task: ExecutionTask,
    observation: ClusterObservation,
    copies_of: _Copies,
    slots: Slots,
    beside: Beside,
    stage: int,
    failed: ExecutionTask | None,
    now_ms: int,
) -> ExecutionTask:
    if failed:
        detail = f"never started: {failed.move.partition} of stage {failed.move.stage} failed, whose room it may need"
        return replace(task, state=TaskState.FAILED, detail=detail, ended_at_ms=now_ms)
    waits = _why_not_yet(task.move, observation, slots, beside, stage)
    if waits:
        return task if task.detail == waits else replace(task, detail=waits)
    found = look(_aim(task, now_ms), observation)
    if found.standing is Standing.WAIT:
        return replace(task, detail=found.detail)
    if found.standing is Standing.TAKEN and not task.move.is_new:
        return losing.overtaken(task, found.detail, now_ms)
    if not task.move.is_new:  # what copies nothing needs no slot, and a topic is created whole
        copy = copies_of.of(task)
        full = slots.why_full(copy)
        if full:
            return replace(task, detail=f"waits for a slot: {full} has none left")
        slots.take(copy)
    return replace(task, state=TaskState.RUNNING, detail="", started_at_ms=now_ms)


def _why_not_yet(move: PartitionMove, observation: ClusterObservation, slots: Slots, beside: Beside, stage: int) -> str:
    """What it waits for, as far as that is seen without a look at the partition; mostly nothing."""
    if move.stage > stage:
        return f"waits for the room that stage {stage} makes"
    taken = beside.why_not(move, observation.brokers)
    if taken:
        return taken
    full = slots.why_full_into(move.added_brokers) if not move.is_new else ""
    return f"waits for a slot: {full} has none left" if full else ""


def _settle(old: ExecutionTask, task: ExecutionTask, found: Look, last_words: str, now_ms: int) -> ExecutionTask:
    """The task's state after the look at it.

    What goes back only now is looked at once more: the request that started it may still be on its way.
    """
    if task.state is TaskState.REVERTING and old.state is TaskState.RUNNING:
        return task
    if found.standing is Standing.GONE:
        return rolling_back.went_with_its_topic(task, now_ms)
    if found.standing is Standing.TAKEN:
        return replace(task, state=TaskState.FAILED, detail=found.detail, ended_at_ms=now_ms)
    if found.standing is Standing.REACHED:
        ended = replace(task, state=_ENDINGS[task.state], detail=found.detail or last_words, ended_at_ms=now_ms)
        return finished(replace(ended, missing_since_ms=0) if ended.state is TaskState.DONE else ended)
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
    return replace(task, detail=detail, reason=TaskReason.NONE)


def _effects(
    tasks: tuple[ExecutionTask, ...],
    looks: Mapping[int, Look],
    held: frozenset[int],
    changes: Mapping[ConfigKey, ConfigChange],
    observation: ClusterObservation,
) -> tuple[Effect, ...]:
    """Throttles first, then one request of each kind for all tasks; what copies waits while its throttle is unset."""
    active = [task.number for task in tasks if task.state in _ACTIVE]
    allowed = [looks[number] for number in active if not (looks[number].copies and number in held)]
    throttle: tuple[Effect, ...] = (AlterConfigs(changes),) if changes else ()
    return throttle + _batched((effect for found in allowed for effect in found.effects), tasks, observation)


def _batched(
    effects: Iterable[Effect], tasks: tuple[ExecutionTask, ...], observation: ClusterObservation
) -> tuple[Effect, ...]:
    """The log dirs of replicas that are to come are told before the request that brings them (trap 22)."""
    created: dict[TopicPartition, tuple[int, ...]] = {}
    resized: dict[TopicPartition, tuple[int, ...] | None] = {}
    ahead: dict[tuple[TopicPartition, int], str] = {}
    targets: dict[TopicPartition, tuple[int, ...] | None] = {}
    log_dirs: dict[tuple[TopicPartition, int], str] = {}
    elections: list[TopicPartition] = []
    for effect in effects:
        match effect:
            case AlterReplicaLogDirs(moved, is_ahead):
                (ahead if is_ahead else log_dirs).update(moved)
            case AlterReassignments(reassigned, changes_replication_factor):
                (resized if changes_replication_factor else targets).update(reassigned)
            case CreatePartitions(made):
                created.update(made)
            case ElectLeaders(elected):
                elections.extend(elected)
    batches: list[Effect] = []
    if ahead:
        batches.append(AlterReplicaLogDirs(ahead, ahead=True))
    batches.extend(creating.requests(created, tasks, observation))
    if targets:
        batches.append(AlterReassignments(targets))
    if resized:
        batches.append(AlterReassignments(resized, changes_replication_factor=True))
    if log_dirs:
        batches.append(AlterReplicaLogDirs(log_dirs))
    if elections:
        batches.append(ElectLeaders(tuple(elections)))
    return tuple(batches)


def _ending(ticket_state: TicketState, tasks: tuple[ExecutionTask, ...]) -> tuple[TicketState, str] | None:
    """The ticket's last state and why; None while a task is not over."""
    if ticket_state is TicketState.ROLLING_BACK:
        reason = rolling_back.ending(tasks)
        return (TicketState.ROLLED_BACK, reason) if reason is not None else None
    if not all(task.state.is_over for task in tasks):
        return None
    is_cancelled = ticket_state is TicketState.CANCELLING
    failed = [t for t in tasks if t.state is TaskState.FAILED or (losing.is_lost(t) and not is_cancelled)]
    why = "".join(f"; {task.move.partition} failed: {task.detail}" for task in failed[:_NAMED])
    done = sum(task.state is TaskState.DONE for task in tasks)
    deleted = sum(map(rolling_back.is_gone, tasks))
    others = f", {deleted} gone with their topics" if deleted else ""
    if ticket_state is TicketState.CANCELLING:
        reverted = sum(task.state is TaskState.REVERTED for task in tasks) - deleted
        reason = f"{reverted} of {len(tasks)} moves are as before, {done} were done and stay done{others}{why}"
        return TicketState.CANCELLED, reason
    if failed:
        return TicketState.FAILED, f"{len(failed)} of {len(tasks)} moves failed{others}{why}"
    given_up = len(tasks) - done - deleted
    others += f", {given_up} gave way to a new plan" if given_up else ""
    partly = [task for task in tasks if task.state is TaskState.DONE and task.detail]
    apart = "".join(f"; {task.move.partition} {task.detail}" for task in partly[:_NAMED])
    return TicketState.SUCCEEDED, f"all {done} moves were seen in Kafka{others}{apart}"


def _sentence(
    ticket_state: TicketState,
    before: tuple[ExecutionTask, ...],
    tasks: tuple[ExecutionTask, ...],
    throttle_notes: tuple[str, ...],
    transition: tuple[TicketState, str] | None,
) -> str:
    if transition:
        return f"{transition[0].name}: {transition[1]}"
    goes_back = ticket_state is TicketState.ROLLING_BACK
    left = [task for task in tasks if not (rolling_back.is_back(task) if goes_back else task.state.is_over)]
    under_way = sum(task.state in _ACTIVE for task in tasks)
    parts = [
        f"{len(tasks) - len(left)} of {len(tasks)} moves are {'back' if goes_back else 'over'}, {under_way} under way"
    ]
    changed = [new for old, new in zip(before, tasks, strict=True) if new.state is not old.state]
    for state, verb in _VERBS.items():
        of_state = [task for task in changed if task.state is state and not rolling_back.is_gone(task)]
        if of_state:
            parts.append(f"{verb} {_named(of_state)}")
    deleted = list(filter(rolling_back.is_gone, changed))
    if deleted:
        parts.append(f"gone with their topics: {_named(deleted)}")
    if not left:
        parts.append("waits until its throttles are gone, and looks once more")
    parts.extend(_waits(left))
    return "; ".join(part for part in (*parts, *throttle_notes) if part)


_VERBS = {
    TaskState.RUNNING: "started",
    TaskState.DONE: "done:",
    TaskState.REVERTING: "takes back",
    TaskState.REVERTED: "as before:",
    TaskState.FAILED: "failed:",
}


def _waits(tasks: Iterable[ExecutionTask]) -> list[str]:
    """What is awaited, the same reasons together."""
    waiting: dict[str, list[ExecutionTask]] = defaultdict(list)
    for task in tasks:
        if task.detail:
            waiting[task.detail].append(task)
    reasons = [f"{_named(held)}: {detail}" for detail, held in waiting.items()]
    return reasons[:_NAMED] + ([f"{len(reasons) - _NAMED} more reasons"] if len(reasons) > _NAMED else [])


def _named(tasks: list[ExecutionTask]) -> str:
    return some((task.move.partition for task in tasks), _NAMED)
