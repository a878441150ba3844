from protos.guardian.v1 import access_pb2 as _access_pb2
from protos.guardian.v1 import tasks_pb2 as _tasks_pb2
from protos.guardian.v1 import tickets_pb2 as _tickets_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MakePlanRequest(_message.Message):
    __slots__ = ("cluster", "balance", "leaders", "isolate_label", "migrate_idc", "remove_brokers", "add_brokers", "create_topic", "expand_topic", "change_replication_factor", "empty_disk", "relieve", "heal", "settings", "default_settings", "exclude_topics", "window_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
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
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_TOPICS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    balance: _tasks_pb2.Balance
    leaders: _tasks_pb2.Leaders
    isolate_label: IsolateOrder
    migrate_idc: MigrateIdcOrder
    remove_brokers: _tasks_pb2.Remove
    add_brokers: _tasks_pb2.Add
    create_topic: CreateTopicOrder
    expand_topic: _tasks_pb2.ExpandTopic
    change_replication_factor: _tasks_pb2.ReplicationFactor
    empty_disk: _tasks_pb2.EmptyDisk
    relieve: _tasks_pb2.Relieve
    heal: _tasks_pb2.Heal
    settings: _tasks_pb2.PlannerSettings
    default_settings: _containers.RepeatedScalarFieldContainer[str]
    exclude_topics: _containers.RepeatedScalarFieldContainer[str]
    window_ms: int
    def __init__(self, cluster: _Optional[str] = ..., balance: _Optional[_Union[_tasks_pb2.Balance, _Mapping]] = ..., leaders: _Optional[_Union[_tasks_pb2.Leaders, _Mapping]] = ..., isolate_label: _Optional[_Union[IsolateOrder, _Mapping]] = ..., migrate_idc: _Optional[_Union[MigrateIdcOrder, _Mapping]] = ..., remove_brokers: _Optional[_Union[_tasks_pb2.Remove, _Mapping]] = ..., add_brokers: _Optional[_Union[_tasks_pb2.Add, _Mapping]] = ..., create_topic: _Optional[_Union[CreateTopicOrder, _Mapping]] = ..., expand_topic: _Optional[_Union[_tasks_pb2.ExpandTopic, _Mapping]] = ..., change_replication_factor: _Optional[_Union[_tasks_pb2.ReplicationFactor, _Mapping]] = ..., empty_disk: _Optional[_Union[_tasks_pb2.EmptyDisk, _Mapping]] = ..., relieve: _Optional[_Union[_tasks_pb2.Relieve, _Mapping]] = ..., heal: _Optional[_Union[_tasks_pb2.Heal, _Mapping]] = ..., settings: _Optional[_Union[_tasks_pb2.PlannerSettings, _Mapping]] = ..., default_settings: _Optional[_Iterable[str]] = ..., exclude_topics: _Optional[_Iterable[str]] = ..., window_ms: _Optional[int] = ...) -> None: ...

class IsolateOrder(_message.Message):
    __slots__ = ("label", "topics", "tenant", "brokers", "from_pool", "release", "headroom")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    FROM_POOL_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    HEADROOM_FIELD_NUMBER: _ClassVar[int]
    label: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    tenant: str
    brokers: _containers.RepeatedScalarFieldContainer[int]
    from_pool: bool
    release: int
    headroom: float
    def __init__(self, label: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., tenant: _Optional[str] = ..., brokers: _Optional[_Iterable[int]] = ..., from_pool: _Optional[bool] = ..., release: _Optional[int] = ..., headroom: _Optional[float] = ...) -> None: ...

class MigrateIdcOrder(_message.Message):
    __slots__ = ("policy", "topics", "tenant")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    policy: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    tenant: str
    def __init__(self, policy: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., tenant: _Optional[str] = ...) -> None: ...

class CreateTopicOrder(_message.Message):
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
    topic: str
    partitions: int
    replication_factor: int
    expected_bytes: int
    configs: _containers.ScalarMap[str, str]
    def __init__(self, topic: _Optional[str] = ..., partitions: _Optional[int] = ..., replication_factor: _Optional[int] = ..., expected_bytes: _Optional[int] = ..., configs: _Optional[_Mapping[str, str]] = ...) -> None: ...

class MakePlanReply(_message.Message):
    __slots__ = ("progress", "plan")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    progress: PlanProgress
    plan: _tickets_pb2.Plan
    def __init__(self, progress: _Optional[_Union[PlanProgress, _Mapping]] = ..., plan: _Optional[_Union[_tickets_pb2.Plan, _Mapping]] = ...) -> None: ...

class LiveFactsRequest(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    def __init__(self, cluster: _Optional[str] = ...) -> None: ...

class LiveFactsReply(_message.Message):
    __slots__ = ("progress", "facts")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    progress: PlanProgress
    facts: LiveFacts
    def __init__(self, progress: _Optional[_Union[PlanProgress, _Mapping]] = ..., facts: _Optional[_Union[LiveFacts, _Mapping]] = ...) -> None: ...

class LiveFacts(_message.Message):
    __slots__ = ("cluster", "at_ms", "brokers", "partitions", "log_dirs", "replicas")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    at_ms: int
    brokers: _containers.RepeatedCompositeFieldContainer[LiveBroker]
    partitions: _containers.RepeatedCompositeFieldContainer[LivePartition]
    log_dirs: _containers.RepeatedCompositeFieldContainer[LiveLogDir]
    replicas: _containers.RepeatedCompositeFieldContainer[LiveReplica]
    def __init__(self, cluster: _Optional[str] = ..., at_ms: _Optional[int] = ..., brokers: _Optional[_Iterable[_Union[LiveBroker, _Mapping]]] = ..., partitions: _Optional[_Iterable[_Union[LivePartition, _Mapping]]] = ..., log_dirs: _Optional[_Iterable[_Union[LiveLogDir, _Mapping]]] = ..., replicas: _Optional[_Iterable[_Union[LiveReplica, _Mapping]]] = ...) -> None: ...

class LiveBroker(_message.Message):
    __slots__ = ("id", "host", "port", "rack")
    ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    id: int
    host: str
    port: int
    rack: str
    def __init__(self, id: _Optional[int] = ..., host: _Optional[str] = ..., port: _Optional[int] = ..., rack: _Optional[str] = ...) -> None: ...

class LivePartition(_message.Message):
    __slots__ = ("topic", "partition", "leader", "replicas", "isr", "leader_epoch", "reassignment")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    ISR_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    REASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    leader: int
    replicas: _containers.RepeatedScalarFieldContainer[int]
    isr: _containers.RepeatedScalarFieldContainer[int]
    leader_epoch: int
    reassignment: LiveReassignment
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., leader: _Optional[int] = ..., replicas: _Optional[_Iterable[int]] = ..., isr: _Optional[_Iterable[int]] = ..., leader_epoch: _Optional[int] = ..., reassignment: _Optional[_Union[LiveReassignment, _Mapping]] = ...) -> None: ...

class LiveReassignment(_message.Message):
    __slots__ = ("replicas", "adding", "removing")
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    ADDING_FIELD_NUMBER: _ClassVar[int]
    REMOVING_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.RepeatedScalarFieldContainer[int]
    adding: _containers.RepeatedScalarFieldContainer[int]
    removing: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, replicas: _Optional[_Iterable[int]] = ..., adding: _Optional[_Iterable[int]] = ..., removing: _Optional[_Iterable[int]] = ...) -> None: ...

