"""The approval policy in force, and what the leader does to tickets by it: expire them, approve them by a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from guardian.errors import GuardianError, InvalidInput
from guardian.model.actor import Agent
from guardian.model.ticket import TicketState
from guardian.model.tickets.approval import ApprovalPolicy, everybody, load_approvals
from guardian.replication.store.documents import Stored
from guardian.replication.store.store import ReplicatedStore
from guardian.tickets.kinds.registry import HAVE_SIZE
from guardian.tickets.rules.ticketing import by_itself

_WAITING = (TicketState.PENDING, TicketState.APPROVED)
_NOBODY = ApprovalPolicy()  # expiry needs no rules


class Approvals:
    """Answer by the stored policy, else by the member's file, read at each question; with neither everybody may approve
    what is not his own, and that too with `author_may_approve`. What is stored wins: members whose files differ must
    not decide otherwise, depending on which one is asked."""

    def __init__(
        self,
        file: Path | None = None,
        *,
        author_may_approve: bool = True,
        stored: Callable[[], Stored[ApprovalPolicy]] = Stored,
    ) -> None:
        self._stored = stored
        self._file = file
        self._default = everybody(author_may_approve=author_may_approve)

    def policy(self) -> ApprovalPolicy:
        """Raises InvalidInput when what is stored, or the file, can't be used: then nobody approves anything."""
        stored = self._stored()
        if stored.damage:
            raise InvalidInput(stored.damage)
        if stored.content is not None:
            return replace(stored.content, revision=stored.revision)
        return self._default if self._file is None else load_approvals(self._file, HAVE_SIZE)


class ApprovalKeeper:
    """`tick` is called by the leader's loop. What it decides is stored only where the ticket is as it was read."""

    def __init__(self, store: ReplicatedStore, approvals: Approvals, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._approvals = approvals
        self._now_ms = now_ms

    def tick(self) -> list[str]:
        """One sentence for each ticket that was expired or approved, and one when the policy can't be read."""
        waiting = self._store.read_local().open_tickets(states=_WAITING)
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
                decided = transition.state is TicketState.APPROVED
                revision = policy.revision if decided else None
                self._store.advance(ticket.id, ticket.state, transition, None, 0, asked, revision)
            except GuardianError as error:
                said.append(f"ticket {ticket.id} stays {ticket.state.name}: {error}")
                continue
            said.append(f"ticket {ticket.id} is {transition.state.name}: {transition.reason} ({Agent.POLICY})")
        return said
