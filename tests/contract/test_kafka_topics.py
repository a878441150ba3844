"""How a KafkaAdmin makes topics, partitions and replication factors: one suite, on the fake, simulated and real
brokers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from guardian.kafka import data
from guardian.kafka.admin import TOPIC, KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.kafka.fake import FakeKafka
from guardian.model.cluster_state import ConfigOrigin
from guardian.model.effects import NewTopic
from guardian.model.topology import TopicPartition
from tests.patience import CONTROL_S, PATIENCE_S, until
from tests.simulated import simulated

BROKERS = (1, 2, 3)


class Bench:
    """The admin under test; topics have names of their own and are deleted in the end."""

    def __init__(self, admin: KafkaAdmin, delete: Callable[[list[str]], None]) -> None:
        self.admin = admin
        self._delete = delete
        self._names: list[str] = []

    def name(self) -> str:
        self._names.append(f"made-{uuid.uuid4().hex[:8]}")
        return self._names[-1]

    def replicas(self, topic: str) -> dict[int, tuple[int, ...]]:
        return {each.partition: state.replicas for each, state in self.admin.describe_partitions([topic]).items()}

    def log_dir_of(self, partition: TopicPartition, broker: int) -> str | None:
        return next((d.path for d in self.admin.describe_log_dirs([broker]) if partition in d.replicas), None)

    def delete_all(self) -> None:
        self._delete(self._names)


@pytest.fixture(params=["fake", "simulated", pytest.param("real", marks=pytest.mark.integration)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param == "fake":
        dirs = {broker: tuple(f"/b{broker}/disk{n}" for n in (1, 2, 3)) for broker in BROKERS}
        fake = FakeKafka(dict.fromkeys(BROKERS, "rack"), dirs)
        yield Bench(fake, lambda _: None)
        return
    if request.param == "simulated":
        with simulated(dict.fromkeys(BROKERS, "rack"), 3) as (_, control):
            yield Bench(control, lambda _: None)
        return
    cluster = request.getfixturevalue("kafka_cluster").to_cluster(sasl=False)
    with closing(KafkaControl(cluster, CONTROL_S)) as control:

        def delete(names: list[str]) -> None:
            there = {partition.topic for partition in control.describe_partitions(names)}
            data.delete_topics(cluster, sorted(there), PATIENCE_S)

        made = Bench(control, delete)
        yield made
        made.delete_all()


def test_a_topic_is_created_with_its_replicas_and_configuration(bench: Bench) -> None:
    topic = bench.name()
    assert bench.admin.create_topics({topic: NewTopic({0: (1, 2), 1: (3, 1)}, {"retention.ms": "3600000"})}) == {}
    until(lambda: bench.replicas(topic) == {0: (1, 2), 1: (3, 1)})
    until(lambda: bench.admin.describe_configs([(TOPIC, topic)]) == {(TOPIC, topic): {"retention.ms": "3600000"}})


def test_settings_that_are_no_default_say_where_they_are_set(bench: Bench) -> None:
    topic = bench.name()
    bench.admin.create_topics({topic: NewTopic({0: (1, 2)}, {"min.insync.replicas": "2", "retention.ms": "3600000"})})
    until(lambda: topic in bench.admin.topic_settings([topic]))
    found = bench.admin.topic_settings([topic, "no-such-topic"])
    assert found.keys() == {topic}
    keys = [each.key for each in found[topic]]
    assert keys == sorted(keys)
    assert all(each.origin is not ConfigOrigin.DEFAULT for each in found[topic])
    own = {each.key: each for each in found[topic] if each.origin is ConfigOrigin.TOPIC}
    assert {key: each.value for key, each in own.items()} == {"min.insync.replicas": "2", "retention.ms": "3600000"}
    without = own["min.insync.replicas"]
    assert without.otherwise == "min.insync.replicas=1"
    # Where eligible leader replicas are on, controllers set it for all brokers (KIP-966).
    assert without.otherwise_origin in (ConfigOrigin.DEFAULT, ConfigOrigin.BROKER_FILE, ConfigOrigin.ALL_BROKERS)


def test_creating_again_changes_nothing_and_is_no_error(bench: Bench) -> None:
    topic = bench.name()
    bench.admin.create_topics({topic: NewTopic({0: (1, 2)})})
    until(lambda: bench.replicas(topic) == {0: (1, 2)})
    assert bench.admin.create_topics({topic: NewTopic({0: (3, 2), 1: (1, 2)})}) == {}
    assert bench.replicas(topic) == {0: (1, 2)}


def test_validating_says_what_would_be_refused_and_creates_nothing(bench: Bench) -> None:
    there, new, gap = bench.name(), bench.name(), bench.name()
    bench.admin.create_topics({there: NewTopic({0: (1,)})})
    until(lambda: bench.replicas(there))
    asked = {there: NewTopic({0: (1,)}), new: NewTopic({0: (1, 2)}), gap: NewTopic({1: (1,)})}
    assert bench.admin.create_topics(asked, True).keys() == {there, gap}
    assert bench.replicas(new) == {}


@pytest.mark.parametrize(
    "assignments", [{0: (1, 99)}, {0: (1, 2), 1: (3,)}, {1: (1,)}], ids=["no broker", "uneven", "a gap"]
)
def test_a_wrong_topic_is_refused_and_the_others_are_created(
    bench: Bench, assignments: dict[int, tuple[int, ...]]
) -> None:
    wrong, right = bench.name(), bench.name()
    refused = bench.admin.create_topics({wrong: NewTopic(assignments), right: NewTopic({0: (1,)})})
    assert refused.keys() == {wrong}
    assert refused[wrong].startswith("INVALID_REPLICATION_ASSIGNMENT: ")
    until(lambda: bench.replicas(right))
    assert bench.replicas(wrong) == {}


def test_a_topic_that_is_more_than_one_request_may_make_is_refused_by_its_words(bench: Bench) -> None:
    """It can't be sliced as many topics are (guardian.kafka.slices): Kafka makes a topic in one request."""
    topic = bench.name()
    refused = bench.admin.create_topics({topic: NewTopic(dict.fromkeys(range(10_001), (1,)))})
    assert list(refused) == [topic]
    assert "Excessively large number of partitions per request" in refused[topic]
    assert bench.replicas(topic) == {}


