"""What a member is made of, by capability: app.py makes it, leading.py and endpoints.py use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guardian.activity.store.store import ActivityStore
from guardian.collection.loop.collector import Collector
from guardian.collection.store import KnownFederation
from guardian.config import ServerConfig
from guardian.events.loop.sinks import EventSinks
from guardian.execution.loop.hooks import HookRunner
from guardian.execution.loop.operating import Operations
from guardian.execution.loop.replanning import LiveReplanner
from guardian.healing.loop.healing import Healer
from guardian.health.loop.findings import FindingsWatch
from guardian.health.loop.sources import Sources
from guardian.lake.loop import LakeKeeper
from guardian.lake.store.writer import LakeWriter
from guardian.links.loop.line_room import LineRoom
from guardian.member.connecting import KafkaAccess
from guardian.model.topology import Cluster
from guardian.planning.service.planning import LivePlanner
from guardian.protection.loop.protecting import Protector
from guardian.protection.loop.protection import DiskWatch
from guardian.replication.store.group_clock import GroupClock
from guardian.replication.store.state import MetastoreStateMachine
from guardian.replication.store.store import ReplicatedStore
from guardian.security.service.certificates import CertificateWatch
from guardian.security.service.tls import GrpcTls, HttpTls, PemFiles
from guardian.serving.counting import PortCounters
from guardian.serving.rules.shares import PortShares
from guardian.tickets.service.approvals import Approvals
from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.verifying import LeaderFinder
from raft.replica import RaftReplica


@dataclass(frozen=True, slots=True)
class GroupParts:
    """This member of the Raft group, and what is replicated. `founded` is the feature level at which its group was
    founded; 0: not known."""

    replica: RaftReplica
    state_machine: MetastoreStateMachine
    clock: GroupClock
    store: ReplicatedStore
    founded: int

    def cluster(self, name: str) -> Cluster | None:
        """Return the registered cluster of this name, as this member knows it."""
        return self.store.read_local().cluster(name)


@dataclass(frozen=True, slots=True)
class CollectionParts:
    """`activity` is None where no client activity is kept; `lake_keeper` tidies while the member leads."""

    known: KnownFederation
    collector: Collector
    lake: LakeWriter
    lake_keeper: LakeKeeper
    activity: ActivityStore | None


@dataclass(frozen=True, slots=True)
class TlsParts:
    """TLS of the member's own ports, None where one speaks plain text; `files` are those of both."""

    grpc: GrpcTls | None
    http: HttpTls | None
    files: tuple[PemFiles, ...]
    certificates: CertificateWatch


@dataclass(frozen=True, slots=True)
class HealthParts:
    sources: Sources
    findings: FindingsWatch


@dataclass(frozen=True, slots=True)
class ExecutionParts:
    """What tickets are carried out with, beside the driver, which is the leader's."""

    hooks: HookRunner
    operations: Operations
    replanner: LiveReplanner


@dataclass(frozen=True, slots=True)
class ProtectionParts:
    protector: Protector
    watch: DiskWatch


@dataclass(frozen=True, slots=True)
class TieringParts:
    finder: LeaderFinder
    counters: TieringCounters


@dataclass(frozen=True, slots=True)
class MemberParts:
    """What runs in a member, whether it leads or not."""

    config: ServerConfig
    shares: PortShares
    approvals: Approvals
    group: GroupParts
    collection: CollectionParts
    tls: TlsParts
    kafka: KafkaAccess
    health: HealthParts
    planner: LivePlanner
    execution: ExecutionParts
    healer: Healer
    protection: ProtectionParts
    lines: LineRoom
    sinks: EventSinks
    port_counters: Mapping[str, PortCounters]
    """By the name of the port in the configuration."""
