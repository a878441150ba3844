"""What Kafka says of a cluster at one moment: read once, frozen, then reasoned about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from guardian.model.text import Text
from guardian.model.topology import TopicPartition


@dataclass(frozen=True, slots=True)
class BrokerNode:
    """A broker that the cluster knows and that is not fenced."""

    id: int
    host: str
    port: int
    rack: str = ""


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str
    brokers: Mapping[int, BrokerNode]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """`leader` is -1 when there is none. The first of `replicas` is the preferred leader.

    `leader_epoch` tells which of two brokers knows better; -1: not told. States are equal whatever it is.
    """

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_epoch: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class Eligible:
    """Name who may lead a partition without loss though not in sync (KIP-966), and who led it last, where nobody
    does."""

    replicas: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EligibleLeaders:
    """Hold what controllers keep of eligible leader replicas. `is_kept` is False where the feature is off, or Kafka too
    old; `partitions` lacks those that have none."""

    is_kept: bool
    partitions: Mapping[TopicPartition, Eligible] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Stands where a state would, when no answer decides it. It is neither absent nor as it was; `reason` is for
    people."""

    reason: Text


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """What one broker says of its cluster, right or stale. `brokers` are those that are not fenced, as it says.

    A topic that was made anew has a new id; its leader epochs begin again.
    """

    cluster_id: str
    brokers: Mapping[int, BrokerNode]
    partitions: Mapping[TopicPartition, PartitionState]
    topic_ids: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What can be believed of a cluster now. Who is left out of `brokers` does not live; what is left out of
    `partitions` does not exist. `doubt` says why nothing is known beyond what is listed; empty: the lists are whole."""

    cluster_id: str
    brokers: Mapping[int, BrokerNode | Unknown]
    partitions: Mapping[TopicPartition, PartitionState | Unknown]
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class FencedServer:
    """A broker that the controllers have fenced and that still answers clients from old metadata. `leads` counts the
    partitions that it says it leads: what they take with acks=1 is lost."""

    broker: int
    address: str
    leads: int

    @property
    def title(self) -> str:
        return f"broker {self.broker} is fenced and still answers clients at {self.address}"


@dataclass(frozen=True, slots=True)
class Leadership:
    """Who leads a partition, as one broker says; `leader` is -1 when there is none. Of two brokers the one with the
    higher leader epoch knows better."""

    leader: int
    epoch: int


PartitionOfId = tuple[bytes, int]  # the 16 bytes of a topic id, partition


@dataclass(frozen=True, slots=True)
class BrokerView:
    """What one broker says, right or stale: which brokers are not fenced, and who leads."""

    brokers: frozenset[int]
    leaders: Mapping[PartitionOfId, Leadership]


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A reassignment in flight; `replicas` holds the union while it lasts."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LogDirReplica:
    """A replica in a log dir. A future replica is a copy on its way in; `lag` is what it still lacks, in offsets."""

    size_bytes: int
    lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDir:
    """`error` is empty when the log dir is online. Sizes are bytes; -1 where the broker does not tell."""

    broker: int
    path: str
    error: str = ""
    total_bytes: int = -1
    usable_bytes: int = -1
    replicas: Mapping[TopicPartition, LogDirReplica] = field(default_factory=dict)
    future_replicas: Mapping[TopicPartition, LogDirReplica] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What Kafka said of a cluster, all of it, at one moment. `partitions` were read before `log_dirs`."""

    cluster: str
    at_ms: int
    brokers: Mapping[int, BrokerNode]
    partitions: Mapping[TopicPartition, PartitionState]
    reassignments: Mapping[TopicPartition, Reassignment]
    log_dirs: tuple[LogDir, ...]

    def replicas_of(self, partition: TopicPartition) -> tuple[int, ...]:
        """Return where the replicas are, or will be when the partition's reassignment is over."""
        reassignment = self.reassignments.get(partition)
        removing = reassignment.removing if reassignment else ()
        return tuple(broker for broker in self.partitions[partition].replicas if broker not in removing)

    def broken(self) -> set[int]:
        """Brokers with a log dir that failed."""
        return {log_dir.broker for log_dir in self.log_dirs if log_dir.error}

    def unseen(self) -> Iterator[tuple[TopicPartition, int]]:
        """Replicas that a broker has and does not show on any log dir, though none of its log dirs is offline."""
        shown = {(partition, log_dir.broker) for log_dir in self.log_dirs for partition in log_dir.replicas}
        broken = self.broken()
        for partition in self.partitions:
            if partition not in self.reassignments:
                for broker in self.replicas_of(partition):
                    if (partition, broker) not in shown and broker in self.brokers and broker not in broken:
                        yield partition, broker


@dataclass(frozen=True, slots=True)
class ClusterObservation:
    """All that a decision of the executor needs, for the partitions that it asked about.

    `partitions` lacks the partitions whose topic does not exist. `configs` maps (resource type, resource name)
    to the dynamic configuration set there, of throttles and of tiered storage alone: keys that are not set are absent.
    `min_insync` is the min.insync.replicas in force of the topics that have a reassignment in flight.
    `unknown_brokers` and `unknown_partitions` are in neither `brokers` nor `partitions`: nothing may be concluded from
    that. `doubt` is that of the view. `fenced_servers` are looked for where a broker of the scope does not live.
    """

    observed_at_ms: int
    brokers: Mapping[int, BrokerNode]
    partitions: Mapping[TopicPartition, PartitionState]
    reassignments: Mapping[TopicPartition, Reassignment]
    log_dirs: tuple[LogDir, ...]
    configs: Mapping[tuple[str, str], Mapping[str, str]]
    min_insync: Mapping[str, int] = field(default_factory=dict)
    unknown_brokers: Mapping[int, Unknown] = field(default_factory=dict)
    unknown_partitions: Mapping[TopicPartition, Unknown] = field(default_factory=dict)
    doubt: str = ""
    fenced_servers: tuple[FencedServer, ...] = ()

    def log_dir_of(self, partition: TopicPartition, broker: int) -> str | None:
        """The log dir that holds the broker's current (not future) replica, or None when there is none."""
        for log_dir in self.log_dirs:
            if log_dir.broker == broker and partition in log_dir.replicas:
                return log_dir.path
        return None

    def future_log_dir_of(self, partition: TopicPartition, broker: int) -> str | None:
        """The log dir that an inter-disk move is copying the broker's replica into, or None."""
        for log_dir in self.log_dirs:
            if log_dir.broker == broker and partition in log_dir.future_replicas:
                return log_dir.path
        return None


class ConfigOrigin(Enum):
    """Where a value in force is set. Values are Kafka's own codes, and those of our wire."""

    TOPIC = 1
    BROKER = 2  # on the broker that answered, while it runs
    ALL_BROKERS = 3  # likewise, on the resource without a name
    BROKER_FILE = 4  # in the file of the broker that answered
    DEFAULT = 5


ORIGIN_WORDS: Mapping[int, str] = {
    ConfigOrigin.TOPIC.value: "topic",
    ConfigOrigin.BROKER.value: "broker",
    ConfigOrigin.ALL_BROKERS.value: "all brokers",
    ConfigOrigin.BROKER_FILE.value: "broker's file",
    ConfigOrigin.DEFAULT.value: "Kafka's default",
}


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A key in force that is no default. `value` is None where Kafka hides it. `otherwise` is what would be in force if
    this were not set, as Kafka names it there (log.retention.hours=168); empty: nothing."""

    key: str
    value: str | None
    origin: ConfigOrigin
    otherwise: str = ""
    otherwise_origin: ConfigOrigin | None = None
