"""What one simulated broker holds: its replicas, and what that means for each topic. Pure."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from deploy.local.fleet.clocks import Floats
from deploy.local.fleet.shape import Bools, ClusterShape, Ints

RETENTION_S = 86_400.0
_SEGMENT_BYTES = 1 << 30
# How long ago a replica's log was its leader's: of the leader, of followers, of followers on a slow disk.
_LAGS_S = (0.0, 0.2, 12.0)
_PRODUCE_MESSAGES, _FETCH_MESSAGES = 20.0, 50.0  # a request


class Replicas:
    """Entry i of each array is a replica of the broker at `position`; those on a dead disk are left out."""

    def __init__(self, shape: ClusterShape, position: int) -> None:
        partitions, topics = shape.partitions, shape.topics
        here = partitions.brokers == position
        held, copy = np.nonzero(here & ~partitions.dead)
        self._shape = shape
        self.offline = int((here & partitions.dead).sum())
        self.topics: Ints = partitions.topics[held]
        self.numbers: Ints = partitions.numbers[held]
        self.dirs: Ints = partitions.dirs[held, copy]
        self.leads: Bools = partitions.leaders[held] == position
        self.copies = partitions.brokers.shape[1]
        self.in_sync: Ints = (~partitions.dead[held]).sum(axis=1).astype(np.int32)
        is_slow = shape.slow_dirs[position, self.dirs]
        self._lag_class = np.where(self.leads, 0, np.where(is_slow, 2, 1))
        # Keys are never spread quite evenly: partitions of a topic differ by up to a third.
        self.rates: Floats = topics.rates[self.topics] * (0.7 + 0.6 * (self.numbers * 0.618034 % 1.0))
        self.message_bytes: Floats = topics.message_bytes[self.topics]
        # Some segments at least, whatever the load: Kafka rolls them by time as well.
        messages = np.minimum(_SEGMENT_BYTES / self.message_bytes, self.rates * RETENTION_S / 4)
        self._segment_messages = np.maximum(1.0, np.floor(messages))

    @cached_property
    def led_topics(self) -> Ints:
        """The topics of which it leads a partition."""
        return np.unique(self.topics[self.leads]).astype(np.int32)

    @cached_property
    def topic_rates(self) -> Floats:
        """(meter, topic): a second of average load, of what is led here; as names.TOPIC_METERS."""
        readers = self._shape.topics.readers
        messages = self._by_topic(self.rates * self.leads)
        sent = messages * self._shape.topics.message_bytes
        return np.stack(
            [sent, sent * readers, messages, messages / _PRODUCE_MESSAGES, messages * readers / _FETCH_MESSAGES]
        )

    @cached_property
    def broker_rates(self) -> Floats:
        """(meter, topic): those of topics, then bytes that come and go by replication; as names.BROKER_METERS."""
        sent = self.rates * self.message_bytes
        followed, copied = self._by_topic(sent * ~self.leads), self._by_topic(sent * self.leads * (self.in_sync - 1))
        return np.vstack([self.topic_rates, followed, copied])

    @cached_property
    def dir_rates(self) -> Floats:
        """(log dir, topic): bytes a second of average load that are appended."""
        topics = len(self._shape.topics.names)
        log_dirs = self._shape.spec.log_dirs
        cells = _sums(self.dirs * topics + self.topics, self.rates * self.message_bytes, log_dirs * topics)
        return cells.reshape(log_dirs, topics)

    def ends(self, at_s: float) -> tuple[Floats, Floats]:
        """Log end offsets, and by how much they are behind their leaders'."""
        written = np.stack([self._shape.written(at_s - lag) for lag in _LAGS_S])
        leader = np.floor(self.rates * written[0][self.topics])
        end = np.floor(self.rates * written[self._lag_class, self.topics])
        return end, leader - end

    def starts(self, at_s: float) -> Floats:
        """Log start offsets: whole segments are deleted when they are older than the retention."""
        deleted = self.rates * self._shape.written(at_s - RETENTION_S)[self.topics]
        return np.floor(np.maximum(0.0, deleted) / self._segment_messages) * self._segment_messages

    def segments(self, start: Floats, end: Floats) -> Floats:
        """Return how many segments each replica has, the active one included."""
        return np.floor((end - start) / self._segment_messages) + 1

    def dir_sizes(self, sizes: Floats) -> Floats:
        """Return the size of each log dir."""
        return _sums(self.dirs, sizes, self._shape.spec.log_dirs)

    def _by_topic(self, weights: Floats) -> Floats:
        return _sums(self.topics, weights, len(self._shape.topics.names))


def _sums(groups: Ints, weights: Floats, count: int) -> Floats:
    return np.bincount(groups, weights, count).astype(np.float64)
