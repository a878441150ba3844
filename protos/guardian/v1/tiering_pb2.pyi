from protos.guardian.v1 import access_pb2 as _access_pb2
from protos.guardian.v1 import sessions_pb2 as _sessions_pb2
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

class AppendErrorKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPEND_ERROR_KIND_UNSPECIFIED: _ClassVar[AppendErrorKind]
    APPEND_INVALID: _ClassVar[AppendErrorKind]
    INVALID_TRANSITION: _ClassVar[AppendErrorKind]
    FENCED_LEADER_EPOCH: _ClassVar[AppendErrorKind]
    BELONGS_ELSEWHERE: _ClassVar[AppendErrorKind]
    PARTITION_DELETED: _ClassVar[AppendErrorKind]
    NOT_VERIFIED: _ClassVar[AppendErrorKind]

class FenceMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLAIM_ORDER: _ClassVar[FenceMode]
    VERIFIED: _ClassVar[FenceMode]

class IdKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ID_KIND_UNSPECIFIED: _ClassVar[IdKind]
    TOPIC_ID: _ClassVar[IdKind]
    SEGMENT_ID: _ClassVar[IdKind]
REMOTE_LOG_SEGMENT_STATE_UNSPECIFIED: RemoteLogSegmentState
COPY_SEGMENT_STARTED: RemoteLogSegmentState
COPY_SEGMENT_FINISHED: RemoteLogSegmentState
DELETE_SEGMENT_STARTED: RemoteLogSegmentState
DELETE_SEGMENT_FINISHED: RemoteLogSegmentState
APPEND_ERROR_KIND_UNSPECIFIED: AppendErrorKind
APPEND_INVALID: AppendErrorKind
INVALID_TRANSITION: AppendErrorKind
FENCED_LEADER_EPOCH: AppendErrorKind
BELONGS_ELSEWHERE: AppendErrorKind
PARTITION_DELETED: AppendErrorKind
NOT_VERIFIED: AppendErrorKind
CLAIM_ORDER: FenceMode
VERIFIED: FenceMode
ID_KIND_UNSPECIFIED: IdKind
TOPIC_ID: IdKind
SEGMENT_ID: IdKind

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
    __slots__ = ("segment_id", "state", "broker_id", "event_timestamp_ms", "start_offset", "end_offset", "max_timestamp_ms", "segment_size_bytes", "segment_leader_epochs", "custom_metadata", "txn_index_empty")
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
    TXN_INDEX_EMPTY_FIELD_NUMBER: _ClassVar[int]
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
    txn_index_empty: bool
    def __init__(self, segment_id: _Optional[bytes] = ..., state: _Optional[_Union[RemoteLogSegmentState, str]] = ..., broker_id: _Optional[int] = ..., event_timestamp_ms: _Optional[int] = ..., start_offset: _Optional[int] = ..., end_offset: _Optional[int] = ..., max_timestamp_ms: _Optional[int] = ..., segment_size_bytes: _Optional[int] = ..., segment_leader_epochs: _Optional[_Mapping[int, int]] = ..., custom_metadata: _Optional[bytes] = ..., txn_index_empty: _Optional[bool] = ...) -> None: ...

class PartitionEvents(_message.Message):
    __slots__ = ("partition", "events", "fencing_token")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    events: _containers.RepeatedCompositeFieldContainer[SegmentEvent]
    fencing_token: int
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., events: _Optional[_Iterable[_Union[SegmentEvent, _Mapping]]] = ..., fencing_token: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("partition", "next_event_id", "error", "error_kind", "fencing_token")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_KIND_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    next_event_id: int
    error: str
    error_kind: AppendErrorKind
    fencing_token: int
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., next_event_id: _Optional[int] = ..., error: _Optional[str] = ..., error_kind: _Optional[_Union[AppendErrorKind, str]] = ..., fencing_token: _Optional[int] = ...) -> None: ...

