from protos.guardian.v1 import federation_pb2 as _federation_pb2
from protos.guardian.v1 import tickets_pb2 as _tickets_pb2
from protos.guardian.v1 import tiering_pb2 as _tiering_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_KIND_UNSPECIFIED: _ClassVar[ErrorKind]
    INVALID: _ClassVar[ErrorKind]
    NOT_FOUND: _ClassVar[ErrorKind]
    CONFLICT: _ClassVar[ErrorKind]
ERROR_KIND_UNSPECIFIED: ErrorKind
INVALID: ErrorKind
NOT_FOUND: ErrorKind
CONFLICT: ErrorKind

class Command(_message.Message):
    __slots__ = ("proposed_at_ms", "barrier", "put_cluster", "drop_cluster", "put_plan_chunk", "add_ticket", "advance_ticket", "append_segment_events")
    PROPOSED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    BARRIER_FIELD_NUMBER: _ClassVar[int]
    PUT_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    DROP_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    PUT_PLAN_CHUNK_FIELD_NUMBER: _ClassVar[int]
    ADD_TICKET_FIELD_NUMBER: _ClassVar[int]
    ADVANCE_TICKET_FIELD_NUMBER: _ClassVar[int]
    APPEND_SEGMENT_EVENTS_FIELD_NUMBER: _ClassVar[int]
    proposed_at_ms: int
    barrier: Barrier
    put_cluster: PutCluster
    drop_cluster: DropCluster
    put_plan_chunk: PutPlanChunk
    add_ticket: AddTicket
    advance_ticket: AdvanceTicket
    append_segment_events: _tiering_pb2.AppendSegmentEventsRequest
    def __init__(self, proposed_at_ms: _Optional[int] = ..., barrier: _Optional[_Union[Barrier, _Mapping]] = ..., put_cluster: _Optional[_Union[PutCluster, _Mapping]] = ..., drop_cluster: _Optional[_Union[DropCluster, _Mapping]] = ..., put_plan_chunk: _Optional[_Union[PutPlanChunk, _Mapping]] = ..., add_ticket: _Optional[_Union[AddTicket, _Mapping]] = ..., advance_ticket: _Optional[_Union[AdvanceTicket, _Mapping]] = ..., append_segment_events: _Optional[_Union[_tiering_pb2.AppendSegmentEventsRequest, _Mapping]] = ...) -> None: ...

class CommandReply(_message.Message):
    __slots__ = ("error_kind", "error", "ticket", "segment_events")
    ERROR_KIND_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EVENTS_FIELD_NUMBER: _ClassVar[int]
    error_kind: ErrorKind
    error: str
    ticket: _tickets_pb2.Ticket
    segment_events: _tiering_pb2.AppendSegmentEventsReply
    def __init__(self, error_kind: _Optional[_Union[ErrorKind, str]] = ..., error: _Optional[str] = ..., ticket: _Optional[_Union[_tickets_pb2.Ticket, _Mapping]] = ..., segment_events: _Optional[_Union[_tiering_pb2.AppendSegmentEventsReply, _Mapping]] = ...) -> None: ...

class Barrier(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PutCluster(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: _federation_pb2.Cluster
    def __init__(self, cluster: _Optional[_Union[_federation_pb2.Cluster, _Mapping]] = ...) -> None: ...

class DropCluster(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class PutPlanChunk(_message.Message):
    __slots__ = ("plan_hash", "chunk", "chunks", "data")
    PLAN_HASH_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    plan_hash: str
    chunk: int
    chunks: int
    data: bytes
    def __init__(self, plan_hash: _Optional[str] = ..., chunk: _Optional[int] = ..., chunks: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class AddTicket(_message.Message):
    __slots__ = ("ticket",)
    TICKET_FIELD_NUMBER: _ClassVar[int]
    ticket: _tickets_pb2.Ticket
    def __init__(self, ticket: _Optional[_Union[_tickets_pb2.Ticket, _Mapping]] = ...) -> None: ...

class AdvanceTicket(_message.Message):
    __slots__ = ("ticket_id", "expected_state", "transition", "execution", "expected_execution_revision")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATE_FIELD_NUMBER: _ClassVar[int]
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_EXECUTION_REVISION_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    expected_state: _tickets_pb2.TicketState
    transition: _tickets_pb2.TicketTransition
    execution: _tickets_pb2.Execution
    expected_execution_revision: int
    def __init__(self, ticket_id: _Optional[str] = ..., expected_state: _Optional[_Union[_tickets_pb2.TicketState, str]] = ..., transition: _Optional[_Union[_tickets_pb2.TicketTransition, _Mapping]] = ..., execution: _Optional[_Union[_tickets_pb2.Execution, _Mapping]] = ..., expected_execution_revision: _Optional[int] = ...) -> None: ...
