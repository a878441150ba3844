from protos.guardian.v1 import access_pb2 as _access_pb2
from protos.guardian.v1 import identity_pb2 as _identity_pb2
from protos.guardian.v1 import insight_pb2 as _insight_pb2
from protos.guardian.v1 import operations_pb2 as _operations_pb2
from protos.guardian.v1 import tasks_pb2 as _tasks_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TicketState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TICKET_STATE_UNSPECIFIED: _ClassVar[TicketState]
    DRAFT: _ClassVar[TicketState]
    PENDING: _ClassVar[TicketState]
    APPROVED: _ClassVar[TicketState]
    REJECTED: _ClassVar[TicketState]
    EXPIRED: _ClassVar[TicketState]
    RUNNING: _ClassVar[TicketState]
    PAUSED: _ClassVar[TicketState]
    SUCCEEDED: _ClassVar[TicketState]
    FAILED: _ClassVar[TicketState]
    CANCELLING: _ClassVar[TicketState]
    CANCELLED: _ClassVar[TicketState]
    ROLLING_BACK: _ClassVar[TicketState]
    ROLLED_BACK: _ClassVar[TicketState]

class TaskState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATE_UNSPECIFIED: _ClassVar[TaskState]
    TASK_PENDING: _ClassVar[TaskState]
    TASK_RUNNING: _ClassVar[TaskState]
    TASK_DONE: _ClassVar[TaskState]
    TASK_REVERTING: _ClassVar[TaskState]
    TASK_REVERTED: _ClassVar[TaskState]
    TASK_FAILED: _ClassVar[TaskState]

class TaskReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_REASON_UNSPECIFIED: _ClassVar[TaskReason]
    TASK_OVERTAKEN: _ClassVar[TaskReason]
    TASK_TOPIC_DELETED: _ClassVar[TaskReason]
    TASK_GAVE_WAY: _ClassVar[TaskReason]
TICKET_STATE_UNSPECIFIED: TicketState
DRAFT: TicketState
PENDING: TicketState
APPROVED: TicketState
REJECTED: TicketState
EXPIRED: TicketState
RUNNING: TicketState
PAUSED: TicketState
SUCCEEDED: TicketState
FAILED: TicketState
CANCELLING: TicketState
CANCELLED: TicketState
ROLLING_BACK: TicketState
ROLLED_BACK: TicketState
TASK_STATE_UNSPECIFIED: TaskState
TASK_PENDING: TaskState
TASK_RUNNING: TaskState
TASK_DONE: TaskState
TASK_REVERTING: TaskState
TASK_REVERTED: TaskState
TASK_FAILED: TaskState
TASK_REASON_UNSPECIFIED: TaskReason
TASK_OVERTAKEN: TaskReason
TASK_TOPIC_DELETED: TaskReason
TASK_GAVE_WAY: TaskReason

class ReplicaPlacement(_message.Message):
    __slots__ = ("broker", "log_dir")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    LOG_DIR_FIELD_NUMBER: _ClassVar[int]
    broker: int
    log_dir: str
    def __init__(self, broker: _Optional[int] = ..., log_dir: _Optional[str] = ...) -> None: ...

