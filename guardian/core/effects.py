"""All that a decision can ask the driver to send to Kafka. An effect is data: repeating one does no harm.

The driver sends a step's effects in their order, each after it has made sure that it still leads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from guardian.model.acl import AclBinding
from guardian.model.owned_setting import OwnedSetting
from guardian.model.topology import TopicPartition

CORDONED = "cordoned.log.dirs"
BROKER, TOPIC = "BROKER", "TOPIC"  # types of Kafka's resources


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
