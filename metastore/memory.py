"""A store in memory: a sorted list of keys beside a dict. For tests, and as the twin that RocksDB is compared with."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Sequence

from metastore import keys
from metastore.records import Put, Record
from metastore.store import StoreError


class MemorySnapshot:
    """A copy."""

    def __init__(self, values: dict[bytes, bytes], order: list[bytes], applied_index: int) -> None:
        self._values = values
        self._order = order
        self._applied_index = applied_index

    @property
    def applied_index(self) -> int:
        return self._applied_index

    def get(self, key: bytes) -> bytes | None:
        return self._values.get(key)

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        end = keys.end_of(prefix)
        first = bisect.bisect_left(self._order, max(prefix, start))
        last = len(self._order) if end is None else max(first, bisect.bisect_left(self._order, end))
        if limit is not None:
            last = min(last, first + limit)
        return [(key, self._values[key]) for key in self._order[first:last]]


class MemoryStore:
    """Satisfies metastore.store.Store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[bytes, bytes] = {}
        self._order: list[bytes] = []
        self._applied_index = 0
        self._is_closed = False

    @property
    def applied_index(self) -> int:
        return self._applied_index

    def get(self, key: bytes) -> bytes | None:
        return self._now().get(key)

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        return self._now().scan(prefix, start, limit)

    def write(self, records: Sequence[Record], applied_index: int) -> None:
        with self._lock:
            self._require_open()
            for record in records:
                if isinstance(record, Put):
                    self._put(record.key, record.value)
                else:
                    self._delete(record.key)
            self._applied_index = applied_index

    def snapshot(self) -> MemorySnapshot:
        with self._lock:
            self._require_open()
            return MemorySnapshot(dict(self._values), list(self._order), self._applied_index)

    def close(self) -> None:
        self._is_closed = True

    def _now(self) -> MemorySnapshot:
        self._require_open()
        return MemorySnapshot(self._values, self._order, self._applied_index)

    def _put(self, key: bytes, value: bytes) -> None:
        if key not in self._values:
            bisect.insort(self._order, key)
        self._values[key] = value

    def _delete(self, key: bytes) -> None:
        if self._values.pop(key, None) is not None:
            del self._order[bisect.bisect_left(self._order, key)]

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreError("the store is closed")
