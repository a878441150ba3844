"""The reporter in real brokers of each Kafka that we run: the host's disks, scrapes, TLS, registration, bad callers.

Each log dir of a broker looks as if it lay on a disk of its own: `guardian.host.proc` is a folder that we write.
"""

from __future__ import annotations

import gzip
import http.client
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus_text

from deploy.local import ports
from deploy.local.kafka_cluster import KafkaCluster
from deploy.local.kafka_config import ClusterSpec
from guardian.collection.rules.names import NOTHING_KNOWN, values_by_name
from protos.guardian.v1 import federation_pb2 as federation
from protos.guardian.v1 import reporter_pb2 as pb
from protos.guardian.v1 import reporter_pb2_grpc
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

CERTIFICATES = Path(__file__).parents[3] / "deploy/broker-plugin/src/test/resources/guardian/kafka/common/tls"
DISKS = ("sda", "sdb", "nvme0n1")
RECORDS = 200
STILL = ("Size", "LogEndOffset", "LogStartOffset", "NumLogSegments")
Samples = dict[str, list[tuple[dict[str, str], float]]]

_HUGE = [("grpc.max_receive_message_length", 64 * 1024 * 1024), ("grpc.enable_http_proxy", 0)]


def fake_proc(root: Path, log_dirs: tuple[str, ...]) -> Path:
    """A /proc, and the /sys beside it, of a host on which each log dir has a disk."""
    numbers = [f"{8 + index} 0" for index in range(len(DISKS))]
    files = {
        "proc/diskstats": "".join(
            f"{number} {disk} {1000 + index} 0 {2048 + index} 300 500 0 4096 700 {index} 9000 10000\n"
            for index, (number, disk) in enumerate(zip(numbers, DISKS, strict=True))
        ),
        "proc/self/mountinfo": "".join(
            f"{30 + index} 1 {number.replace(' ', ':')} / {log_dir} rw - xfs /dev/{disk} rw\n"
            for index, (number, disk, log_dir) in enumerate(zip(numbers, DISKS, log_dirs, strict=True))
        ),
        "proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 600 kB\nCached: 500 kB\nDirty: 7 kB\n",
        "proc/stat": "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\n",
        "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 total=500000\n",
        "proc/net/dev": "  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n    lo: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n",
        "sys/class/net/eth0/speed": "25000\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root / "proc"


class FakeFederation:
    """Takes registrations; the first one comes too early."""

    def __init__(self) -> None:
        self.calls: list[federation.RegisterReporterRequest] = []

    def register(
        self, request: federation.RegisterReporterRequest, context: grpc.ServicerContext
    ) -> federation.RegisterReporterReply:
        self.calls.append(request)
        if len(self.calls) == 1:
            context.abort(grpc.StatusCode.NOT_FOUND, "the cluster is not registered yet")
        return federation.RegisterReporterReply(cluster="live", reporter=request.reporter)

    def handler(self) -> grpc.GenericRpcHandler:
        method = grpc.unary_unary_rpc_method_handler(
            self.register,
            request_deserializer=federation.RegisterReporterRequest.FromString,
            response_serializer=federation.RegisterReporterReply.SerializeToString,
        )
        return grpc.method_handlers_generic_handler("guardian.v1.Federation", {"RegisterReporter": method})


@dataclass(frozen=True, slots=True)
class Observed:
    """A cluster of one broker, and how its reporter is reached."""

    kafka: KafkaCluster
    http_port: int
    tls: bool
    registrations: FakeFederation

    @property
    def metrics_url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.http_port}/metrics"

    def call(self) -> pb.MetricBatch:
        endpoint = self.kafka.brokers[0].reporter
        channel = (
            grpc.secure_channel(endpoint, client_credentials("client"), _HUGE)
            if self.tls
            else grpc.insecure_channel(endpoint, _HUGE)
        )
        with channel:
            batch: pb.MetricBatch = reporter_pb2_grpc.BrokerReporterStub(channel).Collect(
                NOTHING_KNOWN.request(), timeout=PATIENCE_S
            )
            return batch

    def scrape(self, query: str = "", **headers: str) -> bytes:
        return get(self.http_port, client_context("client") if self.tls else None, query, headers)

    def samples(self) -> Samples:
        return by_sample(prometheus_text(self.scrape().decode()))

    def samples_with(self, topic: str) -> Samples:
        """Of a collection that has seen all of the topic's records: it may be a second old."""
        wait_for(f"whole topic {topic} in a scrape", lambda: sum(ends_of(topic, self.samples())) == RECORDS)
        return self.samples()


