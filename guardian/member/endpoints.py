"""Where a member is reached: gRPC for all programs; HTTP for metrics, the console and REST."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

import grpc.aio
from fastapi import APIRouter
from prometheus_client import CollectorRegistry

from guardian import tracing
from guardian.client import GuardianClient
from guardian.collection.loop.asking import BrokerAsker
from guardian.config import ANY_HOSTS, ServerConfig, cautions_of, planner_settings
from guardian.console.rendering import static_url
from guardian.errors import GuardianError
from guardian.federation.service.discovery import BrokerTargets
from guardian.federation.service.tenancy import TopicTenants
from guardian.health.loop.observed import LakeObserved
from guardian.lake.store.recent_rates import LakeRates
from guardian.member import services
from guardian.member.connecting import reporter_tls
from guardian.member.metrics import Measured, MemberMetrics
from guardian.member.parts import MemberParts, TieringParts
from guardian.member.security import Security, make_security
from guardian.member.web import MEMBER_METRICS, METRIC_PAGES, TENANT_METRICS, create_app
from guardian.planning.store import ReplicatedUserTasks
from guardian.replication.store.state import StoreError
from guardian.replication.store.store import ReplicatedStore, now_ms
from guardian.replication.store.verification import Verification
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.parts import RestParts
from guardian.rest.routes import Rest
from guardian.security.service.peers import CertificateInterceptor
from guardian.security.service.signing_in import user_of
from guardian.security.service.tls import own_client_tls
from guardian.serving.admins import connect_by_name
from guardian.serving.counting import CallCounters, LoopCounters
from guardian.serving.grpc_server import GrpcLimits, start_grpc
from guardian.serving.http import HttpLimits, HttpServer
from guardian.serving.readiness import Readiness
from guardian.serving.tracing import TracingInterceptor
from guardian.web.parts import Person, WebParts


def secure(parts: MemberParts, stack: ExitStack) -> Security:
    """Put together who may do what, and record by it which certificates were refused at the HTTP port."""
    group = parts.group
    security = make_security(
        parts.config, group.store, group.state_machine, now_ms, stack, style=static_url("console.css")
    )
    if parts.tls.http is not None:
        parts.tls.http.record_with(partial(security.note_certificate, "TLS at the HTTP port"))
    return security


def serve_grpc(
    parts: MemberParts, tiering: TieringParts, verification: Verification, security: Security, stack: ExitStack
) -> CallCounters:
    """Serve every service until `stack` ends; return the counters of the calls."""
    calls = CallCounters()
    tls = parts.tls.grpc
    server = start_grpc(
        parts.config.grpc,
        partial(services.register, _service_parts(parts, tiering, verification, security)),
        credentials=tls.credentials() if tls is not None else None,
        limits=_grpc_limits(parts),
        counters=calls,
        port_counters=parts.port_counters["grpc"],
        interceptors=_interceptors(parts, security),
    )
    stack.callback(server.stop)
    return calls


def serve_http(parts: MemberParts, measured: Measured, security: Security, stack: ExitStack) -> None:
    """Serve metrics, the console and REST until `stack` ends."""
    tasks = _user_tasks(parts, stack)
    web = _web(parts, measured, security, tasks, stack)
    rest = _rest(parts, web.client_for, tasks, stack)
    routers: list[APIRouter] = [*security.routers(), *rest.routers]
    tls = parts.tls.http
    http = HttpServer(
        parts.config.http,
        security.protect(create_app(web, routers)),
        tls.context if tls is not None else None,
        HttpLimits(parts.shares.http, parts.config.ports.handshake_s, parts.config.ports.body_s),
        parts.port_counters["http"],
    )
    http.start()
    stack.callback(http.stop)


def measured_of(
    parts: MemberParts,
    tiering: TieringParts,
    loops: Mapping[str, LoopCounters],
    calls: CallCounters,
    security: Security,
) -> Measured:
    """Return what metrics are asked of."""
    collection = parts.collection
    return Measured(
        parts.group.store,
        collection.collector.collects,
        collection.collector.counters,
        collection.lake.status,
        collection.activity.status if collection.activity is not None else None,
        tiering.counters,
        calls,
        loops,
        parts.health.findings,
        parts.sinks,
        parts.tls.certificates.own,
        {files.use: files.counters for files in parts.tls.files},
        security.refusals.totals if security.refusals is not None else dict,
        lambda: collection.lake_keeper.damaged_files,
        parts.port_counters,
    )


def _grpc_limits(parts: MemberParts) -> GrpcLimits:
    ports = parts.config.ports
    return GrpcLimits(
        calls_per_address=ports.grpc_calls_per_address,
        share=parts.shares.grpc,
        handshake_s=ports.handshake_s,
        idle_s=ports.grpc_idle_s,
    )


def _service_parts(
    parts: MemberParts, tiering: TieringParts, verification: Verification, security: Security
) -> services.Parts:
    config = parts.config
    return services.Parts(
        parts.group.replica,
        parts.group.state_machine,
        parts.health.sources,
        parts.collection.collector.collects,
        parts.approvals.policy,
        config.client_address,
        config.data,
        config.limits.session_idle_s,
        tiering.finder,
        tiering.counters,
        parts.health.findings,
        ask_broker=BrokerAsker(reporter_tls(config), config.collect.timeout_s).ask,
        planner=config.planner,
        limits=config.execute.limits,
        throttle=config.throttle,
        lines=parts.lines.room,
        tick_s=config.execute.tick_s,
        tiered_warm_up_s=config.execute.tiered_warm_up_s,
        max_plan_age_s=config.execute.plan_age_s,
        max_ticket_bytes=config.execute.max_ticket_bytes,
        live_planner=parts.planner,
        hooks=parts.execution.hooks,
        healer=parts.healer,
        shared_labels=planner_settings(config.planner).shared_labels,
        sinks=parts.sinks,
        protection=parts.protection.watch,
        protection_mode=config.protection.mode,
        cautions=cautions_of(config),
        verification=verification.status,
        roles=security.roles,
    )


def _interceptors(parts: MemberParts, security: Security) -> list[grpc.aio.ServerInterceptor]:
    tls = parts.tls.grpc
    return [
        *([TracingInterceptor()] if tracing.is_on() else []),
        *([CertificateInterceptor(tls.files, now_ms, security.note_certificate)] if tls is not None else []),
        *security.interceptors(parts.group.store),
    ]


def _web(
    parts: MemberParts, measured: Measured, security: Security, tasks: ReplicatedUserTasks, stack: ExitStack
) -> WebParts:
    config, store = parts.config, parts.group.store
    pages = {path: CollectorRegistry() for path in METRIC_PAGES}
    pages[MEMBER_METRICS].register(MemberMetrics(measured))
    pages[TENANT_METRICS].register(TopicTenants(store.read_local))
    return WebParts(
        config.name,
        _own_client(config, security, stack),
        now_ms,
        observed=LakeObserved(config.lake, now_ms, config.collect.interval_s, config.collect.flush_s),
        not_ready=_readiness(store, stack).reason,
        targets=BrokerTargets(store).json,
        metrics=pages,
        scraper_of=security.scraper_of,
        sinks={sink.name: sink.clusters for sink in config.sinks},
        user_of=user_of,
        csrf_token=security.form_token,
        form_guard=security.forms.required,
        signs_in=security.gate is not None,
        cautions=cautions_of(config),
        body_s=config.ports.body_s,
        live_pages=config.ports.live_pages,
        asked=tasks,
    )


def _user_tasks(parts: MemberParts, stack: ExitStack) -> ReplicatedUserTasks:
    tasks = ReplicatedUserTasks(parts.group.store, parts.config.name)
    tasks.start()
    stack.callback(tasks.stop)
    return tasks


def _rest(
    parts: MemberParts, client_for: Callable[[Person], GuardianClient], tasks: ReplicatedUserTasks, stack: ExitStack
) -> Rest:
    config = parts.config
    rest_parts = RestParts(
        client_for,
        user_of,
        parts.planner,
        connect_by_name(parts.group.cluster, parts.kafka.for_rpc),
        LakeRates(config.lake, now_ms),
        tasks,
        parts.group.store.now_ms,
        config.rest.default_cluster,
        config.plans.longest_s,
    )
    limits = config.execute.limits
    rest = Rest(rest_parts, Concurrency(limits.per_broker_in, limits.per_cluster))
    stack.callback(rest.close)
    return rest


def _own_client(config: ServerConfig, security: Security, stack: ExitStack) -> Callable[[Person], GuardianClient]:
    """Pages speak to this member, which knows who leads. One client is shared: it is thread-safe; with [security] each
    person has one that speaks for him."""
    host, port = config.grpc.rsplit(":", 1)
    tls = own_client_tls(config)
    near = f"127.0.0.1:{port}" if host in ANY_HOSTS else config.grpc
    # A certificate is for the name under which clients reach the member.
    address = near if tls is None else config.client_address
    clients = security.clients(address, tls)
    if clients is not None:
        stack.callback(clients.close)
        return clients.client_for
    client = GuardianClient([address], actor="console", tls=tls)
    stack.callback(client.close)
    return lambda _: client


def _readiness(store: ReplicatedStore, stack: ExitStack) -> Readiness:
    readiness = Readiness(lambda: _not_ready(store))
    readiness.start()
    stack.callback(readiness.stop)
    return readiness


def _not_ready(store: ReplicatedStore) -> str | None:
    try:
        words = store.status().last_words
        if words is not None:
            return f"this member stops: {words.reason}"
        store.read_index(timeout_s=1.0)
    except (GuardianError, StoreError) as error:
        return str(error)
    return None
