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
    DEGRADED: _ClassVar[DurabilityRating]
    SOUND: _ClassVar[DurabilityRating]
DURABILITY_RATING_UNSPECIFIED: DurabilityRating
OFFLINE: DurabilityRating
AT_RISK: DurabilityRating
WEAK: DurabilityRating
DEGRADED: DurabilityRating
SOUND: DurabilityRating

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
    __slots__ = ("topic", "rating", "partitions", "replication_factor", "min_isr", "unclean_elections", "offline", "under_min_isr", "under_replicated", "preferred_leaders", "survives_brokers", "reasons")
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
    def __init__(self, topic: _Optional[str] = ..., rating: _Optional[_Union[DurabilityRating, str]] = ..., partitions: _Optional[int] = ..., replication_factor: _Optional[int] = ..., min_isr: _Optional[int] = ..., unclean_elections: _Optional[bool] = ..., offline: _Optional[int] = ..., under_min_isr: _Optional[int] = ..., under_replicated: _Optional[int] = ..., preferred_leaders: _Optional[int] = ..., survives_brokers: _Optional[int] = ..., reasons: _Optional[_Iterable[str]] = ...) -> None: ...

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
