"""The Raft log, the term and the vote of one member, on disk.

    log-00000000000000000001   log-00000000000000081920   log-00000000000000163840   vote.json
    └ header, records ...      └ header, records ...      └ the newest is appended to

The log is a chain of segments (raft.storage.segment_format). What is appended is durable once `sync` returns: one write
and one fdatasync for all that came since the last call (group commit). Term and vote are durable when `set_vote`
returns. An error of the disk is raised, stays raised and is never retried: after a failed fsync nobody knows what is on
the disk, so the member must stop. A disk without space and a process without descriptors are not broken: the write
waits until there is room (raft.storage.room), and what was acknowledged is as it was.

No file is ever cut or overwritten where it counts. Each change other than appending is one rename of a complete, synced
file. It is a new segment when the newest is full, a segment that replaces a conflicting suffix, a segment that voids
all before it (after an installed snapshot). What it replaces is deleted afterwards, and is known to be void if a crash
leaves it.

A write that was cut short was never acknowledged and is dropped at start. Any other damage, a hole or a missing segment
is refused (DamagedData).

One kind of damage can't be told from such a write. That is when a disk that had synced the **last** batch later loses
it, or returns zeros for one of its sectors (no loss of power does that, a broken disk may). Nothing on the disk says
that the batch was synced until the next one is there. It is dropped with a warning in the log, as etcd does; the group
still has what it had acknowledged, unless a majority of the disks break so at once.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from raft.configuration import Configuration
from raft.entries import NO_OP, configuration_in
from raft.errors import REJOIN, DamagedData
from raft.storage.files import sync_directory, write_durably
from raft.storage.identity import IDENTITY
from raft.storage.room import Room
from raft.storage.segment_format import RECORD_HEADER_BYTES, Entry, Records, SegmentHeader, read_records, record_header

__all__ = ["SEGMENT_BYTES", "Entry", "Journal", "WrittenFile"]

SEGMENT_BYTES = 16 << 20
"""A segment that has reached this size gets no further batch."""

_PREFIX = "log-"
_VOTE = "vote.json"
_UNFINISHED = ".tmp"
_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Segment:
    """One file of the chain; its records begin at `start`, and `size` bytes of it are durable."""

    path: Path
    header: SegmentHeader
    start: int
    size: int

    @property
    def first_index(self) -> int:
        return self.header.first_index


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A segment as it was at one moment: the first `size` bytes never change while it is part of the log."""

    path: Path
    sequence: int
    size: int

    def is_part_of(self, written: Sequence[WrittenFile]) -> bool:
        """Return whether the file still counts, perhaps longer."""
        return any(held.path == self.path and held.sequence == self.sequence for held in written)

    def verify(self) -> None:
        """Reads it back. Raises DamagedData when it is missing or not what was written; OSError. On any thread."""
        try:
            data = self.path.read_bytes()[: self.size]
        except FileNotFoundError:
            raise _damaged(self.path, "is missing") from None
        except OSError as error:
            if error.errno == errno.EIO:
                raise _damaged(self.path, f"can't be read back ({error})") from error
            raise
        try:
            header, start = SegmentHeader.from_bytes(data)
        except ValueError as error:
            raise _damaged(self.path, f"can't be read, {error}") from error
        problem = read_records(data, start, header.first_index).problem
        if not problem and (header.sequence, len(data)) != (self.sequence, self.size):
            problem = f"has {len(data)} bytes of segment {header.sequence}, not {self.size} of {self.sequence}"
        if problem:
            raise _damaged(self.path, problem)


