from protos.guardian.v1 import access_pb2 as _access_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DurabilityRating(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DURABILITY_RATING_UNSPECIFIED: _ClassVar[DurabilityRating]
    OFFLINE: _ClassVar[DurabilityRating]
    AT_RISK: _ClassVar[DurabilityRating]
    WEAK: _ClassVar[DurabilityRating]
    ONE_RACK: _ClassVar[DurabilityRating]
    DEGRADED: _ClassVar[DurabilityRating]
    SOUND: _ClassVar[DurabilityRating]

class ProducerAcks(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRODUCER_ACKS_UNSPECIFIED: _ClassVar[ProducerAcks]
    ACKS_LEADER: _ClassVar[ProducerAcks]
    ACKS_ALL: _ClassVar[ProducerAcks]

class LostKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOST_KIND_UNSPECIFIED: _ClassVar[LostKind]
    LOST_NOTHING: _ClassVar[LostKind]
    LOST_SECONDS: _ClassVar[LostKind]
    LOST_SINCE_BEHIND: _ClassVar[LostKind]
    LOST_UNFLUSHED: _ClassVar[LostKind]
    LOST_EVERYTHING: _ClassVar[LostKind]

class Likelihood(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIKELIHOOD_UNSPECIFIED: _ClassVar[Likelihood]
    IN_NO_WAY: _ClassVar[Likelihood]
    IN_SOME_WAYS: _ClassVar[Likelihood]
    IN_ALL_WAYS: _ClassVar[Likelihood]

class SilenceEnd(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NEVER_ENDED: _ClassVar[SilenceEnd]
    HEALED: _ClassVar[SilenceEnd]
    ISR_SHRUNK: _ClassVar[SilenceEnd]
    LEADER_ELECTED: _ClassVar[SilenceEnd]
    BROKER_RETURNED: _ClassVar[SilenceEnd]

class ConfigOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIG_ORIGIN_UNSPECIFIED: _ClassVar[ConfigOrigin]
    SET_ON_TOPIC: _ClassVar[ConfigOrigin]
    SET_ON_BROKER: _ClassVar[ConfigOrigin]
    SET_ON_ALL_BROKERS: _ClassVar[ConfigOrigin]
    SET_IN_BROKER_FILE: _ClassVar[ConfigOrigin]
    KAFKA_DEFAULT: _ClassVar[ConfigOrigin]

class DiskVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DISK_VERDICT_UNSPECIFIED: _ClassVar[DiskVerdict]
    DISK_SLOW: _ClassVar[DiskVerdict]
    DISK_SUSPECT: _ClassVar[DiskVerdict]
    DISK_BUSY: _ClassVar[DiskVerdict]
    DISK_SOUND: _ClassVar[DiskVerdict]
    DISK_IDLE: _ClassVar[DiskVerdict]
    DISK_UNKNOWN: _ClassVar[DiskVerdict]

class Crossing(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CROSSING_UNSPECIFIED: _ClassVar[Crossing]
    PRODUCE: _ClassVar[Crossing]
    CONSUME: _ClassVar[Crossing]
    REPLICATE: _ClassVar[Crossing]

class FindingKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINDING_KIND_UNSPECIFIED: _ClassVar[FindingKind]
    TOPIC_OFFLINE: _ClassVar[FindingKind]
    TOPIC_AT_RISK: _ClassVar[FindingKind]
    SLOW_DISK: _ClassVar[FindingKind]
    LINE_NEAR_LIMIT: _ClassVar[FindingKind]
    TOPIC_WEAK: _ClassVar[FindingKind]
    BROKER_DOWN: _ClassVar[FindingKind]
    LOG_DIR_OFFLINE: _ClassVar[FindingKind]
    UNDER_MIN_ISR: _ClassVar[FindingKind]
    AT_MIN_ISR: _ClassVar[FindingKind]
    STUCK_REASSIGNMENT: _ClassVar[FindingKind]
    SKEW: _ClassVar[FindingKind]
    DISK_FILLS: _ClassVar[FindingKind]
    MEMBER_DOWN: _ClassVar[FindingKind]
    CONTROLLERS_AT_RISK: _ClassVar[FindingKind]
    CONTROLLER_BEHIND: _ClassVar[FindingKind]
    METADATA_GROWS: _ClassVar[FindingKind]
    REPLICAS_EMPTY: _ClassVar[FindingKind]
    TOPIC_LOST: _ClassVar[FindingKind]
    CLOCK_OFF: _ClassVar[FindingKind]
    MEMBER_STOPPED: _ClassVar[FindingKind]
    STORM: _ClassVar[FindingKind]
    HEALING_FAILED: _ClassVar[FindingKind]
    CLUSTER_UNREACHABLE: _ClassVar[FindingKind]
    CERTIFICATE_EXPIRES: _ClassVar[FindingKind]
    READS_LEAVE_IDC: _ClassVar[FindingKind]
    FENCED_SERVES: _ClassVar[FindingKind]
    STATE_UNKNOWN: _ClassVar[FindingKind]
DURABILITY_RATING_UNSPECIFIED: DurabilityRating
OFFLINE: DurabilityRating
AT_RISK: DurabilityRating
WEAK: DurabilityRating
ONE_RACK: DurabilityRating
DEGRADED: DurabilityRating
SOUND: DurabilityRating
PRODUCER_ACKS_UNSPECIFIED: ProducerAcks
ACKS_LEADER: ProducerAcks
ACKS_ALL: ProducerAcks
LOST_KIND_UNSPECIFIED: LostKind
LOST_NOTHING: LostKind
LOST_SECONDS: LostKind
LOST_SINCE_BEHIND: LostKind
LOST_UNFLUSHED: LostKind
LOST_EVERYTHING: LostKind
LIKELIHOOD_UNSPECIFIED: Likelihood
IN_NO_WAY: Likelihood
IN_SOME_WAYS: Likelihood
IN_ALL_WAYS: Likelihood
NEVER_ENDED: SilenceEnd
HEALED: SilenceEnd
ISR_SHRUNK: SilenceEnd
LEADER_ELECTED: SilenceEnd
BROKER_RETURNED: SilenceEnd
CONFIG_ORIGIN_UNSPECIFIED: ConfigOrigin
SET_ON_TOPIC: ConfigOrigin
SET_ON_BROKER: ConfigOrigin
SET_ON_ALL_BROKERS: ConfigOrigin
SET_IN_BROKER_FILE: ConfigOrigin
KAFKA_DEFAULT: ConfigOrigin
DISK_VERDICT_UNSPECIFIED: DiskVerdict
DISK_SLOW: DiskVerdict
DISK_SUSPECT: DiskVerdict
DISK_BUSY: DiskVerdict
DISK_SOUND: DiskVerdict
DISK_IDLE: DiskVerdict
DISK_UNKNOWN: DiskVerdict
CROSSING_UNSPECIFIED: Crossing
PRODUCE: Crossing
CONSUME: Crossing
REPLICATE: Crossing
FINDING_KIND_UNSPECIFIED: FindingKind
TOPIC_OFFLINE: FindingKind
TOPIC_AT_RISK: FindingKind
SLOW_DISK: FindingKind
LINE_NEAR_LIMIT: FindingKind
TOPIC_WEAK: FindingKind
BROKER_DOWN: FindingKind
LOG_DIR_OFFLINE: FindingKind
UNDER_MIN_ISR: FindingKind
AT_MIN_ISR: FindingKind
STUCK_REASSIGNMENT: FindingKind
SKEW: FindingKind
DISK_FILLS: FindingKind
MEMBER_DOWN: FindingKind
CONTROLLERS_AT_RISK: FindingKind
CONTROLLER_BEHIND: FindingKind
METADATA_GROWS: FindingKind
REPLICAS_EMPTY: FindingKind
TOPIC_LOST: FindingKind
CLOCK_OFF: FindingKind
MEMBER_STOPPED: FindingKind
STORM: FindingKind
HEALING_FAILED: FindingKind
CLUSTER_UNREACHABLE: FindingKind
CERTIFICATE_EXPIRES: FindingKind
READS_LEAVE_IDC: FindingKind
FENCED_SERVES: FindingKind
STATE_UNKNOWN: FindingKind

class GetDurabilityRequest(_message.Message):
    __slots__ = ("cluster", "topics", "max_topics")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOPICS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    max_topics: int
    def __init__(self, cluster: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., max_topics: _Optional[int] = ...) -> None: ...

class TopicDurability(_message.Message):
    __slots__ = ("topic", "rating", "partitions", "replication_factor", "min_isr", "unclean_elections", "offline", "under_min_isr", "under_replicated", "preferred_leaders", "survives_brokers", "reasons", "start_first")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    RATING_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    MIN_ISR_FIELD_NUMBER: _ClassVar[int]
    UNCLEAN_ELECTIONS_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    UNDER_MIN_ISR_FIELD_NUMBER: _ClassVar[int]
    UNDER_REPLICATED_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_LEADERS_FIELD_NUMBER: _ClassVar[int]
    SURVIVES_BROKERS_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    START_FIRST_FIELD_NUMBER: _ClassVar[int]
    topic: str
    rating: DurabilityRating
    partitions: int
    replication_factor: int
    min_isr: int
    unclean_elections: bool
    offline: int
    under_min_isr: int
    under_replicated: int
    preferred_leaders: int
    survives_brokers: int
    reasons: _containers.RepeatedScalarFieldContainer[str]
    start_first: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic: _Optional[str] = ..., rating: _Optional[_Union[DurabilityRating, str]] = ..., partitions: _Optional[int] = ..., replication_factor: _Optional[int] = ..., min_isr: _Optional[int] = ..., unclean_elections: _Optional[bool] = ..., offline: _Optional[int] = ..., under_min_isr: _Optional[int] = ..., under_replicated: _Optional[int] = ..., preferred_leaders: _Optional[int] = ..., survives_brokers: _Optional[int] = ..., reasons: _Optional[_Iterable[str]] = ..., start_first: _Optional[_Iterable[int]] = ...) -> None: ...

class LossEffect(_message.Message):
    __slots__ = ("scope", "name", "brokers", "leaders", "offline", "unwritable", "exposed")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    LEADERS_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    UNWRITABLE_FIELD_NUMBER: _ClassVar[int]
    EXPOSED_FIELD_NUMBER: _ClassVar[int]
    scope: str
    name: str
    brokers: _containers.RepeatedScalarFieldContainer[int]
    leaders: int
    offline: int
    unwritable: int
    exposed: int
    def __init__(self, scope: _Optional[str] = ..., name: _Optional[str] = ..., brokers: _Optional[_Iterable[int]] = ..., leaders: _Optional[int] = ..., offline: _Optional[int] = ..., unwritable: _Optional[int] = ..., exposed: _Optional[int] = ...) -> None: ...

class NetworkCut(_message.Message):
    __slots__ = ("number", "brokers", "racks", "idcs", "seconds")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    RACKS_FIELD_NUMBER: _ClassVar[int]
    IDCS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    number: int
    brokers: _containers.RepeatedScalarFieldContainer[int]
    racks: _containers.RepeatedScalarFieldContainer[str]
    idcs: _containers.RepeatedScalarFieldContainer[str]
    seconds: float
    def __init__(self, number: _Optional[int] = ..., brokers: _Optional[_Iterable[int]] = ..., racks: _Optional[_Iterable[str]] = ..., idcs: _Optional[_Iterable[str]] = ..., seconds: _Optional[float] = ...) -> None: ...

class BrokersDown(_message.Message):
    __slots__ = ("brokers", "racks", "idcs", "seconds", "order", "every_s")
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    RACKS_FIELD_NUMBER: _ClassVar[int]
    IDCS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    EVERY_S_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    racks: _containers.RepeatedScalarFieldContainer[str]
    idcs: _containers.RepeatedScalarFieldContainer[str]
    seconds: float
    order: _containers.RepeatedScalarFieldContainer[int]
    every_s: float
    def __init__(self, brokers: _Optional[_Iterable[int]] = ..., racks: _Optional[_Iterable[str]] = ..., idcs: _Optional[_Iterable[str]] = ..., seconds: _Optional[float] = ..., order: _Optional[_Iterable[int]] = ..., every_s: _Optional[float] = ...) -> None: ...

class WrongClocks(_message.Message):
    __slots__ = ("brokers", "racks", "idcs", "seconds", "ahead_s")
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    RACKS_FIELD_NUMBER: _ClassVar[int]
    IDCS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    AHEAD_S_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    racks: _containers.RepeatedScalarFieldContainer[str]
    idcs: _containers.RepeatedScalarFieldContainer[str]
    seconds: float
    ahead_s: float
    def __init__(self, brokers: _Optional[_Iterable[int]] = ..., racks: _Optional[_Iterable[str]] = ..., idcs: _Optional[_Iterable[str]] = ..., seconds: _Optional[float] = ..., ahead_s: _Optional[float] = ...) -> None: ...

class FailedLogDirs(_message.Message):
    __slots__ = ("brokers", "log_dirs", "seconds")
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    log_dirs: _containers.RepeatedScalarFieldContainer[str]
    seconds: float
    def __init__(self, brokers: _Optional[_Iterable[int]] = ..., log_dirs: _Optional[_Iterable[str]] = ..., seconds: _Optional[float] = ...) -> None: ...

class SlowFollowers(_message.Message):
    __slots__ = ("brokers", "racks", "idcs", "seconds", "share")
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    RACKS_FIELD_NUMBER: _ClassVar[int]
    IDCS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    racks: _containers.RepeatedScalarFieldContainer[str]
    idcs: _containers.RepeatedScalarFieldContainer[str]
    seconds: float
    share: float
    def __init__(self, brokers: _Optional[_Iterable[int]] = ..., racks: _Optional[_Iterable[str]] = ..., idcs: _Optional[_Iterable[str]] = ..., seconds: _Optional[float] = ..., share: _Optional[float] = ...) -> None: ...

class SlowDisks(_message.Message):
    __slots__ = ("brokers", "racks", "idcs", "seconds", "each_s", "log_dirs")
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    RACKS_FIELD_NUMBER: _ClassVar[int]
    IDCS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    EACH_S_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    racks: _containers.RepeatedScalarFieldContainer[str]
    idcs: _containers.RepeatedScalarFieldContainer[str]
    seconds: float
    each_s: float
    log_dirs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, brokers: _Optional[_Iterable[int]] = ..., racks: _Optional[_Iterable[str]] = ..., idcs: _Optional[_Iterable[str]] = ..., seconds: _Optional[float] = ..., each_s: _Optional[float] = ..., log_dirs: _Optional[_Iterable[str]] = ...) -> None: ...

class PredictFaultRequest(_message.Message):
    __slots__ = ("cluster", "topics", "cut", "kill", "power", "lose", "clock", "log_dir", "slow_follower", "slow_disk", "acks", "client", "max_topics")
    class ClientEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    CUT_FIELD_NUMBER: _ClassVar[int]
    KILL_FIELD_NUMBER: _ClassVar[int]
    POWER_FIELD_NUMBER: _ClassVar[int]
    LOSE_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    LOG_DIR_FIELD_NUMBER: _ClassVar[int]
    SLOW_FOLLOWER_FIELD_NUMBER: _ClassVar[int]
    SLOW_DISK_FIELD_NUMBER: _ClassVar[int]
    ACKS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOPICS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    cut: NetworkCut
    kill: BrokersDown
    power: BrokersDown
    lose: BrokersDown
    clock: WrongClocks
    log_dir: FailedLogDirs
    slow_follower: SlowFollowers
    slow_disk: SlowDisks
    acks: ProducerAcks
    client: _containers.ScalarMap[str, str]
    max_topics: int
    def __init__(self, cluster: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., cut: _Optional[_Union[NetworkCut, _Mapping]] = ..., kill: _Optional[_Union[BrokersDown, _Mapping]] = ..., power: _Optional[_Union[BrokersDown, _Mapping]] = ..., lose: _Optional[_Union[BrokersDown, _Mapping]] = ..., clock: _Optional[_Union[WrongClocks, _Mapping]] = ..., log_dir: _Optional[_Union[FailedLogDirs, _Mapping]] = ..., slow_follower: _Optional[_Union[SlowFollowers, _Mapping]] = ..., slow_disk: _Optional[_Union[SlowDisks, _Mapping]] = ..., acks: _Optional[_Union[ProducerAcks, str]] = ..., client: _Optional[_Mapping[str, str]] = ..., max_topics: _Optional[int] = ...) -> None: ...

class SecondsSpan(_message.Message):
    __slots__ = ("least_s", "most_s")
    LEAST_S_FIELD_NUMBER: _ClassVar[int]
    MOST_S_FIELD_NUMBER: _ClassVar[int]
    least_s: float
    most_s: float
    def __init__(self, least_s: _Optional[float] = ..., most_s: _Optional[float] = ...) -> None: ...

class FaultPrediction(_message.Message):
    __slots__ = ("topic", "acks_all", "partitions", "may_lose", "loses", "lost", "lost_s", "silent_s", "ended", "awaited", "read_lost", "unread_s")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    ACKS_ALL_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    MAY_LOSE_FIELD_NUMBER: _ClassVar[int]
    LOSES_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    LOST_S_FIELD_NUMBER: _ClassVar[int]
    SILENT_S_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    AWAITED_FIELD_NUMBER: _ClassVar[int]
    READ_LOST_FIELD_NUMBER: _ClassVar[int]
    UNREAD_S_FIELD_NUMBER: _ClassVar[int]
    topic: str
    acks_all: bool
    partitions: int
    may_lose: int
    loses: int
    lost: LostKind
    lost_s: SecondsSpan
    silent_s: SecondsSpan
    ended: SilenceEnd
    awaited: _containers.RepeatedScalarFieldContainer[int]
    read_lost: Likelihood
    unread_s: SecondsSpan
    def __init__(self, topic: _Optional[str] = ..., acks_all: _Optional[bool] = ..., partitions: _Optional[int] = ..., may_lose: _Optional[int] = ..., loses: _Optional[int] = ..., lost: _Optional[_Union[LostKind, str]] = ..., lost_s: _Optional[_Union[SecondsSpan, _Mapping]] = ..., silent_s: _Optional[_Union[SecondsSpan, _Mapping]] = ..., ended: _Optional[_Union[SilenceEnd, str]] = ..., awaited: _Optional[_Iterable[int]] = ..., read_lost: _Optional[_Union[Likelihood, str]] = ..., unread_s: _Optional[_Union[SecondsSpan, _Mapping]] = ...) -> None: ...

class FaultReport(_message.Message):
    __slots__ = ("cluster", "fault", "topics", "topics_in_all", "topics_that_may_lose", "keeps_elr", "advice")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_IN_ALL_FIELD_NUMBER: _ClassVar[int]
    TOPICS_THAT_MAY_LOSE_FIELD_NUMBER: _ClassVar[int]
    KEEPS_ELR_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    fault: str
    topics: _containers.RepeatedCompositeFieldContainer[FaultPrediction]
    topics_in_all: int
    topics_that_may_lose: int
    keeps_elr: bool
    advice: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cluster: _Optional[str] = ..., fault: _Optional[str] = ..., topics: _Optional[_Iterable[_Union[FaultPrediction, _Mapping]]] = ..., topics_in_all: _Optional[int] = ..., topics_that_may_lose: _Optional[int] = ..., keeps_elr: _Optional[bool] = ..., advice: _Optional[_Iterable[str]] = ...) -> None: ...

class DurabilityReport(_message.Message):
    __slots__ = ("cluster", "topics", "losses", "remarks", "topics_by_rating", "topics_in_all")
    class TopicsByRatingEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    LOSSES_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_BY_RATING_FIELD_NUMBER: _ClassVar[int]
    TOPICS_IN_ALL_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    topics: _containers.RepeatedCompositeFieldContainer[TopicDurability]
    losses: _containers.RepeatedCompositeFieldContainer[LossEffect]
    remarks: _containers.RepeatedScalarFieldContainer[str]
    topics_by_rating: _containers.ScalarMap[int, int]
    topics_in_all: int
    def __init__(self, cluster: _Optional[str] = ..., topics: _Optional[_Iterable[_Union[TopicDurability, _Mapping]]] = ..., losses: _Optional[_Iterable[_Union[LossEffect, _Mapping]]] = ..., remarks: _Optional[_Iterable[str]] = ..., topics_by_rating: _Optional[_Mapping[int, int]] = ..., topics_in_all: _Optional[int] = ...) -> None: ...

class DescribeTopicsRequest(_message.Message):
    __slots__ = ("cluster", "topics", "with_settings")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    WITH_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    with_settings: bool
    def __init__(self, cluster: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., with_settings: _Optional[bool] = ...) -> None: ...

class DescribedPartition(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class DescribedTopic(_message.Message):
    __slots__ = ("topic", "partitions", "configs", "settings")
    class ConfigsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    CONFIGS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partitions: _containers.RepeatedCompositeFieldContainer[DescribedPartition]
    configs: _containers.ScalarMap[str, str]
    settings: _containers.RepeatedCompositeFieldContainer[SettingInForce]
    def __init__(self, topic: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[DescribedPartition, _Mapping]]] = ..., configs: _Optional[_Mapping[str, str]] = ..., settings: _Optional[_Iterable[_Union[SettingInForce, _Mapping]]] = ...) -> None: ...

class SettingInForce(_message.Message):
    __slots__ = ("key", "value", "origin", "otherwise", "otherwise_origin")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_ORIGIN_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    origin: ConfigOrigin
    otherwise: str
    otherwise_origin: ConfigOrigin
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ..., origin: _Optional[_Union[ConfigOrigin, str]] = ..., otherwise: _Optional[str] = ..., otherwise_origin: _Optional[_Union[ConfigOrigin, str]] = ...) -> None: ...

