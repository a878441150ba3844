"""How a ticket is carried out: each tick compares the tasks with Kafka and says what to store and what to send.

    step(ticket state, execution, observation) -> what to store, then what to send

    PENDING ──▶ RUNNING ──▶ DONE                  DONE, REVERTED: only once it was seen in Kafka
       │           ├──────▶ FAILED                another tool moved the partition, or a broker stayed away (losing.py)
       │           ├──────▶ REVERTED              its topic was deleted: nothing is left to move, or to fail
       │           └──▶ REVERTING ──▶ REVERTED    the ticket is being cancelled (FAILED here too, for the same reasons)
       ├──────────────────────────▶ REVERTED      it never started
       └──────────────────────────▶ FAILED        it never started: it needed the room of one that failed

    RUNNING ticket      every task goes to its end; then SUCCEEDED, or FAILED when any task failed
    a topic grows       moves of it are given up for other tickets' expansions, and made again (expanding.py)
    PAUSED ticket       no task and no copy starts; what copies goes on to its end, or back where a broker that it needs
                        stays away; when all is over, as RUNNING
    CANCELLING ticket   nothing starts; what is under way goes back, but for replicas that have already arrived (to
                        take those back would copy all of it again): they finish; then CANCELLED. What needs a broker
                        that stays away is FAILED, so that the ticket ends (losing.py)
    ROLLING_BACK ticket every task that was done goes back, as slots free up (rolling_back.py); then ROLLED_BACK. What
                        needs a broker that stays away is FAILED here too

Intent before effect: a task becomes RUNNING, and a throttle is recorded, in the state that is stored before anything is
sent. A step that is repeated after a crash, on whatever Kafka shows by then, comes to the same end. This is because the
effects follow from the stored state and the observation alone.

Order in time: throttles are sent when a task starts. What copies data is sent only once Kafka shows them, and they go
when Kafka shows that the copy is over. The ticket ends when none of them is left, and one more look at all that it
moved has shown none either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from guardian.execution.rules import creating, expanding, losing, rolling_back
from guardian.execution.rules.batching import effects_of
from guardian.execution.rules.brokers import brokers_of_moves
from guardian.execution.rules.converging import Look, Losses, Standing, gone, has_arrived, look
from guardian.execution.rules.copies import StepCopies, aim_of
from guardian.execution.rules.holding import Beside
from guardian.execution.rules.last_look import looks_once_more, shown_again
from guardian.execution.rules.sentences import NAMED, not_read_note, pause_note, sentence_of
from guardian.execution.rules.slots import ExecutionLimits, Slots
from guardian.execution.rules.starting import start
from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import BROKER, ConfigKey, Effect, SettleDebts, is_final, names_brokers
from guardian.model.execution import ACTIVE, Execution, ExecutionTask, TaskReason, TaskState
from guardian.model.owned_setting import OwnedSetting
from guardian.model.text import Text
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from guardian.model.units import human_duration
from guardian.throttle.rules import adapting, throttling
from guardian.throttle.rules.adapting import Around
from guardian.throttle.rules.throttling import Copy
from guardian.tickets.rules.progressing import finished, measured

_ALONE = Beside()
_ENDINGS = {TaskState.RUNNING: TaskState.DONE, TaskState.REVERTING: TaskState.REVERTED}


@dataclass(frozen=True, slots=True)
class Step:
    """`execution` is to be stored together with `transition` (the new state and why); then `effects` are to be sent in
    their order. `sentence` says what was done and what is awaited, and stays the same while nothing happens."""

    execution: Execution
    transition: tuple[TicketState, Text] | None
    effects: tuple[Effect, ...]
    sentence: Text


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a step depends on, besides the ticket and what is seen of its partitions.

    `max_throttle` is how far the throttle may rise where `around` shows room, bytes/s per broker, 0: not at all;
    `standing` are the rates that people set for brokers, bytes/s. `refusals` are Kafka's answers of the last tick, by
    partition, `settled` what a controller put back since then. `others` is what other tickets of the cluster have under
    way, `beside` what they are at, and `held_by_others` are the keys that they and the protection of disks hold. Since
    `since_ms` the ticket has been in its state. `remarks` are to be said of its copies. `registered` are the brokers
    that the cluster knows, alive or not, where Kafka refused something because of a broker; None: nobody told.
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
    registered: Collection[int] | None = None


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
    """Decide what to do now about a ticket that began. `throttle` is bytes/s per broker, 0 for none."""
    copies_of = StepCopies(observation, now_ms)
    idcs = at.around.idcs if at.around else {}
    slots = Slots(limits, idcs, at.others)
    tasks = _turned(
        ticket_state, execution.tasks, observation, copies_of, limits, now_ms, slots, at.since_ms, at.beside
    )
    tasks = _without_deleted(tasks, observation, now_ms)
    losses, patience_ms = Losses(observation), _patience_ms(limits)
    aims = {
        task.number: losing.aimed(aim_of(task, now_ms), task, observation, losses, patience_ms, now_ms)
        for task in tasks
        if task.state in ACTIVE
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
    recorded = execution.throttles + shown_again(execution, observation, at.held_by_others)
    gone_brokers = _gone(recorded, tasks, observation)
    throttles = throttling.reconcile(recorded, wanted, observation, gone_brokers, at.settled, at.beside.rates)
    held = _held(copies, throttles.unset, throttle)
    tasks = tuple(_given_up(task, looks.get(task.number), at, patience_ms, now_ms) for task in tasks)
    tasks = tuple(_explain(task, looks.get(task.number), held, at.refusals) for task in tasks)
    tasks = tuple(_measure(task, observation, is_idle=task.number in idle) for task in tasks)
    effects = effects_of(tasks, looks, held | idle, throttles.changes, observation)
    effects += (SettleDebts(throttles.debts),) if throttles.debts else ()
    transition = None if throttles.settings or effects else _ending(ticket_state, tasks)
    lifted = throttling.lifted(execution.lifted, recorded, throttles)
    is_last_look = bool(transition and lifted) and looks_once_more(execution)
    silent = throttling.unread(lifted, observation) if is_last_look else frozenset()
    if transition and lifted:
        lifted, transition = ((), transition) if is_last_look and not silent else (lifted, None)
    explained = (throttling.explain(wanted, pace), *paced.notes, *at.remarks) if wanted.rates else ()
    notes = (pause_note(ticket_state, tasks), *explained, *throttles.notes, not_read_note(silent))
    sentence = sentence_of(ticket_state, execution.tasks, tasks, notes, transition)
    stored = replace(
        execution, tasks=tasks, throttles=throttles.settings, rates=paced.rates, note=sentence, lifted=lifted
    )
    return Step(stored, transition, effects, sentence)


def _held(copies: Mapping[int, Copy], unset: Set[ConfigKey], throttle: int) -> frozenset[int]:
    """Return the tasks whose copies must not begin before these keys are set."""
    return frozenset(
        number
        for number, copy in (copies.items() if unset else ())
        if unset & throttling.wanted([copy], throttle).required.keys()
    )


def _gone(
    throttles: tuple[OwnedSetting, ...], tasks: tuple[ExecutionTask, ...], observation: ClusterObservation
) -> frozenset[int]:
    """Throttled brokers that are down, and that no task waits for any more."""
    throttled = {int(intent.resource_name) for intent in throttles if intent.resource_type == BROKER}
    down = throttled - observation.brokers.keys()
    if not down:
        return frozenset()
    return frozenset(down - brokers_of_moves(task.move for task in tasks if not task.state.is_over))


def _turned(
    ticket_state: TicketState,
    tasks: tuple[ExecutionTask, ...],
    observation: ClusterObservation,
    copies_of: StepCopies,
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
            way = rolling_back.Way(
                observation, lambda task: aim_of(task, now_ms), _patience_ms(limits), since_ms, now_ms, beside
            )
            return rolling_back.go_back(tasks, slots, way)
        case TicketState.PAUSED:
            left = losing.without_lost(tasks, observation, _patience_ms(limits), now_ms)
            return tuple(
                old if old.state is TaskState.PENDING else watched for old, watched in zip(tasks, left, strict=True)
            )
        case _:
            left = losing.without_lost(tasks, observation, _patience_ms(limits), now_ms)
            return start(left, observation, copies_of, slots, beside, now_ms)


def _patience_ms(limits: ExecutionLimits) -> int:
    return int(limits.broker_patience_s * 1000)


def _idle(looks: Mapping[int, Look]) -> frozenset[int]:
    """Tasks that wait for a copy that did not begin: of a paused ticket it does not, and needs no throttle."""
    return frozenset(number for number, found in looks.items() if found.copies)


def _measure(task: ExecutionTask, observation: ClusterObservation, *, is_idle: bool) -> ExecutionTask:
    if is_idle:
        return replace(task, detail="paused before its copy began")
    return measured(task, observation) if task.state in ACTIVE else task


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
    if look(aim_of(task, now_ms), observation).standing is Standing.REACHED:
        return task
    # The way back is as long as the way there: what is held on it gets the whole time again.
    hold_ms = task.hold_ms and now_ms - task.started_at_ms + task.hold_ms
    return replace(task, state=TaskState.REVERTING, hold_ms=hold_ms)


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
        given_way = expanding.CANCELLED if expanding.gave_way(task) else ""
        detail = found.detail or last_words or given_way
        ended = replace(task, state=_ENDINGS[task.state], detail=detail, ended_at_ms=now_ms)
        return finished(replace(ended, missing_since_ms=0) if ended.state is TaskState.DONE else ended)
    return task


def _given_up(
    task: ExecutionTask, found: Look | None, at: Circumstances, patience_ms: int, now_ms: int
) -> ExecutionTask:
    """Fail the active task whose request Kafka never carries out: asking again would go on without an end.

    What is refused because of a broker is asked for again, for that broker may come back. That lasts for as long as one
    that died is waited for, and is not done where it is not even registered.
    """
    if found is None or task.state not in ACTIVE:
        return task
    if found.standing is not Standing.ACT:
        return replace(task, refused_since_ms=0) if task.refused_since_ms else task
    refusal = at.refusals.get(task.move.partition, "")
    why = ""
    if is_final(refusal):
        why = "Kafka refuses it for good"
    elif names_brokers(refusal):
        since_ms = task.refused_since_ms or now_ms
        strangers = _not_registered(task, at.registered)
        if strangers:
            why = f"Kafka refuses it, and it does not know broker {', '.join(map(str, strangers))}"
        elif now_ms - since_ms >= patience_ms:
            why = f"Kafka has refused it for {human_duration(now_ms - since_ms)}"
        else:
            return replace(task, refused_since_ms=since_ms)
    if not why:
        return task
    return replace(task, state=TaskState.FAILED, detail=f"{why}: {refusal}", ended_at_ms=now_ms)


def _not_registered(task: ExecutionTask, registered: Collection[int] | None) -> list[int]:
    """Return the brokers that the task would put replicas on and that the cluster does not know; none where nobody has
    told."""
    wanted = task.move.target_brokers if task.state is TaskState.RUNNING else task.move.original_brokers
    return sorted(set(wanted) - set(registered)) if registered is not None else []


def _explain(
    task: ExecutionTask, found: Look | None, held: frozenset[int], refusals: Mapping[TopicPartition, str]
) -> ExecutionTask:
    """Explain what the active task does or waits for, and what Kafka had against it."""
    if found is None or task.state not in ACTIVE:
        return task
    detail = "waits for its throttle to be set" if found.copies and task.number in held else found.detail
    refusal = refusals.get(task.move.partition)
    if refusal and found.standing is Standing.ACT:
        detail += f"; Kafka refused it: {refusal}"
    return replace(task, detail=detail, reason=task.reason if expanding.gave_way(task) else TaskReason.NONE)


def _ending(ticket_state: TicketState, tasks: tuple[ExecutionTask, ...]) -> tuple[TicketState, str] | None:
    """The ticket's last state and why; None while a task is not over."""
    if ticket_state is TicketState.ROLLING_BACK:
        reason = rolling_back.ending(tasks)
        return (TicketState.ROLLED_BACK, reason) if reason is not None else None
    if not all(task.state.is_over for task in tasks):
        return None
    is_cancelled = ticket_state is TicketState.CANCELLING
    failed = [t for t in tasks if t.state is TaskState.FAILED or (losing.is_lost(t) and not is_cancelled)]
    why = "".join(f"; {task.move.partition} failed: {task.detail}" for task in failed[:NAMED])
    done = sum(task.state is TaskState.DONE for task in tasks)
    deleted = sum(map(rolling_back.is_gone, tasks))
    others = f", {deleted} gone with their topics" if deleted else ""
    if ticket_state is TicketState.CANCELLING:
        reverted = sum(task.state is TaskState.REVERTED for task in tasks) - deleted
        reason = f"{reverted} of {len(tasks)} moves are as before, {done} were done and stay done{others}{why}"
        return TicketState.CANCELLED, reason
    if failed:
        return TicketState.FAILED, f"{len(failed)} of {len(tasks)} moves failed{others}{why}"
    cancelled = sum(map(expanding.gave_way, tasks))
    given_up = len(tasks) - done - deleted - cancelled
    others += f", {given_up} gave way to a new plan" if given_up else ""
    others += f", {cancelled} gave way to an expansion and were planned again" if cancelled else ""
    partly = [task for task in tasks if task.state is TaskState.DONE and task.detail]
    apart = "".join(f"; {task.move.partition} {task.detail}" for task in partly[:NAMED])
    return TicketState.SUCCEEDED, f"all {done} moves were seen in Kafka{others}{apart}"
