"""What RocksDB's store promises beyond tests/contract/test_store.py: files, generations, repair at start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from metastore import rocksdb
from metastore.records import Put, Record
from metastore.rocksdb import RocksDbStore
from metastore.store import StoreError
from tests.patience import until


def made(path: Path, value: bytes = b"1", index: int = 5) -> None:
    store = RocksDbStore(path)
    store.write([Put(b"a", value)], index)
    store.close()


def found(path: Path) -> tuple[bytes | None, int]:
    store = RocksDbStore(path)
    try:
        return store.get(b"a"), store.applied_index
    finally:
        store.close()


def generations(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir())


def test_a_store_is_found_again_after_closing_with_snapshots_open(tmp_path: Path) -> None:
    store = RocksDbStore(tmp_path)
    store.write([Put(b"a", b"1")], 5)
    snapshot = store.snapshot()
    store.close()
    uses: list[Callable[[], object]] = [
        lambda: snapshot.get(b"a"),
        lambda: snapshot.get_many([b"a"]),
        lambda: snapshot.scan(b"a"),
        lambda: snapshot.applied_index,
    ]
    for use in uses:
        with pytest.raises(StoreError, match="closed"):
            use()
    assert found(tmp_path) == (b"1", 5)


def test_a_second_opener_is_refused_and_disturbs_nothing(tmp_path: Path) -> None:
    store = RocksDbStore(tmp_path)
    with pytest.raises(StoreError, match=r"can't be opened.*lock"):
        RocksDbStore(tmp_path)
    store.write([Put(b"a", b"1")], 1)
    store.close()
    assert found(tmp_path) == (b"1", 1)


def test_a_reader_of_a_replaced_store_is_told(tmp_path: Path) -> None:
    store = RocksDbStore(tmp_path / "store")
    store.write([Put(b"a", b"1")], 1)
    store.save(tmp_path / "copy")
    snapshot = store.snapshot()
    store.install(tmp_path / "copy")
    for use in (lambda: snapshot.get(b"a"), lambda: snapshot.scan(b"a"), lambda: snapshot.applied_index):
        with pytest.raises(StoreError, match="replaced"):
            use()
    assert store.snapshot().get(b"a") == b"1"
    store.close()


def test_an_installed_copy_is_there_after_a_restart_and_the_old_one_is_gone(tmp_path: Path) -> None:
    made(tmp_path / "other", b"new", 9)
    other = RocksDbStore(tmp_path / "other")
    other.save(tmp_path / "copy")
    other.close()
    made(tmp_path / "store")
    store = RocksDbStore(tmp_path / "store")
    store.install(tmp_path / "copy")
    store.close()
    assert found(tmp_path / "store") == (b"new", 9)
    assert generations(tmp_path / "store") == ["gen-2"]


def test_a_member_can_install_again_and_again(tmp_path: Path) -> None:
    store = RocksDbStore(tmp_path / "store")
    for index in range(1, 4):
        store.write([Put(b"a", b"%d" % index)], index)
        store.save(tmp_path / "copy")
        store.install(tmp_path / "copy")
    store.close()
    assert found(tmp_path / "store") == (b"3", 3)
    assert generations(tmp_path / "store") == ["gen-4"]


def test_a_generation_that_does_not_count_is_removed_at_start(tmp_path: Path) -> None:
    made(tmp_path)
    shutil.copytree(tmp_path / "gen-1", tmp_path / "gen-2")
    (tmp_path / "gen-3").mkdir()
    (tmp_path / "CURRENT.tmp").write_text("gen-")
    assert found(tmp_path) == (b"1", 5)
    assert generations(tmp_path) == ["gen-1"]
    assert not (tmp_path / "CURRENT.tmp").exists()


def test_data_without_current_is_refused_and_kept(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "CURRENT").unlink()
    with pytest.raises(StoreError, match=r"has gen-1 but no CURRENT.*never copy"):
        RocksDbStore(tmp_path)
    assert generations(tmp_path) == ["gen-1"]
    (tmp_path / "CURRENT").write_text("gen-1\n")
    assert found(tmp_path) == (b"1", 5)


@pytest.mark.parametrize(
    "content", ["", "gen-1", "gen-01\n", "gen-1 old\n", "../gen-1\n", "gen-1\ngen-1\n", "\x00" * 6]
)
def test_a_damaged_current_is_refused_and_all_is_kept(tmp_path: Path, content: str) -> None:
    made(tmp_path)
    (tmp_path / "gen-2").mkdir()
    (tmp_path / "CURRENT").write_text(content)
    with pytest.raises(StoreError, match="does not name a generation"):
        RocksDbStore(tmp_path)
    assert generations(tmp_path) == ["gen-1", "gen-2"]


def test_a_missing_generation_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "gen-1").rename(tmp_path / "gen-2")
    with pytest.raises(StoreError, match="gen-1 is missing"):
        RocksDbStore(tmp_path)
    assert generations(tmp_path) == ["gen-2"]


def test_a_generation_without_its_files_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    shutil.rmtree(tmp_path / "gen-1")
    (tmp_path / "gen-1").mkdir()
    with pytest.raises(StoreError, match="can't be opened"):
        RocksDbStore(tmp_path)
    with pytest.raises(StoreError, match="can't be opened"):  # and not because of a lock that was kept
        RocksDbStore(tmp_path)


def test_a_store_whose_making_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "CURRENT").write_text("gen-1 new\n")
    (tmp_path / "gen-1").mkdir()
    (tmp_path / "gen-1" / "CURRENT").write_text("half")
    assert found(tmp_path) == (None, 0)
    assert (tmp_path / "CURRENT").read_text() == "gen-1\n"


def test_a_damaged_copy_is_not_installed(tmp_path: Path) -> None:
    store = RocksDbStore(tmp_path / "store")
    store.write([Put(b"a", b"1")], 1)
    store.save(tmp_path / "copy")
    manifest = next((tmp_path / "copy").glob("MANIFEST-*"))
    manifest.write_bytes(manifest.read_bytes()[:40])
    with pytest.raises(StoreError, match="can't install"):
        store.install(tmp_path / "copy")
    assert store.get(b"a") == b"1"
    assert generations(tmp_path / "store") == ["gen-1"]
    store.close()
    assert found(tmp_path / "store") == (b"1", 1)


def test_the_space_of_what_is_deleted_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large values lie in blob files; one that stays there must not keep the others' space."""
    monkeypatch.setattr(rocksdb, "_WRITE_BUFFER_BYTES", 1 << 20)
    monkeypatch.setattr(rocksdb, "_BLOB_FILE_BYTES", 1 << 20)
    store, group, written = RocksDbStore(tmp_path), os.urandom(64 << 10), 3_000
    live = written // 16
    try:
        for number in range(written):
            trimmed: list[Record] = [(group_key(number - 50), None)] if number % 16 and number >= 50 else []
            store.write([(group_key(number), group), *trimmed], number + 1)
        # RocksDB compacts in the background.
        until(lambda: blob_bytes(tmp_path) <= written * len(group) / 2, story=lambda: blob_bytes(tmp_path))
        assert blob_bytes(tmp_path) > live * len(group) / 2
    finally:
        store.close()


def group_key(number: int) -> bytes:
    return b"group" + number.to_bytes(8, "big")


def blob_bytes(path: Path) -> int:
    sizes = []
    for file in path.rglob("*.blob"):
        with suppress(FileNotFoundError):
            sizes.append(file.stat().st_size)
    return sum(sizes)
