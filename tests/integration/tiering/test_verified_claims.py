"""Verified claims on real brokers, each in a network of its own, so that one can be cut off from the controller and go
on answering with what it last heard."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import plan_members, start_member, wait_ready
from deploy.local.processes import kill
from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable, NotFound
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.cluster_state import BrokerView, Leadership
from guardian.model.topology import Cluster, TopicPartition
from protos.guardian.v1 import tiering_pb2 as pb
from tests import patience
from tests.integration.faults.network import Network
from tests.patience import CALL_S, CONTROL_S, PATIENCE_S

pytestmark = pytest.mark.integration

CONTROLLER, BROKERS = 101, (1, 2, 3)
SESSION_MS = "9000"  # after which a broker that is cut off from the controller is fenced: Kafka's own default


class Site:
    """A cluster of three brokers and a group of three members that has it registered."""

    def __init__(self, network: Network, kafka: KafkaCluster, client: GuardianClient) -> None:
        self.network = network
        self.cluster_id = kafka.cluster_id
        self.cluster = Cluster("live", kafka.bootstrap)
        self.client = client
        self._listeners = {broker.id: broker.listener for broker in kafka.brokers}
        self.admin = KafkaControl(self.cluster, CONTROL_S)
        self._topics = 0

    def topic(self, *replicas: int) -> TopicPartition:
        """A topic's only partition, when every broker knows it."""
        self._topics += 1
        partition = TopicPartition(f"t{self._topics}", 0)
        data.create_topics(self.cluster, {partition.topic: {0: replicas}}, {}, PATIENCE_S)
        self.until_led_by(partition, replicas[0], BROKERS)
        return partition

    def name(self, partition: TopicPartition) -> pb.TopicIdPartition:
        topic_id = self.admin.topic_ids([partition.topic])[partition.topic]
        return pb.TopicIdPartition(cluster_id=self.cluster_id, topic_id=topic_id, partition=partition.partition)

    def seen(self, partition: TopicPartition, broker: int) -> Leadership | None:
        topic_id = self.name(partition).topic_id
        view = self.admin.seen_by([broker], [topic_id]).get(broker)
        return view.leaders.get((topic_id, partition.partition)) if view is not None else None

    def asked_alone(self, partition: TopicPartition, broker: int) -> Leadership:
        """What the broker says, by way of nobody else: others don't know it any more once it is fenced."""
        topic_id = self.name(partition).topic_id
        views: dict[int, BrokerView] = {}

        def answers() -> bool:
            with closing(KafkaControl(replace(self.cluster, bootstrap=self._listeners[broker]), CONTROL_S)) as admin:
                views.update(admin.seen_by([broker], [topic_id]))
            return broker in views

        until(answers)
        return views[broker].leaders[topic_id, partition.partition]

    def until_led_by(self, partition: TopicPartition, leader: int, witnesses: Collection[int]) -> None:
        def is_known(broker: int) -> bool:
            seen = self.seen(partition, broker)
            return seen is not None and seen.leader == leader

        until(lambda: partition.topic in self.admin.topic_ids([partition.topic]))
        until(lambda: all(map(is_known, witnesses)))

    def elect(self, partition: TopicPartition, *replicas: int) -> None:
        assert self.admin.alter_reassignments({partition: replicas}) == {}
        until(lambda: self.admin.describe_partitions([partition.topic])[partition].replicas == replicas)
        until(lambda: self.admin.elect_preferred_leaders([partition]) == {})

    def claim(self, partition: TopicPartition, broker: int) -> pb.Claim:
        [claim] = self.client.claim_partitions([self.name(partition)], broker, f"broker {broker}", mode=pb.VERIFIED)
        return claim

    def token(self, partition: TopicPartition, broker: int) -> int:
        """Claims until it is granted, as a broker does."""

        def decided() -> pb.Claim | None:
            claim = self.claim(partition, broker)
            return None if claim.error_kind == pb.NOT_VERIFIED else claim

        claim = patience.wait_for("the claim is decided", decided)
        assert not claim.error, claim.error
        return claim.fencing_token

    def append(self, partition: TopicPartition, token: int, segment: int) -> int:
        """The error kind; 0 when it was appended."""
        event = pb.SegmentEvent(
            segment_id=segment.to_bytes(16, "big"), state=pb.COPY_SEGMENT_STARTED, segment_leader_epochs={0: 0}
        )
        part = pb.PartitionEvents(partition=self.name(partition), events=[event], fencing_token=token)
        [result] = self.client.append_segment_events([part])
        return result.error_kind


