from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CollectRequest(_message.Message):
    __slots__ = ("dictionary_id", "known_names", "name_prefixes")
    DICTIONARY_ID_FIELD_NUMBER: _ClassVar[int]
    KNOWN_NAMES_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIXES_FIELD_NUMBER: _ClassVar[int]
    dictionary_id: int
    known_names: int
    name_prefixes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, dictionary_id: _Optional[int] = ..., known_names: _Optional[int] = ..., name_prefixes: _Optional[_Iterable[str]] = ...) -> None: ...

class MetricBatch(_message.Message):
    __slots__ = ("cluster_id", "broker_id", "collected_at_ms", "rack", "dictionary_id", "first_name_id", "names", "ids", "values", "host", "broker_started_at_ms")
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
    def __init__(self, cluster_id: _Optional[str] = ..., broker_id: _Optional[int] = ..., collected_at_ms: _Optional[int] = ..., rack: _Optional[str] = ..., dictionary_id: _Optional[int] = ..., first_name_id: _Optional[int] = ..., names: _Optional[_Iterable[str]] = ..., ids: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., host: _Optional[_Union[HostFacts, _Mapping]] = ..., broker_started_at_ms: _Optional[int] = ...) -> None: ...

class HostFacts(_message.Message):
    __slots__ = ("disks", "memory", "log_dirs")
    DISKS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    disks: _containers.RepeatedCompositeFieldContainer[DiskFacts]
    memory: MemoryFacts
    log_dirs: _containers.RepeatedCompositeFieldContainer[LogDirFacts]
    def __init__(self, disks: _Optional[_Iterable[_Union[DiskFacts, _Mapping]]] = ..., memory: _Optional[_Union[MemoryFacts, _Mapping]] = ..., log_dirs: _Optional[_Iterable[_Union[LogDirFacts, _Mapping]]] = ...) -> None: ...

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
    __slots__ = ("path", "total_bytes", "usable_bytes", "disk", "replicas", "offline")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    USABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    path: str
    total_bytes: int
    usable_bytes: int
    disk: str
    replicas: _containers.RepeatedScalarFieldContainer[str]
    offline: bool
    def __init__(self, path: _Optional[str] = ..., total_bytes: _Optional[int] = ..., usable_bytes: _Optional[int] = ..., disk: _Optional[str] = ..., replicas: _Optional[_Iterable[str]] = ..., offline: _Optional[bool] = ...) -> None: ...
