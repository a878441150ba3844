"""The table of ticket states is whole, and agrees with the wire."""

from __future__ import annotations

from guardian.model.execution import TaskState
from guardian.model.ticket import VALID_TRANSITIONS, TicketState
from protos.guardian.v1 import tickets_pb2


def test_every_state_has_its_transitions() -> None:
    assert set(VALID_TRANSITIONS) == set(TicketState)


def test_a_ticket_that_is_over_only_ever_rolls_back() -> None:
    for state in TicketState:
        if state.is_over:
            assert VALID_TRANSITIONS[state] <= {TicketState.ROLLING_BACK}


def test_states_are_those_of_the_wire() -> None:
    assert {s.name: s.value for s in TicketState} == dict(tickets_pb2.TicketState.items()[1:])
    assert {f"TASK_{s.name}": s.value for s in TaskState} == dict(tickets_pb2.TaskState.items()[1:])
