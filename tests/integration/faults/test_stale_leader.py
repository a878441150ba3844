"""A leader that does not know that it was replaced: cut off from the controller, still in reach of Guardian.

    broker 1   ──X── controller      thinks that it leads; is fenced, and broker 2 or 3 is made the leader
        └──── Guardian ────┘         refuses what broker 1 sends, by the tokens of the claims

Four brokers, so that two others than the new leader and the old one are there to say who leads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deploy.local.answering import register
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.model.topology import Cluster, TopicPartition
from protos.guardian.v1 import tiering_pb2
from tests.integration.faults.group import NAMES, Group
from tests.integration.faults.network import Network
from tests.integration.tiering.harness import Stored, TieredCluster, guardian_plugin
from tests.integration.tiering.records import VALUE_BYTES, produce, require_whole
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

BROKER, CONTROLLER = "b1", "c101"
RECORDS = 200
_FENCED = re.compile(
    r"RemoteStorageException: \S+?(?P<topic>finishing|adding)-0: this broker's claim has token (?P<own>\d+), "
    r"but another broker's claim has token (?P<highest>\d+)"
)


@dataclass(frozen=True, slots=True)
class Scene:
    network: Network
    tiered: TieredCluster
    client: GuardianClient

    @property
    def others(self) -> Cluster:
        """The cluster as those see it that are not cut off."""
        listeners = (broker.listener for broker in self.tiered.kafka.brokers if broker.id != 1)
        return replace(self.tiered.cluster, bootstrap=",".join(listeners))

    def cut(self) -> None:
        self.network.cut(BROKER, CONTROLLER)
        self.network.cut(CONTROLLER, BROKER)

    def refusals(self, topic: str) -> set[tuple[int, int]]:
        """The tokens (own, highest) that broker 1 has logged as a RemoteStorageException."""
        found = _FENCED.finditer(self.tiered.log(1))
        return {(int(match["own"]), int(match["highest"])) for match in found if match["topic"] == topic}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        network = stack.enter_context(Network([*NAMES, BROKER, CONTROLLER]))
        group = stack.enter_context(Group(tmp_path / "guardian", network, names=NAMES))
        group.start()
        group.wait_serving()
        hosts = {1: network.address(BROKER), 101: network.address(CONTROLLER)}
        hosts |= dict.fromkeys((2, 3, 4), network.host)
        tiered = TieredCluster(
            tmp_path,
            guardian_plugin(group.endpoints),
            brokers=4,
            hosts=hosts,
            broker_heartbeat_interval_ms="500",
        )
        tiered.kafka.starters = {1: network.command(BROKER, []), 101: network.command(CONTROLLER, [])}
        stack.enter_context(tiered)
        client = stack.enter_context(GuardianClient(group.endpoints, timeout_s=CALL_S))
        register(client, tiered.cluster)
        yield Scene(network, tiered, client)


def test_a_leader_that_was_replaced_behind_its_back_can_neither_finish_nor_add_a_copy(scene: Scene) -> None:
    tiered = scene.tiered
    finishing, adding = TopicPartition("finishing", 0), TopicPartition("adding", 0)
    for partition in (finishing, adding):
        # Old segments are rolled by the next record, also where it is never committed.
        tiered.create_topic(partition.topic, {0: (1, 2, 3)}, segment_ms="1000")
    stored = {topic: Stored(scene.client, tiered, topic, 1) for topic in ("finishing", "adding")}
    produce(tiered.cluster, "adding", range(RECORDS), 1)
    tiered.wait_offloaded("adding")
    with tiered.copying_held(1) as wait_for_a_copy:
        produce(tiered.cluster, "finishing", range(RECORDS), 1)
        wait_for_a_copy()
        refused = set(stored["finishing"].live()[0])
        scene.cut()
        for partition in (finishing, adding):
            wait_for("a new leader is there", lambda p=partition: tiered.leader(p, scene.others) != 1)  # type: ignore[misc]
        produce(scene.others, "adding", range(RECORDS, 2 * RECORDS), 1)
        for topic in stored:
            tiered.wait_offloaded(topic, of=scene.others)
        wait_for("all is copied by the new leader", lambda: are_finished(stored["finishing"].live()[0]))
        before = {topic: (of.events(0), of.live()) for topic, of in stored.items()}
        copies = {topic: tiered.remote_files(topic)() for topic in stored}
        roll_by_one_record(scene, adding)
        wait_for("the stale leader may not add", lambda: scene.refusals("adding"))
    wait_for("the stale leader may not finish", lambda: scene.refusals("finishing"))

    assert all(own < highest for topic in stored for own, highest in scene.refusals(topic))
    assert {topic: (of.events(0), of.live()) for topic, of in stored.items()} == before
    assert all(path.exists() for topic in stored for path in copies[topic]), "a copy of the new leader is gone"
    require_whole(scene.others, "finishing", RECORDS)
    require_whole(scene.others, "adding", 2 * RECORDS)
    scene.network.heal()
    wait_for("broker 1 is back", lambda: tiered.in_sync(finishing, scene.others) == {1, 2, 3})
    produce(tiered.cluster, "finishing", range(RECORDS, 2 * RECORDS), 1)
    tiered.wait_offloaded("finishing")
    require_whole(tiered.cluster, "finishing", 2 * RECORDS)
    # Kafka leaves the files of a copy that could not be finished; `guardian tiering verify` names them.
    listed, there = stored["finishing"].live()[0], tiered.remote_segments("finishing")[0]
    assert there - set(listed) <= refused
    assert set(listed) <= there
    tiered.require_all_alive()


def are_finished(states: dict[bytes, int]) -> bool:
    return bool(states) and set(states.values()) == {tiering_pb2.COPY_SEGMENT_FINISHED}


def roll_by_one_record(scene: Scene, partition: TopicPartition) -> None:
    """To the stale leader, where it is never committed: what was there before becomes a whole segment."""
    stale = replace(scene.tiered.cluster, bootstrap=scene.tiered.kafka.broker(1).listener)
    failures: list[object] = []
    producer = data.producer(stale, acks="1", message_timeout_ms=round(PATIENCE_S * 1000))
    producer.produce(
        partition.topic,
        value=b"lost".ljust(VALUE_BYTES),
        partition=partition.partition,
        on_delivery=lambda error, _: failures.append(error),
    )
    assert producer.flush(PATIENCE_S) == 0
    assert failures == [None], "the stale leader did not take the record"
