"""Records of Kafka's topic __remote_log_metadata, in which its own manager keeps what Guardian keeps in its store.

    unsigned varints: version of the frame, 1 · kind of message · version of the message
    the message itself, in Kafka's compact encoding

    0   a copy has begun: all that is known of the segment       2   a partition is deleted
    1   a segment is in another state                            3   of brokers' own files, and never in the topic

Source: KIP-405, AbstractApiMessageSerde of Kafka 4.3, and storage/src/main/resources/message/*.json of Kafka's later
source, which has version 1 beside the 0 that 3.9 to 4.3 write. Tagged fields but TxnIndexEmpty are passed over: those
of version 1 tell of the leader who wrote the record, and change no segment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from guardian.errors import InvalidInput
from guardian.model.segment import RemoteLogSegmentState
from guardian.tiering.model import UUID_BYTES, LiveSegment, SegmentChange, SegmentName

_FRAME = 1
_NEWEST_VERSION = 1
_VARINT_BYTES = 5
_TXN_INDEX_EMPTY = 0  # a tag
_COPY_STARTED = RemoteLogSegmentState.COPY_SEGMENT_STARTED
# On Kafka's wire; Guardian's numbers begin at 1.
_STATES = dict(enumerate(RemoteLogSegmentState))
_PARTITION_DELETED = 2
_PARTITION_STATES = (0, 1, _PARTITION_DELETED)


@dataclass(frozen=True, slots=True)
class CopyStarted:
    """The first record of a segment, with all that is known of it."""

    name: SegmentName
    topic: str
    segment: LiveSegment


@dataclass(frozen=True, slots=True)
class StateChanged:
    """A later record of a segment."""

    name: SegmentName
    topic: str
    change: SegmentChange


@dataclass(frozen=True, slots=True)
class PartitionDeleted:
    """A partition's segments are to be deleted; `is_finished`: they are."""

    topic_id: bytes
    partition: int
    topic: str
    is_finished: bool


MetadataRecord: TypeAlias = CopyStarted | StateChanged | PartitionDeleted


def decode(value: bytes | None) -> MetadataRecord:
    """Return what a record of the topic says. Raises InvalidInput when it can't be read as one."""
    if not value:
        raise InvalidInput("the record is empty: Kafka's manager never writes such a one")
    reader = _Reader(value)
    frame, kind, version = reader.varint(), reader.varint(), reader.varint()
    if frame != _FRAME:
        raise InvalidInput(f"version of the record's frame is {frame}: only {_FRAME} can be read")
    if kind not in _DECODERS:
        raise InvalidInput(f"kind of message is {kind}: those of the topic are 0, 1 and 2")
    if version > _NEWEST_VERSION:
        raise InvalidInput(f"version of message {kind} is {version}: 0 to {_NEWEST_VERSION} can be read")
    record = _DECODERS[kind](reader)
    if reader.left:
        raise InvalidInput(f"{reader.left} bytes follow message {kind}: nothing should")
    return record


