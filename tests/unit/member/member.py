"""A member in this process: the real services over gRPC on a free port, a store of one, Kafka in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import grpc.aio

from deploy.local import ports
from guardian.activity.store.store import ActivityStore
from guardian.federation.rules.documents import policy_of
from guardian.healing.loop.healing import Healer
from guardian.healing.model import HealingPolicies
from guardian.health.loop.findings import FindingsWatch
from guardian.health.loop.sources import Sources
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.fake import FakeKafka
from guardian.links.loop.replica_selectors import AskMappings, nobody_tells
from guardian.member.services import Parts, register
from guardian.model.federation import APPROVAL_POLICY
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, Task
from guardian.model.ticket import MAX_EXECUTION_BYTES
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.planning.model import Lane
from guardian.planning.service.planning import LivePlanner
from guardian.protection.loop.protection import DiskWatch
from guardian.replication.store.documents import StoredDocument
from guardian.replication.store.store import ReplicatedStore
from guardian.security.service.roles import MemberRoles
from guardian.serving.counting import CallCounters
from guardian.serving.grpc_server import GrpcLimits, start_grpc
from guardian.throttle.rules.adapting import ThrottleSettings
from guardian.tickets.service.approvals import Approvals
from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.verifying import LeaderFinder
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from raft.errors import NoLeader
from raft.inmem import InMemoryReplica

T0 = TopicPartition("t", 0)


class Replica(InMemoryReplica):
    """A group of one that can be without a leader, and can follow."""

    def __init__(self, machine: MetastoreStateMachine) -> None:
        super().__init__("g1", machine)
        self.has_leader = True
        self.leads = True
        self.proposed: list[bytes] = []

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        self.proposed.append(command)
        if not self.has_leader:
            raise NoLeader("nobody leads")
        return super().propose(command, timeout_s)

    def read_index(self, timeout_s: float) -> int:
        if not self.has_leader:
            raise NoLeader("nobody leads")
        return super().read_index(timeout_s)

    def is_leader(self) -> bool:
        return self.leads


class Kafka(FakeKafka):
    """Counts the connections."""

    opened = 0
    closed = 0

    def close(self) -> None:
        self.closed += 1


class NoPlans:
    """A planner that is never done."""

    def ask(
        self, key: str, cluster: str, task: Task, settings: PlannerSettings | None = None, *, lane: Lane = Lane.TICKETS
    ) -> None:
        """Not yet."""

    def forget(self, key: str) -> None:
        """Nothing is kept."""


class Member:
    """Serves from the start until `stop`. Cluster "live" has brokers 1 to 3 and topic t with one partition on 1, 2.

    Members that are given the same machine share one state, as members of a group do.
    """

    def __init__(
        self,
        machine: MetastoreStateMachine | None = None,
        author_may_approve: bool = True,
        lake: str = "/lake",
        activity: ActivityStore | None = None,
        links_file: Path | None = None,
        planner: Mapping[str, object] | None = None,
        guarded: Callable[[ReplicatedStore], Sequence[grpc.aio.ServerInterceptor]] = lambda _: (),
        cautions: tuple[str, ...] = (),
        ask_mappings: AskMappings = nobody_tells,
        watch_disks: Callable[[ReplicatedStore], DiskWatch] | None = None,
        throttle: ThrottleSettings | None = None,
        tiered_warm_up_s: float = 0.0,
        max_plan_age_s: float = 0.0,
        credentials: grpc.ServerCredentials | None = None,
        live_planner: LivePlanner | None = None,
        max_ticket_bytes: int = MAX_EXECUTION_BYTES,
        roles: Callable[[MetastoreStateMachine], MemberRoles] | None = None,
    ) -> None:
        self.machine = machine or MetastoreStateMachine(MemoryStore())
        self.replica = Replica(self.machine)
        self.now_ms = 1000
        self.store = ReplicatedStore(self.replica, self.machine, lambda: self.now_ms)
        self.kafka = Kafka({1: "a", 2: "b", 3: "c"}, dict.fromkeys((1, 2, 3), ("/d0", "/d1")))
        self.kafka.create_topic("t", {0: [1, 2]}, 10)
        if machine is None:
            self.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake")))
        # The member tells clients where it is, which it knows only once it listens: a port is picked for it.
        self.endpoint = f"{ports.HOST}:{ports.pick(1)[0]}"
        self.elsewhere: Callable[[Cluster], KafkaAdmin | None] = lambda _: None  # connects to other brokers
        self.counters = TieringCounters()
        self.calls = CallCounters()
        # Its detectors look when a test calls `tick`.
        sources = Sources(self.store, self._connect, lake, lambda: self.now_ms, activity, links_file, ask_mappings)
        self.findings = FindingsWatch(sources, 60_000, 120_000)
        # So does what heals.
        self.healer = Healer(
            self.store,
            self.findings,
            NoPlans(),
            self._connect,
            HealingPolicies(),
            PlannerSettings(),
            lambda: self.now_ms,
        )
        self.disk_watch = watch_disks(self.store) if watch_disks is not None else None
        stored_policy = StoredDocument(self.machine, APPROVAL_POLICY, policy_of)
        self.approvals = Approvals(author_may_approve=author_may_approve, stored=stored_policy.current)
        self._finder = LeaderFinder(self._cluster_by_id, self._connect)
        parts = Parts(
            self.replica,
            self.machine,
            sources,
            lambda: ["live/2", "live/1"],
            self.approvals.policy,
            self.endpoint,
            Path(tempfile.gettempdir()),
            3600.0,
            self._finder,
            self.counters,
            self.findings,
            planner=planner or {},
            live_planner=live_planner,
            healer=self.healer,
            cautions=cautions,
            protection=self.disk_watch,
            protection_mode="off" if self.disk_watch is None else "act",
            throttle=throttle,
            tiered_warm_up_s=tiered_warm_up_s,
            max_plan_age_s=max_plan_age_s,
            max_ticket_bytes=max_ticket_bytes,
            roles=roles(self.machine) if roles is not None else None,
        )
        limits = GrpcLimits(threads=8, grace_s=0.0)
        self._server = start_grpc(
            self.endpoint,
            partial(register, parts),
            credentials=credentials,
            limits=limits,
            counters=self.calls,
            interceptors=guarded(self.store),
        )

    def stop(self) -> None:
        self._server.stop()
        self._finder.close()

    def _cluster_by_id(self, cluster_id: str, timeout_s: float) -> Cluster | None:
        return self.store.read(timeout_s).cluster_by_id(cluster_id)

    def _connect(self, cluster: Cluster) -> KafkaAdmin:
        self.kafka.opened += 1
        return self.elsewhere(cluster) or self.kafka


def plan(*target: int, cluster: str = "live", write_rate: float = 0.0) -> Plan:
    """One move, of t-0."""
    places = tuple(map(ReplicaPlacement, target))
    move = PartitionMove(T0, (), places, write_rate=write_rate)
    return Plan(cluster, "balance", (move,), task=Balance())
