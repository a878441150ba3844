from protos.guardian.v1 import access_pb2 as _access_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AclVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACL_VERDICT_UNSPECIFIED: _ClassVar[AclVerdict]
    ACL_USED: _ClassVar[AclVerdict]
    ACL_UNUSED: _ClassVar[AclVerdict]
    ACL_TOO_WIDE: _ClassVar[AclVerdict]
    ACL_UNSEEN: _ClassVar[AclVerdict]
ACL_VERDICT_UNSPECIFIED: AclVerdict
ACL_USED: AclVerdict
ACL_UNUSED: AclVerdict
ACL_TOO_WIDE: AclVerdict
ACL_UNSEEN: AclVerdict

class ActivityCoverage(_message.Message):
    __slots__ = ("from_ms", "to_ms", "slices", "brokers", "dropped_events", "lost_slices", "kept_from_ms")
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    SLICES_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    DROPPED_EVENTS_FIELD_NUMBER: _ClassVar[int]
    LOST_SLICES_FIELD_NUMBER: _ClassVar[int]
    KEPT_FROM_MS_FIELD_NUMBER: _ClassVar[int]
    from_ms: int
    to_ms: int
    slices: int
    brokers: int
    dropped_events: int
    lost_slices: int
    kept_from_ms: int
    def __init__(self, from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., slices: _Optional[int] = ..., brokers: _Optional[int] = ..., dropped_events: _Optional[int] = ..., lost_slices: _Optional[int] = ..., kept_from_ms: _Optional[int] = ...) -> None: ...

