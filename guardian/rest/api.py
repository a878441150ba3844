"""Guardian's own API under /api/v1: what the CLI shows and does, for programs (docs/rest.md).

Answers are the protobuf messages of the gRPC API as JSON, so that `-o json`, this API and a program in another language
that speaks gRPC see the same names. Errors are application/problem+json. Handlers are synchronous and run in the pool
of threads of the web application, but for those that make a plan. These wait for a job of the desk, without a thread.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from functools import partial
from itertools import takewhile
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from guardian.client import GuardianClient
from guardian.client.tickets import TicketOptions, TicketPage
from guardian.errors import InvalidInput, NotFound
from guardian.model.directory import Directory
from guardian.model.event import EventKind
from guardian.model.links import LinkSettings
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Cluster
from guardian.model.wire.entries import directory_of_entries
from guardian.model.wire.events import event_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.previews import preview_to_proto, progress_to_proto
from guardian.model.wire.tickets import execution_to_proto, ticket_to_proto
from guardian.planning.making import Known, make_plan
from guardian.planning.model import Lane
from guardian.planning.orders import CreateTopicOrder, IsolateOrder, MigrateIdcOrder, PlanOrder
from guardian.rest.bodies import FaultBody, PlanBody, PreviewBody, TicketBody
from guardian.rest.forwarded import FORWARDED
from guardian.rest.forwarding import MAX_LIMIT, Forwarded, forward
from guardian.rest.openapi import api_document
from guardian.rest.parts import Job, RestParts, actor_of, host_of, person_of, require_role, settled
from guardian.rest.problems import PROBLEM, ProblemRoute, problem
from guardian.rest.schemas import (
    as_dict,
    message_of,
    plan_as_dict,
    reference,
)
from guardian.rest.streams import add_streams
from guardian.rest.ticket_actions import add_actions
from guardian.security.model.identity import Identity, Role
from guardian.security.rules.routing import VIEW, VIEW_ALL, VIEW_CLUSTER, RouteRule, access
from guardian.web.answers import JsonAnswer
from protos.guardian.v1 import federation_pb2, insight_pb2, tickets_pb2

PREFIX = "/api/v1"
_LOOK_S = 1.0  # until it is looked again whether the client is still there
_JSON = "application/json"
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")]
PageToken = Annotated[
    str, Query(description="The `next_page_token` of the page before; the header Link has the whole address.")
]
_Handler = Callable[..., Response | Awaitable[Response]]
_Register = Callable[[_Handler], _Handler]
ClusterFilter = Annotated[str, Query(description="Of this cluster only.")]


def _answers(schema: Mapping[str, Any], what: str, status: int = 200) -> dict[int | str, dict[str, Any]]:
    wrong = {"description": "Why not, in one sentence.", "content": {PROBLEM: {"schema": _ref("Problem")}}}
    return {status: {"description": what, "content": {_JSON: {"schema": dict(schema)}}}, "default": wrong}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": sorted(properties), "properties": properties}


def _list_of(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


class Api:
    """The routes."""

    def __init__(self, parts: RestParts) -> None:
        self._parts = parts
        self.router = APIRouter(prefix=PREFIX, route_class=ProblemRoute)
        self._document: dict[str, Any] | None = None
        for add in (self._clusters, self._topics, self._plans, self._tickets, self._seen, self._group):
            add()
        add_actions(self._post, parts)
        add_streams(self._stream, parts)
        for row in FORWARDED:
            self._forward(row)
        self._openapi()

    def _get(self, path: str, rule: RouteRule, schema: Mapping[str, Any], what: str, tag: str) -> _Register:
        register = self.router.get(path, responses=_answers(schema, what), response_class=JsonAnswer, tags=[tag])
        return lambda handler: register(access(rule)(handler))

    def _post(
        self, path: str, rule: RouteRule, schema: Mapping[str, Any], what: str, tag: str, status: int = 200
    ) -> _Register:
        register = self.router.post(
            path,
            responses=_answers(schema, what, status),
            status_code=status,
            response_class=JsonAnswer,
            tags=[tag],
            dependencies=[Depends(_require_json)],
        )
        return lambda handler: register(access(rule)(handler))

    def _forward(self, row: Forwarded) -> None:
        register = self.router.api_route(
            row.path,
            methods=[row.method],
            responses=_answers(reference(row.reply), row.what),
            response_class=JsonAnswer,
            tags=[row.tag],
            dependencies=[Depends(_require_json)] if row.takes_body else [],
        )
        register(access(row.rule)(forward(row, self._parts, _next_link)))

    def _stream(self, path: str, described: Mapping[int | str, dict[str, Any]], tag: str) -> _Register:
        return self.router.get(path, responses={**_answers({}, ""), **described}, tags=[tag])

    def _client(self, request: Request) -> GuardianClient:
        return self._parts.client_for(self._parts.user_of(request))

    def _user(self, request: Request) -> Identity:
        return self._parts.user_of(request)

    def _clusters(self) -> None:
        @self._get("/clusters", VIEW, _object(clusters=_list_of("Cluster")), "All that are registered.", "clusters")
        def clusters(request: Request) -> Response:
            """The registered clusters, with their brokers."""
            found = self._client(request).list_clusters()
            return JsonAnswer({"clusters": [as_dict(cluster_to_proto(cluster)) for cluster in found]})

        @self._get("/clusters/{cluster}", VIEW_CLUSTER, _ref("Cluster"), "It.", "clusters")
        def cluster(request: Request, cluster: str) -> Response:
            """One cluster."""
            return JsonAnswer(as_dict(cluster_to_proto(_cluster(self._client(request), cluster))))

        @self._get(
            "/clusters/{cluster}/brokers", VIEW_CLUSTER, _object(brokers=_list_of("Broker")), "By id.", "clusters"
        )
        def brokers(request: Request, cluster: str) -> Response:
            """A cluster's brokers: rack, IDC, label, state, and where their metrics are."""
            found = cluster_to_proto(_cluster(self._client(request), cluster)).brokers
            return JsonAnswer({"brokers": [as_dict(broker) for broker in found]})

        @self._get(
            "/clusters/{cluster}/brokers/{broker}/metrics", VIEW_CLUSTER, _ref("BrokerMetrics"), "Now.", "clusters"
        )
        def metrics(request: Request, cluster: str, broker: int) -> Response:
            """All numbers that a broker's reporter has now."""
            return JsonAnswer(as_dict(self._client(request).broker_metrics(cluster, broker)))

        @self._get("/clusters/{cluster}/durability", VIEW_CLUSTER, _ref("DurabilityReport"), "How safe.", "clusters")
        def durability(
            request: Request,
            cluster: str,
            topic: Annotated[list[str], Query(description="Patterns, as of the shell; none: all.")] = [],  # noqa: B006
        ) -> Response:
            """Report how safe each topic's data is, and what the loss of a broker, a rack or an IDC would do."""
            return JsonAnswer(as_dict(self._client(request).durability(cluster, topic)))

        @self._get("/clusters/{cluster}/past", VIEW_CLUSTER, _ref("PastReport"), "Absent is unknown.", "clusters")
        def past(
            request: Request,
            cluster: str,
            at_ms: Annotated[int, Query(ge=0, description="Since the epoch; 0: now.")] = 0,
            broker: Annotated[int | None, Query(ge=0, description="Of this one only.")] = None,
            limit: Limit = 100,
        ) -> Response:
            """Show a cluster at a past moment, averaged over the minutes before: loads, disks, busiest topics."""
            return JsonAnswer(as_dict(self._client(request).past(cluster, at_ms, broker, limit)))

        @self._post("/clusters/{cluster}/what-if", VIEW_CLUSTER, _ref("FaultReport"), "Nothing is changed.", "clusters")
        def what_if(request: Request, cluster: str, body: FaultBody) -> Response:
            """Tell what a fault would do to each topic: losses, how long producers wait. Give exactly one fault."""
            asked = message_of(insight_pb2.PredictFaultRequest(), body)
            if asked.cluster not in ("", cluster):
                raise InvalidInput(f"cluster: not that of the path (got {asked.cluster!r}); leave it out")
            asked.cluster = cluster
            return JsonAnswer(as_dict(self._client(request).predict_fault(asked)))

    def _topics(self) -> None:
        listed = _object(topics=_list_of("ListedTopic"), total={"type": "integer"}, next={"type": "string"})

        @self._get("/clusters/{cluster}/topics", VIEW_CLUSTER, listed, "By name; `next` is empty at the end.", "topics")
        def topics(
            request: Request,
            cluster: str,
            after: Annotated[str, Query(description="Those behind this name: `next` of the page before.")] = "",
            contains: Annotated[str, Query(description="Whose name contains this.")] = "",
            limit: Limit = 100,
        ) -> Response:
            """A cluster's topics, as Kafka has them, with what the directory says of them."""
            user = self._user(request)
            require_role(user, Role.VIEWER, cluster)
            client = self._parts.client_for(user)
            with closing(self._parts.admin_for(cluster)) as admin:
                partitions = admin.describe_partitions()
            found: dict[str, list[Any]] = {}
            for partition, state in partitions.items():
                found.setdefault(partition.topic, []).append(state)
            names = sorted(name for name in found if contains in name)
            page = [name for name in names if name > after][:limit]
            said = client.federation(federation_pb2.TOPICS, cluster) if page else iter(())
            # It is by name too: what is behind the page is not read.
            directory = takewhile(lambda each: each.name <= page[-1], (entry.topic for entry in said))
            entries = {each.name: each for each in directory}
            rows = [
                {
                    "name": name,
                    "partitions": len(found[name]),
                    "replication_factor": min(len(state.replicas) for state in found[name]),
                    "under_replicated": sum(len(state.isr) < len(state.replicas) for state in found[name]),
                    "offline": sum(state.leader < 0 for state in found[name]),
                    **({"entry": as_dict(entries[name])} if name in entries else {}),
                }
                for name in page
            ]
            following = page[-1] if page and page[-1] != names[-1] else ""
            return JsonAnswer({"topics": rows, "total": len(names), "next": following})

        one = _object(name={"type": "string"}, partitions=_list_of("TopicPartition"))

        @self._get("/clusters/{cluster}/topics/{topic}", VIEW_CLUSTER, one, "It.", "topics")
        def topic(request: Request, cluster: str, topic: str) -> Response:
            """A topic's partitions: leader, replicas and those in sync."""
            user = self._user(request)
            require_role(user, Role.VIEWER, cluster)
            with closing(self._parts.admin_for(cluster)) as admin:
                partitions = admin.describe_partitions([topic])
            if not partitions:
                raise NotFound(f"topic {topic!r} is not in cluster {cluster}: see {PREFIX}/clusters/{cluster}/topics")
            rows = [
                {"partition": number, "leader": each.leader, "replicas": list(each.replicas), "isr": list(each.isr)}
                for (_, number), each in sorted(partitions.items())
            ]
            return JsonAnswer({"name": topic, "partitions": rows})

    def _plans(self) -> None:
        @self._post("/clusters/{cluster}/plans", VIEW_CLUSTER, _ref("Plan"), "The plan; nothing is stored.", "plans")
        async def plan(request: Request, cluster: str, body: PlanBody) -> Response:
            """Makes a plan from what Kafka shows and the newest samples, when it is this person's turn.

            That is many seconds on a large cluster. Whoever asks for too many at once is answered 429.
            """
            user = self._user(request)
            require_role(user, Role.VIEWER, cluster)
            order, what = body.order(), f"{body.kind} of cluster {cluster}"
            made: Plan = await self._in_turn(request, user, what, lambda job: self._made(job, user, cluster, order))
            return JsonAnswer(plan_as_dict(made))

        @self._post("/clusters/{cluster}/preview", VIEW_CLUSTER, _ref("PreviewTicketReply"), "Tick by tick.", "plans")
        def previewed(request: Request, cluster: str, body: PreviewBody) -> Response:
            """Show what a ticket of a reassignment would send to Kafka, in order; nothing is stored."""
            found = self._client(request).preview_plan(
                body.plan(cluster), body.throttle, body.max_throttle, unthrottled=body.unthrottled
            )
            return JsonAnswer(as_dict(preview_to_proto(found)))

        @self._get("/plans/{plan_hash}", VIEW, _ref("Plan"), "It.", "plans")
        def stored(request: Request, plan_hash: str) -> Response:
            """The plan of a ticket, by the ticket's `plan_hash`."""
            return JsonAnswer(plan_as_dict(self._client(request).plan(plan_hash)))

    def _tickets(self) -> None:
        listed = _object(
            tickets=_list_of("Ticket"),
            progress=_list_of("TicketProgress"),
            next_page_token={"type": "string"},
            total={"type": "integer"},
        )

        @self._get("/tickets", VIEW, listed, "The newest first; progress of those that run.", "tickets")
        def tickets(
            request: Request,
            cluster: ClusterFilter = "",
            state: Annotated[list[str], Query(description="In one of these states.")] = [],  # noqa: B006
            limit: Limit = 100,
            page_token: PageToken = "",
            sequence: Annotated[
                str,
                Query(description="The tickets that carry one plan with this one, in order, and nothing else."),
            ] = "",
        ) -> Response:
            """Tickets, and how far those are that the executor drives; `total` is how many there are on all pages."""
            states, client = {_state(name) for name in state}, self._client(request)
            if sequence:
                parts = client.parts_of(client.ticket(sequence)[0])
                return _ticket_list(request, TicketPage(parts), len(parts))
            page = client.ticket_page(cluster, states, "", page_token, limit, with_counts=True)
            total = sum(count for (_, each), count in page.counts.items() if not states or each in states)
            return _ticket_list(request, page, total)

        @self._post("/tickets", VIEW, _ref("CreateTicketReply"), "The ticket and its plan.", "tickets", 201)
        async def create(request: Request, body: TicketBody) -> Response:
            """Makes a ticket: of a plan made now, of a reassignment, for brokers, or one that sends requests."""
            if sum(each is not None for each in (body.plan, body.reassignment, body.ask, body.request)) != 1:
                raise InvalidInput("plan, reassignment, ask and request: give exactly one of them")
            user = self._user(request)
            require_role(user, Role.OPERATOR, body.cluster)  # of dry runs too, before anything is planned
            ticket, plan = await self._asked(request, user, body)
            answer = as_dict(tickets_pb2.CreateTicketReply(ticket=ticket_to_proto(ticket)))
            if plan is not None:
                answer["plan"] = plan_as_dict(plan)
            location = {"Location": f"{PREFIX}/tickets/{ticket.id}"} if ticket.id else {}
            return JsonAnswer(answer, 200 if body.dry_run else 201, location)

        @self._get(
            "/tickets/{ticket_id}", VIEW, _ref("TicketDetail"), "The ticket, and its execution once it ran.", "tickets"
        )
        def ticket(request: Request, ticket_id: str) -> Response:
            """One ticket."""
            found, execution = self._client(request).ticket(ticket_id)
            detail = tickets_pb2.TicketDetail(
                ticket=ticket_to_proto(found), execution=execution_to_proto(execution) if execution else None
            )
            return JsonAnswer(as_dict(detail))

        @self._get("/tickets/{ticket_id}/preview", VIEW, _ref("PreviewTicketReply"), "Tick by tick.", "tickets")
        def preview(request: Request, ticket_id: str) -> Response:
            """Show what the ticket would send to Kafka, in order; of one that is over, what its way back would."""
            return JsonAnswer(as_dict(preview_to_proto(self._client(request).preview(ticket_id))))

    def _seen(self) -> None:
        @self._get("/findings", VIEW, _ref("FindingsReport"), "The gravest first.", "health")
        def findings(request: Request, cluster: ClusterFilter = "", limit: Limit = 100) -> Response:
            """List what the leader's detectors find, and when they looked."""
            return JsonAnswer(as_dict(self._client(request).findings(cluster, limit)))

        @self._get("/healing", VIEW, _ref("HealingReport"), "By cluster.", "health")
        def healing(request: Request, cluster: ClusterFilter = "") -> Response:
            """Report what is done by itself about broken brokers and disks, and why not."""
            return JsonAnswer(as_dict(self._client(request).healing(cluster)))

        @self._get("/events", VIEW, _object(events=_list_of("Event")), "Oldest first.", "health")
        def events(
            request: Request,
            after: Annotated[int, Query(ge=0, description="Behind the event with this id.")] = 0,
            cluster: ClusterFilter = "",
            ticket: Annotated[str, Query(description="Of this ticket only.")] = "",
            kind: Annotated[list[str], Query(description="TICKET_CREATED, TICKET_MOVED, ...")] = [],  # noqa: B006
            limit: Limit = 100,
        ) -> Response:
            """List what happened to tickets and throttles: the first ones behind `after`, without it the last ones."""
            found = self._client(request).events(
                after=after, last=0 if after else limit, cluster=cluster, ticket_id=ticket, kinds=[*map(_kind, kind)]
            )
            return JsonAnswer({"events": [as_dict(event_to_proto(event)) for event in found[:limit]]})

        recorded = _object(records=_list_of("AuditRecord"), next_page_token={"type": "string"})

        @self._get("/audit", VIEW_ALL, recorded, "Newest first.", "health")
        def audit(
            request: Request,
            actor: Annotated[str, Query(description="Of this one only.")] = "",
            from_ms: Annotated[int, Query(ge=0, description="Since the epoch.")] = 0,
            until_ms: Annotated[int, Query(ge=0, description="Exclusive; 0: now.")] = 0,
            limit: Limit = 100,
            page_token: PageToken = "",
        ) -> Response:
            """List who changed what. A page of one actor's may be short, or empty, and not the last."""
            records, following = self._client(request).audit_page(from_ms, until_ms, actor, page_token, limit)
            answer = {"records": [as_dict(record) for record in records], "next_page_token": following}
            return JsonAnswer(answer, 200, _next_link(request, following))

    def _group(self) -> None:
        schema = _object(member=_ref("Member"), raft=_list_of("RaftMember"))

        @self._get("/members", VIEW, schema, "`member` is the one that answers.", "members")
        def members(request: Request) -> Response:
            """The members of Guardian's Raft group, and who leads."""
            client = self._client(request)
            return JsonAnswer(
                {"member": as_dict(client.member()), "raft": [as_dict(each) for each in client.raft_members()]}
            )

    def _openapi(self) -> None:
        @self.router.get("/openapi.json", include_in_schema=False)
        @access(VIEW)
        def openapi() -> Response:
            if self._document is None:
                self._document = api_document(self.router)
            return JsonAnswer(self._document)

        @self.router.api_route("/{rest:path}", methods=["GET", "POST", "PUT", "DELETE"], include_in_schema=False)
        @access(VIEW)
        def unknown(rest: str) -> Response:
            return problem(404, "not-found", f"{PREFIX}/{rest[:100]} is no path of this API: see {PREFIX}/openapi.json")

    async def _in_turn(
        self, request: Request, user: Identity, what: str, work: Callable[[Job], Any], lane: Lane = Lane.PEOPLE
    ) -> Any:
        """Return what the work comes to, when it is this person's turn; it is given up once its client is gone.

        Raises Overloaded at once where too much waits already, and what the work raises.
        """
        person = person_of(user, host_of(request))
        job = self._parts.planner.desk.submit(lane, person, what, work)
        while not await settled(job, _LOOK_S):
            if await request.is_disconnected():
                job.cancel("the client that asked for this plan is gone")
        return job.future.result()

    async def _asked(self, request: Request, user: Identity, body: TicketBody) -> tuple[Ticket, Plan | None]:
        """Return the ticket that was asked for, and its plan where it has one."""
        asked = body.plan
        if asked is None and body.ask is not None and body.dry_run:  # it may take as long as a plan
            what = f"a dry run on cluster {body.cluster}"
            rehearsed: tuple[Ticket, Plan | None] = await self._in_turn(
                request, user, what, lambda _: self._created(user, body, lambda: _read(body)), Lane.LOOKUPS
            )
            return rehearsed
        if asked is None:
            return await run_in_threadpool(self._created, user, body, lambda: _read(body))
        work = partial(self._planned, user, body, asked.order())
        found: tuple[Ticket, Plan | None] = await self._in_turn(
            request, user, f"{asked.kind} of cluster {body.cluster}", work
        )
        return found

    def _planned(self, user: Identity, body: TicketBody, asked: PlanOrder, job: Job) -> tuple[Ticket, Plan | None]:
        def made() -> Plan:
            plan = self._made(job, user, body.cluster, asked)
            job.step("Ticket", "the plan becomes a ticket")  # raises for one whose client is gone: it makes no ticket
            return plan

        return self._created(user, body, made)

    def _made(self, job: Job, user: Identity, cluster: str, order: PlanOrder) -> Plan:
        client, until_ms = self._parts.client_for(user), self._parts.now_ms()
        since_ms = until_ms - order.window_ms if order.window_ms else 0
        known = Known(lambda: _directory(client, cluster, order), lambda: client.lines(cluster, since_ms, until_ms + 1))
        return make_plan(self._parts.planner, job, cluster, order, known)

    def _created(self, user: Identity, body: TicketBody, made: Callable[[], Plan]) -> tuple[Ticket, Plan | None]:
        client, author = self._parts.client_for(user), actor_of(user, body.author)
        options = TicketOptions(
            throttle=body.throttle,
            submit=body.submit,
            reason=body.reason,
            dry_run=body.dry_run,
            expires_in_ms=body.expires_in_ms,
        )
        if body.ask is not None:
            if body.unthrottled:
                raise InvalidInput("unthrottled: not of a ticket with ask (got true); give throttle")
            if body.max_throttle:
                raise InvalidInput(f"max_throttle is {body.max_throttle} and ask is given: give throttle alone")
            return client.ask_for(
                body.cluster,
                body.ask.ask(),
                author=author,
                idempotency_key=body.idempotency_key,
                plan_s=self._parts.plan_s,
                **options,
            )
        return client.create_ticket(
            made(),
            author=author,
            max_throttle=body.max_throttle,
            idempotency_key=body.idempotency_key,
            unthrottled=body.unthrottled,
            **options,
        )


