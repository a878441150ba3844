"""What every Store promises, on the in-memory one and on RocksDB."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metastore.memory import MemoryStore
from metastore.records import Delete, Put
from metastore.rocksdb import RocksDbStore
from metastore.store import Store, StoreError


@pytest.fixture(params=["memory", "rocksdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    make: dict[str, Callable[[], Store]] = {"memory": MemoryStore, "rocksdb": lambda: RocksDbStore(tmp_path / "store")}
    store = make[request.param]()
    yield store
    store.close()


def test_an_empty_store_has_nothing(store: Store) -> None:
    assert (store.applied_index, store.get(b"a"), store.scan(b"a")) == (0, None, [])


def test_a_batch_is_written_in_its_order_with_its_index(store: Store) -> None:
    store.write([Put(b"a", b"1"), Put(b"b", b""), Delete(b"a"), Delete(b"none"), Put(b"c", b"3"), Put(b"c", b"4")], 7)
    assert [store.get(key) for key in (b"a", b"b", b"c")] == [None, b"", b"4"]
    assert store.applied_index == 7


def test_plain_pairs_are_records(store: Store) -> None:
    store.write([(b"a", b"1"), (b"b", b"2"), (b"a", None), (b"c", b"")], 1)
    assert store.get_many([b"c", b"a", b"b", b"b", b""]) == [b"", None, b"2", b"2", None]
    assert store.get_many([]) == []


def test_an_empty_batch_advances_the_index(store: Store) -> None:
    store.write([], 3)
    assert store.applied_index == store.snapshot().applied_index == 3


def test_a_scan_gives_a_prefix_in_byte_order(store: Store) -> None:
    inside = [b"p", b"p\x00", b"p\x01", b"pa", b"p\xff", b"p\xff\xff"]
    store.write([Put(key, b"v" + key) for key in [*reversed(inside), b"o\xff", b"q", b"\xff"]], 1)
    assert store.scan(b"p") == [(key, b"v" + key) for key in inside]
    assert [key for key, _ in store.scan(b"p", start=b"p\x01")] == inside[2:]
    assert [key for key, _ in store.scan(b"p", start=b"p\x00\x00")] == inside[2:]
    assert [key for key, _ in store.scan(b"p", start=b"a", limit=2)] == inside[:2]
    assert store.scan(b"p", limit=0) == store.scan(b"p", start=b"q") == store.scan(b"r") == []
    assert store.scan(b"\xff") == [(b"\xff", b"v\xff")]


def test_the_floor_of_a_key_is_the_last_one_not_above_it(store: Store) -> None:
    assert store.floor(b"", b"z") is None
    store.write([(key, b"v" + key) for key in (b"a5", b"b2", b"b5", b"b5\xff", b"c")], 1)
    for view in (store, store.snapshot()):
        for key, expected in {
            b"b1": None,
            b"b2": b"b2",
            b"b2\x00": b"b2",
            b"b4": b"b2",
            b"b5": b"b5",
            b"b6": b"b5\xff",
            b"bz": b"b5\xff",
            b"a": None,
        }.items():
            assert view.floor(b"b", key) == (None if expected is None else (expected, b"v" + expected))
        assert view.floor(b"", b"\xff") == (b"c", b"vc")
        assert view.floor(b"d", b"d") is None


def test_a_snapshot_stays_as_it_was(store: Store) -> None:
    store.write([Put(b"a", b"1"), Put(b"b", b"1")], 1)
    snapshot = store.snapshot()
    store.write([Put(b"a", b"2"), Delete(b"b"), Put(b"c", b"2")], 2)
    assert (snapshot.applied_index, snapshot.get(b"a"), snapshot.get(b"b"), snapshot.get(b"c")) == (1, b"1", b"1", None)
    assert snapshot.scan(b"") == [(key, value) for key, value in snapshot.scan(b"") if key != b"c"]
    assert store.snapshot().get(b"a") == b"2"


def test_a_snapshots_lookups_agree(store: Store) -> None:
    store.write([(b"a", b"1"), (b"b", b"1")], 1)
    snapshot = store.snapshot()
    store.write([(b"a", b"2"), (b"b", None), (b"c", b"2")], 2)
    assert snapshot.get_many([b"a", b"b", b"c"]) == [b"1", b"1", None]
    assert dict(snapshot.scan(b"c")) == {}


def test_a_snapshots_lookup_is_exact(store: Store) -> None:
    store.write([Put(b"ab", b"1")], 1)
    assert store.snapshot().get(b"a") is None
    assert store.snapshot().get(b"ab") == b"1"


def test_readers_see_whole_batches_while_a_writer_writes(store: Store) -> None:
    torn: list[object] = []
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            snapshot = store.snapshot()
            index = snapshot.applied_index
            values = {snapshot.get(b"k%d" % number) for number in range(5)}
            if values != {b"%d" % index if index else None}:
                torn.append((index, values))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for index in range(1, 300):
        store.write([Put(b"k%d" % number, b"%d" % index) for number in range(5)], index)
    is_done.set()
    for reader in readers:
        reader.join()
    assert torn == []


def content(store: Store) -> list[tuple[bytes, bytes]]:
    return [pair for pair in store.scan(b"") if pair[0] >= b"a"]


def test_a_saved_copy_replaces_another_stores_content(store: Store, tmp_path: Path) -> None:
    store.write([Put(b"old%d" % number, b"old") for number in range(100)], 3)
    assert store.save(tmp_path / "copy") == 3
    store.write([Put(b"new", b"1"), Delete(b"old1"), Put(b"old2", b"changed")], 9)
    newer = content(store)
    assert store.save(tmp_path / "newer") == 9
    store.install(tmp_path / "copy")
    assert (store.applied_index, len(content(store)), store.get(b"old1"), store.get(b"new")) == (3, 100, b"old", None)
    assert not (tmp_path / "copy").exists()
    assert store.snapshot().applied_index == 3
    store.write([Put(b"a", b"1")], 4)
    assert (store.applied_index, store.get(b"a")) == (4, b"1")
    store.install(tmp_path / "newer")
    assert (store.applied_index, content(store)) == (9, newer)


def test_what_is_no_copy_is_not_installed(store: Store, tmp_path: Path) -> None:
    store.write([Put(b"a", b"1")], 3)
    (tmp_path / "empty").mkdir()
    for directory in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(StoreError, match="install"):
            store.install(directory)
        assert (store.get(b"a"), store.applied_index) == (b"1", 3)
    store.write([Put(b"b", b"1")], 4)
    assert content(store) == [(b"a", b"1"), (b"b", b"1")]


def test_a_copy_needs_a_place_of_its_own(store: Store, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").touch()
    with pytest.raises(StoreError, match="can't be copied"):
        store.save(tmp_path / "there")
    assert (tmp_path / "there" / "mine").exists()


def test_a_copy_is_of_one_moment_while_a_writer_writes(store: Store, tmp_path: Path) -> None:
    is_done = threading.Event()

    def write() -> None:
        for index in range(1, 100_000):
            if is_done.is_set():
                return
            store.write([Put(b"k%d" % number, b"%d" % index) for number in range(5)], index)

    writer = threading.Thread(target=write)
    writer.start()
    saved = [store.save(tmp_path / f"copy{number}") for number in range(5)]
    is_done.set()
    writer.join()
    for number, index in enumerate(saved):
        store.install(tmp_path / f"copy{number}")
        assert store.applied_index == index
        expected = b"%d" % index if index else None
        assert store.get_many([b"k%d" % key for key in range(5)]) == [expected] * 5


def test_syncing_tells_up_to_where(store: Store) -> None:
    assert store.sync() == 0
    store.write([Put(b"a", b"1")], 7)
    assert store.sync() == 7


def test_readers_of_a_store_that_is_replaced_get_an_answer_or_an_error(store: Store, tmp_path: Path) -> None:
    odd: list[object] = []
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            try:
                snapshot = store.snapshot()
                expected = b"%d" % snapshot.applied_index
                found = [*snapshot.get_many([b"a", b"z"]), *(value for _, value in snapshot.scan(b"b"))]
            except StoreError as error:
                if "replaced" not in str(error):
                    odd.append(error)
                continue
            if found != [expected] * 3:
                odd.append((expected, found))

    store.write([Put(key, b"1") for key in (b"a", b"b", b"z")], 1)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for index in range(2, 12):
        store.save(tmp_path / "copy")
        store.write([Put(key, b"%d" % index) for key in (b"a", b"b", b"z")], index)
        store.install(tmp_path / "copy")
        store.write([Put(key, b"%d" % index) for key in (b"a", b"b", b"z")], index)
    is_done.set()
    for reader in readers:
        reader.join()
    assert odd == []


def test_a_closed_store_says_so(store: Store, tmp_path: Path) -> None:
    store.write([Put(b"a", b"1")], 1)
    store.close()
    store.close()
    uses: list[Callable[[], object]] = [
        store.snapshot,
        store.sync,
        lambda: store.get(b"a"),
        lambda: store.get_many([b"a"]),
        lambda: store.scan(b"a"),
        lambda: store.write([], 2),
        lambda: store.save(tmp_path / "copy"),
    ]
    for use in uses:
        with pytest.raises(StoreError, match="closed"):
            use()