class StreamSegmentEventsRequest(_message.Message):
    __slots__ = ("session", "append")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    APPEND_FIELD_NUMBER: _ClassVar[int]
    session: _sessions_pb2.SessionRef
    append: AppendSegmentEventsRequest
    def __init__(self, session: _Optional[_Union[_sessions_pb2.SessionRef, _Mapping]] = ..., append: _Optional[_Union[AppendSegmentEventsRequest, _Mapping]] = ...) -> None: ...

class StreamSegmentEventsReply(_message.Message):
    __slots__ = ("append", "code", "error", "retry_after_ms")
    APPEND_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    append: AppendSegmentEventsReply
    code: int
    error: str
    retry_after_ms: int
    def __init__(self, append: _Optional[_Union[AppendSegmentEventsReply, _Mapping]] = ..., code: _Optional[int] = ..., error: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class ClaimPartitionsRequest(_message.Message):
    __slots__ = ("partitions", "broker_id", "writer", "mode", "topics")
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[TopicIdPartition]
    broker_id: int
    writer: str
    mode: FenceMode
    topics: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, partitions: _Optional[_Iterable[_Union[TopicIdPartition, _Mapping]]] = ..., broker_id: _Optional[int] = ..., writer: _Optional[str] = ..., mode: _Optional[_Union[FenceMode, str]] = ..., topics: _Optional[_Iterable[str]] = ...) -> None: ...

class ClaimPartitionsReply(_message.Message):
    __slots__ = ("claims",)
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    claims: _containers.RepeatedCompositeFieldContainer[Claim]
    def __init__(self, claims: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("partition", "fencing_token", "error", "error_kind", "next_event_id")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_KIND_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    fencing_token: int
    error: str
    error_kind: AppendErrorKind
    next_event_id: int
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., fencing_token: _Optional[int] = ..., error: _Optional[str] = ..., error_kind: _Optional[_Union[AppendErrorKind, str]] = ..., next_event_id: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("groups", "next_event_id")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[EventGroup]
    next_event_id: int
    def __init__(self, groups: _Optional[_Iterable[_Union[EventGroup, _Mapping]]] = ..., next_event_id: _Optional[int] = ...) -> None: ...

class EventGroup(_message.Message):
    __slots__ = ("first_event_id", "events")
    FIRST_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    first_event_id: int
    events: _containers.RepeatedCompositeFieldContainer[SegmentEvent]
    def __init__(self, first_event_id: _Optional[int] = ..., events: _Optional[_Iterable[_Union[SegmentEvent, _Mapping]]] = ...) -> None: ...

class FollowSegmentEventsRequest(_message.Message):
    __slots__ = ("add", "drop", "until_caught_up")
    ADD_FIELD_NUMBER: _ClassVar[int]
    DROP_FIELD_NUMBER: _ClassVar[int]
    UNTIL_CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    add: _containers.RepeatedCompositeFieldContainer[FollowPartition]
    drop: _containers.RepeatedCompositeFieldContainer[TopicIdPartition]
    until_caught_up: bool
    def __init__(self, add: _Optional[_Iterable[_Union[FollowPartition, _Mapping]]] = ..., drop: _Optional[_Iterable[_Union[TopicIdPartition, _Mapping]]] = ..., until_caught_up: _Optional[bool] = ...) -> None: ...

class FollowPartition(_message.Message):
    __slots__ = ("partition", "from_event_id")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    FROM_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    from_event_id: int
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., from_event_id: _Optional[int] = ...) -> None: ...

class FollowSegmentEventsReply(_message.Message):
    __slots__ = ("partition", "groups", "next_event_id", "caught_up", "out_of_range", "deleted")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    OUT_OF_RANGE_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    groups: _containers.RepeatedCompositeFieldContainer[EventGroup]
    next_event_id: int
    caught_up: bool
    out_of_range: bool
    deleted: bool
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[EventGroup, _Mapping]]] = ..., next_event_id: _Optional[int] = ..., caught_up: _Optional[bool] = ..., out_of_range: _Optional[bool] = ..., deleted: _Optional[bool] = ...) -> None: ...

