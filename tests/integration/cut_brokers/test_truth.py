"""What Guardian believes while brokers that lost the controllers go on answering: never them.

Each look is a fresh connection and the product's own calls, as executor, detectors and audit make them. What is right
is asked of the brokers that are not cut, over sockets of the test's own (witness.py).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace

import grpc
import pytest

from deploy.local.kafka_cluster import ClusterSpec
from guardian.collection.rules.names import NOTHING_KNOWN, values_by_name
from guardian.errors import ClusterUnavailable
from guardian.execution.loop.observing import Scope, observe
from guardian.health.loop.durability_facts import durability_facts
from guardian.health.rules.durability import audit
from guardian.kafka import data
from guardian.kafka.admin import BROKER
from guardian.kafka.control import KafkaControl
from guardian.model.cluster_state import PartitionState
from guardian.model.durability import Rating
from guardian.model.topology import Cluster, TopicPartition
from protos.guardian.v1 import reporter_pb2_grpc
from tests.integration.cut_brokers import witness
from tests.integration.cut_brokers.lab import BrokerLab
from tests.integration.cut_brokers.writers import NumberedWriter, numbers_in
from tests.patience import CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Truth = Mapping[tuple[str, int], witness.Seen]

LOOKS, FEWER_LOOKS = 200, 40
LOOKS_AT_ONCE = 8
LAG = "kafka.server:type=broker-metadata-metrics:last-applied-record-lag-ms"
LAGS_MS = 10_000  # a broker that hears of the controllers lags by half a second
TOPIC = "orders"
THROTTLED = "leader.replication.throttled.rate"


@dataclass(frozen=True, slots=True)
class View:
    """What one look shows; `rating` is the audit's."""

    brokers: frozenset[int]
    partitions: Mapping[TopicPartition, PartitionState]
    rating: Rating | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What one new connection shows; `refusals` are why it shows less."""

    views: tuple[View, ...]
    refusals: tuple[str, ...]


def in_turn(brokers: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """A partition on all brokers for each of them to lead."""
    return {number: (*brokers[number:], *brokers[:number]) for number in range(len(brokers))}


def started(home: pytest.TempPathFactory, name: str, brokers: int, kafka: str = "4.3") -> BrokerLab:
    spec = ClusterSpec(name, brokers=brokers, log_dirs=1, heap_mb=256, racks=("a", "b", "c")[:brokers], kafka=kafka)
    return BrokerLab(home.mktemp(name), spec)


def create(lab: BrokerLab, topic: str, places: Mapping[int, tuple[int, ...]]) -> None:
    data.create_topics(lab.cluster, {topic: places}, {"min.insync.replicas": "1"}, PATIENCE_S)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerLab]:
    with started(tmp_path_factory, "three", 3) as lab:
        create(lab, TOPIC, in_turn(lab.brokers))
        yield lab


def as_detectors(admin: KafkaControl, cluster: Cluster) -> View:
    topics, _ = facts = durability_facts(admin, cluster, [TOPIC])
    (durability,) = audit(*facts).topics
    partitions = {TopicPartition(TOPIC, number): state for number, state in topics[TOPIC].partitions.items()}
    return View(frozenset(admin.describe_cluster().brokers), partitions, durability.rating)


def as_executor(admin: KafkaControl, cluster: Cluster) -> View:
    brokers = frozenset(broker.id for broker in cluster.brokers)
    observation = observe(admin, [Scope(frozenset({TOPIC}), brokers)], 0)
    return View(frozenset(observation.brokers), observation.partitions)


def look(cluster: Cluster) -> Look:
    views, refusals = [], []
    with closing(KafkaControl(cluster, CONTROL_S)) as admin:
        for way in (as_detectors, as_executor):
            try:
                views.append(way(admin, cluster))
            except ClusterUnavailable as error:
                refusals.append(str(error))
    return Look(tuple(views), tuple(refusals))


def looks(lab: BrokerLab, count: int, bootstrap: Sequence[int] | None = None) -> list[Look]:
    """By clients that begin with each of these brokers in turn; None: with all."""
    turns = [lab.asking(turn) for turn in in_turn(bootstrap or lab.brokers).values()]
    with ThreadPoolExecutor(LOOKS_AT_ONCE, "look") as pool:
        return list(pool.map(look, (turns[number % len(turns)] for number in range(count))))


def stale(found: Sequence[Look], truth: Truth, alive: Collection[int]) -> list[str]:
    """What the looks show otherwise than it is."""
    wrong = []
    for view in (view for each in found for view in each.views):
        if not view.brokers <= set(alive):
            wrong.append(f"brokers {sorted(view.brokers)} live")
        for name, state in view.partitions.items():
            right = truth[name.topic, name.partition]
            if (state.leader, frozenset(state.isr)) != (right.leader, right.isr):
                wrong.append(f"{name} is {state}, not {right}")
        if view.rating is Rating.SOUND:
            wrong.append(f"{TOPIC} is {view.rating.name}")
    return wrong


def require_true(found: Sequence[Look], truth: Truth, alive: Collection[int]) -> None:
    wrong = stale(found, truth, alive)
    assert not wrong, f"{len(wrong)} wrong in {len(found)} looks: {wrong[:6]}"


def require_decided(found: Sequence[Look], partitions: int) -> None:
    """None leaves anything open."""
    assert [each.refusals for each in found if each.refusals] == []
    assert {len(view.partitions) for each in found for view in each.views} == {partitions}


def require_open(found: Sequence[Look]) -> None:
    """None shows any partition."""
    assert [view for each in found for view in each.views if view.partitions] == []


def lag_ms(lab: BrokerLab, broker: int) -> float:
    """How old the last record of the controllers is that the broker has applied, as its reporter tells."""
    with grpc.insecure_channel(lab.kafka.broker(broker).reporter, options=[("grpc.enable_http_proxy", 0)]) as channel:
        batch = reporter_pb2_grpc.BrokerReporterStub(channel).Collect(NOTHING_KNOWN.request((LAG,)), timeout=PATIENCE_S)
    return values_by_name(batch, NOTHING_KNOWN.extended_by(batch))[LAG]


def require_none_stale(lab: BrokerLab, cut: Sequence[int], count: int) -> None:
    """While these brokers are cut from the controllers, and broker 1, which led, is told to write."""
    lossy = f"lossy-{len(cut)}"
    create(lab, lossy, {0: lab.brokers})
    before = witness.partitions(lab.listener(1), [TOPIC])
    (*_, sane) = lab.others(cut)
    with NumberedWriter(lab.asking([1]), lossy, acks="1") as writer:
        wait_for("the first records", lambda: len(writer.acked) > 10)
        with lab.without_controllers(*cut):
            since = time.monotonic()
            truth = witness.partitions(lab.listener(sane), [TOPIC])
            assert truth[TOPIC, 0].epoch > before[TOPIC, 0].epoch
            same = truth[TOPIC, sane - 1]  # an ISR that shrinks raises no epoch: nothing but contact tells who is right
            assert same.epoch == before[TOPIC, sane - 1].epoch
            assert not same.isr & set(cut)

            found = looks(lab, count)

            for broker in cut:
                assert witness.partitions(lab.listener(broker), [TOPIC]) == before, "no fault was there to be seen"
                wait_for(f"the lag of broker {broker}", lambda broker=broker: lag_ms(lab, broker) > LAGS_MS)  # type: ignore[misc]
            assert witness.partitions(lab.listener(sane), [TOPIC]) == truth
            assert lag_ms(lab, sane) < LAGS_MS
            acknowledged = writer.acked_since(since)
    assert acknowledged - numbers_in(lab.cluster, lossy), "no harm was there to be seen"
    require_true(found, truth, lab.others(cut))
    require_decided(found, len(before))
    lab.wait_in_sync([TOPIC])


def test_of_200_looks_none_is_stale_while_the_old_leader_loses_what_it_acknowledges(three: BrokerLab) -> None:
    require_none_stale(three, [1], LOOKS)


def test_two_of_three_brokers_that_are_cut_off_together_do_not_outvote_the_third(three: BrokerLab) -> None:
    wait_for("broker 1 to lead", lambda: has_led_back(three))
    require_none_stale(three, [1, 2], FEWER_LOOKS)


def has_led_back(lab: BrokerLab) -> bool:
    """Whether broker 1 leads its partitions again, asked of Kafka's own election."""
    with closing(KafkaControl(lab.cluster, CONTROL_S)) as admin:
        admin.elect_preferred_leaders([TopicPartition(TOPIC, number) for number in range(3)])
    seen = witness.partitions(lab.listener(1), [TOPIC])
    return all(seen[TOPIC, number].leader == number + 1 for number in range(3))


