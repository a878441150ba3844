"""KafkaControl against brokers that refuse, die, hang and come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import admin as confluent_admin
from confluent_kafka.cimpl import NewPartitions
from kafka.net.transport import KafkaTCPTransport

from deploy.local.kafka_cluster import KafkaCluster
from guardian.errors import ClusterUnavailable, GuardianError
from guardian.kafka import data
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.control import KafkaControl
from guardian.kafka.credentials import SecretFolder
from guardian.model.topology import Cluster, ClusterSecurity, SecurityProtocol, TopicPartition
from tests.freezing import frozen
from tests.patience import HANGING_S, PATIENCE_S, until

pytestmark = pytest.mark.integration

TIMEOUT_S = 6.0
ALTER_PARTITION_REASSIGNMENTS = 45
RATE = "leader.replication.throttled.rate"
RECORD_BYTES = 500_000
LISTED = "leader.replication.throttled.replicas"

NewTopic = Callable[[], str]


@pytest.fixture
def control(kafka_cluster: KafkaCluster) -> Iterator[KafkaControl]:
    with closing(KafkaControl(Cluster("live", kafka_cluster.bootstrap), HANGING_S)) as control:
        yield control


def with_login(kafka: KafkaCluster) -> Cluster:
    security = ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "SCRAM-SHA-512", "guardian", "password")
    return Cluster("live", kafka.sasl_bootstrap, security=security)


def control_with(kafka: KafkaCluster, folder: Path, password: str) -> KafkaControl:
    (folder / "password").write_text(password)
    return KafkaControl(with_login(kafka), TIMEOUT_S, secrets=SecretFolder(folder))


def sentence_of(cluster: Cluster, timeout_s: float = TIMEOUT_S, secrets: Path | None = None) -> str:
    with (
        closing(KafkaControl(cluster, timeout_s, secrets=SecretFolder(secrets))) as control,
        pytest.raises(ClusterUnavailable) as failure,
    ):
        control.describe_cluster()
    return str(failure.value)


def test_the_right_password_is_accepted(kafka_cluster: KafkaCluster, tmp_path: Path) -> None:
    with closing(control_with(kafka_cluster, tmp_path, kafka_cluster.sasl_password_file.read_text())) as control:
        assert control.describe_cluster().cluster_id == kafka_cluster.cluster_id


@pytest.mark.parametrize("attempt", range(5))
def test_a_wrong_password_is_told_as_such_and_not_as_a_time_out(
    kafka_cluster: KafkaCluster, tmp_path: Path, attempt: int
) -> None:
    """KAFKA.md, trap 10. Several attempts, for the refusal races with the end of the connection."""
    (tmp_path / "password").write_text("wrong\n")
    assert sentence_of(with_login(kafka_cluster), secrets=tmp_path) == (
        f"cluster live at {kafka_cluster.sasl_bootstrap} refuses the login of 'guardian': "
        "check username, sasl_mechanism and the password in the secret password"
    )


def test_a_password_that_is_put_right_is_read_by_the_next_call(kafka_cluster: KafkaCluster, tmp_path: Path) -> None:
    with closing(control_with(kafka_cluster, tmp_path, "wrong\n")) as control:
        with pytest.raises(ClusterUnavailable):
            control.describe_cluster()
        (tmp_path / "password").write_text(kafka_cluster.sasl_password_file.read_text())
        assert control.describe_cluster().cluster_id == kafka_cluster.cluster_id


def test_a_login_where_none_is_asked_for_is_told(kafka_cluster: KafkaCluster) -> None:
    wrong_port = replace(kafka_cluster.to_cluster(), bootstrap=kafka_cluster.bootstrap)
    sentence = sentence_of(wrong_port, secrets=kafka_cluster.secrets_folder)
    assert "asks for no login, but security.protocol is SASL_PLAINTEXT" in sentence


def test_a_missing_login_names_the_protocol(kafka_cluster: KafkaCluster) -> None:
    assert sentence_of(Cluster("live", kafka_cluster.sasl_bootstrap), 2.0).endswith(
        "within 2 s: no answer; either it is down or that port does not speak PLAINTEXT"
    )


def test_one_bootstrap_endpoint_that_is_down_does_no_harm(kafka_cluster: KafkaCluster) -> None:
    bootstrap = f"127.0.0.1:1,{kafka_cluster.broker(2).listener}"
    with closing(KafkaControl(Cluster("live", bootstrap), TIMEOUT_S)) as control:
        assert control.describe_cluster().cluster_id == kafka_cluster.cluster_id


def test_a_killed_broker_is_left_out_and_comes_back(
    kafka_cluster: KafkaCluster, control: KafkaControl, new_topic: NewTopic
) -> None:
    """One control all along, bootstrapped by the broker that dies among others."""
    topic = new_topic()
    data.create_topics(Cluster("live", kafka_cluster.bootstrap), {topic: {0: (3, 1), 1: (1, 2)}}, {}, PATIENCE_S)
    partition, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert {log_dir.broker for log_dir in control.describe_log_dirs([1, 2, 3])} == {1, 2, 3}

    kafka_cluster.kill_broker(3)
    assert {log_dir.broker for log_dir in control.describe_log_dirs([1, 2, 3])} == {1, 2}
    until(lambda: set(control.describe_cluster().brokers) == {1, 2})
    until(lambda: control.describe_partitions([topic])[partition].leader == 1)
    assert control.describe_configs([(BROKER, "1"), (BROKER, "3")]).keys() == {(BROKER, "1")}
    refused = control.alter_configs({(BROKER, "3"): {RATE: "1"}, (BROKER, "1"): {RATE: None}})
    assert refused.keys() == {(BROKER, "3")}
    assert refused[BROKER, "3"].startswith("broker 3 does not answer: ")
    assert control.alter_replica_log_dirs({(partition, 3): "/any"}).keys() == {(partition, 3)}
    assert control.alter_reassignments({other: (2, 1)}) == {}
    until(lambda: control.describe_partitions([topic])[other].replicas == (2, 1))

    kafka_cluster.start_broker(3)
    until(lambda: set(control.describe_cluster().brokers) == {1, 2, 3})
    until(lambda: {log_dir.broker for log_dir in control.describe_log_dirs([1, 2, 3])} == {1, 2, 3})
    until(lambda: set(control.describe_partitions([topic])[partition].isr) == {1, 3})
    assert control.alter_configs({(BROKER, "3"): {RATE: None}}) == {}


@pytest.mark.parametrize("broker", [1, 2, 3])
def test_no_single_broker_that_dies_stops_the_control(
    kafka_cluster: KafkaCluster, control: KafkaControl, broker: int
) -> None:
    control.describe_cluster()
    kafka_cluster.kill_broker(broker)
    for _ in range(5):
        assert control.describe_cluster().cluster_id == kafka_cluster.cluster_id
        control.list_reassignments()
        control.describe_partitions()


@contextmanager
def hanging(kafka: KafkaCluster, broker: int) -> Iterator[None]:
    pid = kafka.broker(broker).pid
    assert pid is not None
    with frozen(pid):
        yield


@contextmanager
def throttled(control: KafkaControl, values: dict[tuple[str, str], dict[str, str]]) -> Iterator[None]:
    """No broker has to hang for a move to take long: one that does is fenced after a while, and places nothing."""
    assert control.alter_configs(values) == {}
    until(lambda: control.describe_configs(list(values)) == values)
    try:
        yield
    finally:
        assert control.alter_configs({key: dict.fromkeys(named) for key, named in values.items()}) == {}


def test_a_broker_that_hangs_is_left_out(kafka_cluster: KafkaCluster, control: KafkaControl) -> None:
    control.describe_log_dirs([1, 2, 3])
    cluster = Cluster("live", kafka_cluster.bootstrap)

    def seen_by(asked: KafkaControl) -> set[int]:
        return {log_dir.broker for log_dir in asked.describe_log_dirs([1, 2, 3])}

    with (
        closing(KafkaControl(cluster, TIMEOUT_S)) as impatient,
        closing(KafkaControl(cluster, 3 * PATIENCE_S)) as patient,
        ThreadPoolExecutor(1) as pool,
    ):
        for asked in (impatient, patient):
            until(lambda asked=asked: seen_by(asked) == {1, 2, 3}, despite=(ClusterUnavailable,))  # type: ignore[misc]
        with hanging(kafka_cluster, 2):
            waits = pool.submit(seen_by, patient)
            until(lambda: seen_by(impatient) == {1, 3}, despite=(ClusterUnavailable,))
            assert not waits.done(), "it was not the broker that came back, nor was the connection cut"
        assert {1, 3} <= waits.result(PATIENCE_S)
    until(lambda: {log_dir.broker for log_dir in control.describe_log_dirs([1, 2, 3])} == {1, 2, 3})
    until(lambda: set(control.describe_cluster().brokers) == {1, 2, 3})


def test_a_broker_that_hangs_does_not_hold_up_a_look_at_the_others(kafka_cluster: KafkaCluster) -> None:
    """It takes connections and questions, as one whose disk hangs; nobody has fenced it yet."""
    both = [(BROKER, str(broker)) for broker in (1, 2)]
    cluster = Cluster("live", kafka_cluster.bootstrap)
    with closing(KafkaControl(cluster, PATIENCE_S, broker_timeout_s=1.0)) as control:
        until(lambda: control.describe_configs(both).keys() == set(both))
        until(lambda: {log_dir.broker for log_dir in control.describe_log_dirs([1, 2, 3])} == {1, 2, 3})
        with hanging(kafka_cluster, 2):
            started = time.monotonic()
            # One that is only busy may be late for a second, too.
            until(lambda: control.describe_configs(both).keys() == {(BROKER, "1")})
            until(lambda: {log_dir.broker for log_dir in control.describe_log_dirs([1, 2, 3])} == {1, 3})
            assert control.alter_configs({(BROKER, "1"): {RATE: "1000"}}) == {}
            assert time.monotonic() - started < PATIENCE_S / 3, "who waits for one broker waits for a third of the call"
        until(lambda: control.describe_configs(both).keys() == set(both))
        until(lambda: {log_dir.broker for log_dir in control.describe_log_dirs([1, 2, 3])} == {1, 2, 3})
        assert control.alter_configs({(BROKER, "1"): {RATE: None}}) == {}


class NotProven(GuardianError):
    """What whoever leads no longer is told."""


class Proven:
    """Proven so many times, and no more."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> None:
        if self.left == 0:
            raise NotProven
        self.left -= 1


