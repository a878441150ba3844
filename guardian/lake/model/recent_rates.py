"""What the newest samples of the lake say of a cluster's partitions and brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from guardian.model.topology import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionRate:
    """Bytes/s written to the leader and read from it by consumers, and messages/s written."""

    written: float = 0.0
    read: float = 0.0
    messages: float = 0.0


@dataclass(frozen=True, slots=True)
class Rates:
    """`cpu` is percent of one core that the broker's host is busy, `nics` bytes/s each way. What is not known is
    absent; `remark` says why nothing is."""

    partitions: Mapping[TopicPartition, PartitionRate] = field(default_factory=dict)
    cpu: Mapping[int, float] = field(default_factory=dict)
    cores: Mapping[int, int] = field(default_factory=dict)
    nics: Mapping[int, float] = field(default_factory=dict)
    remark: str = ""
