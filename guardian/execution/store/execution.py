"""What the executor keeps, kept in the replicated store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from guardian import tracing
from guardian.errors import Conflict, NotFound
from guardian.model.effects import ConfigKey
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.replication.store.store import ReplicatedStore

CONFIRM_TIMEOUT_S = 2.0


class ReplicatedExecutionStore:
    """Implements `guardian.execution.loop.ports.ExecutionStore`; one tick of the leader reads behind one ReadIndex."""

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
        if execution is not None:
            execution = self._changed(ticket_id, execution, expected_revision)
        with tracing.span(
            "executor.commit", ticket_id, state=(transition.state if transition else expected_state).name
        ):
            self._store.advance(ticket_id, expected_state, transition, execution, expected_revision)
        self._store.require_leader()  # a follower's commands are stored too: the leader commits them

    def protected_keys(self, cluster: str) -> frozenset[ConfigKey]:
        return frozenset(map(ConfigKey.of, self._store.read_local().protection(cluster).intents))

    def confirm(self, ticket_id: str, expected_state: TicketState, expected_revision: int) -> None:
        views = self._store.read_as_leader(CONFIRM_TIMEOUT_S)
        ticket, revision = views.ticket(ticket_id), views.execution_revision(ticket_id)
        if ticket is None or ticket.state is not expected_state or revision != expected_revision:
            raise Conflict(f"ticket {ticket_id} was driven on meanwhile: the next tick looks at it again")

    def _changed(self, ticket_id: str, execution: Execution, base_revision: int) -> Execution:
        """The execution with only those tasks that differ from revision `base_revision`, where this member has that."""
        base = self._store.read_local().execution(ticket_id)
        if base is None or base.revision != base_revision:
            return execution  # whole: right in any case, if it is saved at all
        known = set(base.tasks)
        return replace(execution, tasks=tuple(task for task in execution.tasks if task not in known))