def test_a_change_that_a_hanging_broker_swallows_is_not_sent_again_by_who_leads_no_longer(
    kafka_cluster: KafkaCluster, control: KafkaControl, new_topic: NewTopic
) -> None:
    """What was sent may still come to be; the rates, which come after it, do not, and the next call goes on."""
    listed = {(TOPIC, new_topic()): {LISTED: "0:1"}}
    rates = {(BROKER, str(broker)): {RATE: "1000"} for broker in (1, 3)}
    proof = Proven(1)
    control.describe_log_dirs([2])  # the one open connection now
    with hanging(kafka_cluster, 2):
        with pytest.raises(NotProven), control.each_change_proven_by(proof):
            control.alter_configs({**listed, **rates})
        assert proof.left == 0
        assert control.describe_configs(rates.keys()) == {(BROKER, "1"): {}, (BROKER, "3"): {}}
        assert control.alter_configs(rates) == {}
    assert control.alter_configs({key: {RATE: None} for key in rates}) == {}


def test_a_controller_is_told_nothing_by_who_found_it_and_leads_no_longer(
    kafka_cluster: KafkaCluster, control: KafkaControl
) -> None:
    rate = {(BROKER, "1"): {RATE: "1000"}}
    proof = Proven(1)  # for the question where the controllers are
    with pytest.raises(NotProven), control.each_change_proven_by(proof):
        control.alter_configs_through_controller(rate)
    assert proof.left == 0
    assert control.describe_configs(rate.keys()) == {(BROKER, "1"): {}}


