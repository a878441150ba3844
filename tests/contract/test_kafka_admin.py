"""What every KafkaAdmin does: one suite, on the fake, on simulated brokers and on real brokers.

The traps are those of KAFKA.md. Brokers are 1, 2 and 3 with three log dirs each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

import pytest

from guardian.errors import GuardianError, InvalidInput
from guardian.kafka import data
from guardian.kafka.admin import BROKER, TOPIC, ConfigResource, KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.kafka.fake import FakeKafka
from guardian.model.cluster_state import BrokerView, LogDir, Reassignment
from guardian.model.effects import NewTopic, names_brokers
from guardian.model.quota import QuotaEntity
from guardian.model.topology import Cluster, TopicPartition
from tests.patience import CONTROL_S, PATIENCE_S, until
from tests.simulated import simulated

BROKERS = (1, 2, 3)
RACKS = {1: "shanghai-a", 2: "shanghai-b", 3: "suzhou-a"}
SIZE_BYTES = 6_000_000
CRAWL = "1000"  # bytes/s: what is under way stays under way

CreateTopic = Callable[[Mapping[int, tuple[int, ...]], int], str]


class Bench:
    """A cluster to try things on: the admin under test, and the hands that create topics."""

    def __init__(self, admin: KafkaAdmin, create_topic: CreateTopic) -> None:
        self.admin = admin
        self._create_topic = create_topic

    def topic(self, *replicas: tuple[int, ...], size_bytes: int = 0) -> str:
        """A topic with these replicas per partition and so many bytes in partition 0."""
        return self._create_topic(dict(enumerate(replicas)), size_bytes)

    def replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        return self.admin.describe_partitions([partition.topic])[partition].replicas

    def leader(self, partition: TopicPartition) -> int:
        return self.admin.describe_partitions([partition.topic])[partition].leader

    def id_of(self, topic: str) -> bytes:
        until(lambda: topic in self.admin.topic_ids([topic]))
        return self.admin.topic_ids([topic])[topic]

    def seen_by_all(self, *topic_ids: bytes) -> dict[int, BrokerView]:
        """What each broker says, once all have answered; there is no broker 99."""
        seen: dict[int, BrokerView] = {}
        until(lambda: seen.update(self.admin.seen_by([*BROKERS, 99], topic_ids)) or seen.keys() >= set(BROKERS))
        return seen

    def led_by(self, topic_id: bytes, partition: int) -> dict[int, int]:
        """By broker, who leads as that one says."""
        seen = self.admin.seen_by(BROKERS, [topic_id])
        return {broker: each.leaders[topic_id, partition].leader for broker, each in seen.items() if each.leaders}

    def log_dirs(self, broker: int) -> tuple[LogDir, ...]:
        return self.admin.describe_log_dirs([broker])

    def log_dir_of(self, partition: TopicPartition, broker: int) -> str | None:
        return next((d.path for d in self.log_dirs(broker) if partition in d.replicas), None)

    def future_of(self, partition: TopicPartition, broker: int) -> str | None:
        return next((d.path for d in self.log_dirs(broker) if partition in d.future_replicas), None)

    def other_log_dir(self, partition: TopicPartition, broker: int) -> str:
        return next(d.path for d in self.log_dirs(broker) if partition not in d.replicas)

    def hold_back(self, partition: TopicPartition) -> None:
        """Throttles every replica of the partition, present or to come, to a crawl."""
        listed = ",".join(f"{partition.partition}:{broker}" for broker in BROKERS)
        changes: dict[ConfigResource, dict[str, str | None]] = {
            (BROKER, str(broker)): {
                "leader.replication.throttled.rate": CRAWL,
                "follower.replication.throttled.rate": CRAWL,
            }
            for broker in BROKERS
        }
        changes[TOPIC, partition.topic] = {
            "leader.replication.throttled.replicas": listed,
            "follower.replication.throttled.replicas": listed,
        }
        assert self.admin.alter_configs(changes) == {}
        until(lambda: all(self.config(resource) == values for resource, values in changes.items()))

    def release(self) -> None:
        keys = (
            "leader.replication.throttled.rate",
            "follower.replication.throttled.rate",
            "replica.alter.log.dirs.io.max.bytes.per.second",
        )
        brokers = [(BROKER, str(broker)) for broker in BROKERS]
        assert self.admin.alter_configs({broker: dict.fromkeys(keys) for broker in brokers}) == {}
        until(lambda: not any(self.config(broker) for broker in brokers))

    def config(self, resource: ConfigResource) -> Mapping[str, str]:
        return self.admin.describe_configs([resource])[resource]


@pytest.fixture(params=["fake", "simulated", pytest.param("real", marks=pytest.mark.integration)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param == "fake":
        dirs = {broker: tuple(f"/b{broker}/disk{n}" for n in (1, 2, 3)) for broker in BROKERS}
        fake = FakeKafka(RACKS, dirs)
        yield _fake_bench(fake, fake)
        return
    if request.param == "simulated":
        with simulated(RACKS, 3) as (truth, control):
            yield _fake_bench(truth, control)
        return
    cluster = request.getfixturevalue("kafka_cluster").to_cluster(sasl=False)
    with closing(KafkaControl(cluster, CONTROL_S)) as control:
        bench = _real_bench(cluster, control)
        yield bench
        bench.release()
        for partition in control.list_reassignments():
            control.alter_reassignments({partition: None})


_NUMBERS = itertools.count()


def _fake_bench(fake: FakeKafka, admin: KafkaAdmin) -> Bench:
    def create_topic(assignments: Mapping[int, tuple[int, ...]], size_bytes: int) -> str:
        name = f"topic{next(_NUMBERS)}"
        fake.create_topic(name, assignments, size_bytes)
        return name

    return Bench(admin, create_topic)


def _real_bench(cluster: Cluster, control: KafkaControl) -> Bench:
    def create_topic(assignments: Mapping[int, tuple[int, ...]], size_bytes: int) -> str:
        name = f"topic{next(_NUMBERS)}"
        data.create_topics(cluster, {name: assignments}, {}, PATIENCE_S)
        producer = data.producer(cluster, acks="all", linger_ms=50)
        for _ in range(size_bytes // 10_000):
            producer.produce(name, bytes(10_000), partition=0)
        assert producer.flush(PATIENCE_S) == 0
        return name

    return Bench(control, create_topic)


# Reading.


def test_the_cluster_is_described_with_its_brokers_and_racks(bench: Bench) -> None:
    description = bench.admin.describe_cluster()
    assert description.cluster_id
    assert {broker: node.rack for broker, node in description.brokers.items()} == RACKS
    assert all(node.id == broker and node.host and node.port for broker, node in description.brokers.items())


def test_partitions_are_described_and_a_topic_that_does_not_exist_is_left_out(bench: Bench) -> None:
    topic = bench.topic((1, 2), (2, 3))
    described = bench.admin.describe_partitions([topic, "no-such-topic"])
    assert described.keys() == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    state = described[TopicPartition(topic, 0)]
    assert (state.leader, state.replicas, set(state.isr)) == (1, (1, 2), {1, 2})


def test_all_partitions_are_described_when_no_topic_is_named(bench: Bench) -> None:
    topics = {bench.topic((1, 2)), bench.topic((2, 3))}
    assert topics <= {partition.topic for partition in bench.admin.describe_partitions()}
    assert bench.admin.describe_partitions([]) == {}


def test_topics_have_ids_and_one_that_does_not_exist_is_left_out(bench: Bench) -> None:
    first, second = bench.topic((1,)), bench.topic((2,))
    ids: dict[str, bytes] = {}
    until(lambda: ids.update(bench.admin.topic_ids([first, second, "no-such-topic"])) or len(ids) == 2)
    assert {len(each) for each in ids.values()} == {16}
    assert ids[first] != ids[second]
    assert bench.admin.topic_ids([]) == {}


def test_each_broker_says_who_leads_and_in_which_epoch(bench: Bench) -> None:
    topic = bench.topic((1, 2), (3, 1))
    topic_id = bench.id_of(topic)
    unknown = bytes(15) + b"\x99"
    until(lambda: bench.led_by(topic_id, 0) == dict.fromkeys(BROKERS, 1))
    seen = bench.seen_by_all(topic_id, unknown)
    assert seen.keys() == {1, 2, 3}
    assert seen[1].brokers == {1, 2, 3}
    assert {name: each.leader for name, each in seen[1].leaders.items()} == {(topic_id, 0): 1, (topic_id, 1): 3}
    assert seen[2] == seen[3] == seen[1]
    until(lambda: bench.admin.seen_by([2], [topic_id]).keys() == {2})


def test_a_change_of_leader_has_a_higher_epoch_on_every_broker(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2)), 0)
    topic_id = bench.id_of(partition.topic)
    until(lambda: bench.led_by(topic_id, 0) == dict.fromkeys(BROKERS, 1))
    before = bench.seen_by_all(topic_id)[3].leaders[topic_id, 0]
    assert bench.admin.alter_reassignments({partition: (2, 1)}) == {}
    until(lambda: bench.replicas(partition) == (2, 1))
    until(lambda: bench.admin.elect_preferred_leaders([partition]) == {})
    until(lambda: bench.led_by(topic_id, 0) == dict.fromkeys(BROKERS, 2))
    after = {each.leaders[topic_id, 0].epoch for each in bench.seen_by_all(topic_id).values()}
    assert len(after) == 1
    assert after.pop() > before.epoch


def test_log_dirs_show_each_replica_once_and_an_unknown_broker_is_left_out(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    log_dirs = bench.admin.describe_log_dirs([1, 2, 3, 99])
    assert sorted(log_dir.broker for log_dir in log_dirs) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert all(log_dir.error == "" for log_dir in log_dirs)
    holding = [log_dir for log_dir in log_dirs if partition in log_dir.replicas]
    assert [log_dir.broker for log_dir in holding] == [1, 2]
    assert all(log_dir.replicas[partition].size_bytes >= SIZE_BYTES for log_dir in holding)
    assert not any(log_dir.future_replicas for log_dir in log_dirs)


def test_log_dirs_show_the_replicas_that_are_asked_for_alone(bench: Bench) -> None:
    partition, other = TopicPartition(bench.topic((1, 2)), 0), TopicPartition(bench.topic((1, 2)), 0)
    everything = bench.admin.describe_log_dirs([1, 3])
    assert {name for each in everything for name in each.replicas} >= {partition, other}
    asked = bench.admin.describe_log_dirs([1, 3], [partition])
    assert [(each.broker, each.path) for each in asked] == [(each.broker, each.path) for each in everything]
    assert {name for each in asked for name in each.replicas} == {partition}
    assert not any(each.replicas for each in bench.admin.describe_log_dirs([1, 3], []))


# Reassignments.


def test_a_reassignment_ends_with_the_target_replicas_in_sync(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    assert bench.admin.alter_reassignments({partition: (3, 2)}) == {}
    until(lambda: partition not in bench.admin.list_reassignments() and bench.replicas(partition) == (3, 2))
    state = bench.admin.describe_partitions([partition.topic])[partition]
    assert set(state.isr) == {2, 3}
    assert state.leader in (2, 3)
    until(lambda: bench.log_dir_of(partition, 1) is None)
    assert bench.log_dir_of(partition, 3) is not None


def test_a_reassignment_in_flight_is_listed_with_the_union_of_replicas(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    bench.hold_back(partition)
    assert bench.admin.alter_reassignments({partition: (3, 2)}) == {}
    assert bench.admin.list_reassignments() == {partition: Reassignment((3, 2, 1), (3,), (1,))}


def test_a_reassignment_in_flight_ends_when_its_throttle_goes(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    bench.hold_back(partition)
    bench.admin.alter_reassignments({partition: (3, 2)})
    assert partition in bench.admin.list_reassignments()
    bench.release()
    until(lambda: partition not in bench.admin.list_reassignments())
    until(lambda: bench.replicas(partition) == (3, 2))


def test_cancelling_restores_the_replicas_but_not_their_order(bench: Bench) -> None:
    """Trap 4: the replicas come back in the order that the reassignment left; the original is submitted again."""
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    bench.hold_back(partition)
    bench.admin.alter_reassignments({partition: (3, 2)})
    assert bench.admin.alter_reassignments({partition: None}) == {}
    until(lambda: partition not in bench.admin.list_reassignments())
    until(lambda: bench.replicas(partition) == (2, 1))
    assert bench.admin.alter_reassignments({partition: (1, 2)}) == {}
    until(lambda: bench.replicas(partition) == (1, 2))
    assert bench.admin.list_reassignments() == {}


def test_cancelling_where_nothing_is_in_flight_is_no_error(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2)), 0)
    assert bench.admin.alter_reassignments({partition: None}) == {}
    assert bench.replicas(partition) == (1, 2)


def test_a_reassignment_never_changes_the_replication_factor(bench: Bench) -> None:
    """Trap 6: Kafka itself would accept it."""
    topic = bench.topic((1, 2), (2, 3), (1, 3))
    fewer, more, same = (TopicPartition(topic, number) for number in range(3))
    refused = bench.admin.alter_reassignments({fewer: (1,), more: (2, 3, 1), same: (3, 1)})
    assert refused.keys() == {fewer, more}
    assert all(refused.values())
    until(lambda: bench.replicas(same) == (3, 1))
    assert (bench.replicas(fewer), bench.replicas(more)) == ((1, 2), (2, 3))


def test_a_reassignment_in_flight_may_get_another_target_of_the_same_replication_factor(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    bench.hold_back(partition)
    assert bench.admin.alter_reassignments({partition: (3, 2)}) == {}
    assert bench.admin.alter_reassignments({partition: (3, 2, 1)}).keys() == {partition}
    assert bench.admin.alter_reassignments({partition: (3, 1)}) == {}


def test_unknown_topics_and_brokers_are_refused_one_by_one(bench: Bench) -> None:
    topic = bench.topic((1, 2), (1, 2))
    fine, unknown_broker = TopicPartition(topic, 0), TopicPartition(topic, 1)
    unknown_partition, unknown_topic = TopicPartition(topic, 7), TopicPartition("no-such-topic", 0)
    refused = bench.admin.alter_reassignments(
        {fine: (2, 1), unknown_broker: (1, 99), unknown_partition: (1, 2), unknown_topic: (1, 2)}
    )
    assert refused.keys() == {unknown_broker, unknown_partition, unknown_topic}
    assert [each for each, why in refused.items() if names_brokers(why)] == [unknown_broker]
    until(lambda: bench.replicas(fine) == (2, 1))
    assert bench.admin.alter_reassignments({unknown_topic: None}).keys() == {unknown_topic}
    assert bench.admin.alter_reassignments({}) == {}


# Leaders.


def test_the_preferred_leader_is_elected_on_request_only(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2)), 0)
    bench.admin.alter_reassignments({partition: (2, 1)})
    until(lambda: bench.replicas(partition) == (2, 1))
    assert bench.leader(partition) == 1
    assert bench.admin.elect_preferred_leaders([partition]) == {}
    until(lambda: bench.leader(partition) == 2)


def test_an_election_that_is_not_needed_is_no_error_and_an_unknown_partition_is(bench: Bench) -> None:
    """Trap 11."""
    partition, unknown = TopicPartition(bench.topic((1, 2)), 0), TopicPartition("no-such-topic", 0)
    assert bench.admin.elect_preferred_leaders([partition, unknown]).keys() == {unknown}
    assert bench.admin.elect_preferred_leaders([]) == {}


def test_a_preferred_leader_that_is_not_in_sync_is_refused(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    bench.hold_back(partition)
    bench.admin.alter_reassignments({partition: (3, 2)})
    assert bench.admin.elect_preferred_leaders([partition]).keys() == {partition}
    assert bench.leader(partition) == 1


# Log dirs.


def test_a_replica_moves_to_another_log_dir_of_its_broker(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    target = bench.other_log_dir(partition, 1)
    elsewhere = bench.log_dir_of(partition, 2)
    assert bench.admin.alter_replica_log_dirs({(partition, 1): target}) == {}
    until(lambda: bench.log_dir_of(partition, 1) == target and bench.future_of(partition, 1) is None)
    assert bench.log_dir_of(partition, 2) == elsewhere


def test_moving_back_to_the_present_log_dir_cancels_the_move(bench: Bench) -> None:
    """Trap 12: until then the copy shows as a future replica with its lag."""
    partition = TopicPartition(bench.topic((1, 2), size_bytes=SIZE_BYTES), 0)
    present, target = bench.log_dir_of(partition, 1), bench.other_log_dir(partition, 1)
    assert present is not None
    broker = (BROKER, "1")
    assert bench.admin.alter_configs({broker: {"replica.alter.log.dirs.io.max.bytes.per.second": CRAWL}}) == {}
    until(lambda: bench.config(broker))
    assert bench.admin.alter_replica_log_dirs({(partition, 1): target}) == {}
    until(lambda: bench.future_of(partition, 1) == target)
    future = next(d.future_replicas[partition] for d in bench.log_dirs(1) if d.path == target)
    assert future.is_future
    assert future.lag > 0
    assert bench.log_dir_of(partition, 1) == present
    assert bench.admin.alter_replica_log_dirs({(partition, 1): present}) == {}
    until(lambda: bench.future_of(partition, 1) is None)
    assert bench.log_dir_of(partition, 1) == present


def test_impossible_log_dir_moves_are_refused_one_by_one(bench: Bench) -> None:
    partition = TopicPartition(bench.topic((1, 2)), 0)
    fine = bench.other_log_dir(partition, 1)
    refused = bench.admin.alter_replica_log_dirs(
        {(partition, 1): fine, (partition, 2): "/no/such/dir", (partition, 99): "/any"}
    )
    assert refused.keys() == {(partition, 2), (partition, 99)}
    until(lambda: bench.log_dir_of(partition, 1) == fine)


@pytest.mark.parametrize("disk", [0, 1, 2])
def test_a_log_dir_chosen_before_the_reassignment_receives_the_replica(bench: Bench, disk: int) -> None:
    """Trap 22: the broker answers an error, for it has no such replica yet, and remembers the log dir."""
    partition = TopicPartition(bench.topic((1, 2)), 0)
    target = sorted(log_dir.path for log_dir in bench.log_dirs(3))[disk]
    assert bench.admin.alter_replica_log_dirs({(partition, 3): target}).keys() == {(partition, 3)}
    assert bench.admin.alter_reassignments({partition: (3, 2)}) == {}
    until(lambda: bench.replicas(partition) == (3, 2))
    until(lambda: bench.log_dir_of(partition, 3) is not None)
    assert bench.log_dir_of(partition, 3) == target


# Configurations.


def test_configurations_are_set_read_and_deleted_on_one_resource(bench: Bench) -> None:
    topic = bench.topic((1, 2))
    broker, other, of_topic = (BROKER, "1"), (BROKER, "2"), (TOPIC, topic)
    rate, replicas = "leader.replication.throttled.rate", "leader.replication.throttled.replicas"
    assert bench.admin.alter_configs({broker: {rate: "5000000"}, of_topic: {replicas: "0:1,0:2"}}) == {}
    until(lambda: bench.config(broker) and bench.config(of_topic))
    assert bench.admin.describe_configs([broker, other, of_topic]) == {
        broker: {rate: "5000000"},
        other: {},
        of_topic: {replicas: "0:1,0:2"},
    }
    assert bench.admin.alter_configs({broker: {rate: "6000000"}, of_topic: {replicas: None}}) == {}
    until(lambda: bench.config(broker) == {rate: "6000000"} and bench.config(of_topic) == {})
    assert bench.admin.alter_configs({broker: {rate: None}}) == {}
    until(lambda: bench.config(broker) == {})


def test_a_broker_is_cordoned_and_back_in_use(bench: Bench) -> None:
    """Where Kafka knows no cordons the key is missing from the values in force, and setting it would do nothing."""
    broker, key = (BROKER, "3"), "cordoned.log.dirs"
    assert bench.admin.effective_configs([broker], [key]) == {broker: {key: ""}}
    assert bench.admin.alter_configs({broker: {key: "*"}}) == {}
    until(lambda: bench.admin.effective_configs([broker], [key]) == {broker: {key: "*"}})
    assert bench.config(broker) == {key: "*"}
    assert bench.admin.alter_configs({broker: {key: None}}) == {}
    until(lambda: bench.config(broker) == {})
    assert bench.admin.effective_configs([broker], [key]) == {broker: {key: ""}}


def test_the_values_in_force_are_those_set_and_defaults_otherwise(bench: Bench) -> None:
    topic = (TOPIC, bench.topic((1, 2)))
    rate = "leader.replication.throttled.rate"
    keys = {"min.insync.replicas", "replica.lag.time.max.ms", rate, "no.such.key"}
    assert bench.admin.alter_configs({(BROKER, "1"): {rate: "1000000"}}) == {}
    until(lambda: bench.config((BROKER, "1")))
    found = bench.admin.effective_configs([topic, (BROKER, "1"), (BROKER, "99"), (TOPIC, "no-such-topic")], keys)
    assert found.keys() == {topic, (BROKER, "1")}
    assert found[topic].keys() == {"min.insync.replicas"}
    assert int(found[topic]["min.insync.replicas"]) >= 1
    assert found[BROKER, "1"] | {"min.insync.replicas": "-"} == {
        "replica.lag.time.max.ms": "30000",
        rate: "1000000",
        "min.insync.replicas": "-",
    }


def test_several_keys_of_several_brokers_are_set_in_one_call(bench: Bench) -> None:
    values: dict[str, str | None] = {
        "leader.replication.throttled.rate": "1000001",
        "follower.replication.throttled.rate": "1000002",
        "replica.alter.log.dirs.io.max.bytes.per.second": "1000003",
    }
    brokers = [(BROKER, str(broker)) for broker in BROKERS]
    assert bench.admin.alter_configs(dict.fromkeys(brokers, values)) == {}
    until(lambda: bench.admin.describe_configs(brokers) == dict.fromkeys(brokers, values))
    rate = "leader.replication.throttled.rate"
    of_one_key = bench.admin.describe_configs([*brokers, (BROKER, "99")], {rate, "message.max.bytes"})
    assert of_one_key == {broker: {rate: "1000001"} for broker in brokers}
    assert bench.admin.describe_configs(brokers[:1], ()) == {brokers[0]: {}}


def test_deleting_a_key_that_is_not_set_is_no_error(bench: Bench) -> None:
    topic = bench.topic((1, 2))
    assert bench.admin.alter_configs({(TOPIC, topic): {"follower.replication.throttled.replicas": None}}) == {}
    assert bench.config((TOPIC, topic)) == {}


def test_configurations_of_what_does_not_exist_are_left_out_and_refused(bench: Bench) -> None:
    broker, topic = (BROKER, "99"), (TOPIC, "no-such-topic")
    assert bench.admin.describe_configs([broker, topic, (BROKER, "1")]).keys() == {(BROKER, "1")}
    refused = bench.admin.alter_configs(
        {
            broker: {"leader.replication.throttled.rate": "1"},
            topic: {"leader.replication.throttled.replicas": "0:1"},
            (BROKER, "1"): {"leader.replication.throttled.rate": "1000000"},
        }
    )
    assert refused.keys() == {broker, topic}
    until(lambda: bench.config((BROKER, "1")) == {"leader.replication.throttled.rate": "1000000"})


@pytest.mark.parametrize("key", ["leader.replication.throttled.rates", "retention.ms", "log.dirs", ""])
def test_a_key_outside_the_allow_list_is_refused_before_anything_is_sent(bench: Bench, key: str) -> None:
    """Trap 2: a broker accepts a misspelt throttle in silence."""
    with pytest.raises(InvalidInput, match=repr(key)):
        bench.admin.alter_configs(
            {(BROKER, "1"): {"leader.replication.throttled.rate": "1"}, (BROKER, "2"): {key: "1"}}
        )
    assert bench.admin.describe_configs([(BROKER, "1"), (BROKER, "2")]) == {(BROKER, "1"): {}, (BROKER, "2"): {}}


def test_a_controller_configures_brokers_whether_they_live_or_not(bench: Bench) -> None:
    """Trap 20: nobody else can. Of a broker that is not registered there is nothing to say."""
    broker = (BROKER, "3")
    changes = {broker: {"follower.replication.throttled.rate": "1000003"}, (BROKER, "99"): {}}
    assert bench.admin.alter_configs_through_controller(changes) == {}
    until(lambda: bench.config(broker) == {"follower.replication.throttled.rate": "1000003"})
    assert bench.admin.alter_configs_through_controller({broker: {"follower.replication.throttled.rate": None}}) == {}
    until(lambda: bench.config(broker) == {})
    with pytest.raises(InvalidInput, match="retention"):
        bench.admin.alter_configs_through_controller({broker: {"retention.ms": "1"}})


class NotProven(GuardianError):
    """What whoever leads no longer is told."""


def test_nothing_is_changed_that_is_not_proven(bench: Bench) -> None:
    """Whoever leads no longer must not change what the new leader has decided otherwise."""
    admin, topic = bench.admin, bench.topic((1, 2))
    partition, made = TopicPartition(topic, 0), f"{topic}-made"
    until(lambda: partition in admin.describe_partitions([topic]))
    before = admin.describe_partitions([topic])
    listed: dict[ConfigResource, dict[str, str | None]] = {
        (TOPIC, topic): {"leader.replication.throttled.replicas": "0:1"}
    }
    rate: dict[ConfigResource, dict[str, str | None]] = {(BROKER, "1"): {"leader.replication.throttled.rate": CRAWL}}
    changes: tuple[Callable[[], object], ...] = (
        lambda: admin.alter_reassignments({partition: (3, 2)}),
        lambda: admin.alter_reassignments({partition: (1,)}, replication_factor_may_change=True),
        lambda: admin.alter_replica_log_dirs({(partition, 1): bench.other_log_dir(partition, 1)}),
        lambda: admin.elect_preferred_leaders([partition]),
        lambda: admin.alter_configs(listed),
        lambda: admin.alter_configs(rate),
        lambda: admin.alter_configs_through_controller(rate),
        lambda: admin.create_topics({made: NewTopic({0: (1, 2)})}),
        lambda: admin.create_partitions({TopicPartition(topic, 1): (1, 2)}),
        lambda: admin.alter_client_quotas({QuotaEntity(client_id="c"): {"consumer_byte_rate": 1e6}}),
        lambda: admin.unregister_broker(99),
        lambda: admin.raise_metadata_version(1),
    )

    def refuse() -> None:
        raise NotProven

    with admin.each_change_proven_by(refuse):
        for change in changes:
            with pytest.raises(NotProven):
                change()
        assert admin.describe_partitions([topic]) == before
    assert (bench.config((TOPIC, topic)), bench.config((BROKER, "1"))) == ({}, {})
    assert made not in admin.topic_ids([made])
    assert admin.describe_client_quotas() == {}
    with admin.each_change_proven_by(lambda: None):
        assert admin.alter_configs(listed) == {}
    until(lambda: bench.config((TOPIC, topic)) == listed[TOPIC, topic])
