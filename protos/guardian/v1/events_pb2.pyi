from protos.guardian.v1 import access_pb2 as _access_pb2
from protos.guardian.v1 import tickets_pb2 as _tickets_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_KIND_UNSPECIFIED: _ClassVar[EventKind]
    TICKET_CREATED: _ClassVar[EventKind]
    TICKET_MOVED: _ClassVar[EventKind]
    TICKET_AMENDED: _ClassVar[EventKind]
    THROTTLE_CHANGED: _ClassVar[EventKind]
    FINDING_RAISED: _ClassVar[EventKind]
    FINDING_ENDED: _ClassVar[EventKind]
EVENT_KIND_UNSPECIFIED: EventKind
TICKET_CREATED: EventKind
TICKET_MOVED: EventKind
TICKET_AMENDED: EventKind
THROTTLE_CHANGED: EventKind
FINDING_RAISED: EventKind
FINDING_ENDED: EventKind

class Event(_message.Message):
    __slots__ = ("id", "at_ms", "kind", "cluster", "summary", "ticket_id", "ticket_kind", "author", "actor", "reason", "from_state", "to_state", "moves", "bytes_to_copy", "changes", "left_out", "finding")
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    TICKET_KIND_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FROM_STATE_FIELD_NUMBER: _ClassVar[int]
    TO_STATE_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    BYTES_TO_COPY_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    FINDING_FIELD_NUMBER: _ClassVar[int]
    id: int
    at_ms: int
    kind: EventKind
    cluster: str
    summary: str
    ticket_id: str
    ticket_kind: str
    author: str
    actor: str
    reason: str
    from_state: _tickets_pb2.TicketState
    to_state: _tickets_pb2.TicketState
    moves: int
    bytes_to_copy: int
    changes: _containers.RepeatedCompositeFieldContainer[ThrottleChange]
    left_out: int
    finding: str
    def __init__(self, id: _Optional[int] = ..., at_ms: _Optional[int] = ..., kind: _Optional[_Union[EventKind, str]] = ..., cluster: _Optional[str] = ..., summary: _Optional[str] = ..., ticket_id: _Optional[str] = ..., ticket_kind: _Optional[str] = ..., author: _Optional[str] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., from_state: _Optional[_Union[_tickets_pb2.TicketState, str]] = ..., to_state: _Optional[_Union[_tickets_pb2.TicketState, str]] = ..., moves: _Optional[int] = ..., bytes_to_copy: _Optional[int] = ..., changes: _Optional[_Iterable[_Union[ThrottleChange, _Mapping]]] = ..., left_out: _Optional[int] = ..., finding: _Optional[str] = ...) -> None: ...

class ThrottleChange(_message.Message):
    __slots__ = ("scope", "key", "before", "after", "why")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    scope: str
    key: str
    before: str
    after: str
    why: str
    def __init__(self, scope: _Optional[str] = ..., key: _Optional[str] = ..., before: _Optional[str] = ..., after: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ("after", "last", "from_ms", "follow", "cluster", "ticket_id", "kinds", "until_ms")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    after: int
    last: int
    from_ms: int
    follow: bool
    cluster: str
    ticket_id: str
    kinds: _containers.RepeatedScalarFieldContainer[EventKind]
    until_ms: int
    def __init__(self, after: _Optional[int] = ..., last: _Optional[int] = ..., from_ms: _Optional[int] = ..., follow: _Optional[bool] = ..., cluster: _Optional[str] = ..., ticket_id: _Optional[str] = ..., kinds: _Optional[_Iterable[_Union[EventKind, str]]] = ..., until_ms: _Optional[int] = ...) -> None: ...

class ListSinksRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSinksReply(_message.Message):
    __slots__ = ("sinks",)
    SINKS_FIELD_NUMBER: _ClassVar[int]
    sinks: _containers.RepeatedCompositeFieldContainer[SinkStatus]
    def __init__(self, sinks: _Optional[_Iterable[_Union[SinkStatus, _Mapping]]] = ...) -> None: ...

class SinkStatus(_message.Message):
    __slots__ = ("name", "delivered", "newest", "behind_ms", "error")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    BEHIND_MS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    name: str
    delivered: int
    newest: int
    behind_ms: int
    error: str
    def __init__(self, name: _Optional[str] = ..., delivered: _Optional[int] = ..., newest: _Optional[int] = ..., behind_ms: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class PutEvents(_message.Message):
    __slots__ = ("cursors", "trim_below", "max_trimmed", "raised", "ended")
    CURSORS_FIELD_NUMBER: _ClassVar[int]
    TRIM_BELOW_FIELD_NUMBER: _ClassVar[int]
    MAX_TRIMMED_FIELD_NUMBER: _ClassVar[int]
    RAISED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    cursors: _containers.RepeatedCompositeFieldContainer[SinkCursor]
    trim_below: int
    max_trimmed: int
    raised: _containers.RepeatedCompositeFieldContainer[Call]
    ended: _containers.RepeatedCompositeFieldContainer[Call]
    def __init__(self, cursors: _Optional[_Iterable[_Union[SinkCursor, _Mapping]]] = ..., trim_below: _Optional[int] = ..., max_trimmed: _Optional[int] = ..., raised: _Optional[_Iterable[_Union[Call, _Mapping]]] = ..., ended: _Optional[_Iterable[_Union[Call, _Mapping]]] = ...) -> None: ...

class Call(_message.Message):
    __slots__ = ("cluster", "finding", "sentence", "since_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FINDING_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    finding: str
    sentence: str
    since_ms: int
    def __init__(self, cluster: _Optional[str] = ..., finding: _Optional[str] = ..., sentence: _Optional[str] = ..., since_ms: _Optional[int] = ...) -> None: ...

class SinkCursor(_message.Message):
    __slots__ = ("sink", "delivered")
    SINK_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    sink: str
    delivered: int
    def __init__(self, sink: _Optional[str] = ..., delivered: _Optional[int] = ...) -> None: ...
