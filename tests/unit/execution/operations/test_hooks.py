"""When a hook is asked for, what counts as seen, and what is not undone while one may still run."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import pytest

from guardian.execution.operations import hooks
from guardian.execution.operations.effects import RunHook
from guardian.execution.operations.step import operate
from guardian.execution.operations.turn import Turn
from guardian.execution.operations.world import OperationWorld
from guardian.model.cluster_state import BrokerNode, ClusterObservation
from guardian.model.execution import Execution
from guardian.model.operation import (
    Ask,
    AskKind,
    BrokerWork,
    HookAction,
    HookAnswer,
    HookKey,
    HookRun,
    Operation,
    OperationPhase,
    Standing,
)
from guardian.model.ticket import Ticket, TicketState, TicketTransition

NOW_MS = 1_000_000
LIVE = (1, 2, 4)


def turn(
    kind: AskKind = AskKind.REMOVE,
    work: BrokerWork | None = None,
    *,
    alive: tuple[int, ...] = LIVE,
    state: TicketState = TicketState.RUNNING,
    since_ms: int = NOW_MS - 60_000,
    answers: dict[HookKey, HookAnswer] | None = None,
) -> Turn:
    """Broker 4 leaves or restarts by its hook; the ticket is in its state since `since_ms`."""
    shutdown = kind in (AskKind.REMOVE, AskKind.OFFLINE)
    ask = Ask(kind, (4,), shutdown=shutdown, hook="systemd")
    history = (TicketTransition(state, since_ms, "ann", "because"),)
    ticket = Ticket("t-1", "live", kind, state, "ann", "", 1, 0, 0, history, ask=ask)
    phase = OperationPhase.RESTART if kind is AskKind.RESTART else OperationPhase.SHUT_DOWN
    work = work or BrokerWork(4, standing=Standing.UNDER_WAY)
    operation = Operation(phase, since_ms, (work,), batch=(4,) if kind is AskKind.RESTART else ())
    nodes = {broker: BrokerNode(broker, "h", 1) for broker in alive}
    observation = ClusterObservation(NOW_MS, nodes, {}, {}, (), {})
    world = OperationWorld(observation, frozenset(LIVE), {}, hooks=answers or {})
    return Turn(ticket, ask, Execution("t-1", (), operation=operation), operation, world, _no_move, NOW_MS)


def running(action: HookAction, down_since_ms: int = 0) -> BrokerWork:
    run = HookRun(action, 1, NOW_MS - 1000)
    return BrokerWork(4, standing=Standing.UNDER_WAY, hook=run, down_since_ms=down_since_ms)


def only(found: Turn) -> BrokerWork:
    (work,) = found.operation.brokers
    return work


def test_a_broker_that_looks_down_is_stopped_once_as_it_may_run_cut_off_from_the_controllers() -> None:
    fenced = turn(alive=(1, 2))
    after, effects, failures = hooks.run_all(fenced, fenced.under_way(), HookAction.STOP)
    key = HookKey(4, HookAction.STOP, 1)
    assert (effects, failures) == ((RunHook(key, "systemd"),), ())
    # That its machine is gone is no reason to stop the removal.
    answered = turn(work=only(after), alive=(1, 2), answers={key: HookAnswer(is_ok=False, output="no route")})
    after, effects, failures = hooks.run_all(answered, answered.under_way(), HookAction.STOP)
    assert (effects, failures) == ((), ())
    after, effects, failures = hooks.run_all(after, after.under_way(), HookAction.STOP)
    assert (effects, failures) == ((), ())


def test_what_was_seen_down_before_the_phase_began_is_not_surely_down() -> None:
    long_ago = BrokerWork(4, standing=Standing.UNDER_WAY, down_since_ms=NOW_MS - 61_000)
    seen = hooks.watched(turn(work=long_ago, alive=(1, 2)), [long_ago])
    assert only(seen).down_since_ms == NOW_MS
    assert not hooks.is_surely_down(seen, only(seen))
    lately = replace(long_ago, down_since_ms=NOW_MS - 59_000)
    seen = hooks.watched(turn(work=lately, alive=(1, 2)), [lately])
    assert only(seen).down_since_ms == NOW_MS - 59_000
    assert hooks.is_surely_down(seen, only(seen))


@pytest.mark.parametrize("state", [TicketState.CANCELLING, TicketState.ROLLING_BACK])
@pytest.mark.parametrize("kind", [AskKind.REMOVE, AskKind.OFFLINE, AskKind.RESTART])
def test_nothing_is_given_back_while_a_hook_may_yet_take_the_broker_down(kind: AskKind, state: TicketState) -> None:
    action = HookAction.RESTART if kind is AskKind.RESTART else HookAction.STOP
    work = running(action)

    def stepped(since_ms: int, is_answered: bool = False) -> TicketState | None:
        answers = {HookKey(4, action, 1): HookAnswer(is_ok=False)} if is_answered else {}
        now = turn(kind, work, state=state, since_ms=since_ms, answers=answers)
        transition = operate(now.ticket, now.execution, now.world, _no_move, NOW_MS).transition
        return transition[0] if transition is not None else None

    over = TicketState.CANCELLED if state is TicketState.CANCELLING else TicketState.ROLLED_BACK
    assert stepped(NOW_MS - 60_000) is None
    assert stepped(NOW_MS - 60_000, is_answered=True) is over
    # Whose answer is lost is not waited for without end.
    assert stepped(NOW_MS - 601_000) is over


def test_a_hook_whose_broker_is_surely_down_has_done_what_it_could() -> None:
    down = running(HookAction.STOP, down_since_ms=NOW_MS - 20_000)
    _, waits = hooks.let_end(turn(work=down, alive=(1, 2), state=TicketState.CANCELLING))
    assert waits is None
    lately = running(HookAction.STOP, down_since_ms=NOW_MS - 1_000)
    _, waits = hooks.let_end(turn(work=lately, alive=(1, 2), state=TicketState.CANCELLING))
    assert waits is not None
    assert waits.execution.operation is not None
    assert waits.execution.operation.detail == "waits until hook systemd has ended on broker 4"


def test_an_absence_that_nobody_saw_is_one_only_where_the_hooks_word_is_worth_that_much() -> None:
    """kubectl says yes of a pod that it did not find."""
    said = HookRun(HookAction.RESTART, 1, NOW_MS - 50_000, NOW_MS - 40_000, is_ok=True)
    work = BrokerWork(4, standing=Standing.UNDER_WAY, hook=said)
    now = turn(AskKind.RESTART, work)
    assert hooks.is_restarted(now, work)
    strict = replace(now, world=replace(now.world, must_be_seen=True))
    assert not hooks.is_restarted(strict, work)
    assert hooks.is_restarted(strict, replace(work, was_down=True))
    # Who resumes such a ticket has looked: the hook is asked for once more.
    assert hooks.run(strict, work, HookAction.RESTART).effect is None
    resumed = turn(AskKind.RESTART, work, since_ms=NOW_MS - 1000)
    again = hooks.run(replace(resumed, world=strict.world), work, HookAction.RESTART)
    assert again.effect == RunHook(HookKey(4, HookAction.RESTART, 2), "systemd")


def _no_move(state: TicketState, execution: Execution) -> NoReturn:
    raise AssertionError(f"nothing is to be moved: {state} {execution}")
