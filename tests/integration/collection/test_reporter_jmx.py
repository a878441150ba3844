"""What the plugin says beside what JMX says of the same broker: name by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deploy.local import ports
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from tests.bench.observe.broker import Reporter, compared_once_idle, fill
from tests.bench.observe.jmx import JmxReader, jmx_options

pytestmark = pytest.mark.integration

BROKER = 1
TOPICS, PARTITIONS = 3, 4
# What a dashboard needs must be among the names that both have.
EXPECTED = (
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec:Count",
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=bench-0:Count",
    "kafka.log:type=Log,name=LogEndOffset,topic=bench-2,partition=3:Value",
    "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions:Value",
    "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce:99thPercentile",
    "kafka.server:type=app-info:start-time-ms",
)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Reporter, JmxReader]]:
    """One broker, idle but for what was written to it before, asked by both ways."""
    home: Path = tmp_path_factory.mktemp("jmx")
    (port,) = ports.pick(1)
    cluster = KafkaCluster.plan(ClusterSpec("jmx", brokers=1, log_dirs=2), home / "kafka")
    cluster.starters[BROKER] = ["env", f"JAVA_TOOL_OPTIONS={' '.join(jmx_options(port))}"]
    cluster.launch()
    try:
        fill(cluster.bootstrap, TOPICS, PARTITIONS)
        with JmxReader(port, home) as jmx, closing(Reporter(cluster.broker(BROKER).reporter)) as reporter:
            yield reporter, jmx
    finally:
        cluster.stop()


def test_every_value_is_jmxs_but_those_that_move(broker: tuple[Reporter, JmxReader]) -> None:
    reporter, jmx = broker
    found = compared_once_idle(jmx, reporter, attempts=20)
    assert not found.wrong
    assert found.compared > 5000
    assert len(found.moving) < found.compared / 20


def test_the_names_are_jmxs(broker: tuple[Reporter, JmxReader]) -> None:
    reporter, jmx = broker
    ours, theirs = reporter.values(), jmx.values()
    assert [name for name in EXPECTED if name not in ours or name not in theirs] == []
    kafkas = {name for name in theirs if name.startswith("kafka.")}
    # An mbean that comes or goes between the two reads is in one of them only.
    assert len(kafkas - ours.keys()) < len(kafkas) / 100
