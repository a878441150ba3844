"""What a broker's state was before is what it is again, whatever it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

import pytest

from guardian.core.operations import marking
from guardian.core.operations.effects import LiftExclusions, SetBrokerStates
from guardian.core.operations.restarting import gate
from guardian.core.operations.step import begin
from guardian.core.operations.turn import Turn
from guardian.core.operations.world import OperationWorld
from guardian.model.cluster_state import BrokerNode, ClusterObservation
from guardian.model.execution import Execution
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


def test_a_state_is_given_back_before_the_exclusion_is_lifted_which_would_take_it_along() -> None:
    ask = Ask(AskKind.REMOVE, (1,))
    ticket = replace(TICKET, kind="remove-brokers", ask=ask)
    begun = turn(begin(ticket, 0), {1: BrokerState.MAINTENANCE})
    found = replace(begun, ticket=ticket, ask=ask)
    chosen = marking.under_way(found, found.operation.brokers)
    marked, _ = marking.mark(chosen, chosen.operation.brokers, BrokerState.DRAINING)
    ours = marking.exclusion(marked, 1)
    world = replace(marked.world, states={1: BrokerState.DRAINING}, exclusions={1: ours})
    undone = marking.unmark(replace(marked, world=world), marked.operation.brokers, BrokerState.DRAINING)
    assert undone == (SetBrokerStates({1: BrokerState.MAINTENANCE}), LiftExclusions((ours,)))


def _no_move(state: TicketState, execution: Execution) -> NoReturn:
    raise AssertionError(f"nothing is to be moved: {state} {execution}")
