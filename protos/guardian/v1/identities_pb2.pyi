from protos.guardian.v1 import access_pb2 as _access_pb2
from protos.guardian.v1 import identity_pb2 as _identity_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WhoAmIRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WhoAmIReply(_message.Message):
    __slots__ = ("name", "proof", "groups", "grants", "brokers", "until_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    proof: _identity_pb2.Proof
    groups: _containers.RepeatedScalarFieldContainer[str]
    grants: _containers.RepeatedCompositeFieldContainer[RoleGrant]
    brokers: _containers.RepeatedScalarFieldContainer[str]
    until_ms: int
    def __init__(self, name: _Optional[str] = ..., proof: _Optional[_Union[_identity_pb2.Proof, str]] = ..., groups: _Optional[_Iterable[str]] = ..., grants: _Optional[_Iterable[_Union[RoleGrant, _Mapping]]] = ..., brokers: _Optional[_Iterable[str]] = ..., until_ms: _Optional[int] = ...) -> None: ...

class RoleGrant(_message.Message):
    __slots__ = ("role", "clusters", "tenants", "is_stored")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    IS_STORED_FIELD_NUMBER: _ClassVar[int]
    role: str
    clusters: _containers.RepeatedScalarFieldContainer[str]
    tenants: _containers.RepeatedScalarFieldContainer[str]
    is_stored: bool
    def __init__(self, role: _Optional[str] = ..., clusters: _Optional[_Iterable[str]] = ..., tenants: _Optional[_Iterable[str]] = ..., is_stored: _Optional[bool] = ...) -> None: ...

class GetRolesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RolesInForce(_message.Message):
    __slots__ = ("file", "revision", "damage", "grants", "denied", "signed_out")
    FILE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DAMAGE_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    DENIED_FIELD_NUMBER: _ClassVar[int]
    SIGNED_OUT_FIELD_NUMBER: _ClassVar[int]
    file: str
    revision: int
    damage: str
    grants: _containers.RepeatedCompositeFieldContainer[GrantInForce]
    denied: _containers.RepeatedCompositeFieldContainer[DenialInForce]
    signed_out: _containers.RepeatedCompositeFieldContainer[SignOutInForce]
    def __init__(self, file: _Optional[str] = ..., revision: _Optional[int] = ..., damage: _Optional[str] = ..., grants: _Optional[_Iterable[_Union[GrantInForce, _Mapping]]] = ..., denied: _Optional[_Iterable[_Union[DenialInForce, _Mapping]]] = ..., signed_out: _Optional[_Iterable[_Union[SignOutInForce, _Mapping]]] = ...) -> None: ...

class GrantInForce(_message.Message):
    __slots__ = ("who", "grant")
    WHO_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    who: _containers.RepeatedScalarFieldContainer[str]
    grant: RoleGrant
    def __init__(self, who: _Optional[_Iterable[str]] = ..., grant: _Optional[_Union[RoleGrant, _Mapping]] = ...) -> None: ...

class DenialInForce(_message.Message):
    __slots__ = ("who", "is_stored")
    WHO_FIELD_NUMBER: _ClassVar[int]
    IS_STORED_FIELD_NUMBER: _ClassVar[int]
    who: str
    is_stored: bool
    def __init__(self, who: _Optional[str] = ..., is_stored: _Optional[bool] = ...) -> None: ...

class SignOutInForce(_message.Message):
    __slots__ = ("who", "at_ms", "is_stored")
    WHO_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    IS_STORED_FIELD_NUMBER: _ClassVar[int]
    who: str
    at_ms: int
    is_stored: bool
    def __init__(self, who: _Optional[str] = ..., at_ms: _Optional[int] = ..., is_stored: _Optional[bool] = ...) -> None: ...
