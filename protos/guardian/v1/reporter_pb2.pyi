from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CollectRequest(_message.Message):
    __slots__ = ("dictionary_id", "known_names", "name_prefixes", "with_activity", "activity_life_ms", "activity_after", "identity_only", "devices_only", "max_listing_age_ms")
    DICTIONARY_ID_FIELD_NUMBER: _ClassVar[int]
    KNOWN_NAMES_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIXES_FIELD_NUMBER: _ClassVar[int]
    WITH_ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_LIFE_MS_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_AFTER_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_ONLY_FIELD_NUMBER: _ClassVar[int]
    DEVICES_ONLY_FIELD_NUMBER: _ClassVar[int]
    MAX_LISTING_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    dictionary_id: int
    known_names: int
    name_prefixes: _containers.RepeatedScalarFieldContainer[str]
    with_activity: bool
    activity_life_ms: int
    activity_after: int
    identity_only: bool
    devices_only: bool
    max_listing_age_ms: int
    def __init__(self, dictionary_id: _Optional[int] = ..., known_names: _Optional[int] = ..., name_prefixes: _Optional[_Iterable[str]] = ..., with_activity: _Optional[bool] = ..., activity_life_ms: _Optional[int] = ..., activity_after: _Optional[int] = ..., identity_only: _Optional[bool] = ..., devices_only: _Optional[bool] = ..., max_listing_age_ms: _Optional[int] = ...) -> None: ...

class MetricBatch(_message.Message):
    __slots__ = ("cluster_id", "broker_id", "collected_at_ms", "rack", "dictionary_id", "first_name_id", "names", "ids", "values", "host", "broker_started_at_ms", "activity", "replica_selector")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    DICTIONARY_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_NAME_ID_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    BROKER_STARTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    REPLICA_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    broker_id: int
    collected_at_ms: int
    rack: str
    dictionary_id: int
    first_name_id: int
    names: _containers.RepeatedScalarFieldContainer[str]
    ids: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    host: HostFacts
    broker_started_at_ms: int
    activity: _containers.RepeatedCompositeFieldContainer[ActivitySlice]
    replica_selector: ReplicaSelectorFacts
    def __init__(self, cluster_id: _Optional[str] = ..., broker_id: _Optional[int] = ..., collected_at_ms: _Optional[int] = ..., rack: _Optional[str] = ..., dictionary_id: _Optional[int] = ..., first_name_id: _Optional[int] = ..., names: _Optional[_Iterable[str]] = ..., ids: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., host: _Optional[_Union[HostFacts, _Mapping]] = ..., broker_started_at_ms: _Optional[int] = ..., activity: _Optional[_Iterable[_Union[ActivitySlice, _Mapping]]] = ..., replica_selector: _Optional[_Union[ReplicaSelectorFacts, _Mapping]] = ...) -> None: ...

class ReplicaSelectorFacts(_message.Message):
    __slots__ = ("class_name", "idc_of_rack", "idc_separator")
    class IdcOfRackEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    IDC_OF_RACK_FIELD_NUMBER: _ClassVar[int]
    IDC_SEPARATOR_FIELD_NUMBER: _ClassVar[int]
    class_name: str
    idc_of_rack: _containers.ScalarMap[str, str]
    idc_separator: str
    def __init__(self, class_name: _Optional[str] = ..., idc_of_rack: _Optional[_Mapping[str, str]] = ..., idc_separator: _Optional[str] = ...) -> None: ...

