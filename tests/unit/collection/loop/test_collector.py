from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pyarrow.dataset as ds
import pytest
import trustme
from structlog.testing import capture_logs

import guardian.collection.loop.collector
from deploy.local import ports
from guardian.collection.loop.collector import Collector, CollectorSettings, ReporterTls
from guardian.errors import Unavailable
from guardian.lake.model.schema import Rows
from guardian.lake.store.writer import LakeWriter
from guardian.model.collection import BrokerKey
from guardian.model.topology import Broker, Cluster
from protos.guardian.v1 import reporter_pb2 as pb
from protos.guardian.v1 import reporter_pb2_grpc
from tests.patience import wait_for

TOTAL = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec:Count"


class FakeReporter(reporter_pb2_grpc.BrokerReporterServicer):
    """A broker's reporter with one metric. It notes what it was asked, and hangs or lies when told to."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.dictionary_id = 1
        self.asked: list[tuple[int, int]] = []
        self.activity_asked: list[tuple[int, int] | None] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def Collect(self, request: pb.CollectRequest, _: grpc.ServicerContext) -> pb.MetricBatch:  # noqa: N802
        self.asked.append((request.dictionary_id, request.known_names))
        self.go_on.wait(30)
        self.activity_asked.append(
            (request.activity_life_ms, request.activity_after) if request.with_activity else None
        )
        knows = request.dictionary_id == self.dictionary_id and request.known_names == 1
        return pb.MetricBatch(
            cluster_id="C",
            broker_id=self.broker_id,
            collected_at_ms=time.time_ns() // 1_000_000,
            broker_started_at_ms=1,
            dictionary_id=self.dictionary_id,
            first_name_id=1 if knows else 0,
            names=[] if knows else [TOTAL],
            ids=[0],
            values=[self.broker_id * 100.0],
            activity=[pb.ActivitySlice(number=request.activity_after + 1)] if request.with_activity else [],
        )


class Sink:
    """Takes slices when it is ready, and knows the last."""

    def __init__(self) -> None:
        self.stored: tuple[int, int] | None = None
        self.taken: list[tuple[str, int, list[int], int]] = []

    def position(self, cluster_name: str, broker_id: int) -> tuple[int, int] | None:
        assert (cluster_name, broker_id) == ("live", 1)
        return self.stored

    def write(self, cluster_name: str, batch: pb.MetricBatch, correction_ms: int) -> None:
        numbers = [each.number for each in batch.activity]
        self.taken.append((cluster_name, batch.broker_id, numbers, correction_ms))
        self.stored = (batch.broker_started_at_ms, numbers[-1])


def all_of(brokers: Collection[BrokerKey]) -> Collection[BrokerKey]:
    return brokers


@contextmanager
def serving(
    reporter: FakeReporter, address: str = "127.0.0.1:0", credentials: grpc.ServerCredentials | None = None
) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2))
    reporter_pb2_grpc.add_BrokerReporterServicer_to_server(reporter, server)
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        reporter.go_on.set()
        server.stop(None).wait()


@contextmanager
def collecting(
    lake_dir: Path,
    clusters: Callable[[], list[Cluster]],
    mine: Callable[[Collection[BrokerKey]], Collection[BrokerKey]] = all_of,
    timeout_s: float = 30.0,
    activity: Sink | None = None,
    tls: ReporterTls | None = None,
) -> Iterator[Collector]:
    lake = LakeWriter(str(lake_dir), "m1", max_age_s=0.0)
    collector = Collector(
        "m1",
        lake,
        clusters,
        mine,
        CollectorSettings(interval_s=0.05, timeout_s=timeout_s, tls=tls),
        activity,
    )
    collector.start()
    try:
        yield collector
    finally:
        collector.stop()


def cluster_of(*endpoints: str, first_id: int = 1) -> Cluster:
    brokers = tuple(Broker(first_id + i, reporter=endpoint) for i, endpoint in enumerate(endpoints))
    return Cluster("live", "127.0.0.1:9092", cluster_id="C", brokers=brokers)


def rows(lake_dir: Path) -> list[dict[str, Any]]:
    if not any((lake_dir / "broker_samples").glob("*/*/[!.]*")):
        return []
    table = ds.dataset(lake_dir / "broker_samples", format="parquet", partitioning="hive").to_table()
    found: list[dict[str, Any]] = table.sort_by("at_ms").to_pylist()
    return found


def test_brokers_are_collected_and_names_asked_for_once(tmp_path: Path) -> None:
    reporter = FakeReporter(1)
    with serving(reporter) as endpoint, collecting(tmp_path, lambda: [cluster_of(endpoint)]) as collector:
        wait_for("four calls", lambda: len(reporter.asked) >= 4)
        assert collector.collects() == ["live/1"]
    assert reporter.asked[0] == (0, 0)
    assert set(reporter.asked[1:]) == {(1, 1)}
    found = rows(tmp_path)
    assert len(found) >= 3
    assert {(row["broker"], row["bytes_in_total"], row["error"]) for row in found} == {(1, 100, "")}


def test_slices_of_activity_are_asked_for_after_those_stored_and_not_while_there_is_no_room(tmp_path: Path) -> None:
    reporter, sink = FakeReporter(1), Sink()
    with serving(reporter) as endpoint, collecting(tmp_path, lambda: [cluster_of(endpoint)], activity=sink):
        wait_for("calls without activity", lambda: len(reporter.asked) >= 2)
        sink.stored = (0, 0)
        wait_for("slices", lambda: len(sink.taken) >= 3)
    assert reporter.activity_asked[0] is None
    asked = [each for each in reporter.activity_asked if each is not None]
    assert asked[:3] == [(0, 0), (1, 1), (1, 2)]
    assert [taken[:3] for taken in sink.taken[:3]] == [("live", 1, [number]) for number in (1, 2, 3)]


def test_a_broker_that_hangs_delays_no_other(tmp_path: Path) -> None:
    hanging, quick = [FakeReporter(broker) for broker in range(1, 7)], FakeReporter(7)
    for reporter in hanging:
        reporter.go_on.clear()
    with ExitStack() as servers:
        endpoints = [servers.enter_context(serving(reporter)) for reporter in (*hanging, quick)]
        with collecting(tmp_path, lambda: [cluster_of(*endpoints)]):
            wait_for("a call of each that hangs", lambda: all(reporter.asked for reporter in hanging))
            seen = len(quick.asked)
            wait_for("five calls while six brokers hang", lambda: len(quick.asked) >= seen + 5)
            assert [len(reporter.asked) for reporter in hanging] == [1] * 6
    assert {row["broker"] for row in rows(tmp_path)} == {7}


@pytest.mark.slow
def test_first_answers_which_bring_all_names_are_asked_for_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guardian.collection.loop.collector, "_MAX_FIRST_CALLS", 2)
    monkeypatch.setattr(guardian.collection.loop.collector, "_SLOW_S", 3600.0)
    brokers = [FakeReporter(broker) for broker in range(1, 6)]
    for broker in brokers:
        broker.go_on.clear()
    looks = itertools.count()
    looked = [0]

    def clusters() -> list[Cluster]:
        looked[0] = next(looks)
        return [cluster]

    def asked() -> int:
        """How many were asked, once the collector has looked again and again for more to do."""
        seen = looked[0]
        wait_for("looks", lambda: looked[0] > seen + 10)
        return sum(bool(broker.asked) for broker in brokers)

    with ExitStack() as servers:
        cluster = cluster_of(*(servers.enter_context(serving(broker)) for broker in brokers))
        with collecting(tmp_path, clusters):
            wait_for("two first calls", lambda: sum(bool(broker.asked) for broker in brokers) == 2)
            assert asked() == 2
            next(broker for broker in brokers if broker.asked).go_on.set()
            wait_for("the next first call", lambda: sum(bool(broker.asked) for broker in brokers) == 3)
            assert asked() == 3
            for broker in brokers:
                broker.go_on.set()
            wait_for("calls with the names known", lambda: all((1, 1) in broker.asked for broker in brokers))


def test_a_first_answer_that_is_slow_to_come_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guardian.collection.loop.collector, "_MAX_FIRST_CALLS", 1)
    monkeypatch.setattr(guardian.collection.loop.collector, "_SLOW_S", 0.05)
    hanging, quick = [FakeReporter(broker) for broker in range(1, 4)], FakeReporter(4)
    for reporter in hanging:
        reporter.go_on.clear()
    with ExitStack() as servers:
        endpoints = [servers.enter_context(serving(reporter)) for reporter in (*hanging, quick)]
        with collecting(tmp_path, lambda: [cluster_of(*endpoints)]):
            wait_for("calls while three brokers hang", lambda: len(quick.asked) >= 3)
            assert all(len(reporter.asked) <= 1 for reporter in hanging)


@pytest.mark.slow
def test_a_call_past_its_deadline_is_a_row_with_the_error(tmp_path: Path) -> None:
    reporter = FakeReporter(1)
    with serving(reporter) as endpoint, collecting(tmp_path, lambda: [cluster_of(endpoint)], timeout_s=1.0):
        wait_for("a call with the names known", lambda: (1, 1) in reporter.asked)
        known, errors_before = len(reporter.asked), sum(bool(row["error"]) for row in rows(tmp_path))
        reporter.go_on.clear()
        wait_for("an error row", lambda: sum(bool(row["error"]) for row in rows(tmp_path)) > errors_before)
        reporter.go_on.set()
        wait_for("rows again", lambda: rows(tmp_path)[-1]["error"] == "")
    # What it knew of the broker's names it still knows: a broker that is slow is not made slower.
    assert set(reporter.asked[known:]) == {(1, 1)}
    errors = {row["error"] for row in rows(tmp_path) if row["error"]}
    assert errors == {f"broker 1 of cluster live at {endpoint} did not answer within 1 s"}


def test_a_broker_that_dies_is_an_error_row_and_its_return_is_rows_again(tmp_path: Path) -> None:
    endpoint = f"{ports.HOST}:{ports.pick(1)[0]}"
    reporter, reborn = FakeReporter(1), FakeReporter(1)
    reborn.dictionary_id = 2
    with collecting(tmp_path, lambda: [cluster_of(endpoint)]):
        with serving(reporter, endpoint):
            wait_for("a first row", lambda: any(not row["error"] for row in rows(tmp_path)))
        wait_for("an error row", lambda: "UNAVAILABLE" in rows(tmp_path)[-1]["error"])
        with serving(reborn, endpoint):
            wait_for("rows again", lambda: rows(tmp_path)[-1]["error"] == "")
    assert [row["bytes_in_total"] for row in rows(tmp_path) if not row["error"]][-1] == 100


@contextmanager
def babbling() -> Iterator[str]:
    """Something that listens where a reporter should, and answers every connection with noise."""
    listener = socket.create_server(("127.0.0.1", 0))

    def babble() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    connection.sendall(bytes(range(256)) * 64)

    talker = threading.Thread(target=babble, daemon=True)
    talker.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        talker.join()


def test_noise_instead_of_an_answer_is_an_error_row_and_disturbs_no_other_broker(tmp_path: Path) -> None:
    reporter = FakeReporter(2)
    with (
        babbling() as noise,
        serving(reporter) as endpoint,
        collecting(tmp_path, lambda: [cluster_of(noise, endpoint)]),
    ):
        wait_for("an error row", lambda: any(row["broker"] == 1 for row in rows(tmp_path)))
        seen = len(reporter.asked)
        wait_for("calls of the other", lambda: len(reporter.asked) > seen + 2)
    found = rows(tmp_path)
    assert all(row["error"].startswith(f"broker 1 of cluster live at {noise}") for row in found if row["broker"] == 1)
    assert {row["error"] for row in found if row["broker"] == 2} == {""}


class Contradicting(FakeReporter):
    """Its answers are well-formed, and make no sense."""

    def Collect(self, request: pb.CollectRequest, context: grpc.ServicerContext) -> pb.MetricBatch:  # noqa: N802
        batch = super().Collect(request, context)
        batch.ids.append(7)
        return batch


def test_an_answer_that_contradicts_itself_is_an_error_row_and_names_are_asked_for_anew(tmp_path: Path) -> None:
    reporter = Contradicting(1)
    with serving(reporter) as endpoint, collecting(tmp_path, lambda: [cluster_of(endpoint)]):
        wait_for("calls", lambda: len(reporter.asked) >= 3)
        wait_for("a row", lambda: rows(tmp_path))
    assert {row["error"] for row in rows(tmp_path)} == {
        "ids has 2 entries and values has 1: a batch needs one value for each id"
    }
    assert set(reporter.asked) == {(0, 0)}


def test_a_broker_with_another_id_is_refused_with_a_clear_error(tmp_path: Path) -> None:
    with serving(FakeReporter(2)) as endpoint, collecting(tmp_path, lambda: [cluster_of(endpoint)]):
        wait_for("a row", lambda: rows(tmp_path))
    assert {row["error"] for row in rows(tmp_path)} == {
        f"broker_id is 2 at {endpoint}: that is registered as broker 1 of cluster live, correct its reporter"
    }


@pytest.mark.slow
def test_what_is_ours_is_collected_and_what_is_no_longer_is_let_go_of(tmp_path: Path) -> None:
    first, second = FakeReporter(1), FakeReporter(2)
    ours = {BrokerKey("live", 1)}
    with serving(first) as one, serving(second) as two:
        cluster = cluster_of(one, two)
        with collecting(tmp_path, lambda: [cluster], lambda brokers: ours & set(brokers)) as collector:
            wait_for("a call", lambda: first.asked)
            assert (collector.collects(), second.asked) == (["live/1"], [])
            ours.add(BrokerKey("live", 2))
            wait_for("a call of the other", lambda: second.asked)
            ours.discard(BrokerKey("live", 1))
            wait_for("one broker less", lambda: collector.collects() == ["live/2"])
            seen = len(first.asked)
            wait_for("more calls of the other", lambda: len(second.asked) > 20)
            assert len(first.asked) <= seen + 1  # one may have been under way


def test_brokers_without_a_reporter_are_left_alone_and_released_ones_leave_no_error(tmp_path: Path) -> None:
    reporter = FakeReporter(1)
    with serving(reporter) as endpoint:
        clusters = [cluster_of(endpoint, "")]
        with collecting(tmp_path, lambda: clusters) as collector:
            wait_for("rows", lambda: rows(tmp_path))
            assert collector.collects() == ["live/1"]
            reporter.go_on.clear()
            clusters[0] = replace(clusters[0], brokers=())
            wait_for("nothing to collect", lambda: collector.collects() == [])
    assert {row["error"] for row in rows(tmp_path)} == {""}


def test_a_new_endpoint_is_called_instead_of_the_old_one(tmp_path: Path) -> None:
    with serving(FakeReporter(1)) as first, serving(FakeReporter(1)) as second:
        clusters = [cluster_of("127.0.0.1:1")]
        with collecting(tmp_path, lambda: clusters):
            for endpoint in (first, second):
                clusters[0] = cluster_of(endpoint)
                seen = len(rows(tmp_path))
                wait_for("rows", lambda: any(not row["error"] for row in rows(tmp_path)[seen:]))  # noqa: B023


def test_the_share_stays_while_the_federation_can_not_be_read(tmp_path: Path) -> None:
    reporter, readable = FakeReporter(1), threading.Event()
    readable.set()
    with serving(reporter) as endpoint:

        def clusters() -> list[Cluster]:
            if not readable.is_set():
                raise Unavailable("no leader")
            return [cluster_of(endpoint)]

        with collecting(tmp_path, clusters) as collector:
            wait_for("a call", lambda: reporter.asked)
            readable.clear()
            seen = len(reporter.asked)
            wait_for("more calls", lambda: len(reporter.asked) > seen + 2)
            assert collector.collects() == ["live/1"]


def test_an_error_that_nobody_foresaw_is_logged_and_the_next_collection_goes_on(tmp_path: Path) -> None:
    class BrokenOnce(LakeWriter):
        broken = True

        def write(self, cluster: str, rows: Rows) -> None:
            if self.broken:
                self.broken = False
                raise ZeroDivisionError("a mistake of ours")
            super().write(cluster, rows)

    with serving(FakeReporter(1)) as endpoint, capture_logs() as logs:
        lake = BrokenOnce(str(tmp_path), "m1", max_age_s=0.0)
        collector = Collector("m1", lake, lambda: [cluster_of(endpoint)], all_of, CollectorSettings(0.05, 30.0))
        collector.start()
        try:
            wait_for("a row", lambda: rows(tmp_path))
        finally:
            collector.stop()
    [failure] = [entry for entry in logs if entry["log_level"] == "error"]
    assert str(failure["exc_info"]) == "a mistake of ours"


@pytest.mark.parametrize("times", [1, 2])
def test_stop_can_be_called_before_start_and_twice(tmp_path: Path, times: int) -> None:
    collector = Collector("m1", LakeWriter(str(tmp_path), "m1"), list, all_of, CollectorSettings(1.0, 1.0))
    for _ in range(times):
        collector.stop()
    assert collector.collects() == []


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


def written(folder: Path, authority: trustme.CA, issuer: trustme.CA) -> ReporterTls:
    """The member's files, of which the certificate is of the issuer."""
    own = issuer.issue_cert("g1")
    files = ReporterTls(folder / "ca.pem", folder / "g1.pem", folder / "g1.key")
    authority.cert_pem.write_to_path(str(files.ca))
    own.cert_chain_pems[0].write_to_path(str(files.certificate))
    own.private_key_pem.write_to_path(str(files.key))
    return files


def of_broker(authority: trustme.CA) -> grpc.ServerCredentials:
    broker = authority.issue_cert("127.0.0.1")
    return grpc.ssl_server_credentials(
        [(broker.private_key_pem.bytes(), broker.cert_chain_pems[0].bytes())], authority.cert_pem.bytes(), True
    )


def test_a_reporter_that_asks_for_certificates_is_shown_one_and_a_new_one_is_used_at_the_next_call(
    tmp_path: Path, authority: trustme.CA
) -> None:
    reporter, lake = FakeReporter(1), tmp_path / "lake"
    foreign = written(tmp_path, authority, issuer=trustme.CA())
    with (
        serving(reporter, credentials=of_broker(authority)) as endpoint,
        collecting(lake, lambda: [cluster_of(endpoint)], tls=foreign),
    ):
        wait_for("a row", lambda: rows(lake))
        assert {"UNAVAILABLE" in row["error"] for row in rows(lake)} == {True}
        assert reporter.asked == []
        foreign.key.unlink()
        wait_for("a sentence about the file", lambda: "reporter_tls can't be used" in rows(lake)[-1]["error"])
        written(tmp_path, authority, issuer=authority)
        wait_for("rows", lambda: rows(lake)[-1]["error"] == "")
