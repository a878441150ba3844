"""Connections of one member share what it knows of a cluster, and forget it when that may be another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from guardian.config import KafkaConfig, ServerConfig
from guardian.errors import ClusterUnavailable, InvalidInput
from guardian.kafka.control import KafkaControl
from guardian.kafka.credentials import ENVIRONMENT
from guardian.member.connecting import KafkaConnector, kafka_access
from guardian.model.topology import Broker, Cluster, ClusterSecurity, SecurityProtocol
from guardian.throttle.model import BrokerCounters
from guardian.throttle.wire import NAMES, PREFIXES, counters_from_proto
from protos.guardian.v1 import reporter_pb2

pytestmark = pytest.mark.slow

CLUSTER = Cluster("live", "h:9092", "id-1", brokers=(Broker(1), Broker(2)))
LAG = "kafka.server:type=broker-metadata-metrics:last-applied-record-lag-ms"


class Reporters:
    def ask(self, brokers: Sequence[Broker]) -> Callable[[], list[BrokerCounters]]:
        found = [
            BrokerCounters(broker.id, 0, 0, metadata_lag_ms=300.0 if broker.id == 1 else None) for broker in brokers
        ]
        return lambda: found


def opened(connector: KafkaConnector, cluster: Cluster) -> KafkaControl:
    return cast("KafkaControl", connector.connect(cluster))


def test_connections_to_a_cluster_share_its_memory_until_it_may_be_another_one() -> None:
    connector = KafkaConnector(Reporters())
    first = opened(connector, CLUSTER)
    assert opened(connector, replace(CLUSTER, brokers=())).memory is first.memory
    assert opened(connector, replace(CLUSTER, name="other")).memory is not first.memory
    controlled = opened(connector, replace(CLUSTER, bootstrap_controllers="c1:9093,[::1]:9094")).memory
    assert controlled is not first.memory
    assert [(node.host, node.port) for node in controlled.known_controllers()] == [("c1", 9093), ("::1", 9094)]
    assert opened(connector, replace(CLUSTER, bootstrap="h:9093")).memory is not first.memory
    assert opened(connector, replace(CLUSTER, bootstrap="h:9093", cluster_id="id-2")).memory is not first.memory
    assert opened(connector, CLUSTER).memory is first.memory, "who tries another registration changes nothing"
    for port in range(9100, 9110):
        opened(connector, replace(CLUSTER, bootstrap=f"h:{port}"))
    assert opened(connector, CLUSTER).memory is not first.memory, "nobody has used it for long"


def test_reporters_tell_how_old_metadata_is_and_one_that_does_not_is_left_out() -> None:
    assert opened(KafkaConnector(Reporters()), CLUSTER).lags() == {1: 300.0}
    assert LAG in NAMES
    assert LAG in PREFIXES
    batch = reporter_pb2.MetricBatch(broker_id=1)
    assert counters_from_proto(batch, {LAG: 412.0}).metadata_lag_ms == 412.0
    assert counters_from_proto(batch, {}).metadata_lag_ms is None


def test_a_connection_takes_secrets_of_the_members_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    (tmp_path / "password").write_text("s3cret")
    login = ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", "password")
    cluster = replace(CLUSTER, bootstrap="127.0.0.1:1", security=login)
    for folder, sentence in ((None, "there is no folder of secrets"), (tmp_path / "none", "can't be read")):
        with pytest.raises(InvalidInput, match=sentence):
            opened(KafkaConnector(Reporters(), folder), cluster).describe_cluster()
    with pytest.raises(ClusterUnavailable):
        opened(KafkaConnector(Reporters(), tmp_path), cluster).describe_cluster()


def test_who_waits_for_a_cluster_waits_as_long_as_the_configuration_says(tmp_path: Path) -> None:
    with ExitStack() as stack:
        for kafka, waits_s in ((KafkaConfig(), 6.0), (KafkaConfig(rpc_timeout_s=77.0), 77.0)):
            config = ServerConfig(
                "g1", tmp_path, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", str(tmp_path), kafka=kafka
            )
            access = kafka_access(config, stack)
            connected = cast("KafkaControl", access.for_rpc(CLUSTER))
            assert connected._calls._timeout_s == waits_s
            assert cast("KafkaControl", access.for_plan(CLUSTER))._calls._timeout_s == max(waits_s, 20.0)
            assert cast("KafkaControl", access.for_claim(CLUSTER))._calls._timeout_s == 3.0
