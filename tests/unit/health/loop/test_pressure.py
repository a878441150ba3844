"""What brokers suffered while copies went, out of a lake."""

from __future__ import annotations

from pathlib import Path

from guardian.health.loop.pressure import pressure_seen
from guardian.lake.model.schema import METRIC_SAMPLES
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader
from guardian.lake.store.writer import LakeWriter
from guardian.web.pressure import PressureSeen
from tests.unit.member.lake import CLUSTER, FROM_MS, MINUTE_MS, MINUTES, TO_MS, table, write_lake

P99 = "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce:99thPercentile"


def write_waits(path: Path) -> None:
    """Broker 1's producers wait longer each minute; there are other metrics too."""
    rows = [
        {
            "at_ms": FROM_MS + minute * MINUTE_MS,
            "broker": broker,
            "broker_started_at_ms": 7,
            "metric": metric,
            "value": float(minute * broker),
        }
        for minute in range(MINUTES)
        for broker in (1, 2)
        for metric in (P99, "kafka.server:type=ReplicaManager,name=LeaderCount:Value")
    ]
    writer = LakeWriter(str(path), "m1")
    writer.write(CLUSTER.name, {METRIC_SAMPLES: table(METRIC_SAMPLES, rows)})
    writer.flush()


def test_busy_disks_and_waiting_producers_are_series_of_each_broker(tmp_path: Path) -> None:
    write_lake(tmp_path)
    write_waits(tmp_path)
    seen = pressure_seen(LakeReader(str(tmp_path)), "live", (1, 2), Window(FROM_MS, TO_MS))
    assert sorted(seen.brokers) == [1, 2]
    one, two = seen.brokers[1], seen.brokers[2]
    assert one.produce_p99_ms == tuple((FROM_MS + n * MINUTE_MS, float(n)) for n in range(MINUTES))
    assert len(one.disk_busy) == len(two.disk_busy) == MINUTES
    assert all(0 <= share <= 1 for each in (one, two) for _, share in each.disk_busy)
    assert max(share for _, share in two.disk_busy[40:]) > max(share for _, share in one.disk_busy[40:]), "sdb is slow"


def test_of_a_long_time_the_highest_of_each_stretch_is_kept(tmp_path: Path) -> None:
    rows = [
        {"at_ms": FROM_MS + n * 1000, "broker": 1, "broker_started_at_ms": 7, "metric": P99, "value": float(n == 777)}
        for n in range(1000)
    ]
    writer = LakeWriter(str(tmp_path), "m1")
    writer.write(CLUSTER.name, {METRIC_SAMPLES: table(METRIC_SAMPLES, rows)})
    writer.flush()
    points = pressure_seen(LakeReader(str(tmp_path)), "live", (1,), Window(FROM_MS, TO_MS)).brokers[1].produce_p99_ms
    assert len(points) <= 240
    assert (FROM_MS + 777_000, 1.0) in points


def test_without_samples_there_is_nothing(tmp_path: Path) -> None:
    assert pressure_seen(LakeReader(str(tmp_path)), "live", (1,), Window(FROM_MS, TO_MS)) == PressureSeen()
