"""No RPC is carried out before it is known who asks and that he may (guardian.security.rules.permitting).

    call ─▶ who (proving) ─▶ how often (rate limits) ─▶ may he, there ─▶ the method, under his name
                                                                     └▶ the answer, cut to what he may see

Refused calls are told to `Refusals`. What stays open for long is looked at again (open_streams): who loses a role, or
whose token is revoked, is cut off within seconds.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from guardian.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn, Overloaded
from guardian.model.actor import MAX_NAME_CHARS
from guardian.model.tasks import PlanTask
from guardian.model.ticket import Ticket
from guardian.model.wire.federation import cluster_from_proto
from guardian.model.wire.tasks import task_from_proto
from guardian.replication.store.state import Views
from guardian.security.model.identity import Identity, Role
from guardian.security.rules.permitting import (
    RPCS,
    Place,
    Rule,
    Where,
    require,
    require_broker,
    require_labels,
    require_login,
    require_root,
    rule_of,
    topics_described,
)
from guardian.security.rules.rate_limiting import RateLimits
from guardian.security.service.cutting import cut
from guardian.security.service.open_streams import LOOK_AGAIN_S, replies_while
from guardian.security.service.peers import certificate_of
from guardian.security.service.proving import Prover
from guardian.security.service.refusals import Refusals, Why
from guardian.serving.errors import MethodInterceptor
from guardian.serving.sight import Sight, no_ticket
from guardian.serving.who_asks import asking, who_asks
from protos.guardian.v1 import federation_pb2, raw_pb2, tiering_pb2

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_MAX_TOPICS = 10_000
_ONLY_ROLES = (Where.PROVEN, Where.ANYWHERE, Where.EVERYWHERE)  # no place matters
_FAILURES_PER_S = 1.0
_FAILURES_AT_ONCE = 20
_APPEND = "/guardian.v1.Tiering/AppendSegmentEvents"
_STREAM = "/guardian.v1.Tiering/StreamSegmentEvents"


class Gate:
    """Who asks, and how often: the same for gRPC and HTTP. Any thread may use it."""

    def __init__(
        self,
        prover: Prover,
        refusals: Refusals,
        limits: RateLimits,
        allowed_bootstraps: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.prover = prover
        self.allowed_bootstraps = allowed_bootstraps
        self.look_again_s = LOOK_AGAIN_S
        self._refusals = refusals
        self._lock = threading.Lock()
        self._limits = limits
        self._failures = RateLimits(_FAILURES_PER_S, _FAILURES_AT_ONCE)
        self._clock = clock

    def enter(self, prove: Callable[[], Identity], what: str, address: str) -> Identity:
        """Return who asks. Raises NotSignedIn, and Overloaded for who asks, or fails to prove himself, too often.

        What is shown is proven first, so that nobody is locked out by others' failures.
        """
        try:
            identity = prove()
        except NotSignedIn as error:
            self._note_failure(error, what, address)
            raise
        if not identity.is_broker_only:  # brokers send what their clients cause, and wait for answers by themselves
            try:
                with self._lock:
                    self._limits.take(identity.name, self._clock())
            except Overloaded as error:
                self._refusals.note(Why.TOO_OFTEN, identity.name, what, "asks too often", address)
                raise error from None
        return identity

    def _note_failure(self, error: NotSignedIn, what: str, address: str) -> None:
        """Record the failure. Raises Overloaded where this credential, or an unknown one from this address, fails too
        often."""
        host = address.rpartition(":")[0] or address
        if not error.is_attempt:
            subject = f"no credential from {host}"
        else:
            subject = f"credential of {error.credential}" if error.credential else f"unknown credentials from {host}"
        with self._lock:
            has_room = self._failures.has_room(subject, self._clock())
            if has_room:
                self._failures.take(subject, self._clock())
        if has_room:
            self._refusals.note(Why.NOT_SIGNED_IN, "", what, str(error), address)
            return
        self._refusals.count(Why.HELD_UP)
        if error.is_attempt:
            wait_ms = int(1000 / _FAILURES_PER_S)
            raise Overloaded(
                f"{subject}: too many failed attempts; show a good one, or retry in {wait_ms} ms", wait_ms
            ) from None

    def note(self, kind: Why, who: str, what: str, why: str, address: str) -> None:
        """Tells of something refused for another reason."""
        self._refusals.note(kind, who, what, why, address)

    def refuse(self, identity: Identity, what: str, error: NotAllowed | NotFound, address: str) -> None:
        """Tells that he was not allowed to; he may have been told that there is no such thing."""
        self._refusals.note(Why.NOT_ALLOWED, identity.name, what, str(error), address)


class PermissionInterceptor(MethodInterceptor):
    """Comes after the interceptor that answers errors, and before the methods. `read` is this member's own store."""

    def __init__(self, gate: Gate, read: Callable[[], Views]) -> None:
        self._gate = gate
        self._read = read

    def is_let_through(self, call: grpc.HandlerCallDetails) -> bool:
        return call.method in RPCS and RPCS[call.method].where is Where.OPEN

    def wrap(self, call: grpc.HandlerCallDetails, kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        return _guarded(method, _Permission(self._gate, self._read, call.method), kind.startswith("stream"))


class _Permission:
    """Of one method."""

    def __init__(self, gate: Gate, read: Callable[[], Views], path: str) -> None:
        self._gate = gate
        self._read = read
        self._path = path

    def identity(self, context: Any) -> Identity:
        """Raises NotSignedIn and Overloaded."""
        return self._gate.enter(lambda: self._prove(context), self._path, context.peer() or "")

    @property
    def look_again_s(self) -> float:
        return self._gate.look_again_s

    def again(self, context: Any) -> Identity:
        """The same for a stream that is open already. Raises NotSignedIn."""
        identity = self._prove(context)
        try:
            require(identity, rule_of(self._path).roles, Where.ANYWHERE)
        except NotAllowed as error:
            self._gate.refuse(identity, self._path, error, context.peer() or "")
            raise
        return identity

    def check(self, identity: Identity, request: Any, context: Any) -> None:
        """May he? Then the request names him, where it names anybody. Raises NotAllowed."""
        try:
            rule = rule_of(self._path)
            places: tuple[Place, ...] = ()
            if rule.where is Where.CHANGES:
                self._check_changes(identity, request)
                return
            if rule.where not in _ONLY_ROLES and not _is_unlimited(identity, rule.roles):
                places = self._places(rule, identity, request)
            require(identity, rule.roles, rule.where, places)
            if rule.where is Where.PLAN and rule.who:
                require_labels(identity, request.plan.cluster, task_from_proto(request.plan.task))
            if rule.logs_in:
                asked, views = request.cluster, self._read()
                require_login(
                    identity,
                    cluster_from_proto(asked),
                    views.cluster(asked.name),
                    self._gate.allowed_bootstraps,
                    lambda: [cluster.name for cluster in views.clusters()],
                )
            if rule.broker:
                require_broker(identity, _field(request, rule.broker), self._places(rule, identity, request))
        except (NotAllowed, NotFound) as error:
            self._gate.refuse(identity, self._path, error, context.peer() or "")
            raise
        if rule.who:
            setattr(request, rule.who, identity.name)

    def cut(self, identity: Identity, request: Any, reply: Any) -> Any:
        """Return what he may be shown of the answer; None: nothing. Raises NotFound for what is of one cluster only."""
        sight = Sight(identity, self._read)
        if not rule_of(self._path).is_cut or sight.is_whole or not isinstance(reply, Message):
            return reply
        return cut(reply, request, sight)

    def _prove(self, context: Any) -> Identity:
        facts = certificate_of(context.auth_context() or {})
        return self._gate.prover.of_call(context.invocation_metadata() or (), facts)

    def _places(self, rule: Rule, identity: Identity, request: Any) -> tuple[Place, ...]:
        """Return where the role must be held. Whose topics it is about is found out only for who is limited to
        tenants.
        """
        match rule.where:
            case Where.CLUSTER:
                return (Place(_field(request, rule.field)),)
            case Where.CLUSTERS:
                named = _field(request, rule.field)
                names = [named] if isinstance(named, str) else list(named)
                return tuple(Place(name) for name in names if name)
            case Where.KAFKA_CLUSTERS:
                return self._kafka_places(request)
            case Where.TICKET:
                return (self._of_ticket(rule, identity, request.ticket_id),)
            case Where.PLAN:
                if getattr(request, "ticket_id", ""):
                    return (self._of_ticket(rule, identity, request.ticket_id),)
                plan, is_asked = request.plan, "ask" in request.DESCRIPTOR.fields_by_name and request.HasField("ask")
                moved, task = {move.topic for move in plan.moves}, task_from_proto(plan.task)
                tenants = partial(_tenants_of, self._read(), plan.cluster, None if is_asked else moved, task)
                return (self._place(rule, identity, plan.cluster, tenants),)
        raise NotAllowed(f"{self._path} has a rule that nobody understands, so that nobody may call it")

    def _of_ticket(self, rule: Rule, identity: Identity, ticket_id: str) -> Place:
        views = self._read()
        ticket = views.ticket(ticket_id)
        if ticket is None or not identity.sees(ticket.cluster):
            require(identity, rule.roles, Where.ANYWHERE)
            raise no_ticket(ticket_id)
        return self._place(rule, identity, ticket.cluster, partial(tenants_of_ticket, views, ticket))

    def _place(
        self,
        rule: Rule,
        identity: Identity,
        cluster: str,
        tenants: Callable[[], frozenset[str] | None],
    ) -> Place:
        if rule.roles == (Role.VIEWER,) or not any(identity.may_for_some(role, cluster) for role in rule.roles):
            return Place(cluster)
        return Place(cluster, tenants())

    def _kafka_places(self, request: Any) -> tuple[Place, ...]:
        views = self._read()
        places = []
        for cluster_id in kafka_clusters_in(self._path, request):
            cluster = views.cluster_by_id(cluster_id) if cluster_id else None
            said = f"with Kafka's id {cluster_id[:MAX_NAME_CHARS]!r}" if cluster_id else ""
            places.append(Place(cluster.name if cluster is not None else "", said=said))
        return tuple(places)

    def _check_changes(self, identity: Identity, request: federation_pb2.ChangeFederationRequest) -> None:
        require(identity, (Role.OPERATOR,), Where.ANYWHERE)
        for change in request.changes:
            role, place = self._of_change(change)
            if _is_of_document(change):
                require_root(identity)
            elif place is None:
                require(identity, (role,), Where.EVERYWHERE)
            else:
                require(identity, (role,), Where.CLUSTER, (place,))

    def _of_change(self, change: federation_pb2.FederationChange) -> tuple[Role, Place | None]:
        """Topics and exclusions are an operator's of the cluster, and a topic's both tenants', the old and the new one;
        machines, tenants and policies belong to no cluster."""
        is_put = change.WhichOneof("change") == "put"
        kind = change.put.WhichOneof("entry") if is_put else change.drop.WhichOneof("key")
        named = getattr(change.put if is_put else change.drop, kind) if kind else None
        if isinstance(named, federation_pb2.Exclusion | federation_pb2.ExclusionKey):
            return Role.OPERATOR, Place(named.cluster)
        if isinstance(named, federation_pb2.Topic | federation_pb2.TopicKey):
            tenants = tenants_of_topics(self._read(), named.cluster, {named.name}) or frozenset()
            if isinstance(named, federation_pb2.Topic):
                # A topic of which nothing was known becomes the tenant's own.
                tenants = (tenants - {""}) | {named.tenant}
            return Role.OPERATOR, Place(named.cluster, tenants)
        return Role.ADMIN, None


def _is_of_document(change: federation_pb2.FederationChange) -> bool:
    return change.put.HasField("document") or change.drop.HasField("document")


def why_no_approver(views: Views, ticket: Ticket) -> str:
    """Return why the caller's roles do not let him approve the ticket, in one sentence; empty: they do."""
    identity = who_asks()
    if identity is None or identity.may(Role.APPROVER):
        return ""
    tenants = tenants_of_ticket(views, ticket) if identity.may_for_some(Role.APPROVER, ticket.cluster) else None
    try:
        require(identity, (Role.APPROVER,), Where.TICKET, (Place(ticket.cluster, tenants),))
    except NotAllowed as error:
        return str(error)
    return ""


def tenants_of_ticket(views: Views, ticket: Ticket) -> frozenset[str] | None:
    """Return whose topics the ticket's plan moves or describes; None: it is not known, or not of tenants. Of a sequence
    those of all its parts: what is done to one concerns the others."""
    plan = views.plan(ticket.plan_hash) if ticket.plan_hash and ticket.ask is None else None
    if plan is None:
        return _tenants_of(views, ticket.cluster, None, None)
    others = (views.ticket(each) for each in (ticket.part.ids if ticket.part is not None else ()) if each != ticket.id)
    plans = [plan, *(views.plan(each.plan_hash) for each in others if each is not None)]
    moved = {move.partition.topic for each in plans if each is not None for move in each.moves}
    return _tenants_of(views, ticket.cluster, moved, plan.task)


def tenants_of_topics(views: Views, cluster: str, topics: Iterable[str]) -> frozenset[str] | None:
    """Return the tenants of the topics; "" among them: of some it is not known. None: there are too many to find
    out.
    """
    names = set(topics)
    if len(names) > _MAX_TOPICS or not cluster:
        return None
    found = set()
    for name in names:
        entries, _ = views.federation_page(federation_pb2.TOPICS, cluster, name, b"", 1, 1 << 20)
        found.add(entries[0].topic.tenant if entries else "")
    return frozenset(found)


def kafka_clusters_in(path: str, request: Any) -> frozenset[str]:
    """Kafka's ids of the clusters that a request is about; "" among them: all. Raises InvalidInput."""
    if isinstance(request, bytes):
        try:
            return frozenset(_ids_in_append(path, request))
        except DecodeError:
            raise InvalidInput(f"the message is no request of {path}: send one") from None
    return frozenset(_ids_in(request))


def _ids_in_append(path: str, raw: bytes) -> Iterator[str]:
    if path == _STREAM:
        raw = raw_pb2.RawStreamRequest.FromString(raw).append
    elif path != _APPEND:
        raise DecodeError
    for part in raw_pb2.RawAppendRequest.FromString(raw).partitions:
        named = raw_pb2.RawPartitionEvents.FromString(part).partition
        yield tiering_pb2.TopicIdPartition.FromString(named).cluster_id


def _ids_in(message: Message) -> Iterator[str]:
    """The ids, at any depth: messages of these services are shallow."""
    for field in message.DESCRIPTOR.fields:
        if field.name == "cluster_id":
            yield getattr(message, field.name)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            value = getattr(message, field.name)
            for each in (value,) if isinstance(value, Message) else value:
                if not isinstance(value, Message) or message.HasField(field.name):
                    yield from _ids_in(each)


def _tenants_of(
    views: Views, cluster: str, moved: Collection[str] | None, task: PlanTask | None
) -> frozenset[str] | None:
    """Return whose topics are moved, or get a label or an IDC policy; None: it is not known, or not of tenants. `moved`
    is None where it is more than a plan, or the plan is not there."""
    described, tenants = topics_described(task)
    if moved is None or described is None or not (moved or described or tenants):
        return None
    known = tenants_of_topics(views, cluster, {*moved, *described})
    return known | tenants if known is not None else None


def _is_unlimited(identity: Identity, roles: tuple[Role, ...]) -> bool:
    return any(identity.may(role) for role in roles)


def _field(request: Any, path: str) -> Any:
    value = request
    for name in path.split("."):
        value = getattr(value, name)
    return value


class _Again:
    """Remember when a stream's right was proven last. `request` began it; None: requests are a stream themselves."""

    def __init__(self, permission: _Permission, context: Any, identity: Identity, request: Any = None) -> None:
        self._permission = permission
        self._context = context
        self._request = request
        self._at_s = time.monotonic()
        self.identity = identity

    def look(self) -> Identity:
        """Return who asks, by a look that is not too old. Raises NotSignedIn and NotAllowed."""
        return self.renew() if time.monotonic() - self._at_s >= self._permission.look_again_s else self.identity

    def renew(self) -> Identity:
        """Return who asks now, and may still ask for it. Raises NotSignedIn and NotAllowed."""
        self.identity = self._permission.again(self._context)
        if self._request is not None:
            self._permission.check(self.identity, self._request, self._context)
        self._at_s = time.monotonic()
        return self.identity


def _guarded(method: Callable[..., Any], permission: _Permission, is_request_stream: bool) -> Callable[..., Any]:
    """The same kind of function: gRPC looks at it to know how to call it."""
    if inspect.isasyncgenfunction(method):
        return _guarded_stream(method, permission, is_request_stream)
    if inspect.iscoroutinefunction(method):
        return _guarded_coroutine(method, permission, is_request_stream)
    return _guarded_call(method, permission)


def _guarded_call(method: Callable[..., Any], permission: _Permission) -> Callable[..., Any]:
    def call(request: Any, context: Any) -> Any:
        identity = permission.identity(context)
        permission.check(identity, request, context)
        asked = asking.set(identity)
        try:
            return permission.cut(identity, request, method(request, context))
        finally:
            asking.reset(asked)

    return call


def _guarded_coroutine(
    method: Callable[..., Awaitable[Any]], permission: _Permission, is_request_stream: bool
) -> Callable[..., Any]:
    async def call(request: Any, context: Any) -> Any:
        identity = permission.identity(context)
        asked = _checked(request, permission, context, identity, is_request_stream)
        asking.set(identity)  # of this call's own task
        return permission.cut(identity, asked, await method(asked, context))

    return call


def _guarded_stream(
    method: Callable[..., AsyncIterator[Any]], permission: _Permission, is_request_stream: bool
) -> Callable[..., Any]:
    async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
        identity = permission.identity(context)
        asked = _checked(request, permission, context, identity, is_request_stream)
        again = _Again(permission, context, identity, None if is_request_stream else request)
        asking.set(identity)
        async for reply in replies_while(method(asked, context), again.renew, permission.look_again_s):
            seen = permission.cut(again.look(), asked, reply)
            if seen is not None:
                yield seen

    return stream


def _checked(request: Any, permission: _Permission, context: Any, identity: Identity, is_request_stream: bool) -> Any:
    """The request, or the stream of them, each of which is checked when it comes."""
    if is_request_stream:
        permission.again(context)
        return _checked_requests(request, permission, context, identity)
    permission.check(identity, request, context)
    return request


async def _checked_requests(
    requests: AsyncIterator[Any], permission: _Permission, context: Any, identity: Identity
) -> AsyncIterator[Any]:
    again = _Again(permission, context, identity)
    async for request in requests:
        permission.check(again.look(), request, context)
        yield request