class PartitionMove(_message.Message):
    __slots__ = ("topic", "partition", "original", "target", "size_bytes", "write_rate", "reason", "goal", "relief", "stage", "is_new")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    WRITE_RATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    RELIEF_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    IS_NEW_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    original: _containers.RepeatedCompositeFieldContainer[ReplicaPlacement]
    target: _containers.RepeatedCompositeFieldContainer[ReplicaPlacement]
    size_bytes: int
    write_rate: float
    reason: str
    goal: str
    relief: float
    stage: int
    is_new: bool
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., original: _Optional[_Iterable[_Union[ReplicaPlacement, _Mapping]]] = ..., target: _Optional[_Iterable[_Union[ReplicaPlacement, _Mapping]]] = ..., size_bytes: _Optional[int] = ..., write_rate: _Optional[float] = ..., reason: _Optional[str] = ..., goal: _Optional[str] = ..., relief: _Optional[float] = ..., stage: _Optional[int] = ..., is_new: _Optional[bool] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("cluster", "kind", "moves", "made_at_ms", "input", "loads", "goals", "unmet", "links", "transfers", "throttle", "seconds", "settings", "notes", "racks", "task")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    MADE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    LOADS_FIELD_NUMBER: _ClassVar[int]
    GOALS_FIELD_NUMBER: _ClassVar[int]
    UNMET_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    TRANSFERS_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    RACKS_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    kind: str
    moves: _containers.RepeatedCompositeFieldContainer[PartitionMove]
    made_at_ms: int
    input: str
    loads: _containers.RepeatedCompositeFieldContainer[LoadSummary]
    goals: _containers.RepeatedCompositeFieldContainer[GoalResult]
    unmet: _containers.RepeatedScalarFieldContainer[str]
    links: _containers.RepeatedCompositeFieldContainer[LinkTransfer]
    transfers: _containers.RepeatedCompositeFieldContainer[BrokerTransfer]
    throttle: int
    seconds: float
    settings: _tasks_pb2.PlannerSettings
    notes: _containers.RepeatedScalarFieldContainer[str]
    racks: _containers.RepeatedCompositeFieldContainer[RackTransfer]
    task: _tasks_pb2.Task
    def __init__(self, cluster: _Optional[str] = ..., kind: _Optional[str] = ..., moves: _Optional[_Iterable[_Union[PartitionMove, _Mapping]]] = ..., made_at_ms: _Optional[int] = ..., input: _Optional[str] = ..., loads: _Optional[_Iterable[_Union[LoadSummary, _Mapping]]] = ..., goals: _Optional[_Iterable[_Union[GoalResult, _Mapping]]] = ..., unmet: _Optional[_Iterable[str]] = ..., links: _Optional[_Iterable[_Union[LinkTransfer, _Mapping]]] = ..., transfers: _Optional[_Iterable[_Union[BrokerTransfer, _Mapping]]] = ..., throttle: _Optional[int] = ..., seconds: _Optional[float] = ..., settings: _Optional[_Union[_tasks_pb2.PlannerSettings, _Mapping]] = ..., notes: _Optional[_Iterable[str]] = ..., racks: _Optional[_Iterable[_Union[RackTransfer, _Mapping]]] = ..., task: _Optional[_Union[_tasks_pb2.Task, _Mapping]] = ...) -> None: ...

class LoadSummary(_message.Message):
    __slots__ = ("broker", "log_dir", "before", "after", "resource", "capacity", "is_leaving")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    LOG_DIR_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    IS_LEAVING_FIELD_NUMBER: _ClassVar[int]
    broker: int
    log_dir: str
    before: float
    after: float
    resource: str
    capacity: float
    is_leaving: bool
    def __init__(self, broker: _Optional[int] = ..., log_dir: _Optional[str] = ..., before: _Optional[float] = ..., after: _Optional[float] = ..., resource: _Optional[str] = ..., capacity: _Optional[float] = ..., is_leaving: _Optional[bool] = ...) -> None: ...

class GoalResult(_message.Message):
    __slots__ = ("goal", "is_hard", "before", "after", "target", "is_met")
    GOAL_FIELD_NUMBER: _ClassVar[int]
    IS_HARD_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    IS_MET_FIELD_NUMBER: _ClassVar[int]
    goal: str
    is_hard: bool
    before: float
    after: float
    target: float
    is_met: bool
    def __init__(self, goal: _Optional[str] = ..., is_hard: _Optional[bool] = ..., before: _Optional[float] = ..., after: _Optional[float] = ..., target: _Optional[float] = ..., is_met: _Optional[bool] = ...) -> None: ...

class LinkTransfer(_message.Message):
    __slots__ = ("from_idc", "to_idc", "bytes", "seconds", "cost")
    FROM_IDC_FIELD_NUMBER: _ClassVar[int]
    TO_IDC_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    from_idc: str
    to_idc: str
    bytes: int
    seconds: float
    cost: float
    def __init__(self, from_idc: _Optional[str] = ..., to_idc: _Optional[str] = ..., bytes: _Optional[int] = ..., seconds: _Optional[float] = ..., cost: _Optional[float] = ...) -> None: ...

