"""Brokers removed, in six phases; each is stored, so whoever leads goes on from it.

    VALIDATE ──▶ EXCLUDE ──▶ PLAN ──▶ EXECUTE ──▶ SHUT_DOWN ──▶ CLEAN_UP ──▶ SUCCEEDED
                              ▲          │            │
                              └──────────┴────────────┘  something is on them still, or again

    VALIDATE    a dry plan: do replication factors, racks and capacity allow it? Nothing was changed so far
    EXCLUDE     all of them at once get no new replicas any more; an exclusion that is lost later is put again
    PLAN        a plan of what is on them now
    EXECUTE     its moves
    SHUT_DOWN   empty ones are stopped; without shutdown the ticket ends here, and the exclusions stay
    CLEAN_UP    what is surely down is unregistered, then its exclusion is lifted

A broker that other removals have under way, or that is gone, costs nothing; with none left the ticket succeeds at once.
Before it succeeds it looks once more whether those others did what they were to do, and does it where they did not.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from guardian.execution.operations import hooks, marking
from guardian.execution.operations.effects import AnyEffect, ForgetBroker, LiftExclusions, UnregisterBroker
from guardian.execution.operations.kind import OperationKind
from guardian.execution.operations.turn import MAX_NEW_TASKS, Result, Turn, named
from guardian.execution.rules.beginning import begin, tiered_topics
from guardian.model.execution import TaskState
from guardian.model.operation import (
    Ask,
    BrokerWork,
    HookAction,
    OperationPhase,
    PlanAnswer,
    PlanRequest,
    Standing,
)
from guardian.model.plan import Plan
from guardian.model.ticket import TicketState
from guardian.model.topology import BrokerState, TopicPartition

_OPEN = (Standing.WAITING, Standing.UNDER_WAY)
_EXCLUDES_AGAIN = "excludes again what was no longer kept from new replicas, or not for good"


def validate(turn: Turn) -> Result:
    """Nothing is changed before the planner has found a place for everything."""
    turn = turn.with_works(_sorted_out(turn, work) for work in turn.operation.brokers)
    leaving = [work for work in turn.operation.brokers if work.standing in _OPEN]
    if not leaving:
        return _succeed(turn)
    why = _why_impossible(turn, {work.node for work in leaving})
    if why:
        return _refuse(turn, why)
    nodes = tuple(sorted(work.node for work in leaving))
    if all(_is_empty(turn, broker) for broker in nodes):
        return _start(turn, leaving)
    answer, request = _answer(turn, nodes)
    if answer is None:
        return turn.keep(f"checks whether {named(nodes)} can go: waits for a plan", plan=request)
    refusal = answer.error
    if answer.plan is not None and answer.plan.unmet:
        refusal = "; ".join((*answer.plan.notes[:1], *answer.plan.unmet))
    return _refuse(turn, refusal) if refusal else _start(turn, leaving)


def exclude(turn: Turn) -> Result:
    """All of them at once, or none."""
    # Two tickets may have come this far in the same moment: the one with the smaller name keeps the broker.
    turn = turn.with_works(
        replace(work, standing=Standing.ELSEWHERE, detail=f"ticket {other} removes it")
        for work in turn.under_way()
        if (other := turn.world.leaving.get(work.node, "")) and other < turn.ticket.id and not work.is_excluded
    )
    leaving = turn.under_way()
    if not leaving:
        return _succeed(turn)
    turn, effects = marking.mark(turn, leaving, BrokerState.DRAINING)
    if effects:
        return turn.keep(f"excludes {named(work.node for work in leaving)} from new replicas", *effects)
    return turn.go_on(OperationPhase.PLAN)


def plan(turn: Turn) -> Result:
    """Plan where what is on the brokers now goes."""
    turn, again = _excluded_again(turn)
    if again is not None:
        return again
    nodes = tuple(work.node for work in turn.under_way())
    left = _left_on(turn, nodes)
    if not left:
        return turn.go_on(OperationPhase.SHUT_DOWN)
    if turn.now_ms < turn.operation.retry_at_ms:
        return turn.keep(turn.operation.detail)
    answer, request = _answer(turn, nodes)
    if answer is None:
        # What was in the way stays to be read until there is news.
        return turn.keep(turn.operation.detail or f"waits for a plan of what is on {named(nodes)}", plan=request)
    turn = turn.with_operation(replace(turn.operation, plan_round=turn.operation.plan_round + 1))
    why = _why_useless(answer, nodes)
    if why or answer.plan is None:
        partition, broker = left[0]
        stuck = f"{len(left)} replicas are still on {named(nodes)}, such as {partition} on broker {broker}: {why}"
        later = replace(turn.operation, retry_at_ms=turn.now_ms + turn.limits.retry_ms)
        return turn.with_operation(later).keep(stuck)
    return _planned(turn, answer.plan).go_on(OperationPhase.EXECUTE)


def execute(turn: Turn) -> Result:
    """The moves of the present round; what is still there then is for the next one."""
    turn, marks = marking.mark(turn, turn.under_way(), BrokerState.DRAINING)
    turn, step = turn.move(TicketState.RUNNING)
    if step is not None:
        # Which replicas do not get away, and why, is in the sentence.
        return turn.keep(f"round {turn.operation.plan_round - 1}: {step.sentence}", *marks, *step.effects)
    if marks:
        return turn.keep(_EXCLUDES_AGAIN, *marks)
    if any(work.standing is Standing.WAITING for work in turn.operation.brokers):
        return turn.go_on(OperationPhase.VALIDATE)
    failed = [task for task in turn.round_tasks() if task.state is TaskState.FAILED]
    if failed:
        first = failed[0]
        detail = f"plans anew, as {len(failed)} moves failed: {first.move.partition}: {first.detail}"
        later = replace(turn.operation, retry_at_ms=turn.now_ms + turn.limits.retry_ms)
        return turn.with_operation(later).go_on(OperationPhase.PLAN, detail)
    return turn.go_on(OperationPhase.PLAN)


def shut_down(turn: Turn) -> Result:
    """The empty brokers are stopped, by the hook or by a person. One that is no longer empty is drained once more."""
    turn = hooks.watched(turn, turn.under_way())
    turn, again = _excluded_again(turn, for_good=not turn.ask.shutdown)
    again = again or _drained_again(turn)
    if again is not None:
        return again
    nodes = [work.node for work in turn.under_way()]
    if not turn.ask.shutdown:
        turn = turn.with_works(
            replace(work, standing=Standing.DONE, detail="empty; its exclusion stays until somebody lifts it")
            for work in turn.under_way()
        )
        return _succeed(turn)
    turn, effects, failures = hooks.run_all(turn, turn.under_way(), HookAction.STOP)
    if failures:
        return turn.end(TicketState.PAUSED, f"{'; '.join(failures)}: stop it by hand or mend the hook, then resume")
    up = [w for w in turn.under_way() if not hooks.is_surely_down(turn, w) or hooks.has_open_run(w)]
    if not up:
        return turn.go_on(OperationPhase.CLEAN_UP)
    waits = named(work.node for work in up)
    if turn.ask.hook and turn.is_late and not effects:
        return turn.end(
            TicketState.PAUSED, f"{waits} did not go down within {turn.back_within_ms // 1000} s: look, then resume"
        )
    how = f"hook {turn.ask.hook} stops" if turn.ask.hook else "stop them by hand: no hook was named; waits for"
    return turn.keep(f"{named(nodes)} hold nothing any more; {how} {waits}", *effects)


def clean_up(turn: Turn) -> Result:
    """Take what is surely down out of the cluster, then lift the federation's exclusions."""
    turn = hooks.watched(turn, turn.under_way())
    back = [work for work in turn.under_way() if hooks.is_up(turn, work)]
    if back:
        reason = f"{named(work.node for work in back)} came back after being stopped: keep it down, then resume"
        return replace(
            turn.go_on(OperationPhase.SHUT_DOWN, reason), goes_on=False, transition=(TicketState.PAUSED, reason)
        )
    again = _drained_again(turn)
    if again is not None:
        return again
    registered = [work for work in turn.under_way() if work.node in turn.world.registered]
    sure = [work for work in registered if hooks.is_surely_down(turn, work)]
    if registered:
        return turn.keep(
            f"takes {named(work.node for work in registered)} out of the cluster",
            *(UnregisterBroker(work.node) for work in sure),
        )
    known = [work.node for work in turn.under_way() if work.node in turn.world.states]
    # Whosever they are: they would be for the next broker of that id.
    stale = tuple(each for work in turn.under_way() if (each := turn.world.exclusions.get(work.node)))
    effects: tuple[AnyEffect, ...] = ((LiftExclusions(stale),) if stale else ()) + (*map(ForgetBroker, known),)
    if effects:
        return turn.keep("lifts the exclusions of what is gone", *effects)
    return _succeed(
        turn.with_works(replace(work, standing=Standing.DONE, detail="removed") for work in turn.under_way())
    )