def get(port: int, tls: ssl.SSLContext | None, query: str, headers: dict[str, str]) -> bytes:
    connection = (
        http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE_S, context=tls)
        if tls
        else http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    )
    with closing(connection):
        connection.request("GET", f"/metrics{query}", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read()


def ends_of(topic: str, samples: Samples) -> list[float]:
    return [value for labels, value in samples["kafka_log_log_logendoffset"] if labels["topic"] == topic]


def by_sample(families: Iterable[Metric]) -> Samples:
    samples: Samples = {}
    for family in families:
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    return samples


def client_credentials(name: str) -> grpc.ChannelCredentials:
    ca, key, certificate = (CERTIFICATES / file for file in ("ca.pem", f"{name}.key", f"{name}.pem"))
    return grpc.ssl_channel_credentials(ca.read_bytes(), key.read_bytes(), certificate.read_bytes())


def client_context(name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(CERTIFICATES / "ca.pem"))
    context.load_cert_chain(CERTIFICATES / f"{name}.pem", CERTIFICATES / f"{name}.key")
    return context


@pytest.fixture(scope="module", params=["4.3", pytest.param("3.9", marks=pytest.mark.long)])
def observed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """4.3 with TLS at every port, 3.9 without."""
    kafka, tls = request.param, request.param == "4.3"
    root = tmp_path_factory.mktemp("observed").resolve()
    (http_port,) = ports.pick(1)
    registrations = FakeFederation()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((registrations.handler(),))
    log_dirs = tuple(str(root / "kafka" / "broker-1" / f"disk{number}") for number in (1, 2, 3))
    settings = {
        "guardian.host.proc": str(fake_proc(root, log_dirs)),
        "guardian.reporter.http.listener": f"127.0.0.1:{http_port}",
        "guardian.endpoints": f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}",
    }
    if tls:
        settings |= {
            "guardian.reporter.ssl.certificate.file": str(CERTIFICATES / "server.pem"),
            "guardian.reporter.ssl.key.file": str(CERTIFICATES / "server.key"),
            "guardian.reporter.ssl.ca.file": str(CERTIFICATES / "ca.pem"),
        }
    spec = ClusterSpec(f"observed-{kafka}", brokers=1, kafka=kafka, settings=settings)
    server.start()
    try:
        with KafkaCluster.start(spec, root / "kafka") as cluster:
            yield Observed(cluster, http_port, tls, registrations)
    finally:
        server.stop(None)


@pytest.fixture
def filled_topic(observed: Observed, new_topic: Callable[[], str]) -> str:
    """A topic of three partitions with RECORDS records of 500 bytes."""
    topic, admin = new_topic(), AdminClient({"bootstrap.servers": observed.kafka.bootstrap})
    admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(PATIENCE_S)
    produce(observed, topic)
    return topic


