"""The keeper on a real folder: no row is lost, none is told twice in the end, whatever crashes in between."""

from __future__ import annotations

import errno
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from guardian.collection.rules.ingest import Asked, failed_collection
from guardian.lake import loop
from guardian.lake.loop import LakeKeeper
from guardian.lake.model.schema import BROKER_SAMPLES, PARTITION_HOURS, PARTITION_SAMPLES, TABLES, hour_of
from guardian.lake.rules.chores import LakeTimes
from guardian.lake.rules.setting_aside import DAMAGED
from guardian.lake.store.writer import LakeWriter
from guardian.model.topology import Broker, Cluster
from tests.unit.lake.damage import cut, with_noise

HOUR_MS = 3_600_000
START_MS = 1_790_000_000_000 // HOUR_MS * HOUR_MS
END_MS = START_MS + HOUR_MS
DAY_MS = 24 * HOUR_MS
CLUSTER = Cluster("live", "h:9092", brokers=(Broker(1),))


class Clock:
    def __init__(self) -> None:
        self.now_ms = END_MS + HOUR_MS

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keeper(tmp_path: Path, clock: Clock) -> LakeKeeper:
    return LakeKeeper(str(tmp_path), LakeTimes(retention_ms=30 * DAY_MS), clock)


def write(lake: Path, *moments: int, cluster: str = "live", broker: int = 1) -> None:
    """A file for each moment, which is counted in ms from the hour's start."""
    for moment in moments:
        writer = LakeWriter(str(lake), "g1")
        asked = Asked(CLUSTER, Broker(broker), "g1", START_MS + moment, START_MS + moment)
        writer.write(cluster, failed_collection(asked, "no answer"))
        writer.flush()


def hour(lake: Path, cluster: str = "live") -> Path:
    [directory] = (lake / BROKER_SAMPLES / f"cluster={cluster}").iterdir()
    return directory


def moments(lake: Path) -> Counter[int]:
    table: pa.Table = ds.dataset(lake / BROKER_SAMPLES, format="parquet", partitioning="hive").to_table()
    return Counter(at_ms - START_MS for at_ms in table["at_ms"].to_pylist())


def age(directory: Path, clock: Clock) -> None:
    """Files bear the real time: those of the story are of its own."""
    for file in directory.iterdir():
        os.utime(file, (clock.now_ms / 1000, clock.now_ms / 1000))


def test_an_hour_that_is_over_becomes_one_file_and_the_others_go_later(
    tmp_path: Path, keeper: LakeKeeper, clock: Clock
) -> None:
    write(tmp_path, 1, 2, 3)
    assert keeper.tick() == [f"lake: 3 files of {hour(tmp_path)} are one now"]
    assert len(list(hour(tmp_path).iterdir())) == 4
    assert moments(tmp_path) == {1: 2, 2: 2, 3: 2}
    age(hour(tmp_path), clock)
    clock.now_ms += 15 * 60_000
    assert keeper.tick() == []
    clock.now_ms += 1
    assert keeper.tick() == [f"lake: 3 files of {hour(tmp_path)} are removed"]
    assert moments(tmp_path) == {1: 1, 2: 1, 3: 1}
    [merged] = hour(tmp_path).iterdir()
    assert pq.read_schema(merged).remove_metadata() == TABLES[BROKER_SAMPLES].remove_metadata()
    assert keeper.tick() == []


def test_the_present_hour_is_left_alone(tmp_path: Path, keeper: LakeKeeper, clock: Clock) -> None:
    write(tmp_path, 1, 2)
    clock.now_ms = END_MS + 60_000
    assert keeper.tick() == []
    assert moments(tmp_path) == {1: 1, 2: 1}


def test_a_file_that_comes_late_is_merged_too(tmp_path: Path, keeper: LakeKeeper, clock: Clock) -> None:
    write(tmp_path, 1, 2)
    keeper.tick()
    write(tmp_path, 3)
    keeper.tick()
    for _ in range(2):
        age(hour(tmp_path), clock)
        clock.now_ms += HOUR_MS
        keeper.tick()
    assert moments(tmp_path) == {1: 1, 2: 1, 3: 1}
    assert len(list(hour(tmp_path).iterdir())) == 1


