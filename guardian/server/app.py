"""One member, wired: the only place where every part meets.

RocksDB ─ MetastoreStateMachine ─ RaftReplica ─ ReplicatedStore ─┬─ gRPC: Federation, Tickets, Tiering, Sessions, Raft
                                                                 ├─ who leads partitions, asked of brokers (for claims)
                                                                 ├─ executor, housekeeping and detectors (on the leader)
                                                                 └─ collector (this member's share of brokers)
"""

from __future__ import annotations

import fcntl
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from uuid import uuid4

import structlog
from fastapi import APIRouter
from prometheus_client import CollectorRegistry

from guardian import tracing
from guardian.activity.opening import open_store
from guardian.activity.store import ActivityStore
from guardian.client import GuardianClient
from guardian.config import ANY_HOSTS, ServerConfig, cautions_of, planner_settings
from guardian.console.rendering import static_url
from guardian.core.lake_keeping import LakeTimes
from guardian.errors import Conflict, Damaged, GuardianError, InvalidInput
from guardian.executor.around import LiveSurroundings
from guardian.executor.driver import Driver
from guardian.executor.hooks import HookRunner
from guardian.executor.operating import Operations
from guardian.executor.planning import LivePlanner
from guardian.executor.protecting import Protector
from guardian.executor.replanning import LiveReplanner
from guardian.executor.request_facts import TopicUses
from guardian.kafka.admin import KafkaAdmin
from guardian.model.links import load_links
from guardian.model.planner_settings import PlannerSettings
from guardian.model.throttle import DEFAULT_THROTTLE
from guardian.model.topology import Cluster
from guardian.reporter.asking import BrokerAsker, CountersAsker, MappingAsker
from guardian.reporter.collector import Collector, CollectorSettings, ReporterTls
from guardian.reporter.lake_keeper import LakeKeeper
from guardian.reporter.lake_writer import LakeWriter
from guardian.reporter.membership import CollectorMembership
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.parts import RestParts
from guardian.rest.rates import LakeRates
from guardian.rest.routes import Rest
from guardian.server.admins import ClusterAdmins, connect_by_name
from guardian.server.approvals import ApprovalKeeper, Approvals
from guardian.server.calling import PersonCaller
from guardian.server.certificates import CertificateWatch
from guardian.server.collection import CollectionAssigner, KnownFederation, ReplicatedCollectionGroup
from guardian.server.connecting import KafkaConnector
from guardian.server.cordoning import Cordoner
from guardian.server.counting import CallCounters, LoopCounters
from guardian.server.directory import directory_of
from guardian.server.discovery import BrokerTargets
from guardian.server.execution import ReplicatedExecutionStore
from guardian.server.findings import FindingsWatch
from guardian.server.founding import Founder, founded_level
from guardian.server.garbage import collect_rarely
from guardian.server.group_clock import ClockKeeper, GroupClock
from guardian.server.grpc_server import start_grpc
from guardian.server.healing import Healer
from guardian.server.housekeeping import Housekeeper
from guardian.server.http import HttpServer
from guardian.server.line_room import LineRoom
from guardian.server.logging import configure as configure_logging
from guardian.server.loop import LeaderLoop
from guardian.server.metrics import Measured, MemberMetrics
from guardian.server.observed import LakeObserved
from guardian.server.open_files import EnoughFiles, raise_limit
from guardian.server.operation_store import ReplicatedOperationStore
from guardian.server.peers import CertificateInterceptor
from guardian.server.protection import DiskWatch, LooksAtBrokers, ReplicatedProtectionStore, lake_suspects
from guardian.server.replication import open_replica, start_verification
from guardian.server.security import Security, make_security
from guardian.server.services import Parts, register
from guardian.server.signing_in import user_of
from guardian.server.sinks import EventSinks
from guardian.server.sources import Sources
from guardian.server.store import ReplicatedStore, now_ms
from guardian.server.straying import StrayGuard
from guardian.server.tenancy import TopicTenants
from guardian.server.tls import HttpTls, grpc_tls, http_tls, own_client_tls
from guardian.server.topic_uses import ActivityTopicUses
from guardian.server.tracing import TracingInterceptor
from guardian.server.web import MEMBER_METRICS, METRIC_PAGES, TENANT_METRICS, create_app
from guardian.tiering.counting import TieringCounters
from guardian.tiering.verifying import LeaderFinder
from guardian.web.parts import Person, WebParts
from metastore.store import StoreDamaged
from raft.replica import RaftReplica

_log = structlog.get_logger(__name__)

