from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UserTaskState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    USER_TASK_STATE_UNSPECIFIED: _ClassVar[UserTaskState]
    USER_TASK_ACTIVE: _ClassVar[UserTaskState]
    USER_TASK_COMPLETED: _ClassVar[UserTaskState]
    USER_TASK_FAILED: _ClassVar[UserTaskState]
    USER_TASK_LOST: _ClassVar[UserTaskState]
USER_TASK_STATE_UNSPECIFIED: UserTaskState
USER_TASK_ACTIVE: UserTaskState
USER_TASK_COMPLETED: UserTaskState
USER_TASK_FAILED: UserTaskState
USER_TASK_LOST: UserTaskState

class UserTask(_message.Message):
    __slots__ = ("id", "cluster", "endpoint", "url", "client", "person", "started_ms", "request", "member", "process", "state", "ticket_ids")
    ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    PERSON_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TICKET_IDS_FIELD_NUMBER: _ClassVar[int]
    id: str
    cluster: str
    endpoint: str
    url: str
    client: str
    person: str
    started_ms: int
    request: bytes
    member: str
    process: str
    state: UserTaskState
    ticket_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., cluster: _Optional[str] = ..., endpoint: _Optional[str] = ..., url: _Optional[str] = ..., client: _Optional[str] = ..., person: _Optional[str] = ..., started_ms: _Optional[int] = ..., request: _Optional[bytes] = ..., member: _Optional[str] = ..., process: _Optional[str] = ..., state: _Optional[_Union[UserTaskState, str]] = ..., ticket_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class UserTaskAnswer(_message.Message):
    __slots__ = ("status", "document", "text")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    status: int
    document: str
    text: str
    def __init__(self, status: _Optional[int] = ..., document: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class PutUserTask(_message.Message):
    __slots__ = ("task", "answer", "member", "process")
    TASK_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    task: UserTask
    answer: bytes
    member: str
    process: str
    def __init__(self, task: _Optional[_Union[UserTask, _Mapping]] = ..., answer: _Optional[bytes] = ..., member: _Optional[str] = ..., process: _Optional[str] = ...) -> None: ...
