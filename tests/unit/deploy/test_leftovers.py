"""What stays behind is found: planted on the fake, one kind at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from deploy.local import leftovers, processes
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.fake import FakeKafka
from guardian.model.quota import CONSUMER_BYTE_RATE, QuotaEntity
from guardian.model.topology import TopicPartition

T0 = TopicPartition("t", 0)


def cluster() -> FakeKafka:
    kafka = FakeKafka({1: "a", 2: "b", 3: "c"}, {n: (f"/b{n}/d0", f"/b{n}/d1") for n in (1, 2, 3)}, bytes_per_call=1)
    kafka.create_topic("t", {0: (1, 2)}, size_bytes=1_000_000)
    return kafka


def test_a_cluster_that_is_as_before_has_nothing_left() -> None:
    kafka = cluster()
    assert leftovers.of_cluster(kafka, leftovers.dynamic_configs(kafka)) == []


def test_a_throttle_a_changed_setting_and_a_reassignment_are_found() -> None:
    kafka = cluster()
    before = leftovers.dynamic_configs(kafka)
    kafka.set_config((BROKER, "1"), "leader.replication.throttled.rate", "5")
    kafka.set_config((TOPIC, "t"), "retention.ms", "1")
    kafka.alter_reassignments({T0: (3, 2)})
    found = leftovers.of_cluster(kafka, before)
    assert "throttle leader.replication.throttled.rate=5 on broker 1" in found
    assert "retention.ms of topic t was None and is 1" in found
    assert "reassignment of t-0" in found


def test_a_throttle_of_all_brokers_and_a_clients_quota_are_found() -> None:
    kafka = cluster()
    kafka.set_quota(QuotaEntity("ann"), CONSUMER_BYTE_RATE, 10.0)
    before = leftovers.dynamic_configs(kafka)
    kafka.set_config((BROKER, ""), "follower.replication.throttled.rate", "5")
    kafka.set_quota(QuotaEntity("ann"), CONSUMER_BYTE_RATE, 5.0)
    kafka.set_quota(QuotaEntity(None, "etl"), CONSUMER_BYTE_RATE, 5.0)
    assert leftovers.of_cluster(kafka, before) == [
        "throttle follower.replication.throttled.rate=5 on all brokers",
        "consumer_byte_rate of quota client-id=etl was None and is 5",
        "consumer_byte_rate of quota user=ann was 10 and is 5",
    ]


def test_what_another_tool_had_set_before_is_not_ours() -> None:
    kafka = cluster()
    kafka.set_config((BROKER, "1"), "leader.replication.throttled.rate", "5")
    assert leftovers.of_cluster(kafka, leftovers.dynamic_configs(kafka)) == []


def test_an_inter_disk_move_is_found() -> None:
    kafka = cluster()
    before = leftovers.dynamic_configs(kafka)
    kafka.alter_replica_log_dirs({(T0, 1): "/b1/d1"})
    assert leftovers.of_cluster(kafka, before) == ["t-0 is still moving into /b1/d1"]


def test_a_broker_that_does_not_answer_is_not_taken_for_clean() -> None:
    kafka = cluster()
    before = leftovers.dynamic_configs(kafka)
    kafka.kill_broker(3)
    assert "broker 3 does not answer" in leftovers.of_cluster(kafka, before)


def test_a_process_of_the_home_is_found_and_one_of_a_namesake_is_not(tmp_path: Path) -> None:
    home, namesake = tmp_path / "demo", tmp_path / "demo2"
    program = "import sys; print('up', flush=True); sys.stdin.read()"
    for folder, found in ((home, True), (namesake, False)):
        child = subprocess.Popen(
            [sys.executable, "-c", program, f"{folder}/x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            assert child.stdout is not None
            child.stdout.readline()
            assert bool(leftovers.of_processes(home, [])) is found
        finally:
            child.communicate(b"")


def test_a_started_process_is_found_until_it_has_ended(tmp_path: Path) -> None:
    started = processes.spawn([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "log")
    assert leftovers.of_processes(tmp_path / "nowhere", [started]) == [f"process {started.pid} still runs"]
    processes.kill(started)
    assert leftovers.of_processes(tmp_path / "nowhere", [started]) == []
