from protos.guardian.v1 import collection_pb2 as _collection_pb2
from protos.guardian.v1 import federation_pb2 as _federation_pb2
from protos.guardian.v1 import protection_pb2 as _protection_pb2
from protos.guardian.v1 import operations_pb2 as _operations_pb2
from protos.guardian.v1 import events_pb2 as _events_pb2
from protos.guardian.v1 import identity_pb2 as _identity_pb2
from protos.guardian.v1 import placement_pb2 as _placement_pb2
from protos.guardian.v1 import tickets_pb2 as _tickets_pb2
from protos.guardian.v1 import tiering_pb2 as _tiering_pb2
from protos.guardian.v1 import user_tasks_pb2 as _user_tasks_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_KIND_UNSPECIFIED: _ClassVar[ErrorKind]
    INVALID: _ClassVar[ErrorKind]
    NOT_FOUND: _ClassVar[ErrorKind]
    CONFLICT: _ClassVar[ErrorKind]
    SESSION_EXPIRED: _ClassVar[ErrorKind]
    BUSY: _ClassVar[ErrorKind]
ERROR_KIND_UNSPECIFIED: ErrorKind
INVALID: ErrorKind
NOT_FOUND: ErrorKind
CONFLICT: ErrorKind
SESSION_EXPIRED: ErrorKind
BUSY: ErrorKind