class RackTransfer(_message.Message):
    __slots__ = ("from_rack", "to_rack", "bytes")
    FROM_RACK_FIELD_NUMBER: _ClassVar[int]
    TO_RACK_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    from_rack: str
    to_rack: str
    bytes: int
    def __init__(self, from_rack: _Optional[str] = ..., to_rack: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class BrokerTransfer(_message.Message):
    __slots__ = ("broker", "bytes_in", "bytes_out", "bytes_inside", "seconds")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    BYTES_IN_FIELD_NUMBER: _ClassVar[int]
    BYTES_OUT_FIELD_NUMBER: _ClassVar[int]
    BYTES_INSIDE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    broker: int
    bytes_in: int
    bytes_out: int
    bytes_inside: int
    seconds: float
    def __init__(self, broker: _Optional[int] = ..., bytes_in: _Optional[int] = ..., bytes_out: _Optional[int] = ..., bytes_inside: _Optional[int] = ..., seconds: _Optional[float] = ...) -> None: ...

class Ticket(_message.Message):
    __slots__ = ("id", "cluster", "kind", "state", "author", "plan_hash", "throttle", "created_at_ms", "updated_at_ms", "history", "idempotency_key", "moves", "bytes", "ask", "expires_at_ms", "max_throttle", "evidence", "approved_throttle", "author_agent", "troubles", "tenants", "part")
    ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    PLAN_HASH_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_THROTTLE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    APPROVED_THROTTLE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_AGENT_FIELD_NUMBER: _ClassVar[int]
    TROUBLES_FIELD_NUMBER: _ClassVar[int]
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    id: str
    cluster: str
    kind: str
    state: TicketState
    author: str
    plan_hash: str
    throttle: int
    created_at_ms: int
    updated_at_ms: int
    history: _containers.RepeatedCompositeFieldContainer[TicketTransition]
    idempotency_key: str
    moves: int
    bytes: int
    ask: _operations_pb2.Ask
    expires_at_ms: int
    max_throttle: int
    evidence: str
    approved_throttle: int
    author_agent: _identity_pb2.Agent
    troubles: _containers.RepeatedCompositeFieldContainer[TicketTrouble]
    tenants: _containers.RepeatedScalarFieldContainer[str]
    part: TicketPart
    def __init__(self, id: _Optional[str] = ..., cluster: _Optional[str] = ..., kind: _Optional[str] = ..., state: _Optional[_Union[TicketState, str]] = ..., author: _Optional[str] = ..., plan_hash: _Optional[str] = ..., throttle: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ..., history: _Optional[_Iterable[_Union[TicketTransition, _Mapping]]] = ..., idempotency_key: _Optional[str] = ..., moves: _Optional[int] = ..., bytes: _Optional[int] = ..., ask: _Optional[_Union[_operations_pb2.Ask, _Mapping]] = ..., expires_at_ms: _Optional[int] = ..., max_throttle: _Optional[int] = ..., evidence: _Optional[str] = ..., approved_throttle: _Optional[int] = ..., author_agent: _Optional[_Union[_identity_pb2.Agent, str]] = ..., troubles: _Optional[_Iterable[_Union[TicketTrouble, _Mapping]]] = ..., tenants: _Optional[_Iterable[str]] = ..., part: _Optional[_Union[TicketPart, _Mapping]] = ...) -> None: ...

class TicketPart(_message.Message):
    __slots__ = ("first", "number", "count", "moves", "bytes", "left_moves", "left_bytes")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    LEFT_MOVES_FIELD_NUMBER: _ClassVar[int]
    LEFT_BYTES_FIELD_NUMBER: _ClassVar[int]
    first: str
    number: int
    count: int
    moves: int
    bytes: int
    left_moves: int
    left_bytes: int
    def __init__(self, first: _Optional[str] = ..., number: _Optional[int] = ..., count: _Optional[int] = ..., moves: _Optional[int] = ..., bytes: _Optional[int] = ..., left_moves: _Optional[int] = ..., left_bytes: _Optional[int] = ...) -> None: ...

class TicketTrouble(_message.Message):
    __slots__ = ("kind", "subject", "brokers", "log_dirs")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    kind: _insight_pb2.FindingKind
    subject: str
    brokers: _containers.RepeatedScalarFieldContainer[int]
    log_dirs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[_insight_pb2.FindingKind, str]] = ..., subject: _Optional[str] = ..., brokers: _Optional[_Iterable[int]] = ..., log_dirs: _Optional[_Iterable[str]] = ...) -> None: ...

