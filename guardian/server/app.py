"""One member, wired: the only place where every part meets.

RocksDB ─ MetastoreStateMachine ─ Raft replica ─ ReplicatedStore ─┬─ gRPC: Federation, Tickets, Tiering
                                                                  ├─ executor (on the leader)
                                                                  └─ collector (this member's share of brokers)
"""

from __future__ import annotations

import fcntl
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from prometheus_client import CollectorRegistry

from guardian.client import MAX_MESSAGE_BYTES
from guardian.config import ServerConfig
from guardian.core.ticketing import ApprovalPolicy
from guardian.errors import InvalidInput, Unavailable
from guardian.executor.driver import Driver
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Cluster
from guardian.reporter.collector import Collector
from guardian.reporter.lake_writer import LakeWriter
from guardian.server.admins import ClusterAdmins, connect_by_name
from guardian.server.errors import ErrorInterceptor
from guardian.server.execution import ReplicatedExecutionStore
from guardian.server.federation import FederationServicer
from guardian.server.http import HttpServer, MemberMetrics
from guardian.server.loop import LeaderLoop
from guardian.server.store import ReplicatedStore, now_ms
from guardian.server.tickets import TicketsServicer
from guardian.tiering.servicer import TieringServicer
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from metastore.store import StoreError
from protos.guardian.v1 import (
    federation_pb2,
    federation_pb2_grpc,
    tickets_pb2,
    tickets_pb2_grpc,
    tiering_pb2,
    tiering_pb2_grpc,
)
from raft.errors import CannotStart
from raft.replica import SyncObjReplica

_log = structlog.get_logger(__name__)

_SERVICES = (
    federation_pb2.DESCRIPTOR.services_by_name["Federation"].full_name,
    tickets_pb2.DESCRIPTOR.services_by_name["Tickets"].full_name,
    tiering_pb2.DESCRIPTOR.services_by_name["Tiering"].full_name,
)
_RPC_THREADS = 32  # each open watch stream holds one
_RPC_KAFKA_TIMEOUT_S = 6.0
_GRACE_S = 2.0


def serve(config: ServerConfig) -> None:
    """Runs a member until SIGTERM or SIGINT, then closes all of it in order."""
    stop = threading.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: stop.set())
    with ExitStack() as stack:
        start(config, stack)
        _log.info("serving", member=config.name, grpc=config.grpc, http=config.http)
        stop.wait()
        _log.info("stopping", member=config.name)


def start(config: ServerConfig, stack: ExitStack) -> None:
    """Starts every part and registers its end with `stack`.

    Raises InvalidInput when a port or folder is taken or can't be used, or when what is stored is damaged.
    """
    _lock(config.data, stack)
    try:
        state_machine = MetastoreStateMachine(RocksDbStore(config.data / "store"))
        stack.callback(state_machine.close)
        replica = SyncObjReplica(config.name, config.raft, config.peers, state_machine, config.data / "raft")
    except (CannotStart, StoreError) as error:
        raise InvalidInput(str(error)) from None
    stack.callback(replica.close)
    store = ReplicatedStore(replica, state_machine, now_ms)

    collector = Collector(
        config.name,
        LakeWriter(config.lake, config.name, config.collect.flush_s),
        lambda: _clusters(store),
        lambda: store.status().live_members,
        config.collect.interval_s,
        config.collect.timeout_s,
    )
    collector.start()
    stack.callback(collector.stop)

    admins = ClusterAdmins(lambda name: store.read_local().cluster(name), _connect)
    stack.callback(admins.close)
    driver = Driver(ReplicatedExecutionStore(store), admins, now_ms=now_ms)
    stack.callback(driver.close)
    loop = LeaderLoop(store.is_leader, driver.tick, config.execute.tick_s)
    loop.start()
    stack.callback(loop.stop)

    _start_grpc(config, store, collector, stack)
    registry = CollectorRegistry()
    registry.register(MemberMetrics(store, collector.collects))
    http = HttpServer(config.http, registry, lambda: _not_ready(store))
    http.start()
    stack.callback(http.stop)


def _start_grpc(config: ServerConfig, store: ReplicatedStore, collector: Collector, stack: ExitStack) -> None:
    server = grpc.server(
        ThreadPoolExecutor(_RPC_THREADS, thread_name_prefix="rpc"),
        interceptors=[ErrorInterceptor()],
        options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.so_reuseport", 0),
        ],
    )
    federation_pb2_grpc.add_FederationServicer_to_server(
        FederationServicer(store, _connect_for_rpc, collector.collects, config.lake), server
    )
    # Guardian listens on loopback only as long as it has no TLS: whoever reaches it owns the machine.
    policy = ApprovalPolicy(author_may_approve=True)
    admin_for = connect_by_name(lambda name: store.read_local().cluster(name), _connect_for_rpc)
    tickets_pb2_grpc.add_TicketsServicer_to_server(TicketsServicer(store, admin_for, policy, now_ms), server)
    tiering_pb2_grpc.add_TieringServicer_to_server(TieringServicer(store), server)
    servicer = health.HealthServicer()
    for service in ("", *_SERVICES):
        servicer.set(service, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    reflection.enable_server_reflection((*_SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    try:
        server.add_insecure_port(config.grpc)
    except RuntimeError:
        raise InvalidInput(f"grpc is {config.grpc!r}, which can't be listened on: is another member running?") from None
    server.start()
    stack.callback(lambda: server.stop(_GRACE_S).wait())


def _connect(cluster: Cluster) -> KafkaAdmin:
    return KafkaControl(cluster)


def _connect_for_rpc(cluster: Cluster) -> KafkaAdmin:
    """Somebody waits: a cluster that is down must be said so before the client gives up."""
    return KafkaControl(cluster, timeout_s=_RPC_KAFKA_TIMEOUT_S)


def _not_ready(store: ReplicatedStore) -> str | None:
    try:
        store.barrier(timeout_s=1.0)
    except Unavailable as error:
        return str(error)
    return None


def _clusters(store: ReplicatedStore) -> tuple[Cluster, ...]:
    """For the collector, which knows the errors of guardian.errors only: any other would end its thread."""
    try:
        return store.read_local().clusters()
    except StoreError as error:
        raise Unavailable(str(error)) from error


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
