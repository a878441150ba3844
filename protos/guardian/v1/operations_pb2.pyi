from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OperationPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_PHASE_UNSPECIFIED: _ClassVar[OperationPhase]
    PHASE_VALIDATE: _ClassVar[OperationPhase]
    PHASE_EXCLUDE: _ClassVar[OperationPhase]
    PHASE_PLAN: _ClassVar[OperationPhase]
    PHASE_EXECUTE: _ClassVar[OperationPhase]
    PHASE_SHUT_DOWN: _ClassVar[OperationPhase]
    PHASE_CLEAN_UP: _ClassVar[OperationPhase]
    PHASE_GATE: _ClassVar[OperationPhase]
    PHASE_LEADERS_AWAY: _ClassVar[OperationPhase]
    PHASE_RESTART: _ClassVar[OperationPhase]
    PHASE_IN_SYNC: _ClassVar[OperationPhase]
    PHASE_LEADERS_BACK: _ClassVar[OperationPhase]
    PHASE_START: _ClassVar[OperationPhase]
    PHASE_FINALIZE: _ClassVar[OperationPhase]

class BrokerStanding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BROKER_STANDING_UNSPECIFIED: _ClassVar[BrokerStanding]
    STANDING_WAITING: _ClassVar[BrokerStanding]
    STANDING_UNDER_WAY: _ClassVar[BrokerStanding]
    STANDING_DONE: _ClassVar[BrokerStanding]
    STANDING_GONE: _ClassVar[BrokerStanding]
    STANDING_ELSEWHERE: _ClassVar[BrokerStanding]
    STANDING_RELEASED: _ClassVar[BrokerStanding]
OPERATION_PHASE_UNSPECIFIED: OperationPhase
PHASE_VALIDATE: OperationPhase
PHASE_EXCLUDE: OperationPhase
PHASE_PLAN: OperationPhase
PHASE_EXECUTE: OperationPhase
PHASE_SHUT_DOWN: OperationPhase
PHASE_CLEAN_UP: OperationPhase
PHASE_GATE: OperationPhase
PHASE_LEADERS_AWAY: OperationPhase
PHASE_RESTART: OperationPhase
PHASE_IN_SYNC: OperationPhase
PHASE_LEADERS_BACK: OperationPhase
PHASE_START: OperationPhase
PHASE_FINALIZE: OperationPhase
BROKER_STANDING_UNSPECIFIED: BrokerStanding
STANDING_WAITING: BrokerStanding
STANDING_UNDER_WAY: BrokerStanding
STANDING_DONE: BrokerStanding
STANDING_GONE: BrokerStanding
STANDING_ELSEWHERE: BrokerStanding
STANDING_RELEASED: BrokerStanding

class Ask(_message.Message):
    __slots__ = ("kind", "brokers", "controllers", "shutdown", "hook", "batch_limit", "accept_unavailable", "back_within_ms", "revision", "finalize", "metadata_version", "accepted_partitions", "accepted_brokers")
    KIND_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    CONTROLLERS_FIELD_NUMBER: _ClassVar[int]
    SHUTDOWN_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    BATCH_LIMIT_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    BACK_WITHIN_MS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    FINALIZE_FIELD_NUMBER: _ClassVar[int]
    METADATA_VERSION_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_BROKERS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    brokers: _containers.RepeatedScalarFieldContainer[int]
    controllers: _containers.RepeatedScalarFieldContainer[int]
    shutdown: bool
    hook: str
    batch_limit: int
    accept_unavailable: bool
    back_within_ms: int
    revision: int
    finalize: bool
    metadata_version: int
    accepted_partitions: _containers.RepeatedScalarFieldContainer[str]
    accepted_brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, kind: _Optional[str] = ..., brokers: _Optional[_Iterable[int]] = ..., controllers: _Optional[_Iterable[int]] = ..., shutdown: _Optional[bool] = ..., hook: _Optional[str] = ..., batch_limit: _Optional[int] = ..., accept_unavailable: _Optional[bool] = ..., back_within_ms: _Optional[int] = ..., revision: _Optional[int] = ..., finalize: _Optional[bool] = ..., metadata_version: _Optional[int] = ..., accepted_partitions: _Optional[_Iterable[str]] = ..., accepted_brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class HookRun(_message.Message):
    __slots__ = ("action", "attempt", "asked_at_ms", "ended_at_ms", "is_ok", "output")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    IS_OK_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    action: str
    attempt: int
    asked_at_ms: int
    ended_at_ms: int
    is_ok: bool
    output: str
    def __init__(self, action: _Optional[str] = ..., attempt: _Optional[int] = ..., asked_at_ms: _Optional[int] = ..., ended_at_ms: _Optional[int] = ..., is_ok: _Optional[bool] = ..., output: _Optional[str] = ...) -> None: ...

