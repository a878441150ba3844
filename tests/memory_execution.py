"""An ExecutionStore in memory, for tests: the same compare-and-set as the replicated one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from guardian.errors import Conflict, NotFound
from guardian.model.effects import ConfigKey
from guardian.model.execution import Execution
from guardian.model.operation import Ask
from guardian.model.plan import Plan
from guardian.model.ticket import VALID_TRANSITIONS, Ticket, TicketState, TicketTransition
from guardian.model.tickets import sequence


class MemoryExecutionStore:
    """Implements `guardian.execution.loop.ports.ExecutionStore`."""

    def __init__(self) -> None:
        self._tickets: dict[str, Ticket] = {}
        self._executions: dict[str, Execution] = {}
        self._plans: dict[str, Plan] = {}
        self.protected: frozenset[ConfigKey] = frozenset()
        self._lock = threading.Lock()

    def put(self, ticket: Ticket, plan: Plan) -> None:
        """Stores a ticket with its plan."""
        with self._lock:
            self._tickets[ticket.id] = ticket
            self._plans[ticket.plan_hash] = plan

    def ticket(self, ticket_id: str) -> Ticket:
        with self._lock:
            return self._tickets[ticket_id]

    def tickets(self) -> Sequence[Ticket]:
        """All of them, the oldest first."""
        with self._lock:
            return sorted(self._tickets.values(), key=lambda ticket: (ticket.created_at_ms, ticket.id))

    def amend(self, ticket_id: str, ask: Ask, actor: str, at_ms: int) -> None:
        """Replaces what the ticket asks for, as the replicated store does."""
        with self._lock:
            ticket = self._tickets[ticket_id]
            self._tickets[ticket_id] = replace(
                ticket,
                ask=replace(ask, revision=ask.revision + 1),
                updated_at_ms=at_ms,
                history=(*ticket.history, TicketTransition(ticket.state, at_ms, actor, "amended")),
            )

    def driven_tickets(self) -> Sequence[Ticket]:
        with self._lock:
            driven = [ticket for ticket in self._tickets.values() if ticket.state.is_driven]
        return sorted(driven, key=lambda ticket: (ticket.created_at_ms, ticket.id))

    def execution(self, ticket_id: str) -> Execution | None:
        with self._lock:
            return self._executions.get(ticket_id)

    def plan(self, plan_hash: str) -> Plan:
        with self._lock:
            if plan_hash not in self._plans:
                raise NotFound(f"plan {plan_hash!r} is not stored")
            return self._plans[plan_hash]

    def advance(
        self,
        ticket_id: str,
        expected_state: TicketState,
        transition: TicketTransition | None,
        execution: Execution | None,
        expected_revision: int,
    ) -> None:
        with self._lock:
            ticket, stored = self._tickets[ticket_id], self._executions.get(ticket_id)
            revision = stored.revision if stored else 0
            self._require(ticket_id, expected_state, expected_revision if execution is not None else revision)
            if transition is not None:
                if transition.state not in VALID_TRANSITIONS[ticket.state]:
                    raise Conflict(f"ticket {ticket_id} can't go from {ticket.state.name} to {transition.state.name}")
                others = [each for each in map(self._tickets.get, ticket.part.ids if ticket.part else ()) if each]
                carried = sequence.carried(ticket, transition, others, self._executions)
                for moved, line in {ticket_id: transition, **carried}.items():
                    was = self._tickets[moved]
                    assert line.state in VALID_TRANSITIONS[was.state], (was.state, line)
                    self._tickets[moved] = replace(
                        was, state=line.state, updated_at_ms=line.at_ms, history=(*was.history, line)
                    )
            if execution is not None:
                self._executions[ticket_id] = replace(execution, revision=revision + 1)

    def protected_keys(self, _cluster: str) -> frozenset[ConfigKey]:
        return self.protected

    def confirm(self, ticket_id: str, expected_state: TicketState, expected_revision: int) -> None:
        """The only member always leads; it may have driven the ticket on meanwhile all the same."""
        with self._lock:
            self._require(ticket_id, expected_state, expected_revision)

    def _require(self, ticket_id: str, expected_state: TicketState, expected_revision: int) -> None:
        ticket, stored = self._tickets[ticket_id], self._executions.get(ticket_id)
        revision = stored.revision if stored else 0
        if ticket.state is not expected_state or revision != expected_revision:
            raise Conflict(
                f"ticket {ticket_id} is {ticket.state.name} at revision {revision}, expected was "
                f"{expected_state.name} at {expected_revision}: look again"
            )
