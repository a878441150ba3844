from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RemoteLogSegmentState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REMOTE_LOG_SEGMENT_STATE_UNSPECIFIED: _ClassVar[RemoteLogSegmentState]
    COPY_SEGMENT_STARTED: _ClassVar[RemoteLogSegmentState]
    COPY_SEGMENT_FINISHED: _ClassVar[RemoteLogSegmentState]
    DELETE_SEGMENT_STARTED: _ClassVar[RemoteLogSegmentState]
    DELETE_SEGMENT_FINISHED: _ClassVar[RemoteLogSegmentState]
REMOTE_LOG_SEGMENT_STATE_UNSPECIFIED: RemoteLogSegmentState
COPY_SEGMENT_STARTED: RemoteLogSegmentState
COPY_SEGMENT_FINISHED: RemoteLogSegmentState
DELETE_SEGMENT_STARTED: RemoteLogSegmentState
DELETE_SEGMENT_FINISHED: RemoteLogSegmentState

class TopicIdPartition(_message.Message):
    __slots__ = ("cluster_id", "topic_id", "partition")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    topic_id: bytes
    partition: int
    def __init__(self, cluster_id: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ...) -> None: ...

class SegmentEvent(_message.Message):
    __slots__ = ("segment_id", "state", "broker_id", "event_timestamp_ms", "start_offset", "end_offset", "max_timestamp_ms", "segment_size_bytes", "segment_leader_epochs", "custom_metadata")
    class SegmentLeaderEpochsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
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
    segment_id: bytes
    state: RemoteLogSegmentState
    broker_id: int
    event_timestamp_ms: int
    start_offset: int
    end_offset: int
    max_timestamp_ms: int
    segment_size_bytes: int
    segment_leader_epochs: _containers.ScalarMap[int, int]
    custom_metadata: bytes
    def __init__(self, segment_id: _Optional[bytes] = ..., state: _Optional[_Union[RemoteLogSegmentState, str]] = ..., broker_id: _Optional[int] = ..., event_timestamp_ms: _Optional[int] = ..., start_offset: _Optional[int] = ..., end_offset: _Optional[int] = ..., max_timestamp_ms: _Optional[int] = ..., segment_size_bytes: _Optional[int] = ..., segment_leader_epochs: _Optional[_Mapping[int, int]] = ..., custom_metadata: _Optional[bytes] = ...) -> None: ...

class PartitionEvents(_message.Message):
    __slots__ = ("partition", "events")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    events: _containers.RepeatedCompositeFieldContainer[SegmentEvent]
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., events: _Optional[_Iterable[_Union[SegmentEvent, _Mapping]]] = ...) -> None: ...

class AppendSegmentEventsRequest(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionEvents]
    def __init__(self, partitions: _Optional[_Iterable[_Union[PartitionEvents, _Mapping]]] = ...) -> None: ...

class AppendSegmentEventsReply(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[PartitionAppendResult]
    def __init__(self, results: _Optional[_Iterable[_Union[PartitionAppendResult, _Mapping]]] = ...) -> None: ...

class PartitionAppendResult(_message.Message):
    __slots__ = ("partition", "next_event_id", "error")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    next_event_id: int
    error: str
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., next_event_id: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class PullSegmentEventsRequest(_message.Message):
    __slots__ = ("partition", "from_event_id", "max_events")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    FROM_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_EVENTS_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    from_event_id: int
    max_events: int
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., from_event_id: _Optional[int] = ..., max_events: _Optional[int] = ...) -> None: ...

class PullSegmentEventsReply(_message.Message):
    __slots__ = ("events", "next_event_id")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[StoredSegmentEvent]
    next_event_id: int
    def __init__(self, events: _Optional[_Iterable[_Union[StoredSegmentEvent, _Mapping]]] = ..., next_event_id: _Optional[int] = ...) -> None: ...

class StoredSegmentEvent(_message.Message):
    __slots__ = ("event_id", "event")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event_id: int
    event: SegmentEvent
    def __init__(self, event_id: _Optional[int] = ..., event: _Optional[_Union[SegmentEvent, _Mapping]] = ...) -> None: ...

class ListLiveSegmentsRequest(_message.Message):
    __slots__ = ("partition",)
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ...) -> None: ...

class ListLiveSegmentsReply(_message.Message):
    __slots__ = ("segments", "next_event_id")
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SegmentEvent]
    next_event_id: int
    def __init__(self, segments: _Optional[_Iterable[_Union[SegmentEvent, _Mapping]]] = ..., next_event_id: _Optional[int] = ...) -> None: ...
