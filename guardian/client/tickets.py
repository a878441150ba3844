"""Plans and tickets: submitted, approved, watched, cancelled."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict, Unpack, cast

import grpc

from guardian.client.calls import QUICK, SLOW, Calls
from guardian.client.errors import from_rpc, is_worth_another_member
from guardian.errors import Conflict
from guardian.model.execution import Execution, ExecutionTask
from guardian.model.operation import Ask
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.approval import ApprovalPolicy
from guardian.model.tickets.explanation import ApprovalExplanation
from guardian.model.tickets.preview import Preview
from guardian.model.tickets.progress import Progress
from guardian.model.wire.approvals import approvals_from_proto, explanation_from_proto
from guardian.model.wire.operations import ask_to_proto
from guardian.model.wire.plans import plan_from_proto, plan_to_proto
from guardian.model.wire.previews import preview_from_proto, progress_from_proto
from guardian.model.wire.tickets import execution_from_proto, ticket_from_proto, ticket_state_from_proto
from protos.guardian.v1 import tickets_pb2, tickets_pb2_grpc

_LOOKS = 1000  # messages in which one ticket is read; each has megabytes


class TicketOptions(TypedDict, total=False):
    """Name what every new ticket may be given. `throttle` is bytes/s, 0 the default."""

    throttle: int
    submit: bool
    reason: str
    dry_run: bool
    expires_in_ms: int


@dataclass(frozen=True, slots=True)
class TicketPage:
    """Tickets, and how far those are that the executor drives. Beside them the token for the next page, empty: there is
    none; where it was asked for, how many there are in all, by cluster and state.
    """

    tickets: tuple[tuple[Ticket, Progress | None], ...]
    next_token: str = ""
    counts: Mapping[tuple[str, TicketState], int] = field(default_factory=dict)


class TicketCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def plan(self, plan_hash: str) -> Plan:
        request = tickets_pb2.GetPlanRequest(plan_hash=plan_hash)
        return plan_from_proto(self._calls.read(lambda stubs: stubs.tickets.GetPlan, request).plan)

    def create_ticket(
        self,
        plan: Plan,
        *,
        author: str,
        idempotency_key: str = "",
        max_throttle: int = 0,
        evidence: str = "",
        unthrottled: bool = False,
        **others: Unpack[TicketOptions],
    ) -> tuple[Ticket, Plan]:
        """Makes a ticket of a plan: a draft, or pending with `submit`. `throttle` is bytes/s, 0: the default; where
        brokers have room it rises up to `max_throttle` (0: it does not). `unthrottled`: copies take what they get.
        When it is not approved and started within `expires_in_ms`, it expires (0: as the policy says; -1: never).

        Returns the plan with its originals filled in. Raises InvalidInput, Conflict or ClusterUnavailable when the plan
        can't run on the live cluster. With `dry_run` nothing is stored and the ticket has no id.
        """
        request = tickets_pb2.CreateTicketRequest(
            plan=plan_to_proto(plan),
            author=author,
            idempotency_key=idempotency_key or uuid.uuid4().hex,
            max_throttle=max_throttle,
            evidence=evidence,
            unthrottled=unthrottled,
            **others,
        )
        reply = self._calls.change(lambda stubs: stubs.tickets.CreateTicket, request, SLOW)
        return ticket_from_proto(reply.ticket), plan_from_proto(reply.plan)

    def ask_for(
        self,
        cluster: str,
        ask: Ask,
        *,
        author: str,
        idempotency_key: str = "",
        plan_s: float = 0.0,
        while_waiting: Callable[[], object] = lambda: None,
        **others: Unpack[TicketOptions],
    ) -> tuple[Ticket, Plan | None]:
        """Makes a ticket that asks for brokers to be removed, restarted, ...; arguments as those of `create_ticket`.

        With `dry_run` nothing is stored, and the plan says what the ticket would do: moves, and sentences in its notes;
        raises InvalidInput where it would be refused, and Overloaded at once where too many plans wait. That takes as
        long as a plan does: many seconds, of which a member gets `plan_s` at least, whatever the client's time-out.
        `while_waiting` is called several times a second then; an exception that it raises gives the plan up.
        """
        request = tickets_pb2.CreateTicketRequest(
            plan=tickets_pb2.Plan(cluster=cluster),
            ask=ask_to_proto(ask),
            author=author,
            idempotency_key=idempotency_key or uuid.uuid4().hex,
            **others,
        )
        reply = (
            self._calls.rehearse(lambda stubs: stubs.tickets.CreateTicket, request, plan_s, while_waiting)
            if request.dry_run
            else self._calls.change(lambda stubs: stubs.tickets.CreateTicket, request, SLOW)
        )
        return ticket_from_proto(reply.ticket), plan_from_proto(reply.plan) if reply.HasField("plan") else None

    def amend(self, ticket: Ticket, ask: Ask, actor: str, reason: str = "") -> Ticket:
        """`ask` has the brokers and controllers that `ticket` shall ask for from now on. Raises Conflict when it was
        amended meanwhile, or is over."""
        request = tickets_pb2.AmendTicketRequest(
            ticket_id=ticket.id,
            actor=actor,
            reason=reason,
            brokers=ask.brokers,
            controllers=ask.controllers,
            expected_revision=ask.revision,
        )
        return ticket_from_proto(self._calls.change(lambda stubs: stubs.tickets.AmendTicket, request, SLOW))

    def submit(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """DRAFT -> PENDING. This and the three below raise NotFound, or Conflict when the state does not allow it."""
        return self._act(lambda tickets: tickets.SubmitTicket, ticket_id, actor, reason)

    def approve(
        self, ticket_id: str, actor: str, reason: str = "", *, expected_ask_revision: int | None = None
    ) -> Ticket:
        """PENDING -> APPROVED: the executor takes it up. Raises Conflict also when its ask is at another revision."""
        return self._act(
            lambda tickets: tickets.ApproveTicket, ticket_id, actor, reason, expected_ask_revision=expected_ask_revision
        )

    def reject(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """PENDING -> REJECTED."""
        return self._act(lambda tickets: tickets.RejectTicket, ticket_id, actor, reason)

    def cancel(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """RUNNING -> CANCELLING: what moves now is taken back; before it ran: REJECTED."""
        return self._act(lambda tickets: tickets.CancelTicket, ticket_id, actor, reason)

    def pause(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """RUNNING -> PAUSED: what copies goes on to its end, nothing new starts."""
        return self._act(lambda tickets: tickets.PauseTicket, ticket_id, actor, reason)

    def resume(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """PAUSED -> RUNNING."""
        return self._act(lambda tickets: tickets.ResumeTicket, ticket_id, actor, reason)

    def set_throttle(
        self, ticket_id: str, throttle: int, actor: str, reason: str = "", max_throttle: int = 0
    ) -> Ticket:
        """Changes the throttle of a ticket that is not over, in bytes/s per broker: at the executor's next look."""
        request = tickets_pb2.SetThrottleRequest(
            ticket_id=ticket_id, actor=actor, reason=reason, throttle=throttle, max_throttle=max_throttle
        )
        return ticket_from_proto(self._calls.change(lambda stubs: stubs.tickets.SetThrottle, request))

    def adopt(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """PAUSED -> RUNNING: what other tools move on the cluster becomes the ticket's own."""
        return self._act(lambda tickets: tickets.AdoptTicket, ticket_id, actor, reason)

    def wait(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """PAUSED, until other tools move nothing on the cluster any more: then RUNNING by itself."""
        return self._act(lambda tickets: tickets.WaitTicket, ticket_id, actor, reason)

    def roll_back(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """SUCCEEDED, FAILED or CANCELLED -> ROLLING_BACK: what was moved goes back.

        Raises Conflict also when it can't as the cluster is, and ClusterUnavailable when that can't be known.
        """
        return self._act(lambda tickets: tickets.RollBackTicket, ticket_id, actor, reason, SLOW)

    def preview(self, ticket_id: str) -> Preview:
        """Preview what the ticket would send to Kafka from now on; of one that is over, what its way back would."""
        request = tickets_pb2.PreviewTicketRequest(ticket_id=ticket_id)
        return preview_from_proto(self._calls.read(lambda stubs: stubs.tickets.PreviewTicket, request, SLOW))

    def preview_amended(self, ticket: Ticket, ask: Ask) -> Preview:
        """Raises as `amend`, but for who may."""
        request = tickets_pb2.PreviewTicketRequest(ticket_id=ticket.id, amended=ask_to_proto(ask))
        return preview_from_proto(self._calls.read(lambda stubs: stubs.tickets.PreviewTicket, request, SLOW))

    def preview_plan(
        self, plan: Plan, throttle: int = 0, max_throttle: int = 0, *, unthrottled: bool = False
    ) -> Preview:
        """Preview what a ticket of the plan would send. Raises as `create_ticket`."""
        request = tickets_pb2.PreviewTicketRequest(
            plan=plan_to_proto(plan), throttle=throttle, max_throttle=max_throttle, unthrottled=unthrottled
        )
        return preview_from_proto(self._calls.read(lambda stubs: stubs.tickets.PreviewTicket, request, SLOW))

    def approvals(self) -> ApprovalPolicy:
        """Return who may approve what, as the member that answers reads it now."""
        request = tickets_pb2.GetApprovalsRequest()
        return approvals_from_proto(self._calls.read(lambda stubs: stubs.tickets.GetApprovals, request))

    def explain_approval(self, ticket_id: str, actor: str) -> ApprovalExplanation:
        """Return which rules are about the ticket, what is given, and why the actor may approve it now, or may not.

        With [security] the actor is the name that is proven. Raises NotFound.
        """
        request = tickets_pb2.ExplainApprovalRequest(ticket_id=ticket_id, actor=actor)
        return explanation_from_proto(self._calls.read(lambda stubs: stubs.tickets.ExplainApproval, request))

    def ticket(self, ticket_id: str) -> tuple[Ticket, Execution | None]:
        """Return a ticket and its execution with all tasks, page by page. Raises NotFound, and Conflict where it
        changes faster than its pages are read."""
        return self._look(ticket_id)[1]

    def tickets(self, cluster: str = "", states: Collection[TicketState] = (), kind: str = "") -> tuple[Ticket, ...]:
        """Return all of a cluster, states and a kind, newest first, page by page: of as many as there are."""
        return tuple(ticket for ticket, _ in self.walk_tickets(cluster, states, kind))

    def parts_of(self, ticket: Ticket) -> tuple[tuple[Ticket, Progress | None], ...]:
        """The tickets of its sequence, in the order in which they run, and how far those are that the executor drives;
        none for a ticket that stands alone."""
        if ticket.part is None:
            return ()
        request = tickets_pb2.ListTicketsRequest(cluster=ticket.cluster, sequence=ticket.part.first)
        reply = self._calls.read(lambda stubs: stubs.tickets.ListTickets, request)
        known = {each.ticket_id: progress_from_proto(each) for each in reply.progress}
        return tuple((ticket_from_proto(each), known.get(each.id)) for each in reply.tickets)

    def progress_of(self, ticket: Ticket) -> Progress | None:
        """Return how far it is, as the member says that knows its own slots and throttle; None: it is not driven."""
        if not ticket.state.is_driven:
            return None
        request = tickets_pb2.ListTicketsRequest(
            cluster=ticket.cluster, sequence=ticket.part.first if ticket.part is not None else ticket.id
        )
        reply = self._calls.read(lambda stubs: stubs.tickets.ListTickets, request)
        return next((progress_from_proto(each) for each in reply.progress if each.ticket_id == ticket.id), None)

    def walk_tickets(
        self, cluster: str = "", states: Collection[TicketState] = (), kind: str = ""
    ) -> Iterator[tuple[Ticket, Progress | None]]:
        """Yield tickets, newest first, and how far those are that the executor drives; a page is asked for when the one
        before was taken."""
        token = ""
        while True:
            page = self.ticket_page(cluster, states, kind, token)
            yield from page.tickets
            token = page.next_token
            if not token:
                return

    def ticket_page(
        self,
        cluster: str = "",
        states: Collection[TicketState] = (),
        kind: str = "",
        token: str = "",
        size: int = 0,
        *,
        with_counts: bool = False,
    ) -> TicketPage:
        """Return up to so many tickets (0: as many as the server likes), newest first, behind the page before, by its
        token. Raises InvalidInput for what is no token."""
        request = tickets_pb2.ListTicketsRequest(
            cluster=cluster,
            states=[cast(tickets_pb2.TicketState, state.value) for state in states],
            kind=kind,
            page_size=size,
            page_token=token,
            with_counts=with_counts,
        )
        reply = self._calls.read(lambda stubs: stubs.tickets.ListTickets, request)
        known = {each.ticket_id: progress_from_proto(each) for each in reply.progress}
        rows = tuple((ticket_from_proto(ticket), known.get(ticket.id)) for ticket in reply.tickets)
        counts = {(each.cluster, ticket_state_from_proto(each.state)): each.tickets for each in reply.counts}
        return TicketPage(rows, reply.next_page_token, counts)

    def watch(self, ticket_id: str) -> Iterator[tuple[Ticket, Execution | None]]:
        """The ticket now and after every change, until it is over; goes on at another member when one dies or hangs.

        Raises NotFound, and Unavailable when no member answers any more.
        """
        seen: tuple[Ticket, Execution | None] | None = None
        for detail in self._looks(ticket_id):
            if detail != seen:
                seen = detail
                yield detail
            if detail[0].state.is_over:
                return

    def _looks(self, ticket_id: str) -> Iterator[tuple[Ticket, Execution | None]]:
        """Yield the ticket's state for ever, and the same more than once. A member that hangs ends no stream, so each
        has a deadline.
        """
        request = tickets_pb2.GetTicketRequest(ticket_id=ticket_id)
        while True:
            endpoint, found = self._look(ticket_id)
            yield found
            stream = self._calls.at(endpoint).tickets.WatchTicket(request, timeout=self._calls.timeout_s)
            told = _Told()
            try:
                yield from (detail for detail in map(told.hear, stream) if detail is not None)
            except grpc.RpcError as error:
                failure = from_rpc(error)
                if not is_worth_another_member(failure):
                    raise failure from None
                self._calls.failed(endpoint)

    def _look(self, ticket_id: str) -> tuple[str, tuple[Ticket, Execution | None]]:
        """The ticket as it is, with all tasks, and the member that told it. Raises NotFound, Conflict."""
        request, told, revision = tickets_pb2.GetTicketRequest(ticket_id=ticket_id), _Told(), 0
        for _ in range(_LOOKS):
            endpoint, page = self._calls.read_somewhere(lambda stubs: stubs.tickets.GetTicket, request)
            if page.detail.execution.revision != revision:  # it was saved anew since the page before, and begins anew
                told, revision = _Told(), page.detail.execution.revision
            found = told.hear(page)
            if found is not None:
                return endpoint, found
            request.page_token = page.next_page_token
        raise Conflict(f"ticket {ticket_id} changes faster than its {_LOOKS} pages are read: try again")

    def _act(
        self,
        rpc: Callable[
            [tickets_pb2_grpc.TicketsStub],
            grpc.UnaryUnaryMultiCallable[tickets_pb2.TicketActionRequest, tickets_pb2.Ticket],
        ],
        ticket_id: str,
        actor: str,
        reason: str,
        patience: float = QUICK,
        expected_ask_revision: int | None = None,
    ) -> Ticket:
        request = tickets_pb2.TicketActionRequest(
            ticket_id=ticket_id, actor=actor, reason=reason, expected_ask_revision=expected_ask_revision
        )
        return ticket_from_proto(self._calls.change(lambda stubs: rpc(stubs.tickets), request, patience))


class _Told:
    """Join what a member tells of a ticket, in several messages where it is large; then of its tasks those that
    change."""

    def __init__(self) -> None:
        self._tasks: dict[int, ExecutionTask] = {}

    def hear(self, page: tickets_pb2.TicketDetailPage) -> tuple[Ticket, Execution | None] | None:
        """Return the ticket and its execution with all tasks, by their numbers; None: the rest of it comes behind."""
        execution = execution_from_proto(page.detail.execution) if page.detail.HasField("execution") else None
        self._tasks |= {task.number: task for task in (execution.tasks if execution is not None else ())}
        if page.next_page_token:
            return None
        if execution is not None:
            execution = replace(execution, tasks=tuple(task for _, task in sorted(self._tasks.items())))
        return ticket_from_proto(page.detail.ticket), execution
