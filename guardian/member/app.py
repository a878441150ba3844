"""One member, wired: the only place where every part meets.

RocksDB ─ MetastoreStateMachine ─ RaftReplica ─ ReplicatedStore ─┬─ gRPC: Federation, Tickets, Tiering, Sessions, Raft
                                                                 ├─ who leads partitions, asked of brokers (for claims)
                                                                 ├─ executor, housekeeping and detectors (on the leader)
                                                                 └─ collector (this member's share of brokers)

What the parts are is in parts.py; what the leader does with them in leading.py, how they are reached in endpoints.py.
"""

from __future__ import annotations

import fcntl
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from uuid import uuid4

import structlog

from guardian import tracing
from guardian.activity.model import load_prices
from guardian.activity.store.opening import open_store
from guardian.activity.store.store import ActivityStore
from guardian.collection.loop.asking import MappingAsker
from guardian.collection.loop.collector import Collector, CollectorSettings
from guardian.collection.loop.membership import CollectorMembership
from guardian.collection.service import ReplicatedCollectionGroup
from guardian.collection.store import KnownFederation
from guardian.config import ServerConfig, cautions_of, planner_settings
from guardian.errors import Conflict, Damaged, InvalidInput
from guardian.events.loop.sinks import EventSinks
from guardian.execution.loop.hooks import HookRunner
from guardian.execution.loop.operating import Operations
from guardian.execution.loop.replanning import LiveReplanner
from guardian.execution.store.operation_store import ReplicatedOperationStore
from guardian.federation.rules.documents import policy_of
from guardian.federation.store import directory_of
from guardian.healing.loop.healing import Healer
from guardian.health.loop.findings import FindingsWatch
from guardian.health.loop.sources import Sources
from guardian.lake.loop import LakeKeeper
from guardian.lake.rules.chores import LakeTimes
from guardian.lake.store.writer import LakeWriter
from guardian.links.loop.line_room import LineRoom
from guardian.member.connecting import KafkaAccess, kafka_access, reporter_tls
from guardian.member.endpoints import measured_of, secure, serve_grpc, serve_http
from guardian.member.garbage import collect_rarely
from guardian.member.leading import start_loops
from guardian.member.logging import configure as configure_logging
from guardian.member.open_files import EnoughFiles, open_file_limit, raise_limit
from guardian.member.parts import (
    CollectionParts,
    ExecutionParts,
    GroupParts,
    HealthParts,
    MemberParts,
    ProtectionParts,
    TieringParts,
    TlsParts,
)
from guardian.member.stopping import StopDeadline
from guardian.model.federation import APPROVAL_POLICY
from guardian.model.links import load_links
from guardian.model.planner_settings import PlannerSettings
from guardian.planning.service.planning import LivePlanner
from guardian.protection.loop.protecting import Protector
from guardian.protection.loop.protection import DiskWatch, LooksAtBrokers, ReplicatedProtectionStore, lake_suspects
from guardian.replication.opening import open_replica, start_verification
from guardian.replication.store.documents import StoredDocument
from guardian.replication.store.founding import founded_level
from guardian.replication.store.group_clock import GroupClock
from guardian.replication.store.state import StoreDamaged
from guardian.replication.store.store import ReplicatedStore, now_ms
from guardian.security.service.certificates import CertificateWatch
from guardian.security.service.tls import grpc_tls, http_tls
from guardian.serving.admins import ClusterAdmins, connect_by_name
from guardian.serving.counting import PortCounters
from guardian.serving.rules.shares import port_shares
from guardian.tickets.service.approvals import Approvals
from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.verifying import LeaderFinder
from raft.replica import RaftReplica

_log = structlog.get_logger(__name__)

_DAY_MS = 86_400_000
_SWITCH_S = 0.001  # a write passes the interpreter on about ten times, each time to whoever has waited so long


