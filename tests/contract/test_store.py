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
    make: dict[str, Callable[[], Store]] = {"memory": MemoryStore, "rocksdb": lambda: RocksDbStore(tmp_path)}
    store = make[request.param]()
    yield store
    store.close()


def test_an_empty_store_has_nothing(store: Store) -> None:
    assert (store.applied_index, store.get(b"a"), store.scan(b"a")) == (0, None, [])


def test_a_batch_is_written_in_its_order_with_its_index(store: Store) -> None:
    store.write([Put(b"a", b"1"), Put(b"b", b""), Delete(b"a"), Delete(b"none"), Put(b"c", b"3"), Put(b"c", b"4")], 7)
    assert [store.get(key) for key in (b"a", b"b", b"c")] == [None, b"", b"4"]
    assert store.applied_index == 7


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


def test_a_snapshot_stays_as_it_was(store: Store) -> None:
    store.write([Put(b"a", b"1"), Put(b"b", b"1")], 1)
    snapshot = store.snapshot()
    store.write([Put(b"a", b"2"), Delete(b"b"), Put(b"c", b"2")], 2)
    assert (snapshot.applied_index, snapshot.get(b"a"), snapshot.get(b"b"), snapshot.get(b"c")) == (1, b"1", b"1", None)
    assert snapshot.scan(b"") == [(key, value) for key, value in snapshot.scan(b"") if key != b"c"]
    assert store.snapshot().get(b"a") == b"2"


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


def test_a_closed_store_says_so(store: Store) -> None:
    store.write([Put(b"a", b"1")], 1)
    store.close()
    store.close()
    for use in (store.snapshot, lambda: store.get(b"a"), lambda: store.scan(b"a"), lambda: store.write([], 2)):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_rocksdb_is_found_again_after_closing_with_snapshots_open(tmp_path: Path) -> None:
    store = RocksDbStore(tmp_path)
    store.write([Put(b"a", b"1")], 5)
    snapshot = store.snapshot()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        snapshot.get(b"a")
    again = RocksDbStore(tmp_path)
    assert (again.get(b"a"), again.applied_index) == (b"1", 5)
    again.close()


def test_rocksdb_refuses_a_second_opener(tmp_path: Path) -> None:
    store = RocksDbStore(tmp_path)
    with pytest.raises(StoreError, match=r"can't be opened.*lock"):
        RocksDbStore(tmp_path)
    store.close()