def produce(observed: Observed, topic: str) -> None:
    producer = Producer({"bootstrap.servers": observed.kafka.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(topic, b"x" * 500, partition=number % 3)
    assert producer.flush(PATIENCE_S) == 0


def test_each_log_dir_has_its_disk_and_the_size_of_its_logs(observed: Observed, filled_topic: str) -> None:
    batch = observed.call()
    host, values = batch.host, values_by_name(batch, NOTHING_KNOWN.extended_by(batch))
    assert [disk.name for disk in host.disks] == list(DISKS)
    assert [(log_dir.path, log_dir.disk) for log_dir in host.log_dirs] == list(
        zip(observed.kafka.brokers[0].log_dirs, DISKS, strict=True)
    )
    for log_dir in host.log_dirs:
        sizes = {replica: replica.rpartition("-") for replica in log_dir.replicas}
        assert log_dir.size_bytes == sum(
            values[f"kafka.log:type=Log,name=Size,topic={topic},partition={partition}:Value"]
            for topic, _, partition in sizes.values()
        )
    assert sum(log_dir.size_bytes for log_dir in host.log_dirs) > RECORDS * 500
    assert {replica for log_dir in host.log_dirs for replica in log_dir.replicas} >= {
        f"{filled_topic}-{partition}" for partition in range(3)
    }
    assert (host.cpu.cores, host.cpu.user_ms, host.memory.page_cache_bytes) == (2, 1200, 500 * 1024)
    assert (host.pressure.io_some_us, host.pressure.io_full_us) == (1_500_000, 500_000)
    assert [(nic.name, nic.bytes_sent, nic.bits_per_s) for nic in host.nics] == [("eth0", 2000, 25 * 10**9)]


def test_a_scrape_shows_what_jmx_exporter_would(observed: Observed, filled_topic: str) -> None:
    samples = observed.samples_with(filled_topic)
    per_topic = samples["kafka_server_brokertopicmetrics_bytesin_total"]
    assert {labels["topic"]: value for labels, value in per_topic if labels}[filled_topic] > RECORDS * 500
    times = samples["kafka_network_requestmetrics_totaltimems"]
    assert {labels["quantile"] for labels, _ in times} >= {"0.50", "0.999"}
    assert samples["kafka_server_replicamanager_underreplicatedpartitions"] == [({}, 0.0)]
    assert samples["node_disk_io_now"] == [({"device": disk}, float(index)) for index, disk in enumerate(DISKS)]
    assert len(samples["guardian_log_dir_size_bytes"]) == 3
    assert samples["process_cpu_seconds_total"][0][1] > 0


def test_every_metric_of_the_call_that_stands_still_has_its_value_in_the_scrape(
    observed: Observed, filled_topic: str
) -> None:
    scraped = observed.samples_with(filled_topic)
    batch = observed.call()
    values = values_by_name(batch, NOTHING_KNOWN.extended_by(batch))
    for name in STILL:
        for partition in map(str, range(3)):
            value = values[f"kafka.log:type=Log,name={name},topic={filled_topic},partition={partition}:Value"]
            labels = {"topic": filled_topic, "partition": partition}
            assert (labels, value) in scraped[f"kafka_log_log_{name.lower()}"], (name, partition)


def test_open_metrics_gzip_and_filters_are_there_for_who_asks(observed: Observed, filled_topic: str) -> None:
    observed.samples_with(filled_topic)
    packed = observed.scrape(Accept="application/openmetrics-text; version=1.0.0", **{"Accept-Encoding": "gzip"})
    samples = by_sample(open_metrics(gzip.decompress(packed).decode()))  # type: ignore[no-untyped-call]
    assert sum(ends_of(filled_topic, samples)) == RECORDS
    few = by_sample(prometheus_text(observed.scrape("?name%5B%5D=node_disk_io_now&name[]=kafka_log_log_s").decode()))
    assert set(few) == {"node_disk_io_now", "kafka_log_log_size"}


def test_the_broker_registers_where_it_is_reached_and_tries_again(observed: Observed) -> None:
    wait_for("second call after the refusal", lambda: len(observed.registrations.calls) >= 2)
    assert observed.registrations.calls[-1] == federation.RegisterReporterRequest(
        cluster_id=observed.kafka.cluster_id,
        broker_id=observed.kafka.brokers[0].id,
        reporter=observed.kafka.brokers[0].reporter,
        metrics_url=observed.metrics_url,
    )


@pytest.mark.parametrize("observed", ["4.3"], indirect=True)
def test_who_has_no_certificate_is_not_served(observed: Observed) -> None:
    ca = CERTIFICATES / "ca.pem"
    for credentials in (grpc.ssl_channel_credentials(ca.read_bytes()), client_credentials("other-client")):
        with (
            grpc.secure_channel(observed.kafka.brokers[0].reporter, credentials, _HUGE) as channel,
            pytest.raises(grpc.RpcError) as refused,
        ):
            reporter_pb2_grpc.BrokerReporterStub(channel).Collect(NOTHING_KNOWN.request(), timeout=PATIENCE_S)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    for context in (ssl.create_default_context(cafile=str(ca)), client_context("other-client")):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            get(observed.http_port, context, "", {})


def test_callers_that_hang_lie_or_come_in_crowds_disturb_neither_broker_nor_reporter(
    observed: Observed, filled_topic: str
) -> None:
    with ExitStack() as crowd:
        for port in (observed.kafka.brokers[0].ports.reporter, observed.http_port):
            for number in range(100):
                caller = crowd.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S))
                try:
                    caller.sendall((b"", b"GET /metrics HT", b"\x16\x03\x01\xff\xff" * 20)[number % 3])
                except OSError:
                    continue  # One too many: it was closed at once.
        produce(observed, filled_topic)
    wait_for("answer after the crowd has gone", lambda: answers(observed))
    assert observed.kafka.brokers[0].pid is not None


def answers(observed: Observed) -> bool:
    try:
        return bool(observed.call().values) and bool(observed.samples())
    except (grpc.RpcError, OSError, http.client.HTTPException):
        return False
