"""The port to an ordered key-value store, as small as the tables need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from metastore.records import Record


class StoreError(Exception):
    """The store can't be opened, read or written. Whoever applies commands must stop."""


class Lookup(Protocol):
    """What is stored, key by key."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or None when the key is not there."""


class ReadView(Lookup, Protocol):
    """What is stored, to be read."""

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        """Keys that begin with `prefix`, from `start` (a whole key; the empty one: from the first) on, in byte order,
        with their values; at most `limit` of them."""


class Snapshot(ReadView, Protocol):
    """The store as it was when the snapshot was taken, whatever is written since. Any thread may read it."""

    @property
    def applied_index(self) -> int:
        """The index of the last command that it holds; 0 when it holds none."""


class Store(Snapshot, Protocol):
    """Written by one thread, read by that thread; others read snapshots. Every method raises StoreError."""

    def write(self, records: Sequence[Record], applied_index: int) -> None:
        """Writes the records, in their order, and the index, all or nothing."""

    def snapshot(self) -> Snapshot:
        """Cheap. Raises StoreError on any use after the store is closed."""

    def close(self) -> None:
        """A second call does nothing."""
