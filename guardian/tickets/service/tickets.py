"""The Tickets service: tickets are made, previewed, carried through approval, changed, read and watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

import grpc
import grpc.aio

from guardian.errors import Conflict, InvalidInput
from guardian.execution.operations.step import why_unapproved
from guardian.execution.rules import foreign, rolling_back
from guardian.execution.rules.brokers import brokers_of
from guardian.execution.rules.lasting import USUAL_PACING, Pacing
from guardian.model.actor import Agent, require_claimed_name
from guardian.model.execution import Execution
from guardian.model.throttle import MAX_THROTTLE, MIN_THROTTLE
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import ApprovalPolicy
from guardian.model.wire.approvals import approvals_to_proto, explanation_to_proto
from guardian.model.wire.operations import ask_from_proto
from guardian.model.wire.plans import plan_from_proto, plan_to_proto
from guardian.model.wire.previews import preview_to_proto, progress_to_proto
from guardian.model.wire.tickets import (
    ticket_from_proto,
    ticket_state_from_proto,
    ticket_to_proto,
)
from guardian.replication.store.async_store import AsyncStore
from guardian.replication.store.state import Changes, PageLimits, TicketFilter, TicketPage, Views
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.identity import Role
from guardian.serving.paging import MAX_PAGE_BYTES, decode_token, encode_token, page_size
from guardian.serving.requests import is_awaited, person_of, require_cluster, views_for
from guardian.serving.sight import no_plan, no_ticket
from guardian.serving.turns import LISTS
from guardian.serving.who_asks import sees, who_asks
from guardian.tickets.kinds.registry import KINDS
from guardian.tickets.rules import ticketing
from guardian.tickets.rules.approving import explain
from guardian.tickets.rules.progressing import progress
from guardian.tickets.service.asks import Asker, Asks, require_asks
from guardian.tickets.service.new_tickets import NewTickets, asked_throttle
from guardian.tickets.service.previews import Previews
from guardian.tickets.service.task_pages import pages, tasks_behind
from protos.guardian.v1 import tickets_pb2 as pb
from protos.guardian.v1 import tickets_pb2_grpc

_ATTEMPTS = 5  # against an executor that saves its execution at the same time
_WATCH_PAUSE_S = 0.05  # between two looks of one watcher, however much is written

MAX_TASKS = 10_000  # that are read for one page of a list
_DRIVEN = frozenset(state.value for state in TicketState if state.is_driven)

# (ticket, actor, reason, now in ms), with `policy` where one decides -> the transition, or raises Conflict or
# InvalidInput
_Decision = Callable[..., TicketTransition]


class TicketsServicer(tickets_pb2_grpc.TicketsServicer):
    """`policy` reads who may approve, at each question. `asks` are for tickets of brokers. `why_no_role`
    says why the caller's roles do not let him approve a ticket; empty: they do.

    Made on the server's event loop. Watching runs there and holds no thread; all else runs in the server's threads.
    """

    def __init__(
        self,
        store: ReplicatedStore,
        async_store: AsyncStore,
        changes: Changes,
        policy: Callable[[], ApprovalPolicy],
        now_ms: Callable[[], int],
        new_tickets: NewTickets,
        previews: Previews,
        asks: Asks | None = None,
        why_no_role: Callable[[Views, Ticket], str] = lambda _views, _ticket: "",
        pacing: Pacing = USUAL_PACING,
    ) -> None:
        self._pacing = pacing
        self._why_no_role = why_no_role
        self._store = store
        self._async_store = async_store
        self._changes = changes
        self._policy = policy
        self._now_ms = now_ms
        self._new_tickets = new_tickets
        self._previews = previews
        self._asks = asks

    def GetPlan(self, request: pb.GetPlanRequest, context: grpc.ServicerContext) -> pb.GetPlanReply:
        plan = self._store.read().plan(request.plan_hash)
        if plan is None:
            raise no_plan(request.plan_hash)
        return pb.GetPlanReply(plan=plan_to_proto(plan))

    def CreateTicket(self, request: pb.CreateTicketRequest, context: grpc.ServicerContext) -> pb.CreateTicketReply:
        return self._new_tickets.create(request, Asker(person_of(context), partial(is_awaited, context)))

    def AmendTicket(self, request: pb.AmendTicketRequest, context: grpc.ServicerContext) -> pb.Ticket:
        request.actor = require_claimed_name("actor", request.actor)
        ticketing.require_reason(request.reason)
        for _ in range(_ATTEMPTS):
            ticket, execution = self._find(request.ticket_id)
            try:
                return self._amend(request, ticket, execution)
            except Conflict:
                if self._find(ticket.id)[0].state is ticket.state:
                    raise
                # Approved or started meanwhile: who may amend it is another question now.
        raise Conflict(f"ticket {request.ticket_id} changes all the time: try again")

    def _amend(self, request: pb.AmendTicketRequest, ticket: Ticket, execution: Execution | None) -> pb.Ticket:
        wanted = (tuple(sorted(request.brokers)), tuple(sorted(request.controllers)))
        if ticket.ask is not None and ticket.ask.revision != request.expected_revision:
            # A client whose member died before it answered asks again.
            if ticket.ask.revision == request.expected_revision + 1 and wanted == (
                ticket.ask.brokers,
                ticket.ask.controllers,
            ):
                return ticket_to_proto(ticket)
            raise Conflict(f"ticket {ticket.id} was amended meanwhile: look at it again (guardian ticket show)")
        nodes = (*wanted[0], *wanted[1])
        why = why_unapproved(self._policy(), ticket, nodes, request.actor, self._now_ms())
        if why:
            raise InvalidInput(why)
        amended = require_asks(self._asks).amend(ticket, execution, *wanted, request.actor, request.reason)
        return ticket_to_proto(amended)

    def SubmitTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.submit, frozenset({TicketState.PENDING}))

    def ApproveTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.approve, frozenset({TicketState.APPROVED}), self._policy)

    def RejectTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.reject, frozenset({TicketState.REJECTED}))

    def CancelTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.cancel, frozenset({TicketState.CANCELLING, TicketState.REJECTED}))

    def PauseTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.pause, frozenset({TicketState.PAUSED}))

    def ResumeTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.resume, frozenset({TicketState.RUNNING}))

    def SetThrottle(self, request: pb.SetThrottleRequest, context: grpc.ServicerContext) -> pb.Ticket:
        request.actor = require_claimed_name("actor", request.actor)
        ticketing.require_reason(request.reason)
        if not request.throttle:
            raise InvalidInput(f"throttle is 0 bytes/s: use {MIN_THROTTLE} to {MAX_THROTTLE}")
        throttle = ticketing.throttle_asked(request.throttle)
        most = ticketing.max_throttle_asked(request.max_throttle, throttle)
        for _ in range(_ATTEMPTS):
            ticket, _ = self._find(request.ticket_id)
            if (ticket.throttle, ticket.max_throttle) == (throttle, most):
                return ticket_to_proto(ticket)  # asked again
            highest = max(throttle, most)
            rises = highest > ticketing.approved_throttle(ticket)
            policy = self._policy() if rises else ApprovalPolicy()  # one that can't be read keeps nobody from slowing
            approved = ticketing.require_rate_allowed(policy, ticket, highest, request.actor, self._now_ms())
            reason = ticketing.throttle_change(ticket.throttle, throttle)
            reason += f" ({request.reason})" if request.reason else ""
            try:
                return ticket_to_proto(
                    self._store.set_throttle(ticket.id, ticket.state, throttle, most, approved, request.actor, reason)
                )
            except Conflict:
                if self._find(ticket.id)[0].state is ticket.state:
                    raise
                # Approved or started meanwhile: who may raise it is another question now.
        raise Conflict(f"ticket {request.ticket_id} changes all the time: try again")

    def AdoptTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        def adopt(ticket: Ticket, execution: Execution | None) -> Execution:
            adopted = foreign.adopted(ticket, execution, self._now_ms())
            known = frozenset(execution.tasks if execution is not None else ())
            more = [task.move for task in adopted.tasks if task.is_adopted and task not in known]
            size = sum(move.bytes_to_copy for move in more)
            ticketing.require_adoptable(self._policy(), ticket, len(more), size, request.actor, self._now_ms())
            return adopted

        return self._about_others(request, adopt, TicketState.RUNNING, self._require_unheld)

    def WaitTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._about_others(request, foreign.awaited, TicketState.PAUSED)

    def RollBackTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        ticket, execution = self._find(request.ticket_id)
        if rolling_back.is_rollable(ticket.state) and request.actor:
            # Who may not need not ask the cluster.
            ticketing.roll_back(ticket, request.actor, request.reason, self._now_ms(), self._policy())
            self._previews.require_way_back(ticket, execution)
            for other, its in self._behind(ticket):
                self._previews.require_way_back(other, its)
        return self._act(request, ticketing.roll_back, frozenset({TicketState.ROLLING_BACK}), self._policy)

    def PreviewTicket(self, request: pb.PreviewTicketRequest, context: grpc.ServicerContext) -> pb.PreviewTicketReply:
        if request.ticket_id:
            ticket, execution = self._find(request.ticket_id)
            if request.HasField("amended"):
                return preview_to_proto(self._previews.of_amendment(ticket, execution, ask_from_proto(request.amended)))
            return preview_to_proto(self._previews.of_ticket(ticket, execution))
        throttle = asked_throttle(request)
        most = ticketing.max_throttle_asked(request.max_throttle, throttle)
        plan = self._new_tickets.resolved(plan_from_proto(request.plan))
        return preview_to_proto(self._previews.of_plan(plan, throttle, most))

    def GetApprovals(self, request: pb.GetApprovalsRequest, context: grpc.ServicerContext) -> pb.Approvals:
        self._store.read()  # what was stored before the call is known here then
        return approvals_to_proto(self._policy())

    def ExplainApproval(
        self, request: pb.ExplainApprovalRequest, context: grpc.ServicerContext
    ) -> pb.ApprovalExplanation:
        actor = require_claimed_name("actor", request.actor)
        views = self._store.read()
        ticket, _ = _lookup(views, request.ticket_id)
        refusal = self._why_no_role(views, ticket)
        return explanation_to_proto(explain(self._policy(), ticket, actor, self._now_ms(), refusal))

    def GetTicket(self, request: pb.GetTicketRequest, context: grpc.ServicerContext) -> pb.TicketDetailPage:
        ticket, execution = self._find(request.ticket_id)
        return next(pages(ticket, execution, tasks_behind(execution, request.page_token)))

    def ListTickets(self, request: pb.ListTicketsRequest, context: grpc.ServicerContext) -> pb.ListTicketsReply:
        views = views_for(self._store, context)
        require_cluster(views, request.cluster)
        with LISTS.one():
            if request.sequence:
                return _listed(views, _parts(views, request.sequence), self._now_ms(), self._pacing)
            return self._ticket_page(views, request)

    def _ticket_page(self, views: Views, request: pb.ListTicketsRequest) -> pb.ListTicketsReply:
        _require_kind(request.kind)
        states = frozenset(ticket_state_from_proto(state).value for state in request.states)
        clusters = (request.cluster,) if request.cluster else _visible_clusters(views)
        counts = _counts(views, request.cluster) if request.with_counts else ()
        if clusters is None:  # he sees none that has tickets
            return pb.ListTicketsReply()
        page = views.ticket_page(
            TicketFilter(clusters, request.kind, states),
            decode_token(request.page_token),
            PageLimits(page_size(request.page_size), MAX_PAGE_BYTES),
        )
        told, shown = self._progress(views, page)
        is_whole = shown == len(page.messages)
        after = page.after if is_whole else views.position_of(page.messages[shown - 1])
        return pb.ListTicketsReply(
            tickets=page.messages[:shown], progress=told, next_page_token=encode_token(after), counts=counts
        )

    def _progress(self, views: Views, page: TicketPage) -> tuple[list[pb.TicketProgress], int]:
        """Return how far those of the page are that the executor drives, and of how many tickets that tells. It reads
        their tasks, and ends the page when these are too many.
        """
        told: list[pb.TicketProgress] = []
        now, tasks = self._now_ms(), 0
        for number, message in enumerate(page.messages, start=1):
            if message.state not in _DRIVEN:
                continue
            execution = views.execution(message.id)
            far = progress(ticket_from_proto(message), execution, now, self._pacing)
            told.append(progress_to_proto(message.id, far))
            tasks += len(execution.tasks) if execution is not None else 0
            if tasks >= MAX_TASKS:
                return told, number
        return told, len(page.messages)

    async def WatchTicket(
        self, request: pb.GetTicketRequest, context: grpc.aio.ServicerContext[pb.GetTicketRequest, pb.TicketDetailPage]
    ) -> AsyncIterator[pb.TicketDetailPage]:
        with self._changes.of_others() as has_changed:
            ticket, execution = _lookup(await self._async_store.read(), request.ticket_id)
            for page in pages(ticket, execution, tasks_behind(execution, "")):
                yield page
            while not ticket.state.is_over:
                await has_changed.wait()
                has_changed.clear()
                views = self._async_store.read_local()
                seen = (ticket, execution.revision if execution is not None else 0)
                if seen != (views.ticket(ticket.id), views.execution_revision(ticket.id)):  # all tasks need not be read
                    known = frozenset(execution.tasks if execution is not None else ())
                    ticket, execution = _lookup(views, ticket.id)
                    tasks = execution.tasks if execution is not None else ()
                    for page in pages(ticket, execution, [task for task in tasks if task not in known]):
                        yield page
                await asyncio.sleep(_WATCH_PAUSE_S)

    def _act(
        self,
        request: pb.TicketActionRequest,
        decide: _Decision,
        outcomes: frozenset[TicketState],
        policy_in_force: Callable[[], ApprovalPolicy] | None = None,
    ) -> pb.Ticket:
        """`policy_in_force` is asked after the look at the ticket, and the step is made only while that is in force."""
        request.actor = require_claimed_name("actor", request.actor)
        ticketing.require_reason(request.reason)
        ticket, _ = self._find(request.ticket_id)
        try:
            policy = policy_in_force() if policy_in_force is not None else None
            by = {"policy": policy} if policy is not None else {}
            transition = decide(ticket, request.actor, request.reason, self._now_ms(), **by)
            seen = None
            if request.HasField("expected_ask_revision"):
                seen = request.expected_ask_revision
            elif transition.state is TicketState.APPROVED and ticket.ask is not None:
                seen = ticket.ask.revision
            revision = policy.revision if policy is not None else None
            return ticket_to_proto(self._store.advance(ticket.id, ticket.state, transition, None, 0, seen, revision))
        except Conflict:
            # A client whose member died before it answered asks again: what it asked for has happened, or does so now.
            ticket, _ = self._find(request.ticket_id)
            last = next((past for past in reversed(ticket.history) if past.actor is not Agent.EXECUTOR), None)
            if last is None or last.actor != request.actor or last.state not in outcomes:
                raise
            return ticket_to_proto(ticket)

    def _about_others(
        self,
        request: pb.TicketActionRequest,
        decide: Callable[[Ticket, Execution | None], Execution],
        state: TicketState,
        require: Callable[[Ticket, Execution | None], None] | None = None,
    ) -> pb.Ticket:
        """Decide what to do about other tools' work, and store it with the execution, which the executor may be
        changing now.
        """
        request.actor = require_claimed_name("actor", request.actor)
        ticketing.require_reason(request.reason)
        for _ in range(_ATTEMPTS):
            ticket, execution = self._find(request.ticket_id)
            if require is not None:
                require(ticket, execution)
            work = foreign.describe(execution.foreign) if execution is not None else ""
            try:
                decided = decide(ticket, execution)
            except Conflict:
                last = next((past for past in reversed(ticket.history) if past.actor is not Agent.EXECUTOR), None)
                if last is None or (last.actor, last.state) != (request.actor, state):
                    raise
                return ticket_to_proto(ticket)  # asked again: it has happened
            doing = "adopted" if state is TicketState.RUNNING else "waits for"
            reason = request.reason or f"{doing} what another tool moves: {work}"
            transition = TicketTransition(state, self._now_ms(), request.actor, reason)
            try:
                return ticket_to_proto(
                    self._store.advance(ticket.id, ticket.state, transition, decided, decided.revision)
                )
            except Conflict:
                continue  # the executor was faster
        raise Conflict(f"ticket {request.ticket_id} changes all the time: try again")

    def _require_unheld(self, ticket: Ticket, execution: Execution | None) -> None:
        """Raises Conflict when what it would adopt is on brokers of another ticket that is under way."""
        views, held = self._store.read_local(), dict[int, str]()
        for other in views.driven_tickets(ticket.cluster):
            begun = views.execution(other.id) if other.id != ticket.id else None
            held |= dict.fromkeys(brokers_of(begun) if begun is not None else (), other.id)
        why = foreign.why_not_adopted(execution, held)
        if why:
            raise Conflict(f"ticket {ticket.id} can't adopt what another tool moves: {why}; wait for it, or cancel it")

    def _behind(self, ticket: Ticket) -> list[tuple[Ticket, Execution]]:
        """Return the parts of its sequence that go back before it does, with what they moved."""
        views = self._store.read_local()
        later = map(views.ticket, ticket.part.ids[ticket.part.number :] if ticket.part is not None else ())
        found = [(each, views.execution(each.id)) for each in later if each and rolling_back.is_rollable(each.state)]
        return [(each, execution) for each, execution in found if execution is not None]

    def _find(self, ticket_id: str) -> tuple[Ticket, Execution | None]:
        return _lookup(self._store.read(), ticket_id)


def _lookup(views: Views, ticket_id: str) -> tuple[Ticket, Execution | None]:
    ticket = views.ticket(ticket_id)
    if ticket is None:
        raise no_ticket(ticket_id)
    return ticket, views.execution(ticket_id)


def _parts(views: Views, first: str) -> list[Ticket]:
    """Return the tickets of a sequence, in the order in which they run; one that stands alone, alone. Raises NotFound,
    also where the caller may not see it: an answer that is cut to nothing would tell that there is one."""
    ticket = views.ticket(first)
    if ticket is None or not sees(ticket.cluster):
        raise no_ticket(first)
    ids = ticket.part.ids if ticket.part is not None else (ticket.id,)
    return [each for each in map(views.ticket, ids) if each is not None]


def _require_kind(kind: str) -> None:
    """Raises InvalidInput for a kind that no ticket can have; those of other packages have a slash."""
    if kind and kind not in KINDS and "/" not in kind:
        raise InvalidInput(f"kind is {kind!r}: use one of {', '.join(sorted(KINDS))}")


def _listed(views: Views, tickets: Sequence[Ticket], now_ms: int, pacing: Pacing) -> pb.ListTicketsReply:
    driven = [ticket for ticket in tickets if ticket.state.is_driven]
    return pb.ListTicketsReply(
        tickets=[ticket_to_proto(ticket) for ticket in tickets],
        progress=[
            progress_to_proto(ticket.id, progress(ticket, views.execution(ticket.id), now_ms, pacing))
            for ticket in driven
        ],
    )


def _visible_clusters(views: Views) -> tuple[str, ...] | None:
    """Return the clusters with tickets that the caller sees, so that no page is read for nothing; () where he sees all
    of them, None where he sees none."""
    identity = who_asks()
    if identity is None or identity.may(Role.VIEWER):
        return ()
    return tuple(name for name in sorted(views.ticket_counts()) if identity.sees(name)) or None


def _counts(views: Views, cluster: str) -> list[pb.TicketCount]:
    return [
        pb.TicketCount(cluster=name, state=state.value, tickets=count)  # type: ignore[arg-type]  # its number
        for name, counts in sorted(views.ticket_counts(cluster or None).items())
        for state, count in sorted(counts.items(), key=lambda each: each[0].value)
    ]
