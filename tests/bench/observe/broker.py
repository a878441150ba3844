"""[cpu_vs_jmx], [cpu_vs_exporter]: what a collection costs a real broker with ten thousand mbeans, by three ways.

The same broker serves all three: the plugin's one call, JMX read mbean by mbean, and jmx_prometheus_javaagent. They
take turns; a figure is the median of its rounds.
"""

from __future__ import annotations

import statistics
import subprocess
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from deploy.local import ports
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.ports import HOST
from guardian.collection.rules.names import NOTHING_KNOWN, MetricNames, values_by_name
from protos.guardian.v1 import reporter_pb2, reporter_pb2_grpc
from tests.bench.observe.jmx import JmxReader, jmx_options, starter
from tests.bench.observe.same import Comparison, compared
from tests.bench.observe.usage import cpu_each_ms, idle_share
from tests.bench.report import BenchFailed, Figures

_BROKER = 1
_MBEANS = 10_000
_TOPICS, _PARTITIONS = 50, 20
_EXPORTER = ("io.prometheus.jmx", "jmx_prometheus_javaagent", "1.0.1")
_ROUNDS = 3
_TIMES = {"ours": 150, "jmx": 3, "exporter": 5}  # collections a round
_IDLE_S = 6.0
_SETTLE_S = 5.0
_MAX_ANSWER_BYTES = 256 << 20

Tell = Callable[[str], None]


class Reporter:
    """The plugin's one call, made again and again by a caller that knows the names."""

    def __init__(self, endpoint: str) -> None:
        options = [("grpc.max_receive_message_length", _MAX_ANSWER_BYTES), ("grpc.enable_http_proxy", 0)]
        self._channel = grpc.insecure_channel(endpoint, options=options)
        self._stub = reporter_pb2_grpc.BrokerReporterStub(self._channel)
        self._names: MetricNames = NOTHING_KNOWN
        self.bytes = 0

    def close(self) -> None:
        self._channel.close()

    def collect(self) -> reporter_pb2.MetricBatch:
        """One call."""
        batch: reporter_pb2.MetricBatch = self._stub.Collect(self._names.request(), timeout=60)
        self._names = self._names.extended_by(batch)
        self.bytes = batch.ByteSize()
        return batch

    def read(self, times: int) -> None:
        """So many calls, one after the other."""
        for _ in range(times):
            self.collect()

    def values(self) -> dict[str, float]:
        """By name."""
        return values_by_name(self.collect(), self._names)