def test_what_is_proven_is_written_at_once(
    kafka_cluster: KafkaCluster, control: KafkaControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kafka-python would write in a later round of its loop, when the proof may be too old: here there is none."""

    async def never(_transport: KafkaTCPTransport) -> None:
        pass

    rate = (BROKER, "1")
    control.alter_configs({rate: {RATE: "1000"}})
    control.describe_configs([rate])
    control.describe_log_dirs([1, 2, 3])  # all connections are open
    with monkeypatch.context() as without_loop:
        without_loop.setattr(KafkaTCPTransport, "_write_to_sock", never)
        assert control.alter_configs({rate: {RATE: None}}) == {}
    until(lambda: control.describe_configs([rate]) == {rate: {}})


def test_a_question_that_a_hanging_broker_swallows_is_asked_of_another_one(
    kafka_cluster: KafkaCluster, control: KafkaControl
) -> None:
    control.describe_log_dirs([2])  # the one open connection now
    with hanging(kafka_cluster, 2):
        assert control.describe_cluster().cluster_id == kafka_cluster.cluster_id
    until(lambda: set(control.describe_cluster().brokers) == {1, 2, 3})


def test_brokers_without_the_replication_factor_guard_are_guarded_by_us(
    kafka_cluster: KafkaCluster, control: KafkaControl, new_topic: NewTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = new_topic()
    data.create_topics(Cluster("live", kafka_cluster.bootstrap), {topic: {0: (1, 2), 1: (1, 2)}}, {}, PATIENCE_S)
    fewer, same = TopicPartition(topic, 0), TopicPartition(topic, 1)
    control.describe_cluster()
    connections = control._calls._connections
    assert connections is not None
    versions = connections._manager.broker_version_data.api_versions
    monkeypatch.setitem(versions, ALTER_PARTITION_REASSIGNMENTS, (0, 0))  # as brokers before 4.1 say
    assert control.alter_reassignments({fewer: (1,), same: (2, 1)}) == {
        fewer: "INVALID_REPLICATION_FACTOR: the replication factor would change from 2 to 1"
    }
    until(lambda: control.describe_partitions([topic])[same].replicas == (2, 1))
    assert control.describe_partitions([topic])[fewer].replicas == (1, 2)


def test_an_expansion_beside_a_reassignment_is_taken_and_counts_the_replicas_that_come_and_go(
    kafka_cluster: KafkaCluster, control: KafkaControl, new_topic: NewTopic
) -> None:
    """The move goes on, and what Kafka places by itself has a replica more than the topic, for good."""
    topic, cluster = new_topic(), Cluster("live", kafka_cluster.bootstrap)
    moved, made = TopicPartition(topic, 0), TopicPartition(topic, 1)
    data.create_topics(cluster, {topic: {0: (1, 2)}}, {}, PATIENCE_S)
    producer = data.producer(cluster)
    for _ in range(40):
        producer.produce(topic, bytes(RECORD_BYTES), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    rate, listed = (BROKER, "1"), (TOPIC, topic)
    with throttled(control, {rate: {RATE: "1"}, listed: {LISTED: "0:1"}}):
        assert control.alter_reassignments({moved: (1, 3)}) == {}
        assert control.list_reassignments()[moved].replicas == (1, 3, 2)
        refused = control.create_partitions({made: (1, 2)}, validate_only=True)
        assert "a partition with 2 replica(s), but this is not consistent with previous partitions" in refused[topic]
        kafka = confluent_admin.AdminClient({"bootstrap.servers": kafka_cluster.bootstrap})
        kafka.create_partitions([NewPartitions(topic, 2)])[topic].result(PATIENCE_S)
        assert moved in control.list_reassignments()
    until(lambda: not control.list_reassignments())

    def replicas() -> dict[TopicPartition, tuple[int, ...]]:
        return {partition: state.replicas for partition, state in control.describe_partitions([topic]).items()}

    until(lambda: replicas().get(moved) == (1, 3))  # who is asked may be behind the controller
    assert sorted(replicas()[made]) == [1, 2, 3]
