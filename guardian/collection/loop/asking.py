"""Brokers asked now, beside the collector's minutes.

BrokerAsker     one broker once, for a person: all its numbers under their names
MappingAsker    brokers at once, for how their replica selectors map racks to IDCs, and nothing else
CountersAsker   the brokers that a ticket moves, at each tick, with a metric filter: a kilobyte an answer, within
                milliseconds; the first one brings all names, megabytes, and comes a tick or two later
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import structlog

from guardian.collection.loop.collector import ReporterTls, open_channel
from guardian.collection.rules.names import (
    NOTHING_KNOWN,
    require_a_value_for_each_id,
    require_continuation,
    values_by_name,
)
from guardian.errors import ClusterUnavailable, InvalidInput, NotFound
from guardian.links.model import IDC_AWARE, RackMapping
from guardian.model.topology import Broker, Cluster
from guardian.throttle.model import BrokerCounters
from guardian.throttle.wire import NAMES, PREFIXES, counters_from_proto
from protos.guardian.v1 import federation_pb2, reporter_pb2, reporter_pb2_grpc

_LOG = structlog.get_logger(__name__)

_LISTING_AGE_MS = 10_000  # what is asked for is there from a broker's start


class BrokerAsker:
    """`tls` as the collector's; a broker has `timeout_s` to answer. Any thread may ask."""

    def __init__(self, tls: ReporterTls | None, timeout_s: float) -> None:
        self._tls = tls
        self._timeout_s = timeout_s

    def ask(self, cluster: Cluster, broker: Broker) -> federation_pb2.BrokerMetrics:
        """Raises NotFound when nobody has said where the reporter is, and ClusterUnavailable when it gives no answer
        that can be used."""
        title = f"broker {broker.id} of cluster {cluster.name}"
        if not broker.reporter_endpoint:
            raise NotFound(f"{title} has no reporter: its plugin registers one, or `guardian cluster add --reporter`")
        try:
            batch = self._collect(broker.reporter_endpoint)
            values = values_by_name(batch, NOTHING_KNOWN.extended_by(batch))
        except OSError as error:
            raise ClusterUnavailable(f"{title} can't be asked, reporter_tls can't be used: {error}") from None
        except grpc.RpcError as error:
            answer = f"{error.code().name}: {error.details()}" if isinstance(error, grpc.Call) else str(error)
            raise ClusterUnavailable(f"{title} at {broker.reporter_endpoint} answered {answer}") from None
        except InvalidInput as error:
            raise ClusterUnavailable(f"{title} at {broker.reporter_endpoint} contradicts itself: {error}") from None
        names = sorted(values)
        return federation_pb2.BrokerMetrics(
            collected_at_ms=batch.collected_at_ms, names=names, values=[values[name] for name in names]
        )

    def _collect(self, endpoint: str) -> reporter_pb2.MetricBatch:
        with open_channel(endpoint, self._tls) as channel:
            stub = reporter_pb2_grpc.BrokerReporterStub(channel)
            return stub.Collect(NOTHING_KNOWN.request(), timeout=self._timeout_s)


class MappingAsker:
    """`tls` as the collector's; a broker has `timeout_s` to answer. Any thread may ask."""

    def __init__(self, tls: ReporterTls | None, timeout_s: float, parallel: int = 16) -> None:
        self._tls = tls
        self._timeout_s = timeout_s
        self._parallel = parallel

    def ask(self, brokers: Sequence[Broker]) -> dict[int, RackMapping]:
        """Waits for them. Left out is whose reporter is not known, does not answer, or is too old to tell."""
        asked = [broker for broker in brokers if broker.reporter_endpoint]
        if not asked:
            return {}
        with ThreadPoolExecutor(min(self._parallel, len(asked)), thread_name_prefix="selector-looks") as pool:
            told = pool.map(self._mapping, asked)
            return {broker.id: found for broker, found in zip(asked, told, strict=True) if found is not None}

    def _mapping(self, broker: Broker) -> RackMapping | None:
        request = reporter_pb2.CollectRequest(identity_only=True)
        try:
            with open_channel(broker.reporter_endpoint, self._tls) as channel:
                batch = reporter_pb2_grpc.BrokerReporterStub(channel).Collect(request, timeout=self._timeout_s)
        except (OSError, grpc.RpcError) as error:
            _LOG.debug("no replica selector", broker=broker.id, endpoint=broker.reporter_endpoint, error=str(error))
            return None
        told = batch.replica_selector
        if batch.broker_id != broker.id or told.class_name != IDC_AWARE or not told.idc_separator:
            return None
        return RackMapping(told.idc_separator, dict(told.idc_of_rack))