class Command(_message.Message):
    __slots__ = ("proposed_at_ms", "session", "actor", "agent", "proof", "put_cluster", "drop_cluster", "put_plan_chunk", "add_ticket", "advance_ticket", "open_session", "expire_sessions", "claim_partitions", "allocate_ids", "change_federation", "trim_segment_events", "delete_partitions", "sweep_partitions", "trim_audit", "register_reporter", "join_collection", "ack_collection", "put_collection", "put_protection", "amend_ticket", "put_events", "put_cordons", "record_refusals", "raise_level", "advance_clock", "trim_tickets", "put_user_task", "end_console_session", "put_findings")
    PROPOSED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    PUT_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    DROP_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    PUT_PLAN_CHUNK_FIELD_NUMBER: _ClassVar[int]
    ADD_TICKET_FIELD_NUMBER: _ClassVar[int]
    ADVANCE_TICKET_FIELD_NUMBER: _ClassVar[int]
    OPEN_SESSION_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    CLAIM_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    ALLOCATE_IDS_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FEDERATION_FIELD_NUMBER: _ClassVar[int]
    TRIM_SEGMENT_EVENTS_FIELD_NUMBER: _ClassVar[int]
    DELETE_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    SWEEP_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    TRIM_AUDIT_FIELD_NUMBER: _ClassVar[int]
    REGISTER_REPORTER_FIELD_NUMBER: _ClassVar[int]
    JOIN_COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ACK_COLLECTION_FIELD_NUMBER: _ClassVar[int]
    PUT_COLLECTION_FIELD_NUMBER: _ClassVar[int]
    PUT_PROTECTION_FIELD_NUMBER: _ClassVar[int]
    AMEND_TICKET_FIELD_NUMBER: _ClassVar[int]
    PUT_EVENTS_FIELD_NUMBER: _ClassVar[int]
    PUT_CORDONS_FIELD_NUMBER: _ClassVar[int]
    RECORD_REFUSALS_FIELD_NUMBER: _ClassVar[int]
    RAISE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    ADVANCE_CLOCK_FIELD_NUMBER: _ClassVar[int]
    TRIM_TICKETS_FIELD_NUMBER: _ClassVar[int]
    PUT_USER_TASK_FIELD_NUMBER: _ClassVar[int]
    END_CONSOLE_SESSION_FIELD_NUMBER: _ClassVar[int]
    PUT_FINDINGS_FIELD_NUMBER: _ClassVar[int]
    proposed_at_ms: int
    session: SessionUse
    actor: str
    agent: _identity_pb2.Agent
    proof: _identity_pb2.Proof
    put_cluster: PutCluster
    drop_cluster: DropCluster
    put_plan_chunk: PutPlanChunk
    add_ticket: AddTicket
    advance_ticket: AdvanceTicket
    open_session: OpenSession
    expire_sessions: ExpireSessions
    claim_partitions: ClaimPartitions
    allocate_ids: _tiering_pb2.AllocateIdsRequest
    change_federation: _federation_pb2.ChangeFederationRequest
    trim_segment_events: TrimSegmentEvents
    delete_partitions: _tiering_pb2.DeletePartitionsRequest
    sweep_partitions: SweepPartitions
    trim_audit: TrimAudit
    register_reporter: _federation_pb2.RegisterReporterRequest
    join_collection: JoinCollection
    ack_collection: AckCollection
    put_collection: PutCollection
    put_protection: PutProtection
    amend_ticket: AmendTicket
    put_events: _events_pb2.PutEvents
    put_cordons: _placement_pb2.PutCordons
    record_refusals: RecordRefusals
    raise_level: RaiseLevel
    advance_clock: AdvanceClock
    trim_tickets: TrimTickets
    put_user_task: _user_tasks_pb2.PutUserTask
    end_console_session: EndConsoleSession
    put_findings: KeptFindings
    def __init__(self, proposed_at_ms: _Optional[int] = ..., session: _Optional[_Union[SessionUse, _Mapping]] = ..., actor: _Optional[str] = ..., agent: _Optional[_Union[_identity_pb2.Agent, str]] = ..., proof: _Optional[_Union[_identity_pb2.Proof, str]] = ..., put_cluster: _Optional[_Union[PutCluster, _Mapping]] = ..., drop_cluster: _Optional[_Union[DropCluster, _Mapping]] = ..., put_plan_chunk: _Optional[_Union[PutPlanChunk, _Mapping]] = ..., add_ticket: _Optional[_Union[AddTicket, _Mapping]] = ..., advance_ticket: _Optional[_Union[AdvanceTicket, _Mapping]] = ..., open_session: _Optional[_Union[OpenSession, _Mapping]] = ..., expire_sessions: _Optional[_Union[ExpireSessions, _Mapping]] = ..., claim_partitions: _Optional[_Union[ClaimPartitions, _Mapping]] = ..., allocate_ids: _Optional[_Union[_tiering_pb2.AllocateIdsRequest, _Mapping]] = ..., change_federation: _Optional[_Union[_federation_pb2.ChangeFederationRequest, _Mapping]] = ..., trim_segment_events: _Optional[_Union[TrimSegmentEvents, _Mapping]] = ..., delete_partitions: _Optional[_Union[_tiering_pb2.DeletePartitionsRequest, _Mapping]] = ..., sweep_partitions: _Optional[_Union[SweepPartitions, _Mapping]] = ..., trim_audit: _Optional[_Union[TrimAudit, _Mapping]] = ..., register_reporter: _Optional[_Union[_federation_pb2.RegisterReporterRequest, _Mapping]] = ..., join_collection: _Optional[_Union[JoinCollection, _Mapping]] = ..., ack_collection: _Optional[_Union[AckCollection, _Mapping]] = ..., put_collection: _Optional[_Union[PutCollection, _Mapping]] = ..., put_protection: _Optional[_Union[PutProtection, _Mapping]] = ..., amend_ticket: _Optional[_Union[AmendTicket, _Mapping]] = ..., put_events: _Optional[_Union[_events_pb2.PutEvents, _Mapping]] = ..., put_cordons: _Optional[_Union[_placement_pb2.PutCordons, _Mapping]] = ..., record_refusals: _Optional[_Union[RecordRefusals, _Mapping]] = ..., raise_level: _Optional[_Union[RaiseLevel, _Mapping]] = ..., advance_clock: _Optional[_Union[AdvanceClock, _Mapping]] = ..., trim_tickets: _Optional[_Union[TrimTickets, _Mapping]] = ..., put_user_task: _Optional[_Union[_user_tasks_pb2.PutUserTask, _Mapping]] = ..., end_console_session: _Optional[_Union[EndConsoleSession, _Mapping]] = ..., put_findings: _Optional[_Union[KeptFindings, _Mapping]] = ...) -> None: ...

