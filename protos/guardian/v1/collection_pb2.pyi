from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CollectionAssignment(_message.Message):
    __slots__ = ("generation", "seats", "moves")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    SEATS_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    generation: int
    seats: _containers.RepeatedCompositeFieldContainer[CollectorSeat]
    moves: _containers.RepeatedCompositeFieldContainer[BrokerMove]
    def __init__(self, generation: _Optional[int] = ..., seats: _Optional[_Iterable[_Union[CollectorSeat, _Mapping]]] = ..., moves: _Optional[_Iterable[_Union[BrokerMove, _Mapping]]] = ...) -> None: ...

class CollectorSeat(_message.Message):
    __slots__ = ("member", "incarnation", "acked", "gone_since_ms", "shares")
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    ACKED_FIELD_NUMBER: _ClassVar[int]
    GONE_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    member: str
    incarnation: str
    acked: int
    gone_since_ms: int
    shares: _containers.RepeatedCompositeFieldContainer[CollectorShare]
    def __init__(self, member: _Optional[str] = ..., incarnation: _Optional[str] = ..., acked: _Optional[int] = ..., gone_since_ms: _Optional[int] = ..., shares: _Optional[_Iterable[_Union[CollectorShare, _Mapping]]] = ...) -> None: ...

class CollectorShare(_message.Message):
    __slots__ = ("cluster", "brokers")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    brokers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, cluster: _Optional[str] = ..., brokers: _Optional[_Iterable[int]] = ...) -> None: ...

class BrokerMove(_message.Message):
    __slots__ = ("cluster", "broker", "to", "since")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    broker: int
    to: str
    since: int
    def __init__(self, cluster: _Optional[str] = ..., broker: _Optional[int] = ..., to: _Optional[str] = ..., since: _Optional[int] = ...) -> None: ...
