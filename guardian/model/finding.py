"""What Guardian's detectors find: something that is wrong with a cluster, and lasts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple


class FindingKind(IntEnum):
    """From the gravest on. Values are those of the wire; lower-case names are the label `kind` of the metrics."""

    TOPIC_OFFLINE = 1  # a partition has no leader
    TOPIC_AT_RISK = 2  # what was acknowledged is on one copy, or may be lost with the next one
    SLOW_DISK = 3  # slower than its peers, though it has no more to do
    LINE_NEAR_LIMIT = 4  # a line between IDCs, in its busiest minute
    TOPIC_WEAK = 5  # the settings allow acknowledged data to be on one copy


class Detector(StrEnum):
    """Who looks."""

    DURABILITY = "durability"
    DISKS = "disks"
    LINKS = "links"


class Place(NamedTuple):
    """Where a detector looks; an empty cluster stands for all of them."""

    detector: Detector
    cluster: str


class Subject(NamedTuple):
    """What is wrong with what: by this a finding is known from one look to the next."""

    kind: FindingKind
    cluster: str
    name: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one look saw. `since_ms`: the detector knows it to have been so already then; 0: it knows of now alone."""

    subject: Subject
    evidence: str
    show: str
    since_ms: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """A sighting that has outlasted its grace period. `show` is the command that shows more."""

    subject: Subject
    evidence: str
    show: str
    since_ms: int
    last_seen_ms: int


@dataclass(frozen=True, slots=True)
class LastLook:
    """When a detector looked last with success, and when without; 0: never. `error`: of the last look, if it failed."""

    looked_at_ms: int = 0
    failed_at_ms: int = 0
    error: str = ""
