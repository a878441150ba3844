"""The Tickets service: plans are checked against the live cluster, then carried through approval."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

import grpc
import grpc.aio

from guardian.core import foreign, labelling, previewing, rolling_back, ticketing
from guardian.core.adapting import Around
from guardian.core.barring import barring, why_barred, why_crowded
from guardian.core.describing_tasks import asks_of
from guardian.core.effects import ConfigKey
from guardian.core.executing import Circumstances, Step, begin, brokers_of, step, tiered_topics
from guardian.core.kind_check import clamped, of_its_kind
from guardian.core.kinds.registry import kind_of, kind_of_task, lowest_rates
from guardian.core.kinds.requested import RequestKind
from guardian.core.near_reads import left_behind
from guardian.core.operations.step import amended, why_unapproved
from guardian.core.operations.step import begin as begin_operation
from guardian.core.operations.turn import named
from guardian.core.progressing import progress
from guardian.core.slots import ExecutionLimits
from guardian.errors import Conflict, InvalidInput, NotFound, Unavailable
from guardian.executor.admitting import Job
from guardian.executor.foretelling import Outlook, foretold
from guardian.executor.observing import observe_known, scope_of
from guardian.executor.rehearsing import resolved_now, resolved_request
from guardian.executor.replanning import why_not_anew
from guardian.executor.request_facts import TopicUses
from guardian.kafka.admin import KafkaAdmin
from guardian.model.actor import Agent, require_claimed_name
from guardian.model.approval import DEFAULT_EXPIRES_MS, ApprovalPolicy
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution
from guardian.model.identity import Role
from guardian.model.operation import Ask
from guardian.model.plan import Plan
from guardian.model.preview import Preview
from guardian.model.throttle import MAX_THROTTLE, MIN_THROTTLE
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster
from guardian.server.asks import Asks
from guardian.server.async_store import AsyncStore
from guardian.server.directory import directory_of, exclusions_of
from guardian.server.store import MAX_EXECUTION_BYTES, ReplicatedStore
from guardian.server.who_asks import who_asks
from guardian.wire.approvals import approvals_to_proto
from guardian.wire.operations import ask_from_proto
from guardian.wire.plans import move_to_proto, plan_from_proto, plan_to_proto
from guardian.wire.previews import preview_to_proto, progress_to_proto
from guardian.wire.tickets import execution_to_proto, ticket_state_from_proto, ticket_to_proto
from metastore.changes import Changes
from metastore.views import Views
from protos.guardian.v1 import tickets_pb2 as pb
from protos.guardian.v1 import tickets_pb2_grpc

_MAX_EVIDENCE_CHARS = 10_000
_ATTEMPTS = 5  # against an executor that saves its execution at the same time
_NEVER_EXPIRES = -1
_MAX_EXPIRES_MS = 3650 * 86_400_000
_WATCH_PAUSE_S = 0.05  # between two looks of one watcher, however much is written

# (ticket, actor, reason, now in ms) -> the transition, or raises Conflict or InvalidInput
_Decision = Callable[[Ticket, str, str, int], TicketTransition]


class TicketsServicer(tickets_pb2_grpc.TicketsServicer):
    """`admin_for` opens a new admin connection by the cluster's name; the caller closes it. `policy` reads who may
    approve, at each question; `limits` are those of the executor, for previews. `asks` are for tickets of brokers.
    Brokers with `shared_labels` also hold topics without a label; `notes_on_reads` says what keeps consumers from
    reading in their own IDC on brokers of a cluster. `around` is what is known of a cluster before anybody asked its
    brokers how they are, `tiered_warm_up_s` and `max_plan_age_s` the executor's: for previews too. `is_made_here` tells
    plans of this member's own planner. `uses` tells who uses topics; None: nobody knows.

    Made on the server's event loop. Watching runs there and holds no thread; all else runs in the server's threads.
    """

    def __init__(
        self,
        store: ReplicatedStore,
        async_store: AsyncStore,
        changes: Changes,
        admin_for: Callable[[str], KafkaAdmin],
        policy: Callable[[], ApprovalPolicy],
        now_ms: Callable[[], int],
        limits: ExecutionLimits | None = None,
        asks: Asks | None = None,
        notes_on_reads: Callable[[Cluster | None, Collection[int]], tuple[str, ...]] = lambda _cluster, _brokers: (),
        shared_labels: Collection[str] = (),
        around: Callable[[str], Around | None] = lambda _: None,
        tiered_warm_up_s: float = 0.0,
        max_plan_age_s: float = 0.0,
        is_made_here: Callable[[Plan], bool] = lambda _: False,
        uses: TopicUses | None = None,
    ) -> None:
        self._uses = uses
        self._store = store
        self._async_store = async_store
        self._changes = changes
        self._admin_for = admin_for
        self._policy = policy
        self._now_ms = now_ms
        self._limits = limits or ExecutionLimits()
        self._asks = asks
        self._notes_on_reads = notes_on_reads
        self._shared_labels = shared_labels
        self._around = around
        self._tiered_warm_up_s = tiered_warm_up_s
        self._max_plan_age_ms = int(max_plan_age_s * 1000)
        self._is_made_here = is_made_here

    def GetPlan(self, request: pb.GetPlanRequest, context: grpc.ServicerContext) -> pb.GetPlanReply:
        plan = self._store.read().plan(request.plan_hash)
        if plan is None:
            raise NotFound(f"plan {request.plan_hash!r} is not stored")
        return pb.GetPlanReply(plan=plan_to_proto(plan))

    def CreateTicket(self, request: pb.CreateTicketRequest, context: grpc.ServicerContext) -> pb.CreateTicketReply:
        throttle = _asked_throttle(request)
        request.author = require_claimed_name("author", request.author)
        ticketing.require_reason(request.reason)
        _require_evidence(request.evidence)
        if not request.idempotency_key:
            raise InvalidInput("idempotency_key is empty: give a value that is unique to this request")
        most = ticketing.max_throttle_asked(request.max_throttle, throttle)
        made = self._made_with(request, throttle, most)
        if made is not None:
            return made
        if request.HasField("ask"):
            return self._ask_for(request, throttle, most)
        now = self._now_ms()
        plan = self._noted(self._resolved(plan_from_proto(request.plan)))
        state = TicketState.PENDING if request.submit else TicketState.DRAFT
        asker = who_asks()
        ticket = Ticket(
            id="" if request.dry_run else f"t-{secrets.token_hex(4)}",
            cluster=plan.cluster,
            kind=plan.kind,
            state=state,
            author=request.author,
            plan_hash="" if request.dry_run else self._store.put_plan(plan),
            throttle=throttle,
            max_throttle=most,
            created_at_ms=now,
            updated_at_ms=now,
            history=(TicketTransition(state, now, request.author, request.reason or "created"),),
            idempotency_key=request.idempotency_key,
            moves=len(plan.moves),
            bytes_to_copy=plan.bytes_to_copy,
            expires_at_ms=self._expires_at_ms(request.expires_in_ms, now),
            evidence=request.evidence,
            tenants=asker.tenants_of(Role.OPERATOR, plan.cluster) if asker is not None else (),
        )
        if not request.dry_run:
            ticket = self._store.add_ticket(ticket)
        return pb.CreateTicketReply(ticket=ticket_to_proto(ticket), plan=plan_to_proto(plan))

    def _ask_for(self, request: pb.CreateTicketRequest, throttle: int, most: int) -> pb.CreateTicketReply:
        """A ticket that is more than one plan. A dry run answers with what it would do: moves, and notes."""
        asks, ask, cluster = self._require_asks(), ask_from_proto(request.ask), request.plan.cluster
        asks.check(cluster, ask)
        state = TicketState.PENDING if request.submit else TicketState.DRAFT
        now = self._now_ms()
        ticket = Ticket(
            id="" if request.dry_run else f"t-{secrets.token_hex(4)}",
            cluster=cluster,
            kind=ask.kind.value,
            state=state,
            author=request.author,
            plan_hash="",
            throttle=throttle,
            max_throttle=most,
            created_at_ms=now,
            updated_at_ms=now,
            history=(TicketTransition(state, now, request.author, request.reason or "created"),),
            idempotency_key=request.idempotency_key,
            expires_at_ms=self._expires_at_ms(request.expires_in_ms, now),
            evidence=request.evidence,
            ask=ask,
        )
        if request.dry_run:
            return pb.CreateTicketReply(ticket=ticket_to_proto(ticket), plan=plan_to_proto(asks.rehearse(ticket)))
        return pb.CreateTicketReply(ticket=ticket_to_proto(self._store.add_ticket(ticket)))

    def _require_asks(self) -> Asks:
        if self._asks is None:
            raise Unavailable("this member plans nothing by itself: ask another one")
        return self._asks

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
        amended = self._require_asks().amend(ticket, execution, *wanted, request.actor, request.reason)
        return ticket_to_proto(amended)

    def SubmitTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        return self._act(request, ticketing.submit, frozenset({TicketState.PENDING}))

    def ApproveTicket(self, request: pb.TicketActionRequest, context: grpc.ServicerContext) -> pb.Ticket:
        approve = partial(ticketing.approve, policy=self._policy())
        return self._act(request, approve, frozenset({TicketState.APPROVED}))

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
            reason = f"throttle {ticket.throttle} -> {throttle} bytes/s"
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
        roll_back = partial(ticketing.roll_back, policy=self._policy())
        if rolling_back.is_rollable(ticket.state) and request.actor:
            roll_back(ticket, request.actor, request.reason, self._now_ms())  # who may not need not ask the cluster
            self._require_way_back(ticket, execution)
        return self._act(request, roll_back, frozenset({TicketState.ROLLING_BACK}))

    def PreviewTicket(self, request: pb.PreviewTicketRequest, context: grpc.ServicerContext) -> pb.PreviewTicketReply:
        if request.ticket_id:
            ticket, execution = self._find(request.ticket_id)
            if request.HasField("amended"):
                return preview_to_proto(self._previewed_amendment(ticket, execution, ask_from_proto(request.amended)))
            plan = self._store.read_local().plan(ticket.plan_hash) if ticket.plan_hash else None
            asks = asks_of(plan) if plan is not None else ()
            return preview_to_proto(replace(self._preview(ticket, execution), asks=asks))
        throttle = _asked_throttle(request)
        most = ticketing.max_throttle_asked(request.max_throttle, throttle)
        plan = self._resolved(plan_from_proto(request.plan))
        ticket = Ticket("", plan.cluster, plan.kind, TicketState.APPROVED, "", "", throttle, 0, 0, max_throttle=most)
        return preview_to_proto(replace(self._preview(ticket, None, plan), asks=asks_of(plan)))

    def _previewed_amendment(self, ticket: Ticket, execution: Execution | None, ask: Ask) -> Preview:
        """Raises where the ticket can't ask for these brokers and controllers; who may amend it is another question."""
        self._require_asks().check(ticket.cluster, amended(ticket, execution, ask.brokers, ask.controllers))
        return Preview((), f"it would ask for {named((*ask.brokers, *ask.controllers))}")

    def GetApprovals(self, request: pb.GetApprovalsRequest, context: grpc.ServicerContext) -> pb.Approvals:
        return approvals_to_proto(self._policy())

    def GetTicket(self, request: pb.GetTicketRequest, context: grpc.ServicerContext) -> pb.TicketDetail:
        return _detail(*self._find(request.ticket_id))

    def ListTickets(self, request: pb.ListTicketsRequest, context: grpc.ServicerContext) -> pb.ListTicketsReply:
        views = self._store.read()
        states = [ticket_state_from_proto(state) for state in request.states]
        tickets = views.tickets(
            request.cluster or None,
            kind=request.kind or None,
            states=states,
            after=request.page_token,
            limit=request.page_size or None,
        )
        driven = [ticket for ticket in tickets if ticket.state.is_driven]
        now = self._now_ms()
        return pb.ListTicketsReply(
            tickets=[ticket_to_proto(ticket) for ticket in tickets],
            progress=[
                progress_to_proto(ticket.id, progress(ticket, views.execution(ticket.id), now)) for ticket in driven
            ],
            next_page_token=tickets[-1].id if tickets and len(tickets) == request.page_size else "",
        )

    async def WatchTicket(
        self, request: pb.GetTicketRequest, context: grpc.aio.ServicerContext[pb.GetTicketRequest, pb.TicketDetail]
    ) -> AsyncIterator[pb.TicketDetail]:
        with self._changes.of_others() as has_changed:
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

    def _act(self, request: pb.TicketActionRequest, decide: _Decision, outcomes: frozenset[TicketState]) -> pb.Ticket:
        request.actor = require_claimed_name("actor", request.actor)
        ticketing.require_reason(request.reason)
        ticket, _ = self._find(request.ticket_id)
        try:
            transition = decide(ticket, request.actor, request.reason, self._now_ms())
            seen = None
            if request.HasField("expected_ask_revision"):
                seen = request.expected_ask_revision
            elif transition.state is TicketState.APPROVED and ticket.ask is not None:
                seen = ticket.ask.revision
            return ticket_to_proto(self._store.advance(ticket.id, ticket.state, transition, None, 0, seen))
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
        """What to do about other tools' work: stored with the execution, which the executor may be changing now."""
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
        for other in views.open_tickets(ticket.cluster):
            begun = views.execution(other.id) if other.state.is_driven and other.id != ticket.id else None
            held |= dict.fromkeys(brokers_of(begun) if begun is not None else (), other.id)
        why = foreign.why_not_adopted(execution, held)
        if why:
            raise Conflict(f"ticket {ticket.id} can't adopt what another tool moves: {why}; wait for it, or cancel it")

    def _made_with(self, request: pb.CreateTicketRequest, throttle: int, most: int) -> pb.CreateTicketReply | None:
        """A retry must not be checked again: by now the cluster may be moving because of the ticket itself.

        Raises Conflict where the key made the ticket of another request.
        """
        views = self._store.read()
        ticket = views.ticket_by_idempotency_key(request.idempotency_key)
        if ticket is None:
            return None
        plan = views.plan(ticket.plan_hash)
        asked = ask_from_proto(request.ask) if request.HasField("ask") else plan_from_proto(request.plan)
        why = ticketing.why_another(ticket, plan, request.author, asked)
        why = why or ticketing.why_other_terms(ticket, throttle, most, request.expires_in_ms)
        if why:
            raise Conflict(
                f"idempotency_key {request.idempotency_key!r} made ticket {ticket.id} for another request ({why}): use "
                "a new key for each request"
            )
        return pb.CreateTicketReply(ticket=ticket_to_proto(ticket), plan=plan_to_proto(plan) if plan else None)

    def _resolved(self, plan: Plan) -> Plan:
        """The plan with its originals filled in from the live cluster; raises InvalidInput or Conflict."""
        asker = who_asks()
        is_planners = asker is None or asker.may(Role.PLANNER, plan.cluster) or self._is_made_here(plan)
        admin = self._admin_for(plan.cluster)
        try:
            kind = kind_of(plan)
            if isinstance(kind, RequestKind):
                return clamped(resolved_request(admin, kind, plan, self._now_ms(), self._uses), self._now_ms())
            resolved = resolved_now(admin, plan)
            self._require_allowed(resolved, admin)
            resolved = clamped(of_its_kind(resolved, is_planners=is_planners), self._now_ms())
        finally:
            admin.close()
        size = sum(move_to_proto(move).ByteSize() for move in resolved.moves)
        if size > MAX_EXECUTION_BYTES:
            raise InvalidInput(
                f"the plan has {len(resolved.moves)} moves, more than one ticket holds: split it into "
                f"{-(-size // MAX_EXECUTION_BYTES)} plans"
            )
        return resolved

    def _noted(self, plan: Plan) -> Plan:
        """A migration is done when replicas stand there; whether consumers read from them is said beside it."""
        if not kind_of_task(plan.task).tells_reads:
            return plan
        brokers = {broker for move in plan.moves for broker in move.target_brokers}
        cluster = self._store.read_local().cluster(plan.cluster)
        notes = self._notes_on_reads(cluster, brokers)
        notes += left_behind(plan.moves, cluster.brokers if cluster else ())
        return replace(plan, notes=(*plan.notes, *(note for note in notes if note not in plan.notes)))

    def _require_allowed(self, plan: Plan, admin: KafkaAdmin) -> None:
        """Raises InvalidInput when the plan breaks what people have said, or leaves what it means to take away."""
        directory = directory_of(self._store.read_local(), None).of_cluster(plan.cluster)
        brokers = admin.describe_cluster().brokers
        racks = {broker: node.rack for broker, node in brokers.items()}
        bars = barring(plan, directory, self._shared_labels, self._now_ms())
        why = why_barred(plan, bars) or why_crowded(plan, bars, directory, racks)
        if not why and labelling.leaving(plan, plan.moves):
            partitions = {each: state.replicas for each, state in admin.describe_partitions().items()}
            why = labelling.why_not_emptied(plan, partitions, brokers)
        if why:
            raise InvalidInput(why)

    def _expires_at_ms(self, expires_in_ms: int, now_ms: int) -> int:
        """As asked, else as the policy says; a policy that can't be read stops approvals, not this."""
        if expires_in_ms == _NEVER_EXPIRES:
            return 0
        if not 0 <= expires_in_ms <= _MAX_EXPIRES_MS:
            raise InvalidInput(
                f"expires_in_ms is {expires_in_ms}: use 1 to {_MAX_EXPIRES_MS}, 0 for the policy's, or -1 for never"
            )
        try:
            lasts_ms = expires_in_ms or self._policy().expires_ms
        except InvalidInput:
            lasts_ms = DEFAULT_EXPIRES_MS
        return now_ms + lasts_ms if lasts_ms else 0

    def _require_way_back(self, ticket: Ticket, execution: Execution | None) -> None:
        """Raises Conflict where the cluster has no room for what would go back; ClusterUnavailable."""
        kind = kind_of(ticket)
        if isinstance(kind, RequestKind) and kind.can_roll_back and execution is not None:
            return
        admin = self._admin_for(ticket.cluster)
        try:
            alive = frozenset(admin.describe_cluster().brokers)
        finally:
            admin.close()
        now = self._now_ms()
        excluded = exclusions_of(self._store.read_local(), ticket.cluster)
        barred = frozenset(id for id, each in excluded.items() if not each.until_ms or now < each.until_ms)
        rolling_back.require_way_back(ticket, execution, alive, barred)

    def _preview(self, ticket: Ticket, execution: Execution | None, plan: Plan | None = None) -> Preview:
        """Of what is to come; of a ticket that is over, of its way back, refused as that would be."""
        if rolling_back.is_rollable(ticket.state):
            self._require_way_back(ticket, execution)
            if ticket.ask is not None:
                return Preview((), "it would be taken back: leaders, exclusions and moves")
        if not previewing.is_moves_only(ticket):
            what = f"ticket {ticket.id} ({ticket.kind})" if ticket.id else f"a plan of kind {ticket.kind}"
            raise Conflict(
                f"{what} is more than moves: `guardian ticket show`, or its command's --dry-run, tells what it does"
            )
        state = ticket.state
        if state.is_over:
            if execution is None or not rolling_back.is_rollable(state):
                raise Conflict(f"ticket {ticket.id} is {state.name}: nothing would be sent")
            state = TicketState.ROLLING_BACK
        elif not state.is_driven:
            state = TicketState.APPROVED
        work = execution or plan or self._plan(ticket)
        admin = self._admin_for(ticket.cluster)
        try:
            scope = scope_of(work, back=state is TicketState.ROLLING_BACK)
            observation = observe_known(admin, scope, self._now_ms())
        finally:
            admin.close()
        begun = (
            begin(ticket, work, tiered_topics(observation), self._tiered_warm_up_s) if isinstance(work, Plan) else work
        )
        meets = replace(
            ticket,
            state=state,
            updated_at_ms=self._now_ms() if ticket.state.is_over else ticket.updated_at_ms,
            expires_at_ms=0 if ticket.state is TicketState.DRAFT else ticket.expires_at_ms,
        )
        first = foretold(meets, work, begun, self._outlook(meets, work, observation))
        around = self._around(ticket.cluster)
        move = partial(
            _step,
            limits=self._limits,
            ticket=ticket,
            around=around,
            standing=self._standing_rates(ticket.cluster),
            since_ms=observation.observed_at_ms if ticket.state.is_over else ticket.updated_at_ms,
        )
        found = replace(previewing.preview(state, begun, observation, move), first=first)
        if around is None or not around.settings.adaptive or not previewing.has_rates(found):
            return found
        return replace(found, remark=f"{found.remark}; {previewing.ADAPTS}")

    def _outlook(self, ticket: Ticket, work: Execution | Plan, observation: ClusterObservation) -> Outlook:
        views, now = self._store.read_local(), self._now_ms()
        driven = [each for each in views.driven_tickets() if each.cluster == ticket.cluster]
        jobs = [Job(each, found) for each in driven if (found := self._work(views, each)) is not None]
        barred = anew = ""
        if isinstance(work, Plan):
            directory = directory_of(views, None)
            bars = barring(work, directory.of_cluster(work.cluster), self._shared_labels, now)
            barred, anew = why_barred(work, bars), why_not_anew(work, directory)
        protected = frozenset(map(ConfigKey.of, views.protection(ticket.cluster).intents))
        return Outlook(jobs, observation, barred, anew, self._max_plan_age_ms, now, protected)

    def _work(self, views: Views, ticket: Ticket) -> Execution | Plan | None:
        """As the driver has it; None where its plan is not stored."""
        execution = views.execution(ticket.id)
        if execution is not None:
            return execution
        return begin_operation(ticket, self._now_ms()) if ticket.ask else views.plan(ticket.plan_hash)

    def _standing_rates(self, cluster: str) -> dict[int, int]:
        """As the executor finds them."""
        views = self._store.read_local()
        limiting = [each for each in views.open_tickets(cluster) if kind_of(each).limits_rates]
        plans = [views.plan(each.plan_hash) for each in limiting if each.state is TicketState.RUNNING]
        return lowest_rates(plan for plan in plans if plan is not None)

    def _plan(self, ticket: Ticket) -> Plan:
        plan = self._store.read_local().plan(ticket.plan_hash)
        if plan is None:
            raise Conflict(f"plan {ticket.plan_hash!r} of ticket {ticket.id} is not stored: nothing can be shown")
        return plan

    def _find(self, ticket_id: str) -> tuple[Ticket, Execution | None]:
        return _lookup(self._store.read(), ticket_id)


