"""Where each metric of a broker belongs in the lake: worked out once from its name, then used by position.

A broker numbers its names once and tells a caller only those that it lacks; the caller alone keeps state. A thousand
brokers have twenty million names, so a name is read once, turned into a place (which column, which partition or topic)
and forgotten. Values are then scattered into columns by numpy, without a look at any name.

Layouts are frozen: a call that fails leaves what was known untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from sys import intern
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from guardian.reporter.names import require_a_value_for_each_id, require_continuation
from protos.guardian.v1 import reporter_pb2

Floats = npt.NDArray[np.float64]
_Bytes = npt.NDArray[np.int8]
_Ints = npt.NDArray[np.int32]


class OfPartition(IntEnum):
    """Columns of a partition on a broker."""

    SIZE = 0
    LOG_START_OFFSET = 1
    LOG_END_OFFSET = 2
    REPLICAS = 3
    IN_SYNC_REPLICAS = 4
    FETCH_LAG = 5


class OfTopic(IntEnum):
    """Totals of a topic on a broker: of the partitions that it leads."""

    BYTES_IN = 0
    BYTES_OUT = 1
    MESSAGES_IN = 2


class OfBroker(IntEnum):
    """Numbers of the broker as a whole."""

    STATE = 0
    BYTES_IN = 1
    BYTES_OUT = 2
    MESSAGES_IN = 3
    REPLICATION_BYTES_IN = 4
    REPLICATION_BYTES_OUT = 5


class _Group(IntEnum):
    NONE = 0
    PARTITION = 1
    TOPIC = 2
    BROKER = 3


# Comparing members of an enum costs more than all else about a name.
_PARTITION, _TOPIC = int(_Group.PARTITION), int(_Group.TOPIC)

_PARTITION_HEADS = {
    "kafka.log:type=Log,name=Size": OfPartition.SIZE,
    "kafka.log:type=Log,name=LogStartOffset": OfPartition.LOG_START_OFFSET,
    "kafka.log:type=Log,name=LogEndOffset": OfPartition.LOG_END_OFFSET,
    "kafka.cluster:type=Partition,name=ReplicasCount": OfPartition.REPLICAS,
    "kafka.cluster:type=Partition,name=InSyncReplicasCount": OfPartition.IN_SYNC_REPLICAS,
}
# One metric a fetcher thread, whose name follows: ReplicaFetcherThread-0-1. Those of moves between log dirs are others.
_FETCH_LAG_HEAD = "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=ReplicaFetcherThread-"
_TOPIC_HEADS = {
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec": OfTopic.BYTES_IN,
    "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec": OfTopic.BYTES_OUT,
    "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec": OfTopic.MESSAGES_IN,
}
_BROKER_NAMES = {
    "kafka.server:type=KafkaServer,name=BrokerState:Value": OfBroker.STATE,
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec:Count": OfBroker.BYTES_IN,
    "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec:Count": OfBroker.BYTES_OUT,
    "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec:Count": OfBroker.MESSAGES_IN,
    "kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesInPerSec:Count": OfBroker.REPLICATION_BYTES_IN,
    "kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesOutPerSec:Count": OfBroker.REPLICATION_BYTES_OUT,
}

# What a dashboard of a broker shows beyond the columns above: rows of metric_samples, name by name.
KEPT_METRICS = (
    "kafka.server:type=ReplicaManager,name=",
    "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent:",
    "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent:",
    "kafka.network:type=RequestChannel,name=RequestQueueSize:",
    "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce:",
    "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=FetchConsumer:",
    "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=FetchFollower:",
    "kafka.log:type=LogManager,name=",
    "kafka.controller:type=KafkaController,name=",
)
# Remembered for all brokers: a large one has some ten thousand names without a topic.
_NAMES_OF_BROKERS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class MetricLayout:
    """The places of the first `known` names of the dictionary `id`.

    `partitions` gives the row of "topic-partition", `topics` that of a topic; `partition_topics[row]` and
    `partition_numbers[row]` say which one it is. `kept` are the names of metrics that get rows of their own.
    """

    id: int = 0
    known: int = 0
    kept_prefixes: tuple[str, ...] = KEPT_METRICS
    partitions: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    partition_topics: _Ints = field(default_factory=lambda: _empty(np.int32))
    partition_numbers: _Ints = field(default_factory=lambda: _empty(np.int32))
    kept: tuple[str, ...] = ()
    kept_ids: _Ints = field(default_factory=lambda: _empty(np.int32))
    _groups: _Bytes = field(default_factory=lambda: _empty(np.int8))
    _columns: _Bytes = field(default_factory=lambda: _empty(np.int8))
    _rows: _Ints = field(default_factory=lambda: _empty(np.int32))

    def request(self) -> reporter_pb2.CollectRequest:
        """The call that is answered with the names that are missing here."""
        return reporter_pb2.CollectRequest(dictionary_id=self.id, known_names=self.known)

    def forgotten(self) -> MetricLayout:
        """Nothing is known, but what to keep."""
        return MetricLayout(kept_prefixes=self.kept_prefixes)

    def extended_by(self, batch: reporter_pb2.MetricBatch) -> MetricLayout:
        """What is known after the batch.

        Raises InvalidInput when its names do not continue these: values could not be told apart any more.
        """
        require_continuation(batch, self.id, self.known)
        if batch.first_name_id == 0:
            return _Draft(self.forgotten()).read(batch.dictionary_id, batch.names)
        return _Draft(self).read(self.id, batch.names) if batch.names else self


@dataclass(frozen=True, slots=True)
class Scattered:
    """A batch's values at their places; NaN where it has none.

    `partitions` is (OfPartition, row), `topics` (OfTopic, row), `broker` (OfBroker,), `kept` as the layout's `kept`.
    """

    partitions: Floats
    topics: Floats
    broker: Floats
    kept: Floats


def scatter(batch: reporter_pb2.MetricBatch, layout: MetricLayout) -> Scattered:
    """Puts the values where the layout says; those without a name are passed over.

    Raises InvalidInput when `ids` and `values` differ in length.
    """
    require_a_value_for_each_id(batch)
    ids = np.array(batch.ids, np.uint32)
    values = np.array(batch.values, np.float64)
    dense = np.full(layout.known, np.nan)
    named = ids < layout.known
    dense[ids[named]] = values[named]
    partitions = np.full((len(OfPartition), len(layout.partitions)), np.nan)
    topics = np.full((len(OfTopic), len(layout.topics)), np.nan)
    broker = np.full((len(OfBroker), 1), np.nan)
    for group, out in ((_Group.PARTITION, partitions), (_Group.TOPIC, topics), (_Group.BROKER, broker)):
        # Of two fetchers of one partition, of which one has just handed it over, the one that has a value counts.
        at = np.flatnonzero((layout._groups == group) & ~np.isnan(dense))
        out[layout._columns[at], layout._rows[at]] = dense[at]
    return Scattered(partitions, topics, broker[:, 0], dense[layout.kept_ids])


class _Draft:
    """The layout that is to be: new names are read one by one, arrays are made once.

    Of a large broker's twenty thousand names most are of no use here, and the useful ones come several to a partition:
    both are seen before anything is taken apart.
    """

    def __init__(self, base: MetricLayout) -> None:
        self._base = base
        self._partitions = dict(base.partitions)
        self._topics = dict(base.topics)
        self._partition_topics: list[int] = []
        self._partition_numbers: list[int] = []
        self._kept: list[str] = []
        self._kept_ids: list[int] = []
        # Places: of the name with this id, the group, column and row.
        self._ids: list[int] = []
        self._groups: list[int] = []
        self._columns: list[int] = []
        self._rows: list[int] = []
        # What was found for parts of names, which come again and again.
        self._column_of_head: dict[str, tuple[int, int]] = {}
        self._row_of_tail: dict[str, int] = {}
        self._row_of_topic_tail: dict[str, int] = {}

    def read(self, dictionary_id: int, names: Sequence[str]) -> MetricLayout:
        base = self._base
        columns_of, partition_of, topic_of = self._column_of_head, self._row_of_tail, self._row_of_topic_tail
        for name_id, name in enumerate(names, base.known):
            head, _, tail = name.partition(",topic=")
            if not tail:
                self._place_of_broker(name_id, name)
                continue
            place = columns_of.get(head)
            if place is None:
                place = columns_of[head] = _of_head(head)
            group, column = place
            if group == _PARTITION:
                row = partition_of.get(tail)
                if row is None:
                    row = partition_of[tail] = self._partition(tail)
            elif group == _TOPIC:
                row = topic_of.get(tail)
                if row is None:
                    row = topic_of[tail] = self._topic_total(tail)
            else:
                continue
            if row >= 0:
                self._place(name_id, group, column, row)
        places = np.zeros((3, len(names)), np.int32)
        at = np.fromiter(self._ids, np.int64) - base.known
        for kind, found in enumerate((self._groups, self._columns, self._rows)):
            places[kind, at] = np.fromiter(found, np.int32)
        return MetricLayout(
            id=dictionary_id,
            known=base.known + len(names),
            kept_prefixes=base.kept_prefixes,
            partitions=MappingProxyType(self._partitions),
            topics=MappingProxyType(self._topics),
            partition_topics=_joined(base.partition_topics, self._partition_topics),
            partition_numbers=_joined(base.partition_numbers, self._partition_numbers),
            kept=base.kept + tuple(self._kept),
            kept_ids=_joined(base.kept_ids, self._kept_ids),
            _groups=_joined(base._groups, places[0]),
            _columns=_joined(base._columns, places[1]),
            _rows=_joined(base._rows, places[2]),
        )

    def _place(self, name_id: int, group: int, column: int, row: int) -> None:
        self._ids.append(name_id)
        self._groups.append(group)
        self._columns.append(column)
        self._rows.append(row)

    def _place_of_broker(self, name_id: int, name: str) -> None:
        column, is_kept = _of_broker(name, self._base.kept_prefixes)
        if is_kept:
            self._kept.append(intern(name))
            self._kept_ids.append(name_id)
        if column is not None:
            self._place(name_id, _Group.BROKER, column, 0)

    def _topic_total(self, tail: str) -> int:
        """The row of "topic:Count"; negative for anything else."""
        topic, _, attribute = tail.partition(":")
        return self._topic(topic) if attribute == "Count" and ",partition=" not in topic else -1

    def _topic(self, topic: str) -> int:
        return self._topics.setdefault(intern(topic), len(self._topics))

    def _partition(self, tail: str) -> int:
        """The row of "topic,partition=number:Value"; negative for anything else."""
        topic, _, rest = tail.partition(",partition=")
        number, _, attribute = rest.partition(":")
        # A copy under way to another log dir has one more tag, is-future: it is not the replica.
        if attribute != "Value" or not number.isdecimal():
            return -1
        # Interned: the replicas of a partition are on several brokers.
        key = intern(f"{topic}-{number}")
        row = self._partitions.get(key)
        if row is None:
            row = self._partitions[key] = len(self._partitions)
            self._partition_topics.append(self._topic(topic))
            self._partition_numbers.append(int(number))
        return row


def _of_head(head: str) -> tuple[int, int]:
    """Group and column of what comes before a topic."""
    of_partition = _PARTITION_HEADS.get(head)
    if of_partition is None and head.startswith(_FETCH_LAG_HEAD):
        of_partition = OfPartition.FETCH_LAG
    if of_partition is not None:
        return _PARTITION, int(of_partition)
    of_topic = _TOPIC_HEADS.get(head)
    return (int(_Group.NONE), 0) if of_topic is None else (_TOPIC, int(of_topic))


@lru_cache(maxsize=_NAMES_OF_BROKERS)
def _of_broker(name: str, kept_prefixes: tuple[str, ...]) -> tuple[OfBroker | None, bool]:
    """The column of a metric of the broker itself, and whether it is kept by name: all brokers have the same."""
    return _BROKER_NAMES.get(name), name.startswith(kept_prefixes)


def _joined(before: npt.NDArray[Any], added: Iterable[int]) -> Any:
    return np.concatenate([before, np.fromiter(added, before.dtype)])


def _empty(kind: type[np.generic]) -> Any:
    return np.empty(0, kind)
