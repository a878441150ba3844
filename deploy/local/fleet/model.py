"""All that a simulated broker answers at a given time: a function of the fleet's specification and that time. Pure.

Every replica of a partition has the log that its leader has, or had a moment ago. Counters are those since the
broker's last start; a broker starts anew every two weeks (simulated), each at its own moment. What lies on a dead disk
has no metrics: its replicas are offline, and others lead.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from deploy.local.fleet.activity import ClientActivity
from deploy.local.fleet.clocks import Floats
from deploy.local.fleet.host import host_facts
from deploy.local.fleet.names import FIXED, METER, Kind, names_of
from deploy.local.fleet.replicas import Replicas
from deploy.local.fleet.shape import ClusterShape, number_of
from protos.guardian.v1 import reporter_pb2 as pb

_LIFE_DAYS = 14
_RATES_OVER_S = {"FifteenMinuteRate": 900.0, "FiveMinuteRate": 300.0, "OneMinuteRate": 60.0}
_RUNNING = 3.0  # BrokerState
MIN_IN_SYNC = 2
_SLOW_FACTOR = 15.0

_KINDS = np.array([metric.kind for metric in FIXED])
_BASES = np.array([metric.base for metric in FIXED])
_IS_COUNTER = _KINDS == Kind.COUNTER


class BrokerModel:
    """One broker. What never changes is worked out once, when it is first asked for."""

    def __init__(self, shape: ClusterShape, position: int) -> None:
        self.shape = shape
        self.position = position
        self.broker = shape.brokers[position]
        self.log_dirs = shape.log_dirs
        self._key = (shape.spec.seed, shape.index, position)
        self._life_ms = int(_LIFE_DAYS * shape.spec.day_s * 1000)

    def started_at_ms(self, at_ms: int) -> int:
        """Return when the broker that runs at this time was started."""
        return at_ms - (at_ms - number_of(*self._key)) % self._life_ms

    def dictionary_id(self, at_ms: int) -> int:
        """A broker that has started anew has a new dictionary."""
        return number_of(*self._key, self.started_at_ms(at_ms))

    @cached_property
    def replicas(self) -> Replicas:
        """Return the replicas that the broker holds."""
        return Replicas(self.shape, self.position)

    def names(self) -> list[str]:
        """Entry i is the name of values[i]."""
        held, topics = self.replicas, self.shape.topics.names
        of = [(topics[topic], int(number)) for topic, number in zip(held.topics, held.numbers, strict=True)]
        followed = [replica for replica, leads in zip(of, held.leads, strict=True) if not leads]
        return names_of(self.log_dirs, [topics[topic] for topic in held.led_topics], of, followed)

    def values(self, at_ms: int) -> Floats:
        """All numbers, in the order of the names."""
        at_s, started_s = at_ms / 1000, self.started_at_ms(at_ms) / 1000
        held = self.replicas
        metered = self._metered(at_s, started_s)
        of_topics = held.topic_rates[:, np.newaxis, held.led_topics] * metered[:, held.led_topics]
        of_topics[:, 0] = np.floor(of_topics[:, 0])
        of_broker = held.broker_rates @ metered.T
        of_broker[:, 0] = np.floor(of_broker[:, 0])
        end, lag = held.ends(at_s)
        return np.concatenate(
            [
                self._fixed(at_s, started_s),
                [_RUNNING],
                of_broker.ravel(),
                self._gauges(lag),
                self.shape.dead_dirs[self.position],
                of_topics.ravel(),
                self._logs(at_s, end),
                lag[~held.leads],
            ]
        )

    def batch(self, at_ms: int, asked: pb.CollectRequest) -> pb.MetricBatch:
        """The answer but for names, ids and values."""
        at_s, started_at_ms = at_ms / 1000, self.started_at_ms(at_ms)
        held = self.replicas
        sizes = (held.ends(at_s)[0] - held.starts(at_s)) * held.message_bytes
        batch = pb.MetricBatch(
            cluster_id=self.shape.id,
            broker_id=self.broker.id,
            collected_at_ms=at_ms,
            rack=self.broker.rack,
            dictionary_id=self.dictionary_id(at_ms),
            host=host_facts(self.shape, self.position, held, sizes, at_s, self.log_dirs),
            broker_started_at_ms=started_at_ms,
        )
        if asked.with_activity:
            after = asked.activity_after if asked.activity_life_ms == started_at_ms else 0
            batch.activity.extend(self._activity.slices(started_at_ms, at_ms, after))
        return batch

    @cached_property
    def _activity(self) -> ClientActivity:
        rates = self.replicas.topic_rates[2]
        busiest = [(int(topic), float(rates[topic])) for topic in np.argsort(-rates) if rates[topic] > 0]
        return ClientActivity(self.shape, tuple(busiest))

    def _metered(self, at_s: float, started_s: float) -> Floats:
        """(attribute of a meter, topic): by what a rate is to be multiplied for that attribute, as names.METER."""
        written = self.shape.written(at_s)
        since_start = written - self.shape.written(started_s)
        rows = {"Count": since_start, "MeanRate": since_start / max(at_s - started_s, 1.0)}
        for attribute, seconds in _RATES_OVER_S.items():
            rows[attribute] = (written - self.shape.written(at_s - seconds)) / seconds
        return np.stack([rows[attribute] for attribute in METER])

    def _fixed(self, at_s: float, started_s: float) -> Floats:
        wave = self.shape.wave
        load = wave.rate(at_s)
        factors = {
            Kind.CONSTANT: 1.0,
            Kind.COUNTER: wave.total(at_s) - wave.total(started_s),
            Kind.RATE: load,
            Kind.LATENCY: load,
            Kind.DISK_LATENCY: load * (_SLOW_FACTOR if self.shape.is_slow(self.position, at_s) else 1.0),
            Kind.IDLE: 2.0 - load,
        }
        values: Floats = _BASES * np.array([factors[kind] for kind in Kind])[_KINDS]
        values[_IS_COUNTER] = np.floor(values[_IS_COUNTER])
        return values

    def _gauges(self, lag: Floats) -> Floats:
        """Compute the broker's gauges, in the order of names.BROKER_GAUGES."""
        held = self.replicas
        led = held.in_sync[held.leads]
        least = min(MIN_IN_SYNC, held.copies)
        return np.array(
            [
                len(held.topics) + held.offline,
                len(led),
                (led < held.copies).sum(),
                (led < least).sum(),
                (led == least).sum(),
                held.offline,
                self.shape.dead_dirs[self.position].sum(),
                lag.max(initial=0.0),
            ],
            np.float64,
        )

    def _logs(self, at_s: float, end: Floats) -> Floats:
        """Numbers of the replicas, metric by metric, as names.REPLICA_HEADS."""
        held = self.replicas
        start = held.starts(at_s)
        zeros = np.zeros(len(end))
        # What only a leader knows is 0 on followers.
        in_sync = held.in_sync * held.leads
        return np.concatenate(
            [
                (end - start) * held.message_bytes,
                start,
                end,
                held.segments(start, end),
                held.copies * held.leads,
                in_sync,
                held.leads & (held.in_sync < held.copies),
                held.leads & (held.in_sync < MIN_IN_SYNC),
                held.leads & (held.in_sync == MIN_IN_SYNC),
                zeros,
            ]
        )