def amend(turn: Turn) -> Turn:
    """More brokers, or fewer: what has not begun to move is planned anew, what is under way is finished."""
    asked = set(turn.ask.brokers)
    known = {work.node for work in turn.operation.brokers if work.standing is not Standing.RELEASED}
    dropped = [work for work in turn.operation.brokers if work.node not in asked]
    # Nothing was done to one that waits, so there is nothing to undo; unless it was let go before, and asked for again.
    untouched = [work for work in dropped if work.standing is Standing.WAITING and not work.is_excluded]
    kept = tuple(work for work in turn.operation.brokers if work not in untouched)
    turn = turn.with_operation(replace(turn.operation, brokers=kept))
    turn = turn.with_works(
        replace(work, standing=Standing.RELEASED, detail="no longer asked for")
        for work in dropped
        if work not in untouched and not work.standing.is_over
    )
    asked_again = [
        replace(work, standing=Standing.WAITING, detail="")
        for work in turn.operation.brokers
        if work.node in asked and work.standing is Standing.RELEASED
    ]
    turn = turn.with_works(asked_again)
    new = tuple(BrokerWork(node) for node in sorted(asked - known - {work.node for work in asked_again}))
    tasks = [
        replace(task, state=TaskState.REVERTED, detail="never started: the ticket was amended", ended_at_ms=turn.now_ms)
        for task in turn.round_tasks()
        if task.state is TaskState.PENDING
    ]
    turn = turn.with_tasks(tasks)
    is_held = turn.has_active_tasks() or turn.execution.throttles or turn.execution.lifted
    phase = OperationPhase.EXECUTE if is_held else OperationPhase.VALIDATE
    return turn.with_operation(
        replace(
            turn.operation,
            brokers=tuple(sorted((*turn.operation.brokers, *new), key=lambda work: work.node)),
            ask_revision=turn.ask.revision,
            phase=phase,
            since_ms=turn.now_ms,
            plan_round=turn.operation.plan_round + 1,
            retry_at_ms=0,
            detail="",
        )
    )