def serve(config: ServerConfig, deadline: StopDeadline | None = None) -> None:
    """Runs a member until SIGTERM or SIGINT, then closes all of it in order, within the `deadline`.

    Raises as `start`; Conflict when another process of its name is a member of the group already, and Damaged when
    damage was found while it stopped.
    """
    sys.setswitchinterval(_SWITCH_S)
    ends: SimpleQueue[str] = SimpleQueue()  # why; a signal's handler would wait for ever for the lock of an Event

    def end(fault: str) -> None:
        ends.put(fault)
        if deadline is not None:
            deadline.begin(fault)

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: end(""))
    raise_limit()
    configure_logging(config.log, config.name)

    with _telling_damage(), ExitStack() as stack:
        if config.traces.endpoint:
            stack.callback(tracing.start("guardian", config.traces.endpoint, **{"service.instance.id": config.name}))
        start(config, stack, end)
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
    _check_files(config)
    shares = port_shares(config.ports, open_file_limit())
    _lock(config.data, stack)
    group = _group(config, stack, fail)
    collection = _collection(config, group, stack)
    tls = _tls(config, group.replica)
    kafka = kafka_access(config, stack)
    health = _health(config, group, collection, tls, kafka, stack)
    planner = _planner(config, group, kafka, stack)
    parts = MemberParts(
        config,
        shares,
        _approvals(config, group),
        group,
        collection,
        tls,
        kafka,
        health,
        planner,
        execution=_execution(config, group, planner),
        healer=_healer(config, group, health, planner, kafka),
        protection=_protection(config, group, kafka, stack),
        lines=_lines(config, group, collection),
        sinks=_sinks(config, group.store, stack),
        port_counters={"grpc": PortCounters(), "http": PortCounters()},
    )
    loops = start_loops(parts, stack)
    tiering = _tiering(group, kafka, stack)
    verification = start_verification(config, group.replica, group.state_machine, stack)
    security = secure(parts, stack)
    _warn_of_openness(config)
    calls = serve_grpc(parts, tiering, verification, security, stack)
    serve_http(parts, measured_of(parts, tiering, loops, calls, security), security, stack)


def _approvals(config: ServerConfig, group: GroupParts) -> Approvals:
    stored = StoredDocument(group.state_machine, APPROVAL_POLICY, policy_of)
    return Approvals(config.approvals, author_may_approve=config.author_may_approve, stored=stored.current)


def _check_files(config: ServerConfig) -> None:
    """Refuse a mistake now; these files are read again at each question."""
    if config.links is not None:
        load_links(config.links)
    if config.prices is not None:
        load_prices(config.prices)
    Approvals(config.approvals).policy()


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


def _group(config: ServerConfig, stack: ExitStack, fail: Callable[[str], None]) -> GroupParts:
    founded = founded_level(config.data, join=config.join)
    replica, state_machine = open_replica(config, stack, fail)
    clock = GroupClock(state_machine, now_ms)
    return GroupParts(replica, state_machine, clock, ReplicatedStore(replica, state_machine, clock.now_ms), founded)


def _collection(config: ServerConfig, group: GroupParts, stack: ExitStack) -> CollectionParts:
    activity = _activity(config, stack)
    lake = LakeWriter(config.lake, config.name, config.collect.flush_s)
    known = KnownFederation(group.store, EnoughFiles().check)
    membership = CollectorMembership(
        ReplicatedCollectionGroup(group.store, known), config.name, uuid4().hex, config.collect.delay_s
    )
    collector = Collector(
        config.name,
        lake,
        known.clusters,
        membership.mine,
        CollectorSettings(config.collect.interval_s, config.collect.timeout_s, tls=reporter_tls(config)),
        activity,
    )
    membership.start()
    stack.callback(membership.stop)
    collector.start()
    stack.callback(collector.stop)
    times = LakeTimes(retention_ms=int(config.limits.lake_days * _DAY_MS))
    return CollectionParts(known, collector, lake, LakeKeeper(config.lake, times, group.store.now_ms), activity)


def _activity(config: ServerConfig, stack: ExitStack) -> ActivityStore | None:
    if not config.audit_url:
        _log.info("no client activity is kept: give audit.url, the same for all members", member=config.name)
        return None
    audit = config.audit
    activity = open_store(config.audit_url, audit.retention_days, audit.memory_mb, audit.password_file)
    activity.start()
    stack.callback(activity.close)
    return activity


def _tls(config: ServerConfig, replica: RaftReplica) -> TlsParts:
    grpc, http = grpc_tls(config), http_tls(config)
    files = tuple(each.files for each in (grpc, http) if each is not None)
    return TlsParts(grpc, http, files, CertificateWatch(config, files, partial(_other_members, replica)))


def _other_members(replica: RaftReplica) -> dict[str, str]:
    """Return by name where gRPC of the other members is, of those whom this one has been connected to."""
    status = replica.status()
    others = (each for each in status.members if each.name != status.name and each.client_address)
    return {each.name: each.client_address for each in others}


