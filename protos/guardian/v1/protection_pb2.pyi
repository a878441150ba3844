from protos.guardian.v1 import access_pb2 as _access_pb2
from protos.guardian.v1 import tickets_pb2 as _tickets_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DiskLimitState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DISK_LIMIT_STATE_UNSPECIFIED: _ClassVar[DiskLimitState]
    DISK_OVER: _ClassVar[DiskLimitState]
    DISK_BETWEEN: _ClassVar[DiskLimitState]
    DISK_UNDER: _ClassVar[DiskLimitState]
    DISK_UNSEEN: _ClassVar[DiskLimitState]

class DiskBehaviour(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DISK_BEHAVIOUR_UNSPECIFIED: _ClassVar[DiskBehaviour]
    USER_WRITE: _ClassVar[DiskBehaviour]
    USER_READ: _ClassVar[DiskBehaviour]
    REPLICATION_WRITE: _ClassVar[DiskBehaviour]
    REPLICATION_READ: _ClassVar[DiskBehaviour]
    MOVE_WRITE: _ClassVar[DiskBehaviour]
    MOVE_READ: _ClassVar[DiskBehaviour]

class ProtectionLeverKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTECTION_LEVER_KIND_UNSPECIFIED: _ClassVar[ProtectionLeverKind]
    CLIENT_QUOTA: _ClassVar[ProtectionLeverKind]
    FOLLOWER_RATE: _ClassVar[ProtectionLeverKind]
    LEADER_RATE: _ClassVar[ProtectionLeverKind]
    LOG_DIR_RATE: _ClassVar[ProtectionLeverKind]
DISK_LIMIT_STATE_UNSPECIFIED: DiskLimitState
DISK_OVER: DiskLimitState
DISK_BETWEEN: DiskLimitState
DISK_UNDER: DiskLimitState
DISK_UNSEEN: DiskLimitState
DISK_BEHAVIOUR_UNSPECIFIED: DiskBehaviour
USER_WRITE: DiskBehaviour
USER_READ: DiskBehaviour
REPLICATION_WRITE: DiskBehaviour
REPLICATION_READ: DiskBehaviour
MOVE_WRITE: DiskBehaviour
MOVE_READ: DiskBehaviour
PROTECTION_LEVER_KIND_UNSPECIFIED: ProtectionLeverKind
CLIENT_QUOTA: ProtectionLeverKind
FOLLOWER_RATE: ProtectionLeverKind
LEADER_RATE: ProtectionLeverKind
LOG_DIR_RATE: ProtectionLeverKind

class ProtectedDisk(_message.Message):
    __slots__ = ("broker", "disk")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    DISK_FIELD_NUMBER: _ClassVar[int]
    broker: int
    disk: str
    def __init__(self, broker: _Optional[int] = ..., disk: _Optional[str] = ...) -> None: ...

class ProtectionLever(_message.Message):
    __slots__ = ("disk", "kind", "subject", "quota_key", "value", "before", "entries", "least", "hit", "why", "set_at_ms", "changed_at_ms")
    DISK_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    QUOTA_KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LEAST_FIELD_NUMBER: _ClassVar[int]
    HIT_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    SET_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    disk: ProtectedDisk
    kind: ProtectionLeverKind
    subject: str
    quota_key: str
    value: int
    before: int
    entries: _containers.RepeatedScalarFieldContainer[str]
    least: int
    hit: str
    why: str
    set_at_ms: int
    changed_at_ms: int
    def __init__(self, disk: _Optional[_Union[ProtectedDisk, _Mapping]] = ..., kind: _Optional[_Union[ProtectionLeverKind, str]] = ..., subject: _Optional[str] = ..., quota_key: _Optional[str] = ..., value: _Optional[int] = ..., before: _Optional[int] = ..., entries: _Optional[_Iterable[str]] = ..., least: _Optional[int] = ..., hit: _Optional[str] = ..., why: _Optional[str] = ..., set_at_ms: _Optional[int] = ..., changed_at_ms: _Optional[int] = ...) -> None: ...

class ProtectionHold(_message.Message):
    __slots__ = ("disk", "until_ms", "by")
    DISK_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    disk: ProtectedDisk
    until_ms: int
    by: str
    def __init__(self, disk: _Optional[_Union[ProtectedDisk, _Mapping]] = ..., until_ms: _Optional[int] = ..., by: _Optional[str] = ...) -> None: ...

class ProtectionStepTime(_message.Message):
    __slots__ = ("disk", "at_ms")
    DISK_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    disk: ProtectedDisk
    at_ms: int
    def __init__(self, disk: _Optional[_Union[ProtectedDisk, _Mapping]] = ..., at_ms: _Optional[int] = ...) -> None: ...

class ProtectionState(_message.Message):
    __slots__ = ("cluster", "levers", "intents", "holds", "note", "revision", "steps", "changed_at_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    LEVERS_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    levers: _containers.RepeatedCompositeFieldContainer[ProtectionLever]
    intents: _containers.RepeatedCompositeFieldContainer[_tickets_pb2.OwnedSetting]
    holds: _containers.RepeatedCompositeFieldContainer[ProtectionHold]
    note: str
    revision: int
    steps: _containers.RepeatedCompositeFieldContainer[ProtectionStepTime]
    changed_at_ms: int
    def __init__(self, cluster: _Optional[str] = ..., levers: _Optional[_Iterable[_Union[ProtectionLever, _Mapping]]] = ..., intents: _Optional[_Iterable[_Union[_tickets_pb2.OwnedSetting, _Mapping]]] = ..., holds: _Optional[_Iterable[_Union[ProtectionHold, _Mapping]]] = ..., note: _Optional[str] = ..., revision: _Optional[int] = ..., steps: _Optional[_Iterable[_Union[ProtectionStepTime, _Mapping]]] = ..., changed_at_ms: _Optional[int] = ...) -> None: ...

class GetProtectionRequest(_message.Message):
    __slots__ = ("cluster", "max_doings")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    MAX_DOINGS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    max_doings: int
    def __init__(self, cluster: _Optional[str] = ..., max_doings: _Optional[int] = ...) -> None: ...

class DiskLimitHealth(_message.Message):
    __slots__ = ("disk", "log_dirs", "state", "utilisation", "await_ms", "read_bytes_per_s", "write_bytes_per_s", "why")
    DISK_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    AWAIT_MS_FIELD_NUMBER: _ClassVar[int]
    READ_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    WRITE_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    disk: ProtectedDisk
    log_dirs: _containers.RepeatedScalarFieldContainer[str]
    state: DiskLimitState
    utilisation: float
    await_ms: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    why: str
    def __init__(self, disk: _Optional[_Union[ProtectedDisk, _Mapping]] = ..., log_dirs: _Optional[_Iterable[str]] = ..., state: _Optional[_Union[DiskLimitState, str]] = ..., utilisation: _Optional[float] = ..., await_ms: _Optional[float] = ..., read_bytes_per_s: _Optional[float] = ..., write_bytes_per_s: _Optional[float] = ..., why: _Optional[str] = ...) -> None: ...

class DiskClientUse(_message.Message):
    __slots__ = ("client_id", "user", "group", "bytes_per_s")
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    client_id: str
    user: str
    group: str
    bytes_per_s: float
    def __init__(self, client_id: _Optional[str] = ..., user: _Optional[str] = ..., group: _Optional[str] = ..., bytes_per_s: _Optional[float] = ...) -> None: ...

class DiskDoing(_message.Message):
    __slots__ = ("disk", "topic", "partition", "behaviour", "bytes_per_s", "expected_bytes_per_s", "from_disk", "abnormal", "why", "clients")
    DISK_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BEHAVIOUR_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    FROM_DISK_FIELD_NUMBER: _ClassVar[int]
    ABNORMAL_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    CLIENTS_FIELD_NUMBER: _ClassVar[int]
    disk: ProtectedDisk
    topic: str
    partition: int
    behaviour: DiskBehaviour
    bytes_per_s: float
    expected_bytes_per_s: float
    from_disk: bool
    abnormal: bool
    why: str
    clients: _containers.RepeatedCompositeFieldContainer[DiskClientUse]
    def __init__(self, disk: _Optional[_Union[ProtectedDisk, _Mapping]] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., behaviour: _Optional[_Union[DiskBehaviour, str]] = ..., bytes_per_s: _Optional[float] = ..., expected_bytes_per_s: _Optional[float] = ..., from_disk: _Optional[bool] = ..., abnormal: _Optional[bool] = ..., why: _Optional[str] = ..., clients: _Optional[_Iterable[_Union[DiskClientUse, _Mapping]]] = ...) -> None: ...

class ProtectionReport(_message.Message):
    __slots__ = ("cluster", "mode", "disks", "queue", "normal", "held", "looked_at_ms", "remarks", "doings_in_all", "asked_at_ms", "unseen_brokers")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DISKS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    NORMAL_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    LOOKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    DOINGS_IN_ALL_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UNSEEN_BROKERS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    mode: str
    disks: _containers.RepeatedCompositeFieldContainer[DiskLimitHealth]
    queue: _containers.RepeatedCompositeFieldContainer[DiskDoing]
    normal: _containers.RepeatedCompositeFieldContainer[DiskDoing]
    held: ProtectionState
    looked_at_ms: int
    remarks: _containers.RepeatedScalarFieldContainer[str]
    doings_in_all: int
    asked_at_ms: int
    unseen_brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, cluster: _Optional[str] = ..., mode: _Optional[str] = ..., disks: _Optional[_Iterable[_Union[DiskLimitHealth, _Mapping]]] = ..., queue: _Optional[_Iterable[_Union[DiskDoing, _Mapping]]] = ..., normal: _Optional[_Iterable[_Union[DiskDoing, _Mapping]]] = ..., held: _Optional[_Union[ProtectionState, _Mapping]] = ..., looked_at_ms: _Optional[int] = ..., remarks: _Optional[_Iterable[str]] = ..., doings_in_all: _Optional[int] = ..., asked_at_ms: _Optional[int] = ..., unseen_brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class ReleaseProtectionRequest(_message.Message):
    __slots__ = ("cluster", "broker", "disk", "hold_ms", "actor")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    DISK_FIELD_NUMBER: _ClassVar[int]
    HOLD_MS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    broker: int
    disk: str
    hold_ms: int
    actor: str
    def __init__(self, cluster: _Optional[str] = ..., broker: _Optional[int] = ..., disk: _Optional[str] = ..., hold_ms: _Optional[int] = ..., actor: _Optional[str] = ...) -> None: ...

class ReleaseProtectionReply(_message.Message):
    __slots__ = ("released",)
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    released: _containers.RepeatedCompositeFieldContainer[ProtectionLever]
    def __init__(self, released: _Optional[_Iterable[_Union[ProtectionLever, _Mapping]]] = ...) -> None: ...
