"""Plans and tickets: submitted, approved, watched, cancelled."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TypedDict, Unpack, cast

import grpc

from guardian.client.calls import QUICK, SLOW, Calls
from guardian.client.errors import from_rpc, is_worth_another_member
from guardian.model.approval import ApprovalPolicy
from guardian.model.execution import Execution
from guardian.model.operation import Ask
from guardian.model.plan import Plan
from guardian.model.preview import Preview
from guardian.model.progress import Progress
from guardian.model.ticket import Ticket, TicketState
from guardian.wire.approvals import approvals_from_proto
from guardian.wire.operations import ask_to_proto
from guardian.wire.plans import plan_from_proto, plan_to_proto
from guardian.wire.previews import preview_from_proto, progress_from_proto
from guardian.wire.tickets import execution_from_proto, ticket_from_proto
from protos.guardian.v1 import tickets_pb2, tickets_pb2_grpc


class TicketOptions(TypedDict, total=False):
    """Name what every new ticket may be given. `throttle` is bytes/s, 0 the default."""

    throttle: int
    submit: bool
    reason: str
    dry_run: bool
    expires_in_ms: int


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
        self, cluster: str, ask: Ask, *, author: str, idempotency_key: str = "", **others: Unpack[TicketOptions]
    ) -> tuple[Ticket, Plan | None]:
        """Makes a ticket that asks for brokers to be removed, restarted, ...; arguments as those of `create_ticket`.

        With `dry_run` nothing is stored, and the plan says what the ticket would do: moves, and sentences in its notes;
        raises InvalidInput where it would be refused. That takes as long as a plan does: many seconds.
        """
        request = tickets_pb2.CreateTicketRequest(
            plan=tickets_pb2.Plan(cluster=cluster),
            ask=ask_to_proto(ask),
            author=author,
            idempotency_key=idempotency_key or uuid.uuid4().hex,
            **others,
        )
        reply = self._calls.change(lambda stubs: stubs.tickets.CreateTicket, request, SLOW)
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
        """What the ticket would send to Kafka from now on; of one that is over, what its way back would."""
        request = tickets_pb2.PreviewTicketRequest(ticket_id=ticket_id)
        return preview_from_proto(self._calls.read(lambda stubs: stubs.tickets.PreviewTicket, request, SLOW))

    def preview_amended(self, ticket: Ticket, ask: Ask) -> Preview:
        """Raises as `amend`, but for who may."""
        request = tickets_pb2.PreviewTicketRequest(ticket_id=ticket.id, amended=ask_to_proto(ask))
        return preview_from_proto(self._calls.read(lambda stubs: stubs.tickets.PreviewTicket, request, SLOW))

    def preview_plan(
        self, plan: Plan, throttle: int = 0, max_throttle: int = 0, *, unthrottled: bool = False
    ) -> Preview:
        """What a ticket of the plan would send. Raises as `create_ticket`."""
        request = tickets_pb2.PreviewTicketRequest(
            plan=plan_to_proto(plan), throttle=throttle, max_throttle=max_throttle, unthrottled=unthrottled
        )
        return preview_from_proto(self._calls.read(lambda stubs: stubs.tickets.PreviewTicket, request, SLOW))

    def approvals(self) -> ApprovalPolicy:
        """Who may approve what, as the member that answers reads it now."""
        request = tickets_pb2.GetApprovalsRequest()
        return approvals_from_proto(self._calls.read(lambda stubs: stubs.tickets.GetApprovals, request))

    def ticket(self, ticket_id: str) -> tuple[Ticket, Execution | None]:
        request = tickets_pb2.GetTicketRequest(ticket_id=ticket_id)
        return _detail(self._calls.read(lambda stubs: stubs.tickets.GetTicket, request))

    def tickets(self, cluster: str = "") -> tuple[Ticket, ...]:
        """Newest first."""
        return tuple(ticket for ticket, _ in self.ticket_pages(cluster))

    def tickets_with_progress(self, cluster: str = "") -> tuple[tuple[Ticket, Progress | None], ...]:
        """Newest first; how far those are that the executor drives."""
        return tuple(self.ticket_pages(cluster))

    def ticket_pages(
        self,
        cluster: str = "",
        states: Sequence[TicketState] = (),
        kind: str = "",
        after: str = "",
        page_size: int = 0,
    ) -> Iterator[tuple[Ticket, Progress | None]]:
        """Yield tickets, newest first, behind that of an id; asks for so many at once, 0 for all. Raises NotFound
        for that id."""
        request = tickets_pb2.ListTicketsRequest(
            cluster=cluster,
            states=[cast(tickets_pb2.TicketState, state.value) for state in states],
            kind=kind,
            page_size=page_size,
            page_token=after,
        )
        while True:
            reply = self._calls.read(lambda stubs: stubs.tickets.ListTickets, request)
            known = {each.ticket_id: progress_from_proto(each) for each in reply.progress}
            yield from ((ticket_from_proto(ticket), known.get(ticket.id)) for ticket in reply.tickets)
            if not reply.next_page_token:
                return
            request.page_token = reply.next_page_token

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
        """For ever, and the same more than once. A member that hangs ends no stream, so each has a deadline."""
        request = tickets_pb2.GetTicketRequest(ticket_id=ticket_id)
        while True:
            endpoint, detail = self._calls.read_somewhere(lambda stubs: stubs.tickets.GetTicket, request)
            yield _detail(detail)
            stream = self._calls.at(endpoint).tickets.WatchTicket(request, timeout=self._calls.timeout_s)
            try:
                yield from map(_detail, stream)
            except grpc.RpcError as error:
                failure = from_rpc(error)
                if not is_worth_another_member(failure):
                    raise failure from None
                self._calls.failed(endpoint)

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


def _detail(message: tickets_pb2.TicketDetail) -> tuple[Ticket, Execution | None]:
    execution = execution_from_proto(message.execution) if message.HasField("execution") else None
    return ticket_from_proto(message.ticket), execution