class CommandReply(_message.Message):
    __slots__ = ("error_kind", "error", "ticket", "segment_events", "session_id", "claims", "ids", "federation", "protection", "swept")
    ERROR_KIND_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_EVENTS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    FEDERATION_FIELD_NUMBER: _ClassVar[int]
    PROTECTION_FIELD_NUMBER: _ClassVar[int]
    SWEPT_FIELD_NUMBER: _ClassVar[int]
    error_kind: ErrorKind
    error: str
    ticket: _tickets_pb2.Ticket
    segment_events: _tiering_pb2.AppendSegmentEventsReply
    session_id: int
    claims: _tiering_pb2.ClaimPartitionsReply
    ids: _tiering_pb2.AllocateIdsReply
    federation: _federation_pb2.ChangeFederationReply
    protection: _protection_pb2.ProtectionState
    swept: int
    def __init__(self, error_kind: _Optional[_Union[ErrorKind, str]] = ..., error: _Optional[str] = ..., ticket: _Optional[_Union[_tickets_pb2.Ticket, _Mapping]] = ..., segment_events: _Optional[_Union[_tiering_pb2.AppendSegmentEventsReply, _Mapping]] = ..., session_id: _Optional[int] = ..., claims: _Optional[_Union[_tiering_pb2.ClaimPartitionsReply, _Mapping]] = ..., ids: _Optional[_Union[_tiering_pb2.AllocateIdsReply, _Mapping]] = ..., federation: _Optional[_Union[_federation_pb2.ChangeFederationReply, _Mapping]] = ..., protection: _Optional[_Union[_protection_pb2.ProtectionState, _Mapping]] = ..., swept: _Optional[int] = ...) -> None: ...

class RaiseLevel(_message.Message):
    __slots__ = ("level",)
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    level: int
    def __init__(self, level: _Optional[int] = ...) -> None: ...

class OpenSession(_message.Message):
    __slots__ = ("window", "owner", "session_id", "user")
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    window: int
    owner: str
    session_id: int
    user: bytes
    def __init__(self, window: _Optional[int] = ..., owner: _Optional[str] = ..., session_id: _Optional[int] = ..., user: _Optional[bytes] = ...) -> None: ...

class SessionUse(_message.Message):
    __slots__ = ("id", "sequence", "answered_below", "user", "content")
    ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_BELOW_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    id: int
    sequence: int
    answered_below: int
    user: bytes
    content: bytes
    def __init__(self, id: _Optional[int] = ..., sequence: _Optional[int] = ..., answered_below: _Optional[int] = ..., user: _Optional[bytes] = ..., content: _Optional[bytes] = ...) -> None: ...

class ExpireSessions(_message.Message):
    __slots__ = ("idle_ms", "max_sessions")
    IDLE_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    idle_ms: int
    max_sessions: int
    def __init__(self, idle_ms: _Optional[int] = ..., max_sessions: _Optional[int] = ...) -> None: ...

class ClaimPartitions(_message.Message):
    __slots__ = ("request", "leader_epochs")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCHS_FIELD_NUMBER: _ClassVar[int]
    request: _tiering_pb2.ClaimPartitionsRequest
    leader_epochs: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, request: _Optional[_Union[_tiering_pb2.ClaimPartitionsRequest, _Mapping]] = ..., leader_epochs: _Optional[_Iterable[int]] = ...) -> None: ...

class TrimSegmentEvents(_message.Message):
    __slots__ = ("partition", "below_event_id")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BELOW_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    partition: _tiering_pb2.TopicIdPartition
    below_event_id: int
    def __init__(self, partition: _Optional[_Union[_tiering_pb2.TopicIdPartition, _Mapping]] = ..., below_event_id: _Optional[int] = ...) -> None: ...

class SweepPartitions(_message.Message):
    __slots__ = ("max_keys",)
    MAX_KEYS_FIELD_NUMBER: _ClassVar[int]
    max_keys: int
    def __init__(self, max_keys: _Optional[int] = ...) -> None: ...

class AdvanceClock(_message.Message):
    __slots__ = ("clocks_ms",)
    CLOCKS_MS_FIELD_NUMBER: _ClassVar[int]
    clocks_ms: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, clocks_ms: _Optional[_Iterable[int]] = ...) -> None: ...

class TrimAudit(_message.Message):
    __slots__ = ("keep_ms", "max_records")
    KEEP_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_RECORDS_FIELD_NUMBER: _ClassVar[int]
    keep_ms: int
    max_records: int
    def __init__(self, keep_ms: _Optional[int] = ..., max_records: _Optional[int] = ...) -> None: ...