until = partial(patience.until, despite=(ClusterUnavailable,))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("claims")
    with Network([str(node) for node in (CONTROLLER, *BROKERS)]) as network:
        hosts = {int(name): network.address(name) for name in network.names}
        settings = {"broker.session.timeout.ms": SESSION_MS, "broker.heartbeat.interval.ms": "500"}
        spec = ClusterSpec("claims", plugin=False, log_dirs=1, hosts=hosts, settings=settings)
        kafka = KafkaCluster.plan(spec, home / "kafka")
        kafka.starters.update({int(name): network.command(name, []) for name in network.names})
        with kafka:
            kafka.launch()
            yield from _registered(network, kafka, home)


def _registered(network: Network, kafka: KafkaCluster, home: Path) -> Iterator[Site]:
    group = plan_members(3, home)
    members = [start_member(member, group, home / "lake", home / f"{member.name}.log") for member in group]
    try:
        wait_ready(members)
        with GuardianClient([member.grpc for member in members], timeout_s=CALL_S) as client:
            site = Site(network, kafka, client)
            with closing(site.admin):
                register(client, site.cluster)
                yield site
    finally:
        for member in members:
            assert member.process is not None
            kill(member.process)


@pytest.fixture(autouse=True)
def _healed(site: Site) -> Iterator[None]:
    yield
    site.network.heal()
    until(lambda: len(site.admin.describe_cluster().brokers) == len(BROKERS))


def test_the_leader_gets_a_token_and_no_other_broker_does(site: Site) -> None:
    partition = site.topic(1, 2, 3)
    assert site.token(partition, 1) > 0
    for broker in (2, 3, 99):
        claim = site.claim(partition, broker)
        assert (claim.error_kind, claim.fencing_token) == (pb.NOT_VERIFIED, 0), claim.error


def test_after_a_change_of_leader_the_old_one_is_refused_and_the_new_one_gets_a_higher_token(site: Site) -> None:
    partition = site.topic(1, 2, 3)
    old = site.token(partition, 1)
    assert site.append(partition, old, 1) == 0
    site.elect(partition, 2, 1, 3)
    new = site.token(partition, 2)
    assert new > old
    assert site.append(partition, old, 2) == pb.FENCED_LEADER_EPOCH
    assert site.append(partition, new, 2) == 0
    assert site.claim(partition, 1).error_kind == pb.NOT_VERIFIED
    assert site.token(partition, 2) == new


def test_a_claim_is_granted_as_soon_as_a_broker_that_was_behind_has_heard(site: Site) -> None:
    partition = site.topic(1, 2, 3)
    old = site.token(partition, 1)
    _cut_off(site, 3)
    site.elect(partition, 2, 1, 3)
    site.until_led_by(partition, 2, (1, 2))
    assert site.asked_alone(partition, 3).leader == 1, "it is behind, and answers"
    site.network.heal()
    assert site.token(partition, 2) > old


def test_an_old_leader_that_is_cut_off_is_fenced_by_the_new_one(site: Site) -> None:
    """It still believes to lead, and reaches Guardian."""
    partition = site.topic(3, 1, 2)
    old = site.token(partition, 3)
    _cut_off(site, 3)
    site.until_led_by(partition, 1, (1, 2))
    new = site.token(partition, 1)
    assert new > old
    assert site.asked_alone(partition, 3).leader == 3
    assert site.append(partition, old, 10) == pb.FENCED_LEADER_EPOCH
    assert site.claim(partition, 3).error
    assert site.append(partition, new, 10) == 0


def test_a_cluster_that_is_not_registered_is_told_how_to_be(site: Site) -> None:
    stranger = pb.TopicIdPartition(cluster_id="no-such-cluster", topic_id=b"T" * 16)
    with pytest.raises(NotFound, match=r"`guardian cluster add`.*guardian\.fence=claim-order"):
        site.client.claim_partitions([stranger], 1, mode=pb.VERIFIED)


def _cut_off(site: Site, broker: int) -> None:
    """From the controller, in both directions; other brokers, Guardian and this test reach it."""
    site.network.cut(str(broker), str(CONTROLLER))
    site.network.cut(str(CONTROLLER), str(broker))
