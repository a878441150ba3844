"""Tiered storage under one trouble after the other, at random: in the end every record is there, once and in order."""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from deploy.local.answering import register
from deploy.local.progress import say
from guardian.kafka.control import KafkaControl
from guardian.model.topology import TopicPartition
from tests.integration.tiering.harness import Members, Stored, TieredCluster, guardian_plugin
from tests.integration.tiering.records import produce, require_whole
from tests.patience import CONTROL_S, wait_for

pytestmark = pytest.mark.soak

ROUNDS = 30
RECORDS = 150  # in each round, to each partition
REPLICAS = {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)}
SEED = 5


class Troubles:
    """What may happen; each leaves everything running again."""

    def __init__(self, tiered: TieredCluster, members: Members, topic: str, chooser: random.Random) -> None:
        self._tiered = tiered
        self._members = members
        self._topic = topic
        self._chooser = chooser
        self.kinds = [
            self.kill_broker,
            self.kill_guardian_leader,
            self.kill_guardian,
            self.hang_guardian,
            self.reassign,
        ]

    def kill_broker(self) -> None:
        broker = self._chooser.choice((1, 2, 3))
        self._tiered.kafka.kill_broker(broker)
        time.sleep(self._chooser.uniform(0.0, 12.0))  # shorter and longer than it takes to be fenced
        self._tiered.kafka.start_broker(broker)

    def kill_guardian_leader(self) -> None:
        self._members.kill_leader()
        self._members.start()

    def kill_guardian(self) -> None:
        self._members.kill()
        time.sleep(self._chooser.uniform(0.0, 8.0))
        self._members.start()

    def hang_guardian(self) -> None:
        self._members.pause()
        time.sleep(self._chooser.uniform(0.0, 8.0))
        self._members.resume()

    def reassign(self) -> None:
        """Other leaders of the same replicas."""
        targets = {
            TopicPartition(self._topic, number): tuple(self._chooser.sample((1, 2, 3), 3)) for number in REPLICAS
        }
        with closing(KafkaControl(self._tiered.cluster, CONTROL_S)) as control:
            control.alter_reassignments(dict(targets))
            wait_for("reassigned", lambda: not control.list_reassignments())
            control.elect_preferred_leaders(list(targets))


def test_every_record_survives_troubles_at_random(tmp_path: Path) -> None:
    with (
        Members(tmp_path / "guardian") as members,
        members.client() as client,
        TieredCluster(tmp_path, guardian_plugin(members.endpoints)) as tiered,
    ):
        register(client, tiered.cluster)
        tiered.create_topic("orders", REPLICAS)
        stored = Stored(client, tiered, "orders", len(REPLICAS))
        chooser = random.Random(SEED)  # noqa: S311  faults, not secrets
        troubles = Troubles(tiered, members, "orders", chooser)
        for number in range(ROUNDS):
            numbers = range(number * RECORDS, (number + 1) * RECORDS)
            writing = threading.Thread(target=produce, args=(tiered.cluster, "orders", numbers, len(REPLICAS)))
            writing.start()
            trouble = chooser.choice(troubles.kinds)
            say(f"round {number + 1}: {trouble.__name__}")
            trouble()
            writing.join()
            wait_for("all replicas are in sync", lambda: is_in_sync(tiered))
            require_whole(tiered.cluster, "orders", numbers.stop)
            tiered.require_all_alive()
        tiered.wait_offloaded("orders")
        stored.wait_tidy()
        require_whole(tiered.cluster, "orders", ROUNDS * RECORDS)


def is_in_sync(tiered: TieredCluster) -> bool:
    with closing(KafkaControl(tiered.cluster, CONTROL_S)) as control:
        return all(len(state.isr) == 3 for state in control.describe_partitions(["orders"]).values())
