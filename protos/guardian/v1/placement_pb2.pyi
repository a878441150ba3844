from protos.guardian.v1 import access_pb2 as _access_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetPlacementRequest(_message.Message):
    __slots__ = ("cluster_id", "known_version")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    KNOWN_VERSION_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    known_version: str
    def __init__(self, cluster_id: _Optional[str] = ..., known_version: _Optional[str] = ...) -> None: ...

class PlacementRules(_message.Message):
    __slots__ = ("version", "is_unchanged", "cluster", "excluded", "label_of_broker", "labels_of_topic", "shared_labels", "expected")
    class LabelOfBrokerEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: str
        def __init__(self, key: _Optional[int] = ..., value: _Optional[str] = ...) -> None: ...
    class LabelsOfTopicEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: TopicLabels
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[TopicLabels, _Mapping]] = ...) -> None: ...
    class ExpectedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ExpectedTopic
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ExpectedTopic, _Mapping]] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    IS_UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    LABEL_OF_BROKER_FIELD_NUMBER: _ClassVar[int]
    LABELS_OF_TOPIC_FIELD_NUMBER: _ClassVar[int]
    SHARED_LABELS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    version: str
    is_unchanged: bool
    cluster: str
    excluded: _containers.RepeatedCompositeFieldContainer[ExcludedBroker]
    label_of_broker: _containers.ScalarMap[int, str]
    labels_of_topic: _containers.MessageMap[str, TopicLabels]
    shared_labels: _containers.RepeatedScalarFieldContainer[str]
    expected: _containers.MessageMap[str, ExpectedTopic]
    def __init__(self, version: _Optional[str] = ..., is_unchanged: _Optional[bool] = ..., cluster: _Optional[str] = ..., excluded: _Optional[_Iterable[_Union[ExcludedBroker, _Mapping]]] = ..., label_of_broker: _Optional[_Mapping[int, str]] = ..., labels_of_topic: _Optional[_Mapping[str, TopicLabels]] = ..., shared_labels: _Optional[_Iterable[str]] = ..., expected: _Optional[_Mapping[str, ExpectedTopic]] = ...) -> None: ...

class ExcludedBroker(_message.Message):
    __slots__ = ("broker_id", "who", "why")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    WHO_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    who: str
    why: str
    def __init__(self, broker_id: _Optional[int] = ..., who: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class TopicLabels(_message.Message):
    __slots__ = ("labels",)
    LABELS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, labels: _Optional[_Iterable[str]] = ...) -> None: ...

class ExpectedTopic(_message.Message):
    __slots__ = ("partitions",)
    class PartitionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: ExpectedReplicas
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[ExpectedReplicas, _Mapping]] = ...) -> None: ...
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.MessageMap[int, ExpectedReplicas]
    def __init__(self, partitions: _Optional[_Mapping[int, ExpectedReplicas]] = ...) -> None: ...

class ExpectedReplicas(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class Cordon(_message.Message):
    __slots__ = ("cluster", "broker_id", "value", "replaced", "had_value", "since_ms", "held", "note", "is_lifted", "revision", "is_foreign")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    HAD_VALUE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    IS_LIFTED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    IS_FOREIGN_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    broker_id: int
    value: str
    replaced: str
    had_value: bool
    since_ms: int
    held: _containers.RepeatedCompositeFieldContainer[HeldTopic]
    note: str
    is_lifted: bool
    revision: int
    is_foreign: bool
    def __init__(self, cluster: _Optional[str] = ..., broker_id: _Optional[int] = ..., value: _Optional[str] = ..., replaced: _Optional[str] = ..., had_value: _Optional[bool] = ..., since_ms: _Optional[int] = ..., held: _Optional[_Iterable[_Union[HeldTopic, _Mapping]]] = ..., note: _Optional[str] = ..., is_lifted: _Optional[bool] = ..., revision: _Optional[int] = ..., is_foreign: _Optional[bool] = ...) -> None: ...

class HeldTopic(_message.Message):
    __slots__ = ("topic", "ranges")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    topic: str
    ranges: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic: _Optional[str] = ..., ranges: _Optional[_Iterable[int]] = ...) -> None: ...

class ListCordonsRequest(_message.Message):
    __slots__ = ("cluster", "page_size", "page_token")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    page_size: int
    page_token: str
    def __init__(self, cluster: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCordonsReply(_message.Message):
    __slots__ = ("cordons", "next_page_token")
    CORDONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    cordons: _containers.RepeatedCompositeFieldContainer[Cordon]
    next_page_token: str
    def __init__(self, cordons: _Optional[_Iterable[_Union[Cordon, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class PutCordons(_message.Message):
    __slots__ = ("cluster", "cordons", "dropped")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    CORDONS_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    cordons: _containers.RepeatedCompositeFieldContainer[Cordon]
    dropped: _containers.RepeatedCompositeFieldContainer[DropCordon]
    def __init__(self, cluster: _Optional[str] = ..., cordons: _Optional[_Iterable[_Union[Cordon, _Mapping]]] = ..., dropped: _Optional[_Iterable[_Union[DropCordon, _Mapping]]] = ...) -> None: ...

class DropCordon(_message.Message):
    __slots__ = ("broker_id", "revision")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    revision: int
    def __init__(self, broker_id: _Optional[int] = ..., revision: _Optional[int] = ...) -> None: ...