class TrimTickets(_message.Message):
    __slots__ = ("keep_ms", "ticket_ids", "plan_hashes")
    KEEP_MS_FIELD_NUMBER: _ClassVar[int]
    TICKET_IDS_FIELD_NUMBER: _ClassVar[int]
    PLAN_HASHES_FIELD_NUMBER: _ClassVar[int]
    keep_ms: int
    ticket_ids: _containers.RepeatedScalarFieldContainer[str]
    plan_hashes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, keep_ms: _Optional[int] = ..., ticket_ids: _Optional[_Iterable[str]] = ..., plan_hashes: _Optional[_Iterable[str]] = ...) -> None: ...

class KeptFindings(_message.Message):
    __slots__ = ("cluster", "at_ms", "findings")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    at_ms: int
    findings: _containers.RepeatedCompositeFieldContainer[KeptFinding]
    def __init__(self, cluster: _Optional[str] = ..., at_ms: _Optional[int] = ..., findings: _Optional[_Iterable[_Union[KeptFinding, _Mapping]]] = ...) -> None: ...

class KeptFinding(_message.Message):
    __slots__ = ("detector", "kind", "subject", "evidence", "show", "since_ms", "is_raised", "brokers", "log_dirs", "replicas", "from_idc", "to_idc", "load", "disks")
    DETECTOR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    SHOW_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    IS_RAISED_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    FROM_IDC_FIELD_NUMBER: _ClassVar[int]
    TO_IDC_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    DISKS_FIELD_NUMBER: _ClassVar[int]
    detector: str
    kind: int
    subject: str
    evidence: str
    show: str
    since_ms: int
    is_raised: bool
    brokers: _containers.RepeatedScalarFieldContainer[int]
    log_dirs: _containers.RepeatedScalarFieldContainer[str]
    replicas: int
    from_idc: str
    to_idc: str
    load: str
    disks: int
    def __init__(self, detector: _Optional[str] = ..., kind: _Optional[int] = ..., subject: _Optional[str] = ..., evidence: _Optional[str] = ..., show: _Optional[str] = ..., since_ms: _Optional[int] = ..., is_raised: _Optional[bool] = ..., brokers: _Optional[_Iterable[int]] = ..., log_dirs: _Optional[_Iterable[str]] = ..., replicas: _Optional[int] = ..., from_idc: _Optional[str] = ..., to_idc: _Optional[str] = ..., load: _Optional[str] = ..., disks: _Optional[int] = ...) -> None: ...

class TicketIndex(_message.Message):
    __slots__ = ("open", "tickets_by_state")
    class TicketsByStateEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    OPEN_FIELD_NUMBER: _ClassVar[int]
    TICKETS_BY_STATE_FIELD_NUMBER: _ClassVar[int]
    open: _containers.RepeatedCompositeFieldContainer[OpenTicket]
    tickets_by_state: _containers.ScalarMap[int, int]
    def __init__(self, open: _Optional[_Iterable[_Union[OpenTicket, _Mapping]]] = ..., tickets_by_state: _Optional[_Mapping[int, int]] = ...) -> None: ...

class OpenTicket(_message.Message):
    __slots__ = ("id", "state", "created_at_ms")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: _tickets_pb2.TicketState
    created_at_ms: int
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[_tickets_pb2.TicketState, str]] = ..., created_at_ms: _Optional[int] = ...) -> None: ...