class ListLiveSegmentsRequest(_message.Message):
    __slots__ = ("partition",)
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ...) -> None: ...

class ListLiveSegmentsReply(_message.Message):
    __slots__ = ("segments", "next_event_id", "gone_highest_offsets")
    class GoneHighestOffsetsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    GONE_HIGHEST_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[SegmentEvent]
    next_event_id: int
    gone_highest_offsets: _containers.ScalarMap[int, int]
    def __init__(self, segments: _Optional[_Iterable[_Union[SegmentEvent, _Mapping]]] = ..., next_event_id: _Optional[int] = ..., gone_highest_offsets: _Optional[_Mapping[int, int]] = ...) -> None: ...

class ListPartitionsRequest(_message.Message):
    __slots__ = ("cluster_id", "topic_id")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    topic_id: bytes
    def __init__(self, cluster_id: _Optional[str] = ..., topic_id: _Optional[bytes] = ...) -> None: ...

class ListPartitionsReply(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionSummary]
    def __init__(self, partitions: _Optional[_Iterable[_Union[PartitionSummary, _Mapping]]] = ...) -> None: ...

class PartitionSummary(_message.Message):
    __slots__ = ("partition", "first_event_id", "next_event_id", "live_segments", "live_bytes", "deleted", "swept_segments", "swept_bytes", "claim")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    FIRST_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    NEXT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIVE_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    LIVE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    SWEPT_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    SWEPT_BYTES_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    partition: TopicIdPartition
    first_event_id: int
    next_event_id: int
    live_segments: int
    live_bytes: int
    deleted: bool
    swept_segments: int
    swept_bytes: int
    claim: PartitionClaim
    def __init__(self, partition: _Optional[_Union[TopicIdPartition, _Mapping]] = ..., first_event_id: _Optional[int] = ..., next_event_id: _Optional[int] = ..., live_segments: _Optional[int] = ..., live_bytes: _Optional[int] = ..., deleted: _Optional[bool] = ..., swept_segments: _Optional[int] = ..., swept_bytes: _Optional[int] = ..., claim: _Optional[_Union[PartitionClaim, _Mapping]] = ...) -> None: ...

class PartitionClaim(_message.Message):
    __slots__ = ("fencing_token", "broker_id", "writer", "leader_epoch", "claimed_at_ms", "topic")
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    fencing_token: int
    broker_id: int
    writer: str
    leader_epoch: int
    claimed_at_ms: int
    topic: str
    def __init__(self, fencing_token: _Optional[int] = ..., broker_id: _Optional[int] = ..., writer: _Optional[str] = ..., leader_epoch: _Optional[int] = ..., claimed_at_ms: _Optional[int] = ..., topic: _Optional[str] = ...) -> None: ...

class DeletePartitionsRequest(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[TopicIdPartition]
    def __init__(self, partitions: _Optional[_Iterable[_Union[TopicIdPartition, _Mapping]]] = ...) -> None: ...

class DeletePartitionsReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AllocateIdsRequest(_message.Message):
    __slots__ = ("cluster_id", "kind", "count")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    kind: IdKind
    count: int
    def __init__(self, cluster_id: _Optional[str] = ..., kind: _Optional[_Union[IdKind, str]] = ..., count: _Optional[int] = ...) -> None: ...

class AllocateIdsReply(_message.Message):
    __slots__ = ("first", "ids")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    first: int
    ids: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, first: _Optional[int] = ..., ids: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetIdsRequest(_message.Message):
    __slots__ = ("cluster_id", "kind")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    kind: IdKind
    def __init__(self, cluster_id: _Optional[str] = ..., kind: _Optional[_Union[IdKind, str]] = ...) -> None: ...

class GetIdsReply(_message.Message):
    __slots__ = ("highest",)
    HIGHEST_FIELD_NUMBER: _ClassVar[int]
    highest: int
    def __init__(self, highest: _Optional[int] = ...) -> None: ...