_RPC_KAFKA_TIMEOUT_S = 6.0
_CLAIM_KAFKA_TIMEOUT_S = 3.0
_HOUSEKEEPING_S = 10.0
_ASSIGNING_S = 1.0
_LAKE_KEEPING_S = 60.0
_FINDINGS_S = 2.0
_LINES_S = 10.0
_HEALING_S = 2.0
_APPROVALS_S = 1.0
_PLACEMENT_S = 2.0
_SINKS_S = 0.5
_FOUNDING_S = 0.2
_CLOCK_S = 1.0
_DAY_MS = 86_400_000


def serve(config: ServerConfig) -> None:
    """Runs a member until SIGTERM or SIGINT, then closes all of it in order.

    Raises as `start`; Conflict when another process of its name is a member of the group already, and Damaged when
    damage was found while it stopped.
    """
    ends: SimpleQueue[str] = SimpleQueue()  # why; a signal's handler would wait for ever for the lock of an Event
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: ends.put(""))
    raise_limit()
    configure_logging(config.log, config.name)

    with _telling_damage(), ExitStack() as stack:
        if config.traces.endpoint:
            stack.callback(tracing.start("guardian", config.traces.endpoint, **{"service.instance.id": config.name}))
        start(config, stack, ends.put)
        collect_rarely()
        _log.info("serving", member=config.name, grpc=config.grpc, http=config.http)
        fault = ends.get()
        _log.info("stopping", member=config.name)
    if fault:
        raise Conflict(fault)


@contextmanager
def _telling_damage() -> Iterator[None]:
    try:
        yield
    except StoreDamaged as error:
        raise Damaged(str(error)) from None


def start(config: ServerConfig, stack: ExitStack, fail: Callable[[str], None] = lambda _: None) -> None:
    """Starts every part and registers its end with `stack`. `fail` gets a sentence when the member has to end.

    Raises InvalidInput when a port or folder is taken or can't be used, and Damaged when what is stored is damaged.
    """
    if config.links is not None:
        load_links(config.links)  # a mistake is told now; the file is read again at each question
    approvals = _approvals(config)
    approvals.policy()  # likewise
    _lock(config.data, stack)
    founded = founded_level(config.data, join=config.join)
    replica, state_machine = open_replica(config, stack, fail)
    clock = GroupClock(state_machine, now_ms)
    store = ReplicatedStore(replica, state_machine, clock.now_ms)

    activity = _activity(config, stack)
    lake = LakeWriter(config.lake, config.name, config.collect.flush_s)
    known = KnownFederation(store, EnoughFiles().check)
    collector = _collecting(config, store, known, lake, activity, stack)
    secured, https = grpc_tls(config), http_tls(config)
    pem_files = [each.files for each in (secured, https) if each is not None]
    certificates = CertificateWatch(config, pem_files, partial(_other_members, replica))
    kafka = _kafka(config, stack)
    ask_mappings = MappingAsker(_reporter_tls(config), config.collect.timeout_s).ask
    sources = Sources(store, kafka.for_rpc, config.lake, store.now_ms, activity, config.links, ask_mappings)
    findings = FindingsWatch(
        replace(sources, connect=kafka.for_loop),
        int(config.collect.interval_s * 1000),
        int((config.collect.interval_s + config.collect.flush_s) * 1000),
        certificates=certificates.all,
    )
    stack.callback(findings.close)
    live_planner = _live_planner(config, store, kafka, stack)
    hooks = HookRunner(config.hooks)
    healer = Healer(
        store, findings, live_planner, kafka.for_rpc, config.healing, planner_settings(config.planner), store.now_ms
    )
    protector, watch = _protecting(config, store, kafka, stack)
    operations = Operations(
        ReplicatedOperationStore(store, store.now_ms),
        live_planner,
        hooks,
        tiered_warm_up_s=config.execute.tiered_warm_up_s,
    )
    room = _line_room(config, store, activity)
    sinks = EventSinks(store, config.sinks, int(config.limits.event_days * _DAY_MS), store.now_ms)
    stack.callback(sinks.close)
    replanner = LiveReplanner(live_planner, lambda: directory_of(store.read_local(), config.links))
    loops = _leading(
        config,
        store,
        clock,
        kafka,
        known,
        findings,
        healer,
        room,
        protector,
        operations,
        replanner,
        sinks,
        founded,
        ActivityTopicUses(activity, store.now_ms).last_uses,
        stack,
    )

    finder = LeaderFinder(lambda cluster_id, wait_s: store.read(wait_s).cluster_by_id(cluster_id), kafka.for_claim)
    stack.callback(finder.close)
    counters = TieringCounters()
    parts = Parts(
        replica,
        state_machine,
        sources,
        collector.collects,
        approvals.policy,
        config.client_address,
        config.data,
        config.limits.session_idle_s,
        finder,
        counters,
        findings,
        ask_broker=BrokerAsker(_reporter_tls(config), config.collect.timeout_s).ask,
        planner=config.planner,
        limits=config.execute.limits,
        throttle=config.throttle,
        lines=room.room,
        tiered_warm_up_s=config.execute.tiered_warm_up_s,
        max_plan_age_s=config.execute.plan_age_s,
        live_planner=live_planner,
        hooks=hooks,
        healer=healer,
        shared_labels=planner_settings(config.planner).shared_labels,
        sinks=sinks,
        protection=watch,
        protection_mode=config.protection.mode,
        cautions=cautions_of(config),
        verification=start_verification(config, replica, state_machine, stack).status,
    )
    calls = CallCounters()
    security = make_security(config, store, state_machine, now_ms, stack, style=static_url("console.css"))
    if https is not None:
        https.record_with(partial(security.note_certificate, "TLS at the HTTP port"))
    for sentence in cautions_of(config):
        _log.warning("this member is open to more than it need be", why=sentence)
    server = start_grpc(
        config.grpc,
        partial(register, parts),
        credentials=secured.credentials() if secured is not None else None,
        counters=calls,
        interceptors=[
            *([TracingInterceptor()] if tracing.is_on() else []),
            *(
                [CertificateInterceptor(secured.files, now_ms, security.note_certificate)]
                if secured is not None
                else []
            ),
            *security.interceptors(store),
        ],
    )
    stack.callback(server.stop)
    measured = Measured(
        store,
        collector.collects,
        collector.counters,
        lake.status,
        activity.status if activity is not None else None,
        counters,
        calls,
        loops,
        findings,
        sinks,
        certificates.own,
        {files.use: files.counters for files in pem_files},
        security.refusals.totals if security.refusals is not None else dict,
    )
    _serve_http(config, store, kafka, measured, security, https, live_planner, stack)


