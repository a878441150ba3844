"""What the executor keeps, kept in the replicated store."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.errors import NotFound, Unavailable
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.server.store import ReplicatedStore


class ReplicatedExecutionStore:
    """Implements `guardian.executor.driver.ExecutionStore`; one tick of the leader reads behind one barrier."""

    def __init__(self, store: ReplicatedStore) -> None:
        self._store = store

    def driven_tickets(self) -> Sequence[Ticket]:
        """Tickets that the executor has work on, oldest first."""
        return self._store.read().driven_tickets()

    def execution(self, ticket_id: str) -> Execution | None:
        return self._store.read_local().execution(ticket_id)

    def plan(self, plan_hash: str) -> Plan:
        plan = self._store.read_local().plan(plan_hash)
        if plan is None:
            raise NotFound(f"plan {plan_hash!r} is not stored")
        return plan

    def advance(
        self,
        ticket_id: str,
        expected_state: TicketState,
        transition: TicketTransition | None,
        execution: Execution | None,
        expected_revision: int,
    ) -> None:
        self._store.advance(ticket_id, expected_state, transition, execution, expected_revision)

    def confirm_leadership(self) -> None:
        self._store.barrier(timeout_s=2.0)
        # A follower's barrier is forwarded and committed too: it says that somebody leads, not who.
        if not self._store.is_leader():
            raise Unavailable("this member leads no longer: the new leader goes on")
