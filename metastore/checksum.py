"""A running checksum of what was applied: equal on two members only if they have applied the same.

    checksum after a command = SHA-256(checksum before, index, records), cut to 16 bytes

It is part of the state, in the command's own batch, so it travels with snapshots and falls back with a crash. It is of
the records, not of the command: so a member that comes to another result from the same command is found too.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Sequence
from hashlib import sha256

from metastore.records import Record

CHECKSUM_BYTES = 16
NOTHING = bytes(CHECKSUM_BYTES)
"""Before the first command."""

KEPT = 65_536
"""Checksums that are remembered: members compare theirs within a second or so."""

_INDEX = struct.Struct(">Q")
_RECORD = struct.Struct(">Iq")
_DELETED = -1


class RunningChecksum:
    """Used by the applying thread."""

    def __init__(self, index: int, checksum: bytes) -> None:
        """`checksum` is that of the state at `index`."""
        self._known: list[tuple[int, bytes]] = [(index, checksum)]

    def following(self, index: int, records: Sequence[Record]) -> bytes:
        """Return the checksum after one more command, at `index`, that made these records. Changes nothing."""
        digest = sha256(self._known[-1][1] + _INDEX.pack(index))
        for key, value in records:
            digest.update(_RECORD.pack(len(key), _DELETED if value is None else len(value)))
            digest.update(key)
            if value is not None:
                digest.update(value)
        return digest.digest()[:CHECKSUM_BYTES]

    def add(self, index: int, checksum: bytes) -> None:
        """The command at `index` is applied."""
        self._known.append((index, checksum))
        if len(self._known) >= 2 * KEPT:
            del self._known[:KEPT]

    def at(self, index: int) -> bytes | None:
        """Return the checksum of all commands up to `index`; None when that is too far back."""
        position = bisect.bisect_right(self._known, (index + 1,))
        return self._known[position - 1][1] if position else None
