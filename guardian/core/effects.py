"""All that a decision can ask the driver to send to Kafka. An effect is data: repeating one does no harm.

The driver sends a step's effects in their order, each after it has made sure that it still leads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from guardian.model.topology import TopicPartition


class ConfigKey(NamedTuple):
    """One key of a resource's dynamic configuration; `resource_type` is BROKER or TOPIC."""

    resource_type: str
    resource_name: str
    key: str


class ConfigChange(NamedTuple):
    """From `expected` to `value`; None is a key that is not set."""

    expected: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """Compare and set: a key changes only where its present value is still the expected one."""

    changes: Mapping[ConfigKey, ConfigChange]


@dataclass(frozen=True, slots=True)
class AlterReassignments:
    """Starts reassignments, or cancels them where the target is None."""

    targets: Mapping[TopicPartition, tuple[int, ...] | None]


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


Effect = AlterConfigs | AlterReassignments | AlterReplicaLogDirs | ElectLeaders
