"""The store on RocksDB. The one module that imports rocksdict.

A write is one WriteBatch into RocksDB's write-ahead log, without fsync: the Raft journal is what is durable, and after
a power cut the missing commands are applied again from there. RocksDB recovers a prefix of its batches, and each batch
holds its applied index, so what is found at start is always the state after some command.

Other threads read snapshots: taking one costs some microseconds and does not hold up the writer.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rocksdict import Options, Rdict, WriteBatch

from metastore import keys
from metastore.records import Put, Record
from metastore.store import StoreError

_INDEX = struct.Struct(">Q")
_APPLIED_INDEX = keys.applied_index()
_CLOSED = "the store is closed"
_UNREADABLE = "metastore can't be read"


class RocksDbSnapshot:
    """The store at one moment. RocksDB keeps what it needs until the object goes away, or the store is closed.

    It is one iterator: RocksDB pins what an iterator sees when it is made, and seeking does not change that. (The
    Snapshot of rocksdict pins its lookups only: what it iterates over is the newest state.)
    """

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator
        self._lock = threading.Lock()  # an iterator has one position

    @property
    def applied_index(self) -> int:
        return _decode_index(self.get(_APPLIED_INDEX))

    def get(self, key: bytes) -> bytes | None:
        found = self.scan(key, limit=1)
        return found[0][1] if found and found[0][0] == key else None

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        with self._lock:
            if self._iterator is None:
                raise StoreError(_CLOSED)
            return _call(lambda: self._read(prefix, start, limit), _UNREADABLE)  # type: ignore[no-any-return]

    def release(self) -> None:
        """RocksDB stays open, and its folder locked, as long as anybody holds on to an iterator."""
        with self._lock:
            self._iterator = None

    def _read(self, prefix: bytes, start: bytes, limit: int | None) -> list[tuple[bytes, bytes]]:
        iterator = self._iterator
        found: list[tuple[bytes, bytes]] = []
        iterator.seek(max(prefix, start))
        while len(found) != limit and iterator.valid():
            key = iterator.key()
            if not key.startswith(prefix):
                break
            found.append((key, iterator.value()))
            iterator.next()
        iterator.status()  # raises when it stopped over a damaged file and not at the end
        return found


class RocksDbStore:
    """Satisfies metastore.store.Store."""

    def __init__(self, path: Path) -> None:
        """Opens or creates the store in folder `path`. Raises StoreError when it can't, or another process has it."""
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_keep_log_file_num(2)
        path.mkdir(parents=True, exist_ok=True)
        self._db: Any = _call(lambda: Rdict(str(path), options), f"metastore {path} can't be opened")
        self._lock = threading.Lock()  # between taking a snapshot and closing
        self._snapshots: weakref.WeakSet[RocksDbSnapshot] = weakref.WeakSet()
        self._applied_index = _decode_index(self.get(_APPLIED_INDEX))

    @property
    def applied_index(self) -> int:
        return self._applied_index

    def get(self, key: bytes) -> bytes | None:
        db = self._require_open()
        return _call(lambda: db.get(key), _UNREADABLE)  # type: ignore[no-any-return]

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        return self.snapshot().scan(prefix, start, limit)

    def write(self, records: Sequence[Record], applied_index: int) -> None:
        db = self._require_open()
        batch = WriteBatch(raw_mode=True)
        for record in records:
            if isinstance(record, Put):
                batch.put(record.key, record.value)
            else:
                batch.delete(record.key)
        batch.put(_APPLIED_INDEX, _INDEX.pack(applied_index))
        _call(lambda: db.write(batch), "metastore can't be written")
        self._applied_index = applied_index

    def snapshot(self) -> RocksDbSnapshot:
        with self._lock:
            snapshot = RocksDbSnapshot(_call(self._require_open().iter, _UNREADABLE))
            self._snapshots.add(snapshot)
            return snapshot

    def close(self) -> None:
        with self._lock:
            if self._db is None:
                return
            for snapshot in self._snapshots:
                snapshot.release()
            db, self._db = self._db, None
        _call(db.close, "metastore can't be closed")

    def _require_open(self) -> Any:
        db = self._db
        if db is None:
            raise StoreError(_CLOSED)
        return db


def _call(action: Callable[[], Any], failure: str) -> Any:
    try:
        return action()
    except Exception as error:  # rocksdict raises nothing narrower
        raise StoreError(f"{failure}: {error}") from error


def _decode_index(value: bytes | None) -> int:
    return int(_INDEX.unpack(value)[0]) if value is not None else 0
