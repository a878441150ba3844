"""What is stored, with a command's own changes on top: so a set of changes is checked as it will be, in whatever order.

Also the references, which are the same on top of the changes as without them. For each entry that names another one
there is a row, so whether something is still named is one look, however many topics there are.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from guardian.model.federation import name_of
from guardian.model.wire.entries import entry_from_proto
from metastore import keys
from metastore.records import Record
from metastore.store import ReadView
from protos.guardian.v1 import federation_pb2


class Overlay:
    """A ReadView. All changes are given at once."""

    def __init__(self, view: ReadView, records: Sequence[Record]) -> None:
        self._view = view
        self._changed = dict(records)
        self._order = sorted(self._changed)

    def get(self, key: bytes) -> bytes | None:
        return self._changed[key] if key in self._changed else self._view.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        first = bisect.bisect_left(self._order, max(prefix, start))
        end = keys.end_of(prefix)
        last = len(self._order) if end is None else max(first, bisect.bisect_left(self._order, end))
        changed = {key: self._changed[key] for key in self._order[first:last]}
        # Every stored row that is read in vain is one that was changed.
        stored = self._view.scan(prefix, start, None if limit is None else limit + len(changed))
        found = {**dict(stored), **changed}
        rows = [(key, value) for key, value in sorted(found.items()) if value is not None]
        return rows if limit is None else rows[:limit]


def first_referrer(view: ReadView, target: bytes, other_than: bytes = b"") -> str | None:
    """An entry that names `target`, as people name it; None when there is none (but the one of key `other_than`)."""
    prefix = keys.references(target)
    for key, _ in view.scan(prefix, limit=2):
        referrer = key[len(prefix) :]
        if referrer != other_than:
            value = view.get(referrer)
            if value is None:
                raise LookupError(f"entry {referrer.hex()} is gone but still a reference")
            return name_of(entry_from_proto(federation_pb2.FederationEntry.FromString(value)))
    return None
