"""Whom a broker, as a leader, lets consumers read from: its replica.selector.class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SELECTOR_CLASS = "replica.selector.class"
IDC_AWARE = "guardian.kafka.IdcAwareReplicaSelector"
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@dataclass(frozen=True, slots=True)
class RackMapping:
    """How an IDC-aware selector finds a rack's IDC: as ReplicaChoice in deploy/broker-plugin does."""

    separator: str
    idc_of_rack: Mapping[str, str] = field(default_factory=dict)

    def idc(self, rack: str) -> str:
        """Return the IDC of a rack as it is named; else what stands before the last separator, the whole name where
        there is none.
        """
        before, separator, _ = rack.rpartition(self.separator)
        return self.idc_of_rack.get(rack, before if separator else rack)


@dataclass(frozen=True, slots=True)
class ReplicaSelector:
    """`class_name` is empty where consumers read from the leader alone. `mapping` is None where the selector is another
    one, and where the plugin does not tell."""

    class_name: str = ""
    mapping: RackMapping | None = None
