"""A running checksum of what was applied: equal on two members only if they have applied the same.

    checksum after a command = BLAKE2b(checksum before, index, command, records)

It is part of the state, in the command's own batch, so it travels with snapshots and falls back with a crash. The
records are in it, so that a member that comes to another result from the same command is found too.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Sequence
from hashlib import blake2b

from metastore.records import Record

CHECKSUM_BYTES = 16
NOTHING = bytes(CHECKSUM_BYTES)
"""Before the first command."""

KEPT = 65_536
"""Checksums that are remembered: members compare theirs within a second or so."""

_HEAD = struct.Struct(">QQ")
_RECORD = struct.Struct(">Iq")
_DELETED = -1


class RunningChecksum:
    """Used by the applying thread."""

    def __init__(self, index: int, checksum: bytes) -> None:
        """`checksum` is that of the state at `index`."""
        self._known: list[tuple[int, bytes]] = [(index, checksum)]

    def following(self, index: int, command: bytes, records: Sequence[Record]) -> bytes:
        """Return the checksum after one more command at `index`. Changes nothing."""
        digest = blake2b(self._known[-1][1], digest_size=CHECKSUM_BYTES)
        digest.update(_HEAD.pack(index, len(command)))
        digest.update(command)
        for key, value in records:
            digest.update(_RECORD.pack(len(key), _DELETED if value is None else len(value)))
            digest.update(key)
            if value is not None:
                digest.update(value)
        return digest.digest()

    def add(self, index: int, checksum: bytes) -> None:
        """The command at `index` is applied."""
        self._known.append((index, checksum))
        if len(self._known) >= 2 * KEPT:
            del self._known[:KEPT]

    def at(self, index: int) -> bytes | None:
        """Return the checksum of all commands up to `index`; None when that is too far back."""
        position = bisect.bisect_right(self._known, (index + 1,))
        return self._known[position - 1][1] if position else None
