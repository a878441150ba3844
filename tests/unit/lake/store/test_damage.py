"""Damaged files of the lake, and files that only seem so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

from guardian.lake.model.schema import PARTITION_SAMPLES
from guardian.lake.rules.setting_aside import DAMAGED, may_be_under_way, place_set_aside
from guardian.lake.store.damage import files_set_aside, set_aside, why_damaged
from tests.unit.lake.damage import OLD_S, cut, with_noise
from tests.unit.member.lake import write_lake

FS = pafs.LocalFileSystem()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_lake(tmp_path)
    return min(tmp_path.glob(f"{PARTITION_SAMPLES}/*/*/*.parquet"))


def test_a_file_that_is_cut_anywhere_is_damaged(file: Path) -> None:
    whole = file.read_bytes()
    assert why_damaged(FS, str(file)) == ""
    for length in {*range(0, len(whole), 97), *range(len(whole) - 20, len(whole))}:
        assert why_damaged(FS, str(cut(file, length))), length
        file.write_bytes(whole)


def test_a_file_whose_pages_are_torn_out_is_damaged_though_its_ends_are_good(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(1, len(whole) // 2, 61):
        file.write_bytes(whole[:4] + whole[4 + length :])
        assert why_damaged(FS, str(file)), length


def test_noise_in_a_page_is_found_in_whatever_column_it_is(file: Path) -> None:
    whole = file.read_bytes()
    for column in pq.read_schema(file).names:
        assert why_damaged(FS, str(with_noise(file, column, length=3))), column
        file.write_bytes(whole)


def test_what_is_gone_or_not_given_is_not_damaged(file: Path) -> None:
    assert why_damaged(FS, str(file.with_name("gone.parquet"))) == ""

    class Away(LocalFileSystem):  # type: ignore[misc]
        def open(self, *_: Any, **__: Any) -> Any:
            raise OSError("connection reset")

    away = pafs.PyFileSystem(pafs.FSSpecHandler(Away(skip_instance_cache=True)))
    assert why_damaged(away, str(cut(file, 100))) == ""
    assert why_damaged(FS, str(file)) != ""


def test_memory_that_is_short_is_no_damage(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_short(*_: object, **__: object) -> None:
        raise MemoryError("malloc of size 64 failed")

    monkeypatch.setattr(pq, "ParquetFile", is_short)
    assert why_damaged(FS, str(file)) == ""


def test_a_damaged_file_goes_out_of_the_way_once(tmp_path: Path, file: Path) -> None:
    cut(file, 100)
    assert set_aside(FS, str(file), "cut")
    assert not file.exists()
    (info,) = files_set_aside(FS, str(tmp_path))
    assert (info.path, info.size) == (str(tmp_path / DAMAGED / file.relative_to(tmp_path)), 100)
    assert set_aside(FS, str(file), "cut")  # somebody was faster
    assert files_set_aside(FS, str(tmp_path / "empty")) == []


def test_a_file_that_somebody_may_still_copy_stays(tmp_path: Path, file: Path) -> None:
    cut(file, 100)
    assert not set_aside(FS, str(file), "cut", lambda: OLD_S + 59)
    assert file.exists()
    assert not files_set_aside(FS, str(tmp_path))
    assert set_aside(FS, str(file), "cut", lambda: OLD_S + 61)


def test_a_file_that_cannot_be_moved_stays_and_is_told(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut(file, 100)
    (tmp_path / DAMAGED).write_text("a file where the folder would be")
    assert not set_aside(FS, str(file), "cut")
    assert file.exists()
    assert "can't be set aside: move it away" in capsys.readouterr().out


@pytest.mark.parametrize("root", ["/lake", "bucket/prefix", "file:///lake", "s3a://bucket/damaged"])
def test_a_file_goes_where_no_reader_of_a_table_looks(root: str) -> None:
    inside = "disk_samples/cluster=live/hour=2026-09-21T14/g1-1.parquet"
    assert place_set_aside(f"{root}/{inside}") == f"{root}/damaged/{inside}"
    assert place_set_aside(f"{root}/g1-1.parquet") == ""


def test_what_nothing_tells_the_age_of_may_be_under_way() -> None:
    assert may_be_under_way(None, 10**12)
    assert may_be_under_way(1, 60_000)
    assert not may_be_under_way(1, 60_001)