class ListQuotasRequest(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    def __init__(self, cluster: _Optional[str] = ...) -> None: ...

class ClientQuota(_message.Message):
    __slots__ = ("user", "client_id", "values")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    USER_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    user: str
    client_id: str
    values: _containers.ScalarMap[str, float]
    def __init__(self, user: _Optional[str] = ..., client_id: _Optional[str] = ..., values: _Optional[_Mapping[str, float]] = ...) -> None: ...

class QuotasReport(_message.Message):
    __slots__ = ("quotas",)
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    quotas: _containers.RepeatedCompositeFieldContainer[ClientQuota]
    def __init__(self, quotas: _Optional[_Iterable[_Union[ClientQuota, _Mapping]]] = ...) -> None: ...

class DescribeTopicsReply(_message.Message):
    __slots__ = ("topics", "topics_in_all")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_IN_ALL_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[DescribedTopic]
    topics_in_all: int
    def __init__(self, topics: _Optional[_Iterable[_Union[DescribedTopic, _Mapping]]] = ..., topics_in_all: _Optional[int] = ...) -> None: ...

class GetDiskHealthRequest(_message.Message):
    __slots__ = ("cluster", "from_ms", "to_ms", "max_disks")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_DISKS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    from_ms: int
    to_ms: int
    max_disks: int
    def __init__(self, cluster: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., max_disks: _Optional[int] = ...) -> None: ...

class DiskHealth(_message.Message):
    __slots__ = ("broker", "disk", "log_dirs", "verdict", "await_ms", "peers_await_ms", "siblings_await_ms", "busy", "peers_busy", "ios_per_s", "peers_ios_per_s", "bytes_per_s", "peers_bytes_per_s", "odd_intervals", "judged_intervals", "since_ms", "peers", "why")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    DISK_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    AWAIT_MS_FIELD_NUMBER: _ClassVar[int]
    PEERS_AWAIT_MS_FIELD_NUMBER: _ClassVar[int]
    SIBLINGS_AWAIT_MS_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    PEERS_BUSY_FIELD_NUMBER: _ClassVar[int]
    IOS_PER_S_FIELD_NUMBER: _ClassVar[int]
    PEERS_IOS_PER_S_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    PEERS_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    ODD_INTERVALS_FIELD_NUMBER: _ClassVar[int]
    JUDGED_INTERVALS_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    broker: int
    disk: str
    log_dirs: _containers.RepeatedScalarFieldContainer[str]
    verdict: DiskVerdict
    await_ms: float
    peers_await_ms: float
    siblings_await_ms: float
    busy: float
    peers_busy: float
    ios_per_s: float
    peers_ios_per_s: float
    bytes_per_s: float
    peers_bytes_per_s: float
    odd_intervals: int
    judged_intervals: int
    since_ms: int
    peers: int
    why: str
    def __init__(self, broker: _Optional[int] = ..., disk: _Optional[str] = ..., log_dirs: _Optional[_Iterable[str]] = ..., verdict: _Optional[_Union[DiskVerdict, str]] = ..., await_ms: _Optional[float] = ..., peers_await_ms: _Optional[float] = ..., siblings_await_ms: _Optional[float] = ..., busy: _Optional[float] = ..., peers_busy: _Optional[float] = ..., ios_per_s: _Optional[float] = ..., peers_ios_per_s: _Optional[float] = ..., bytes_per_s: _Optional[float] = ..., peers_bytes_per_s: _Optional[float] = ..., odd_intervals: _Optional[int] = ..., judged_intervals: _Optional[int] = ..., since_ms: _Optional[int] = ..., peers: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class DiskHealthReport(_message.Message):
    __slots__ = ("cluster", "from_ms", "to_ms", "disks", "remarks", "disks_by_verdict", "samples")
    class DisksByVerdictEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    DISKS_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    DISKS_BY_VERDICT_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    from_ms: int
    to_ms: int
    disks: _containers.RepeatedCompositeFieldContainer[DiskHealth]
    remarks: _containers.RepeatedScalarFieldContainer[str]
    disks_by_verdict: _containers.ScalarMap[int, int]
    samples: int
    def __init__(self, cluster: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., disks: _Optional[_Iterable[_Union[DiskHealth, _Mapping]]] = ..., remarks: _Optional[_Iterable[str]] = ..., disks_by_verdict: _Optional[_Mapping[int, int]] = ..., samples: _Optional[int] = ...) -> None: ...

class GetDiskReadersRequest(_message.Message):
    __slots__ = ("cluster", "from_ms", "to_ms", "max_readers")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_READERS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    from_ms: int
    to_ms: int
    max_readers: int
    def __init__(self, cluster: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., max_readers: _Optional[int] = ...) -> None: ...

class DiskReader(_message.Message):
    __slots__ = ("group", "topic", "partition", "broker", "log_dir", "disk", "committed_offset", "log_end_offset", "behind_s", "bytes_per_s")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    LOG_DIR_FIELD_NUMBER: _ClassVar[int]
    DISK_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_OFFSET_FIELD_NUMBER: _ClassVar[int]
    LOG_END_OFFSET_FIELD_NUMBER: _ClassVar[int]
    BEHIND_S_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    group: str
    topic: str
    partition: int
    broker: int
    log_dir: str
    disk: str
    committed_offset: int
    log_end_offset: int
    behind_s: float
    bytes_per_s: float
    def __init__(self, group: _Optional[str] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., broker: _Optional[int] = ..., log_dir: _Optional[str] = ..., disk: _Optional[str] = ..., committed_offset: _Optional[int] = ..., log_end_offset: _Optional[int] = ..., behind_s: _Optional[float] = ..., bytes_per_s: _Optional[float] = ...) -> None: ...

class PageCache(_message.Message):
    __slots__ = ("broker", "memory_available_bytes", "disk_bytes_per_s", "seconds")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_AVAILABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    broker: int
    memory_available_bytes: int
    disk_bytes_per_s: float
    seconds: float
    def __init__(self, broker: _Optional[int] = ..., memory_available_bytes: _Optional[int] = ..., disk_bytes_per_s: _Optional[float] = ..., seconds: _Optional[float] = ...) -> None: ...

class DiskReadersReport(_message.Message):
    __slots__ = ("cluster", "from_ms", "to_ms", "readers", "caches", "readers_in_all", "groups", "samples", "remarks", "silent_brokers")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    READERS_FIELD_NUMBER: _ClassVar[int]
    CACHES_FIELD_NUMBER: _ClassVar[int]
    READERS_IN_ALL_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    SILENT_BROKERS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    from_ms: int
    to_ms: int
    readers: _containers.RepeatedCompositeFieldContainer[DiskReader]
    caches: _containers.RepeatedCompositeFieldContainer[PageCache]
    readers_in_all: int
    groups: int
    samples: int
    remarks: _containers.RepeatedScalarFieldContainer[str]
    silent_brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, cluster: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., readers: _Optional[_Iterable[_Union[DiskReader, _Mapping]]] = ..., caches: _Optional[_Iterable[_Union[PageCache, _Mapping]]] = ..., readers_in_all: _Optional[int] = ..., groups: _Optional[int] = ..., samples: _Optional[int] = ..., remarks: _Optional[_Iterable[str]] = ..., silent_brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class GetPastRequest(_message.Message):
    __slots__ = ("cluster", "at_ms", "broker", "max_topics")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    MAX_TOPICS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    at_ms: int
    broker: int
    max_topics: int
    def __init__(self, cluster: _Optional[str] = ..., at_ms: _Optional[int] = ..., broker: _Optional[int] = ..., max_topics: _Optional[int] = ...) -> None: ...

class PastBroker(_message.Message):
    __slots__ = ("broker", "seen_at_ms", "error", "started_at_ms", "rack", "idc", "bytes_in_per_s", "bytes_out_per_s", "replication_bytes_in_per_s", "replication_bytes_out_per_s", "messages_in_per_s", "cpu", "memory_available_bytes", "replicas", "leaders", "under_replicated", "log_dirs")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    SEEN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    IDC_FIELD_NUMBER: _ClassVar[int]
    BYTES_IN_PER_S_FIELD_NUMBER: _ClassVar[int]
    BYTES_OUT_PER_S_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_BYTES_IN_PER_S_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_BYTES_OUT_PER_S_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_IN_PER_S_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_AVAILABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    LEADERS_FIELD_NUMBER: _ClassVar[int]
    UNDER_REPLICATED_FIELD_NUMBER: _ClassVar[int]
    LOG_DIRS_FIELD_NUMBER: _ClassVar[int]
    broker: int
    seen_at_ms: int
    error: str
    started_at_ms: int
    rack: str
    idc: str
    bytes_in_per_s: float
    bytes_out_per_s: float
    replication_bytes_in_per_s: float
    replication_bytes_out_per_s: float
    messages_in_per_s: float
    cpu: float
    memory_available_bytes: int
    replicas: int
    leaders: int
    under_replicated: int
    log_dirs: _containers.RepeatedCompositeFieldContainer[PastLogDir]
    def __init__(self, broker: _Optional[int] = ..., seen_at_ms: _Optional[int] = ..., error: _Optional[str] = ..., started_at_ms: _Optional[int] = ..., rack: _Optional[str] = ..., idc: _Optional[str] = ..., bytes_in_per_s: _Optional[float] = ..., bytes_out_per_s: _Optional[float] = ..., replication_bytes_in_per_s: _Optional[float] = ..., replication_bytes_out_per_s: _Optional[float] = ..., messages_in_per_s: _Optional[float] = ..., cpu: _Optional[float] = ..., memory_available_bytes: _Optional[int] = ..., replicas: _Optional[int] = ..., leaders: _Optional[int] = ..., under_replicated: _Optional[int] = ..., log_dirs: _Optional[_Iterable[_Union[PastLogDir, _Mapping]]] = ...) -> None: ...

class PastLogDir(_message.Message):
    __slots__ = ("log_dir", "disk", "total_bytes", "usable_bytes", "offline", "busy", "await_ms", "bytes_per_s")
    LOG_DIR_FIELD_NUMBER: _ClassVar[int]
    DISK_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    USABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    AWAIT_MS_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    log_dir: str
    disk: str
    total_bytes: int
    usable_bytes: int
    offline: bool
    busy: float
    await_ms: float
    bytes_per_s: float
    def __init__(self, log_dir: _Optional[str] = ..., disk: _Optional[str] = ..., total_bytes: _Optional[int] = ..., usable_bytes: _Optional[int] = ..., offline: _Optional[bool] = ..., busy: _Optional[float] = ..., await_ms: _Optional[float] = ..., bytes_per_s: _Optional[float] = ...) -> None: ...

class PastTopic(_message.Message):
    __slots__ = ("topic", "bytes_in_per_s", "bytes_out_per_s")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    BYTES_IN_PER_S_FIELD_NUMBER: _ClassVar[int]
    BYTES_OUT_PER_S_FIELD_NUMBER: _ClassVar[int]
    topic: str
    bytes_in_per_s: float
    bytes_out_per_s: float
    def __init__(self, topic: _Optional[str] = ..., bytes_in_per_s: _Optional[float] = ..., bytes_out_per_s: _Optional[float] = ...) -> None: ...

class PastReport(_message.Message):
    __slots__ = ("cluster", "at_ms", "from_ms", "brokers", "topics", "topics_in_all")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_IN_ALL_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    at_ms: int
    from_ms: int
    brokers: _containers.RepeatedCompositeFieldContainer[PastBroker]
    topics: _containers.RepeatedCompositeFieldContainer[PastTopic]
    topics_in_all: int
    def __init__(self, cluster: _Optional[str] = ..., at_ms: _Optional[int] = ..., from_ms: _Optional[int] = ..., brokers: _Optional[_Iterable[_Union[PastBroker, _Mapping]]] = ..., topics: _Optional[_Iterable[_Union[PastTopic, _Mapping]]] = ..., topics_in_all: _Optional[int] = ...) -> None: ...

class GetLinkUseRequest(_message.Message):
    __slots__ = ("clusters", "from_ms", "to_ms", "max_crossers")
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_CROSSERS_FIELD_NUMBER: _ClassVar[int]
    clusters: _containers.RepeatedScalarFieldContainer[str]
    from_ms: int
    to_ms: int
    max_crossers: int
    def __init__(self, clusters: _Optional[_Iterable[str]] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., max_crossers: _Optional[int] = ...) -> None: ...

class LinkUse(_message.Message):
    __slots__ = ("from_idc", "to_idc", "bytes", "produced_bytes", "consumed_bytes", "replicated_bytes", "estimated_bytes", "minute_bytes", "capacity_bits_per_s", "peak_at_ms", "peak_bits_per_s", "cost", "priced", "crossers", "peak_crossers")
    FROM_IDC_FIELD_NUMBER: _ClassVar[int]
    TO_IDC_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    PRODUCED_BYTES_FIELD_NUMBER: _ClassVar[int]
    CONSUMED_BYTES_FIELD_NUMBER: _ClassVar[int]
    REPLICATED_BYTES_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_BYTES_FIELD_NUMBER: _ClassVar[int]
    MINUTE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BITS_PER_S_FIELD_NUMBER: _ClassVar[int]
    PEAK_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PEAK_BITS_PER_S_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    PRICED_FIELD_NUMBER: _ClassVar[int]
    CROSSERS_FIELD_NUMBER: _ClassVar[int]
    PEAK_CROSSERS_FIELD_NUMBER: _ClassVar[int]
    from_idc: str
    to_idc: str
    bytes: int
    produced_bytes: int
    consumed_bytes: int
    replicated_bytes: int
    estimated_bytes: int
    minute_bytes: _containers.RepeatedScalarFieldContainer[int]
    capacity_bits_per_s: float
    peak_at_ms: int
    peak_bits_per_s: float
    cost: float
    priced: bool
    crossers: _containers.RepeatedCompositeFieldContainer[LinkCrosser]
    peak_crossers: _containers.RepeatedCompositeFieldContainer[LinkCrosser]
    def __init__(self, from_idc: _Optional[str] = ..., to_idc: _Optional[str] = ..., bytes: _Optional[int] = ..., produced_bytes: _Optional[int] = ..., consumed_bytes: _Optional[int] = ..., replicated_bytes: _Optional[int] = ..., estimated_bytes: _Optional[int] = ..., minute_bytes: _Optional[_Iterable[int]] = ..., capacity_bits_per_s: _Optional[float] = ..., peak_at_ms: _Optional[int] = ..., peak_bits_per_s: _Optional[float] = ..., cost: _Optional[float] = ..., priced: _Optional[bool] = ..., crossers: _Optional[_Iterable[_Union[LinkCrosser, _Mapping]]] = ..., peak_crossers: _Optional[_Iterable[_Union[LinkCrosser, _Mapping]]] = ...) -> None: ...

class LinkCrosser(_message.Message):
    __slots__ = ("crossing", "cluster", "topic", "principal", "client_id", "address", "bytes", "estimated")
    CROSSING_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    crossing: Crossing
    cluster: str
    topic: str
    principal: str
    client_id: str
    address: str
    bytes: int
    estimated: bool
    def __init__(self, crossing: _Optional[_Union[Crossing, str]] = ..., cluster: _Optional[str] = ..., topic: _Optional[str] = ..., principal: _Optional[str] = ..., client_id: _Optional[str] = ..., address: _Optional[str] = ..., bytes: _Optional[int] = ..., estimated: _Optional[bool] = ...) -> None: ...

class LinkUseReport(_message.Message):
    __slots__ = ("from_ms", "to_ms", "links", "findings", "remarks", "currency", "unplaced_bytes", "samples")
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    UNPLACED_BYTES_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    from_ms: int
    to_ms: int
    links: _containers.RepeatedCompositeFieldContainer[LinkUse]
    findings: _containers.RepeatedScalarFieldContainer[str]
    remarks: _containers.RepeatedScalarFieldContainer[str]
    currency: str
    unplaced_bytes: int
    samples: int
    def __init__(self, from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., links: _Optional[_Iterable[_Union[LinkUse, _Mapping]]] = ..., findings: _Optional[_Iterable[str]] = ..., remarks: _Optional[_Iterable[str]] = ..., currency: _Optional[str] = ..., unplaced_bytes: _Optional[int] = ..., samples: _Optional[int] = ...) -> None: ...

class GetLinesRequest(_message.Message):
    __slots__ = ("cluster", "from_ms", "to_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    from_ms: int
    to_ms: int
    def __init__(self, cluster: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ...) -> None: ...

class Line(_message.Message):
    __slots__ = ("one", "other", "bits_per_s", "price_gb")
    ONE_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    BITS_PER_S_FIELD_NUMBER: _ClassVar[int]
    PRICE_GB_FIELD_NUMBER: _ClassVar[int]
    one: str
    other: str
    bits_per_s: float
    price_gb: float
    def __init__(self, one: _Optional[str] = ..., other: _Optional[str] = ..., bits_per_s: _Optional[float] = ..., price_gb: _Optional[float] = ...) -> None: ...

class ClientPlace(_message.Message):
    __slots__ = ("topic", "idc", "produced_bytes_per_s", "fetched_bytes_per_s")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    IDC_FIELD_NUMBER: _ClassVar[int]
    PRODUCED_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    FETCHED_BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    topic: str
    idc: str
    produced_bytes_per_s: float
    fetched_bytes_per_s: float
    def __init__(self, topic: _Optional[str] = ..., idc: _Optional[str] = ..., produced_bytes_per_s: _Optional[float] = ..., fetched_bytes_per_s: _Optional[float] = ...) -> None: ...

class LinesReport(_message.Message):
    __slots__ = ("currency", "lines", "clients", "remarks", "near", "networks")
    class NetworksEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    CLIENTS_FIELD_NUMBER: _ClassVar[int]
    REMARKS_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    currency: str
    lines: _containers.RepeatedCompositeFieldContainer[Line]
    clients: _containers.RepeatedCompositeFieldContainer[ClientPlace]
    remarks: _containers.RepeatedScalarFieldContainer[str]
    near: float
    networks: _containers.ScalarMap[str, str]
    def __init__(self, currency: _Optional[str] = ..., lines: _Optional[_Iterable[_Union[Line, _Mapping]]] = ..., clients: _Optional[_Iterable[_Union[ClientPlace, _Mapping]]] = ..., remarks: _Optional[_Iterable[str]] = ..., near: _Optional[float] = ..., networks: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ListFindingsRequest(_message.Message):
    __slots__ = ("cluster", "limit")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    limit: int
    def __init__(self, cluster: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ("kind", "cluster", "subject", "since_ms", "last_seen_ms", "evidence", "show", "brokers")
    KIND_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_MS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    SHOW_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    kind: FindingKind
    cluster: str
    subject: str
    since_ms: int
    last_seen_ms: int
    evidence: str
    show: str
    brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, kind: _Optional[_Union[FindingKind, str]] = ..., cluster: _Optional[str] = ..., subject: _Optional[str] = ..., since_ms: _Optional[int] = ..., last_seen_ms: _Optional[int] = ..., evidence: _Optional[str] = ..., show: _Optional[str] = ..., brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class DetectorLook(_message.Message):
    __slots__ = ("detector", "cluster", "looked_at_ms", "failed_at_ms", "error")
    DETECTOR_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    LOOKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    FAILED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    detector: str
    cluster: str
    looked_at_ms: int
    failed_at_ms: int
    error: str
    def __init__(self, detector: _Optional[str] = ..., cluster: _Optional[str] = ..., looked_at_ms: _Optional[int] = ..., failed_at_ms: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class BrokersSeen(_message.Message):
    __slots__ = ("cluster", "alive", "looked_at_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    ALIVE_FIELD_NUMBER: _ClassVar[int]
    LOOKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    alive: _containers.RepeatedScalarFieldContainer[int]
    looked_at_ms: int
    def __init__(self, cluster: _Optional[str] = ..., alive: _Optional[_Iterable[int]] = ..., looked_at_ms: _Optional[int] = ...) -> None: ...

class FindingsReport(_message.Message):
    __slots__ = ("findings", "findings_in_all", "looks", "in_grace", "leads_since_ms", "brokers")
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_IN_ALL_FIELD_NUMBER: _ClassVar[int]
    LOOKS_FIELD_NUMBER: _ClassVar[int]
    IN_GRACE_FIELD_NUMBER: _ClassVar[int]
    LEADS_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    findings_in_all: int
    looks: _containers.RepeatedCompositeFieldContainer[DetectorLook]
    in_grace: int
    leads_since_ms: int
    brokers: _containers.RepeatedCompositeFieldContainer[BrokersSeen]
    def __init__(self, findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., findings_in_all: _Optional[int] = ..., looks: _Optional[_Iterable[_Union[DetectorLook, _Mapping]]] = ..., in_grace: _Optional[int] = ..., leads_since_ms: _Optional[int] = ..., brokers: _Optional[_Iterable[_Union[BrokersSeen, _Mapping]]] = ...) -> None: ...

class GetHealingRequest(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    def __init__(self, cluster: _Optional[str] = ...) -> None: ...

class HealingPolicy(_message.Message):
    __slots__ = ("mode", "broker_grace_s", "log_dir_grace_s", "slow_disk_grace_s", "balance_grace_s", "storm_share", "tickets_per_hour", "throttle", "rest_s")
    MODE_FIELD_NUMBER: _ClassVar[int]
    BROKER_GRACE_S_FIELD_NUMBER: _ClassVar[int]
    LOG_DIR_GRACE_S_FIELD_NUMBER: _ClassVar[int]
    SLOW_DISK_GRACE_S_FIELD_NUMBER: _ClassVar[int]
    BALANCE_GRACE_S_FIELD_NUMBER: _ClassVar[int]
    STORM_SHARE_FIELD_NUMBER: _ClassVar[int]
    TICKETS_PER_HOUR_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_FIELD_NUMBER: _ClassVar[int]
    REST_S_FIELD_NUMBER: _ClassVar[int]
    mode: str
    broker_grace_s: float
    log_dir_grace_s: float
    slow_disk_grace_s: float
    balance_grace_s: float
    storm_share: float
    tickets_per_hour: int
    throttle: int
    rest_s: float
    def __init__(self, mode: _Optional[str] = ..., broker_grace_s: _Optional[float] = ..., log_dir_grace_s: _Optional[float] = ..., slow_disk_grace_s: _Optional[float] = ..., balance_grace_s: _Optional[float] = ..., storm_share: _Optional[float] = ..., tickets_per_hour: _Optional[int] = ..., throttle: _Optional[int] = ..., rest_s: _Optional[float] = ...) -> None: ...

class HealingTrouble(_message.Message):
    __slots__ = ("kind", "subject", "evidence", "since_ms", "phase", "sentence", "ticket_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    kind: FindingKind
    subject: str
    evidence: str
    since_ms: int
    phase: str
    sentence: str
    ticket_id: str
    def __init__(self, kind: _Optional[_Union[FindingKind, str]] = ..., subject: _Optional[str] = ..., evidence: _Optional[str] = ..., since_ms: _Optional[int] = ..., phase: _Optional[str] = ..., sentence: _Optional[str] = ..., ticket_id: _Optional[str] = ...) -> None: ...

class HealingCluster(_message.Message):
    __slots__ = ("cluster", "policy", "troubles", "storm", "brokers", "troubled_brokers", "looked_at_ms", "tickets_last_hour")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TROUBLES_FIELD_NUMBER: _ClassVar[int]
    STORM_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    TROUBLED_BROKERS_FIELD_NUMBER: _ClassVar[int]
    LOOKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TICKETS_LAST_HOUR_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    policy: HealingPolicy
    troubles: _containers.RepeatedCompositeFieldContainer[HealingTrouble]
    storm: str
    brokers: int
    troubled_brokers: int
    looked_at_ms: int
    tickets_last_hour: int
    def __init__(self, cluster: _Optional[str] = ..., policy: _Optional[_Union[HealingPolicy, _Mapping]] = ..., troubles: _Optional[_Iterable[_Union[HealingTrouble, _Mapping]]] = ..., storm: _Optional[str] = ..., brokers: _Optional[int] = ..., troubled_brokers: _Optional[int] = ..., looked_at_ms: _Optional[int] = ..., tickets_last_hour: _Optional[int] = ...) -> None: ...

class HealingReport(_message.Message):
    __slots__ = ("clusters", "leads_since_ms")
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    LEADS_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    clusters: _containers.RepeatedCompositeFieldContainer[HealingCluster]
    leads_since_ms: int
    def __init__(self, clusters: _Optional[_Iterable[_Union[HealingCluster, _Mapping]]] = ..., leads_since_ms: _Optional[int] = ...) -> None: ...
