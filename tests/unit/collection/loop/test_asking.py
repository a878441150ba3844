from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest

from guardian.collection.loop.asking import BrokerAsker, CountersAsker, MappingAsker
from guardian.collection.loop.collector import ReporterTls
from guardian.errors import ClusterUnavailable, NotFound
from guardian.links.model import RackMapping
from guardian.model.topology import Broker, Cluster
from guardian.throttle.model import FETCH, PRODUCE
from guardian.throttle.wire import NAMES, PREFIXES
from protos.guardian.v1 import reporter_pb2 as pb
from protos.guardian.v1 import reporter_pb2_grpc

CLUSTER = Cluster("live", "h:1")
ASKER = BrokerAsker(None, timeout_s=30.0)


class Reporter(reporter_pb2_grpc.BrokerReporterServicer):
    answer = pb.MetricBatch()

    def Collect(self, request: pb.CollectRequest, context: grpc.ServicerContext) -> pb.MetricBatch:  # noqa: N802
        assert (request.known_names, request.with_activity) == (0, False)
        if self.answer.broker_id == 9:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls run at once")
        return self.answer


@pytest.fixture
def reporter() -> Iterator[tuple[Reporter, Broker]]:
    server, reporter = grpc.server(ThreadPoolExecutor(1)), Reporter()
    reporter_pb2_grpc.add_BrokerReporterServicer_to_server(reporter, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield reporter, Broker(1, reporter=f"127.0.0.1:{port}")
    server.stop(None).wait()


def test_all_values_come_under_their_names(reporter: tuple[Reporter, Broker]) -> None:
    reporter[0].answer = pb.MetricBatch(collected_at_ms=7, names=["b:Value", "a:Value"], ids=[0, 1], values=[2.0, 1.0])
    found = ASKER.ask(CLUSTER, reporter[1])
    assert found.collected_at_ms == 7
    assert list(zip(found.names, found.values, strict=True)) == [("a:Value", 1.0), ("b:Value", 2.0)]


def test_a_broker_without_a_reporter_is_told_what_it_lacks() -> None:
    with pytest.raises(NotFound, match="broker 3 of cluster live has no reporter: its plugin registers one"):
        ASKER.ask(CLUSTER, Broker(3))


def test_what_the_reporter_refuses_or_garbles_is_told_with_the_brokers_name(reporter: tuple[Reporter, Broker]) -> None:
    reporter[0].answer = pb.MetricBatch(broker_id=9)
    with pytest.raises(ClusterUnavailable, match=r"broker 1 of cluster live at .* RESOURCE_EXHAUSTED: too many calls"):
        ASKER.ask(CLUSTER, reporter[1])
    reporter[0].answer = pb.MetricBatch(names=["a:Value"], ids=[0, 1], values=[1.0])
    with pytest.raises(ClusterUnavailable, match="contradicts itself: ids has 2 entries and values has 1"):
        ASKER.ask(CLUSTER, reporter[1])


def test_a_certificate_that_is_not_there_is_told(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(ClusterUnavailable, match=r"reporter_tls can't be used: .*No such file"):
        BrokerAsker(ReporterTls(missing, missing, missing), 1.0).ask(CLUSTER, Broker(1, reporter="127.0.0.1:1"))


def test_a_selectors_mapping_of_racks_is_told_by_plugins_that_can(reporter: tuple[Reporter, Broker]) -> None:
    asker, (fake, broker) = MappingAsker(None, timeout_s=30.0), reporter
    told = pb.ReplicaSelectorFacts(
        class_name="guardian.kafka.IdcAwareReplicaSelector", idc_of_rack={"r9": "suzhou"}, idc_separator="-"
    )
    fake.answer = pb.MetricBatch(broker_id=1, replica_selector=told)
    silent = Broker(2)
    assert asker.ask([broker, silent]) == {1: RackMapping("-", {"r9": "suzhou"})}
    fake.answer = pb.MetricBatch(broker_id=1)  # of an older plugin
    assert asker.ask([broker]) == {}
    fake.answer = pb.MetricBatch(broker_id=2, replica_selector=told)
    assert asker.ask([broker]) == {}
    fake.answer = pb.MetricBatch(broker_id=9)  # it refuses
    assert asker.ask([broker]) == {}
    assert asker.ask([silent]) == {}


class Counting(reporter_pb2_grpc.BrokerReporterServicer):
    """A broker with a dictionary of many names, of which it tells each caller those that it lacks."""

    def __init__(self) -> None:
        self.names = [f"kafka.log:type=Log,name=Size,topic=t,partition={n}:Value" for n in range(50)]
        self.names += sorted(NAMES)
        self.requests: list[pb.CollectRequest] = []
        self.dictionary = 7
        self.broker_id = 1
        self.hold = threading.Event()
        self.hold.set()

    def Collect(self, request: pb.CollectRequest, _context: grpc.ServicerContext) -> pb.MetricBatch:  # noqa: N802
        self.requests.append(request)
        self.hold.wait(30)
        known = request.known_names if request.dictionary_id == self.dictionary else 0
        found = [i for i, name in enumerate(self.names) if name.startswith(tuple(request.name_prefixes))]
        return pb.MetricBatch(
            broker_id=self.broker_id,
            collected_at_ms=1000 * len(self.requests),
            dictionary_id=self.dictionary,
            first_name_id=known,
            names=self.names[known:],
            ids=found,
            values=[float(len(self.requests))] * len(found),
            host=pb.HostFacts(
                disks=[pb.DiskFacts(name="sda", busy_ms=5), pb.DiskFacts(name="system")],
                log_dirs=[pb.LogDirFacts(path="/d", disk="sda")],
                nics=[pb.NicFacts(name="eth0", bytes_sent=1), pb.NicFacts(name="unused")],
            ),
        )


@pytest.fixture
def counting() -> Iterator[tuple[Counting, Broker]]:
    server, reporter = grpc.server(ThreadPoolExecutor(2)), Counting()
    reporter_pb2_grpc.add_BrokerReporterServicer_to_server(reporter, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield reporter, Broker(1, "a", "shanghai", f"127.0.0.1:{port}")
    reporter.hold.set()
    server.stop(None)


@pytest.fixture
def asker() -> Iterator[CountersAsker]:
    asker = CountersAsker(None, patience_s=20.0, timeout_s=20.0)
    yield asker
    asker.close()


def test_counters_are_asked_with_a_filter_and_names_are_told_once(
    counting: tuple[Counting, Broker], asker: CountersAsker
) -> None:
    reporter, broker = counting
    (first,), (second,) = asker.ask([broker])(), asker.ask([broker])()
    assert [request.known_names for request in reporter.requests] == [0, len(reporter.names)]
    assert list(reporter.requests[1].name_prefixes) == list(PREFIXES)
    assert reporter.requests[1].devices_only
    assert reporter.requests[1].max_listing_age_ms == 10_000
    assert (first.broker, first.at_ms, list(first.disks), list(first.nics)) == (1, 1000, ["sda"], ["eth0"])
    assert (first.requests[PRODUCE].p99_ms, second.requests[PRODUCE].p99_ms) == (1.0, 2.0)
    assert (first.copied_bytes, second.copied_bytes) == (2.0, 4.0)


def test_a_broker_that_began_a_new_dictionary_is_understood(
    counting: tuple[Counting, Broker], asker: CountersAsker
) -> None:
    reporter, broker = counting
    asker.ask([broker])()
    reporter.dictionary, reporter.names = 8, sorted(NAMES)
    (found,) = asker.ask([broker])()
    assert found.requests[FETCH].mean_ms == 2.0


def test_who_is_late_is_not_waited_for_and_heard_the_next_time(counting: tuple[Counting, Broker]) -> None:
    reporter, broker = counting
    asker = CountersAsker(None, patience_s=0.05, timeout_s=60.0)
    reporter.hold.clear()
    assert asker.ask([broker])() == []
    assert asker.ask([broker])() == []
    assert len(reporter.requests) <= 1  # no second call beside the one that is under way
    reporter.hold.set()
    patient = CountersAsker(None, patience_s=20.0)
    assert len(patient.ask([broker])()) == 1
    patient.close()
    asker.close()


def test_the_age_of_metadata_grows_while_an_answer_waits_to_be_heard(counting: tuple[Counting, Broker]) -> None:
    reporter, broker = counting
    now_s = [100.0]
    asker = CountersAsker(None, patience_s=20.0, timeout_s=60.0, monotonic_s=lambda: now_s[0])
    hear = asker.ask([broker])
    now_s[0] += 3600.0  # an hour later somebody asks again
    (found,) = hear()
    assert found.metadata_lag_ms == len(reporter.requests) + 3_600_000.0
    asker.close()


def test_who_does_not_answer_or_is_somebody_else_is_left_out(
    counting: tuple[Counting, Broker], asker: CountersAsker
) -> None:
    reporter, broker = counting
    nobody = Broker(2, "a", "shanghai", "127.0.0.1:1")
    assert [each.broker for each in asker.ask([broker, nobody, Broker(3)])()] == [1]
    reporter.broker_id = 5
    assert asker.ask([broker])() == []


def test_of_two_brokers_that_are_said_to_be_at_one_reporter_the_one_that_answers_is_heard(
    counting: tuple[Counting, Broker], asker: CountersAsker
) -> None:
    """Broker 1 was replaced by 7 on its host, and both are still at work."""
    reporter, broker = counting
    successor = Broker(7, "a", "shanghai", broker.reporter_endpoint)
    for broker_id in (1, 7):
        reporter.broker_id = broker_id
        assert [each.broker for each in asker.ask([broker, successor])()] == [broker_id]
    assert len(reporter.requests) == 2


def test_two_who_ask_the_same_reporter_at_once_do_not_disturb_each_other(
    counting: tuple[Counting, Broker], asker: CountersAsker
) -> None:
    _, broker = counting
    one, other = asker.ask([broker]), asker.ask([broker])
    assert [each.broker for each in one()] == [1]
    assert other() == []
    assert len(asker.ask([broker])()) == 1


@contextmanager
def endless() -> Iterator[tuple[Broker, Callable[[], int]]]:
    """A reporter that begins an answer of a gigabyte and sends for as long as anybody listens, in bare HTTP/2. The
    function returns how many bytes of it were taken, once its caller has hung up."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken: list[int] = []

    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    def literal(name: bytes, value: bytes) -> bytes:
        return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(30)
            connection.sendall(frame(4, 0, 0, b""))  # SETTINGS
            heard = b""
            while not re.search(rb"\x01.\0\0\0\x01", heard, re.DOTALL):  # HEADERS of the first stream
                heard += connection.recv(4096)
            headers = literal(b":status", b"200") + literal(b"content-type", b"application/grpc")
            connection.sendall(frame(1, 4, 1, headers))
            sent = 0
            with suppress(OSError):
                connection.sendall(frame(0, 0, 1, b"\0" + (1 << 30).to_bytes(4, "big")))
                while True:
                    connection.sendall(frame(0, 0, 1, b"x" * 16384))
                    sent += 16384
            taken.append(sent)

    thread = threading.Thread(target=answer)
    thread.start()

    def taken_bytes() -> int:
        thread.join(30)
        return taken[0]

    with listener:
        yield Broker(1, reporter=f"127.0.0.1:{listener.getsockname()[1]}"), taken_bytes


def test_an_answer_above_the_cap_is_refused_before_it_is_read() -> None:
    with endless() as (broker, taken_bytes):
        with pytest.raises(
            ClusterUnavailable, match=r"RESOURCE_EXHAUSTED.*larger than max \(1073741824 vs\. 67108864\)"
        ):
            ASKER.ask(CLUSTER, broker)
        # What was on its way: buffers of both ends, far below what is announced.
        assert taken_bytes() < 64 << 20