class TicketTransition(_message.Message):
    __slots__ = ("state", "at_ms", "actor", "reason", "agent")
    STATE_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    state: TicketState
    at_ms: int
    actor: str
    reason: str
    agent: _identity_pb2.Agent
    def __init__(self, state: _Optional[_Union[TicketState, str]] = ..., at_ms: _Optional[int] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., agent: _Optional[_Union[_identity_pb2.Agent, str]] = ...) -> None: ...

class OwnedSetting(_message.Message):
    __slots__ = ("resource_type", "resource_name", "key", "values", "replaced", "is_foreign")
    class Value(_message.Message):
        __slots__ = ("text", "leaves")
        TEXT_FIELD_NUMBER: _ClassVar[int]
        LEAVES_FIELD_NUMBER: _ClassVar[int]
        text: str
        leaves: bool
        def __init__(self, text: _Optional[str] = ..., leaves: _Optional[bool] = ...) -> None: ...
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    IS_FOREIGN_FIELD_NUMBER: _ClassVar[int]
    resource_type: str
    resource_name: str
    key: str
    values: _containers.RepeatedCompositeFieldContainer[OwnedSetting.Value]
    replaced: str
    is_foreign: bool
    def __init__(self, resource_type: _Optional[str] = ..., resource_name: _Optional[str] = ..., key: _Optional[str] = ..., values: _Optional[_Iterable[_Union[OwnedSetting.Value, _Mapping]]] = ..., replaced: _Optional[str] = ..., is_foreign: _Optional[bool] = ...) -> None: ...

class AdaptedRate(_message.Message):
    __slots__ = ("rate", "broker", "from_idc", "to_idc", "changed_at_ms", "trouble", "baselines", "why", "before", "idle_since_ms")
    RATE_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    FROM_IDC_FIELD_NUMBER: _ClassVar[int]
    TO_IDC_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TROUBLE_FIELD_NUMBER: _ClassVar[int]
    BASELINES_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    IDLE_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    rate: int
    broker: int
    from_idc: str
    to_idc: str
    changed_at_ms: int
    trouble: int
    baselines: _containers.RepeatedCompositeFieldContainer[Baseline]
    why: str
    before: int
    idle_since_ms: int
    def __init__(self, rate: _Optional[int] = ..., broker: _Optional[int] = ..., from_idc: _Optional[str] = ..., to_idc: _Optional[str] = ..., changed_at_ms: _Optional[int] = ..., trouble: _Optional[int] = ..., baselines: _Optional[_Iterable[_Union[Baseline, _Mapping]]] = ..., why: _Optional[str] = ..., before: _Optional[int] = ..., idle_since_ms: _Optional[int] = ...) -> None: ...

class Baseline(_message.Message):
    __slots__ = ("request", "mean_ms", "p99_ms")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    MEAN_MS_FIELD_NUMBER: _ClassVar[int]
    P99_MS_FIELD_NUMBER: _ClassVar[int]
    request: str
    mean_ms: float
    p99_ms: float
    def __init__(self, request: _Optional[str] = ..., mean_ms: _Optional[float] = ..., p99_ms: _Optional[float] = ...) -> None: ...

class ExecutionTask(_message.Message):
    __slots__ = ("number", "move", "state", "detail", "started_at_ms", "ended_at_ms", "cover_bytes", "hold_ms", "topic_configs", "is_adopted", "missing_since_ms", "topic_partitions", "copied_bytes", "reason", "refused_since_ms")
    class TopicConfigsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MOVE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    COVER_BYTES_FIELD_NUMBER: _ClassVar[int]
    HOLD_MS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_CONFIGS_FIELD_NUMBER: _ClassVar[int]
    IS_ADOPTED_FIELD_NUMBER: _ClassVar[int]
    MISSING_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    COPIED_BYTES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REFUSED_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    number: int
    move: PartitionMove
    state: TaskState
    detail: str
    started_at_ms: int
    ended_at_ms: int
    cover_bytes: int
    hold_ms: int
    topic_configs: _containers.ScalarMap[str, str]
    is_adopted: bool
    missing_since_ms: int
    topic_partitions: int
    copied_bytes: int
    reason: TaskReason
    refused_since_ms: int
    def __init__(self, number: _Optional[int] = ..., move: _Optional[_Union[PartitionMove, _Mapping]] = ..., state: _Optional[_Union[TaskState, str]] = ..., detail: _Optional[str] = ..., started_at_ms: _Optional[int] = ..., ended_at_ms: _Optional[int] = ..., cover_bytes: _Optional[int] = ..., hold_ms: _Optional[int] = ..., topic_configs: _Optional[_Mapping[str, str]] = ..., is_adopted: _Optional[bool] = ..., missing_since_ms: _Optional[int] = ..., topic_partitions: _Optional[int] = ..., copied_bytes: _Optional[int] = ..., reason: _Optional[_Union[TaskReason, str]] = ..., refused_since_ms: _Optional[int] = ...) -> None: ...