def _serve_http(
    config: ServerConfig,
    store: ReplicatedStore,
    kafka: _Kafka,
    measured: Measured,
    security: Security,
    https: HttpTls | None,
    live_planner: LivePlanner,
    stack: ExitStack,
) -> None:
    """Metrics, the console and REST."""
    pages = {path: CollectorRegistry() for path in METRIC_PAGES}
    pages[MEMBER_METRICS].register(MemberMetrics(measured))
    pages[TENANT_METRICS].register(TopicTenants(store.read_local))
    web = WebParts(
        config.name,
        _own_client(config, security, stack),
        now_ms,
        observed=LakeObserved(config.lake, now_ms, config.collect.interval_s, config.collect.flush_s),
        not_ready=lambda: _not_ready(store),
        targets=BrokerTargets(store).json,
        metrics=pages,
        user_of=user_of,
        csrf_token=security.form_token,
        form_guard=security.forms.required,
        signs_in=security.gate is not None,
        cautions=cautions_of(config),
    )
    rest = _rest(config, store, kafka, live_planner, web.client_for, stack)
    routers: list[APIRouter] = [*security.routers(), *rest.routers]
    http = HttpServer(
        config.http, security.protect(create_app(web, routers)), https.context if https is not None else None
    )
    http.start()
    stack.callback(http.stop)


def _collecting(
    config: ServerConfig,
    store: ReplicatedStore,
    known: KnownFederation,
    lake: LakeWriter,
    activity: ActivityStore | None,
    stack: ExitStack,
) -> Collector:
    group = ReplicatedCollectionGroup(store, known)
    membership = CollectorMembership(group, config.name, uuid4().hex, config.collect.delay_s)
    collector = Collector(
        config.name,
        lake,
        known.clusters,
        membership.mine,
        CollectorSettings(config.collect.interval_s, config.collect.timeout_s, tls=_reporter_tls(config)),
        activity,
    )
    membership.start()
    stack.callback(membership.stop)
    collector.start()
    stack.callback(collector.stop)
    return collector