def measure(stack: ExitStack, home: Path, tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """The figures, and what explains them."""
    jmx_port, exporter_port = ports.pick(2)
    tell(f"starting a broker with {_TOPICS * _PARTITIONS:,} partitions, JMX and {_EXPORTER[1]} {_EXPORTER[2]}")
    options = [*jmx_options(jmx_port), _exporter_option(exporter_port, home)]
    cluster = KafkaCluster.plan(ClusterSpec("bench", brokers=1, log_dirs=2, heap_mb=1024), home / "kafka")
    cluster.starters[_BROKER] = starter(home, options)
    stack.callback(cluster.stop)
    cluster.launch()
    fill(cluster.bootstrap, _TOPICS, _PARTITIONS)
    pid = cluster.broker(_BROKER).pid
    if pid is None:
        raise BenchFailed(f"the broker has ended, its log is in {home / 'kafka' / 'logs'}")
    reporter = Reporter(cluster.broker(_BROKER).reporter)
    stack.callback(reporter.close)
    jmx = stack.enter_context(JmxReader(jmx_port, home))
    seen = jmx.read(1)
    tell(f"    {seen['mbeans']:,.0f} mbeans, {seen['values']:,.0f} numbers by JMX, {len(reporter.values()):,} by us")
    work: dict[str, Callable[[int], object]] = {
        "ours": reporter.read,
        "jmx": jmx.read,
        "exporter": lambda times: _scrape(exporter_port, times),
    }
    costs, idle = _costs(pid, work, tell)
    found = compared_once_idle(jmx, reporter)
    tell(f"    {_sentence(found)}")
    fault = "" if seen["mbeans"] >= _MBEANS else f"only {seen['mbeans']:,.0f} mbeans: at least {_MBEANS:,} are needed"
    if found.wrong:
        fault = f"{len(found.wrong)} values are not JMX's, such as {next(iter(found.wrong.items()))}"
    medians = {name: statistics.median(rounds) for name, rounds in costs.items()}
    how = f"{seen['mbeans']:,.0f} mbeans, {len(reporter.values()):,} values in {reporter.bytes / 1000:,.0f} kB"
    details = {
        "cpu_ms": costs,
        "idle_share": idle,
        "mbeans": seen["mbeans"],
        "jmx_values": seen["values"],
        "our_values": len(reporter.values()),
        "compared": found.compared,
        "moving": {name: list(values) for name, values in found.moving.items()},
        "wrong": {name: list(values) for name, values in found.wrong.items()},
    }
    return {
        "cpu_vs_jmx": Figures(medians["ours"], medians["jmx"], how, fault),
        "cpu_vs_exporter": Figures(medians["ours"], medians["exporter"], _sentence(found), fault),
    }, details


def fill(bootstrap: str, topics: int, partitions: int) -> None:
    """Topics of one replica that have been written to and read: Kafka makes many of their metrics only then."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = [f"bench-{topic}" for topic in range(topics)]
    for done in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        done.result(120)
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "bench-producer"})
    for name in names:
        for partition in range(partitions):
            producer.produce(name, b"x" * 100, partition=partition)
    if producer.flush(120):
        raise BenchFailed(f"records for {bootstrap} were not acknowledged within 120 s")
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "auto.offset.reset": "earliest"})
    consumer.subscribe(names)
    deadline, read = time.monotonic() + 120, 0
    while read < topics * partitions:
        if time.monotonic() > deadline:
            raise BenchFailed(f"{read} of {topics * partitions} records were read back within 120 s")
        read += sum(message.error() is None for message in consumer.consume(1000, 1.0))
    consumer.close()


def _costs(pid: int, work: dict[str, Callable[[int], object]], tell: Tell) -> tuple[dict[str, list[float]], float]:
    """By way, milliseconds of CPU a collection, round by round; and the share of a core that the broker takes idle."""
    for name, collect in work.items():
        collect(_TIMES[name])  # the JVM compiles what it uses
    time.sleep(_SETTLE_S)
    idle = idle_share(pid, _IDLE_S)
    costs: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(_ROUNDS):
        for name, collect in work.items():
            costs[name].append(cpu_each_ms(pid, _TIMES[name], partial(collect, _TIMES[name]), idle))
    for name, rounds in costs.items():
        tell(f"    {name:8} {', '.join(f'{each:,.1f}' for each in rounds)} ms of CPU a collection")
    return costs, idle


def compared_once_idle(jmx: JmxReader, reporter: Reporter, attempts: int = 5) -> Comparison:
    """The comparison in which the least was wrong: what JMX finds unmoved twice may still have moved in between."""
    found = []
    for _ in range(attempts):
        found.append(compared(jmx.values(), reporter.values(), jmx.values()))
        if not found[-1].wrong:
            break
    return min(found, key=lambda one: len(one.wrong))


def _sentence(found: Comparison) -> str:
    same = found.compared - len(found.moving) - len(found.wrong)
    return (
        f"of {found.compared:,} values that both have {same:,} are JMX's, {len(found.moving)} move, "
        f"{len(found.wrong)} are wrong"
    )


def _scrape(port: int, times: int) -> None:
    for _ in range(times):
        with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=120) as answer:
            answer.read()


def _exporter_option(port: int, home: Path) -> str:
    config = home / "exporter.yaml"
    config.write_text("lowercaseOutputName: true\nrules:\n  - pattern: '.*'\n")
    return f"-javaagent:{_exporter_jar()}={HOST}:{port}:{config}"


def _exporter_jar() -> Path:
    """From Maven's cache, fetched when it is not there."""
    group, name, version = _EXPORTER
    jar = Path.home() / ".m2" / "repository" / group.replace(".", "/") / name / version / f"{name}-{version}.jar"
    if not jar.exists():
        command = ["mvn", "-q", "-B", "dependency:get", f"-Dartifact={group}:{name}:{version}"]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    if not jar.exists():
        raise BenchFailed(f"Maven fetched no {jar}: is its repository reachable?")
    return jar