class LiveLogDir(_message.Message):
    __slots__ = ("broker", "path", "error", "total_bytes", "usable_bytes")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    USABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    broker: int
    path: str
    error: str
    total_bytes: int
    usable_bytes: int
    def __init__(self, broker: _Optional[int] = ..., path: _Optional[str] = ..., error: _Optional[str] = ..., total_bytes: _Optional[int] = ..., usable_bytes: _Optional[int] = ...) -> None: ...

class LiveReplica(_message.Message):
    __slots__ = ("log_dir", "topic", "partition", "size_bytes", "lag", "is_future")
    LOG_DIR_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    IS_FUTURE_FIELD_NUMBER: _ClassVar[int]
    log_dir: int
    topic: str
    partition: int
    size_bytes: int
    lag: int
    is_future: bool
    def __init__(self, log_dir: _Optional[int] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., size_bytes: _Optional[int] = ..., lag: _Optional[int] = ..., is_future: _Optional[bool] = ...) -> None: ...

class PlanProgress(_message.Message):
    __slots__ = ("step", "description", "began_ms", "own_before", "others_before")
    STEP_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    BEGAN_MS_FIELD_NUMBER: _ClassVar[int]
    OWN_BEFORE_FIELD_NUMBER: _ClassVar[int]
    OTHERS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    step: str
    description: str
    began_ms: int
    own_before: int
    others_before: int
    def __init__(self, step: _Optional[str] = ..., description: _Optional[str] = ..., began_ms: _Optional[int] = ..., own_before: _Optional[int] = ..., others_before: _Optional[int] = ...) -> None: ...