class Execution(_message.Message):
    __slots__ = ("ticket_id", "tasks", "throttles", "note", "revision", "rates", "operation", "foreign", "directory", "lifted", "deleted_topics", "is_anew")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    THROTTLES_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RATES_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    LIFTED_FIELD_NUMBER: _ClassVar[int]
    DELETED_TOPICS_FIELD_NUMBER: _ClassVar[int]
    IS_ANEW_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    tasks: _containers.RepeatedCompositeFieldContainer[ExecutionTask]
    throttles: _containers.RepeatedCompositeFieldContainer[OwnedSetting]
    note: str
    revision: int
    rates: _containers.RepeatedCompositeFieldContainer[AdaptedRate]
    operation: _operations_pb2.Operation
    foreign: _containers.RepeatedCompositeFieldContainer[ForeignWork]
    directory: _containers.RepeatedCompositeFieldContainer[DirectoryIntent]
    lifted: _containers.RepeatedCompositeFieldContainer[OwnedSetting]
    deleted_topics: _containers.RepeatedScalarFieldContainer[str]
    is_anew: bool
    def __init__(self, ticket_id: _Optional[str] = ..., tasks: _Optional[_Iterable[_Union[ExecutionTask, _Mapping]]] = ..., throttles: _Optional[_Iterable[_Union[OwnedSetting, _Mapping]]] = ..., note: _Optional[str] = ..., revision: _Optional[int] = ..., rates: _Optional[_Iterable[_Union[AdaptedRate, _Mapping]]] = ..., operation: _Optional[_Union[_operations_pb2.Operation, _Mapping]] = ..., foreign: _Optional[_Iterable[_Union[ForeignWork, _Mapping]]] = ..., directory: _Optional[_Iterable[_Union[DirectoryIntent, _Mapping]]] = ..., lifted: _Optional[_Iterable[_Union[OwnedSetting, _Mapping]]] = ..., deleted_topics: _Optional[_Iterable[str]] = ..., is_anew: _Optional[bool] = ...) -> None: ...

class DirectoryIntent(_message.Message):
    __slots__ = ("subject", "field", "names", "value", "replaced")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    subject: str
    field: str
    names: _containers.RepeatedScalarFieldContainer[str]
    value: str
    replaced: str
    def __init__(self, subject: _Optional[str] = ..., field: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., value: _Optional[str] = ..., replaced: _Optional[str] = ...) -> None: ...

class ForeignWork(_message.Message):
    __slots__ = ("topic", "partition", "replicas", "target", "size_bytes", "is_awaited")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    IS_AWAITED_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    replicas: _containers.RepeatedScalarFieldContainer[int]
    target: _containers.RepeatedScalarFieldContainer[int]
    size_bytes: int
    is_awaited: bool
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., replicas: _Optional[_Iterable[int]] = ..., target: _Optional[_Iterable[int]] = ..., size_bytes: _Optional[int] = ..., is_awaited: _Optional[bool] = ...) -> None: ...

class GetPlanRequest(_message.Message):
    __slots__ = ("plan_hash",)
    PLAN_HASH_FIELD_NUMBER: _ClassVar[int]
    plan_hash: str
    def __init__(self, plan_hash: _Optional[str] = ...) -> None: ...

