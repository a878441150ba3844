"""Damage in each kind of file of a store: found on each way to it, remembered, and nothing is served after that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from metastore.rocksdb import RocksDbStore, _Health
from metastore.state_machine import MetastoreStateMachine
from metastore.store import Snapshot, StoreDamaged, StoreError
from protos.guardian.v1 import records_pb2
from tests.integration.faults.damage import flip, flip_all

KEYS = [b"key%04d" % number for number in range(300)]


def fill(path: Path) -> None:
    """Some rows in a table, and some large ones in a blob file, flushed."""
    store = RocksDbStore(path)
    for number, key in enumerate(KEYS, 1):
        store.write([(b"s" + key, b"small" * 20), (b"b" + key, b"large" * 400)], number)
    store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def store(path: Path) -> Iterator[RocksDbStore]:
    """Open, and nothing of it is in the cache."""
    store = RocksDbStore(path)
    yield store
    store.close()


READS: dict[str, Callable[[Snapshot], object]] = {
    "get": lambda view: [view.get(kind + key) for kind in (b"s", b"b") for key in KEYS],
    "get_many": lambda view: view.get_many([kind + key for kind in (b"s", b"b") for key in KEYS]),
    "scan": lambda view: [view.scan(b"s"), view.scan(b"b")],
    "floor": lambda view: [view.floor(kind, kind + key) for kind in (b"s", b"b") for key in KEYS],
}


@pytest.mark.parametrize("files", ["*.sst", "*.blob"])
@pytest.mark.parametrize("is_snapshot", [True, False], ids=["a snapshot", "the store"])
@pytest.mark.parametrize("read", READS)
def test_each_read_of_damage_raises_and_nothing_is_served_after_it(
    store: RocksDbStore, path: Path, files: str, is_snapshot: bool, read: str
) -> None:
    earlier = store.snapshot()
    view = store.snapshot() if is_snapshot else store
    assert flip_all(path.glob(f"gen-1/{files}"))
    with pytest.raises(StoreDamaged):
        READS[read](view)
    assert "Corruption" in store.damage
    for use in (lambda: earlier.get(b"s" + KEYS[0]), store.snapshot, store.sync, lambda: store.get(b"s" + KEYS[-1])):
        with pytest.raises(StoreDamaged):
            use()
    with pytest.raises(StoreDamaged):
        store.write([(b"x", b"y")], 2000)


@pytest.mark.parametrize("files", ["*.sst", "*.blob", "MANIFEST-*", "CURRENT", "../CURRENT"])
def test_a_verification_finds_damage_that_nobody_reads(
    store: RocksDbStore, path: Path, tmp_path: Path, files: str
) -> None:
    shares: list[float] = []
    store.verify(tmp_path / "copy", shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert list(tmp_path.iterdir()) == [path], "nothing is left of it"
    READS["scan"](store)  # all of it is in the cache now
    assert flip_all(path.glob(f"gen-1/{files}"))
    with pytest.raises(StoreDamaged):
        store.verify(tmp_path / "copy", shares.append)
    assert store.damage


def test_a_missing_table_is_damage(store: RocksDbStore, path: Path, tmp_path: Path) -> None:
    next(path.glob("gen-1/*.sst")).unlink()
    with pytest.raises(StoreDamaged):
        store.verify(tmp_path / "copy", lambda _: None)


def test_no_copy_leaves_with_damage_in_it(store: RocksDbStore, path: Path, tmp_path: Path) -> None:
    store.save(tmp_path / "good")
    assert flip_all(path.glob("gen-1/*.blob"))
    with pytest.raises(StoreDamaged):
        store.save(tmp_path / "bad")


@pytest.mark.parametrize("files", ["MANIFEST-*", "CURRENT", "../CURRENT"])
def test_a_damaged_store_does_not_open(path: Path, files: str) -> None:
    assert flip_all(path.glob(f"gen-1/{files}"))
    with pytest.raises(StoreDamaged):
        RocksDbStore(path)


@pytest.mark.parametrize("files", ["MANIFEST-*", "CURRENT", "*.sst"])
def test_a_store_with_a_file_missing_does_not_open(path: Path, files: str) -> None:
    for file in path.glob(f"gen-1/{files}"):
        file.unlink()
    with pytest.raises(StoreDamaged):
        RocksDbStore(path)


def test_options_files_are_never_read(path: Path, tmp_path: Path) -> None:
    assert flip_all(path.glob("gen-1/OPTIONS-*"))
    store = RocksDbStore(path)
    store.verify(tmp_path / "copy", lambda _: None)
    assert store.get(b"s" + KEYS[0]) == b"small" * 20
    store.close()


def test_nothing_is_applied_after_a_reader_met_damage(path: Path) -> None:
    machine = MetastoreStateMachine(RocksDbStore(path))
    assert machine.damage == ""
    assert flip_all(path.glob("gen-1/*.sst"))
    with pytest.raises(StoreDamaged):
        machine.read().snapshot.scan(b"s")
    command = records_pb2.Command(put_cluster=records_pb2.PutCluster())
    index = machine.applied_index + 1
    with pytest.raises(StoreDamaged):
        machine.apply(index, command.SerializeToString())
    assert machine.damage
    machine.close()


def test_a_failing_disk_is_not_damage(store: RocksDbStore) -> None:
    health = _Health()

    def fail(text: str) -> None:
        raise Exception(text)

    for text in (
        "IO error: While open a file for random read: /d/000008.sst: Too many open files",
        "IO error: No space left on device: While appending to file: /d/000009.sst",
        "IO error: While lock file: /d/LOCK: Resource temporarily unavailable",
    ):
        with pytest.raises(StoreError) as raised:
            health.read(partial(fail, text), "metastore can't be read")
        assert not isinstance(raised.value, StoreDamaged)
    with pytest.raises(StoreError):
        health.write(lambda: fail("IO error: Input/output error: While fsync"), "metastore can't be written")
    assert health.damage == ""
    with pytest.raises(StoreDamaged):
        health.read(lambda: fail("IO error: While pread: /d/000008.sst: Input/output error"), "metastore")
    assert health.damage
    assert store.damage == ""


def test_flipping_twice_changes_nothing(path: Path) -> None:
    file = next(path.glob("gen-1/*.sst"))
    content = file.read_bytes()
    flip(file)
    assert file.read_bytes() != content
    flip(file)
    assert file.read_bytes() == content
