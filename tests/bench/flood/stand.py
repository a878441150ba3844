"""The group that is flooded: three members of this checkout, with tickets that were there before.

The tickets are written by the members' own Raft and store, in this process and before any server runs, since by RPC
each would be checked against a live cluster.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import grpc

from deploy.local import members, processes
from deploy.local.members import Member
from guardian.kafka import data
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore, now_ms
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc
from raft.replica import RaftReplica
from tests.bench.report import BenchFailed

CLUSTER = "live"
_WRITERS = 32
_PARTITIONS = 6
_REPLICAS = 2  # of three brokers: where one is lost, the other has none yet
_RECORDS = 100
_KAFKA_S = 120.0
_HEALING = """
[healing]
mode = "propose"
broker_grace_s = 5.0
"""
WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
_LEADER_S = 60.0
_CAUGHT_UP_S = 120.0


def lay(cluster: Cluster) -> None:
    """Make a topic of which each broker has replicas, with some records: there is something to heal. Raises
    GuardianError."""
    brokers = sorted(broker.id for broker in cluster.brokers)
    places = {
        number: tuple(brokers[(number + step) % len(brokers)] for step in range(_REPLICAS))
        for number in range(_PARTITIONS)
    }
    data.create_topics(cluster, {"flooded": places}, {}, _KAFKA_S)
    producer = data.producer(cluster, acks="all", linger_ms=50)
    for number in range(_RECORDS):
        producer.produce("flooded", bytes(1000), partition=number % _PARTITIONS)
    if producer.flush(_KAFKA_S):
        raise BenchFailed(f"Kafka did not take {_RECORDS} records in {_KAFKA_S:.0f} s")


def fill(planned: tuple[Member, ...], tickets: int, cluster: Cluster, tell: Callable[[str], None]) -> None:
    """Store the cluster and so many drafts in the folders of the members. Raises BenchFailed."""
    with ExitStack() as stack:
        stores = [stack.enter_context(_Writer(member, planned)) for member in planned]
        store = _leading(stores)
        store.put_cluster(cluster_to_proto(cluster))
        move = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),), 1)
        digest = store.put_plan(Plan(CLUSTER, "run-plan", (move,)))

        def add(number: int) -> None:
            at_ms = now_ms()
            store.add_ticket(
                Ticket(f"t-{number:08x}", CLUSTER, "run-plan", TicketState.DRAFT, "ann", digest, 1, at_ms, at_ms, ())
            )

        began = time.monotonic()
        with ThreadPoolExecutor(_WRITERS) as pool:
            list(pool.map(add, range(tickets)))
        tell(f"{tickets:,} tickets are stored in {time.monotonic() - began:.0f} s")


class _Writer:
    """A member of the group in this process: a context manager."""

    def __init__(self, member: Member, planned: tuple[Member, ...]) -> None:
        member.data.mkdir(parents=True, exist_ok=True)
        peers = {other.name: other.raft for other in planned if other.name != member.name}
        self.machine = MetastoreStateMachine(RocksDbStore(member.data / "store"))
        self.replica = RaftReplica(
            member.name, member.raft, peers, self.machine, member.data / "raft", client_address=member.grpc
        )
        self.store = ReplicatedStore(self.replica, self.machine, now_ms)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.replica.close()


def _leading(stores: list[_Writer]) -> ReplicatedStore:
    deadline = time.monotonic() + _LEADER_S
    while time.monotonic() < deadline:
        for each in stores:
            if each.replica.is_leader():
                return each.store
        time.sleep(0.05)
    raise BenchFailed(f"no member of {len(stores)} leads after {_LEADER_S:.0f} s")


def start(planned: tuple[Member, ...], home: Path) -> list[Member]:
    """Start the members, which end when this process does, and wait until they serve."""
    lake = home / "lake"
    lake.mkdir(parents=True, exist_ok=True)
    running = []
    for member in planned:
        member.config.write_text(members.render_config(member, planned, lake, more=_HEALING))
        command = [*WITH_US, sys.executable, "-m", "guardian.cli.main", "server", "--config", str(member.config)]
        running.append(replace(member, process=processes.spawn(command, home / f"{member.name}.log", cwd=home)))
        processes.give_way(running[-1].pid or 0, 0)  # a member of a flooded host gives way to nobody
    members.wait_ready(running)
    return running


def leading(running: list[Member]) -> Member:
    """Return the member that leads. Raises BenchFailed when none does in time."""
    deadline = time.monotonic() + _CAUGHT_UP_S
    while time.monotonic() < deadline:
        for member in running:
            with grpc.insecure_channel(member.grpc, options=[("grpc.enable_http_proxy", 0)]) as channel:
                stub = federation_pb2_grpc.FederationStub(channel)
                with suppress(grpc.RpcError):
                    if stub.GetMember(federation_pb2.GetMemberRequest(), timeout=5.0).leader == member.name:
                        return member
        time.sleep(0.5)
    raise BenchFailed(f"no member says that it leads after {_CAUGHT_UP_S:.0f} s")
