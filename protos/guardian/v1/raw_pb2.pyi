from protos.guardian.v1 import sessions_pb2 as _sessions_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RawCommandReply(_message.Message):
    __slots__ = ("error_kind", "error", "segment_events")
    ERROR_KIND_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EVENTS_FIELD_NUMBER: _ClassVar[int]
    error_kind: int
    error: str
    segment_events: bytes
    def __init__(self, error_kind: _Optional[int] = ..., error: _Optional[str] = ..., segment_events: _Optional[bytes] = ...) -> None: ...

class RawAppendRequest(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, partitions: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RawPartitionEvents(_message.Message):
    __slots__ = ("partition", "events", "fencing_token")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    partition: bytes
    events: _containers.RepeatedScalarFieldContainer[bytes]
    fencing_token: int
    def __init__(self, partition: _Optional[bytes] = ..., events: _Optional[_Iterable[bytes]] = ..., fencing_token: _Optional[int] = ...) -> None: ...

class RawAppendReply(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[RawAppendResult]
    def __init__(self, results: _Optional[_Iterable[_Union[RawAppendResult, _Mapping]]] = ...) -> None: ...

class RawAppendResult(_message.Message):
    __slots__ = ("partition", "next_event_id", "error", "error_kind", "fencing_token")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_KIND_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    partition: bytes
    next_event_id: int
    error: str
    error_kind: int
    fencing_token: int
    def __init__(self, partition: _Optional[bytes] = ..., next_event_id: _Optional[int] = ..., error: _Optional[str] = ..., error_kind: _Optional[int] = ..., fencing_token: _Optional[int] = ...) -> None: ...

class CheckedAppend(_message.Message):
    __slots__ = ("parts",)
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedCompositeFieldContainer[CheckedPart]
    def __init__(self, parts: _Optional[_Iterable[_Union[CheckedPart, _Mapping]]] = ...) -> None: ...

class CheckedPart(_message.Message):
    __slots__ = ("partition", "fencing_token", "segment_ids", "states", "sizes", "events")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_IDS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    partition: bytes
    fencing_token: int
    segment_ids: bytes
    states: bytes
    sizes: bytes
    events: bytes
    def __init__(self, partition: _Optional[bytes] = ..., fencing_token: _Optional[int] = ..., segment_ids: _Optional[bytes] = ..., states: _Optional[bytes] = ..., sizes: _Optional[bytes] = ..., events: _Optional[bytes] = ...) -> None: ...

class RawEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, events: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RawStreamRequest(_message.Message):
    __slots__ = ("session", "append")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    APPEND_FIELD_NUMBER: _ClassVar[int]
    session: _sessions_pb2.SessionRef
    append: bytes
    def __init__(self, session: _Optional[_Union[_sessions_pb2.SessionRef, _Mapping]] = ..., append: _Optional[bytes] = ...) -> None: ...

class RawStreamReply(_message.Message):
    __slots__ = ("append", "code", "error", "retry_after_ms")
    APPEND_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    append: bytes
    code: int
    error: str
    retry_after_ms: int
    def __init__(self, append: _Optional[bytes] = ..., code: _Optional[int] = ..., error: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class PlainEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[PlainSegmentEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[PlainSegmentEvent, _Mapping]]] = ...) -> None: ...

class PlainSegmentEvent(_message.Message):
    __slots__ = ("segment_id", "state", "broker_id", "event_timestamp_ms", "start_offset", "end_offset", "max_timestamp_ms", "segment_size_bytes", "segment_leader_epochs", "custom_metadata", "txn_index_empty")
    SEGMENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    MAX_TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_LEADER_EPOCHS_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_METADATA_FIELD_NUMBER: _ClassVar[int]
    TXN_INDEX_EMPTY_FIELD_NUMBER: _ClassVar[int]
    segment_id: bytes
    state: int
    broker_id: int
    event_timestamp_ms: int
    start_offset: int
    end_offset: int
    max_timestamp_ms: int
    segment_size_bytes: int
    segment_leader_epochs: _containers.RepeatedCompositeFieldContainer[PlainEpoch]
    custom_metadata: bytes
    txn_index_empty: bool
    def __init__(self, segment_id: _Optional[bytes] = ..., state: _Optional[int] = ..., broker_id: _Optional[int] = ..., event_timestamp_ms: _Optional[int] = ..., start_offset: _Optional[int] = ..., end_offset: _Optional[int] = ..., max_timestamp_ms: _Optional[int] = ..., segment_size_bytes: _Optional[int] = ..., segment_leader_epochs: _Optional[_Iterable[_Union[PlainEpoch, _Mapping]]] = ..., custom_metadata: _Optional[bytes] = ..., txn_index_empty: _Optional[bool] = ...) -> None: ...

class PlainEpoch(_message.Message):
    __slots__ = ("leader_epoch", "start_offset")
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    leader_epoch: int
    start_offset: int
    def __init__(self, leader_epoch: _Optional[int] = ..., start_offset: _Optional[int] = ...) -> None: ...

class SegmentUpdate(_message.Message):
    __slots__ = ("state", "broker_id", "event_timestamp_ms", "custom_metadata")
    STATE_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_METADATA_FIELD_NUMBER: _ClassVar[int]
    state: int
    broker_id: int
    event_timestamp_ms: int
    custom_metadata: bytes
    def __init__(self, state: _Optional[int] = ..., broker_id: _Optional[int] = ..., event_timestamp_ms: _Optional[int] = ..., custom_metadata: _Optional[bytes] = ...) -> None: ...