@pytest.mark.long
def test_all_that_are_cut_off_alike_are_not_believed_where_controllers_are_registered(three: BrokerLab) -> None:
    three.wait_alive(three.brokers, three.brokers)
    endpoints = ",".join(map(three.controller_listener, three.controllers))
    told = replace(three.cluster, bootstrap_controllers=endpoints)
    require_decided([look(told)], len(three.brokers))
    three.cut_from_controllers(three.brokers)
    try:
        wait_for("old metadata", lambda: all(lag_ms(three, broker) > LAGS_MS for broker in three.brokers))
        found = look(told)
        require_open([found])
        detectors, executor = found.refusals
        assert "no broker that answers knows what the controllers decided last" in detectors
        assert "no controller answers" in executor  # no broker forwards to them what an executor asks first
        with closing(KafkaControl(told, CONTROL_S)) as admin:  # what only a controller does, it does all the same
            assert admin.alter_configs_through_controller({(BROKER, "3"): {THROTTLED: "1000"}}) == {}
    finally:
        three.heal()
    three.wait_alive(three.brokers, three.brokers)
    with closing(KafkaControl(three.cluster, CONTROL_S)) as admin:
        throttles = [(BROKER, "3")], [THROTTLED]
        wait_for("the rate", lambda: admin.describe_configs(*throttles) == {(BROKER, "3"): {THROTTLED: "1000"}})


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerLab]:
    with started(tmp_path_factory, "two", 2) as lab:
        create(lab, TOPIC, in_turn(lab.brokers))
        yield lab


