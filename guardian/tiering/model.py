"""What is known of a partition's tiered segments, and what a remote store holds of them: two accounts of one thing.

The metadata (`LiveSegment`, `PartitionSummary`) is what brokers told Guardian. A `StoredFile` is what lies in the
remote store, whoever put it there. `rules/comparing.py` compares the two.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from guardian.errors import InvalidInput
from guardian.model.segment import RemoteLogSegmentState
from guardian.model.text import uuid_text

UUID_BYTES = 16


def uuid_bytes(text: str) -> bytes:
    """The inverse. Raises InvalidInput when the text is no id of Kafka's."""
    try:
        value = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        value = b""
    if len(value) != UUID_BYTES or uuid_text(value) != text:
        raise InvalidInput(f"{text!r} is no id of Kafka's: use its 22 letters, digits, - and _")
    return value


class TopicIdPartition(NamedTuple):
    """A partition of one incarnation of a topic, in one Kafka cluster."""

    cluster_id: str
    topic_id: bytes
    partition: int


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """A segment that is not yet deleted. `broker_id` and `at_ms` (the broker's clock) are those of its newest state;
    `custom_metadata` is the storage plugin's own, where it has any."""

    id: bytes
    state: RemoteLogSegmentState
    broker_id: int
    at_ms: int
    start_offset: int
    end_offset: int
    size_bytes: int
    leader_epochs: Mapping[int, int]
    max_timestamp_ms: int = 0
    txn_index_empty: bool = False
    custom_metadata: bytes = b""

    @property
    def is_finished(self) -> bool:
        return self.state is RemoteLogSegmentState.COPY_SEGMENT_FINISHED

    @property
    def is_copying(self) -> bool:
        return self.state is RemoteLogSegmentState.COPY_SEGMENT_STARTED

    @property
    def is_being_deleted(self) -> bool:
        return self.state is RemoteLogSegmentState.DELETE_SEGMENT_STARTED


@dataclass(frozen=True, slots=True)
class SegmentChange:
    """A later state of a segment, told by a broker at `at_ms` of its clock. `custom_metadata` is empty where it says
    nothing new."""

    state: RemoteLogSegmentState
    broker_id: int
    at_ms: int
    custom_metadata: bytes = b""


@dataclass(frozen=True, slots=True)
class PartitionClaim:
    """Who may append to a partition. `claimed_at_ms` is Guardian's clock; no `leader_epoch`: claimed in claim order."""

    fencing_token: int
    broker_id: int
    writer: str
    leader_epoch: int | None
    claimed_at_ms: int
    topic: str = ""


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """`swept_*` counts segments that were deleted without their copy ever having been finished."""

    partition: TopicIdPartition
    first_event_id: int
    next_event_id: int
    live_segments: int
    live_bytes: int
    is_deleted: bool = False
    swept_segments: int = 0
    swept_bytes: int = 0
    claim: PartitionClaim | None = None


class FileKind(Enum):
    """What of a segment a file holds."""

    LOG = "log"
    OFFSET_INDEX = "index"
    TIME_INDEX = "timeindex"
    TRANSACTION_INDEX = "txnindex"
    PRODUCER_SNAPSHOT = "snapshot"
    LEADER_EPOCHS = "leader_epoch_checkpoint"
    INDEXES = "indexes"  # all of them in one file
    PARTIAL = "partial"  # written under a passing name while its copy is under way


class SegmentName(NamedTuple):
    """Whose a file is, as its path says it."""

    topic_id: bytes
    partition: int
    segment_id: bytes


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the remote store. One without `segment` does not belong to the store's layout at all."""

    path: str
    size_bytes: int
    modified_ms: int
    segment: SegmentName | None = None
    kind: FileKind | None = None
    topic: str = field(default="", compare=False)  # its name, where the layout tells it
