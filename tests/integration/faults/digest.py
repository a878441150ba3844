"""What a member has stored, read from its folder once it has ended: two members at one index must hold the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metastore.rocksdb import RocksDbStore
from metastore.store import Store

_PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Content:
    """`sha256` is over all keys and values in order, the applied index included."""

    applied_index: int
    keys: int
    sha256: str


def content_of(path: Path) -> Content:
    """Opens a stopped member's store, which recovers it as the member itself would."""
    store = RocksDbStore(path)
    try:
        digest = hashlib.sha256()
        count = 0
        for key, value in _all(store):
            digest.update(b"%d %d " % (len(key), len(value)) + key + value)
            count += 1
        return Content(store.applied_index, count, digest.hexdigest())
    finally:
        store.close()


def _all(store: Store) -> Iterator[tuple[bytes, bytes]]:
    start = b""
    while page := store.scan(b"", start=start, limit=_PAGE):
        yield from page
        start = page[-1][0] + b"\0"
