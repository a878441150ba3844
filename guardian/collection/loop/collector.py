"""Pulls the metrics of this member's share of the brokers and hands the rows to the lake.

One thread starts the calls, each broker's at its own moment of the interval. A call that waits needs no thread, so a
broker that hangs delays nobody; answers are turned into rows by a few workers, which also write to the lake. A broker
whose last call is not done is left alone: the deadline of that call will say so.

A first answer brings all names and takes ten times as long as the next. So few are asked for at once, else a member
that has just begun would ask for more than it can read, and give up on what it has not come to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import grpc
import structlog

from guardian.collection.loop.counting import CollectionCounters
from guardian.collection.rules.ingest import Asked, failed_collection, ingest
from guardian.collection.rules.layout import KEPT_METRICS, MetricLayout
from guardian.collection.rules.schedule import due_after_failures, next_due
from guardian.errors import GuardianError, InvalidInput
from guardian.lake.model.schema import Rows
from guardian.lake.store.writer import LakeWriter
from guardian.model.collection import BrokerKey
from guardian.model.topology import Broker, Cluster
from protos.guardian.v1 import reporter_pb2, reporter_pb2_grpc

_LOG = structlog.get_logger(__name__)
_WORKERS = 4
# The first answer of a large broker brings all its names: megabytes, and the default limit is 4 MiB. gRPC refuses an
# answer by the length that it begins with, before it is read.
_MAX_FIRST_BYTES = 64 << 20
# An answer is a few hundred kilobytes: what is under way must not become gigabytes when a thousand brokers are late, or
# when somebody answers in their place.
_MAX_KNOWN_BYTES = 16 << 20
_MAX_CALLS = 128
# First answers are megabytes each. A broker that takes longer than that long over its own keeps nobody else waiting.
_MAX_FIRST_CALLS = 16
_SLOW_S = 2.0
_TICK_S = 0.2
_SHARE_AGE_S = 1.0


@dataclass(frozen=True, slots=True)
class ReporterTls:
    """PEM files: whom to trust as a broker's reporter, and who this member is to it. Read anew for each call."""

    ca: Path
    certificate: Path
    key: Path

    def credentials(self) -> grpc.ChannelCredentials:
        """Raises OSError when a file can't be read."""
        return grpc.ssl_channel_credentials(self.ca.read_bytes(), self.key.read_bytes(), self.certificate.read_bytes())


def open_channel(endpoint: str, tls: ReporterTls | None, max_answer_bytes: int = _MAX_FIRST_BYTES) -> grpc.Channel:
    """Open a channel to a broker's reporter, which refuses a longer answer. Raises OSError when a file of `tls` can't
    be read."""
    options = (("grpc.max_receive_message_length", max_answer_bytes), ("grpc.enable_http_proxy", 0))
    if tls is None:
        return grpc.insecure_channel(endpoint, options=options)
    return grpc.secure_channel(endpoint, tls.credentials(), options=options)


@dataclass(frozen=True, slots=True)
class CollectorSettings:
    """`interval_s` between two collections of a broker, `timeout_s` for a call, `keep` as KEPT_METRICS; `tls` None:
    reporters are called in plain text."""

    interval_s: float
    timeout_s: float
    keep: tuple[str, ...] = KEPT_METRICS
    tls: ReporterTls | None = None


@dataclass(slots=True)
class _Target:
    """A broker of our share. Only its one running call changes what is known of it."""

    key: BrokerKey
    cluster: Cluster
    broker: Broker
    layout: MetricLayout
    due: float
    since: float  # when it was last collected, or came into our share
    channel: grpc.Channel | None = (
        None  # of the call that runs: a thousand idle ones would hold a quarter of a gigabyte
    )
    failures: int = 0
    busy: bool = False
    answered: bool = False  # what runs is our own work on it
    called_at: float = 0.0  # on the monotonic clock
    released: bool = False

    @property
    def is_first(self) -> bool:
        """The next answer, or the one that is waited for, brings all names."""
        return not self.layout.known


class ActivitySink(Protocol):
    """Where slices of client activity go. Its methods return at once, raise nothing and may be called by any thread."""

    def position(self, cluster_name: str, broker_id: int) -> tuple[int, int] | None:
        """The life (ms since the epoch) and number of the last slice that is stored; None: ask for none now."""

    def write(self, cluster_name: str, batch: reporter_pb2.MetricBatch, correction_ms: int) -> None:
        """Takes the batch's slices; `correction_ms` is to be added to their times."""