@pytest.fixture
def two(pair: BrokerLab) -> BrokerLab:
    """Whole, whatever the test before has left."""
    pair.heal()
    if pair.kafka.broker(2).pid is None:
        pair.kafka.start_broker(2)
    pair.wait_alive(pair.brokers, pair.brokers)
    pair.wait_in_sync([TOPIC])
    return pair


@pytest.mark.long
def test_one_answer_is_enough_only_while_the_controllers_say_that_nobody_else_lives(two: BrokerLab) -> None:
    two.kafka.kill_broker(2)
    two.wait_alive([1], [1])
    truth = witness.partitions(two.listener(1), [TOPIC])
    found = looks(two, FEWER_LOOKS)
    require_true(found, truth, [1])
    require_decided(found, len(truth))

    two.cut_from_controllers([1])
    wait_for("the metadata of broker 1 to be old", lambda: lag_ms(two, 1) > LAGS_MS)
    require_open(looks(two, LOOKS_AT_ONCE))


@pytest.mark.long
def test_the_only_one_that_answers_is_not_believed_while_the_leader_that_replaced_it_is_dead(two: BrokerLab) -> None:
    before = witness.partitions(two.listener(1), [TOPIC])
    two.cut_from_controllers([1])
    two.wait_alive([2], [2])
    truth = witness.partitions(two.listener(2), [TOPIC])
    assert {seen.leader for seen in truth.values()} == {2}
    two.kafka.kill_broker(2)
    found = looks(two, LOOKS_AT_ONCE, [1])
    assert witness.partitions(two.listener(1), [TOPIC]) == before, "no fault was there to be seen"
    require_open(found)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerLab]:
    with started(tmp_path_factory, "old", 3, "3.9") as lab:
        create(lab, TOPIC, in_turn(lab.brokers))
        yield lab


@pytest.mark.long
def test_kafka_3_9_is_seen_as_it_is_though_it_tells_of_no_fenced_brokers(old: BrokerLab) -> None:
    require_none_stale(old, [1], FEWER_LOOKS)
    wait_for("broker 1 to lead", lambda: has_led_back(old))
    require_none_stale(old, [1, 2], FEWER_LOOKS)
