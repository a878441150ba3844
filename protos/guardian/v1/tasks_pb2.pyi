from protos.guardian.v1 import federation_pb2 as _federation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Task(_message.Message):
    __slots__ = ("balance", "leaders", "isolate_label", "migrate_idc", "remove_brokers", "add_brokers", "create_topic", "expand_topic", "change_replication_factor", "empty_disk", "relieve", "heal", "acl_repair", "throttle_override", "topic_config", "delete_topic")
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    LEADERS_FIELD_NUMBER: _ClassVar[int]
    ISOLATE_LABEL_FIELD_NUMBER: _ClassVar[int]
    MIGRATE_IDC_FIELD_NUMBER: _ClassVar[int]
    REMOVE_BROKERS_FIELD_NUMBER: _ClassVar[int]
    ADD_BROKERS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TOPIC_FIELD_NUMBER: _ClassVar[int]
    EXPAND_TOPIC_FIELD_NUMBER: _ClassVar[int]
    CHANGE_REPLICATION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    EMPTY_DISK_FIELD_NUMBER: _ClassVar[int]
    RELIEVE_FIELD_NUMBER: _ClassVar[int]
    HEAL_FIELD_NUMBER: _ClassVar[int]
    ACL_REPAIR_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_OVERRIDE_FIELD_NUMBER: _ClassVar[int]
    TOPIC_CONFIG_FIELD_NUMBER: _ClassVar[int]
    DELETE_TOPIC_FIELD_NUMBER: _ClassVar[int]
    balance: Balance
    leaders: Leaders
    isolate_label: Isolate
    migrate_idc: MigrateIdc
    remove_brokers: Remove
    add_brokers: Add
    create_topic: CreateTopic
    expand_topic: ExpandTopic
    change_replication_factor: ReplicationFactor
    empty_disk: EmptyDisk
    relieve: Relieve
    heal: Heal
    acl_repair: AclRepair
    throttle_override: ThrottleOverride
    topic_config: TopicConfig
    delete_topic: DeleteTopic
    def __init__(self, balance: _Optional[_Union[Balance, _Mapping]] = ..., leaders: _Optional[_Union[Leaders, _Mapping]] = ..., isolate_label: _Optional[_Union[Isolate, _Mapping]] = ..., migrate_idc: _Optional[_Union[MigrateIdc, _Mapping]] = ..., remove_brokers: _Optional[_Union[Remove, _Mapping]] = ..., add_brokers: _Optional[_Union[Add, _Mapping]] = ..., create_topic: _Optional[_Union[CreateTopic, _Mapping]] = ..., expand_topic: _Optional[_Union[ExpandTopic, _Mapping]] = ..., change_replication_factor: _Optional[_Union[ReplicationFactor, _Mapping]] = ..., empty_disk: _Optional[_Union[EmptyDisk, _Mapping]] = ..., relieve: _Optional[_Union[Relieve, _Mapping]] = ..., heal: _Optional[_Union[Heal, _Mapping]] = ..., acl_repair: _Optional[_Union[AclRepair, _Mapping]] = ..., throttle_override: _Optional[_Union[ThrottleOverride, _Mapping]] = ..., topic_config: _Optional[_Union[TopicConfig, _Mapping]] = ..., delete_topic: _Optional[_Union[DeleteTopic, _Mapping]] = ...) -> None: ...

class Balance(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, topics: _Optional[_Iterable[str]] = ...) -> None: ...

class Leaders(_message.Message):
    __slots__ = ("topics", "away_from")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    AWAY_FROM_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedScalarFieldContainer[str]
    away_from: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topics: _Optional[_Iterable[str]] = ..., away_from: _Optional[_Iterable[int]] = ...) -> None: ...

class Isolate(_message.Message):
    __slots__ = ("label", "topics", "tenant", "machines", "brokers", "release", "headroom", "first_id")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    MACHINES_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    HEADROOM_FIELD_NUMBER: _ClassVar[int]
    FIRST_ID_FIELD_NUMBER: _ClassVar[int]
    label: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    tenant: str
    machines: _containers.RepeatedCompositeFieldContainer[_federation_pb2.Machine]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    release: int
    headroom: float
    first_id: int
    def __init__(self, label: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., tenant: _Optional[str] = ..., machines: _Optional[_Iterable[_Union[_federation_pb2.Machine, _Mapping]]] = ..., brokers: _Optional[_Iterable[int]] = ..., release: _Optional[int] = ..., headroom: _Optional[float] = ..., first_id: _Optional[int] = ...) -> None: ...

class MigrateIdc(_message.Message):
    __slots__ = ("policy", "topics", "tenant", "clients")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENTS_FIELD_NUMBER: _ClassVar[int]
    policy: _federation_pb2.IdcPolicy
    topics: _containers.RepeatedScalarFieldContainer[str]
    tenant: str
    clients: _containers.RepeatedCompositeFieldContainer[ClientTraffic]
    def __init__(self, policy: _Optional[_Union[_federation_pb2.IdcPolicy, _Mapping]] = ..., topics: _Optional[_Iterable[str]] = ..., tenant: _Optional[str] = ..., clients: _Optional[_Iterable[_Union[ClientTraffic, _Mapping]]] = ...) -> None: ...