class Collector:
    """Collects from `start()` to `stop()`.

    `clusters` gives the federation's, `mine` says which of the brokers given are this member's share. Both are asked
    again and again; when one raises a GuardianError, the share stays as it was.
    """

    def __init__(
        self,
        member_name: str,
        lake: LakeWriter,
        clusters: Callable[[], Sequence[Cluster]],
        mine: Callable[[Collection[BrokerKey]], Collection[BrokerKey]],
        settings: CollectorSettings,
        activity: ActivitySink | None = None,
    ) -> None:
        self._member = member_name
        self._lake = lake
        self._clusters = clusters
        self._mine = mine
        self._settings = settings
        self._activity = activity
        self._tick_s = min(_TICK_S, settings.interval_s / 2)
        self._share_due = 0.0  # on the monotonic clock
        self._targets: dict[BrokerKey, _Target] = {}  # of the collector's thread alone
        self._share: tuple[BrokerKey, ...] = ()
        self.counters = CollectionCounters()
        self._stopping = threading.Event()
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="collector-worker")
        self._thread = threading.Thread(target=self._run, name="collector", daemon=True)

    def start(self) -> None:
        """Starts the collector's thread; once in its life."""
        self._thread.start()

    def stop(self) -> None:
        """Cancels what runs, waits for the collector's threads and flushes the lake. Safe to call twice."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._workers.shutdown()
        self._lake.flush()

    def collects(self) -> list[str]:
        """This member's share: "cluster/broker id", sorted."""
        return [str(key) for key in self._share]

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._take_share_when_due()
            self._call_due(time.time())
            self._submit(self._lake.flush_aged)
            self._stopping.wait(self._tick_s)
        self._keep_only(())
        self._share = ()

    def _take_share_when_due(self) -> None:
        if time.monotonic() >= self._share_due:
            self._take_share()
            self._share_due = time.monotonic() + min(_SHARE_AGE_S, self._settings.interval_s)

    def _take_share(self) -> None:
        try:
            registered = {
                BrokerKey(cluster.name, broker.id): (cluster, broker)
                for cluster in self._clusters()
                for broker in cluster.brokers
                if broker.reporter_endpoint
            }
            mine = sorted(self._mine(registered.keys()))
        except GuardianError as error:
            _LOG.warning("the federation can't be read, the share stays as it is", error=str(error))
            return
        self._keep_only({key for key in mine if self._has_endpoint(key, registered[key][1].reporter_endpoint)})
        for key in mine:
            cluster, broker = registered[key]
            target = self._targets.get(key)
            if target is None:
                self._targets[key] = self._target(key, cluster, broker)
                _LOG.info("collecting", cluster=cluster.name, broker=broker.id, reporter=broker.reporter_endpoint)
            else:
                target.cluster, target.broker = cluster, broker
        self._share = tuple(mine)

    def _target(self, key: BrokerKey, cluster: Cluster, broker: Broker) -> _Target:
        now = time.time()
        layout = MetricLayout(kept_prefixes=self._settings.keep)
        return _Target(key, cluster, broker, layout, next_due(key, now, self._settings.interval_s), now)

    def _has_endpoint(self, key: BrokerKey, reporter: str) -> bool:
        target = self._targets.get(key)
        return target is not None and target.broker.reporter_endpoint == reporter

    def _keep_only(self, kept: Collection[BrokerKey]) -> None:
        """Closing a channel cancels its call, which then leaves no row."""
        for key in [key for key in self._targets if key not in kept]:
            target = self._targets.pop(key)
            target.released = True
            if target.channel is not None:
                target.channel.close()
            _LOG.info(
                "no longer collecting", cluster=key.cluster, broker=key.broker, reporter=target.broker.reporter_endpoint
            )

    def _call_due(self, now: float) -> None:
        """Those that have waited longest come first."""
        targets = self._targets.values()
        free = _MAX_CALLS - sum(target.busy for target in targets)
        free_first = _MAX_FIRST_CALLS - self._first_calls(time.monotonic())
        due = sorted((each for each in targets if not each.busy and self._is_due(each, now)), key=lambda each: each.due)
        known = [target for target in due if not target.is_first]
        first = [target for target in due if target.is_first]
        for target in (*known, *first[: max(0, free_first)])[:free]:
            self._call(target)
        self.counters.watch((target.since for target in targets), now)

    def _first_calls(self, at: float) -> int:
        """Return how many first answers are worked on, or about to come."""
        return sum(
            target.busy and target.is_first and (target.answered or at - target.called_at < _SLOW_S)
            for target in self._targets.values()
        )

    def _is_due(self, target: _Target, now: float) -> bool:
        """Also when the clock was set back: nobody waits for longer than an interval."""
        return target.due <= now or target.due > now + self._settings.interval_s

    def _call(self, target: _Target) -> None:
        target.busy, target.answered, target.called_at = True, False, time.monotonic()
        call = _Call(target, target.cluster, target.broker, time.time())
        try:
            most = _MAX_FIRST_BYTES if target.is_first else _MAX_KNOWN_BYTES
            target.channel = open_channel(target.broker.reporter_endpoint, self._settings.tls, most)
        except OSError as error:
            self._hand_over(call, call.sent_at, error)
            return
        request = target.layout.request()
        position = self._activity.position(*target.key) if self._activity is not None else None
        if position is not None:
            request.with_activity = True
            request.activity_life_ms, request.activity_after = position
        stub = reporter_pb2_grpc.BrokerReporterStub(target.channel)
        answer = stub.Collect.future(request, timeout=self._settings.timeout_s)
        answer.add_done_callback(lambda done: self._hand_over(call, time.time(), done))

    def _hand_over(self, call: _Call, answered_at: float, answer: _Answer) -> None:
        """Hand the answer over to a worker: this runs on gRPC's thread, which serves all channels."""
        call.target.answered = True
        # The workers are gone when the collector has stopped in the meantime: the answer is nobody's.
        with suppress(RuntimeError):
            self._submit(lambda: self._finish(call, answered_at, answer))

    def _submit(self, work: Callable[[], None]) -> None:
        self._workers.submit(work).add_done_callback(_log_failure)

    def _finish(self, call: _Call, answered_at: float, answer: _Answer) -> None:
        target = call.target
        # What raises below is a mistake of ours, at which the broker waits for its next moment.
        target.due = next_due(target.key, answered_at, self._settings.interval_s)
        try:
            rows = self._rows(call, answered_at, answer)
            if not target.released:
                self._lake.write(call.cluster.name, rows)
        finally:
            if target.channel is not None:
                target.channel.close()
                target.channel = None
            target.busy = False

    def _rows(self, call: _Call, answered_at: float, answer: _Answer) -> Rows:
        target = call.target
        asked = Asked(call.cluster, call.broker, self._member, _ms(call.sent_at), _ms(answered_at))
        if isinstance(answer, OSError):
            return self._failed(call, asked, f"reporter_tls can't be used: {answer}")
        try:
            batch = answer.result()
            layout = target.layout.extended_by(batch)
            rows = ingest(batch, layout, asked)
        except InvalidInput as error:
            target.layout = target.layout.forgotten()
            return self._failed(call, asked, str(error))
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            if isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                target.layout = target.layout.forgotten()  # of a broker that began anew and tells all its names
            return self._failed(call, asked, _sentence(asked, error, self._settings.timeout_s))
        target.layout = layout
        if batch.activity and self._activity is not None and not target.released:
            self._activity.write(call.cluster.name, batch, asked.correction_ms(batch))
        self._succeeded(call, answered_at, batch)
        return rows

    def _succeeded(self, call: _Call, answered_at: float, batch: reporter_pb2.MetricBatch) -> None:
        target = call.target
        if target.failures:
            _LOG.info("collected again", cluster=call.cluster.name, broker=call.broker.id, failures=target.failures)
        target.failures, target.since = 0, answered_at
        self.counters.succeeded(answered_at - call.sent_at, len(batch.values))

    def _failed(self, call: _Call, asked: Asked, sentence: str) -> Rows:
        target = call.target
        if not target.failures and not target.released:
            _LOG.warning("a collection failed", cluster=call.cluster.name, broker=call.broker.id, error=sentence)
        if not target.released:
            self.counters.failed()
        target.failures += 1
        target.due = due_after_failures(
            target.key, target.failures, asked.answered_at_ms / 1000, self._settings.interval_s
        )
        return failed_collection(asked, sentence)


# A call that could not even be made has the reason in its place.
_Answer: TypeAlias = "grpc.Future[reporter_pb2.MetricBatch] | OSError"


def _log_failure(done: Future[None]) -> None:
    """An error that nobody foresaw would stay in a future that nobody asks."""
    error = done.exception()
    if error is not None:
        _LOG.error("a collector's worker failed", exc_info=error)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, with the registration as it was when the call was made; `sent_at` in seconds since the epoch."""

    target: _Target
    cluster: Cluster
    broker: Broker
    sent_at: float


def _ms(at: float) -> int:
    return int(at * 1000)


def _sentence(asked: Asked, error: Exception, timeout_s: float) -> str:
    title = f"broker {asked.broker.id} of cluster {asked.cluster.name} at {asked.broker.reporter_endpoint}"
    code = error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.CANCELLED
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"{title} did not answer within {timeout_s:g} s"
    detail = error.details() if isinstance(error, grpc.Call) else ""
    return f"{title} answered {code.name}: {detail}"
