"""What a member serves over gRPC: every service, made of the member's parts, on the server's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health_aio
from grpc_reflection.v1alpha import reflection

from guardian.activity.service.activity import ActivityServicer
from guardian.cordons.service import PlacementServicer
from guardian.events.loop.sinks import EventSinks
from guardian.events.service import EventsServicer
from guardian.execution.loop.hooks import HookRunner
from guardian.execution.loop.topic_uses import ActivityTopicUses
from guardian.execution.rules.lasting import USUAL_PACING, Pacing
from guardian.execution.rules.slots import ExecutionLimits
from guardian.federation.service.federation import FederationServicer
from guardian.healing.loop.healing import Healer
from guardian.healing.service import healing_report
from guardian.health.loop.findings import FindingsWatch
from guardian.health.loop.sources import Sources
from guardian.health.service import InsightServicer
from guardian.links.loop.replica_selectors import notes_on_reads
from guardian.model.ticket import MAX_EXECUTION_BYTES
from guardian.model.tickets.approval import ApprovalPolicy
from guardian.model.topology import Broker, Cluster
from guardian.planning.service.planning import LivePlanner
from guardian.planning.service.servicer import PlanningServicer
from guardian.protection.loop.protection import DiskWatch, Mode, ProtectionServicer
from guardian.replication.service.raft import RaftServicer
from guardian.replication.service.sessions import SessionsServicer
from guardian.replication.store.async_store import AsyncStore
from guardian.replication.store.state import Changes, MetastoreStateMachine
from guardian.replication.store.store import ReplicatedStore
from guardian.replication.store.verification import VerificationStatus
from guardian.security.service.identities import IdentitiesServicer
from guardian.security.service.permissions import why_no_approver
from guardian.security.service.roles import MemberRoles
from guardian.serving import requests
from guardian.serving.admins import connect_by_name
from guardian.throttle.rules.adapting import Around, Line, ThrottleSettings
from guardian.tickets.service.asks import Asks
from guardian.tickets.service.new_tickets import NewTickets
from guardian.tickets.service.previews import Previews
from guardian.tickets.service.tickets import TicketsServicer
from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.ports import LeaderEpochs
from guardian.tiering.service.servicer import TieringServicer, add_tiering
from protos.guardian.v1 import (
    activity_pb2,
    activity_pb2_grpc,
    events_pb2,
    events_pb2_grpc,
    federation_pb2,
    federation_pb2_grpc,
    identities_pb2,
    identities_pb2_grpc,
    insight_pb2,
    insight_pb2_grpc,
    placement_pb2,
    placement_pb2_grpc,
    planning_pb2,
    planning_pb2_grpc,
    protection_pb2,
    protection_pb2_grpc,
    raft_pb2,
    raft_pb2_grpc,
    sessions_pb2,
    sessions_pb2_grpc,
    tickets_pb2,
    tickets_pb2_grpc,
    tiering_pb2,
)
from raft.protocol import Replica

NAMES = tuple(
    file.services_by_name[name].full_name
    for file, name in (
        (federation_pb2.DESCRIPTOR, "Federation"),
        (tickets_pb2.DESCRIPTOR, "Tickets"),
        (tiering_pb2.DESCRIPTOR, "Tiering"),
        (sessions_pb2.DESCRIPTOR, "Sessions"),
        (identities_pb2.DESCRIPTOR, "Identities"),
        (raft_pb2.DESCRIPTOR, "Raft"),
        (insight_pb2.DESCRIPTOR, "Insight"),
        (activity_pb2.DESCRIPTOR, "Activity"),
        (placement_pb2.DESCRIPTOR, "Placement"),
        (events_pb2.DESCRIPTOR, "Events"),
        (protection_pb2.DESCRIPTOR, "Protection"),
        (planning_pb2.DESCRIPTOR, "Planning"),
    )
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the services are made of. `collects` tells the brokers that this member collects from; `client_address` is
    where clients reach it; `data` is its folder. `counters` are what its metrics tell of tiering; `findings` is None
    where no detectors run, `healer` where nothing heals. `ask_broker` reads a broker's reporter, and is None where none
    can be asked. `planner` is what plans are asked for unless a command says otherwise, `live_planner` makes them at
    once. Brokers with `shared_labels` also hold topics without a label. `protection` is what looks at unhealthy disks,
    where something does; `cautions` are sentences on how the member was configured. `throttle`, `lines` (bytes/s that
    moves may take, as far as this member knows), `tick_s`, `tiered_warm_up_s` and `max_plan_age_s` are the executor's;
    without `throttle` rates are fixed. `roles` is None where security is off.
    """

    replica: Replica
    state_machine: MetastoreStateMachine
    sources: Sources
    collects: Callable[[], list[str]]
    policy: Callable[[], ApprovalPolicy]
    client_address: str
    data: Path
    session_idle_s: float
    leader_epochs: LeaderEpochs
    counters: TieringCounters
    findings: FindingsWatch | None = None
    ask_broker: Callable[[Cluster, Broker], federation_pb2.BrokerMetrics] | None = None
    planner: Mapping[str, object] = field(default_factory=dict)
    limits: ExecutionLimits | None = None
    live_planner: LivePlanner | None = None
    hooks: HookRunner | None = None
    healer: Healer | None = None
    shared_labels: tuple[str, ...] = ()
    sinks: EventSinks | None = None
    protection: DiskWatch | None = None
    protection_mode: Mode = "off"
    cautions: tuple[str, ...] = ()
    throttle: ThrottleSettings | None = None
    lines: Callable[[], Mapping[Line, float]] = dict
    tick_s: float = USUAL_PACING.tick_s
    tiered_warm_up_s: float = 0.0
    max_plan_age_s: float = 0.0
    max_ticket_bytes: int = MAX_EXECUTION_BYTES
    verification: Callable[[], VerificationStatus] = VerificationStatus
    roles: MemberRoles | None = None


