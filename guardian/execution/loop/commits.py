"""Commits what was decided about tickets: the intent is stored first, then its effects may be sent.

decided ── advance (compare and set) ──▶ Basis ── proof ──▶ sent only while the ticket is as it was stored
"""

from __future__ import annotations

from dataclasses import dataclass

from guardian.execution.loop.ports import DriverClocks, ExecutionStore
from guardian.execution.loop.proving import Proof
from guardian.execution.operations.world import OperationStep
from guardian.execution.rules.executing import Step
from guardian.execution.rules.next_look import leads_on, may_soon_be_over
from guardian.model.actor import Agent
from guardian.model.execution import Execution
from guardian.model.text import Text
from guardian.model.ticket import Ticket, TicketState, TicketTransition


@dataclass(frozen=True, slots=True)
class Basis:
    """Name what must still be so when an effect is sent. `proven_at_s` is when the commit that proves it was begun,
    None: there was none."""

    ticket_id: str
    state: TicketState
    revision: int
    proven_at_s: float | None = None


class Commits:
    """Store tickets' states and executions, and note whether another step may follow soon.

    Called from several threads, of different clusters, at once.
    """

    def __init__(self, store: ExecutionStore, clocks: DriverClocks) -> None:
        self._store = store
        self._clocks = clocks
        self._has_more = False

    def begin_tick(self) -> None:
        """Forget that another step may follow: the tick that begins finds out anew."""
        self._has_more = False

    @property
    def has_more(self) -> bool:
        """Tell whether a step since the tick began may be followed by another, or saw what may end at any moment."""
        return self._has_more

    def advance(
        self,
        ticket: Ticket,
        transition: tuple[TicketState, Text] | None,
        execution: Execution | None,
        revision: int,
        *,
        is_led_on: bool = False,
    ) -> None:
        """Store the ticket's new state and why, a new execution, or both. Raises Conflict and Unavailable."""
        if is_led_on:
            self._has_more = True  # clusters are driven in threads: nobody takes it back before the next tick
        new = (
            TicketTransition(transition[0], self._clocks.now_ms(), Agent.EXECUTOR, transition[1])
            if transition
            else None
        )
        self._store.advance(ticket.id, ticket.state, new, execution, revision)

    def save(self, ticket: Ticket, stored: Execution, decided: Step | OperationStep) -> Basis:
        """Store what was decided, where it changes something. Raises Conflict and Unavailable."""
        is_led_on = decided.transition is not None or leads_on(stored, decided.execution, decided.effects)
        return self.save_execution(ticket, stored, decided.execution, decided.transition, is_led_on=is_led_on)

    def save_execution(
        self,
        ticket: Ticket,
        stored: Execution,
        execution: Execution,
        transition: tuple[TicketState, Text] | None,
        *,
        is_led_on: bool,
    ) -> Basis:
        """Store the execution and the new state, where one of them is another. Raises Conflict and Unavailable."""
        is_led_on = is_led_on or transition is not None
        if is_led_on or may_soon_be_over(execution, ticket.throttle, self._clocks.now_ms()):
            self._has_more = True
        if transition is None and execution == stored:
            return Basis(ticket.id, ticket.state, stored.revision)
        began_at_s = self._clocks.since_boot_s()
        self.advance(ticket, transition, execution, stored.revision)
        state = transition[0] if transition is not None else ticket.state
        return Basis(ticket.id, state, stored.revision + 1, began_at_s)

    def proof(self, basis: Basis) -> Proof:
        """Return a proof that the ticket is as it was stored, and that this member leads."""
        return Proof(
            lambda: self._store.confirm(basis.ticket_id, basis.state, basis.revision),
            self._clocks.since_boot_s,
            basis.proven_at_s,
        )