class _Reader:
    """Reads one message from its start to its end. Every method raises InvalidInput when the message is too short."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise InvalidInput(f"the record ends after {len(self._data)} bytes: {count - self.left} are missing")
        found = self._data[self._at : self._at + count]
        self._at += count
        return found

    def varint(self) -> int:
        value = 0
        for position in range(_VARINT_BYTES):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << 7 * position
            if byte < 0x80:
                return value
        raise InvalidInput(f"a number has more than {_VARINT_BYTES} bytes: Kafka's have fewer")

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big", signed=True)

    def flag(self) -> bool:
        return self.take(1) != b"\0"

    def text(self) -> str:
        found = self.nullable_bytes()
        if found is None:
            raise InvalidInput("a topic's name is null: every topic has one")
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise InvalidInput(f"a topic's name is {found!r}: names are UTF-8") from None

    def nullable_bytes(self) -> bytes | None:
        length = self.varint()
        return self.take(length - 1) if length else None

    def tags(self) -> dict[int, bytes]:
        """The tagged fields that end each structure."""
        found = {}
        for _ in range(self.varint()):
            tag = self.varint()
            found[tag] = self.take(self.varint())
        return found


def _copy_started(reader: _Reader) -> CopyStarted:
    name, topic = _segment_name(reader)
    start_offset, end_offset = reader.number(8), reader.number(8)
    broker_id = reader.number(4)
    max_timestamp_ms, at_ms = reader.number(8), reader.number(8)
    epochs = _leader_epochs(reader)
    size_bytes = reader.number(4)
    custom_metadata = reader.nullable_bytes() or b""
    state = _state(reader)
    tags = reader.tags()
    segment = LiveSegment(
        name.segment_id,
        state,
        broker_id,
        at_ms,
        start_offset,
        end_offset,
        size_bytes,
        epochs,
        max_timestamp_ms,
        _Reader(tags[_TXN_INDEX_EMPTY]).flag() if _TXN_INDEX_EMPTY in tags else False,
        custom_metadata,
    )
    _require_sound(segment)
    return CopyStarted(name, topic, segment)


def _require_sound(segment: LiveSegment) -> None:
    if segment.state is not _COPY_STARTED:
        raise InvalidInput(f"state of a new segment is {segment.state.name}: it begins with {_COPY_STARTED.name}")
    if not 0 <= segment.start_offset <= segment.end_offset:
        raise InvalidInput(
            f"offsets are {segment.start_offset} to {segment.end_offset}: they begin at 0 or more, and do not go back"
        )
    if segment.size_bytes < 0:
        raise InvalidInput(f"size of the segment is {segment.size_bytes}: it is 0 or more")
    if not segment.leader_epochs:
        raise InvalidInput("the segment has no leader epochs: it has at least one")


def _state_changed(reader: _Reader) -> StateChanged:
    name, topic = _segment_name(reader)
    broker_id, at_ms = reader.number(4), reader.number(8)
    custom_metadata = reader.nullable_bytes() or b""
    state = _state(reader)
    reader.tags()
    if state is _COPY_STARTED:
        raise InvalidInput(f"a later state of a segment is {state.name}: only its first is")
    return StateChanged(name, topic, SegmentChange(state, broker_id, at_ms, custom_metadata))


def _partition_deleted(reader: _Reader) -> PartitionDeleted:
    topic_id, partition, topic = _partition(reader)
    reader.number(4)  # the broker
    reader.number(8)  # when
    state = reader.number(1)
    reader.tags()
    if state not in _PARTITION_STATES:
        raise InvalidInput(f"state of a deleted partition is {state}: it is 0, 1 or 2")
    return PartitionDeleted(topic_id, partition, topic, state == _PARTITION_DELETED)


def _of_a_file(_reader: _Reader) -> MetadataRecord:
    raise InvalidInput("message 3 is of a broker's own file: it names no partition")


def _partition(reader: _Reader) -> tuple[bytes, int, str]:
    topic, topic_id, partition = reader.text(), reader.take(UUID_BYTES), reader.number(4)
    reader.tags()
    if partition < 0:
        raise InvalidInput(f"partition of topic {topic} is {partition}: it is 0 or more")
    return topic_id, partition, topic


def _segment_name(reader: _Reader) -> tuple[SegmentName, str]:
    topic_id, partition, topic = _partition(reader)
    segment_id = reader.take(UUID_BYTES)
    reader.tags()
    return SegmentName(topic_id, partition, segment_id), topic


def _leader_epochs(reader: _Reader) -> dict[int, int]:
    epochs = {}
    for _ in range(reader.varint() - 1):
        epoch, start_offset = reader.number(4), reader.number(8)
        reader.tags()
        epochs[epoch] = start_offset
    return epochs


def _state(reader: _Reader) -> RemoteLogSegmentState:
    number = reader.number(1)
    if number not in _STATES:
        raise InvalidInput(f"state of a segment is {number}: it is 0 to {max(_STATES)}")
    return _STATES[number]


_DECODERS: dict[int, Callable[[_Reader], MetadataRecord]] = {
    0: _copy_started,
    1: _state_changed,
    2: _partition_deleted,
    3: _of_a_file,
}
