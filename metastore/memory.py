"""A store in memory: a sorted list of keys beside a dict. For tests, and as the twin that RocksDB is compared with."""

from __future__ import annotations

import bisect
import shutil
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from metastore import keys
from metastore.records import Record
from metastore.store import StoreError

_CONTENT = "content"
_LENGTH = struct.Struct(">Q")


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

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        return [self._values.get(key) for key in wanted]

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        end = keys.end_of(prefix)
        first = bisect.bisect_left(self._order, max(prefix, start))
        last = len(self._order) if end is None else max(first, bisect.bisect_left(self._order, end))
        if limit is not None:
            last = min(last, first + limit)
        return [(key, self._values[key]) for key in self._order[first:last]]

    def floor(self, prefix: bytes, key: bytes) -> tuple[bytes, bytes] | None:
        position = bisect.bisect_right(self._order, key) - 1
        found = self._order[position] if position >= 0 else None
        return (found, self._values[found]) if found is not None and found.startswith(prefix) else None


class MemoryStore:
    """Satisfies metastore.store.Store."""

    damage = ""

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

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        return self._now().get_many(wanted)

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        return self._now().scan(prefix, start, limit)

    def floor(self, prefix: bytes, key: bytes) -> tuple[bytes, bytes] | None:
        return self._now().floor(prefix, key)

    def write(self, records: Sequence[Record], applied_index: int) -> None:
        with self._lock:
            self._require_open()
            for key, value in records:
                if value is None:
                    self._delete(key)
                else:
                    self._put(key, value)
            self._applied_index = applied_index

    def snapshot(self) -> MemorySnapshot:
        with self._lock:
            self._require_open()
            return MemorySnapshot(dict(self._values), list(self._order), self._applied_index)

    def sync(self) -> int:
        """Nothing here outlives the process."""
        self._require_open()
        return self._applied_index

    def save(self, directory: Path) -> int:
        snapshot = self.snapshot()
        content = [_LENGTH.pack(snapshot.applied_index)]
        content += [_LENGTH.pack(len(part)) + part for pair in snapshot.scan(b"") for part in pair]
        try:
            directory.mkdir()
            (directory / _CONTENT).write_bytes(b"".join(content))
        except OSError as error:
            raise StoreError(f"the store can't be copied to {directory}: {error}") from error
        return snapshot.applied_index

    def reopen(self) -> None:
        """It has room as long as it lives."""

    def install(self, directory: Path) -> None:
        try:
            content = (directory / _CONTENT).read_bytes()
            applied_index = _LENGTH.unpack_from(content)[0]
            parts = _parts(content)
            values = dict(zip(parts, parts, strict=True))
        except (OSError, struct.error, ValueError) as error:
            raise StoreError(f"the store can't install {directory}: {error}") from error
        with self._lock:
            self._require_open()
            self._values, self._order, self._applied_index = values, sorted(values), applied_index
        shutil.rmtree(directory)

    def verify(self, directory: Path, pause: Callable[[float], None]) -> None:  # noqa: ARG002  nothing is on a disk
        self._require_open()
        pause(1.0)

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


def _parts(content: bytes) -> Iterator[bytes]:
    offset = _LENGTH.size
    while offset < len(content):
        start = offset + _LENGTH.size
        offset = start + _LENGTH.unpack_from(content, offset)[0]
        if offset > len(content):
            raise ValueError("it is cut off")
        yield content[start:offset]
