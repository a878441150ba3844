"""A view of the store that counts what is read through it: keys that scans go over, and values that are looked up."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.store import ReadView


class CountingView:
    """Satisfies metastore.store.ReadView."""

    def __init__(self, view: ReadView) -> None:
        self._view = view
        self.rows = 0

    def get(self, key: bytes) -> bytes | None:
        self.rows += 1
        return self._view.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.rows += len(keys)
        return self._view.get_many(keys)

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        found = self._view.scan(prefix, start, limit)
        self.rows += len(found)
        return found
