"""The Raft log, the term and the vote of one member, on disk.

One append-only file of records (header with its own CRC-32, command) and one small file with term and vote. What is
added is durable once `sync` returns: one write and one fdatasync for all that came since the last call (group commit).
Term and vote are durable when `set_vote` returns. An error of the disk is raised and never retried: after a failed
fsync nobody knows what is on the disk, so the member must stop.

A record that was cut off at the end of the file was never acknowledged and is dropped at start. Any other damage, a
hole, or a log that ends before what the state machine has applied, is refused (CannotStart).

Still to come (see README.md): trimming. The whole log stays on disk and in memory.
"""

from __future__ import annotations

import json
import logging
import os
import struct
import zlib
from pathlib import Path
from typing import overload

from raft.errors import CannotStart

Entry = tuple[bytes, int, int]  # command, index, term

_HEADER = struct.Struct(">IIQQ")  # length of the command, CRC-32 of the command, index, term
_HEADER_CRC = struct.Struct(">I")
_HEADER_BYTES = _HEADER.size + _HEADER_CRC.size
_logger = logging.getLogger(__name__)


class FileJournal:
    """The log is never empty once the library has put its first entry (index 1, term 0) into it."""

    def __init__(self, directory: Path) -> None:
        """Opens or creates the journal. Raises CannotStart when it is damaged."""
        directory.mkdir(parents=True, exist_ok=True)
        self._log_path = directory / "log"
        self._vote_path = directory / "vote.json"
        self.term, self.voted_for = _read_vote(self._vote_path)
        self._entries: list[Entry] = []
        self._offsets: list[int] = []  # where each entry's record starts
        self._unwritten = bytearray()
        self._dirty = False
        self._file = os.open(self._log_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _sync_directory(directory)
        self._size = self._load()

    @property
    def last_index(self) -> int:
        """0 when the log is empty."""
        return self._entries[-1][1] if self._entries else 0

    def term_at(self, index: int) -> int | None:
        """The term of the entry at `index`, or None when the log has no such entry."""
        if not self._entries:
            return None
        position = index - self._entries[0][1]
        return self._entries[position][2] if 0 <= position < len(self._entries) else None

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, position: int) -> Entry: ...
    @overload
    def __getitem__(self, position: slice) -> list[Entry]: ...
    def __getitem__(self, position: int | slice) -> Entry | list[Entry]:
        return self._entries[position]

    def append(self, command: bytes, index: int, term: int) -> None:
        """Adds an entry; it is durable after the next `sync`."""
        self._offsets.append(self._size + len(self._unwritten))
        self._entries.append((command, index, term))
        header = _HEADER.pack(len(command), zlib.crc32(command), index, term)
        self._unwritten += header + _HEADER_CRC.pack(zlib.crc32(header)) + command
        self._dirty = True

    def truncate(self, position: int) -> None:
        """Removes the entries from `position` in the list on: only ever what conflicts with the leader's log."""
        if position >= len(self._entries):
            return
        end = self._offsets[position]
        del self._entries[position:], self._offsets[position:]
        if end >= self._size:
            del self._unwritten[end - self._size :]
        else:
            self._unwritten.clear()
            os.ftruncate(self._file, end)
            self._size = end
        self._dirty = True

    def sync(self) -> None:
        """Makes all that was appended or truncated durable. Raises OSError: the member must then stop."""
        if not self._dirty:
            return
        pending = memoryview(self._unwritten)
        written = 0
        while written < len(pending):
            written += os.pwrite(self._file, pending[written:], self._size + written)
        os.fdatasync(self._file)
        pending.release()
        self._size += written
        self._unwritten = bytearray()
        self._dirty = False

    def set_vote(self, term: int, voted_for: str | None) -> None:
        """Stores term and vote, durable on return: before any message that tells of them."""
        self.term, self.voted_for = term, voted_for
        fresh = self._vote_path.with_suffix(".tmp")
        with fresh.open("w") as file:
            json.dump({"term": term, "voted_for": voted_for}, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._vote_path)
        _sync_directory(self._vote_path.parent)

    def close(self) -> None:
        """Syncs and closes; a second call does nothing."""
        if self._file >= 0:
            self.sync()
            os.close(self._file)
            self._file = -1

    def _load(self) -> int:
        data = self._log_path.read_bytes()
        offset = 0
        while offset < len(data):
            end = self._load_record(data, offset)
            if end is None:
                _logger.warning("%s: dropped a record cut off at offset %d, never acknowledged", self._log_path, offset)
                os.ftruncate(self._file, offset)
                os.fdatasync(self._file)
                break
            offset = end
        return offset

    def _load_record(self, data: bytes, offset: int) -> int | None:
        """Adds the record at `offset` and returns where it ends, or None when it is the cut-off end of the file."""
        body = offset + _HEADER_BYTES
        if body > len(data):
            return None
        header = data[offset : offset + _HEADER.size]
        if data[offset + _HEADER.size : body] != _HEADER_CRC.pack(zlib.crc32(header)):
            if not data[offset:].strip(b"\x00"):
                return None  # the file grew, and the power went before its content came
            raise self._damaged(f"has a damaged header at byte {offset}")
        length, checksum, index, term = _HEADER.unpack(header)
        end: int = body + length
        if end > len(data):
            return None
        command = data[body:end]
        if zlib.crc32(command) != checksum:
            if end == len(data):
                return None
            raise self._damaged(f"is damaged at byte {offset}")
        if self._entries and index != self.last_index + 1:
            raise self._damaged(f"jumps from index {self.last_index} to {index}")
        self._entries.append((command, index, term))
        self._offsets.append(offset)
        return end

    def _damaged(self, how: str) -> CannotStart:
        return CannotStart(f"raft log {self._log_path} {how}: {_REPAIR}")


_REPAIR = "restore this member's data directory from a copy, or replace it (raft/README.md says when that is safe)"


def _read_vote(path: Path) -> tuple[int, str | None]:
    try:
        stored = json.loads(path.read_text())
        term, voted_for = int(stored["term"]), stored["voted_for"]
    except FileNotFoundError:
        return 0, None
    except (ValueError, KeyError, TypeError) as error:
        # Starting without the vote could mean voting twice in one term, and so two leaders.
        raise CannotStart(f"{path} is damaged ({error}): {_REPAIR}") from error
    return term, voted_for


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