class BrokerWork(_message.Message):
    __slots__ = ("node", "is_controller", "standing", "is_excluded", "state_before", "hook", "down_since_ms", "was_down", "detail", "was_out_of_sync")
    NODE_FIELD_NUMBER: _ClassVar[int]
    IS_CONTROLLER_FIELD_NUMBER: _ClassVar[int]
    STANDING_FIELD_NUMBER: _ClassVar[int]
    IS_EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    STATE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    DOWN_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    WAS_DOWN_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    WAS_OUT_OF_SYNC_FIELD_NUMBER: _ClassVar[int]
    node: int
    is_controller: bool
    standing: BrokerStanding
    is_excluded: bool
    state_before: int
    hook: HookRun
    down_since_ms: int
    was_down: bool
    detail: str
    was_out_of_sync: bool
    def __init__(self, node: _Optional[int] = ..., is_controller: _Optional[bool] = ..., standing: _Optional[_Union[BrokerStanding, str]] = ..., is_excluded: _Optional[bool] = ..., state_before: _Optional[int] = ..., hook: _Optional[_Union[HookRun, _Mapping]] = ..., down_since_ms: _Optional[int] = ..., was_down: _Optional[bool] = ..., detail: _Optional[str] = ..., was_out_of_sync: _Optional[bool] = ...) -> None: ...

class Operation(_message.Message):
    __slots__ = ("phase", "since_ms", "brokers", "batch", "first_task", "plan_round", "retry_at_ms", "harm", "harm_since_ms", "well_since_ms", "ask_revision", "detail", "metadata_version_from", "metadata_version_to")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    FIRST_TASK_FIELD_NUMBER: _ClassVar[int]
    PLAN_ROUND_FIELD_NUMBER: _ClassVar[int]
    RETRY_AT_MS_FIELD_NUMBER: _ClassVar[int]
    HARM_FIELD_NUMBER: _ClassVar[int]
    HARM_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    WELL_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    ASK_REVISION_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    METADATA_VERSION_FROM_FIELD_NUMBER: _ClassVar[int]
    METADATA_VERSION_TO_FIELD_NUMBER: _ClassVar[int]
    phase: OperationPhase
    since_ms: int
    brokers: _containers.RepeatedCompositeFieldContainer[BrokerWork]
    batch: _containers.RepeatedScalarFieldContainer[int]
    first_task: int
    plan_round: int
    retry_at_ms: int
    harm: str
    harm_since_ms: int
    well_since_ms: int
    ask_revision: int
    detail: str
    metadata_version_from: int
    metadata_version_to: int
    def __init__(self, phase: _Optional[_Union[OperationPhase, str]] = ..., since_ms: _Optional[int] = ..., brokers: _Optional[_Iterable[_Union[BrokerWork, _Mapping]]] = ..., batch: _Optional[_Iterable[int]] = ..., first_task: _Optional[int] = ..., plan_round: _Optional[int] = ..., retry_at_ms: _Optional[int] = ..., harm: _Optional[str] = ..., harm_since_ms: _Optional[int] = ..., well_since_ms: _Optional[int] = ..., ask_revision: _Optional[int] = ..., detail: _Optional[str] = ..., metadata_version_from: _Optional[int] = ..., metadata_version_to: _Optional[int] = ...) -> None: ...