def _leading(
    config: ServerConfig,
    store: ReplicatedStore,
    clock: GroupClock,
    kafka: _Kafka,
    known: KnownFederation,
    findings: FindingsWatch,
    healer: Healer,
    room: LineRoom,
    protector: Protector,
    operations: Operations,
    replanner: LiveReplanner,
    sinks: EventSinks,
    founded: int,
    uses: TopicUses,
    stack: ExitStack,
) -> dict[str, LoopCounters]:
    """What only the leader does; the counters of each loop by its name."""
    broker_timeout_s = config.execute.broker_timeout_s
    admins = ClusterAdmins(
        lambda name: store.read_local().cluster(name),
        lambda cluster: kafka.connector.connect(cluster, broker_timeout_s=broker_timeout_s),
    )
    stack.callback(admins.close)
    driver = Driver(
        ReplicatedExecutionStore(store),
        admins,
        config.execute.limits,
        now_ms=store.now_ms,
        tiered_warm_up_s=config.execute.tiered_warm_up_s,
        around=LiveSurroundings(
            lambda name: store.read_local().cluster(name), kafka.reporters, config.throttle, room.room, store.now_ms
        ),
        operations=operations,
        replan=replanner,
        max_plan_age_s=config.execute.plan_age_s,
        labels=ReplicatedOperationStore(store, store.now_ms),
        shared_labels=planner_settings(config.planner).shared_labels,
        uses=uses,
    )
    stack.callback(driver.close)
    housekeeper = Housekeeper(store, config.limits)
    keeper = LakeKeeper(config.lake, LakeTimes(retention_ms=int(config.limits.lake_days * _DAY_MS)), store.now_ms)
    assigner = CollectionAssigner(store, known, config.collect.delay_s, store.now_ms)
    keeper_of_clock = ClockKeeper(store)
    has_more = {"executor": driver.has_more, "clock": keeper_of_clock.has_more}
    gates = {"clock": store.is_leader, "founding": store.is_leader}  # all else waits for the group's clock
    loops: dict[str, LoopCounters] = {}
    for name, tick, interval_s in (
        ("executor", driver.tick, config.execute.tick_s),
        ("housekeeping", housekeeper.tick, _HOUSEKEEPING_S),
        ("assignment", assigner.tick, _ASSIGNING_S),
        ("lake", keeper.tick, _LAKE_KEEPING_S),
        ("findings", findings.tick, _FINDINGS_S),
        ("lines", room.tick, _LINES_S),
        ("healing", healer.tick, _HEALING_S),
        ("calls", PersonCaller(store, findings, healer, store.now_ms).tick, _HEALING_S),
        ("sinks", sinks.tick, _SINKS_S),
        ("placement", _cordoner(config, store, kafka, healer, stack).tick, _PLACEMENT_S),
        ("protection", protector.tick, config.protection.look_s),
        ("clock", keeper_of_clock.tick, _CLOCK_S),
        ("founding", Founder(store, founded).tick, _FOUNDING_S),
        ("approvals", ApprovalKeeper(store, _approvals(config), store.now_ms).tick, _APPROVALS_S),
    ):
        loops[name] = LoopCounters()
        gate = gates.get(name, lambda: store.is_leader() and clock.is_set)
        loop = LeaderLoop(gate, tick, interval_s, loops[name], has_more.get(name, lambda: False))
        loop.start()
        stack.callback(loop.stop)
    return loops


def _protecting(
    config: ServerConfig, store: ReplicatedStore, kafka: _Kafka, stack: ExitStack
) -> tuple[Protector, DiskWatch]:
    """With admin connections of its own. Where it is off nobody is suspected, and what is held is let go."""
    settings, collect_ms = config.protection, int(config.collect.interval_s * 1000)
    held = ReplicatedProtectionStore(store)
    watch = DiskWatch(
        store,
        held.held_keys,
        lake_suspects(config.lake, settings, collect_ms, int(config.collect.flush_s * 1000))
        if config.protection.mode != "off"
        else None,
        LooksAtBrokers(_reporter_tls(config), config.collect.timeout_s).look,
        settings,
        max(collect_ms, int(config.protection.look_s * 1000)),
    )
    stack.callback(watch.close)
    admins = ClusterAdmins(lambda name: store.read_local().cluster(name), kafka.for_rpc)
    stack.callback(admins.close)
    protector = Protector(held, admins, watch, settings, store.now_ms)
    stack.callback(protector.close)
    return protector, watch


def _cordoner(
    config: ServerConfig, store: ReplicatedStore, kafka: _Kafka, healer: Healer, stack: ExitStack
) -> Cordoner:
    """With admin connections of its own: the executor's serve its threads."""
    admins = ClusterAdmins(lambda name: store.read_local().cluster(name), kafka.for_rpc)
    stack.callback(admins.close)
    settings = planner_settings(config.planner)
    guard = StrayGuard(store, settings, DEFAULT_THROTTLE, store.now_ms, healer.why_not_move)
    return Cordoner(store, admins, store.now_ms, guard)


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


