"""A member in this process: the real services over gRPC on a free port, a store of one, Kafka in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import grpc

from guardian.core.ticketing import ApprovalPolicy
from guardian.kafka.fake import FakeKafka
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import Cluster, TopicPartition
from guardian.server.admins import connect_by_name
from guardian.server.errors import ErrorInterceptor
from guardian.server.federation import FederationServicer
from guardian.server.store import ReplicatedStore
from guardian.server.tickets import TicketsServicer
from guardian.wire.federation import cluster_to_proto
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import federation_pb2_grpc, tickets_pb2_grpc
from raft.errors import NoLeader
from raft.inmem import InMemoryReplica

T0 = TopicPartition("t", 0)


class Replica(InMemoryReplica):
    """A group of one that can be without a leader, and can follow."""

    def __init__(self, machine: MetastoreStateMachine) -> None:
        super().__init__("g1", machine)
        self.has_leader = True
        self.leads = True

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        if not self.has_leader:
            raise NoLeader("nobody leads")
        return super().propose(command, timeout_s)

    def is_leader(self) -> bool:
        return self.leads


class Kafka(FakeKafka):
    """Counts the connections."""

    opened = 0
    closed = 0

    def close(self) -> None:
        self.closed += 1


class Member:
    """Serves from the start until `stop`. Cluster "live" has brokers 1 to 3 and topic t with one partition on 1, 2.

    Members that are given the same machine share one state, as members of a group do.
    """

    def __init__(self, machine: MetastoreStateMachine | None = None, author_may_approve: bool = True) -> None:
        self.machine = machine or MetastoreStateMachine(MemoryStore())
        self.replica = Replica(self.machine)
        self.now_ms = 1000
        self.store = ReplicatedStore(self.replica, self.machine, lambda: self.now_ms)
        self.kafka = Kafka({1: "a", 2: "b", 3: "c"}, dict.fromkeys((1, 2, 3), ("/d0", "/d1")))
        self.kafka.create_topic("t", {0: [1, 2]}, 10)
        if machine is None:
            self.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake")))
        self._server = grpc.server(ThreadPoolExecutor(8), interceptors=[ErrorInterceptor()])
        tickets = TicketsServicer(
            self.store,
            connect_by_name(lambda name: self.store.read_local().cluster(name), self._connect),
            ApprovalPolicy(author_may_approve),
            lambda: self.now_ms,
        )
        federation = FederationServicer(self.store, self._connect, lambda: ["live/2", "live/1"], "/lake")
        tickets_pb2_grpc.add_TicketsServicer_to_server(tickets, self._server)
        federation_pb2_grpc.add_FederationServicer_to_server(federation, self._server)
        self.endpoint = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()

    def _connect(self, _cluster: Cluster) -> FakeKafka:
        self.kafka.opened += 1
        return self.kafka


def plan(*target: int, cluster: str = "live", write_rate: float = 0.0) -> Plan:
    """One move, of t-0."""
    places = tuple(map(ReplicaPlacement, target))
    return Plan(cluster, "balance", (PartitionMove(T0, (), places, write_rate=write_rate),))