class GetPlanReply(_message.Message):
    __slots__ = ("plan",)
    PLAN_FIELD_NUMBER: _ClassVar[int]
    plan: Plan
    def __init__(self, plan: _Optional[_Union[Plan, _Mapping]] = ...) -> None: ...

class CreateTicketRequest(_message.Message):
    __slots__ = ("plan", "throttle", "author", "idempotency_key", "submit", "reason", "dry_run", "ask", "expires_in_ms", "max_throttle", "evidence", "unthrottled")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    SUBMIT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_THROTTLE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    UNTHROTTLED_FIELD_NUMBER: _ClassVar[int]
    plan: Plan
    throttle: int
    author: str
    idempotency_key: str
    submit: bool
    reason: str
    dry_run: bool
    ask: _operations_pb2.Ask
    expires_in_ms: int
    max_throttle: int
    evidence: str
    unthrottled: bool
    def __init__(self, plan: _Optional[_Union[Plan, _Mapping]] = ..., throttle: _Optional[int] = ..., author: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., submit: _Optional[bool] = ..., reason: _Optional[str] = ..., dry_run: _Optional[bool] = ..., ask: _Optional[_Union[_operations_pb2.Ask, _Mapping]] = ..., expires_in_ms: _Optional[int] = ..., max_throttle: _Optional[int] = ..., evidence: _Optional[str] = ..., unthrottled: _Optional[bool] = ...) -> None: ...

class CreateTicketReply(_message.Message):
    __slots__ = ("ticket", "plan", "following")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    FOLLOWING_FIELD_NUMBER: _ClassVar[int]
    ticket: Ticket
    plan: Plan
    following: _containers.RepeatedCompositeFieldContainer[Ticket]
    def __init__(self, ticket: _Optional[_Union[Ticket, _Mapping]] = ..., plan: _Optional[_Union[Plan, _Mapping]] = ..., following: _Optional[_Iterable[_Union[Ticket, _Mapping]]] = ...) -> None: ...

