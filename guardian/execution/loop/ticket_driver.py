"""Drives one ticket in a tick of its cluster: it expires, begins, gives way to expansions and other tools, goes on or
waits.

Whatever fails of one ticket is said of it, and stops none of those beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import structlog

from guardian.errors import GuardianError
from guardian.execution.loop.admitting import Job
from guardian.execution.loop.cluster_tick import ClusterTick
from guardian.execution.loop.commits import Commits
from guardian.execution.loop.memory import forget_others
from guardian.execution.loop.operation_tickets import OperationTickets
from guardian.execution.loop.plan_start import PlanStart
from guardian.execution.loop.plan_steps import PlanSteps
from guardian.execution.loop.request_tickets import RequestTickets
from guardian.execution.rules import expanding, foreign
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.tickets.kinds.registry import KINDS, kind_of
from guardian.tickets.kinds.requested import RequestKind
from guardian.tickets.rules.approving import why_expired

_log = structlog.get_logger(__name__)


class TicketDriver:
    """Choose what is done about a ticket now, by its kind and state."""

    def __init__(
        self,
        commits: Commits,
        starts: PlanStart,
        plans: PlanSteps,
        requests: RequestTickets,
        operations: OperationTickets,
        now_ms: Callable[[], int],
    ) -> None:
        self._commits = commits
        self._starts = starts
        self._plans = plans
        self._requests = requests
        self._operations = operations
        self._now_ms = now_ms
        self._logged: dict[str, str] = {}

    def drive(self, job: Job, tick: ClusterTick) -> str:
        """Take the ticket's next step, and return a sentence about it; raises nothing."""
        try:
            said = self._expire(job.ticket) or self._drive(job, tick)
            return f"ticket {job.ticket.id}: {said}"
        except GuardianError as error:
            return f"ticket {job.ticket.id} waits: {error}"
        except Exception as error:  # noqa: BLE001  what nobody foresaw of one ticket must not stop those beside it
            sentence = f"ticket {job.ticket.id} failed in a way nobody foresaw: {error!r}"
            if self._logged.get(job.ticket.id) != sentence:
                self._logged[job.ticket.id] = sentence
                _log.exception("ticket", ticket=job.ticket.id)
            return sentence

    def wait(self, job: Job, why: str) -> str:
        """Keep what a ticket waits for where people look, send nothing, and return a sentence about it.

        An operation begins by waiting; a plan begins only once it can be compared with what is there.
        """
        sentence, ticket = f"waits: {why}", job.ticket
        execution = job.work
        has_begun = ticket.state is not TicketState.APPROVED
        try:
            expired = self._expire(ticket)
            if expired:
                return f"ticket {ticket.id}: {expired}"
            if (has_begun or ticket.ask) and isinstance(execution, Execution) and execution.note != sentence:
                noted = replace(execution, note=sentence)
                begins = None if has_begun else (TicketState.RUNNING, sentence)
                self._commits.advance(ticket, begins, noted, execution.revision)
        except GuardianError as error:
            return f"ticket {ticket.id} waits: {error}"
        return f"ticket {ticket.id} {sentence}"

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forget all other tickets: they are driven no longer."""
        forget_others(self._logged, ticket_ids)

    def _expire(self, ticket: Ticket) -> str:
        """End a ticket where there was no leader to see to it, or the one that is has not come to it yet; empty: it
        goes on."""
        expired = why_expired(ticket, self._now_ms())
        if not expired:
            return ""
        self._commits.advance(ticket, (TicketState.EXPIRED, expired), None, 0)
        return f"EXPIRED: {expired}"

    def _drive(self, job: Job, tick: ClusterTick) -> str:
        if job.ticket.kind not in KINDS:
            return f"waits: only newer members know tickets of kind {job.ticket.kind}"
        if isinstance(job.work, Plan):
            return self._starts.begin(job, job.work, tick)
        kind = kind_of(job.ticket)
        if isinstance(kind, RequestKind):
            return self._requests.step(kind, job.ticket, job.work, tick.admin)
        return self._give_way(job, job.work, tick) or self._go_on_beside(job, job.work, tick)

    def _go_on_beside(self, job: Job, execution: Execution, tick: ClusterTick) -> str:
        has_begun = job.ticket.state is not TicketState.APPROVED
        noticed = self._notice(job, execution) if has_begun else None
        if noticed is None:
            return self._go_on(job, execution, tick)
        if noticed.transition:
            return noticed.sentence
        # Other tools may begin and end something at each tick: that holds up nothing.
        stored = replace(noticed.execution, revision=execution.revision + 1)
        return "; ".join((self._go_on(job, stored, tick), noticed.sentence))

    def _go_on(self, job: Job, execution: Execution, tick: ClusterTick) -> str:
        if job.ticket.ask is not None:
            return self._operations.step(job, job.ticket.ask, execution, tick)
        return self._plans.step(job, execution, tick)

    def _give_way(self, job: Job, execution: Execution, tick: ClusterTick) -> str:
        """Store that moves are given up, as a topic of theirs grows, and say so; empty where none is.

        They are looked at in the next tick: a request that started one may still be on its way to Kafka.
        """
        found = expanding.give_way(job.ticket, execution, job.expansions, tick.observation, self._now_ms())
        if found is None:
            return ""
        transition = (job.ticket.state, found.sentence) if found.sentence else None
        self._commits.advance(job.ticket, transition, found.execution, execution.revision, is_led_on=True)
        return found.sentence or "a copy had arrived before it could be cancelled: it goes on"

    def _notice(self, job: Job, execution: Execution) -> foreign.Notice | None:
        """Store that the ticket pauses for other tools, goes on after them, or what they do; mostly nothing."""
        if job.foreign is None:
            return None
        noticed = foreign.notice(job.ticket, execution, job.foreign, job.others)
        if noticed is None:
            return None
        self._commits.advance(job.ticket, noticed.transition, noticed.execution, execution.revision, is_led_on=True)
        return noticed