class ListActivityRequest(_message.Message):
    __slots__ = ("cluster", "from_ms", "to_ms", "topic", "broker", "principal", "limit")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    from_ms: int
    to_ms: int
    topic: str
    broker: int
    principal: str
    limit: int
    def __init__(self, cluster: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., topic: _Optional[str] = ..., broker: _Optional[int] = ..., principal: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListActivityReply(_message.Message):
    __slots__ = ("rows", "truncated", "coverage")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[ActivityRow]
    truncated: bool
    coverage: ActivityCoverage
    def __init__(self, rows: _Optional[_Iterable[_Union[ActivityRow, _Mapping]]] = ..., truncated: _Optional[bool] = ..., coverage: _Optional[_Union[ActivityCoverage, _Mapping]] = ...) -> None: ...

class ActivityRow(_message.Message):
    __slots__ = ("principal", "client_id", "address", "resource_type", "resource", "operation", "allowed", "denied", "bytes_produced", "bytes_fetched", "bytes_shared", "first_ms", "last_ms", "brokers", "addresses")
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    DENIED_FIELD_NUMBER: _ClassVar[int]
    BYTES_PRODUCED_FIELD_NUMBER: _ClassVar[int]
    BYTES_FETCHED_FIELD_NUMBER: _ClassVar[int]
    BYTES_SHARED_FIELD_NUMBER: _ClassVar[int]
    FIRST_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_MS_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    principal: str
    client_id: str
    address: str
    resource_type: str
    resource: str
    operation: str
    allowed: int
    denied: int
    bytes_produced: int
    bytes_fetched: int
    bytes_shared: bool
    first_ms: int
    last_ms: int
    brokers: int
    addresses: int
    def __init__(self, principal: _Optional[str] = ..., client_id: _Optional[str] = ..., address: _Optional[str] = ..., resource_type: _Optional[str] = ..., resource: _Optional[str] = ..., operation: _Optional[str] = ..., allowed: _Optional[int] = ..., denied: _Optional[int] = ..., bytes_produced: _Optional[int] = ..., bytes_fetched: _Optional[int] = ..., bytes_shared: _Optional[bool] = ..., first_ms: _Optional[int] = ..., last_ms: _Optional[int] = ..., brokers: _Optional[int] = ..., addresses: _Optional[int] = ...) -> None: ...

class ListIdleTopicsRequest(_message.Message):
    __slots__ = ("cluster", "since_ms", "with_internal", "limit")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    WITH_INTERNAL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    since_ms: int
    with_internal: bool
    limit: int
    def __init__(self, cluster: _Optional[str] = ..., since_ms: _Optional[int] = ..., with_internal: _Optional[bool] = ..., limit: _Optional[int] = ...) -> None: ...

class ListIdleTopicsReply(_message.Message):
    __slots__ = ("topics", "truncated", "coverage")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[IdleTopic]
    truncated: bool
    coverage: ActivityCoverage
    def __init__(self, topics: _Optional[_Iterable[_Union[IdleTopic, _Mapping]]] = ..., truncated: _Optional[bool] = ..., coverage: _Optional[_Union[ActivityCoverage, _Mapping]] = ...) -> None: ...

class IdleTopic(_message.Message):
    __slots__ = ("name", "without_readers", "without_writers", "last_read_ms", "last_write_ms", "tenant", "owner")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_READERS_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_WRITERS_FIELD_NUMBER: _ClassVar[int]
    LAST_READ_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_WRITE_MS_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    name: str
    without_readers: bool
    without_writers: bool
    last_read_ms: int
    last_write_ms: int
    tenant: str
    owner: str
    def __init__(self, name: _Optional[str] = ..., without_readers: _Optional[bool] = ..., without_writers: _Optional[bool] = ..., last_read_ms: _Optional[int] = ..., last_write_ms: _Optional[int] = ..., tenant: _Optional[str] = ..., owner: _Optional[str] = ...) -> None: ...

class ListTenantUsageRequest(_message.Message):
    __slots__ = ("cluster", "from_ms", "to_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    from_ms: int
    to_ms: int
    def __init__(self, cluster: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ...) -> None: ...

class ListTenantUsageReply(_message.Message):
    __slots__ = ("tenants", "coverage")
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[TenantUsage]
    coverage: ActivityCoverage
    def __init__(self, tenants: _Optional[_Iterable[_Union[TenantUsage, _Mapping]]] = ..., coverage: _Optional[_Union[ActivityCoverage, _Mapping]] = ...) -> None: ...

class TenantUsage(_message.Message):
    __slots__ = ("tenant", "topics", "bytes_produced", "bytes_fetched", "writes", "reads", "bytes_shared", "topics_without_bytes", "requests_without_bytes")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    BYTES_PRODUCED_FIELD_NUMBER: _ClassVar[int]
    BYTES_FETCHED_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    BYTES_SHARED_FIELD_NUMBER: _ClassVar[int]
    TOPICS_WITHOUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_WITHOUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    topics: int
    bytes_produced: int
    bytes_fetched: int
    writes: int
    reads: int
    bytes_shared: bool
    topics_without_bytes: int
    requests_without_bytes: int
    def __init__(self, tenant: _Optional[str] = ..., topics: _Optional[int] = ..., bytes_produced: _Optional[int] = ..., bytes_fetched: _Optional[int] = ..., writes: _Optional[int] = ..., reads: _Optional[int] = ..., bytes_shared: _Optional[bool] = ..., topics_without_bytes: _Optional[int] = ..., requests_without_bytes: _Optional[int] = ...) -> None: ...

class ListTopicUseRequest(_message.Message):
    __slots__ = ("cluster", "from_ms", "to_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    from_ms: int
    to_ms: int
    def __init__(self, cluster: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ...) -> None: ...

class ListTopicUseReply(_message.Message):
    __slots__ = ("topics", "coverage", "unknown", "prices")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    PRICES_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[TopicUse]
    coverage: ActivityCoverage
    unknown: _containers.RepeatedScalarFieldContainer[str]
    prices: PriceList
    def __init__(self, topics: _Optional[_Iterable[_Union[TopicUse, _Mapping]]] = ..., coverage: _Optional[_Union[ActivityCoverage, _Mapping]] = ..., unknown: _Optional[_Iterable[str]] = ..., prices: _Optional[_Union[PriceList, _Mapping]] = ...) -> None: ...

class TopicUse(_message.Message):
    __slots__ = ("topic", "tenant", "bytes_produced", "bytes_fetched", "requests", "bytes_shared", "stored_bytes", "stored_partly")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    BYTES_PRODUCED_FIELD_NUMBER: _ClassVar[int]
    BYTES_FETCHED_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    BYTES_SHARED_FIELD_NUMBER: _ClassVar[int]
    STORED_BYTES_FIELD_NUMBER: _ClassVar[int]
    STORED_PARTLY_FIELD_NUMBER: _ClassVar[int]
    topic: str
    tenant: str
    bytes_produced: int
    bytes_fetched: int
    requests: int
    bytes_shared: bool
    stored_bytes: int
    stored_partly: bool
    def __init__(self, topic: _Optional[str] = ..., tenant: _Optional[str] = ..., bytes_produced: _Optional[int] = ..., bytes_fetched: _Optional[int] = ..., requests: _Optional[int] = ..., bytes_shared: _Optional[bool] = ..., stored_bytes: _Optional[int] = ..., stored_partly: _Optional[bool] = ...) -> None: ...

class PriceList(_message.Message):
    __slots__ = ("default", "tenants")
    class TenantsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Prices
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Prices, _Mapping]] = ...) -> None: ...
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    default: Prices
    tenants: _containers.MessageMap[str, Prices]
    def __init__(self, default: _Optional[_Union[Prices, _Mapping]] = ..., tenants: _Optional[_Mapping[str, Prices]] = ...) -> None: ...