def test_what_two_leaders_merged_at_once_is_there_once_in_the_end(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 1, 2, 3)
    first, second = (LakeKeeper(str(tmp_path), LakeTimes(30 * DAY_MS), clock) for _ in range(2))
    merge = first._merge

    def both(*arguments: Any) -> None:
        second.tick()
        merge(*arguments)

    monkeypatch.setattr(first, "_merge", both)
    first.tick()
    assert moments(tmp_path) == {1: 3, 2: 3, 3: 3}
    for _ in range(4):
        age(hour(tmp_path), clock)
        clock.now_ms += HOUR_MS
        second.tick()
    assert moments(tmp_path) == {1: 1, 2: 1, 3: 1}


def test_what_was_left_half_written_goes_and_was_never_read(tmp_path: Path, keeper: LakeKeeper, clock: Clock) -> None:
    write(tmp_path, 1)
    half = hour(tmp_path) / ".g1-1-2.parquet"
    half.write_bytes(b"PAR1 half a file")
    age(hour(tmp_path), clock)
    assert keeper.tick() == []
    clock.now_ms += HOUR_MS + 1
    assert keeper.tick() == [f"lake: 1 files of {hour(tmp_path)} are removed"]
    assert (half.exists(), moments(tmp_path)) == (False, {1: 1})


def test_a_merge_that_fails_leaves_all_as_it_was_and_holds_up_no_other(
    tmp_path: Path, keeper: LakeKeeper, clock: Clock
) -> None:
    write(tmp_path, 1, 2, cluster="bad")
    write(tmp_path, 1, 2, cluster="live")
    broken = min(hour(tmp_path, "bad").iterdir())
    broken.write_bytes(b"no parquet at all")
    said = keeper.tick()
    assert len(said) == 2
    assert f"{hour(tmp_path, 'bad')} can't be tidied" in said[0]
    assert len(list(hour(tmp_path, "bad").iterdir())) == 2
    assert len(list(hour(tmp_path, "live").iterdir())) == 3


def test_damaged_files_of_an_hour_are_set_aside_counted_and_go_with_it(
    tmp_path: Path, keeper: LakeKeeper, clock: Clock
) -> None:
    write(tmp_path, 1, 2, 3, 4)
    first, second, *_ = sorted(hour(tmp_path).iterdir())
    cut(first, 300)
    with_noise(second, "bytes_in_total")
    assert keeper.damaged_files is None  # and not none, which would rise at each new leader
    (said,) = keeper.tick()
    assert said.startswith(f"lake: damaged, and set aside: {first} (")
    assert f"{second} (" in said
    assert keeper.tick() + keeper.tick() == [f"lake: 2 files of {hour(tmp_path)} are one now"]
    assert keeper.damaged_files == 2
    assert sorted(each.name for each in (tmp_path / DAMAGED).rglob("*.parquet")) == [first.name, second.name]
    clock.now_ms += 31 * DAY_MS
    keeper.tick()
    assert keeper.damaged_files == 0
    assert not [*(tmp_path / DAMAGED).rglob("*.parquet")]


def test_a_disk_that_is_full_is_no_damage(tmp_path: Path, keeper: LakeKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 1, 2)
    monkeypatch.setattr(loop, "why_damaged", lambda *_: "it is asked for all the same")

    def is_full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "ParquetWriter", is_full)
    assert "can't be tidied: [Errno 28]" in keeper.tick()[0]
    assert len([*hour(tmp_path).iterdir()]) == 2


def test_files_of_the_first_version_are_merged_with_nulls_for_what_they_lack(
    tmp_path: Path, keeper: LakeKeeper
) -> None:
    write(tmp_path, 1, 2)
    oldest = min(hour(tmp_path).iterdir())
    table = pq.read_table(oldest, partitioning=None)
    pq.write_table(table.select(table.column_names[:11]), oldest)
    keeper.tick()
    [merged] = hour(tmp_path).glob("merged-*")
    assert pq.read_table(merged, partitioning=None)["member"].to_pylist() == [None, "g1"]


def test_hours_beyond_the_retention_are_removed(tmp_path: Path, keeper: LakeKeeper, clock: Clock) -> None:
    write(tmp_path, 1)
    directory = hour(tmp_path)
    clock.now_ms = END_MS + 30 * DAY_MS + 1
    assert keeper.tick() == [f"lake: {directory} is older than what is kept, and removed"]
    assert not directory.exists()