def let_go(turn: Turn) -> tuple[Turn, tuple[AnyEffect, ...]]:
    """Undoes what was done to brokers that are no longer asked for, then forgets them."""
    turn, running = hooks.still_open(turn, (w for w in turn.operation.brokers if w.standing is Standing.RELEASED))
    since_ms = turn.now_ms - turn.back_within_ms  # an answer may never come, as when who asked for it crashed
    waits = {w.node for w in turn.operation.brokers if w.node in running and w.hook and w.hook.asked_at_ms >= since_ms}
    released = [w for w in turn.operation.brokers if w.standing is Standing.RELEASED and w.node not in waits]
    effects = marking.unmark(turn, released, BrokerState.DRAINING)
    if effects or not released:
        return turn, effects
    kept = tuple(work for work in turn.operation.brokers if work not in released)
    return turn.with_operation(replace(turn.operation, brokers=kept)), ()


def undo(turn: Turn) -> Result:
    """Cancelled or rolled back: nobody is excluded any more, and the moves go back as those of any ticket."""
    state = turn.ticket.state
    turn, waits = hooks.let_end(turn)
    if waits is not None:
        return waits
    effects = marking.unmark(turn, turn.operation.brokers, BrokerState.DRAINING)
    if state is TicketState.ROLLING_BACK:
        turn, is_whole = _whole(turn)
        if not is_whole:
            return turn.keep("looks which moves go back together", *effects)
    turn, step = turn.move(state)
    if step is not None:
        return turn.keep(step.sentence, *effects, *step.effects)
    if effects:
        return turn.keep("lifts the exclusions", *effects)
    gone = [work.node for work in turn.operation.brokers if work.node not in turn.world.observation.brokers]
    remark = f"; {named(gone)} {'are' if len(gone) > 1 else 'is'} down or gone and stays so" if gone else ""
    done = sum(task.state is TaskState.DONE for task in turn.execution.tasks)
    if state is TicketState.ROLLING_BACK:
        return turn.end(TicketState.ROLLED_BACK, f"nothing is excluded any more, what could go back did{remark}")
    return turn.end(
        TicketState.CANCELLED, f"nothing is excluded any more, {done} moves were done and stay done{remark}"
    )


