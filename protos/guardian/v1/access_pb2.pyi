from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
ACCESS_FIELD_NUMBER: _ClassVar[int]
access: _descriptor.FieldDescriptor

class Access(_message.Message):
    __slots__ = ("where", "roles", "field", "who", "broker", "logs_in", "is_cut")
    class Where(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        WHERE_UNSPECIFIED: _ClassVar[Access.Where]
        OPEN: _ClassVar[Access.Where]
        ANYWHERE: _ClassVar[Access.Where]
        EVERYWHERE: _ClassVar[Access.Where]
        CLUSTER: _ClassVar[Access.Where]
        CLUSTERS: _ClassVar[Access.Where]
        KAFKA_CLUSTERS: _ClassVar[Access.Where]
        TICKET: _ClassVar[Access.Where]
        PLAN: _ClassVar[Access.Where]
        CHANGES: _ClassVar[Access.Where]
        PROVEN: _ClassVar[Access.Where]
    WHERE_UNSPECIFIED: Access.Where
    OPEN: Access.Where
    ANYWHERE: Access.Where
    EVERYWHERE: Access.Where
    CLUSTER: Access.Where
    CLUSTERS: Access.Where
    KAFKA_CLUSTERS: Access.Where
    TICKET: Access.Where
    PLAN: Access.Where
    CHANGES: Access.Where
    PROVEN: Access.Where
    class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ROLE_UNSPECIFIED: _ClassVar[Access.Role]
        VIEWER: _ClassVar[Access.Role]
        OPERATOR: _ClassVar[Access.Role]
        APPROVER: _ClassVar[Access.Role]
        ADMIN: _ClassVar[Access.Role]
        BROKER: _ClassVar[Access.Role]
    ROLE_UNSPECIFIED: Access.Role
    VIEWER: Access.Role
    OPERATOR: Access.Role
    APPROVER: Access.Role
    ADMIN: Access.Role
    BROKER: Access.Role
    WHERE_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    WHO_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    LOGS_IN_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    where: Access.Where
    roles: _containers.RepeatedScalarFieldContainer[Access.Role]
    field: str
    who: str
    broker: str
    logs_in: bool
    is_cut: bool
    def __init__(self, where: _Optional[_Union[Access.Where, str]] = ..., roles: _Optional[_Iterable[_Union[Access.Role, str]]] = ..., field: _Optional[str] = ..., who: _Optional[str] = ..., broker: _Optional[str] = ..., logs_in: _Optional[bool] = ..., is_cut: _Optional[bool] = ...) -> None: ...
