"""Registrations, the quorum, metadata.version (KAFKA.md, traps 8, 24): one suite, on the fake, simulated and real
brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

import pytest

from deploy.local.kafka_cluster import KafkaCluster
from guardian.errors import Undecided
from guardian.kafka import data
from guardian.kafka.admin import TOPIC, KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.kafka.fake import FakeKafka
from guardian.model.cluster_state import Eligible, EligibleLeaders, PartitionState, Unknown
from guardian.model.topology import TopicPartition
from tests.freezing import frozen
from tests.patience import HANGING_S, PATIENCE_S, until
from tests.simulated import simulated


@dataclass
class Bench:
    """A cluster of brokers 1, 2 and 3, and the hands that stop and start them."""

    admin: KafkaAdmin
    kill: Callable[[int], None]
    start: Callable[[int], None]
    create_topic: Callable[[str, dict[int, tuple[int, ...]]], None]
    without_controllers: Callable[[], AbstractContextManager[None]]


@pytest.fixture(params=["fake", "simulated", pytest.param("real", marks=pytest.mark.integration)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    racks = dict.fromkeys((1, 2, 3), "a")
    if request.param == "fake":
        fake = FakeKafka(racks, dict.fromkeys((1, 2, 3), ("/disk",)))
        yield _in_memory(fake, fake)
        return
    if request.param == "simulated":
        with simulated(racks, 1) as (truth, control):
            yield _in_memory(truth, control)
        return
    cluster = request.getfixturevalue("kafka_cluster")
    registered = cluster.to_cluster(sasl=False)
    with closing(KafkaControl(registered, HANGING_S)) as control:
        yield Bench(
            control,
            cluster.kill_broker,
            cluster.start_broker,
            lambda name, replicas: data.create_topics(registered, {name: replicas}, {}, PATIENCE_S),
            lambda: _stopped(cluster),
        )


def _in_memory(fake: FakeKafka, admin: KafkaAdmin) -> Bench:
    @contextmanager
    def without_controllers() -> Iterator[None]:
        for broker in (1, 2, 3):
            fake.cut_off(broker)
        yield
        for broker in (1, 2, 3):
            fake.reconnect(broker)

    return Bench(admin, fake.kill_broker, fake.start_broker, fake.create_topic, without_controllers)


@contextmanager
def _stopped(cluster: KafkaCluster) -> Iterator[None]:
    """Its controllers stand still, so that every broker is cut off from them and runs on."""
    with frozen(*(node.pid for node in cluster.controllers if node.pid is not None)):
        yield


def test_a_broker_that_died_is_fenced_and_stays_registered_until_it_is_unregistered(bench: Bench) -> None:
    until(lambda: bench.admin.registered_brokers() == {1: False, 2: False, 3: False})
    assert "runs" in bench.admin.unregister_broker(3)
    assert bench.admin.registered_brokers() == {1: False, 2: False, 3: False}

    bench.kill(3)
    until(lambda: bench.admin.registered_brokers() == {1: False, 2: False, 3: True})
    assert bench.admin.unregister_broker(3) == ""
    until(lambda: bench.admin.registered_brokers() == {1: False, 2: False})
    assert bench.admin.unregister_broker(3) == ""

    bench.start(3)
    until(lambda: bench.admin.registered_brokers() == {1: False, 2: False, 3: False})


def test_the_quorum_names_its_leader_and_who_has_caught_up(bench: Bench) -> None:
    quorum = bench.admin.describe_quorum()
    assert quorum is not None
    assert quorum.leader in quorum.voters
    assert quorum.leader in quorum.caught_up <= quorum.voters


def test_each_broker_tells_what_it_supports_and_kafka_refuses_a_level_that_one_lacks(bench: Bench) -> None:
    version = bench.admin.metadata_version()
    assert version.supported.keys() == {1, 2, 3}
    assert 0 < version.level <= version.highest
    refused = bench.admin.raise_metadata_version(version.highest + 1000, validate_only=True)
    assert refused.startswith("INVALID_UPDATE_VERSION: ")
    assert f"Invalid update version {version.highest + 1000} for feature metadata.version" in refused
    assert refused == bench.admin.raise_metadata_version(version.highest + 1000)
    assert bench.admin.raise_metadata_version(version.level) == ""
    assert "INVALID_UPDATE_VERSION" in bench.admin.raise_metadata_version(version.level - 1)
    assert bench.admin.metadata_version() == version


def test_a_broker_that_is_down_tells_nothing(bench: Bench) -> None:
    bench.kill(3)
    until(lambda: bench.admin.metadata_version().supported.keys() == {1, 2})
    bench.start(3)
    until(lambda: bench.admin.metadata_version().supported.keys() == {1, 2, 3})


def test_the_controllers_view_decides_and_a_dead_broker_answers_nobody(bench: Bench) -> None:
    bench.create_topic("seen", {0: (3, 1, 2)})
    name = TopicPartition("seen", 0)
    until(lambda: bench.admin.describe_partitions(["seen"]) == {name: PartitionState(3, (3, 1, 2), (3, 1, 2))})
    view = bench.admin.view(["seen"])
    assert (set(view.brokers), set(view.partitions), view.doubt) == ({1, 2, 3}, {name}, "")

    bench.kill(3)
    until(lambda: bench.admin.describe_cluster().brokers.keys() == {1, 2})
    until(lambda: bench.admin.describe_partitions(["seen"])[name].isr == (1, 2))
    assert bench.admin.fenced_servers() == ()
    bench.start(3)
    until(lambda: bench.admin.describe_cluster().brokers.keys() == {1, 2, 3})


def test_who_left_a_small_isr_may_lead_until_it_comes_back_unclean(bench: Bench) -> None:
    bench.create_topic("eligible", {0: (1, 2, 3)})
    name = TopicPartition("eligible", 0)
    until(lambda: bench.admin.alter_configs({(TOPIC, "eligible"): {"min.insync.replicas": "2"}}) == {})
    until(lambda: bench.admin.effective_configs([(TOPIC, "eligible")], {"min.insync.replicas"})[(TOPIC, "eligible")])
    assert bench.admin.eligible_leaders(["eligible", "nosuch"]) == EligibleLeaders(is_kept=True)

    bench.kill(3)
    until(lambda: bench.admin.describe_partitions(["eligible"])[name].isr == (1, 2))
    assert bench.admin.eligible_leaders(["eligible"]).partitions == {}
    bench.kill(2)
    until(lambda: bench.admin.describe_partitions(["eligible"])[name].isr == (1,))
    until(lambda: bench.admin.eligible_leaders(["eligible"]).partitions == {name: Eligible((2,))})
    assert bench.admin.eligible_leaders([]).partitions == {}

    bench.start(2)
    until(lambda: bench.admin.eligible_leaders(["eligible"]).partitions == {})
    bench.start(3)
    until(lambda: bench.admin.describe_cluster().brokers.keys() == {1, 2, 3})


def test_without_controllers_all_brokers_must_answer_and_one_that_is_silent_leaves_all_unknown(bench: Bench) -> None:
    bench.create_topic("cut", {0: (1, 2), 1: (2, 3)})
    names = {TopicPartition("cut", number) for number in (0, 1)}
    until(lambda: {len(state.isr) for state in bench.admin.describe_partitions(["cut"]).values()} == {2})
    before = bench.admin.describe_partitions(["cut"])
    with bench.without_controllers():
        until(lambda: _partitions_or_none(bench.admin) == before)
        bench.kill(3)
        until(lambda: _partitions_or_none(bench.admin) is None)
        view = bench.admin.view(["cut"])
        assert view.partitions.keys() == names
        assert all(isinstance(each, Unknown) for each in (*view.brokers.values(), *view.partitions.values()))
        with pytest.raises(Undecided, match="broker 3, which may know better, can't be reached"):
            bench.admin.describe_cluster()
        with pytest.raises(Undecided, match="no controller answers; which brokers are fenced is unknown"):
            bench.admin.fenced_servers()
        with pytest.raises(Undecided, match="no controller answers; which replicas may lead is unknown"):
            bench.admin.eligible_leaders(["cut"])
    until(lambda: _partitions_or_none(bench.admin) is not None)
    bench.start(3)
    until(lambda: (_partitions_or_none(bench.admin) or {}).keys() == names)


def _partitions_or_none(admin: KafkaAdmin) -> dict[TopicPartition, PartitionState] | None:
    try:
        return admin.describe_partitions(["cut"])
    except Undecided:
        return None
