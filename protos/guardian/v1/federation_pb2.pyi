from google.protobuf import struct_pb2 as _struct_pb2
from protos.guardian.v1 import access_pb2 as _access_pb2
from protos.guardian.v1 import collection_pb2 as _collection_pb2
from protos.guardian.v1 import identity_pb2 as _identity_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BrokerState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTIVE: _ClassVar[BrokerState]
    DRAINING: _ClassVar[BrokerState]
    MAINTENANCE: _ClassVar[BrokerState]

class FederationTable(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FEDERATION_TABLE_UNSPECIFIED: _ClassVar[FederationTable]
    MACHINES: _ClassVar[FederationTable]
    TENANTS: _ClassVar[FederationTable]
    TOPICS: _ClassVar[FederationTable]
    IDC_POLICIES: _ClassVar[FederationTable]
    EXCLUSIONS: _ClassVar[FederationTable]
    DOCUMENTS: _ClassVar[FederationTable]
ACTIVE: BrokerState
DRAINING: BrokerState
MAINTENANCE: BrokerState
FEDERATION_TABLE_UNSPECIFIED: FederationTable
MACHINES: FederationTable
TENANTS: FederationTable
TOPICS: FederationTable
IDC_POLICIES: FederationTable
EXCLUSIONS: FederationTable
DOCUMENTS: FederationTable

class Cluster(_message.Message):
    __slots__ = ("name", "cluster_id", "bootstrap", "security", "brokers", "sampling_paused", "bootstrap_controllers")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_FIELD_NUMBER: _ClassVar[int]
    SECURITY_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_PAUSED_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_CONTROLLERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    cluster_id: str
    bootstrap: str
    security: ClusterSecurity
    brokers: _containers.RepeatedCompositeFieldContainer[Broker]
    sampling_paused: str
    bootstrap_controllers: str
    def __init__(self, name: _Optional[str] = ..., cluster_id: _Optional[str] = ..., bootstrap: _Optional[str] = ..., security: _Optional[_Union[ClusterSecurity, _Mapping]] = ..., brokers: _Optional[_Iterable[_Union[Broker, _Mapping]]] = ..., sampling_paused: _Optional[str] = ..., bootstrap_controllers: _Optional[str] = ...) -> None: ...

class Broker(_message.Message):
    __slots__ = ("id", "rack", "idc", "reporter", "label", "state", "registered_reporter", "metrics_url")
    ID_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    IDC_FIELD_NUMBER: _ClassVar[int]
    REPORTER_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_REPORTER_FIELD_NUMBER: _ClassVar[int]
    METRICS_URL_FIELD_NUMBER: _ClassVar[int]
    id: int
    rack: str
    idc: str
    reporter: str
    label: str
    state: BrokerState
    registered_reporter: str
    metrics_url: str
    def __init__(self, id: _Optional[int] = ..., rack: _Optional[str] = ..., idc: _Optional[str] = ..., reporter: _Optional[str] = ..., label: _Optional[str] = ..., state: _Optional[_Union[BrokerState, str]] = ..., registered_reporter: _Optional[str] = ..., metrics_url: _Optional[str] = ...) -> None: ...

class Machine(_message.Message):
    __slots__ = ("host", "idc", "rack", "disk_bytes", "disks", "nic_bytes_per_s", "cores", "cluster", "broker_id", "label")
    HOST_FIELD_NUMBER: _ClassVar[int]
    IDC_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISKS_FIELD_NUMBER: _ClassVar[int]
    NIC_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    host: str
    idc: str
    rack: str
    disk_bytes: int
    disks: int
    nic_bytes_per_s: int
    cores: int
    cluster: str
    broker_id: int
    label: str
    def __init__(self, host: _Optional[str] = ..., idc: _Optional[str] = ..., rack: _Optional[str] = ..., disk_bytes: _Optional[int] = ..., disks: _Optional[int] = ..., nic_bytes_per_s: _Optional[int] = ..., cores: _Optional[int] = ..., cluster: _Optional[str] = ..., broker_id: _Optional[int] = ..., label: _Optional[str] = ...) -> None: ...

class Tenant(_message.Message):
    __slots__ = ("name", "owner", "labels", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: str
    owner: str
    labels: _containers.RepeatedScalarFieldContainer[str]
    description: str
    def __init__(self, name: _Optional[str] = ..., owner: _Optional[str] = ..., labels: _Optional[_Iterable[str]] = ..., description: _Optional[str] = ...) -> None: ...

class Topic(_message.Message):
    __slots__ = ("cluster", "name", "topic_id", "owner", "tenant", "label", "idc_policy", "expected_bytes_in_per_s", "expected_bytes_out_per_s")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    IDC_POLICY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_BYTES_IN_PER_S_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_BYTES_OUT_PER_S_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    name: str
    topic_id: bytes
    owner: str
    tenant: str
    label: str
    idc_policy: str
    expected_bytes_in_per_s: int
    expected_bytes_out_per_s: int
    def __init__(self, cluster: _Optional[str] = ..., name: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., owner: _Optional[str] = ..., tenant: _Optional[str] = ..., label: _Optional[str] = ..., idc_policy: _Optional[str] = ..., expected_bytes_in_per_s: _Optional[int] = ..., expected_bytes_out_per_s: _Optional[int] = ...) -> None: ...

class IdcPolicy(_message.Message):
    __slots__ = ("name", "replicas", "preferred_leader_idc", "other_factors")
    class ReplicasEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_LEADER_IDC_FIELD_NUMBER: _ClassVar[int]
    OTHER_FACTORS_FIELD_NUMBER: _ClassVar[int]
    name: str
    replicas: _containers.ScalarMap[str, int]
    preferred_leader_idc: str
    other_factors: _containers.RepeatedCompositeFieldContainer[IdcPlacement]
    def __init__(self, name: _Optional[str] = ..., replicas: _Optional[_Mapping[str, int]] = ..., preferred_leader_idc: _Optional[str] = ..., other_factors: _Optional[_Iterable[_Union[IdcPlacement, _Mapping]]] = ...) -> None: ...

class IdcPlacement(_message.Message):
    __slots__ = ("replicas",)
    class ReplicasEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.ScalarMap[str, int]
    def __init__(self, replicas: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Exclusion(_message.Message):
    __slots__ = ("cluster", "broker_id", "who", "why", "until_ms", "by_ticket")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    WHO_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    BY_TICKET_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    broker_id: int
    who: str
    why: str
    until_ms: int
    by_ticket: str
    def __init__(self, cluster: _Optional[str] = ..., broker_id: _Optional[int] = ..., who: _Optional[str] = ..., why: _Optional[str] = ..., until_ms: _Optional[int] = ..., by_ticket: _Optional[str] = ...) -> None: ...

class SharedDocument(_message.Message):
    __slots__ = ("name", "json")
    NAME_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    name: str
    json: str
    def __init__(self, name: _Optional[str] = ..., json: _Optional[str] = ...) -> None: ...

class FederationEntry(_message.Message):
    __slots__ = ("machine", "tenant", "topic", "idc_policy", "exclusion", "document", "revision")
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    IDC_POLICY_FIELD_NUMBER: _ClassVar[int]
    EXCLUSION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    machine: Machine
    tenant: Tenant
    topic: Topic
    idc_policy: IdcPolicy
    exclusion: Exclusion
    document: SharedDocument
    revision: int
    def __init__(self, machine: _Optional[_Union[Machine, _Mapping]] = ..., tenant: _Optional[_Union[Tenant, _Mapping]] = ..., topic: _Optional[_Union[Topic, _Mapping]] = ..., idc_policy: _Optional[_Union[IdcPolicy, _Mapping]] = ..., exclusion: _Optional[_Union[Exclusion, _Mapping]] = ..., document: _Optional[_Union[SharedDocument, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class TopicKey(_message.Message):
    __slots__ = ("cluster", "name")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    name: str
    def __init__(self, cluster: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ExclusionKey(_message.Message):
    __slots__ = ("cluster", "broker_id")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    broker_id: int
    def __init__(self, cluster: _Optional[str] = ..., broker_id: _Optional[int] = ...) -> None: ...

class FederationKey(_message.Message):
    __slots__ = ("machine", "tenant", "topic", "idc_policy", "exclusion", "document")
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    IDC_POLICY_FIELD_NUMBER: _ClassVar[int]
    EXCLUSION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    machine: str
    tenant: str
    topic: TopicKey
    idc_policy: str
    exclusion: ExclusionKey
    document: str
    def __init__(self, machine: _Optional[str] = ..., tenant: _Optional[str] = ..., topic: _Optional[_Union[TopicKey, _Mapping]] = ..., idc_policy: _Optional[str] = ..., exclusion: _Optional[_Union[ExclusionKey, _Mapping]] = ..., document: _Optional[str] = ...) -> None: ...

class FederationChange(_message.Message):
    __slots__ = ("put", "drop", "expected_revision")
    PUT_FIELD_NUMBER: _ClassVar[int]
    DROP_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    put: FederationEntry
    drop: FederationKey
    expected_revision: int
    def __init__(self, put: _Optional[_Union[FederationEntry, _Mapping]] = ..., drop: _Optional[_Union[FederationKey, _Mapping]] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class ChangeFederationRequest(_message.Message):
    __slots__ = ("changes", "dry_run")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[FederationChange]
    dry_run: bool
    def __init__(self, changes: _Optional[_Iterable[_Union[FederationChange, _Mapping]]] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ChangeFederationReply(_message.Message):
    __slots__ = ("revisions",)
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    revisions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, revisions: _Optional[_Iterable[int]] = ...) -> None: ...

class ListFederationRequest(_message.Message):
    __slots__ = ("table", "cluster", "name", "page_size", "page_token")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    table: FederationTable
    cluster: str
    name: str
    page_size: int
    page_token: str
    def __init__(self, table: _Optional[_Union[FederationTable, str]] = ..., cluster: _Optional[str] = ..., name: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListFederationReply(_message.Message):
    __slots__ = ("entries", "next_page_token")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[FederationEntry]
    next_page_token: str
    def __init__(self, entries: _Optional[_Iterable[_Union[FederationEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListAuditRequest(_message.Message):
    __slots__ = ("from_ms", "until_ms", "actor", "page_size", "page_token")
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    from_ms: int
    until_ms: int
    actor: str
    page_size: int
    page_token: str
    def __init__(self, from_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., actor: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class AuditRecord(_message.Message):
    __slots__ = ("at_ms", "index", "actor", "action", "subject", "detail", "error", "agent", "proof")
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    index: int
    actor: str
    action: str
    subject: str
    detail: str
    error: str
    agent: _identity_pb2.Agent
    proof: _identity_pb2.Proof
    def __init__(self, at_ms: _Optional[int] = ..., index: _Optional[int] = ..., actor: _Optional[str] = ..., action: _Optional[str] = ..., subject: _Optional[str] = ..., detail: _Optional[str] = ..., error: _Optional[str] = ..., agent: _Optional[_Union[_identity_pb2.Agent, str]] = ..., proof: _Optional[_Union[_identity_pb2.Proof, str]] = ...) -> None: ...

class ListAuditReply(_message.Message):
    __slots__ = ("records", "next_page_token")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[AuditRecord]
    next_page_token: str
    def __init__(self, records: _Optional[_Iterable[_Union[AuditRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ClusterSecurity(_message.Message):
    __slots__ = ("protocol", "sasl_mechanism", "username", "password_secret", "ca_secret", "certificate_secret", "key_secret", "tls_server_name", "token_secret", "token_endpoint", "token_scope", "token_ca_secret", "keytab_secret", "kerberos_service")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    SASL_MECHANISM_FIELD_NUMBER: _ClassVar[int]
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_SECRET_FIELD_NUMBER: _ClassVar[int]
    CA_SECRET_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_SECRET_FIELD_NUMBER: _ClassVar[int]
    KEY_SECRET_FIELD_NUMBER: _ClassVar[int]
    TLS_SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SECRET_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SCOPE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_CA_SECRET_FIELD_NUMBER: _ClassVar[int]
    KEYTAB_SECRET_FIELD_NUMBER: _ClassVar[int]
    KERBEROS_SERVICE_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    sasl_mechanism: str
    username: str
    password_secret: str
    ca_secret: str
    certificate_secret: str
    key_secret: str
    tls_server_name: str
    token_secret: str
    token_endpoint: str
    token_scope: str
    token_ca_secret: str
    keytab_secret: str
    kerberos_service: str
    def __init__(self, protocol: _Optional[str] = ..., sasl_mechanism: _Optional[str] = ..., username: _Optional[str] = ..., password_secret: _Optional[str] = ..., ca_secret: _Optional[str] = ..., certificate_secret: _Optional[str] = ..., key_secret: _Optional[str] = ..., tls_server_name: _Optional[str] = ..., token_secret: _Optional[str] = ..., token_endpoint: _Optional[str] = ..., token_scope: _Optional[str] = ..., token_ca_secret: _Optional[str] = ..., keytab_secret: _Optional[str] = ..., kerberos_service: _Optional[str] = ...) -> None: ...

class RegisterClusterRequest(_message.Message):
    __slots__ = ("cluster", "idc_of_rack", "label_of_broker", "state_of_broker", "expected", "set_of_broker")
    class IdcOfRackEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class LabelOfBrokerEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: str
        def __init__(self, key: _Optional[int] = ..., value: _Optional[str] = ...) -> None: ...
    class StateOfBrokerEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: BrokerState
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[BrokerState, str]] = ...) -> None: ...
    class SetOfBrokerEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: str
        def __init__(self, key: _Optional[int] = ..., value: _Optional[str] = ...) -> None: ...
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    IDC_OF_RACK_FIELD_NUMBER: _ClassVar[int]
    LABEL_OF_BROKER_FIELD_NUMBER: _ClassVar[int]
    STATE_OF_BROKER_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    SET_OF_BROKER_FIELD_NUMBER: _ClassVar[int]
    cluster: Cluster
    idc_of_rack: _containers.ScalarMap[str, str]
    label_of_broker: _containers.ScalarMap[int, str]
    state_of_broker: _containers.ScalarMap[int, BrokerState]
    expected: Cluster
    set_of_broker: _containers.ScalarMap[int, str]
    def __init__(self, cluster: _Optional[_Union[Cluster, _Mapping]] = ..., idc_of_rack: _Optional[_Mapping[str, str]] = ..., label_of_broker: _Optional[_Mapping[int, str]] = ..., state_of_broker: _Optional[_Mapping[int, BrokerState]] = ..., expected: _Optional[_Union[Cluster, _Mapping]] = ..., set_of_broker: _Optional[_Mapping[int, str]] = ...) -> None: ...

class RegisterClusterReply(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: Cluster
    def __init__(self, cluster: _Optional[_Union[Cluster, _Mapping]] = ...) -> None: ...

class RegisterReporterRequest(_message.Message):
    __slots__ = ("cluster_id", "broker_id", "reporter", "metrics_url")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    REPORTER_FIELD_NUMBER: _ClassVar[int]
    METRICS_URL_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    broker_id: int
    reporter: str
    metrics_url: str
    def __init__(self, cluster_id: _Optional[str] = ..., broker_id: _Optional[int] = ..., reporter: _Optional[str] = ..., metrics_url: _Optional[str] = ...) -> None: ...

class RegisterReporterReply(_message.Message):
    __slots__ = ("cluster", "reporter")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    REPORTER_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    reporter: str
    def __init__(self, cluster: _Optional[str] = ..., reporter: _Optional[str] = ...) -> None: ...

class RemoveClusterRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RemoveClusterReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetSamplingRequest(_message.Message):
    __slots__ = ("cluster", "paused")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    paused: str
    def __init__(self, cluster: _Optional[str] = ..., paused: _Optional[str] = ...) -> None: ...

class SetSamplingReply(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: Cluster
    def __init__(self, cluster: _Optional[_Union[Cluster, _Mapping]] = ...) -> None: ...

class ListClustersRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListClustersReply(_message.Message):
    __slots__ = ("clusters", "next_page_token")
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    clusters: _containers.RepeatedCompositeFieldContainer[Cluster]
    next_page_token: str
    def __init__(self, clusters: _Optional[_Iterable[_Union[Cluster, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetBrokerMetricsRequest(_message.Message):
    __slots__ = ("cluster", "broker")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    broker: int
    def __init__(self, cluster: _Optional[str] = ..., broker: _Optional[int] = ...) -> None: ...

class BrokerMetrics(_message.Message):
    __slots__ = ("collected_at_ms", "names", "values")
    COLLECTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    collected_at_ms: int
    names: _containers.RepeatedScalarFieldContainer[str]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, collected_at_ms: _Optional[int] = ..., names: _Optional[_Iterable[str]] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class GetCollectionRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetMemberRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Member(_message.Message):
    __slots__ = ("name", "version", "leader", "term", "applied_index", "live_members", "lake_url", "collects", "planner", "cautions")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    APPLIED_INDEX_FIELD_NUMBER: _ClassVar[int]
    LIVE_MEMBERS_FIELD_NUMBER: _ClassVar[int]
    LAKE_URL_FIELD_NUMBER: _ClassVar[int]
    COLLECTS_FIELD_NUMBER: _ClassVar[int]
    PLANNER_FIELD_NUMBER: _ClassVar[int]
    CAUTIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    leader: str
    term: int
    applied_index: int
    live_members: _containers.RepeatedScalarFieldContainer[str]
    lake_url: str
    collects: _containers.RepeatedScalarFieldContainer[str]
    planner: _struct_pb2.Struct
    cautions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., leader: _Optional[str] = ..., term: _Optional[int] = ..., applied_index: _Optional[int] = ..., live_members: _Optional[_Iterable[str]] = ..., lake_url: _Optional[str] = ..., collects: _Optional[_Iterable[str]] = ..., planner: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., cautions: _Optional[_Iterable[str]] = ...) -> None: ...
