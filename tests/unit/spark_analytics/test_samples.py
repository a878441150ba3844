"""The lake without Spark: what is listed, what is read, and when it is too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.errors import InvalidInput, Unavailable
from spark_analytics.lake.samples import LakeReader, ReadLimits
from spark_analytics.lake.schema import DISK_SAMPLES, PARTITION_SAMPLES, hour_of
from spark_analytics.lake.window import Window
from tests.unit.server.lake import FROM_MS, MINUTE_MS, TO_MS, write_lake

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


def test_a_damaged_file_is_said_and_raises_no_other_error(tmp_path: Path) -> None:
    write_lake(tmp_path)
    for file in tmp_path.glob(f"{DISK_SAMPLES}/*/*/*.parquet"):
        file.write_bytes(b"no Parquet")
    with pytest.raises(Unavailable, match="the lake can't be read"):
        list(LakeReader(str(tmp_path)).batches(DISK_SAMPLES, "live", Window(FROM_MS, TO_MS), COLUMNS))