def _step(
    state: TicketState,
    execution: Execution,
    observation: ClusterObservation,
    now_ms: int,
    *,
    limits: ExecutionLimits,
    ticket: Ticket,
    around: Around | None,
    standing: Mapping[int, int],
    since_ms: int,
) -> Step:
    return step(
        state,
        execution,
        observation,
        limits,
        ticket.throttle,
        now_ms,
        Circumstances(around=around, max_throttle=ticket.max_throttle, standing=standing, since_ms=since_ms),
    )


def _asked_throttle(request: pb.CreateTicketRequest | pb.PreviewTicketRequest) -> int:
    """0: none at all."""
    if not request.unthrottled:
        return ticketing.throttle_asked(request.throttle)
    if request.throttle or request.max_throttle:
        field = "throttle" if request.throttle else "max_throttle"
        raise InvalidInput(f"{field} is {getattr(request, field)} bytes/s and unthrottled is true: give one of them")
    return 0


def _lookup(views: Views, ticket_id: str) -> tuple[Ticket, Execution | None]:
    ticket = views.ticket(ticket_id)
    if ticket is None:
        raise NotFound(f"ticket {ticket_id!r} does not exist: see `guardian ticket list`")
    return ticket, views.execution(ticket_id)


def _detail(ticket: Ticket, execution: Execution | None) -> pb.TicketDetail:
    return pb.TicketDetail(
        ticket=ticket_to_proto(ticket), execution=execution_to_proto(execution) if execution else None
    )


def _require_evidence(evidence: str) -> None:
    if len(evidence) > _MAX_EVIDENCE_CHARS:
        raise InvalidInput(f"evidence has {len(evidence)} characters: use up to {_MAX_EVIDENCE_CHARS}")