def _around(parts: Parts, store: ReplicatedStore, cluster: str) -> Around | None:
    """Return what is known of a cluster before its brokers are asked how they are."""
    known = store.read_local().cluster(cluster)
    if parts.throttle is None:
        return None
    idcs = {broker.id: broker.idc for broker in (known.brokers if known is not None else ()) if broker.idc}
    return Around(parts.throttle, idcs=idcs, lines=parts.lines())


def _tickets(parts: Parts, async_store: AsyncStore, changes: Changes) -> TicketsServicer:
    sources, store = parts.sources, parts.sources.store
    admin_for = connect_by_name(lambda name: store.read_local().cluster(name), sources.connect)
    asks = (
        Asks(store, admin_for, parts.live_planner, parts.hooks or HookRunner({}), sources.now_ms)
        if parts.live_planner is not None
        else None
    )
    new_tickets = NewTickets(
        store,
        admin_for,
        parts.policy,
        sources.now_ms,
        asks=asks,
        notes_on_reads=partial(notes_on_reads, sources.connect, sources.ask_mappings),
        shared_labels=parts.shared_labels,
        is_made_here=parts.live_planner.has_made if parts.live_planner is not None else lambda _: False,
        uses=ActivityTopicUses(sources.activity, sources.now_ms).last_uses,
        max_ticket_bytes=parts.max_ticket_bytes,
    )
    previews = Previews(
        store,
        admin_for,
        sources.now_ms,
        limits=parts.limits,
        asks=asks,
        shared_labels=parts.shared_labels,
        around=partial(_around, parts, store),
        tiered_warm_up_s=parts.tiered_warm_up_s,
        max_plan_age_s=parts.max_plan_age_s,
    )
    return TicketsServicer(
        store,
        async_store,
        changes,
        parts.policy,
        sources.now_ms,
        new_tickets,
        previews,
        asks,
        why_no_approver,
        _pacing(parts),
    )


def _pacing(parts: Parts) -> Pacing:
    throttle = parts.throttle or ThrottleSettings(adaptive=False)
    limits = parts.limits or USUAL_PACING.limits
    return Pacing(limits, throttle, parts.tick_s)


def register(parts: Parts, server: grpc.aio.Server) -> None:
    """Adds every service. Runs on the server's event loop."""
    sources, store = parts.sources, parts.sources.store
    async_store = AsyncStore(parts.replica, parts.state_machine)
    changes = Changes(parts.state_machine)
    tiering = TieringServicer(
        async_store, changes, requests, sources.now_ms, leader_epochs=parts.leader_epochs, counters=parts.counters
    )
    add_tiering(tiering, server)
    tickets_pb2_grpc.add_TicketsServicer_to_server(_tickets(parts, async_store, changes), server)
    federation = FederationServicer(
        store, sources.connect, parts.collects, sources.lake_url, parts.ask_broker, parts.planner, parts.cautions
    )
    federation_pb2_grpc.add_FederationServicer_to_server(federation, server)
    sessions_pb2_grpc.add_SessionsServicer_to_server(SessionsServicer(store, parts.session_idle_s), server)
    identities_pb2_grpc.add_IdentitiesServicer_to_server(IdentitiesServicer(parts.roles), server)
    raft = RaftServicer(parts.replica, parts.client_address, parts.data, store, parts.verification)
    raft_pb2_grpc.add_RaftServicer_to_server(raft, server)
    insight = InsightServicer(sources, parts.findings, partial(healing_report, parts.healer) if parts.healer else None)
    insight_pb2_grpc.add_InsightServicer_to_server(insight, server)
    activity = ActivityServicer(store, sources.activity, sources.connect, sources.now_ms, sources.prices_file)
    activity_pb2_grpc.add_ActivityServicer_to_server(activity, server)
    events_pb2_grpc.add_EventsServicer_to_server(EventsServicer(async_store, changes, parts.sinks), server)
    placement = PlacementServicer(store, parts.shared_labels, sources.now_ms)
    placement_pb2_grpc.add_PlacementServicer_to_server(placement, server)
    protection = ProtectionServicer(store, parts.protection, parts.protection_mode, sources.now_ms)
    protection_pb2_grpc.add_ProtectionServicer_to_server(protection, server)
    planning = PlanningServicer(async_store, parts.live_planner, insight.lines_of)
    planning_pb2_grpc.add_PlanningServicer_to_server(planning, server)
    healthy = health_aio.HealthServicer()  # the synchronous one holds a thread for each who watches
    # Nobody watches yet, so that each of these ends in one step of the loop, before the first call is served.
    asyncio.gather(*(healthy.set(service, health_pb2.HealthCheckResponse.SERVING) for service in ("", *NAMES)))
    health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    reflection.enable_server_reflection((*NAMES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
