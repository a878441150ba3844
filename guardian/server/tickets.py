"""The Tickets service: plans are checked against the live cluster, then carried through approval."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from functools import partial

import grpc
import grpc.aio

from guardian.core import ticketing
from guardian.core.ticketing import ApprovalPolicy
from guardian.core.validating import resolve
from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.executor.driver import ACTOR as EXECUTOR
from guardian.kafka.admin import KafkaAdmin
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.server.async_store import AsyncStore
from guardian.server.changes import Changed, Changes
from guardian.server.store import MAX_EXECUTION_BYTES, ReplicatedStore
from guardian.wire.plans import move_to_proto, plan_from_proto, plan_to_proto
from guardian.wire.tickets import execution_to_proto, ticket_to_proto
from metastore.views import Views
from protos.guardian.v1 import tickets_pb2 as pb
from protos.guardian.v1 import tickets_pb2_grpc

DEFAULT_THROTTLE = 50_000_000  # bytes/s per broker
MIN_THROTTLE = 100_000
MAX_THROTTLE = 1_000_000_000_000  # more than a broker can send; Kafka takes no more than an int64
_MAX_REASON_CHARS = 500
_WATCH_PAUSE_S = 0.05  # between two looks of one watcher, however much is written

# (ticket, actor, reason, now in ms) -> the transition, or raises Conflict or InvalidInput
_Decision = Callable[[Ticket, str, str, int], TicketTransition]


class TicketsServicer(tickets_pb2_grpc.TicketsServicer):
    """`admin_for` opens a new admin connection by the cluster's name; the caller closes it.

    Made on the server's event loop. Watching runs there and holds no thread; all else runs in the server's threads.
    """

    def __init__(
        self,
        store: ReplicatedStore,
        async_store: AsyncStore,
        changes: Changes,
        admin_for: Callable[[str], KafkaAdmin],
        policy: ApprovalPolicy,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._async_store = async_store
        self._changes = changes
        self._admin_for = admin_for
        self._policy = policy
        self._now_ms = now_ms

    def GetPlan(self, request: pb.GetPlanRequest, context: grpc.ServicerContext) -> pb.GetPlanReply:
        plan = self._store.read().plan(request.plan_hash)
        if plan is None:
            raise NotFound(f"plan {request.plan_hash!r} is not stored")
        return pb.GetPlanReply(plan=plan_to_proto(plan))

    def CreateTicket(self, request: pb.CreateTicketRequest, context: grpc.ServicerContext) -> pb.CreateTicketReply:
        throttle = request.throttle or DEFAULT_THROTTLE
        if not MIN_THROTTLE <= throttle <= MAX_THROTTLE:
            raise InvalidInput(
                f"throttle is {throttle} bytes/s: use {MIN_THROTTLE} to {MAX_THROTTLE}, or 0 for the default"
            )
        _require_actor("author", request.author)
        _require_reason(request.reason)
        if not request.idempotency_key:
            raise InvalidInput("idempotency_key is empty: give a value that is unique to this request")
        made = self._made_with(request.idempotency_key)
        if made is not None:
            return made
        plan = self._resolved(plan_from_proto(request.plan))
        state = TicketState.PENDING if request.submit else TicketState.DRAFT
        now = self._now_ms()
        ticket = Ticket(
            id="" if request.dry_run else f"t-{secrets.token_hex(4)}",
            cluster=plan.cluster,
            kind=plan.kind,
            state=state,
            author=request.author,
            plan_hash="" if request.dry_run else self._store.put_plan(plan),
            throttle=throttle,
            created_at_ms=now,
            updated_at_ms=now,
            history=(TicketTransition(state, now, request.author, request.reason or "created"),),
            idempotency_key=request.idempotency_key,
            moves=len(plan.moves),
            bytes_to_copy=plan.bytes_to_copy,
        )
        if not request.dry_run:
            ticket = self._store.add_ticket(ticket)
        return pb.CreateTicketReply(ticket=ticket_to_proto(ticket), plan=plan_to_proto(plan))

    def SubmitTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.submit, frozenset({TicketState.PENDING}))

    def ApproveTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        approve = partial(ticketing.approve, policy=self._policy)
        return self._act(request, approve, frozenset({TicketState.APPROVED}))

    def RejectTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.reject, frozenset({TicketState.REJECTED}))

    def CancelTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.cancel, frozenset({TicketState.CANCELLING, TicketState.REJECTED}))

    def GetTicket(self, request: pb.GetTicketRequest, context: grpc.ServicerContext) -> pb.TicketDetail:
        return _detail(*self._find(request.ticket_id))

    def ListTickets(self, request: pb.ListTicketsRequest, context: grpc.ServicerContext) -> pb.ListTicketsReply:
        tickets = self._store.read().tickets(request.cluster or None)
        return pb.ListTicketsReply(tickets=[ticket_to_proto(ticket) for ticket in tickets])

    async def WatchTicket(
        self, request: pb.GetTicketRequest, context: grpc.aio.ServicerContext[pb.GetTicketRequest, pb.TicketDetail]
    ) -> AsyncIterator[pb.TicketDetail]:
        has_changed = asyncio.Event()

        def note(changed: Changed) -> None:
            if changed.has_others or changed.is_all:
                has_changed.set()

        self._changes.subscribe(note)
        try:
            ticket, execution = _lookup(await self._async_store.read(), request.ticket_id)
            yield _detail(ticket, execution)
            while not ticket.state.is_over:
                await has_changed.wait()
                has_changed.clear()
                newest = _lookup(self._async_store.read_local(), request.ticket_id)
                if newest != (ticket, execution):
                    ticket, execution = newest
                    yield _detail(ticket, execution)
                await asyncio.sleep(_WATCH_PAUSE_S)
        finally:
            self._changes.unsubscribe(note)

    def _act(self, request: pb.TicketActionRequest, decide: _Decision, outcomes: frozenset[TicketState]) -> pb.Ticket:
        _require_actor("actor", request.actor)
        _require_reason(request.reason)
        ticket, _ = self._find(request.ticket_id)
        try:
            transition = decide(ticket, request.actor, request.reason, self._now_ms())
            return ticket_to_proto(self._store.advance(ticket.id, ticket.state, transition, None, 0))
        except Conflict:
            # A client whose member died before it answered asks again: what it asked for has happened, or does so now.
            ticket, _ = self._find(request.ticket_id)
            last = next((past for past in reversed(ticket.history) if past.actor != EXECUTOR), None)
            if last is None or last.actor != request.actor or last.state not in outcomes:
                raise
            return ticket_to_proto(ticket)

    def _made_with(self, idempotency_key: str) -> pb.CreateTicketReply | None:
        """A retry must not be checked again: by now the cluster may be moving because of the ticket itself."""
        views = self._store.read()
        ticket = views.ticket_by_idempotency_key(idempotency_key)
        if ticket is None:
            return None
        plan = views.plan(ticket.plan_hash)
        return pb.CreateTicketReply(ticket=ticket_to_proto(ticket), plan=plan_to_proto(plan) if plan else None)

    def _resolved(self, plan: Plan) -> Plan:
        """The plan with its originals filled in from the live cluster; raises InvalidInput or Conflict."""
        admin = self._admin_for(plan.cluster)
        try:
            topics = {move.partition.topic for move in plan.moves}
            description = admin.describe_cluster()
            resolved = resolve(
                plan,
                description,
                admin.describe_partitions(topics),
                admin.describe_log_dirs(description.brokers),
                admin.list_reassignments(),
            )
        finally:
            admin.close()
        size = sum(move_to_proto(move).ByteSize() for move in resolved.moves)
        if size > MAX_EXECUTION_BYTES:
            raise InvalidInput(
                f"the plan has {len(resolved.moves)} moves, more than one ticket holds: split it into "
                f"{-(-size // MAX_EXECUTION_BYTES)} plans"
            )
        return resolved

    def _find(self, ticket_id: str) -> tuple[Ticket, Execution | None]:
        return _lookup(self._store.read(), ticket_id)


def _lookup(views: Views, ticket_id: str) -> tuple[Ticket, Execution | None]:
    ticket = views.ticket(ticket_id)
    if ticket is None:
        raise NotFound(f"ticket {ticket_id!r} does not exist: see `guardian ticket list`")
    return ticket, views.execution(ticket_id)


def _detail(ticket: Ticket, execution: Execution | None) -> pb.TicketDetail:
    return pb.TicketDetail(
        ticket=ticket_to_proto(ticket), execution=execution_to_proto(execution) if execution else None
    )


def _require_actor(field: str, actor: str) -> None:
    if not actor or len(actor) > 128 or not actor.isprintable():
        raise InvalidInput(f"{field} is {actor!r}: give the name of a person or service, up to 128 characters")


def _require_reason(reason: str) -> None:
    if len(reason) > _MAX_REASON_CHARS:
        raise InvalidInput(f"reason has {len(reason)} characters: use up to {_MAX_REASON_CHARS}")