class AmendTicketRequest(_message.Message):
    __slots__ = ("ticket_id", "actor", "reason", "brokers", "controllers", "expected_revision")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    CONTROLLERS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    actor: str
    reason: str
    brokers: _containers.RepeatedScalarFieldContainer[int]
    controllers: _containers.RepeatedScalarFieldContainer[int]
    expected_revision: int
    def __init__(self, ticket_id: _Optional[str] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., brokers: _Optional[_Iterable[int]] = ..., controllers: _Optional[_Iterable[int]] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class SetThrottleRequest(_message.Message):
    __slots__ = ("ticket_id", "actor", "reason", "throttle", "max_throttle")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_FIELD_NUMBER: _ClassVar[int]
    MAX_THROTTLE_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    actor: str
    reason: str
    throttle: int
    max_throttle: int
    def __init__(self, ticket_id: _Optional[str] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., throttle: _Optional[int] = ..., max_throttle: _Optional[int] = ...) -> None: ...

class TicketActionRequest(_message.Message):
    __slots__ = ("ticket_id", "actor", "reason", "expected_ask_revision")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_ASK_REVISION_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    actor: str
    reason: str
    expected_ask_revision: int
    def __init__(self, ticket_id: _Optional[str] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., expected_ask_revision: _Optional[int] = ...) -> None: ...

class GetTicketRequest(_message.Message):
    __slots__ = ("ticket_id", "page_token")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    page_token: str
    def __init__(self, ticket_id: _Optional[str] = ..., page_token: _Optional[str] = ...) -> None: ...

class TicketDetail(_message.Message):
    __slots__ = ("ticket", "execution")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    ticket: Ticket
    execution: Execution
    def __init__(self, ticket: _Optional[_Union[Ticket, _Mapping]] = ..., execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class TicketDetailPage(_message.Message):
    __slots__ = ("detail", "next_page_token")
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    detail: TicketDetail
    next_page_token: str
    def __init__(self, detail: _Optional[_Union[TicketDetail, _Mapping]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListTicketsRequest(_message.Message):
    __slots__ = ("cluster", "states", "kind", "page_size", "page_token", "sequence", "with_counts")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    WITH_COUNTS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    states: _containers.RepeatedScalarFieldContainer[TicketState]
    kind: str
    page_size: int
    page_token: str
    sequence: str
    with_counts: bool
    def __init__(self, cluster: _Optional[str] = ..., states: _Optional[_Iterable[_Union[TicketState, str]]] = ..., kind: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., sequence: _Optional[str] = ..., with_counts: _Optional[bool] = ...) -> None: ...

class ListTicketsReply(_message.Message):
    __slots__ = ("tickets", "progress", "next_page_token", "counts")
    TICKETS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    tickets: _containers.RepeatedCompositeFieldContainer[Ticket]
    progress: _containers.RepeatedCompositeFieldContainer[TicketProgress]
    next_page_token: str
    counts: _containers.RepeatedCompositeFieldContainer[TicketCount]
    def __init__(self, tickets: _Optional[_Iterable[_Union[Ticket, _Mapping]]] = ..., progress: _Optional[_Iterable[_Union[TicketProgress, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., counts: _Optional[_Iterable[_Union[TicketCount, _Mapping]]] = ...) -> None: ...

class TicketCount(_message.Message):
    __slots__ = ("cluster", "state", "tickets")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TICKETS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    state: TicketState
    tickets: int
    def __init__(self, cluster: _Optional[str] = ..., state: _Optional[_Union[TicketState, str]] = ..., tickets: _Optional[int] = ...) -> None: ...

class TicketProgress(_message.Message):
    __slots__ = ("ticket_id", "total_bytes", "copied_bytes", "bytes_per_s", "eta_ms", "least_ms", "most_ms")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    COPIED_BYTES_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    ETA_MS_FIELD_NUMBER: _ClassVar[int]
    LEAST_MS_FIELD_NUMBER: _ClassVar[int]
    MOST_MS_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    total_bytes: int
    copied_bytes: int
    bytes_per_s: float
    eta_ms: int
    least_ms: int
    most_ms: int
    def __init__(self, ticket_id: _Optional[str] = ..., total_bytes: _Optional[int] = ..., copied_bytes: _Optional[int] = ..., bytes_per_s: _Optional[float] = ..., eta_ms: _Optional[int] = ..., least_ms: _Optional[int] = ..., most_ms: _Optional[int] = ...) -> None: ...

class PreviewTicketRequest(_message.Message):
    __slots__ = ("ticket_id", "plan", "throttle", "max_throttle", "unthrottled", "amended")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_FIELD_NUMBER: _ClassVar[int]
    MAX_THROTTLE_FIELD_NUMBER: _ClassVar[int]
    UNTHROTTLED_FIELD_NUMBER: _ClassVar[int]
    AMENDED_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    plan: Plan
    throttle: int
    max_throttle: int
    unthrottled: bool
    amended: _operations_pb2.Ask
    def __init__(self, ticket_id: _Optional[str] = ..., plan: _Optional[_Union[Plan, _Mapping]] = ..., throttle: _Optional[int] = ..., max_throttle: _Optional[int] = ..., unthrottled: _Optional[bool] = ..., amended: _Optional[_Union[_operations_pb2.Ask, _Mapping]] = ...) -> None: ...

class PreviewTicketReply(_message.Message):
    __slots__ = ("rounds", "remark", "first", "asks")
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    REMARK_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    ASKS_FIELD_NUMBER: _ClassVar[int]
    rounds: _containers.RepeatedCompositeFieldContainer[PreviewRound]
    remark: str
    first: str
    asks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, rounds: _Optional[_Iterable[_Union[PreviewRound, _Mapping]]] = ..., remark: _Optional[str] = ..., first: _Optional[str] = ..., asks: _Optional[_Iterable[str]] = ...) -> None: ...

class PreviewRound(_message.Message):
    __slots__ = ("requests", "sentence")
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[PreviewRequest]
    sentence: str
    def __init__(self, requests: _Optional[_Iterable[_Union[PreviewRequest, _Mapping]]] = ..., sentence: _Optional[str] = ...) -> None: ...

class PreviewRequest(_message.Message):
    __slots__ = ("api", "subject", "change")
    API_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    api: str
    subject: str
    change: str
    def __init__(self, api: _Optional[str] = ..., subject: _Optional[str] = ..., change: _Optional[str] = ...) -> None: ...

class ExplainApprovalRequest(_message.Message):
    __slots__ = ("ticket_id", "actor")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    actor: str
    def __init__(self, ticket_id: _Optional[str] = ..., actor: _Optional[str] = ...) -> None: ...

class ApprovalExplanation(_message.Message):
    __slots__ = ("ticket_id", "state", "author", "actor", "needed", "given", "verdicts", "refusal", "file", "revision")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    NEEDED_FIELD_NUMBER: _ClassVar[int]
    GIVEN_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    state: str
    author: str
    actor: str
    needed: int
    given: _containers.RepeatedCompositeFieldContainer[GivenApproval]
    verdicts: _containers.RepeatedCompositeFieldContainer[RuleVerdict]
    refusal: str
    file: str
    revision: int
    def __init__(self, ticket_id: _Optional[str] = ..., state: _Optional[str] = ..., author: _Optional[str] = ..., actor: _Optional[str] = ..., needed: _Optional[int] = ..., given: _Optional[_Iterable[_Union[GivenApproval, _Mapping]]] = ..., verdicts: _Optional[_Iterable[_Union[RuleVerdict, _Mapping]]] = ..., refusal: _Optional[str] = ..., file: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class GivenApproval(_message.Message):
    __slots__ = ("actor", "at_ms", "reason")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    actor: str
    at_ms: int
    reason: str
    def __init__(self, actor: _Optional[str] = ..., at_ms: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class RuleVerdict(_message.Message):
    __slots__ = ("rule", "approvers", "automatic", "author_may_approve", "against_ticket", "against_actor")
    RULE_FIELD_NUMBER: _ClassVar[int]
    APPROVERS_FIELD_NUMBER: _ClassVar[int]
    AUTOMATIC_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_MAY_APPROVE_FIELD_NUMBER: _ClassVar[int]
    AGAINST_TICKET_FIELD_NUMBER: _ClassVar[int]
    AGAINST_ACTOR_FIELD_NUMBER: _ClassVar[int]
    rule: str
    approvers: _containers.RepeatedScalarFieldContainer[str]
    automatic: bool
    author_may_approve: bool
    against_ticket: str
    against_actor: str
    def __init__(self, rule: _Optional[str] = ..., approvers: _Optional[_Iterable[str]] = ..., automatic: _Optional[bool] = ..., author_may_approve: _Optional[bool] = ..., against_ticket: _Optional[str] = ..., against_actor: _Optional[str] = ...) -> None: ...

class GetApprovalsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Approvals(_message.Message):
    __slots__ = ("file", "rules", "expires_ms", "revision")
    FILE_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    file: str
    rules: _containers.RepeatedCompositeFieldContainer[ApprovalRule]
    expires_ms: int
    revision: int
    def __init__(self, file: _Optional[str] = ..., rules: _Optional[_Iterable[_Union[ApprovalRule, _Mapping]]] = ..., expires_ms: _Optional[int] = ..., revision: _Optional[int] = ...) -> None: ...

class ApprovalRule(_message.Message):
    __slots__ = ("name", "kinds", "clusters", "authors", "approvers", "automatic", "max_bytes", "max_moves", "windows", "timezone", "author_may_approve")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    AUTHORS_FIELD_NUMBER: _ClassVar[int]
    APPROVERS_FIELD_NUMBER: _ClassVar[int]
    AUTOMATIC_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_MOVES_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    TIMEZONE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_MAY_APPROVE_FIELD_NUMBER: _ClassVar[int]
    name: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    clusters: _containers.RepeatedScalarFieldContainer[str]
    authors: _containers.RepeatedScalarFieldContainer[str]
    approvers: _containers.RepeatedScalarFieldContainer[str]
    automatic: bool
    max_bytes: int
    max_moves: int
    windows: _containers.RepeatedScalarFieldContainer[str]
    timezone: str
    author_may_approve: bool
    def __init__(self, name: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., clusters: _Optional[_Iterable[str]] = ..., authors: _Optional[_Iterable[str]] = ..., approvers: _Optional[_Iterable[str]] = ..., automatic: _Optional[bool] = ..., max_bytes: _Optional[int] = ..., max_moves: _Optional[int] = ..., windows: _Optional[_Iterable[str]] = ..., timezone: _Optional[str] = ..., author_may_approve: _Optional[bool] = ...) -> None: ...
