"""The port to an ordered key-value store, as small as the tables need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from metastore.records import Record


class StoreError(Exception):
    """The store can't be opened, read or written. Whoever applies commands must stop."""


class StoreFull(StoreError, OSError):
    """There is no space on the disk, or the process has all its files open: nothing was changed, and what failed may be
    done again once there is room. `errno` says which."""

    def __str__(self) -> str:
        return str(self.strerror)


class StoreDamaged(StoreError):
    """What is stored is not what was written: a checksum is wrong, or a file is missing or can't be read back."""


class Lookup(Protocol):
    """What is stored, key by key."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or None when the key is not there."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The same for many keys, in their order, at less cost for each."""


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

    def floor(self, prefix: bytes, key: bytes) -> tuple[bytes, bytes] | None:
        """The last key that is not above `key` and begins with `prefix`, with its value; None when there is none."""


class Store(Snapshot, Protocol):
    """Written by one thread, read by that thread; others read snapshots. Every method raises StoreError.

    Once damage was found, on whichever thread, every method but `close` raises StoreDamaged.
    """

    @property
    def damage(self) -> str:
        """Say what was found damaged, for people; "" while nothing was."""

    def write(self, records: Sequence[Record], applied_index: int) -> None:
        """Writes the records, in their order, and the index, all or nothing."""

    def snapshot(self) -> Snapshot:
        """Cheap. Once the store is closed or replaced by `install`, the snapshot may raise StoreError on any use."""

    def sync(self) -> int:
        """Makes what was written before the call durable, and returns the index up to which it is. On any thread.

        What came later may be gone after a crash, and nothing but the last commands is: the content is then as of some
        index not below. So the log is kept from there on, and its commands are applied again.
        """

    def save(self, directory: Path) -> int:
        """Writes a copy of the store as of one moment during the call into `directory` and returns its applied index.
        The directory must not exist yet and is on the store's file system. On any thread; writing goes on meanwhile.
        """

    def install(self, directory: Path) -> None:
        """Replaces everything by a copy that `save` made, and takes the directory over.

        Atomic and durable: after a crash in the middle either the old or the new content is there, whole; when it
        raises, the old. On the writing thread.
        """

    def reopen(self) -> None:
        """Opens the store anew after a write or `sync` raised StoreFull; what was not durable is gone, and nobody gets
        a snapshot before it was written again. Raises StoreFull while there is no room. On the writing thread."""

    def verify(self, directory: Path, pause: Callable[[float], None]) -> None:
        """Reads all that is on the disk and compares checksums. On any thread; writing goes on meanwhile.

        `directory` must not exist and is on the store's file system; it is gone afterwards. `pause` gets the share that
        is done, between pieces of the work: it may wait, and ends the work by raising.
        """

    def close(self) -> None:
        """A second call does nothing."""
