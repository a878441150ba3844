from protos.guardian.v1 import access_pb2 as _access_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class SessionRef(_message.Message):
    __slots__ = ("id", "sequence", "answered_below")
    ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_BELOW_FIELD_NUMBER: _ClassVar[int]
    id: int
    sequence: int
    answered_below: int
    def __init__(self, id: _Optional[int] = ..., sequence: _Optional[int] = ..., answered_below: _Optional[int] = ...) -> None: ...

class OpenSessionRequest(_message.Message):
    __slots__ = ("window", "owner")
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    window: int
    owner: str
    def __init__(self, window: _Optional[int] = ..., owner: _Optional[str] = ...) -> None: ...

class OpenSessionReply(_message.Message):
    __slots__ = ("session_id", "window", "expires_after_ms")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    session_id: int
    window: int
    expires_after_ms: int
    def __init__(self, session_id: _Optional[int] = ..., window: _Optional[int] = ..., expires_after_ms: _Optional[int] = ...) -> None: ...