def _whole(turn: Turn) -> tuple[Turn, bool]:
    """All rounds as one, and whether they are; of a partition that moved twice, one task goes all the way back. What is
    too much for one command is left to the next tick."""
    tasks = list(turn.execution.tasks)
    last: dict[TopicPartition, int] = {}
    changed: set[int] = set()
    for index, task in enumerate(tasks):
        if task.state is not TaskState.DONE:
            continue
        earlier = last.get(task.move.partition)
        if earlier is not None:
            if len(changed | {index, earlier}) > MAX_NEW_TASKS:
                return turn.with_tasks(tasks), False
            changed |= {index, earlier}
            tasks[index] = replace(task, move=replace(task.move, original=tasks[earlier].move.original))
            tasks[earlier] = replace(
                tasks[earlier], state=TaskState.REVERTED, detail=f"goes back with task {task.number}"
            )
        last[task.move.partition] = index
    turn = turn.with_tasks(tasks)
    return turn.with_operation(replace(turn.operation, first_task=1)), True


def _excluded_again(turn: Turn, *, for_good: bool = False) -> tuple[Turn, Result | None]:
    """Exclude the brokers again: what served may be over, or lifted by somebody."""
    turn, marks = marking.mark(turn, turn.under_way(), BrokerState.DRAINING, for_good=for_good)
    return turn, turn.keep(_EXCLUDES_AGAIN, *marks) if marks else None


def _drained_again(turn: Turn) -> Result | None:
    left = _left_on(turn, [work.node for work in turn.under_way()])
    if not left:
        return None
    partition, broker = left[0]
    return turn.go_on(OperationPhase.PLAN, f"{partition} is on broker {broker}, which was empty before")


def _sorted_out(turn: Turn, work: BrokerWork) -> BrokerWork:
    if work.standing is not Standing.WAITING:
        return work
    if work.node not in turn.world.registered and not _left_on(turn, [work.node]):
        return replace(work, standing=Standing.GONE, detail="not in the cluster")
    other = turn.world.leaving.get(work.node, "")
    if other:
        return replace(work, standing=Standing.ELSEWHERE, detail=f"ticket {other} removes it")
    return work


def _why_impossible(turn: Turn, leaving: set[int]) -> str:
    """Say why the removal is impossible, as far as that needs no planner to be seen; empty when it is not."""
    if turn.world.quorum is not None:
        voters = sorted(leaving & turn.world.quorum.voters)
        if voters:
            return (
                f"{named(voters)} votes in the controllers' quorum: take it out of that first "
                "(kafka-metadata-quorum remove-controller)"
            )
    able = turn.world.observation.brokers.keys() - leaving - turn.world.exclusions.keys()
    for partition, state in sorted(turn.world.observation.partitions.items()):
        holders = set(state.replicas) - set(_coming(turn, partition))
        room = len(able | (holders - leaving))
        if not leaving.isdisjoint(holders) and len(holders) > room:
            going = max(len(leaving) - (len(holders) - room), 0)
            return (
                f"{partition} has {len(holders)} replicas, and without {named(leaving)} only {room} brokers could hold "
                f"them: {going} of the {len(leaving)} brokers asked for could go"
            )
    return ""


def _coming(turn: Turn, partition: TopicPartition) -> tuple[int, ...]:
    reassignment = turn.world.observation.reassignments.get(partition)
    return reassignment.adding if reassignment else ()


def _refuse(turn: Turn, why: str) -> Result:
    """Refuse an amendment or a removal. What is under way already is not given up because of an amendment."""
    begun = (Standing.UNDER_WAY, Standing.RELEASED, Standing.DONE)
    marked = bool(turn.execution.tasks) or any(work.standing in begun for work in turn.operation.brokers)
    turn = turn.with_operation(replace(turn.operation, plan_round=turn.operation.plan_round + 1))
    if marked:
        return turn.end(TicketState.PAUSED, f"the ticket as it was amended can't be carried out: {why}")
    return turn.end(TicketState.FAILED, f"nothing was changed: {why}")


