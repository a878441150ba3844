"""What a decision can ask the driver to send to Kafka, and how Kafka refuses it. Repeating an effect does no harm.

The driver sends a step's effects in their order, each after it has made sure that it still leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from guardian.model.acl import AclBinding
from guardian.model.owned_setting import OwnedSetting
from guardian.model.topology import TopicPartition

CORDONED = "cordoned.log.dirs"
BROKER, TOPIC = "BROKER", "TOPIC"  # types of Kafka's resources
# Of Kafka's topic configurations those that a person changes; what a throttle sets is the executor's.
TOPIC_CONFIGS = frozenset(
    {
        "cleanup.policy", "compression.type", "delete.retention.ms", "file.delete.delay.ms", "flush.messages",
        "flush.ms", "local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms", "max.message.bytes",
        "message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type",
        "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "retention.bytes", "retention.ms",
        "segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
    }
)  # fmt: skip


class ConfigKey(NamedTuple):
    """One key of a resource's dynamic configuration; `resource_type` is BROKER or TOPIC."""

    resource_type: str
    resource_name: str
    key: str

    @classmethod
    def of(cls, setting: OwnedSetting) -> Self:
        return cls(setting.resource_type, setting.resource_name, setting.key)


class ConfigChange(NamedTuple):
    """From `expected` to `value`; None is a key that is not set."""

    expected: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """Compare and set: a key changes only where its present value is still the expected one."""

    changes: Mapping[ConfigKey, ConfigChange]


@dataclass(frozen=True, slots=True)
class SettleDebts:
    """Puts back the configuration of brokers that are down, through a controller, which can't compare first."""

    values: Mapping[ConfigKey, str | None]


def was_never_set(key: str, replaced: str | None, refusal: str) -> bool:
    """Return whether a controller refused to delete a key that its `metadata.version` does not know: no broker has it
    then. So it is with cordons below 4.3-IV0, as while a cluster is upgraded."""
    return key == CORDONED and replaced is None and refusal.startswith("INVALID_CONFIG")


@dataclass(frozen=True, slots=True)
class AlterReassignments:
    """Starts reassignments, or cancels them where the target is None.

    Kafka refuses a target of another replication factor, unless it `changes_replication_factor` on purpose.
    """

    targets: Mapping[TopicPartition, tuple[int, ...] | None]
    changes_replication_factor: bool = False


@dataclass(frozen=True, slots=True)
class NewTopic:
    """All partitions of a topic, from 0 on, with the brokers of each, and its configuration."""

    assignments: Mapping[int, tuple[int, ...]]
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateTopics:
    """Creates topics by name; one that exists already is left as it is."""

    topics: Mapping[str, NewTopic]


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    """More partitions of topics that exist, with the brokers of each; their numbers follow those that are there."""

    assignments: Mapping[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class AlterReplicaLogDirs:
    """Moves replicas (partition, broker) into a log dir of their broker.

    With `ahead`, the replicas are not there yet: the brokers refuse, and remember the log dir for when they come.
    """

    targets: Mapping[tuple[TopicPartition, int], str]
    ahead: bool = False


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """Makes the first replica of each partition its leader."""

    partitions: tuple[TopicPartition, ...]


Effect = (
    AlterConfigs
    | SettleDebts
    | AlterReassignments
    | AlterReplicaLogDirs
    | ElectLeaders
    | CreateTopics
    | CreatePartitions
)


@dataclass(frozen=True, slots=True)
class CreateAcls:
    """Adds access rules; one that is there stays as it is."""

    acls: tuple[AclBinding, ...]


@dataclass(frozen=True, slots=True)
class DeleteAcls:
    """Takes out exactly these access rules."""

    acls: tuple[AclBinding, ...]


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    """Deletes topics, each only while it still has this id (16 bytes): one made anew under its name stays."""

    ids: Mapping[str, bytes]


RequestEffect = CreateAcls | DeleteAcls | AlterConfigs | CreateTopics | DeleteTopics


class Refusal(str):
    """Hold Kafka's words for people. `is_final`: asked again as it is, the request is never carried out.
    `names_brokers`: a broker that it names can't have the replica; it may come back, so it is asked for again, but not
    for ever."""

    __slots__ = ("is_final", "names_brokers")
    is_final: bool
    names_brokers: bool

    def __new__(cls, words: str, *, is_final: bool = False, names_brokers: bool = False) -> Refusal:
        made = super().__new__(cls, words)
        made.is_final = is_final
        made.names_brokers = names_brokers
        return made


def is_final(why: str) -> bool:
    """Return whether asking again is of no use; of plain words nobody knows."""
    return isinstance(why, Refusal) and why.is_final


def names_brokers(why: str) -> bool:
    """Return whether a broker that the request names is at fault; of plain words nobody knows."""
    return isinstance(why, Refusal) and why.names_brokers


def about(subject: object, why: str) -> Refusal:
    """Return the refusal with what it is about before its words."""
    return Refusal(f"{subject}: {why}", is_final=is_final(why), names_brokers=names_brokers(why))


def first_final(refused: Iterable[str]) -> str:
    """Return the words of the first that is final; empty: none is."""
    return next((str(why) for why in refused if is_final(why)), "")
