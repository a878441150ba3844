"""Tickets before they are stored: what was asked for is held against the cluster, the directory and the policy."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from guardian.errors import Conflict, InvalidInput
from guardian.execution.loop.rehearsing import resolved_now, resolved_request
from guardian.execution.loop.request_facts import TopicUses
from guardian.execution.rules import labelling
from guardian.federation.store import directory_of
from guardian.kafka.admin import KafkaAdmin
from guardian.links.rules.near_reads import left_behind
from guardian.model.actor import require_claimed_name
from guardian.model.plan import Plan
from guardian.model.ticket import MAX_EXECUTION_BYTES, Ticket, TicketState, TicketTransition, key_was_used
from guardian.model.tickets.approval import DEFAULT_EXPIRES_MS, ApprovalPolicy
from guardian.model.topology import Cluster
from guardian.model.wire.operations import ask_from_proto
from guardian.model.wire.plans import move_to_proto, plan_from_proto, plan_to_proto
from guardian.model.wire.tickets import ticket_to_proto
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.identity import Role
from guardian.serving.who_asks import sees, who_asks
from guardian.tickets.kinds.registry import kind_of, kind_of_task
from guardian.tickets.kinds.requested import RequestKind
from guardian.tickets.rules import ticketing
from guardian.tickets.rules.barring import barring, why_barred, why_crowded
from guardian.tickets.rules.kind_check import clamped, of_its_kind
from guardian.tickets.rules.sequences import cut, id_in, joined, places_of
from guardian.tickets.service.asks import Asker, Asks, require_asks
from guardian.tickets.service.expansions import meeting
from protos.guardian.v1 import tickets_pb2 as pb

_MAX_EVIDENCE_CHARS = 10_000
_NEVER_EXPIRES = -1
_MAX_EXPIRES_MS = 3650 * 86_400_000


class NewTickets:
    """`admin_for` opens a new admin connection by the cluster's name; the caller closes it. `policy` reads who may
    approve, at each question; `asks` are for tickets of brokers. Brokers with `shared_labels` also hold topics without
    a label; `notes_on_reads` says what keeps consumers from reading in their own IDC on brokers of a cluster.
    `is_made_here` tells plans of this member's own planner. `uses` tells who uses topics; None: nobody knows.
    A plan whose moves take more than `max_ticket_bytes` to be stored becomes a sequence of tickets.
    """

    def __init__(
        self,
        store: ReplicatedStore,
        admin_for: Callable[[str], KafkaAdmin],
        policy: Callable[[], ApprovalPolicy],
        now_ms: Callable[[], int],
        asks: Asks | None = None,
        notes_on_reads: Callable[[Cluster | None, Collection[int]], tuple[str, ...]] = lambda _cluster, _brokers: (),
        shared_labels: Collection[str] = (),
        is_made_here: Callable[[Plan], bool] = lambda _: False,
        uses: TopicUses | None = None,
        max_ticket_bytes: int = MAX_EXECUTION_BYTES,
    ) -> None:
        self._store = store
        self._admin_for = admin_for
        self._policy = policy
        self._now_ms = now_ms
        self._asks = asks
        self._notes_on_reads = notes_on_reads
        self._shared_labels = shared_labels
        self._is_made_here = is_made_here
        self._uses = uses
        self._max_ticket_bytes = max_ticket_bytes

    def create(self, request: pb.CreateTicketRequest, asker: Asker) -> pb.CreateTicketReply:
        """Store what was asked for as a ticket, or answer with what it would be.

        Raises InvalidInput, Conflict, and Overloaded where too many plans are asked for.
        """
        throttle = asked_throttle(request)
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
            return self._ask_for(request, throttle, most, asker)
        plan = self._noted(self.resolved(plan_from_proto(request.plan)))
        parts = cut(plan, self._max_ticket_bytes, lambda move: move_to_proto(move).ByteSize())
        first, *following = self._tickets(request, parts, throttle, most)
        if not request.dry_run:
            stored = self._store.add_ticket(first, following)
            if stored.id != first.id:
                return self._made_meanwhile(request, throttle, most)
            first = stored
        return pb.CreateTicketReply(
            ticket=ticket_to_proto(first), plan=plan_to_proto(plan), following=map(ticket_to_proto, following)
        )

    def _tickets(
        self, request: pb.CreateTicketRequest, parts: Sequence[Plan], throttle: int, most: int
    ) -> Iterator[Ticket]:
        """Yield the tickets that carry the parts of a plan, one after the other; mostly one."""
        now = self._now_ms()
        state = TicketState.PENDING if request.submit else TicketState.DRAFT
        identity = who_asks()
        first = "" if request.dry_run else f"t-{secrets.token_hex(4)}"
        for plan, place in zip(parts, places_of(first, parts), strict=True):
            is_first = place is None or place.number == 1
            yield Ticket(
                id=id_in(place, first),
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
                idempotency_key=request.idempotency_key if is_first else "",
                moves=len(plan.moves),
                bytes_to_copy=plan.bytes_to_copy,
                expires_at_ms=self._expires_at_ms(request.expires_in_ms, now),
                evidence=request.evidence,
                tenants=identity.tenants_of(Role.OPERATOR, plan.cluster) if identity is not None else (),
                part=place,
            )

    def _ask_for(self, request: pb.CreateTicketRequest, throttle: int, most: int, asker: Asker) -> pb.CreateTicketReply:
        """A ticket that is more than one plan. A dry run answers with what it would do: moves, and notes."""
        asks, ask, cluster = require_asks(self._asks), ask_from_proto(request.ask), request.plan.cluster
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
            return pb.CreateTicketReply(
                ticket=ticket_to_proto(ticket), plan=plan_to_proto(asks.rehearse(ticket, asker))
            )
        stored = self._store.add_ticket(ticket)
        if stored.id != ticket.id:
            return self._made_meanwhile(request, throttle, most)
        return pb.CreateTicketReply(ticket=ticket_to_proto(stored))

    def _made_meanwhile(self, request: pb.CreateTicketRequest, throttle: int, most: int) -> pb.CreateTicketReply:
        """Answer for a key that made another ticket after it was looked for. Raises Conflict, as for one before."""
        made = self._made_with(request, throttle, most)
        if made is None:
            raise Conflict(key_was_used(request.idempotency_key))
        return made

    def _made_with(self, request: pb.CreateTicketRequest, throttle: int, most: int) -> pb.CreateTicketReply | None:
        """A retry must not be checked again: by now the cluster may be moving because of the ticket itself.

        Raises Conflict where the key made the ticket of another request.
        """
        views = self._store.read()
        ticket = views.ticket_by_idempotency_key(request.idempotency_key)
        if ticket is None:
            return None
        if not sees(ticket.cluster):
            raise Conflict(key_was_used(request.idempotency_key))
        following = [each for each in map(views.ticket, ticket.part.ids[1:] if ticket.part else ()) if each is not None]
        plans = [views.plan(each.plan_hash) for each in (ticket, *following)]
        plan = joined([each for each in plans if each is not None]) if plans[0] is not None else None
        asked = ask_from_proto(request.ask) if request.HasField("ask") else plan_from_proto(request.plan)
        why = ticketing.why_another(ticket, plan, request.author, request.plan.cluster, asked)
        why = why or ticketing.why_other_terms(ticket, throttle, most, request.expires_in_ms)
        if why:
            raise Conflict(
                f"idempotency_key {request.idempotency_key!r} made ticket {ticket.id} for another request ({why}): use "
                "a new key for each request"
            )
        return pb.CreateTicketReply(
            ticket=ticket_to_proto(ticket),
            plan=plan_to_proto(plan) if plan else None,
            following=map(ticket_to_proto, following),
        )

    def resolved(self, plan: Plan) -> Plan:
        """The plan with its originals filled in from the live cluster; raises InvalidInput or Conflict."""
        asker = who_asks()
        is_planners = asker is None or asker.may(Role.PLANNER, plan.cluster) or self._is_made_here(plan)
        admin = self._admin_for(plan.cluster)
        try:
            kind = kind_of(plan)
            if isinstance(kind, RequestKind):
                return clamped(resolved_request(admin, kind, plan, self._now_ms(), self._uses), self._now_ms())
            met = meeting(admin, self._store.read_local(), plan, self._now_ms())
            resolved = resolved_now(admin, plan, met.ours)
            self._require_allowed(resolved, admin)
            noted = replace(resolved, notes=(*resolved.notes, *met.notes))
            return clamped(of_its_kind(noted, is_planners=is_planners), self._now_ms())
        finally:
            admin.close()

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
        """Return when the ticket expires, in ms: as asked, else as the policy says. A policy that can't be read stops
        approvals, not this.
        """
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


def asked_throttle(request: pb.CreateTicketRequest | pb.PreviewTicketRequest) -> int:
    """0: none at all."""
    if not request.unthrottled:
        return ticketing.throttle_asked(request.throttle)
    if request.throttle or request.max_throttle:
        field = "throttle" if request.throttle else "max_throttle"
        raise InvalidInput(f"{field} is {getattr(request, field)} bytes/s and unthrottled is true: give one of them")
    return 0


def _require_evidence(evidence: str) -> None:
    if len(evidence) > _MAX_EVIDENCE_CHARS:
        raise InvalidInput(f"evidence has {len(evidence)} characters: use up to {_MAX_EVIDENCE_CHARS}")
