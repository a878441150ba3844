"""The approval policy of a member, and what the leader does to tickets by it: expire them, approve them by a rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from guardian.core.kinds.registry import HAVE_SIZE
from guardian.core.ticketing import by_itself
from guardian.errors import GuardianError, InvalidInput
from guardian.model.actor import Agent
from guardian.model.approval import ApprovalPolicy, everybody, load_approvals
from guardian.model.ticket import TicketState
from guardian.server.store import ReplicatedStore

_WAITING = (TicketState.PENDING, TicketState.APPROVED)
_NOBODY = ApprovalPolicy()  # expiry needs no rules


class Approvals:
    """The policy as its file says at each question; without a file everybody may approve everything."""

    def __init__(self, file: Path | None = None, *, author_may_approve: bool = True) -> None:
        self._file = file
        self._default = everybody(author_may_approve=author_may_approve)

    def policy(self) -> ApprovalPolicy:
        """Raises InvalidInput when the file is wrong: then nobody approves anything."""
        return self._default if self._file is None else load_approvals(self._file, HAVE_SIZE)


class ApprovalKeeper:
    """`tick` is called by the leader's loop. What it decides is stored only where the ticket is as it was read."""

    def __init__(self, store: ReplicatedStore, approvals: Approvals, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._approvals = approvals
        self._now_ms = now_ms

    def tick(self) -> list[str]:
        """One sentence for each ticket that was expired or approved, and one when the policy can't be read."""
        waiting = [ticket for ticket in self._store.read_local().open_tickets() if ticket.state in _WAITING]
        said: list[str] = []
        policy = _NOBODY
        if any(ticket.state is TicketState.PENDING for ticket in waiting):
            try:
                policy = self._approvals.policy()
            except InvalidInput as error:
                said.append(f"no ticket is approved: {error}")
        for ticket in waiting:
            transition = by_itself(ticket, self._now_ms(), policy)
            if transition is None:
                continue
            try:
                asked = ticket.ask.revision if ticket.ask is not None else None
                self._store.advance(ticket.id, ticket.state, transition, None, 0, asked)
            except GuardianError as error:
                said.append(f"ticket {ticket.id} stays {ticket.state.name}: {error}")
                continue
            said.append(f"ticket {ticket.id} is {transition.state.name}: {transition.reason} ({Agent.POLICY})")
        return said