def _health(
    config: ServerConfig,
    group: GroupParts,
    collection: CollectionParts,
    tls: TlsParts,
    kafka: KafkaAccess,
    stack: ExitStack,
) -> HealthParts:
    ask_mappings = MappingAsker(reporter_tls(config), config.collect.timeout_s).ask
    store = group.store
    sources = Sources(
        store,
        kafka.for_rpc,
        config.lake,
        store.now_ms,
        collection.activity,
        config.links,
        ask_mappings,
        config.prices,
    )
    findings = FindingsWatch(
        replace(sources, connect=kafka.for_loop),
        int(config.collect.interval_s * 1000),
        int((config.collect.interval_s + config.collect.flush_s) * 1000),
        certificates=tls.certificates.all,
    )
    stack.callback(findings.close)
    return HealthParts(sources, findings)


def _planner(config: ServerConfig, group: GroupParts, kafka: KafkaAccess, stack: ExitStack) -> LivePlanner:
    planner = LivePlanner(
        connect_by_name(group.cluster, kafka.for_plan),
        lambda: directory_of(group.store.read_local(), config.links),
        config.lake,
        PlannerSettings.of(config.planner),
        group.store.now_ms,
        config.plans,
    )
    stack.callback(planner.close)
    return planner


def _execution(config: ServerConfig, group: GroupParts, planner: LivePlanner) -> ExecutionParts:
    store = group.store
    hooks = HookRunner(config.hooks)
    operations = Operations(
        ReplicatedOperationStore(store, store.now_ms),
        planner,
        hooks,
        tiered_warm_up_s=config.execute.tiered_warm_up_s,
    )
    replanner = LiveReplanner(planner, lambda: directory_of(store.read_local(), config.links))
    return ExecutionParts(hooks, operations, replanner)


def _healer(
    config: ServerConfig, group: GroupParts, health: HealthParts, planner: LivePlanner, kafka: KafkaAccess
) -> Healer:
    settings = planner_settings(config.planner)
    return Healer(group.store, health.findings, planner, kafka.for_rpc, config.healing, settings, group.store.now_ms)


def _protection(config: ServerConfig, group: GroupParts, kafka: KafkaAccess, stack: ExitStack) -> ProtectionParts:
    """Watch disks, with admin connections of their own. Where that is off nobody is suspected, and all is let go."""
    settings, collect_ms, store = config.protection, int(config.collect.interval_s * 1000), group.store
    held = ReplicatedProtectionStore(store)
    watch = DiskWatch(
        store,
        held.held_keys,
        lake_suspects(config.lake, settings, collect_ms, int(config.collect.flush_s * 1000))
        if config.protection.mode != "off"
        else None,
        LooksAtBrokers(reporter_tls(config), config.collect.timeout_s).look,
        settings,
        max(collect_ms, int(config.protection.look_s * 1000)),
    )
    stack.callback(watch.close)
    admins = ClusterAdmins(group.cluster, kafka.for_rpc)
    stack.callback(admins.close)
    protector = Protector(held, admins, watch, settings, store.now_ms)
    stack.callback(protector.close)
    return ProtectionParts(protector, watch)


def _lines(config: ServerConfig, group: GroupParts, collection: CollectionParts) -> LineRoom:
    return LineRoom(
        lambda: list(group.store.read_local().clusters()),
        config.lake,
        collection.activity,
        config.links,
        config.throttle.line_share,
        int((config.collect.interval_s + config.collect.flush_s) * 1000),
        now_ms,
        config.throttle.fill_lines_without_client_activity,
    )


def _sinks(config: ServerConfig, store: ReplicatedStore, stack: ExitStack) -> EventSinks:
    sinks = EventSinks(store, config.sinks, int(config.limits.event_days * _DAY_MS), store.now_ms)
    stack.callback(sinks.close)
    return sinks


def _tiering(group: GroupParts, kafka: KafkaAccess, stack: ExitStack) -> TieringParts:
    finder = LeaderFinder(
        lambda cluster_id, wait_s: group.store.read(wait_s).cluster_by_id(cluster_id), kafka.for_claim
    )
    stack.callback(finder.close)
    return TieringParts(finder, TieringCounters())


def _warn_of_openness(config: ServerConfig) -> None:
    for sentence in cautions_of(config):
        _log.warning("this member is open to more than it need be", why=sentence)
