"""When a kill of the sweep on real brokers counts for the moment that was seen before it."""

from __future__ import annotations

from dataclasses import replace

from guardian.model.execution import Execution
from guardian.model.operation import BrokerWork, Operation, OperationPhase
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from tests.soak.sweeping import went_on_later

TICKET = Ticket("t-1", "live", "remove-brokers", TicketState.RUNNING, "ann", "", 0, created_at_ms=1, updated_at_ms=5)
EXECUTION = Execution("t-1", (), operation=Operation(OperationPhase.PLAN, 5, (BrokerWork(4),)))
BEFORE = (TICKET, EXECUTION)
KILLED_AT_MS = 100


def test_a_phase_that_began_after_the_kill_was_not_there_at_the_kill() -> None:
    assert EXECUTION.operation is not None
    later = replace(EXECUTION, operation=replace(EXECUTION.operation, phase=OperationPhase.EXECUTE, since_ms=101))
    assert went_on_later(BEFORE, (TICKET, later), KILLED_AT_MS)


def test_one_that_began_before_the_kill_was_there_though_more_followed() -> None:
    assert EXECUTION.operation is not None
    earlier = replace(EXECUTION, operation=replace(EXECUTION.operation, phase=OperationPhase.EXECUTE, since_ms=99))
    over = replace(TICKET, history=(TicketTransition(TicketState.SUCCEEDED, 300, "guardian", "done"),))
    assert not went_on_later(BEFORE, (over, earlier), KILLED_AT_MS)


def test_what_nothing_tells_the_time_of_counts_for_nothing() -> None:
    assert not went_on_later(BEFORE, (TICKET, replace(EXECUTION, note="copies")), KILLED_AT_MS)
