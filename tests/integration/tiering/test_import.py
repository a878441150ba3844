"""A cluster whose segments are known to Kafka's own manager is switched to Guardian's, broker by broker, under traffic.

The way of docs/tiering-import.md: copies are held, imported, the brokers restarted one after the other, and imported
again. All records can be read from the first offset on, at each step.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

from deploy.local import processes
from deploy.local.answering import register
from deploy.local.tiered_storage import topic_metadata
from guardian.errors import GuardianError
from guardian.kafka import data
from guardian.model.topology import TopicPartition
from tests.integration.tiering.harness import Members, Stored, TieredCluster, guardian_plugin
from tests.integration.tiering.records import produce, read, require_whole
from tests.patience import PATIENCE_S, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.long]

PARTITIONS = 3
REPLICAS = {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)}
RECORDS = 300
HELD = {"remote.log.copy.disable": "true", "local.retention.ms": "-2", "local.retention.bytes": "-2"}
GOES_ON = {"remote.log.copy.disable": "false", "local.retention.bytes": "1"}

Import = Callable[..., dict[str, Any]]
Guardian = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    with Members(tmp_path / "guardian") as members:
        yield members


@pytest.fixture
def tiered(tmp_path: Path, members: Members) -> Iterator[TieredCluster]:
    """With Kafka's topic-based manager."""
    with TieredCluster(tmp_path / "tiered", topic_metadata()) as tiered, members.client() as client:
        register(client, tiered.cluster)
        yield tiered


@pytest.fixture
def run_import(members: Members, guardian: Guardian) -> Import:
    """Gives what `guardian tiering import` tells, and sees to it that nothing was wrong."""

    def run(*options: str) -> dict[str, Any]:
        done = guardian(members, "tiering", "import", "--cluster", "tiered", "-o", "json", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        assert told["is_whole"]
        return told

    return run


class Traffic:
    """Records to all partitions until it is left; `produced` is how many each has by now, all acknowledged."""

    def __init__(self, tiered: TieredCluster, topic: str, produced: int) -> None:
        self.produced = produced
        self._tiered = tiered
        self._topic = topic
        self._is_over = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._go_on, name="traffic")

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._failure is None, f"traffic failed: {self._failure}"

    def _go_on(self) -> None:
        try:
            while not self._is_over.wait(0.5):
                produce(self._tiered.cluster, self._topic, range(self.produced, self.produced + 16), PARTITIONS)
                self.produced += 16
        except (AssertionError, data.KafkaException, GuardianError) as failure:  # told at the end
            self._failure = failure


def sums(told: dict[str, Any], name: str) -> int:
    return sum(one[name] for one in told["partitions"])


def require_said(guardian: Guardian, members: Members, said: str, *options: str) -> str:
    """What it prints, which ends so."""
    done = guardian(members, "tiering", "import", "--cluster", "tiered", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith(said)
    return done.stdout


def configure(tiered: TieredCluster, topic: str, config: dict[str, str]) -> None:
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in config.items()]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": tiered.cluster.bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def fewest_local(tiered: TieredCluster, topic: str) -> int:
    """Of the partitions, how many segments a leader has on its disk at least."""
    names = [TopicPartition(topic, number) for number in REPLICAS]
    return min(len(tiered.local_segments(name, tiered.leader(name))) for name in names)


def imported(tiered: TieredCluster, topic: str, stored: Stored, run_import: Import) -> dict[int, set[bytes]] | None:
    """By partition, Guardian's segments, once these are what the remote store holds and no copy is under way."""
    told = run_import()
    live = {number: set(segments) for number, segments in stored.live().items()}
    is_whole = not sums(told, "under_way") and sums(told, "in_topic") == sum(map(len, live.values()))
    return live if is_whole and live == tiered.remote_segments(topic) else None


def restart_with_guardian(tiered: TieredCluster, broker: int, members: Members) -> None:
    spec = tiered.kafka.spec
    assert spec.tiered is not None
    tiered.kafka.spec = replace(spec, tiered=replace(spec.tiered, metadata=guardian_plugin(members.endpoints)))
    process = tiered.kafka.broker(broker).process
    assert process is not None
    processes.stop_all([process])
    tiered.kafka.start_broker(broker)


