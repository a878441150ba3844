"""What a broker's state was before is what it is again, whatever it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

import pytest

from guardian.execution.operations import marking
from guardian.execution.operations.effects import AnyEffect, LiftExclusions, PutExclusions, SetBrokerStates
from guardian.execution.operations.restarting import gate
from guardian.execution.operations.step import begin
from guardian.execution.operations.turn import Turn
from guardian.execution.operations.world import OperationWorld
from guardian.model.cluster_state import BrokerNode, ClusterObservation
from guardian.model.execution import Execution
from guardian.model.federation import Exclusion
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import BrokerState

RESTART = Ask(AskKind.RESTART, (1,), hook="systemd")
TICKET = Ticket("t-1", "live", "rolling-restart", TicketState.RUNNING, "ann", "", 1, 0, 0, ask=RESTART)


def turn(execution: Execution, states: Mapping[int, BrokerState]) -> Turn:
    nodes = {broker: BrokerNode(broker, "h", 1) for broker in (1, 2, 3)}
    world = OperationWorld(ClusterObservation(0, nodes, {}, {}, (), {}), frozenset(nodes), {}, states=states)
    assert execution.operation is not None
    return Turn(TICKET, RESTART, execution, execution.operation, world, _no_move, 5)


@pytest.mark.parametrize("before", list(BrokerState))
def test_a_restart_leaves_the_state_that_it_found(before: BrokerState) -> None:
    chosen = gate(turn(begin(TICKET, 0), {1: before})).execution
    marked, effects = marking.set_state(found := turn(chosen, {1: before}), found.in_batch(), BrokerState.MAINTENANCE)
    wanted = (SetBrokerStates({1: BrokerState.MAINTENANCE}),)
    assert effects == (wanted if before is not BrokerState.MAINTENANCE else ())
    away = turn(marked.execution, {1: BrokerState.MAINTENANCE})
    undone = marking.unmark(away, away.in_batch(), BrokerState.MAINTENANCE)
    assert undone == ((SetBrokerStates({1: before}),) if before is not BrokerState.MAINTENANCE else ())


def test_what_somebody_says_of_a_broker_meanwhile_is_what_it_is_afterwards() -> None:
    chosen = gate(turn(begin(TICKET, 0), {1: BrokerState.ACTIVE})).execution
    drains = turn(chosen, {1: BrokerState.DRAINING})
    marked, _ = marking.set_state(drains, drains.in_batch(), BrokerState.MAINTENANCE)
    away = turn(marked.execution, {1: BrokerState.MAINTENANCE})
    assert marking.unmark(away, away.in_batch(), BrokerState.MAINTENANCE) == (
        SetBrokerStates({1: BrokerState.DRAINING}),
    )


def removal(before: BrokerState) -> Turn:
    """Of broker 1, marked from this state on, and the store shows it."""
    ask = Ask(AskKind.REMOVE, (1,))
    ticket = replace(TICKET, kind="remove-brokers", ask=ask)
    found = replace(turn(begin(ticket, 0), {1: before}), ticket=ticket, ask=ask)
    chosen = marking.under_way(found, found.operation.brokers)
    marked, _ = marking.mark(chosen, chosen.operation.brokers, BrokerState.DRAINING)
    return shown(marked, BrokerState.DRAINING, marking.exclusion(marked, 1))


def shown(marked: Turn, state: BrokerState, exclusion: Exclusion | None) -> Turn:
    exclusions = {1: exclusion} if exclusion is not None else {}
    return replace(marked, world=replace(marked.world, states={1: state}, exclusions=exclusions))


def undone(marked: Turn) -> tuple[AnyEffect, ...]:
    return marking.unmark(marked, marked.operation.brokers, BrokerState.DRAINING)


def test_a_state_is_given_back_before_the_exclusion_is_lifted_which_would_take_it_along() -> None:
    marked = removal(BrokerState.MAINTENANCE)
    lifted = LiftExclusions((marking.exclusion(marked, 1),))
    assert undone(marked) == (SetBrokerStates({1: BrokerState.MAINTENANCE}), lifted)


def test_what_was_draining_before_is_so_again_after_its_exclusion_was_lifted() -> None:
    marked = removal(BrokerState.DRAINING)
    assert undone(marked) == (LiftExclusions((marking.exclusion(marked, 1),)),)
    drains = (SetBrokerStates({1: BrokerState.DRAINING}),)
    assert undone(shown(marked, BrokerState.ACTIVE, None)) == drains
    assert undone(shown(marked, BrokerState.DRAINING, None)) == ()


def test_what_another_removal_says_again_and_again_is_left_to_it() -> None:
    marked = removal(BrokerState.ACTIVE)
    another = replace(marked, world=replace(marked.world, leaving={1: "t-2"}))
    assert undone(another) == (LiftExclusions((marking.exclusion(marked, 1),)),)
    assert undone(shown(another, BrokerState.DRAINING, None)) == ()


@pytest.mark.parametrize(
    ("until_ms", "for_good", "serves"),
    [(0, False, True), (0, True, True), (60_006, False, True), (60_006, True, False), (60_005, False, False)],
)
def test_another_persons_exclusion_serves_while_it_lasts(until_ms: int, for_good: bool, serves: bool) -> None:
    """It is 5 ms past 0, and ours takes over a minute before the end."""
    marked = removal(BrokerState.ACTIVE)
    theirs = shown(marked, BrokerState.DRAINING, Exclusion("live", 1, "bob", "slow", until_ms=until_ms))
    _, effects = marking.mark(theirs, theirs.operation.brokers, BrokerState.DRAINING, for_good=for_good)
    assert effects == (() if serves else (PutExclusions((marking.exclusion(marked, 1),)),))


def _no_move(state: TicketState, execution: Execution) -> NoReturn:
    raise AssertionError(f"nothing is to be moved: {state} {execution}")