def _start(turn: Turn, leaving: Collection[BrokerWork]) -> Result:
    turn = marking.under_way(turn, leaving)
    turn = turn.with_operation(replace(turn.operation, plan_round=turn.operation.plan_round + 1))
    return turn.go_on(OperationPhase.EXCLUDE)


def _answer(turn: Turn, nodes: tuple[int, ...]) -> tuple[PlanAnswer | None, PlanRequest]:
    key = f"{turn.ticket.id}/{turn.operation.plan_round}"
    answer = turn.world.plan if turn.world.plan is not None and turn.world.plan.key == key else None
    return answer, PlanRequest(key, turn.ask.kind, nodes)


def _why_useless(answer: PlanAnswer, nodes: Collection[int]) -> str:
    """Say why the plan brings the drain no further; empty when it does."""
    if answer.plan is None:
        return answer.error
    back = next((move for move in answer.plan.moves if set(move.added_brokers) & set(nodes)), None)
    if back is not None:
        return f"the plan would bring {back.partition} to {named(back.target_brokers)}"
    if not answer.plan.moves:
        return "; ".join(answer.plan.unmet) or "the plan moves none of them"
    return ""


def _planned(turn: Turn, plan: Plan) -> Turn:
    """The plan's moves as tasks; what is too much for one command is left to the next round."""
    turn = turn.new_round()
    first = turn.operation.first_task
    tiered = tiered_topics(turn.world.observation)
    tasks = begin(turn.ticket, plan, tiered, turn.world.tiered_warm_up_s).tasks
    kept = sorted(tasks, key=lambda task: (task.move.stage, task.number))[:MAX_NEW_TASKS]
    return turn.with_tasks(replace(task, number=first + index) for index, task in enumerate(kept))


def _left_on(turn: Turn, nodes: Collection[int]) -> list[tuple[TopicPartition, int]]:
    return sorted(
        (partition, broker)
        for partition, state in turn.world.observation.partitions.items()
        for broker in state.replicas
        if broker in nodes
    )


def _is_empty(turn: Turn, broker: int) -> bool:
    return not _left_on(turn, [broker])


def _is_left(turn: Turn, work: BrokerWork) -> bool:
    is_there = work.node in turn.world.registered or not _is_empty(turn, work.node)
    return is_there and work.node not in turn.world.leaving


def _succeed(turn: Turn) -> Result:
    """Unless another ticket was to remove one of them and has not, or not as far as this one goes."""
    left = [work for work in turn.operation.brokers if work.standing is Standing.ELSEWHERE and _is_left(turn, work)]
    if left:
        turn = turn.with_works(replace(work, standing=Standing.WAITING, detail="") for work in left)
        return turn.go_on(OperationPhase.VALIDATE, f"{named(work.node for work in left)}: {left[0].detail} no longer")
    works = turn.operation.brokers
    parts = [
        f"{named(found)} {words}"
        for standing, words in (
            (Standing.DONE, "removed" if turn.ask.shutdown else "empty, excluded until somebody lifts that"),
            (Standing.GONE, "not in the cluster"),
        )
        if (found := [work.node for work in works if work.standing is standing])
    ]
    elsewhere = [f"broker {work.node}: {work.detail}" for work in works if work.standing is Standing.ELSEWHERE]
    return turn.end(TicketState.SUCCEEDED, "; ".join((*parts, *elsewhere)))


def _described(ask: Ask, who: str) -> str:
    if ask.shutdown:
        return f"Emptied, they are stopped by {who}, then unregistered."
    return "Emptied, they stay up, excluded from new replicas until somebody lifts that."


def _outcome(ask: Ask) -> str:
    how = f"stopped by hook {ask.hook}" if ask.hook else "stopped by hand, which is waited for"
    return f"empty brokers are {how}, then unregistered" if ask.shutdown else "no shutdown: their exclusions stay"


KIND = OperationKind(
    phases={
        OperationPhase.VALIDATE: validate,
        OperationPhase.EXCLUDE: exclude,
        OperationPhase.PLAN: plan,
        OperationPhase.EXECUTE: execute,
        OperationPhase.SHUT_DOWN: shut_down,
        OperationPhase.CLEAN_UP: clean_up,
    },
    undo=undo,
    describe=_described,
    outcome=_outcome,
    amend=amend,
    let_go=let_go,
)