class Prices(_message.Message):
    __slots__ = ("produced_gb", "fetched_gb", "million_requests", "stored_gb_month", "tiered_gb_month")
    PRODUCED_GB_FIELD_NUMBER: _ClassVar[int]
    FETCHED_GB_FIELD_NUMBER: _ClassVar[int]
    MILLION_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    STORED_GB_MONTH_FIELD_NUMBER: _ClassVar[int]
    TIERED_GB_MONTH_FIELD_NUMBER: _ClassVar[int]
    produced_gb: float
    fetched_gb: float
    million_requests: float
    stored_gb_month: float
    tiered_gb_month: float
    def __init__(self, produced_gb: _Optional[float] = ..., fetched_gb: _Optional[float] = ..., million_requests: _Optional[float] = ..., stored_gb_month: _Optional[float] = ..., tiered_gb_month: _Optional[float] = ...) -> None: ...

class ListAclUseRequest(_message.Message):
    __slots__ = ("cluster", "since_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    since_ms: int
    def __init__(self, cluster: _Optional[str] = ..., since_ms: _Optional[int] = ...) -> None: ...

class ListAclUseReply(_message.Message):
    __slots__ = ("acls", "coverage", "denials")
    ACLS_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    DENIALS_FIELD_NUMBER: _ClassVar[int]
    acls: _containers.RepeatedCompositeFieldContainer[AclUse]
    coverage: ActivityCoverage
    denials: int
    def __init__(self, acls: _Optional[_Iterable[_Union[AclUse, _Mapping]]] = ..., coverage: _Optional[_Union[ActivityCoverage, _Mapping]] = ..., denials: _Optional[int] = ...) -> None: ...

class AclUse(_message.Message):
    __slots__ = ("resource_type", "pattern_type", "resource_name", "principal", "host", "operation", "verdict", "why", "names_used", "names", "names_covered", "operations", "principals_used", "last_ms")
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    PATTERN_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    NAMES_USED_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    NAMES_COVERED_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    PRINCIPALS_USED_FIELD_NUMBER: _ClassVar[int]
    LAST_MS_FIELD_NUMBER: _ClassVar[int]
    resource_type: str
    pattern_type: str
    resource_name: str
    principal: str
    host: str
    operation: str
    verdict: AclVerdict
    why: str
    names_used: int
    names: _containers.RepeatedScalarFieldContainer[str]
    names_covered: int
    operations: _containers.RepeatedScalarFieldContainer[str]
    principals_used: int
    last_ms: int
    def __init__(self, resource_type: _Optional[str] = ..., pattern_type: _Optional[str] = ..., resource_name: _Optional[str] = ..., principal: _Optional[str] = ..., host: _Optional[str] = ..., operation: _Optional[str] = ..., verdict: _Optional[_Union[AclVerdict, str]] = ..., why: _Optional[str] = ..., names_used: _Optional[int] = ..., names: _Optional[_Iterable[str]] = ..., names_covered: _Optional[int] = ..., operations: _Optional[_Iterable[str]] = ..., principals_used: _Optional[int] = ..., last_ms: _Optional[int] = ...) -> None: ...