def _rest(
    config: ServerConfig,
    store: ReplicatedStore,
    kafka: _Kafka,
    planner: LivePlanner,
    client_for: Callable[[Person], GuardianClient],
    stack: ExitStack,
) -> Rest:
    parts = RestParts(
        client_for,
        user_of,
        planner,
        connect_by_name(lambda name: store.read_local().cluster(name), kafka.for_rpc),
        LakeRates(config.lake, now_ms),
        store.now_ms,
        config.rest.default_cluster,
    )
    limits = config.execute.limits
    rest = Rest(parts, Concurrency(limits.per_broker_in, limits.per_cluster))
    stack.callback(rest.close)
    return rest


def _live_planner(config: ServerConfig, store: ReplicatedStore, kafka: _Kafka, stack: ExitStack) -> LivePlanner:
    planner = LivePlanner(
        connect_by_name(lambda name: store.read_local().cluster(name), kafka.for_loop),
        lambda: directory_of(store.read_local(), config.links),
        config.lake,
        PlannerSettings.of(config.planner),
        store.now_ms,
    )
    stack.callback(planner.close)
    return planner


def _line_room(config: ServerConfig, store: ReplicatedStore, activity: ActivityStore | None) -> LineRoom:
    return LineRoom(
        lambda: list(store.read_local().clusters()),
        config.lake,
        activity,
        config.links,
        config.throttle.line_share,
        int((config.collect.interval_s + config.collect.flush_s) * 1000),
        now_ms,
        config.throttle.fill_lines_without_client_activity,
    )


def _activity(config: ServerConfig, stack: ExitStack) -> ActivityStore | None:
    if not config.audit_url:
        _log.info("no client activity is kept: give audit.url, the same for all members", member=config.name)
        return None
    audit = config.audit
    activity = open_store(config.audit_url, audit.retention_days, audit.memory_mb, audit.password_file)
    activity.start()
    stack.callback(activity.close)
    return activity


def _approvals(config: ServerConfig) -> Approvals:
    """Where people prove who they are, nobody approves his own work unless a rule says so."""
    return Approvals(config.approvals, author_may_approve=config.security is None)


@dataclass(frozen=True, slots=True)
class _Kafka:
    """How this member reaches clusters. `for_rpc`: somebody waits, and must be told before the client gives up that a
    cluster is down. `for_claim`: a broker that hangs must leave time to ask others; an attempt takes a third of it."""

    connector: KafkaConnector
    reporters: CountersAsker

    def for_loop(self, cluster: Cluster) -> KafkaAdmin:
        return self.connector.connect(cluster)

    def for_rpc(self, cluster: Cluster) -> KafkaAdmin:
        return self.connector.connect(cluster, timeout_s=_RPC_KAFKA_TIMEOUT_S)

    def for_claim(self, cluster: Cluster) -> KafkaAdmin:
        return self.connector.connect(cluster, timeout_s=_CLAIM_KAFKA_TIMEOUT_S)


def _kafka(config: ServerConfig, stack: ExitStack) -> _Kafka:
    reporters = CountersAsker(_reporter_tls(config), config.execute.patience_s)
    stack.callback(reporters.close)
    return _Kafka(KafkaConnector(reporters, config.secrets), reporters)


def _other_members(replica: RaftReplica) -> dict[str, str]:
    """Where their gRPC is, by name, of those whom this one has been connected to."""
    status = replica.status()
    others = (each for each in status.members if each.name != status.name and each.client_address)
    return {each.name: each.client_address for each in others}


def _not_ready(store: ReplicatedStore) -> str | None:
    words = store.status().last_words
    if words is not None:
        return f"this member stops: {words.reason}"
    try:
        store.read_index(timeout_s=1.0)
    except GuardianError as error:
        return str(error)
    return None


def _reporter_tls(config: ServerConfig) -> ReporterTls | None:
    files = config.reporter_tls
    return ReporterTls(files.ca, files.certificate, files.key) if files else None


def _lock(data: Path, stack: ExitStack) -> None:
    """Two processes on one data folder would destroy it."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        lock = stack.enter_context((data / "LOCK").open("w"))
    except OSError as error:
        raise InvalidInput(f"data is {str(data)!r}, which can't be written: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidInput(f"data is {str(data)!r}, which another Guardian process uses: stop it first") from None