def api_routes() -> APIRouter:
    """The routes of nobody, for their description."""

    def nobody(*_: object) -> Any:
        raise InvalidInput("this router only describes itself")

    planner: Any = None
    nothing: Any = None
    return Api(RestParts(nobody, nobody, planner, nobody, nobody, nothing, nobody)).router


def _require_json(request: Request) -> None:
    """A form of another site can't send this kind, nor ask a browser to without being asked first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:
        raise InvalidInput(f"Content-Type is {kind[:60]!r}: send {_JSON}")


def _cluster(client: GuardianClient, name: str) -> Cluster:
    found = next((cluster for cluster in client.list_clusters() if cluster.name == name), None)
    if found is None:
        raise NotFound(f"cluster {name!r} is not registered: see {PREFIX}/clusters")
    return found


def _directory(client: GuardianClient, cluster: str, order: PlanOrder) -> Directory:
    """Return as much of it as this plan needs, and whoever asks may see."""
    clusters: tuple[Cluster, ...] = ()
    entries: list[federation_pb2.FederationEntry] = []
    match order.task:
        case MigrateIdcOrder():
            entries += client.federation(federation_pb2.IDC_POLICIES)
        case CreateTopicOrder(topic):
            entries += client.federation(federation_pb2.TOPICS, cluster, topic)
        case IsolateOrder():
            clusters = client.list_clusters()
            entries += client.federation(federation_pb2.TOPICS, cluster)
            entries += client.federation(federation_pb2.TENANTS)
            entries += client.federation(federation_pb2.MACHINES)
    return directory_of_entries(clusters, entries, LinkSettings())


def _read(body: TicketBody) -> Plan:
    if body.request is not None:
        return body.requested(time.time_ns() // 1_000_000)
    return body.reassigned()


def _ticket_list(request: Request, page: TicketPage, total: int) -> JsonAnswer:
    answer = {
        "tickets": [as_dict(ticket_to_proto(ticket)) for ticket, _ in page.tickets],
        "progress": [as_dict(progress_to_proto(ticket.id, how)) for ticket, how in page.tickets if how],
        "next_page_token": page.next_token,
        "total": total,
    }
    return JsonAnswer(answer, 200, _next_link(request, page.next_token))


def _next_link(request: Request, token: str) -> dict[str, str]:
    """Return the header that leads to the next page (RFC 8288), if there is one."""
    following = request.url.include_query_params(page_token=token)
    return {"Link": f'<{following.path}?{following.query}>; rel="next"'} if token else {}


def _state(name: str) -> TicketState:
    if name.upper() not in TicketState.__members__:
        raise InvalidInput(f"state is {name[:60]!r}: use {', '.join(TicketState.__members__)}")
    return TicketState[name.upper()]


def _kind(name: str) -> EventKind:
    if name.upper() not in EventKind.__members__:
        raise InvalidInput(f"kind is {name[:60]!r}: use {', '.join(EventKind.__members__)}")
    return EventKind[name.upper()]