class Journal:
    """Never empty: the first entry is an anchor, whose index and term say where the log begins.

    One thread uses it. Every method that writes raises OSError when the disk fails, and so does each call after that.
    """

    def __init__(self, directory: Path, bootstrap: Configuration | None = None) -> None:
        """Opens the journal. Creates it when the directory holds none, with `bootstrap` as the first configuration
        (None: it comes from another member). Raises DamagedData when what is stored is damaged or incomplete."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._failure: OSError | None = None
        self.room = Room()
        self._file = -1
        self._entries: list[Entry] = []
        self._configurations: list[tuple[int, Configuration | None]] = []  # newest last; the first is a header's
        self._pending = bytearray()  # records that wait for `sync`
        self._is_cut = False  # entries on the disk are void once `sync` returns
        self._needs_segment = False  # the next write begins a new file
        self._written_index = 0  # up to here entries are on the disk, but for those in a cut that waits for `sync`
        self._batch = 0  # where the next write begins, counted from the end of the segment's header
        self.term, self.voted_for = self._read_vote()
        self._remove_unfinished()
        self._segments, void = _chain(_read_headers(directory))
        if self._segments:
            self._load(void)
        else:
            self._create(bootstrap)

    @property
    def first_index(self) -> int:
        """The anchor's."""
        return self._entries[0][1]

    @property
    def last_index(self) -> int:
        return self._entries[-1][1]

    @property
    def last_term(self) -> int:
        return self._entries[-1][2]

    @property
    def is_pristine(self) -> bool:
        """Return whether the member has never taken part: no entry, no term, no vote."""
        return self.last_index == 1 and self.last_term == 0 and self.term == 0

    @property
    def configuration(self) -> Configuration | None:
        """The newest in the log, committed or not; None on a member that was told none yet."""
        return self._configurations[-1][1]

    @property
    def configuration_index(self) -> int:
        """The index of the entry that brought it; 0 for the one that the group began with."""
        return self._configurations[-1][0]

    @property
    def size_bytes(self) -> int:
        """Return the bytes of the log, on disk and waiting for `sync`."""
        return sum(segment.size for segment in self._segments) + len(self._pending)

    def configuration_at(self, index: int) -> Configuration | None:
        """The one that was in force once the entry at `index` was appended. Before the anchor: the oldest known."""
        return self._configuration_before(index + 1)[1]

    def term_at(self, index: int) -> int | None:
        """The term of the entry at `index`, or None when the log has no such entry."""
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

    def append(self, entry: bytes, index: int, term: int) -> None:
        """Adds an entry; it is durable after the next `sync`. Raises ValueError, and changes nothing, when the index is
        not the next one or the entry holds a damaged configuration."""
        if self._failure is not None:
            raise self._failure
        if index != self._entries[-1][1] + 1:
            raise ValueError(f"index {index} does not follow {self.last_index}: a log has no holes")
        configuration = configuration_in(entry)
        if configuration is not None:
            self._configurations.append((index, configuration))
        self._entries.append((entry, index, term))
        self._pending += record_header(entry, index, term, self._batch)
        self._pending += entry

    def truncate(self, position: int) -> None:
        """Removes the entries from `position` in the list on: only ever what conflicts with the leader's log.

        Durable after the next `sync`: until then a crash leaves the old entries, afterwards what was appended in their
        place. Raises ValueError for the anchor.
        """
        self._require_intact()
        if position < 1:
            raise ValueError(f"position {position} is the log's anchor or before it: reset the journal instead")
        if position >= len(self._entries):
            return
        written = self._written_index + 1 - self.first_index  # so many entries are on the disk
        if position >= written:
            kept = self._entries[written:position]
            del self._pending[sum(RECORD_HEADER_BYTES + len(entry) for entry, _, _ in kept) :]
        else:
            self._pending.clear()
            self._is_cut = True
            self._needs_segment = True
            self._batch = 0
            self._written_index = self.first_index + position - 1
        del self._entries[position:]
        while self._configurations[-1][0] > self.last_index:
            self._configurations.pop()

    def sync(self) -> None:
        """Makes all that was appended or truncated durable. Raises OSError: the member must then stop."""
        self._require_intact()
        if not self._pending and not self._is_cut:
            return
        with self._failing():
            if self._needs_segment:
                self._begin_segment()
            else:
                segment = self._segments[-1]
                self.room.ensure(lambda: _write(self._file, self._pending, segment.size))
                os.fdatasync(self._file)
                segment.size += len(self._pending)
        self._synced()

    def set_vote(self, term: int, voted_for: str | None) -> None:
        """Stores term and vote, durable on return: before any message that tells of them."""
        self._require_intact()
        with self._failing():
            vote = {"term": term, "voted_for": voted_for, "crc32": _vote_checksum(term, voted_for)}
            self.room.ensure(lambda: write_durably(self._directory / _VOTE, json.dumps(vote).encode()))
        self.term, self.voted_for = term, voted_for

    def trim(self, up_to_index: int) -> None:
        """Drops the segments that end before `up_to_index`, but for the newest. The entry at `up_to_index` stays: its
        term is what a member that installed a snapshot of that index is asked for."""
        self._require_intact()
        with self._failing():
            while len(self._segments) > 1 and self._segments[1].first_index <= min(up_to_index, self._written_index):
                # Durable before the next one goes: else a crash could leave a hole.
                self.room.ensure(lambda: _remove(self._directory, [self._segments[0].path]))
                del self._segments[0]
        first = self._segments[0].header
        position = first.first_index - self.first_index
        if position > 0:
            del self._entries[:position]
            newer = [known for known in self._configurations if known[0] >= first.first_index]
            self._configurations = [(first.configuration_index, first.configuration), *newer]

    def reset(self, index: int, term: int, configuration: Configuration) -> None:
        """Replaces the log by an anchor at `index`, durable on return: what was installed holds all up to there.

        A crash leaves the old log or the new one. `configuration` is the one in force at `index`.
        """
        self._require_intact()
        if term > self.term:
            self.set_vote(term, None)
        self._entries = [(NO_OP, index, term)]
        self._configurations = [(index, configuration)]
        self._written_index = index - 1
        self._pending = bytearray(record_header(NO_OP, index, term, 0) + NO_OP)
        with self._failing():
            self._begin_segment(voids_earlier=True)
        self._synced()

    def written(self) -> list[WrittenFile]:
        """Return what is durable on the disk now, for `verify`."""
        return [WrittenFile(held.path, held.header.sequence, held.size) for held in self._segments]

    def verify_vote(self) -> None:
        """Raises DamagedData unless the stored vote is the one in force; OSError."""
        if self._read_vote() != (self.term, self.voted_for):
            raise DamagedData(f"{self._directory / _VOTE} is not what was stored last: {REJOIN}")

    def close(self) -> None:
        """Syncs, unless the disk has failed, and closes; a second call does nothing."""
        if self._file < 0:
            return
        try:
            if self._failure is None:
                self.sync()
        finally:
            os.close(self._file)
            self._file = -1
            self.room.close()

    def _configuration_before(self, index: int) -> tuple[int, Configuration | None]:
        known = (held for held in reversed(self._configurations) if held[0] < index)
        return next(known, self._configurations[0])

    def _begin_segment(self, *, voids_earlier: bool = False) -> None:
        """Writes what is pending as a new segment; what it overlaps is void from the rename on."""
        first_index = self._written_index + 1
        configuration_index, configuration = self._configuration_before(first_index)
        sequence = self._segments[-1].header.sequence + 1 if self._segments else 1
        header = SegmentHeader(first_index, sequence, configuration, configuration_index, voids_earlier)
        path = self._directory / f"{_PREFIX}{first_index:020}"
        head = header.to_bytes()
        file = self.room.ensure(lambda: _write_file(path, head + self._pending))
        if self._file >= 0:
            os.close(self._file)
        self._file = file
        kept = [] if voids_earlier else [held for held in self._segments if held.first_index < first_index]
        void = [held.path for held in self._segments if held not in kept and held.path != path]
        self._segments = [*kept, _Segment(path, header, len(head), len(head) + len(self._pending))]
        self.room.ensure(lambda: _remove(self._directory, void))

    def _synced(self) -> None:
        segment = self._segments[-1]
        self._pending = bytearray()
        self._is_cut = False
        self._written_index = self.last_index
        self._needs_segment = segment.size >= SEGMENT_BYTES
        self._batch = 0 if self._needs_segment else segment.size - segment.start

    def _create(self, bootstrap: Configuration | None) -> None:
        for left in (_VOTE, IDENTITY):
            if (self._directory / left).exists():
                raise DamagedData(f"raft log {self._directory} has {left} but no log: {REJOIN}")
        self._entries = [(NO_OP, 1, 0)]
        self._configurations = [(0, bootstrap)]
        self._written_index = 0
        self._pending = bytearray(record_header(NO_OP, 1, 0, 0) + NO_OP)
        self._begin_segment(voids_earlier=True)
        self._synced()

    def _load(self, void: list[Path]) -> None:
        """Reads the chain, and only once all of it was found good changes anything on the disk."""
        first = self._segments[0].header
        self._configurations = [(first.configuration_index, first.configuration)]
        records = Records([], 0)
        for position, segment in enumerate(self._segments):
            after = self._segments[position + 1].first_index if position + 1 < len(self._segments) else None
            records = self._load_segment(segment, after)
        if not self._entries:
            raise _damaged(self._segments[-1].path, "holds no entry")
        if self.last_term > 0 and not (self._directory / _VOTE).exists():
            raise DamagedData(f"{self._directory / _VOTE} is missing: {REJOIN}")
        newest = self._segments[-1]
        self._file = os.open(newest.path, os.O_RDWR | os.O_CLOEXEC)
        if records.problem:
            _logger.warning("%s %s, never acknowledged: dropped", newest.path, records.problem)
            os.ftruncate(self._file, records.end)
        # What a killed process wrote but did not sync is found here, and counts from now on.
        os.fdatasync(self._file)
        _remove(self._directory, void)
        self._written_index = self.last_index
        self._synced()

    def _load_segment(self, segment: _Segment, stop_index: int | None) -> Records:
        data = segment.path.read_bytes()
        records = read_records(data, segment.start, segment.first_index, stop_index)
        is_newest = stop_index is None
        if records.problem and not (is_newest and records.is_cut_off):
            raise _damaged(segment.path, records.problem)
        next_index = segment.first_index + len(records.entries)
        if not is_newest and next_index != stop_index:
            raise _damaged(segment.path, f"ends before index {next_index}, and the next segment begins at {stop_index}")
        self._entries += records.entries
        for entry, index, _ in records.entries:
            try:
                configuration = configuration_in(entry)
            except ValueError as error:
                raise _damaged(segment.path, f"holds {error} at index {index}") from error
            if configuration is not None:
                self._configurations.append((index, configuration))
        segment.size = records.end
        return records

    def _read_vote(self) -> tuple[int, str | None]:
        path = self._directory / _VOTE
        try:
            stored = json.loads(path.read_text())
            term, voted_for = int(stored["term"]), stored["voted_for"]
            if stored["crc32"] != _vote_checksum(term, voted_for):
                raise ValueError("its checksum is wrong")
        except FileNotFoundError:
            return 0, None
        except (ValueError, KeyError, TypeError) as error:
            # Starting without the vote could mean voting twice in one term, and so two leaders.
            raise DamagedData(f"{path} is damaged ({error}): {REJOIN}") from error
        return term, voted_for

    def _remove_unfinished(self) -> None:
        for path in self._directory.glob(f"*{_UNFINISHED}"):
            path.unlink()

    def _require_intact(self) -> None:
        if self._failure is not None:
            raise self._failure

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """An error of the disk in here is final."""
        try:
            yield
        except OSError as error:
            self._failure = error
            raise