def wait_in_sync(tiered: TieredCluster, topic: str) -> None:
    for number in REPLICAS:
        partition = TopicPartition(topic, number)
        wait_for(f"all replicas of {partition} are in sync", lambda: tiered.in_sync(partition) == {1, 2, 3})  # noqa: B023


def require_readable(tiered: TieredCluster, topic: str, count: int) -> None:
    """At least so many records can be read from each partition's first offset on; none is out of range or missing."""
    for number in REPLICAS:
        assert read(tiered.cluster, TopicPartition(topic, number), 0, count) == list(range(count))


def test_a_cluster_is_switched_under_traffic_and_no_segment_is_lost(
    tiered: TieredCluster,
    members: Members,
    guardian: Guardian,
    run_import: Import,
    new_topic: Callable[[], str],
) -> None:
    topic = new_topic()
    tiered.create_topic(topic, REPLICAS)
    produce(tiered.cluster, topic, range(RECORDS), PARTITIONS)
    tiered.wait_offloaded(topic)
    with members.client() as client:
        stored = Stored(client, tiered, topic, PARTITIONS)
        with Traffic(tiered, topic, RECORDS) as traffic:
            shown = require_said(guardian, members, "Nothing was changed.", "--dry-run")
            assert f"{topic}-0" in shown
            early = run_import()
            assert sums(early, "taken") >= 5 * PARTITIONS
            configure(tiered, topic, HELD)
            wait_for("new segments stay on the brokers", lambda: fewest_local(tiered, topic) > 3)
            before = wait_for("all that was copied is imported", lambda: imported(tiered, topic, stored, run_import))
            for broker in (1, 2, 3):
                restart_with_guardian(tiered, broker, members)
                wait_in_sync(tiered, topic)
                require_readable(tiered, topic, traffic.produced)
            again = run_import()
            assert (sums(again, "taken"), sums(again, "changed"), again["missing"]) == (0, 0, 0)
            require_said(guardian, members, "Compared again: Guardian has every other segment that the topic has.")
            assert {number: set(segments) for number, segments in stored.live().items()} == before
            configure(tiered, topic, GOES_ON)
            wait_for("Guardian's brokers copy", lambda: sums(run_import("--dry-run"), "own") >= PARTITIONS)
        tiered.wait_offloaded(topic)
        stored.wait_tidy()
        require_whole(tiered.cluster, topic, traffic.produced)
        assert all(before[number] <= set(segments) for number, segments in stored.live().items())
    assert data.end_offsets(tiered.cluster, ["__remote_log_metadata"]), "the topic is left as it was"
    tiered.require_all_alive()


def test_what_is_copied_during_the_switch_is_taken_afterwards(
    tiered: TieredCluster, members: Members, run_import: Import, new_topic: Callable[[], str]
) -> None:
    """Where copies can't be held, as before Kafka 3.9: what is copied meanwhile stays on the brokers' own disks."""
    topic = new_topic()
    tiered.create_topic(topic, REPLICAS)
    produce(tiered.cluster, topic, range(RECORDS), PARTITIONS)
    tiered.wait_offloaded(topic)
    configure(tiered, topic, {"local.retention.bytes": "-2"})
    with Traffic(tiered, topic, RECORDS) as traffic:
        run_import()
        for broker in (1, 2, 3):
            wanted = traffic.produced + 3 * 32
            wait_for("there is more to copy", lambda: traffic.produced >= wanted)  # noqa: B023
            restart_with_guardian(tiered, broker, members)
            wait_in_sync(tiered, topic)
            require_readable(tiered, topic, traffic.produced)
        assert sums(run_import(), "taken") > 0
        again = run_import()
        assert (sums(again, "taken"), sums(again, "changed")) == (0, 0)
        configure(tiered, topic, {"local.retention.bytes": "1"})
    tiered.wait_offloaded(topic)
    require_whole(tiered.cluster, topic, traffic.produced)
    with members.client() as client:
        live = Stored(client, tiered, topic, PARTITIONS).live()
    strays = sum(len(files - set(live[number])) for number, files in tiered.remote_segments(topic).items())
    assert strays <= sums(again, "under_way"), "a segment's files are nobody's, but for copies that a restart cut short"
    tiered.require_all_alive()