class ActivitySlice(_message.Message):
    __slots__ = ("number", "from_ms", "to_ms", "strings", "principals", "client_ids", "addresses", "resource_types", "resources", "operations", "allowed", "denied", "byte_users", "byte_client_ids", "bytes_produced", "bytes_fetched", "dropped", "lost_slices")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    PRINCIPALS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_IDS_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    DENIED_FIELD_NUMBER: _ClassVar[int]
    BYTE_USERS_FIELD_NUMBER: _ClassVar[int]
    BYTE_CLIENT_IDS_FIELD_NUMBER: _ClassVar[int]
    BYTES_PRODUCED_FIELD_NUMBER: _ClassVar[int]
    BYTES_FETCHED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    LOST_SLICES_FIELD_NUMBER: _ClassVar[int]
    number: int
    from_ms: int
    to_ms: int
    strings: _containers.RepeatedScalarFieldContainer[str]
    principals: _containers.RepeatedScalarFieldContainer[int]
    client_ids: _containers.RepeatedScalarFieldContainer[int]
    addresses: _containers.RepeatedScalarFieldContainer[int]
    resource_types: _containers.RepeatedScalarFieldContainer[int]
    resources: _containers.RepeatedScalarFieldContainer[int]
    operations: _containers.RepeatedScalarFieldContainer[int]
    allowed: _containers.RepeatedScalarFieldContainer[int]
    denied: _containers.RepeatedScalarFieldContainer[int]
    byte_users: _containers.RepeatedScalarFieldContainer[int]
    byte_client_ids: _containers.RepeatedScalarFieldContainer[int]
    bytes_produced: _containers.RepeatedScalarFieldContainer[float]
    bytes_fetched: _containers.RepeatedScalarFieldContainer[float]
    dropped: int
    lost_slices: int
    def __init__(self, number: _Optional[int] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., strings: _Optional[_Iterable[str]] = ..., principals: _Optional[_Iterable[int]] = ..., client_ids: _Optional[_Iterable[int]] = ..., addresses: _Optional[_Iterable[int]] = ..., resource_types: _Optional[_Iterable[int]] = ..., resources: _Optional[_Iterable[int]] = ..., operations: _Optional[_Iterable[int]] = ..., allowed: _Optional[_Iterable[int]] = ..., denied: _Optional[_Iterable[int]] = ..., byte_users: _Optional[_Iterable[int]] = ..., byte_client_ids: _Optional[_Iterable[int]] = ..., bytes_produced: _Optional[_Iterable[float]] = ..., bytes_fetched: _Optional[_Iterable[float]] = ..., dropped: _Optional[int] = ..., lost_slices: _Optional[int] = ...) -> None: ...

class HostFacts(_message.Message):
    __slots__ = ("disks", "memory", "log_dirs", "nics", "pressure", "cpu")
    DISKS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    NICS_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    disks: _containers.RepeatedCompositeFieldContainer[DiskFacts]
    memory: MemoryFacts
    log_dirs: _containers.RepeatedCompositeFieldContainer[LogDirFacts]
    nics: _containers.RepeatedCompositeFieldContainer[NicFacts]
    pressure: PressureFacts
    cpu: CpuFacts
    def __init__(self, disks: _Optional[_Iterable[_Union[DiskFacts, _Mapping]]] = ..., memory: _Optional[_Union[MemoryFacts, _Mapping]] = ..., log_dirs: _Optional[_Iterable[_Union[LogDirFacts, _Mapping]]] = ..., nics: _Optional[_Iterable[_Union[NicFacts, _Mapping]]] = ..., pressure: _Optional[_Union[PressureFacts, _Mapping]] = ..., cpu: _Optional[_Union[CpuFacts, _Mapping]] = ...) -> None: ...

class NicFacts(_message.Message):
    __slots__ = ("name", "bytes_received", "bytes_sent", "packets_received", "packets_sent", "receive_errors", "send_errors", "bits_per_s")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BYTES_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    BYTES_SENT_FIELD_NUMBER: _ClassVar[int]
    PACKETS_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    PACKETS_SENT_FIELD_NUMBER: _ClassVar[int]
    RECEIVE_ERRORS_FIELD_NUMBER: _ClassVar[int]
    SEND_ERRORS_FIELD_NUMBER: _ClassVar[int]
    BITS_PER_S_FIELD_NUMBER: _ClassVar[int]
    name: str
    bytes_received: int
    bytes_sent: int
    packets_received: int
    packets_sent: int
    receive_errors: int
    send_errors: int
    bits_per_s: int
    def __init__(self, name: _Optional[str] = ..., bytes_received: _Optional[int] = ..., bytes_sent: _Optional[int] = ..., packets_received: _Optional[int] = ..., packets_sent: _Optional[int] = ..., receive_errors: _Optional[int] = ..., send_errors: _Optional[int] = ..., bits_per_s: _Optional[int] = ...) -> None: ...

