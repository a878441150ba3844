"""Plans and tickets: submitted, approved, watched, cancelled."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import grpc

from guardian.client.calls import SLOW, Calls
from guardian.client.errors import from_rpc, is_worth_another_member
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket
from guardian.wire.plans import plan_from_proto, plan_to_proto
from guardian.wire.tickets import execution_from_proto, ticket_from_proto
from protos.guardian.v1 import tickets_pb2, tickets_pb2_grpc


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
        throttle: int = 0,
        submit: bool = False,
        reason: str = "",
        idempotency_key: str = "",
        dry_run: bool = False,
    ) -> tuple[Ticket, Plan]:
        """Makes a ticket of a plan: a draft, or pending with `submit`. `throttle` is bytes/s; 0: the default.

        Returns the plan with its originals filled in. Raises InvalidInput, Conflict or ClusterUnavailable when the plan
        can't run on the live cluster. With `dry_run` nothing is stored and the ticket has no id.
        """
        request = tickets_pb2.CreateTicketRequest(
            plan=plan_to_proto(plan),
            throttle=throttle,
            author=author,
            idempotency_key=idempotency_key or uuid.uuid4().hex,
            submit=submit,
            reason=reason,
            dry_run=dry_run,
        )
        reply = self._calls.change(lambda stubs: stubs.tickets.CreateTicket, request, SLOW)
        return ticket_from_proto(reply.ticket), plan_from_proto(reply.plan)

    def submit(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """DRAFT -> PENDING. This and the three below raise NotFound, or Conflict when the state does not allow it."""
        return self._act(lambda tickets: tickets.SubmitTicket, ticket_id, actor, reason)

    def approve(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """PENDING -> APPROVED: the executor takes it up."""
        return self._act(lambda tickets: tickets.ApproveTicket, ticket_id, actor, reason)

    def reject(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """PENDING -> REJECTED."""
        return self._act(lambda tickets: tickets.RejectTicket, ticket_id, actor, reason)

    def cancel(self, ticket_id: str, actor: str, reason: str = "") -> Ticket:
        """RUNNING -> CANCELLING: what moves now is taken back; before it ran: REJECTED."""
        return self._act(lambda tickets: tickets.CancelTicket, ticket_id, actor, reason)

    def ticket(self, ticket_id: str) -> tuple[Ticket, Execution | None]:
        request = tickets_pb2.GetTicketRequest(ticket_id=ticket_id)
        return _detail(self._calls.read(lambda stubs: stubs.tickets.GetTicket, request))

    def tickets(self, cluster: str = "") -> tuple[Ticket, ...]:
        """Newest first."""
        request = tickets_pb2.ListTicketsRequest(cluster=cluster)
        reply = self._calls.read(lambda stubs: stubs.tickets.ListTickets, request)
        return tuple(ticket_from_proto(ticket) for ticket in reply.tickets)

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
    ) -> Ticket:
        request = tickets_pb2.TicketActionRequest(ticket_id=ticket_id, actor=actor, reason=reason)
        return ticket_from_proto(self._calls.change(lambda stubs: rpc(stubs.tickets), request))


def _detail(message: tickets_pb2.TicketDetail) -> tuple[Ticket, Execution | None]:
    execution = execution_from_proto(message.execution) if message.HasField("execution") else None
    return ticket_from_proto(message.ticket), execution
