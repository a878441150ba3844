"""What pages show over time: rates of what was seen, None where nothing was."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.health.loop.observed import LakeObserved
from guardian.lake.model.schema import BROKER_SAMPLES, PARTITION_SAMPLES
from tests.unit.member.lake import CLUSTER, FROM_MS, MB, MINUTE_MS, TO_MS, table, write_lake

HOUR_MS = 60 * MINUTE_MS


def observed(lake: Path) -> LakeObserved:
    return LakeObserved(str(lake), lambda: TO_MS, 60.0, 60.0)


@pytest.mark.parametrize("twice", [False, True])
def test_disks_are_seen_as_busy_as_they_were(tmp_path: Path, twice: bool) -> None:
    write_lake(tmp_path, twice=twice)
    seen = observed(tmp_path).cluster("live", HOUR_MS)
    assert len(seen.steps_ms) == 60
    assert sorted(seen.brokers) == [1, 2, 3]
    broker = seen.brokers[2]
    assert [disk.disk for disk in broker.disks] == ["sda", "sdb"]
    busy = [value for value in broker.disks[1].busy if value is not None]
    assert max(busy) <= 1.0
    assert broker.disk_busy == tuple(
        max((value for value in pair if value is not None), default=None)
        for pair in zip(broker.disks[0].busy, broker.disks[1].busy, strict=True)
    )
    assert {each.disk for each in broker.log_dirs} == {"", "sda", "sdb"}  # of one nobody told the disk
    assert broker.at_ms == FROM_MS + HOUR_MS


def test_a_restart_and_a_gap_give_no_rate(tmp_path: Path) -> None:
    from guardian.lake.store.writer import LakeWriter

    writer = LakeWriter(str(tmp_path), "m1")
    counters = {0: (7, 0), 1: (7, 60 * MB), 2: (7, 180 * MB), 3: (8, 1 * MB), 4: (8, 61 * MB), 9: (8, 361 * MB)}
    rows = [
        {
            "at_ms": TO_MS - 1 - (10 - minute) * MINUTE_MS,
            "broker": 1,
            "broker_started_at_ms": life,
            "bytes_in_total": total,
            "error": "",
        }
        for minute, (life, total) in counters.items()
    ]
    rows.append({"at_ms": TO_MS - 1, "broker": 1, "error": "the reporter does not answer"})
    writer.write("live", {BROKER_SAMPLES: table(BROKER_SAMPLES, rows)})
    writer.flush()
    seen = observed(tmp_path).cluster("live", 12 * MINUTE_MS).brokers[1]
    assert [round(rate / MB, 3) if rate is not None else None for rate in seen.bytes_in if rate is not None] == [
        1.0,
        2.0,
        1.0,
        1.0,
    ]
    assert seen.error == "the reporter does not answer"
    assert seen.cpu == (None,) * len(seen.bytes_in)


def test_a_topic_is_seen_where_it_is_now(tmp_path: Path) -> None:
    write_lake(tmp_path, twice=True)
    seen = observed(tmp_path).topic("live", "t", HOUR_MS)
    assert [(each.partition, each.broker, each.is_leader) for each in seen.replicas] == [
        (0, 1, True),
        (0, 3, False),
        (1, 3, True),
        (1, 2, False),
    ]
    assert any(value for value in seen.bytes_in)
    sizes = {each.name: (each.partitions, each.replicas) for each in observed(tmp_path).topics("live")}
    assert sizes["t"] == (2, 4)


def test_a_replica_that_its_broker_has_no_more_is_gone(tmp_path: Path) -> None:
    from guardian.lake.store.writer import LakeWriter

    writer = LakeWriter(str(tmp_path), "m1")
    seat = {"broker": 1, "topic": "t", "log_dir": "/d", "size_bytes": 5, "is_leader": True, "replicas": 3}
    rows = [
        {**seat, "at_ms": TO_MS - 2 * MINUTE_MS, "partition": 0, "in_sync_replicas": 3},
        {**seat, "at_ms": TO_MS - 2 * MINUTE_MS, "partition": 1, "in_sync_replicas": 3},
        {**seat, "at_ms": TO_MS - MINUTE_MS, "partition": 1, "in_sync_replicas": 2},
    ]
    writer.write("live", {PARTITION_SAMPLES: table(PARTITION_SAMPLES, rows)})
    writer.flush()
    (topic,) = observed(tmp_path).topics("live")
    assert (topic.partitions, topic.replicas, topic.under_replicated, topic.size_bytes) == (1, 1, 1, 5)


def test_without_samples_the_answers_are_empty(tmp_path: Path) -> None:
    nothing = observed(tmp_path)
    assert not nothing.cluster(CLUSTER.name, HOUR_MS).brokers
    assert nothing.topics(CLUSTER.name) == ()
    assert nothing.topic(CLUSTER.name, "t", HOUR_MS).replicas == ()