class ClientTraffic(_message.Message):
    __slots__ = ("topic", "idc", "produced", "fetched")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    IDC_FIELD_NUMBER: _ClassVar[int]
    PRODUCED_FIELD_NUMBER: _ClassVar[int]
    FETCHED_FIELD_NUMBER: _ClassVar[int]
    topic: str
    idc: str
    produced: float
    fetched: float
    def __init__(self, topic: _Optional[str] = ..., idc: _Optional[str] = ..., produced: _Optional[float] = ..., fetched: _Optional[float] = ...) -> None: ...

class Remove(_message.Message):
    __slots__ = ("brokers", "balance")
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    balance: bool
    def __init__(self, brokers: _Optional[_Iterable[int]] = ..., balance: _Optional[bool] = ...) -> None: ...

class Add(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class CreateTopic(_message.Message):
    __slots__ = ("topic", "partitions", "replication_factor", "expected_bytes", "configs")
    class ConfigsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_BYTES_FIELD_NUMBER: _ClassVar[int]
    CONFIGS_FIELD_NUMBER: _ClassVar[int]
    topic: _federation_pb2.Topic
    partitions: int
    replication_factor: int
    expected_bytes: int
    configs: _containers.ScalarMap[str, str]
    def __init__(self, topic: _Optional[_Union[_federation_pb2.Topic, _Mapping]] = ..., partitions: _Optional[int] = ..., replication_factor: _Optional[int] = ..., expected_bytes: _Optional[int] = ..., configs: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ExpandTopic(_message.Message):
    __slots__ = ("topic", "partitions")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partitions: int
    def __init__(self, topic: _Optional[str] = ..., partitions: _Optional[int] = ...) -> None: ...

class ReplicationFactor(_message.Message):
    __slots__ = ("topics", "replication_factor")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedScalarFieldContainer[str]
    replication_factor: int
    def __init__(self, topics: _Optional[_Iterable[str]] = ..., replication_factor: _Optional[int] = ...) -> None: ...

class LogDir(_message.Message):
    __slots__ = ("broker", "path")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    broker: int
    path: str
    def __init__(self, broker: _Optional[int] = ..., path: _Optional[str] = ...) -> None: ...

class EmptyDisk(_message.Message):
    __slots__ = ("log_dirs",)
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    log_dirs: _containers.RepeatedCompositeFieldContainer[LogDir]
    def __init__(self, log_dirs: _Optional[_Iterable[_Union[LogDir, _Mapping]]] = ...) -> None: ...

class Relieve(_message.Message):
    __slots__ = ("limit", "brokers", "log_dirs")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    limit: float
    brokers: _containers.RepeatedScalarFieldContainer[int]
    log_dirs: _containers.RepeatedCompositeFieldContainer[LogDir]
    def __init__(self, limit: _Optional[float] = ..., brokers: _Optional[_Iterable[int]] = ..., log_dirs: _Optional[_Iterable[_Union[LogDir, _Mapping]]] = ...) -> None: ...

class Heal(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AclRepair(_message.Message):
    __slots__ = ("add", "remove")
    ADD_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    add: _containers.RepeatedCompositeFieldContainer[AclBinding]
    remove: _containers.RepeatedCompositeFieldContainer[AclBinding]
    def __init__(self, add: _Optional[_Iterable[_Union[AclBinding, _Mapping]]] = ..., remove: _Optional[_Iterable[_Union[AclBinding, _Mapping]]] = ...) -> None: ...

class AclBinding(_message.Message):
    __slots__ = ("resource_type", "pattern_type", "resource_name", "principal", "host", "operation", "permission")
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    PATTERN_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    resource_type: str
    pattern_type: str
    resource_name: str
    principal: str
    host: str
    operation: str
    permission: str
    def __init__(self, resource_type: _Optional[str] = ..., pattern_type: _Optional[str] = ..., resource_name: _Optional[str] = ..., principal: _Optional[str] = ..., host: _Optional[str] = ..., operation: _Optional[str] = ..., permission: _Optional[str] = ...) -> None: ...

class ThrottleOverride(_message.Message):
    __slots__ = ("broker", "rate", "until_ms")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    broker: int
    rate: int
    until_ms: int
    def __init__(self, broker: _Optional[int] = ..., rate: _Optional[int] = ..., until_ms: _Optional[int] = ...) -> None: ...

class TopicConfig(_message.Message):
    __slots__ = ("settings",)
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    settings: _containers.RepeatedCompositeFieldContainer[TopicSetting]
    def __init__(self, settings: _Optional[_Iterable[_Union[TopicSetting, _Mapping]]] = ...) -> None: ...

class TopicSetting(_message.Message):
    __slots__ = ("topic", "key", "value", "replaced")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    topic: str
    key: str
    value: str
    replaced: str
    def __init__(self, topic: _Optional[str] = ..., key: _Optional[str] = ..., value: _Optional[str] = ..., replaced: _Optional[str] = ...) -> None: ...

class DeleteTopic(_message.Message):
    __slots__ = ("topics", "idle_ms", "hold_ms")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    IDLE_MS_FIELD_NUMBER: _ClassVar[int]
    HOLD_MS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[SavedTopic]
    idle_ms: int
    hold_ms: int
    def __init__(self, topics: _Optional[_Iterable[_Union[SavedTopic, _Mapping]]] = ..., idle_ms: _Optional[int] = ..., hold_ms: _Optional[int] = ...) -> None: ...

class SavedTopic(_message.Message):
    __slots__ = ("name", "id", "partitions", "configs", "acls")
    class ConfigsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    CONFIGS_FIELD_NUMBER: _ClassVar[int]
    ACLS_FIELD_NUMBER: _ClassVar[int]
    name: str
    id: str
    partitions: _containers.RepeatedCompositeFieldContainer[Replicas]
    configs: _containers.ScalarMap[str, str]
    acls: _containers.RepeatedCompositeFieldContainer[AclBinding]
    def __init__(self, name: _Optional[str] = ..., id: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[Replicas, _Mapping]]] = ..., configs: _Optional[_Mapping[str, str]] = ..., acls: _Optional[_Iterable[_Union[AclBinding, _Mapping]]] = ...) -> None: ...

class Replicas(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class PlannerSettings(_message.Message):
    __slots__ = ("target_spread", "count_spread", "disk_spread", "topic_spread", "cpu_limit", "network_limit", "disk_limit", "peak_limits", "disk_reserve", "disk_io_limit", "growth_days", "slow_disk", "max_replicas", "min_leaders", "max_bytes", "max_seconds", "max_leader_moves", "throttle", "excluded_topics", "shared_labels", "goals", "weights")
    class MinLeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class WeightsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    TARGET_SPREAD_FIELD_NUMBER: _ClassVar[int]
    COUNT_SPREAD_FIELD_NUMBER: _ClassVar[int]
    DISK_SPREAD_FIELD_NUMBER: _ClassVar[int]
    TOPIC_SPREAD_FIELD_NUMBER: _ClassVar[int]
    CPU_LIMIT_FIELD_NUMBER: _ClassVar[int]
    NETWORK_LIMIT_FIELD_NUMBER: _ClassVar[int]
    DISK_LIMIT_FIELD_NUMBER: _ClassVar[int]
    PEAK_LIMITS_FIELD_NUMBER: _ClassVar[int]
    DISK_RESERVE_FIELD_NUMBER: _ClassVar[int]
    DISK_IO_LIMIT_FIELD_NUMBER: _ClassVar[int]
    GROWTH_DAYS_FIELD_NUMBER: _ClassVar[int]
    SLOW_DISK_FIELD_NUMBER: _ClassVar[int]
    MAX_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MIN_LEADERS_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_LEADER_MOVES_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_TOPICS_FIELD_NUMBER: _ClassVar[int]
    SHARED_LABELS_FIELD_NUMBER: _ClassVar[int]
    GOALS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    target_spread: float
    count_spread: float
    disk_spread: float
    topic_spread: bool
    cpu_limit: float
    network_limit: float
    disk_limit: float
    peak_limits: bool
    disk_reserve: float
    disk_io_limit: float
    growth_days: float
    slow_disk: float
    max_replicas: int
    min_leaders: _containers.ScalarMap[str, int]
    max_bytes: float
    max_seconds: float
    max_leader_moves: float
    throttle: float
    excluded_topics: _containers.RepeatedScalarFieldContainer[str]
    shared_labels: _containers.RepeatedScalarFieldContainer[str]
    goals: _containers.RepeatedScalarFieldContainer[str]
    weights: _containers.ScalarMap[str, float]
    def __init__(self, target_spread: _Optional[float] = ..., count_spread: _Optional[float] = ..., disk_spread: _Optional[float] = ..., topic_spread: _Optional[bool] = ..., cpu_limit: _Optional[float] = ..., network_limit: _Optional[float] = ..., disk_limit: _Optional[float] = ..., peak_limits: _Optional[bool] = ..., disk_reserve: _Optional[float] = ..., disk_io_limit: _Optional[float] = ..., growth_days: _Optional[float] = ..., slow_disk: _Optional[float] = ..., max_replicas: _Optional[int] = ..., min_leaders: _Optional[_Mapping[str, int]] = ..., max_bytes: _Optional[float] = ..., max_seconds: _Optional[float] = ..., max_leader_moves: _Optional[float] = ..., throttle: _Optional[float] = ..., excluded_topics: _Optional[_Iterable[str]] = ..., shared_labels: _Optional[_Iterable[str]] = ..., goals: _Optional[_Iterable[str]] = ..., weights: _Optional[_Mapping[str, float]] = ...) -> None: ...