@dataclass(slots=True)
class _Asked:
    """One reporter: its channel, the names that it has told so far, and the call that is under way.

    Of the names only those are kept that are asked for: a broker has tens of thousands.
    """

    channel: grpc.Channel
    dictionary_id: int = 0
    known: int = 0
    wanted: dict[int, str] = field(default_factory=dict)
    call: Any = None
    asked_at_s: float = 0.0  # of the call, by the monotonic clock

    def ask(self, timeout_s: float, now_s: float) -> None:
        self.asked_at_s = now_s
        request = reporter_pb2.CollectRequest(
            dictionary_id=self.dictionary_id,
            known_names=self.known,
            name_prefixes=PREFIXES,
            devices_only=True,
            max_listing_age_ms=_LISTING_AGE_MS,
        )
        self.call = reporter_pb2_grpc.BrokerReporterStub(self.channel).Collect.future(request, timeout=timeout_s)

    def learn(self, batch: reporter_pb2.MetricBatch) -> BrokerCounters:
        """Raises InvalidInput when the broker contradicts itself."""
        require_continuation(batch, self.dictionary_id, self.known)
        require_a_value_for_each_id(batch)
        if batch.first_name_id == 0:
            self.dictionary_id, self.known, self.wanted = batch.dictionary_id, 0, {}
        for position, name in enumerate(batch.names, start=self.known):
            if name in NAMES:
                self.wanted[position] = name
        self.known += len(batch.names)
        values = {self.wanted[i]: value for i, value in zip(batch.ids, batch.values, strict=True) if i in self.wanted}
        return counters_from_proto(batch, values)


class CountersAsker:
    """Keeps a connection to each reporter that it is asked about, and makes one call at a time over it, whoever asks.
    The broker that answers is heard, and no other that is said to be there.

    A call that takes longer than `patience_s` is not waited for: its answer is given with the next ones, however much
    later, unless it takes `timeout_s`. The age of metadata that it tells has grown by then. Any thread may ask.
    """

    def __init__(
        self,
        tls: ReporterTls | None,
        patience_s: float = 0.25,
        timeout_s: float = 10.0,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic_s = monotonic_s
        self._tls = tls
        self._patience_s = patience_s
        self._timeout_s = timeout_s
        self._asked: dict[str, _Asked] = {}
        self._lock = threading.Lock()

    def ask(self, brokers: Sequence[Broker]) -> Callable[[], list[BrokerCounters]]:
        """Sends the questions at once; the function that it returns waits for answers. Who does not answer is left
        out, and so is who has no reporter."""
        ids: dict[str, set[int]] = {}
        for broker in brokers:
            if broker.reporter_endpoint:
                ids.setdefault(broker.reporter_endpoint, set()).add(broker.id)
        for endpoint in ids:
            self._begin(endpoint)
        return lambda: self._answers(ids)

    def close(self) -> None:
        with self._lock:
            asked, self._asked = list(self._asked.values()), {}
        for each in asked:
            each.channel.close()

    def _begin(self, endpoint: str) -> None:
        with self._lock:
            asked = self._asked.get(endpoint)
            if asked is None:
                try:
                    asked = self._asked[endpoint] = _Asked(open_channel(endpoint, self._tls))
                except OSError as error:
                    _LOG.warning("reporter_tls can't be used", endpoint=endpoint, error=str(error))
                    return
            if asked.call is None:
                asked.ask(self._timeout_s, self._monotonic_s())

    def _answers(self, ids: Mapping[str, Collection[int]]) -> list[BrokerCounters]:
        """`ids` are the brokers that are said to be at each endpoint. Several are where one replaced another there."""
        with self._lock:
            under_way = [
                (endpoint, asked, asked.call)
                for endpoint in ids
                if (asked := self._asked.get(endpoint)) is not None and asked.call is not None
            ]
        done = threading.Event()
        left = len(under_way)

        def count_down(_: object) -> None:
            nonlocal left
            with self._lock:
                left -= 1
                if left <= 0:
                    done.set()

        for _, _, call in under_way:
            call.add_done_callback(count_down)
        if under_way:
            done.wait(self._patience_s)
        found = [self._answer(endpoint, asked, call) for endpoint, asked, call in under_way]
        return [
            counters
            for (endpoint, _, _), counters in zip(under_way, found, strict=True)
            if counters is not None and counters.broker in ids[endpoint]
        ]

    def _answer(self, endpoint: str, asked: _Asked, call: Any) -> BrokerCounters | None:
        """None as well when somebody else who asked for the same has heard it."""
        if not call.done():
            return None
        with self._lock:
            if asked.call is not call:
                return None
            asked.call, asked_at_s = None, asked.asked_at_s
        try:
            return _aged(asked.learn(call.result()), self._monotonic_s() - asked_at_s)
        except (grpc.RpcError, InvalidInput) as error:
            # A new connection next time: the certificates may have changed, and its names are told anew.
            with self._lock:
                self._asked.pop(endpoint, None)
            asked.channel.close()
            _LOG.debug("no counters", endpoint=endpoint, error=str(error))
            return None


def _aged(counters: BrokerCounters, age_s: float) -> BrokerCounters:
    """Return what a broker told so long ago, with its metadata that much older."""
    if counters.metadata_lag_ms is None:
        return counters
    return replace(counters, metadata_lag_ms=counters.metadata_lag_ms + 1000.0 * age_s)
