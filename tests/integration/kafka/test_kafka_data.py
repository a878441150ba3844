"""Topics, records and offsets on real brokers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from deploy.local.kafka_cluster import KafkaCluster
from guardian.errors import ClusterUnavailable, Conflict, InvalidInput, NotFound
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.kafka.credentials import ENVIRONMENT
from guardian.model.topology import Cluster, TopicPartition
from tests.patience import CONTROL_S, PATIENCE_S

pytestmark = pytest.mark.integration

NewTopic = Callable[[], str]


@pytest.fixture
def cluster(kafka_cluster: KafkaCluster) -> Cluster:
    return Cluster("live", kafka_cluster.bootstrap)


def test_created_topics_are_seen_by_every_broker_as_they_were_asked_for(cluster: Cluster, new_topic: NewTopic) -> None:
    """KAFKA.md, trap 9."""
    first, second = new_topic(), new_topic()
    data.create_topics(
        cluster, {first: {0: (1, 2), 1: (3, 1)}, second: {0: (2, 3)}}, {"retention.ms": "86400000"}, PATIENCE_S
    )
    with closing(KafkaControl(cluster, CONTROL_S)) as control:
        for broker in (1, 2, 3):
            seen = control.partitions_seen_by(broker, [first, second])
            assert seen is not None
            assert {partition: (state.leader, state.replicas) for partition, state in seen.items()} == {
                TopicPartition(first, 0): (1, (1, 2)),
                TopicPartition(first, 1): (3, (3, 1)),
                TopicPartition(second, 0): (2, (2, 3)),
            }
        assert control.describe_configs([("TOPIC", first)]) == {("TOPIC", first): {"retention.ms": "86400000"}}
        data.delete_topics(cluster, [first, "no-such-topic"], PATIENCE_S)
        for broker in (1, 2, 3):
            seen = control.partitions_seen_by(broker, [first, second])
            assert seen is not None
            assert seen.keys() == {TopicPartition(second, 0)}
        assert control.partitions_seen_by(99, [first]) is None


def test_records_are_counted_by_offsets_and_read_back_in_order(cluster: Cluster, new_topic: NewTopic) -> None:
    topic = new_topic()
    data.create_topics(cluster, {topic: {0: (1, 2), 1: (2, 3)}}, {}, PATIENCE_S)
    producer = data.producer(cluster, acks="all", linger_ms=5)
    for number in range(10):
        producer.produce(topic, f"value {number}".encode(), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    assert data.start_offsets(cluster, [topic], PATIENCE_S) == {
        TopicPartition(topic, 0): 0,
        TopicPartition(topic, 1): 0,
    }
    assert data.end_offsets(cluster, [topic], PATIENCE_S) == {TopicPartition(topic, 0): 10, TopicPartition(topic, 1): 0}
    assert data.end_offsets(cluster, [], PATIENCE_S) == {}
    with closing(data.consumer(cluster, topic, auto_offset_reset="earliest")) as consumer:
        consumer.subscribe([topic])
        messages = consumer.consume(10, timeout=PATIENCE_S)
        assert [message.value() for message in messages] == [f"value {number}".encode() for number in range(10)]


def test_a_topic_that_exists_or_that_kafka_refuses_is_told_in_one_sentence(
    cluster: Cluster, new_topic: NewTopic
) -> None:
    topic = new_topic()
    data.create_topics(cluster, {topic: {0: (1, 2)}}, {}, PATIENCE_S)
    with pytest.raises(Conflict, match=f"^topic {topic} exists: "):
        data.create_topics(cluster, {topic: {0: (1, 2)}}, {}, PATIENCE_S)
    with pytest.raises(InvalidInput, match="includes broker 99, but no such broker is registered"):
        data.create_topics(cluster, {new_topic(): {0: (1, 99)}}, {}, PATIENCE_S)
    with pytest.raises(InvalidInput, match=r"Unknown topic config name: no\.such\.key"):
        data.create_topics(cluster, {new_topic(): {0: (1, 2)}}, {"no.such.key": "1"}, PATIENCE_S)


def test_offsets_of_a_topic_that_does_not_exist_are_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFound, match=r"^topic no-such-topic does not exist on cluster live: "):
        data.end_offsets(cluster, ["no-such-topic"], PATIENCE_S)


def test_a_login_works_and_a_wrong_password_is_told_at_once(
    kafka_cluster: KafkaCluster, new_topic: NewTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, right = new_topic(), kafka_cluster.to_cluster()
    monkeypatch.setenv(ENVIRONMENT, str(kafka_cluster.secrets_folder))
    data.create_topics(right, {topic: {0: (1, 2)}}, {}, PATIENCE_S)
    producer = data.producer(right)
    producer.produce(topic, b"value")
    assert producer.flush(PATIENCE_S) == 0
    assert data.end_offsets(right, [topic], PATIENCE_S) == {TopicPartition(topic, 0): 1}
    (tmp_path / right.security.password_secret).write_text("wrong\n")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    with pytest.raises(ClusterUnavailable, match="refuses the login of 'guardian'"):
        data.create_topics(right, {new_topic(): {0: (1, 2)}}, {}, PATIENCE_S)
