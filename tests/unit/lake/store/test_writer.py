from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from guardian.collection.rules.ingest import Asked, failed_collection
from guardian.errors import InvalidInput
from guardian.lake.model.schema import BROKER_SAMPLES, LOG_DIR_SAMPLES, TABLES, hour_of
from guardian.lake.store.writer import LakeWriter
from guardian.model.topology import Broker, Cluster

AT_MS = 1_790_000_000_000
HOUR_MS = 3_600_000
BROKER = Broker(1, rack="shanghai-a", idc="shanghai")
CLUSTER = Cluster("live", "127.0.0.1:9092", brokers=(BROKER,))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def files(lake: Path) -> list[Path]:
    return sorted(path for path in lake.rglob("*") if path.is_file())


def errors(lake: Path) -> list[str]:
    table = ds.dataset(lake / BROKER_SAMPLES, format="parquet", partitioning="hive").to_table()
    found: list[str] = table.sort_by("at_ms")["error"].to_pylist()
    return found


def write(lake: LakeWriter, error: str, at_ms: int = AT_MS, cluster: str = "live") -> None:
    lake.write(cluster, failed_collection(Asked(CLUSTER, BROKER, "m1", at_ms, at_ms), error))


def test_rows_are_in_the_lake_after_their_age_and_not_before(tmp_path: Path) -> None:
    clock = Clock()
    lake = LakeWriter(str(tmp_path), "m1", max_age_s=60, clock=clock)
    write(lake, "first")
    clock.now = 59.9
    write(lake, "second", AT_MS + 1)
    assert files(tmp_path) == []
    clock.now = 60.0
    lake.flush_aged()
    assert errors(tmp_path) == ["first", "second"]
    assert len(files(tmp_path)) == 1


def test_a_file_lies_and_is_named_as_the_schema_says(tmp_path: Path) -> None:
    lake = LakeWriter(str(tmp_path), "m1")
    write(lake, "later", AT_MS + 5)
    write(lake, "sooner", AT_MS)
    lake.flush()
    [file] = files(tmp_path)
    assert file.parent == tmp_path / "broker_samples" / "cluster=live" / f"hour={hour_of(AT_MS)}"
    assert file.name.startswith(f"m1-{AT_MS}-")
    assert file.suffix == ".parquet"
    parquet = pq.ParquetFile(file)
    assert parquet.schema_arrow.equals(TABLES[BROKER_SAMPLES], check_metadata=True)
    assert parquet.metadata.row_group(0).column(0).compression == "ZSTD"


def test_hours_and_clusters_have_directories_of_their_own(tmp_path: Path) -> None:
    lake = LakeWriter(str(tmp_path), "m1")
    write(lake, "a", AT_MS)
    write(lake, "b", AT_MS + HOUR_MS)
    write(lake, "c", AT_MS, cluster="bulk")
    lake.flush()
    assert {(file.parent.parent.name, file.parent.name) for file in files(tmp_path)} == {
        ("cluster=live", f"hour={hour_of(AT_MS)}"),
        ("cluster=live", f"hour={hour_of(AT_MS + HOUR_MS)}"),
        ("cluster=bulk", f"hour={hour_of(AT_MS)}"),
    }


def test_a_url_is_a_lake_as_well(tmp_path: Path) -> None:
    lake = LakeWriter(tmp_path.as_uri() + "/", "m1")
    write(lake, "a")
    lake.flush()
    assert errors(tmp_path) == ["a"]


def test_a_brokers_row_is_written_after_the_rest_of_its_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = LakeWriter(str(tmp_path), "m1")
    log_dirs = pa.Table.from_pylist(
        [
            {
                "at_ms": AT_MS,
                "broker": 1,
                "log_dir": "/d",
                "disk": "",
                "total_bytes": 1,
                "usable_bytes": 1,
                "offline": False,
            }
        ],
        schema=TABLES[LOG_DIR_SAMPLES],
    )
    written: list[str] = []
    fails = True

    def write_table(rows: pa.Table, path: str, **_: object) -> None:
        table = Path(path).relative_to(tmp_path).parts[0]
        if fails and table == LOG_DIR_SAMPLES:
            raise OSError("no space left")
        written.append(table)
        Path(path).touch()

    monkeypatch.setattr(pq, "write_table", write_table)
    lake.write("live", {**failed_collection(Asked(CLUSTER, BROKER, "m1", AT_MS, AT_MS), ""), LOG_DIR_SAMPLES: log_dirs})
    lake.flush()
    assert written == []
    fails = False
    lake.flush()
    assert written == [LOG_DIR_SAMPLES, BROKER_SAMPLES]


@pytest.mark.parametrize("url", ["foo://bar/lake", "ftp://host/lake"])
def test_a_url_that_can_not_be_used_is_named_in_one_sentence(url: str) -> None:
    with pytest.raises(
        InvalidInput, match=rf"^lake is '{url}': use a path, or a URL that works on this host \([^\n]+$"
    ):
        LakeWriter(url, "m1")


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    lake = LakeWriter(str(tmp_path), "m1")
    lake.write("live", {BROKER_SAMPLES: TABLES[BROKER_SAMPLES].empty_table()})
    lake.flush()
    assert files(tmp_path) == []


def test_a_file_that_is_being_written_is_hidden_and_goes_when_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def fails(rows: object, path: str, **_: object) -> None:
        Path(path).write_bytes(b"half")
        seen.append(Path(path).name)
        raise OSError("no space left on device")

    lake = LakeWriter(str(tmp_path), "m1")
    write(lake, "a")
    with monkeypatch.context() as patched:
        patched.setattr(pq, "write_table", fails)
        lake.flush()
    assert [name[0] for name in seen] == ["."]
    assert files(tmp_path) == []
    lake.flush()
    assert errors(tmp_path) == ["a"]


def test_rows_that_can_not_be_written_are_kept_up_to_a_bound(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    root.write_text("a file where the lake should be")
    lake = LakeWriter(str(root), "m1", max_buffered_rows=2)
    for number in range(4):
        write(lake, f"row {number}", AT_MS + number)
        lake.flush()
    status = lake.status()
    assert (status.waiting_rows, status.dropped_rows, status.written_rows) == (2, 2, 0)
    assert status.failed_files == 4
    assert status.last_failed_at > status.last_written_at == 0
    root.unlink()
    lake.flush()
    assert errors(root) == ["row 2", "row 3"]
    status = lake.status()
    assert (status.waiting_rows, status.written_rows, status.written_files) == (0, 2, 1)
    assert status.last_written_at > 0
