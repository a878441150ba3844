"""The lake without Spark: what is listed, what is read, and when it is too much."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from guardian.errors import InvalidInput, Unavailable
from guardian.lake.model.schema import DISK_SAMPLES, PARTITION_SAMPLES, hour_of
from guardian.lake.model.window import Window
from guardian.lake.rules.setting_aside import DAMAGED
from guardian.lake.store.reader import LakeReader, ReadLimits
from tests.unit.lake.damage import cut, with_noise
from tests.unit.member.lake import FROM_MS, MINUTE_MS, TO_MS, write_lake

COLUMNS = ("at_ms", "broker", "disk", "bytes_read")
KEYS = ("broker", "disk", "at_ms")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lake")
    write_lake(path, twice=True)
    return path


def test_a_window_is_read_in_order_and_each_row_once(lake: Path) -> None:
    window = Window(FROM_MS + 5 * MINUTE_MS, FROM_MS + 8 * MINUTE_MS)
    rows = LakeReader(str(lake)).table(DISK_SAMPLES, "live", window, COLUMNS, *KEYS).to_pylist()
    assert len(rows) == 3 * 3 * 3
    assert rows == sorted(rows, key=lambda row: tuple(row[key] for key in KEYS))
    assert {row["at_ms"] for row in rows} == {FROM_MS + minute * MINUTE_MS for minute in (5, 6, 7)}


def test_only_the_hours_of_the_window_are_touched(tmp_path: Path) -> None:
    write_lake(tmp_path)
    window = Window(FROM_MS, FROM_MS + MINUTE_MS)
    for path in tmp_path.glob("*/*/hour=*"):
        if path.name != f"hour={hour_of(FROM_MS)}":
            for file in path.iterdir():
                file.write_bytes(b"no Parquet")
    assert LakeReader(str(tmp_path)).table(DISK_SAMPLES, "live", window, COLUMNS, *KEYS).num_rows == 9


def test_half_written_files_and_what_is_not_there_are_left_out(lake: Path) -> None:
    directory = next(lake.glob(f"{DISK_SAMPLES}/cluster=live/hour={hour_of(FROM_MS)}"))
    (directory / ".m1-half.parquet").write_bytes(b"PAR1")
    reader = LakeReader(str(lake))
    window = Window(FROM_MS, FROM_MS + MINUTE_MS)
    assert reader.table(DISK_SAMPLES, "live", window, COLUMNS, *KEYS).num_rows == 9
    assert reader.table(DISK_SAMPLES, "dead", window, COLUMNS, *KEYS).num_rows == 0
    assert LakeReader(str(lake / "none")).table(DISK_SAMPLES, "live", window, COLUMNS, *KEYS).num_rows == 0


def test_more_than_the_limits_is_refused_with_the_way_out(lake: Path) -> None:
    window = Window(FROM_MS, TO_MS)
    reader = LakeReader(str(lake), ReadLimits(rows=10))
    with pytest.raises(InvalidInput, match=r"more than a member reads for one question .* --since 10m"):
        list(reader.batches(PARTITION_SAMPLES, "live", window, ("at_ms",)))
    moments = iter([0.0, *[100.0] * 50])
    late = LakeReader(str(lake), ReadLimits(seconds=5.0), lambda: next(moments))
    with pytest.raises(InvalidInput, match="ask for a shorter time"):
        list(late.batches(PARTITION_SAMPLES, "live", window, ("at_ms",)))


def read(lake: Path) -> list[tuple[Any, ...]]:
    window = Window(FROM_MS, TO_MS)
    rows = LakeReader(str(lake)).table(DISK_SAMPLES, "live", window, COLUMNS, *KEYS).to_pylist()
    return [tuple(row[key] for key in KEYS) for row in rows]


def files_of_a_minute(lake: Path) -> list[Path]:
    """Write a lake in which each minute of the table is a file."""
    write_lake(lake)
    files = []
    for whole in sorted(lake.glob(f"{DISK_SAMPLES}/*/*/*.parquet")):
        rows = pq.read_table(whole, partitioning=None)
        for at_ms in pc.unique(rows["at_ms"]).to_pylist():
            files.append(whole.with_name(f"m1-{at_ms}-0.parquet"))
            some = rows.filter(pc.equal(rows["at_ms"], at_ms))
            pq.write_table(some, files[-1], compression="zstd", write_page_checksum=True)
        whole.unlink()
    return files


def test_of_damaged_files_only_their_own_rows_are_missing(tmp_path: Path) -> None:
    files = files_of_a_minute(tmp_path)
    before = read(tmp_path)
    size = files[0].stat().st_size
    damaged = [cut(file, size * number // 20) for number, file in enumerate(files[:20])]
    damaged += [
        with_noise(files[number], column) for number, column in ((30, "bytes_read"), (31, "disk"), (32, "at_ms"))
    ]
    lost = {FROM_MS + number * MINUTE_MS for number in (*range(20), 30, 31, 32)}
    assert read(tmp_path) == [row for row in before if row[2] not in lost]
    assert not [file for file in damaged if file.exists()]
    aside = sorted((tmp_path / DAMAGED).rglob("*.parquet"))
    assert [file.name for file in aside] == sorted(file.name for file in damaged)
    assert read(tmp_path) == [row for row in before if row[2] not in lost]  # and nobody meets them again


def test_a_column_that_nobody_reads_keeps_no_row_back(tmp_path: Path) -> None:
    files = files_of_a_minute(tmp_path)
    before = read(tmp_path)
    with_noise(files[3], "write_ms")
    assert read(tmp_path) == before


def test_a_file_that_is_being_copied_is_left_out_and_stays(tmp_path: Path) -> None:
    files = files_of_a_minute(tmp_path)
    before = read(tmp_path)
    cut(files[3], 300)
    os.utime(files[3])
    assert read(tmp_path) == [row for row in before if row[2] != FROM_MS + 3 * MINUTE_MS]
    assert files[3].exists()
    assert not (tmp_path / DAMAGED).exists()


def test_a_file_of_other_columns_is_no_damage_and_is_said(tmp_path: Path) -> None:
    files = files_of_a_minute(tmp_path)
    pq.write_table(pa.table({"at_ms": ["when"], "broker": ["who"], "disk": ["sda"], "bytes_read": [1]}), files[3])
    with pytest.raises(Unavailable, match="the lake can't be read"):
        read(tmp_path)
    assert files[3].exists()