def test_a_lake_that_is_not_there_yet_and_foreign_folders_are_no_trouble(
    tmp_path: Path, keeper: LakeKeeper, clock: Clock
) -> None:
    assert keeper.tick() == []
    (tmp_path / BROKER_SAMPLES / "cluster=live" / "notes").mkdir(parents=True)
    clock.now_ms += 100 * DAY_MS
    assert keeper.tick() == []
    assert (tmp_path / BROKER_SAMPLES / "cluster=live" / "notes").exists()


def test_a_tick_does_a_bounded_part(tmp_path: Path, clock: Clock) -> None:
    for cluster in ("a", "b", "c"):
        write(tmp_path, 1, 2, cluster=cluster)
    keeper = LakeKeeper(str(tmp_path), LakeTimes(30 * DAY_MS), clock, max_hours=2)
    assert [len(keeper.tick()), len(keeper.tick()), len(keeper.tick())] == [2, 1, 0]


def test_a_large_lake_is_walked_through_in_several_ticks(tmp_path: Path, clock: Clock) -> None:
    for cluster in ("a", "b", "c"):
        write(tmp_path, 1, 2, cluster=cluster)
    keeper = LakeKeeper(str(tmp_path), LakeTimes(30 * DAY_MS), clock, max_looks=1)
    assert [said.split("cluster=")[1][0] for _ in range(3) for said in keeper.tick()] == ["a", "b", "c"]


def write_samples(lake: Path, *moments: int) -> None:
    """A file for each moment, with a replica that takes in 1000 bytes each ms."""
    schema = TABLES[PARTITION_SAMPLES]
    for moment in moments:
        row: dict[str, Any] = dict.fromkeys(schema.names, 0)
        row |= {"at_ms": START_MS + moment, "broker": 1, "topic": "t", "log_dir": "/d", "is_leader": True}
        row |= {"log_end_offset": moment, "topic_bytes_in_total": 1000 * moment, "size_bytes": moment}
        writer = LakeWriter(str(lake), "g1")
        writer.write("live", {PARTITION_SAMPLES: pa.Table.from_pylist([row], schema=schema)})
        writer.flush()


def rollups(lake: Path) -> list[Path]:
    """The last one counts."""
    return sorted((lake / PARTITION_HOURS).rglob("rolled-*.parquet"))


def test_an_hour_of_partition_samples_is_rolled_up_once_its_files_are_one(
    tmp_path: Path, keeper: LakeKeeper, clock: Clock
) -> None:
    write_samples(tmp_path, 1000, 2000, 3000)
    assert len(keeper.tick()) == 1
    assert rollups(tmp_path) == []
    directory = tmp_path / PARTITION_SAMPLES / "cluster=live" / f"hour={hour_of(START_MS)}"
    assert keeper.tick() == [f"lake: {directory} is rolled up"]
    [rolled] = rollups(tmp_path)
    [row] = pq.read_table(rolled, partitioning=None).to_pylist()
    assert (row["samples"], row["messages"], row["covered_ms"]) == (3, 2000, 2000)
    assert row["write_rate"] == pytest.approx(1_000_000, rel=1e-3)
    assert keeper.tick() == []


def test_rows_that_come_late_make_a_new_roll_up_and_the_old_one_goes_later(
    tmp_path: Path, keeper: LakeKeeper, clock: Clock
) -> None:
    write_samples(tmp_path, 1000, 2000)
    keeper.tick()
    keeper.tick()
    write_samples(tmp_path, 3000)
    clock.now_ms += 1
    keeper.tick()
    keeper.tick()
    old, new = rollups(tmp_path)
    assert pq.read_table(new, partitioning=None)["samples"].to_pylist() == [3]
    for file in (old, new):
        os.utime(file, (clock.now_ms / 1000, clock.now_ms / 1000))
    clock.now_ms += 15 * 60_000 + 1
    keeper.tick()
    assert rollups(tmp_path) == [new]


def test_an_hour_with_one_file_is_rolled_up_as_it_is(tmp_path: Path, keeper: LakeKeeper, clock: Clock) -> None:
    write_samples(tmp_path, 1000)
    clock.now_ms = END_MS
    assert keeper.tick() == []
    clock.now_ms = END_MS + HOUR_MS
    keeper.tick()
    assert len(rollups(tmp_path)) == 1


def test_a_roll_up_goes_with_its_hour(tmp_path: Path, keeper: LakeKeeper, clock: Clock) -> None:
    write_samples(tmp_path, 1000)
    keeper.tick()
    clock.now_ms += 31 * DAY_MS
    keeper.tick()
    assert rollups(tmp_path) == []