class PressureFacts(_message.Message):
    __slots__ = ("cpu_some_us", "io_some_us", "io_full_us", "memory_some_us", "memory_full_us")
    CPU_SOME_US_FIELD_NUMBER: _ClassVar[int]
    IO_SOME_US_FIELD_NUMBER: _ClassVar[int]
    IO_FULL_US_FIELD_NUMBER: _ClassVar[int]
    MEMORY_SOME_US_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FULL_US_FIELD_NUMBER: _ClassVar[int]
    cpu_some_us: int
    io_some_us: int
    io_full_us: int
    memory_some_us: int
    memory_full_us: int
    def __init__(self, cpu_some_us: _Optional[int] = ..., io_some_us: _Optional[int] = ..., io_full_us: _Optional[int] = ..., memory_some_us: _Optional[int] = ..., memory_full_us: _Optional[int] = ...) -> None: ...

class CpuFacts(_message.Message):
    __slots__ = ("cores", "user_ms", "system_ms", "io_wait_ms", "idle_ms", "steal_ms")
    CORES_FIELD_NUMBER: _ClassVar[int]
    USER_MS_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_MS_FIELD_NUMBER: _ClassVar[int]
    IO_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    IDLE_MS_FIELD_NUMBER: _ClassVar[int]
    STEAL_MS_FIELD_NUMBER: _ClassVar[int]
    cores: int
    user_ms: int
    system_ms: int
    io_wait_ms: int
    idle_ms: int
    steal_ms: int
    def __init__(self, cores: _Optional[int] = ..., user_ms: _Optional[int] = ..., system_ms: _Optional[int] = ..., io_wait_ms: _Optional[int] = ..., idle_ms: _Optional[int] = ..., steal_ms: _Optional[int] = ...) -> None: ...

class DiskFacts(_message.Message):
    __slots__ = ("name", "bytes_read", "bytes_written", "reads_completed", "writes_completed", "busy_ms", "read_ms", "write_ms", "in_flight")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BYTES_READ_FIELD_NUMBER: _ClassVar[int]
    BYTES_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    READS_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    WRITES_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    BUSY_MS_FIELD_NUMBER: _ClassVar[int]
    READ_MS_FIELD_NUMBER: _ClassVar[int]
    WRITE_MS_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    name: str
    bytes_read: int
    bytes_written: int
    reads_completed: int
    writes_completed: int
    busy_ms: int
    read_ms: int
    write_ms: int
    in_flight: int
    def __init__(self, name: _Optional[str] = ..., bytes_read: _Optional[int] = ..., bytes_written: _Optional[int] = ..., reads_completed: _Optional[int] = ..., writes_completed: _Optional[int] = ..., busy_ms: _Optional[int] = ..., read_ms: _Optional[int] = ..., write_ms: _Optional[int] = ..., in_flight: _Optional[int] = ...) -> None: ...

class MemoryFacts(_message.Message):
    __slots__ = ("total_bytes", "available_bytes", "page_cache_bytes", "dirty_bytes")
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PAGE_CACHE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DIRTY_BYTES_FIELD_NUMBER: _ClassVar[int]
    total_bytes: int
    available_bytes: int
    page_cache_bytes: int
    dirty_bytes: int
    def __init__(self, total_bytes: _Optional[int] = ..., available_bytes: _Optional[int] = ..., page_cache_bytes: _Optional[int] = ..., dirty_bytes: _Optional[int] = ...) -> None: ...

class LogDirFacts(_message.Message):
    __slots__ = ("path", "total_bytes", "usable_bytes", "disk", "replicas", "offline", "size_bytes")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    USABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    path: str
    total_bytes: int
    usable_bytes: int
    disk: str
    replicas: _containers.RepeatedScalarFieldContainer[str]
    offline: bool
    size_bytes: int
    def __init__(self, path: _Optional[str] = ..., total_bytes: _Optional[int] = ..., usable_bytes: _Optional[int] = ..., disk: _Optional[str] = ..., replicas: _Optional[_Iterable[str]] = ..., offline: _Optional[bool] = ..., size_bytes: _Optional[int] = ...) -> None: ...