class RecordRefusals(_message.Message):
    __slots__ = ("refusals",)
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    refusals: _containers.RepeatedCompositeFieldContainer[Refusal]
    def __init__(self, refusals: _Optional[_Iterable[_Union[Refusal, _Mapping]]] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("at_ms", "who", "what", "why", "times", "address")
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    WHO_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    who: str
    what: str
    why: str
    times: int
    address: str
    def __init__(self, at_ms: _Optional[int] = ..., who: _Optional[str] = ..., what: _Optional[str] = ..., why: _Optional[str] = ..., times: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class JoinCollection(_message.Message):
    __slots__ = ("member", "incarnation")
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    member: str
    incarnation: str
    def __init__(self, member: _Optional[str] = ..., incarnation: _Optional[str] = ...) -> None: ...

class AckCollection(_message.Message):
    __slots__ = ("member", "incarnation", "generation")
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    member: str
    incarnation: str
    generation: int
    def __init__(self, member: _Optional[str] = ..., incarnation: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class PutCollection(_message.Message):
    __slots__ = ("assignment",)
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    assignment: _collection_pb2.CollectionAssignment
    def __init__(self, assignment: _Optional[_Union[_collection_pb2.CollectionAssignment, _Mapping]] = ...) -> None: ...

class PutProtection(_message.Message):
    __slots__ = ("protection", "expected_revision", "did")
    PROTECTION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    DID_FIELD_NUMBER: _ClassVar[int]
    protection: _protection_pb2.ProtectionState
    expected_revision: int
    did: str
    def __init__(self, protection: _Optional[_Union[_protection_pb2.ProtectionState, _Mapping]] = ..., expected_revision: _Optional[int] = ..., did: _Optional[str] = ...) -> None: ...

class PutCluster(_message.Message):
    __slots__ = ("cluster", "expected")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    cluster: _federation_pb2.Cluster
    expected: _federation_pb2.Cluster
    def __init__(self, cluster: _Optional[_Union[_federation_pb2.Cluster, _Mapping]] = ..., expected: _Optional[_Union[_federation_pb2.Cluster, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("ticket", "following")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    FOLLOWING_FIELD_NUMBER: _ClassVar[int]
    ticket: _tickets_pb2.Ticket
    following: _containers.RepeatedCompositeFieldContainer[_tickets_pb2.Ticket]
    def __init__(self, ticket: _Optional[_Union[_tickets_pb2.Ticket, _Mapping]] = ..., following: _Optional[_Iterable[_Union[_tickets_pb2.Ticket, _Mapping]]] = ...) -> None: ...

class AdvanceTicket(_message.Message):
    __slots__ = ("ticket_id", "expected_state", "transition", "execution", "expected_execution_revision", "expected_ask_revision", "packed_execution", "expected_policy_revision")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATE_FIELD_NUMBER: _ClassVar[int]
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_EXECUTION_REVISION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_ASK_REVISION_FIELD_NUMBER: _ClassVar[int]
    PACKED_EXECUTION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    expected_state: _tickets_pb2.TicketState
    transition: _tickets_pb2.TicketTransition
    execution: _tickets_pb2.Execution
    expected_execution_revision: int
    expected_ask_revision: int
    packed_execution: bytes
    expected_policy_revision: int
    def __init__(self, ticket_id: _Optional[str] = ..., expected_state: _Optional[_Union[_tickets_pb2.TicketState, str]] = ..., transition: _Optional[_Union[_tickets_pb2.TicketTransition, _Mapping]] = ..., execution: _Optional[_Union[_tickets_pb2.Execution, _Mapping]] = ..., expected_execution_revision: _Optional[int] = ..., expected_ask_revision: _Optional[int] = ..., packed_execution: _Optional[bytes] = ..., expected_policy_revision: _Optional[int] = ...) -> None: ...

class EndConsoleSession(_message.Message):
    __slots__ = ("cookie_hash", "until_ms")
    COOKIE_HASH_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    cookie_hash: bytes
    until_ms: int
    def __init__(self, cookie_hash: _Optional[bytes] = ..., until_ms: _Optional[int] = ...) -> None: ...

class AmendTicket(_message.Message):
    __slots__ = ("ticket_id", "expected_ask_revision", "ask", "actor", "reason", "at_ms", "throttle", "max_throttle", "expected_state", "approved_throttle")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_ASK_REVISION_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_FIELD_NUMBER: _ClassVar[int]
    MAX_THROTTLE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATE_FIELD_NUMBER: _ClassVar[int]
    APPROVED_THROTTLE_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    expected_ask_revision: int
    ask: _operations_pb2.Ask
    actor: str
    reason: str
    at_ms: int
    throttle: int
    max_throttle: int
    expected_state: _tickets_pb2.TicketState
    approved_throttle: int
    def __init__(self, ticket_id: _Optional[str] = ..., expected_ask_revision: _Optional[int] = ..., ask: _Optional[_Union[_operations_pb2.Ask, _Mapping]] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., at_ms: _Optional[int] = ..., throttle: _Optional[int] = ..., max_throttle: _Optional[int] = ..., expected_state: _Optional[_Union[_tickets_pb2.TicketState, str]] = ..., approved_throttle: _Optional[int] = ...) -> None: ...
