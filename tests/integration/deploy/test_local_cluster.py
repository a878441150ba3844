"""The cluster that the other integration tests share is what they are told it is."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from deploy.local import distribution
from deploy.local.kafka_cluster import KafkaCluster
from deploy.local.workload import move_to_log_dirs
from guardian.errors import ClusterUnavailable
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.kafka.credentials import SecretFolder
from guardian.model.topology import TopicPartition
from tests.patience import CONTROL_S, PATIENCE_S, until

pytestmark = pytest.mark.integration


def test_brokers_stand_where_the_cluster_says(kafka_cluster: KafkaCluster) -> None:
    with closing(KafkaControl(kafka_cluster.to_cluster(sasl=False), CONTROL_S)) as control:
        description = control.describe_cluster()
        log_dirs = control.describe_log_dirs([1, 2, 3])
    assert description.cluster_id == kafka_cluster.cluster_id
    assert {node.id: (node.host, node.port, node.rack) for node in description.brokers.values()} == {
        broker.id: (broker.host, broker.port, broker.rack) for broker in kafka_cluster.brokers
    }
    assert {(log_dir.broker, log_dir.path) for log_dir in log_dirs} == {
        (broker.id, path) for broker in kafka_cluster.brokers for path in broker.log_dirs
    }


def test_its_processes_share_what_is_known_of_their_classes(kafka_cluster: KafkaCluster) -> None:
    for node in kafka_cluster.nodes:
        mapped = Path(f"/proc/{node.pid}/maps").read_text()
        assert str(distribution.TARGET / "classes-") in mapped, (
            "the JVM found the class archive unfit, and said so in its log"
        )


def test_the_password_opens_the_sasl_listener_and_a_wrong_one_does_not(
    kafka_cluster: KafkaCluster, tmp_path: Path
) -> None:
    cluster, right = kafka_cluster.to_cluster(), SecretFolder(kafka_cluster.secrets_folder)
    with closing(KafkaControl(cluster, CONTROL_S, secrets=right)) as control:
        assert set(control.describe_cluster().brokers) == {1, 2, 3}
    (tmp_path / cluster.security.password_secret).write_text("guess")
    with (
        closing(KafkaControl(cluster, timeout_s=5.0, secrets=SecretFolder(tmp_path))) as control,
        pytest.raises(ClusterUnavailable),
    ):
        control.describe_cluster()


def test_every_broker_has_the_plugins_listener(kafka_cluster: KafkaCluster) -> None:
    for broker in kafka_cluster.brokers:
        host, port = broker.reporter.rsplit(":", 1)
        socket.create_connection((host, int(port)), timeout=PATIENCE_S).close()


def test_new_clusters_start_with_this_kafkas_feature_levels(
    kafka_cluster: KafkaCluster, new_topic: Callable[[], str]
) -> None:
    """Without the storage tool's bootstrap.checkpoint the new consumer protocol (group.version) would be off."""
    cluster, topic = kafka_cluster.to_cluster(), new_topic()
    data.create_topics(cluster, {topic: {0: (1, 2)}}, {}, PATIENCE_S)
    producer = data.producer(cluster, acks="all")
    producer.produce(topic, value=b"read me", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    with closing(data.consumer(cluster, topic, group_protocol="consumer", auto_offset_reset="earliest")) as reader:
        reader.subscribe([topic])
        # The first consumer of a cluster makes it create __consumer_offsets.
        value = until(lambda: message.value() if (message := reader.poll(1)) and not message.error() else None)
        assert value == b"read me"


def test_a_killed_broker_comes_back_with_its_data(kafka_cluster: KafkaCluster, new_topic: Callable[[], str]) -> None:
    cluster, topic = kafka_cluster.to_cluster(), new_topic()
    partition = TopicPartition(topic, 0)
    data.create_topics(cluster, {topic: {0: (2,)}}, {}, PATIENCE_S)
    with closing(KafkaControl(cluster, CONTROL_S)) as control:
        move_to_log_dirs(control, {(partition, 2): kafka_cluster.broker(2).log_dirs[2]})
    producer = data.producer(cluster, acks="all")
    producer.produce(topic, value=b"kept", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    kafka_cluster.kill_broker(2)
    assert kafka_cluster.broker(2).pid is None
    kafka_cluster.start_broker(2)
    assert data.end_offsets(cluster, [topic], PATIENCE_S) == {partition: 1}
    with closing(KafkaControl(cluster, CONTROL_S)) as control:
        told = until(lambda: control.describe_log_dirs([2]))  # others have yet to hear that it is back
    found = {log_dir.path for log_dir in told if partition in log_dir.replicas}
    assert found == {kafka_cluster.broker(2).log_dirs[2]}