def _read_headers(directory: Path) -> list[_Segment]:
    """The segments in a directory, oldest first."""
    segments = []
    for path in directory.glob(f"{_PREFIX}*"):
        with path.open("rb") as file:
            data = file.read(1 << 20)
        try:
            header, start = SegmentHeader.from_bytes(data)
        except ValueError as error:
            raise _damaged(path, f"can't be read, {error}") from error
        if path.name != f"{_PREFIX}{header.first_index:020}":
            raise _damaged(path, f"begins at index {header.first_index}, which is not what its name says")
        segments.append(_Segment(path, header, start, 0))
    return sorted(segments, key=lambda segment: segment.header.sequence)


def _chain(segments: list[_Segment]) -> tuple[list[_Segment], list[Path]]:
    """The segments that count, in the order of their indexes, and the paths of those that newer ones made void."""
    chain: list[_Segment] = []
    void: list[Path] = []
    for segment in segments:
        while chain and (segment.header.voids_earlier or chain[-1].first_index >= segment.first_index):
            void.append(chain.pop().path)
        chain.append(segment)
    return chain, void


def _vote_checksum(term: int, voted_for: str | None) -> int:
    return zlib.crc32(json.dumps([term, voted_for]).encode())


def _damaged(path: Path, how: str) -> DamagedData:
    return DamagedData(f"raft log {path} {how}: {REJOIN}")


def _write_file(path: Path, data: bytes | bytearray) -> int:
    """Puts a complete file in place, in one step and durable on return. Returns it, open."""
    unfinished = path.with_name(path.name + _UNFINISHED)
    file = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _write(file, data, 0)
        os.fsync(file)
        unfinished.replace(path)
        sync_directory(path.parent)
    except OSError:
        os.close(file)
        raise
    return file


def _write(file: int, data: bytes | bytearray, offset: int) -> None:
    with memoryview(data) as view:
        written = 0
        while written < len(view):
            written += os.pwrite(file, view[written:], offset + written)


def _remove(directory: Path, paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
    sync_directory(directory)
