from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Cluster(_message.Message):
    __slots__ = ("name", "cluster_id", "bootstrap", "security", "brokers")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_FIELD_NUMBER: _ClassVar[int]
    SECURITY_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    cluster_id: str
    bootstrap: str
    security: ClusterSecurity
    brokers: _containers.RepeatedCompositeFieldContainer[Broker]
    def __init__(self, name: _Optional[str] = ..., cluster_id: _Optional[str] = ..., bootstrap: _Optional[str] = ..., security: _Optional[_Union[ClusterSecurity, _Mapping]] = ..., brokers: _Optional[_Iterable[_Union[Broker, _Mapping]]] = ...) -> None: ...

class Broker(_message.Message):
    __slots__ = ("id", "rack", "idc", "reporter")
    ID_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    IDC_FIELD_NUMBER: _ClassVar[int]
    REPORTER_FIELD_NUMBER: _ClassVar[int]
    id: int
    rack: str
    idc: str
    reporter: str
    def __init__(self, id: _Optional[int] = ..., rack: _Optional[str] = ..., idc: _Optional[str] = ..., reporter: _Optional[str] = ...) -> None: ...

class ClusterSecurity(_message.Message):
    __slots__ = ("protocol", "sasl_mechanism", "username", "password_file", "ca_file")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    SASL_MECHANISM_FIELD_NUMBER: _ClassVar[int]
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FILE_FIELD_NUMBER: _ClassVar[int]
    CA_FILE_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    sasl_mechanism: str
    username: str
    password_file: str
    ca_file: str
    def __init__(self, protocol: _Optional[str] = ..., sasl_mechanism: _Optional[str] = ..., username: _Optional[str] = ..., password_file: _Optional[str] = ..., ca_file: _Optional[str] = ...) -> None: ...

class RegisterClusterRequest(_message.Message):
    __slots__ = ("cluster", "idc_of_rack")
    class IdcOfRackEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    IDC_OF_RACK_FIELD_NUMBER: _ClassVar[int]
    cluster: Cluster
    idc_of_rack: _containers.ScalarMap[str, str]
    def __init__(self, cluster: _Optional[_Union[Cluster, _Mapping]] = ..., idc_of_rack: _Optional[_Mapping[str, str]] = ...) -> None: ...

class RegisterClusterReply(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: Cluster
    def __init__(self, cluster: _Optional[_Union[Cluster, _Mapping]] = ...) -> None: ...

class RemoveClusterRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RemoveClusterReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListClustersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListClustersReply(_message.Message):
    __slots__ = ("clusters",)
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    clusters: _containers.RepeatedCompositeFieldContainer[Cluster]
    def __init__(self, clusters: _Optional[_Iterable[_Union[Cluster, _Mapping]]] = ...) -> None: ...

class GetMemberRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Member(_message.Message):
    __slots__ = ("name", "version", "leader", "term", "applied_index", "live_members", "lake_url", "collects")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    APPLIED_INDEX_FIELD_NUMBER: _ClassVar[int]
    LIVE_MEMBERS_FIELD_NUMBER: _ClassVar[int]
    LAKE_URL_FIELD_NUMBER: _ClassVar[int]
    COLLECTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    leader: str
    term: int
    applied_index: int
    live_members: _containers.RepeatedScalarFieldContainer[str]
    lake_url: str
    collects: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., leader: _Optional[str] = ..., term: _Optional[int] = ..., applied_index: _Optional[int] = ..., live_members: _Optional[_Iterable[str]] = ..., lake_url: _Optional[str] = ..., collects: _Optional[_Iterable[str]] = ...) -> None: ...
