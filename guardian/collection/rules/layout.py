"""Where each metric of a broker belongs in the lake: worked out once from its name, then used by position.

A broker numbers its names once and tells a caller only those that it lacks; the caller alone keeps state. A thousand
brokers have twenty million names, so a name is read once, turned into a place (which column, which partition or topic)
and forgotten. Most are of no use here, and are passed over by how they begin. Values are then scattered into columns by
numpy, without a look at any name.

Layouts are frozen: a call that fails leaves what was known untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from sys import intern
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from guardian.collection.rules.names import require_a_value_for_each_id, require_continuation
from protos.guardian.v1 import reporter_pb2

Floats = npt.NDArray[np.float64]
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


# Enums are slow where a hundred thousand names a second go by.
_PARTITION_COLUMNS, _TOPIC_COLUMNS = len(OfPartition), len(OfTopic)

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
_OF_TOPICS = (*(f"{head},topic=" for head in (*_PARTITION_HEADS, *_TOPIC_HEADS)), _FETCH_LAG_HEAD)


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """The name `ids[i]` has the cell `cells[i]` of a matrix. Cells are counted row by row: more rows change none."""

    ids: _Ints = field(default_factory=lambda: _empty(np.int32))
    cells: _Ints = field(default_factory=lambda: _empty(np.int32))

    def extended_by(self, added: _Added) -> _Places:
        return _Places(_joined(self.ids, added.ids), _joined(self.cells, added.cells)) if added.ids else self

    def filled(self, dense: Floats, rows: int, columns: int) -> Floats:
        """(column, row): `dense[id]` at each name's cell, NaN elsewhere."""
        values = dense[self.ids]
        # Of two fetchers of one partition, of which one has just handed it over, the one that has a value counts.
        known = ~np.isnan(values)
        matrix = np.full(rows * columns, np.nan)
        matrix[self.cells[known]] = values[known]
        return matrix.reshape(rows, columns).T


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
    _of_partitions: _Places = field(default_factory=_Places)
    _of_topics: _Places = field(default_factory=_Places)
    _of_broker: _Places = field(default_factory=_Places)

    def request(self) -> reporter_pb2.CollectRequest:
        """The call that is answered with the names that are missing here."""
        return reporter_pb2.CollectRequest(dictionary_id=self.id, known_names=self.known)

    def forgotten(self) -> MetricLayout:
        """Nothing is known, but what to keep."""
        return MetricLayout(kept_prefixes=self.kept_prefixes)

    def extended_by(self, batch: reporter_pb2.MetricBatch) -> MetricLayout:
        """Return the layout that is known after the batch.

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
    return Scattered(
        layout._of_partitions.filled(dense, len(layout.partitions), _PARTITION_COLUMNS),
        layout._of_topics.filled(dense, len(layout.topics), _TOPIC_COLUMNS),
        layout._of_broker.filled(dense, 1, len(OfBroker))[:, 0],
        dense[layout.kept_ids],
    )


@dataclass(slots=True)
class _Added:
    """Places that are new: see _Places."""

    ids: list[int] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)


class _Draft:
    """The layout that is to be: new names are read one by one, arrays are made once."""

    def __init__(self, base: MetricLayout) -> None:
        self._base = base
        self._partitions = dict(base.partitions)
        self._topics = dict(base.topics)
        self._partition_topics: list[int] = []
        self._partition_numbers: list[int] = []
        self._kept: list[str] = []
        self._kept_ids: list[int] = []
        self._of_partitions, self._of_topics, self._of_broker = _Added(), _Added(), _Added()

    def read(self, dictionary_id: int, names: Sequence[str]) -> MetricLayout:
        base = self._base
        self._read(names)
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
            _of_partitions=base._of_partitions.extended_by(self._of_partitions),
            _of_topics=base._of_topics.extended_by(self._of_topics),
            _of_broker=base._of_broker.extended_by(self._of_broker),
        )

    def _read(self, names: Iterable[str]) -> None:
        """Read the names. Of those that count nearly all are a partition's, six to a partition: their parts come again
        and again.
        """
        wanted = (*_OF_TOPICS, *_BROKER_NAMES, *self._base.kept_prefixes)
        columns: dict[str, int | None] = {}
        rows: dict[str, int] = {}
        ids, cells = self._of_partitions.ids, self._of_partitions.cells
        for name_id, name in enumerate(names, self._base.known):
            if not name.startswith(wanted):
                continue
            head, _, tail = name.partition(",topic=")
            try:
                column = columns[head]
            except KeyError:
                column = columns[head] = _partition_column(head)
            if column is None:
                self._other(name_id, name, head, tail)
                continue
            row = rows.get(tail)
            if row is None:
                row = rows[tail] = self._partition(tail)
            if row >= 0:
                ids.append(name_id)
                cells.append(row * _PARTITION_COLUMNS + column)

    def _other(self, name_id: int, name: str, head: str, tail: str) -> None:
        """Read a name of a topic, or of the broker."""
        if tail:
            row = self._topic_total(tail) if head in _TOPIC_HEADS else -1
            if row >= 0:
                self._of_topics.ids.append(name_id)
                self._of_topics.cells.append(row * _TOPIC_COLUMNS + int(_TOPIC_HEADS[head]))
            return
        if name in _BROKER_NAMES:
            self._of_broker.ids.append(name_id)
            self._of_broker.cells.append(_BROKER_NAMES[name])
        if name.startswith(self._base.kept_prefixes):
            self._kept.append(intern(name))
            self._kept_ids.append(name_id)

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


def _partition_column(head: str) -> int | None:
    """The column that a metric of partitions has by what comes before its topic."""
    if head.startswith(_FETCH_LAG_HEAD):
        return int(OfPartition.FETCH_LAG)
    column = _PARTITION_HEADS.get(head)
    return None if column is None else int(column)


def _joined(before: npt.NDArray[Any], added: Iterable[int]) -> Any:
    return np.concatenate([before, np.fromiter(added, before.dtype)])


def _empty(kind: type[np.generic]) -> Any:
    return np.empty(0, kind)