def test_the_log_dir_that_was_told_ahead_is_where_a_new_partition_goes(bench: Bench) -> None:
    """Trap 22, before there is even a topic."""
    topic = bench.name()
    chosen = {broker: bench.admin.describe_log_dirs([broker])[-1].path for broker in (1, 2)}
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    bench.admin.alter_replica_log_dirs({(each, b): path for b, path in chosen.items() for each in (first, second)})
    bench.admin.create_topics({topic: NewTopic({0: (1, 2)})})
    until(lambda: all(bench.log_dir_of(first, broker) == path for broker, path in chosen.items()))
    bench.admin.create_partitions({second: (2, 1)})
    until(lambda: all(bench.log_dir_of(second, broker) == path for broker, path in chosen.items()))


def test_partitions_are_added_behind_those_that_are_there(bench: Bench) -> None:
    topic = bench.name()
    bench.admin.create_topics({topic: NewTopic({0: (1, 2)})})
    until(lambda: bench.replicas(topic))
    added = {TopicPartition(topic, 2): (3, 1), TopicPartition(topic, 1): (2, 3)}
    assert bench.admin.create_partitions(added, True) == {}
    assert bench.admin.create_partitions(added) == {}
    until(lambda: bench.replicas(topic) == {0: (1, 2), 1: (2, 3), 2: (3, 1)})
    assert bench.admin.create_partitions(added) == {}
    assert bench.replicas(topic) == {0: (1, 2), 1: (2, 3), 2: (3, 1)}


def test_partitions_of_an_unknown_topic_or_behind_a_gap_are_refused(bench: Bench) -> None:
    topic = bench.name()
    bench.admin.create_topics({topic: NewTopic({0: (1, 2)})})
    until(lambda: bench.replicas(topic))
    refused = bench.admin.create_partitions({TopicPartition(topic, 5): (1, 2), TopicPartition("nowhere", 1): (1,)})
    assert refused.keys() == {topic, "nowhere"}
    assert bench.replicas(topic) == {0: (1, 2)}
    assert bench.admin.create_partitions({}) == bench.admin.create_topics({}) == {}


def test_the_replication_factor_changes_where_it_may(bench: Bench) -> None:
    """Trap 6, on purpose."""
    topic = bench.name()
    bench.admin.create_topics({topic: NewTopic({0: (1, 2), 1: (1, 2)})})
    until(lambda: len(bench.replicas(topic)) == 2)
    more, fewer = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert bench.admin.alter_reassignments({more: (3, 1, 2), fewer: (2,)}).keys() == {more, fewer}
    assert bench.admin.alter_reassignments({more: (3, 1, 2), fewer: (2,)}, True) == {}
    until(lambda: bench.replicas(topic) == {0: (3, 1, 2), 1: (2,)})
    until(lambda: more not in bench.admin.list_reassignments())


def test_a_topic_is_deleted_by_its_id_alone(bench: Bench) -> None:
    topic, other = bench.name(), bench.name()
    assert bench.admin.create_topics({name: NewTopic({0: (1, 2)}) for name in (topic, other)}) == {}
    until(lambda: bench.admin.topic_ids([topic, other]).keys() == {topic, other})
    ids = bench.admin.topic_ids([topic, other])
    assert bench.admin.delete_topics({topic: ids[topic], other: bytes(15) + b"\x07"}) == {}
    until(lambda: not bench.replicas(topic))
    assert bench.admin.delete_topics({topic: ids[topic]}) == {}, "gone already"
    assert bench.replicas(other) == {0: (1, 2)}, "it has another id"


def test_a_topic_made_anew_is_not_deleted_by_the_id_of_before(bench: Bench) -> None:
    topic = bench.name()
    assert bench.admin.create_topics({topic: NewTopic({0: (1, 2)})}) == {}
    until(lambda: topic in bench.admin.topic_ids([topic]))
    before = bench.admin.topic_ids([topic])
    assert bench.admin.delete_topics(before) == {}
    until(lambda: not bench.replicas(topic))
    until(lambda: bench.admin.create_topics({topic: NewTopic({0: (2, 1)})}) == {} and bench.replicas(topic))
    assert bench.admin.delete_topics(before) == {}
    until(lambda: bench.admin.topic_ids([topic]).keys() == {topic})
    assert bench.admin.topic_ids([topic]) != before


def test_what_a_topic_would_not_take_as_configuration_is_told_and_nothing_changes(bench: Bench) -> None:
    topic = bench.name()
    assert bench.admin.create_topics({topic: NewTopic({0: (1, 2)})}) == {}
    until(lambda: bench.replicas(topic))
    refused = bench.admin.refused_topic_configs({topic: {"retention.ms": "soon"}})
    assert refused.keys() == {topic}
    assert "Invalid value soon for configuration retention.ms" in refused[topic]
    assert bench.admin.refused_topic_configs({topic: {"retention.ms": "3600000"}}) == {}
    assert bench.admin.describe_configs([(TOPIC, topic)]) == {(TOPIC, topic): {}}
