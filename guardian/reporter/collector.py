"""Pulls the metrics of this member's share of the brokers and hands the rows to the lake.

One thread starts the calls, every `interval_s`. A call that waits needs no thread, so a broker that hangs delays
nobody; answers are turned into rows by a few workers, which also write to the lake. A broker whose last call is not
done is left out of a round: the deadline of that call will say so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import grpc
import structlog

from guardian.errors import GuardianError, InvalidInput
from guardian.model.topology import Broker, Cluster
from guardian.reporter.assignment import BrokerKey, share
from guardian.reporter.ingest import Rows, failed_collection, ingest
from guardian.reporter.lake_writer import LakeWriter
from guardian.reporter.names import NOTHING_KNOWN, MetricNames
from protos.guardian.v1 import reporter_pb2, reporter_pb2_grpc

_LOG = structlog.get_logger(__name__)
_WORKERS = 4
# The first answer of a large broker brings all its names: megabytes, and the default limit is 4 MiB.
_MAX_ANSWER_BYTES = 256 * 1024 * 1024
_CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", _MAX_ANSWER_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 500),
    # A broker that comes back is collected again within seconds, not after gRPC's default of two minutes.
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
)


@dataclass(slots=True)
class _Target:
    """A broker of our share. Only its one running call changes what is known of it."""

    cluster: Cluster
    broker: Broker
    channel: grpc.Channel
    names: MetricNames = NOTHING_KNOWN
    busy: bool = False
    failing: bool = False
    released: bool = False


class Collector:
    """Collects from `start()` to `stop()`.

    `clusters` and `live_members` are asked every round; when one raises a GuardianError, the share stays as it was.
    `interval_s` is the time between the starts of two rounds, `timeout_s` the deadline of a call.
    """

    def __init__(
        self,
        member_name: str,
        lake: LakeWriter,
        clusters: Callable[[], Sequence[Cluster]],
        live_members: Callable[[], Sequence[str]],
        interval_s: float,
        timeout_s: float,
    ) -> None:
        self._member = member_name
        self._lake = lake
        self._clusters = clusters
        self._live_members = live_members
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._targets: dict[BrokerKey, _Target] = {}  # of the collector's thread alone
        self._share: tuple[BrokerKey, ...] = ()
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
            started = time.monotonic()
            self._round()
            self._submit(self._lake.flush_aged)
            self._stopping.wait(max(0.0, started + self._interval_s - time.monotonic()))
        self._keep_only(())
        self._share = ()

    def _round(self) -> None:
        try:
            self._take_share(self._clusters(), self._live_members())
        except GuardianError as error:
            _LOG.warning("the federation can't be read, the share stays as it is", error=str(error))
        for target in self._targets.values():
            if not target.busy:
                self._call(target)

    def _take_share(self, clusters: Sequence[Cluster], live_members: Sequence[str]) -> None:
        registered = {
            BrokerKey(cluster.name, broker.id): (cluster, broker)
            for cluster in clusters
            for broker in cluster.brokers
            if broker.reporter
        }
        mine = share(registered, live_members, self._member)
        self._keep_only([key for key in mine if self._has_endpoint(key, registered[key][1].reporter)])
        for key in mine:
            cluster, broker = registered[key]
            target = self._targets.get(key)
            if target is None:
                channel = grpc.insecure_channel(broker.reporter, options=_CHANNEL_OPTIONS)
                self._targets[key] = _Target(cluster, broker, channel)
                _LOG.info("collecting", cluster=cluster.name, broker=broker.id, reporter=broker.reporter)
            else:
                target.cluster, target.broker = cluster, broker
        self._share = tuple(mine)

    def _has_endpoint(self, key: BrokerKey, reporter: str) -> bool:
        target = self._targets.get(key)
        return target is not None and target.broker.reporter == reporter

    def _keep_only(self, kept: Collection[BrokerKey]) -> None:
        """Closing a channel cancels its call, which then leaves no row."""
        for key in [key for key in self._targets if key not in kept]:
            target = self._targets.pop(key)
            target.released = True
            target.channel.close()
            _LOG.info("no longer collecting", cluster=key.cluster, broker=key.broker, reporter=target.broker.reporter)

    def _call(self, target: _Target) -> None:
        target.busy = True
        asked = _Asked(target, target.cluster, target.broker)
        stub = reporter_pb2_grpc.BrokerReporterStub(target.channel)
        call = stub.Collect.future(target.names.request(), timeout=self._timeout_s)
        call.add_done_callback(lambda done: self._hand_over(asked, done))

    def _hand_over(self, asked: _Asked, call: grpc.Future[reporter_pb2.MetricBatch]) -> None:
        """On gRPC's thread, which serves all channels: the work itself is for a worker."""
        # The workers are gone when the collector has stopped in the meantime: the answer is nobody's.
        with suppress(RuntimeError):
            self._submit(lambda: self._finish(asked, call))

    def _submit(self, work: Callable[[], None]) -> None:
        self._workers.submit(work).add_done_callback(_log_failure)

    def _finish(self, asked: _Asked, call: grpc.Future[reporter_pb2.MetricBatch]) -> None:
        try:
            rows = self._rows(asked, call)
            if not asked.target.released:
                self._lake.write(asked.cluster.name, rows)
        finally:
            asked.target.busy = False

    def _rows(self, asked: _Asked, call: grpc.Future[reporter_pb2.MetricBatch]) -> Rows:
        target = asked.target
        try:
            batch = call.result()
            names = target.names.extended_by(batch)
            rows = ingest(batch, names, asked.cluster, asked.broker)
        except (grpc.RpcError, grpc.FutureCancelledError, InvalidInput) as error:
            target.names = NOTHING_KNOWN
            return self._failed(asked, error)
        target.names = names
        if target.failing:
            target.failing = False
            _LOG.info("collected again", cluster=asked.cluster.name, broker=asked.broker.id)
        return rows

    def _failed(self, asked: _Asked, error: Exception) -> Rows:
        sentence = _sentence(asked, error, self._timeout_s)
        if not asked.target.failing and not asked.target.released:
            asked.target.failing = True
            _LOG.warning("a collection failed", cluster=asked.cluster.name, broker=asked.broker.id, error=sentence)
        return failed_collection(asked.broker, time.time_ns() // 1_000_000, sentence)


def _log_failure(done: Future[None]) -> None:
    """An error that nobody foresaw would stay in a future that nobody asks."""
    error = done.exception()
    if error is not None:
        _LOG.error("a collector's worker failed", exc_info=error)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call, with the registration as it was when the call was made."""

    target: _Target
    cluster: Cluster
    broker: Broker


def _sentence(asked: _Asked, error: Exception, timeout_s: float) -> str:
    if isinstance(error, InvalidInput):
        return str(error)
    title = f"broker {asked.broker.id} of cluster {asked.cluster.name} at {asked.broker.reporter}"
    code = error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.CANCELLED
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"{title} did not answer within {timeout_s:g} s"
    detail = error.details() if isinstance(error, grpc.Call) else ""
    return f"{title} answered {code.name}: {detail}"
