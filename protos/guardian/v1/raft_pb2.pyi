from protos.guardian.v1 import access_pb2 as _access_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StopCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STOP_CAUSE_UNSPECIFIED: _ClassVar[StopCause]
    STOP_CAUSE_DAMAGED: _ClassVar[StopCause]
    STOP_CAUSE_DIVERGED: _ClassVar[StopCause]
STOP_CAUSE_UNSPECIFIED: StopCause
STOP_CAUSE_DAMAGED: StopCause
STOP_CAUSE_DIVERGED: StopCause

class GetRaftStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RaftStatus(_message.Message):
    __slots__ = ("name", "group_id", "state", "leader", "leader_endpoint", "term", "first_index", "last_index", "commit_index", "applied_index", "staleness_ms", "members", "disk_free_bytes", "disk_reserve_bytes", "is_refusing_writes", "level", "known_level", "verification", "clock_ms", "is_outvoted", "counters")
    class CountersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    LEADER_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    LAST_INDEX_FIELD_NUMBER: _ClassVar[int]
    COMMIT_INDEX_FIELD_NUMBER: _ClassVar[int]
    APPLIED_INDEX_FIELD_NUMBER: _ClassVar[int]
    STALENESS_MS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    DISK_FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_RESERVE_BYTES_FIELD_NUMBER: _ClassVar[int]
    IS_REFUSING_WRITES_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    KNOWN_LEVEL_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_FIELD_NUMBER: _ClassVar[int]
    CLOCK_MS_FIELD_NUMBER: _ClassVar[int]
    IS_OUTVOTED_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    group_id: str
    state: str
    leader: str
    leader_endpoint: str
    term: int
    first_index: int
    last_index: int
    commit_index: int
    applied_index: int
    staleness_ms: int
    members: _containers.RepeatedCompositeFieldContainer[RaftMember]
    disk_free_bytes: int
    disk_reserve_bytes: int
    is_refusing_writes: bool
    level: int
    known_level: int
    verification: Verification
    clock_ms: int
    is_outvoted: bool
    counters: _containers.ScalarMap[str, int]
    def __init__(self, name: _Optional[str] = ..., group_id: _Optional[str] = ..., state: _Optional[str] = ..., leader: _Optional[str] = ..., leader_endpoint: _Optional[str] = ..., term: _Optional[int] = ..., first_index: _Optional[int] = ..., last_index: _Optional[int] = ..., commit_index: _Optional[int] = ..., applied_index: _Optional[int] = ..., staleness_ms: _Optional[int] = ..., members: _Optional[_Iterable[_Union[RaftMember, _Mapping]]] = ..., disk_free_bytes: _Optional[int] = ..., disk_reserve_bytes: _Optional[int] = ..., is_refusing_writes: _Optional[bool] = ..., level: _Optional[int] = ..., known_level: _Optional[int] = ..., verification: _Optional[_Union[Verification, _Mapping]] = ..., clock_ms: _Optional[int] = ..., is_outvoted: _Optional[bool] = ..., counters: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Verification(_message.Message):
    __slots__ = ("is_running", "share", "verified_at_ms", "problem")
    IS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    is_running: bool
    share: float
    verified_at_ms: int
    problem: str
    def __init__(self, is_running: _Optional[bool] = ..., share: _Optional[float] = ..., verified_at_ms: _Optional[int] = ..., problem: _Optional[str] = ...) -> None: ...

class RaftMember(_message.Message):
    __slots__ = ("name", "raft", "endpoint", "is_voter", "is_connected", "match_index", "stop_cause", "stop_reason", "clock_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RAFT_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    IS_VOTER_FIELD_NUMBER: _ClassVar[int]
    IS_CONNECTED_FIELD_NUMBER: _ClassVar[int]
    MATCH_INDEX_FIELD_NUMBER: _ClassVar[int]
    STOP_CAUSE_FIELD_NUMBER: _ClassVar[int]
    STOP_REASON_FIELD_NUMBER: _ClassVar[int]
    CLOCK_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    raft: str
    endpoint: str
    is_voter: bool
    is_connected: bool
    match_index: int
    stop_cause: StopCause
    stop_reason: str
    clock_ms: int
    def __init__(self, name: _Optional[str] = ..., raft: _Optional[str] = ..., endpoint: _Optional[str] = ..., is_voter: _Optional[bool] = ..., is_connected: _Optional[bool] = ..., match_index: _Optional[int] = ..., stop_cause: _Optional[_Union[StopCause, str]] = ..., stop_reason: _Optional[str] = ..., clock_ms: _Optional[int] = ...) -> None: ...

class TransferLeaderRequest(_message.Message):
    __slots__ = ("to",)
    TO_FIELD_NUMBER: _ClassVar[int]
    to: str
    def __init__(self, to: _Optional[str] = ...) -> None: ...

class TransferLeaderReply(_message.Message):
    __slots__ = ("leader",)
    LEADER_FIELD_NUMBER: _ClassVar[int]
    leader: str
    def __init__(self, leader: _Optional[str] = ...) -> None: ...

class ChangeMembershipRequest(_message.Message):
    __slots__ = ("add", "promote", "remove")
    ADD_FIELD_NUMBER: _ClassVar[int]
    PROMOTE_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    add: AddMember
    promote: str
    remove: str
    def __init__(self, add: _Optional[_Union[AddMember, _Mapping]] = ..., promote: _Optional[str] = ..., remove: _Optional[str] = ...) -> None: ...

class AddMember(_message.Message):
    __slots__ = ("name", "raft")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RAFT_FIELD_NUMBER: _ClassVar[int]
    name: str
    raft: str
    def __init__(self, name: _Optional[str] = ..., raft: _Optional[str] = ...) -> None: ...

class ChangeMembershipReply(_message.Message):
    __slots__ = ("members",)
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[RaftMember]
    def __init__(self, members: _Optional[_Iterable[_Union[RaftMember, _Mapping]]] = ...) -> None: ...

class RaiseLevelRequest(_message.Message):
    __slots__ = ("level", "known_by")
    class KnownByEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    KNOWN_BY_FIELD_NUMBER: _ClassVar[int]
    level: int
    known_by: _containers.ScalarMap[str, int]
    def __init__(self, level: _Optional[int] = ..., known_by: _Optional[_Mapping[str, int]] = ...) -> None: ...

class RaiseLevelReply(_message.Message):
    __slots__ = ("level",)
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    level: int
    def __init__(self, level: _Optional[int] = ...) -> None: ...

class SaveSnapshotRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SaveSnapshotReply(_message.Message):
    __slots__ = ("data", "index", "term")
    DATA_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    index: int
    term: int
    def __init__(self, data: _Optional[bytes] = ..., index: _Optional[int] = ..., term: _Optional[int] = ...) -> None: ...
