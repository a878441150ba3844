"""The leader's side of a snapshot's way to a follower: make one, keep it while it is used, read pieces of it.

request ─▶ [background] StateMachine.save ─▶ describe (term and configuration, on the owner's thread)
        ─▶ [background] checksums ─▶ ready ─ pull ─▶ [background] read a chunk ─▶ deliver (on the owner's thread)

One snapshot serves all followers. While it is used, the log from its index on must stay (`held_index`): a follower
that has installed it goes on from there. It is dropped when nobody has asked for a time.

A snapshot's files are hard links into the store where the store can make them so. They cost no space at first, and are
removed at start, since a new one costs little.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from raft.configuration import Configuration
from raft.errors import DamagedSnapshot
from raft.node.background import Background
from raft.snapshotting import snapshots
from raft.snapshotting.snapshots import Manifest, SnapshotFile

MAX_PENDING_PULLS = 64
_PAUSE_S = 0.008  # after each 4 MiB, whose SHA-256 takes 3 ms: some 350 MB/s
_logger = logging.getLogger(__name__)


class Saving(Protocol):
    """The part of a StateMachine that is needed."""

    @property
    def applied_index(self) -> int: ...
    def save(self, directory: Path) -> int: ...


class _Stopped(Exception):
    """The source is closing."""


@dataclass(frozen=True, slots=True)
class _Ready:
    manifest: Manifest
    snapshot_id: str
    directory: Path


class SnapshotSource:
    """All methods are the owner's (the tick thread's), and so are all calls that it makes but `wake`."""

    def __init__(
        self,
        directory: Path,
        state_machine: Saving,
        describe: Callable[[int], tuple[int, Configuration]],
        *,
        wake: Callable[[], None],
        idle_s: float = 60.0,
        retry_s: float = 5.0,
    ) -> None:
        """`describe(index)` gives the log's term and configuration there, or raises LookupError; `wake` is called on
        another thread when there is something to `poll`. Removes what an earlier process left in `directory`.

        Raises OSError.
        """
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self._directory = directory
        self._state_machine = state_machine
        self._describe = describe
        self._background = Background("snapshot-source", wake)
        self._idle_s, self._retry_s = idle_s, retry_s
        self._ready: _Ready | None = None
        self._making_from: int | None = None  # the applied index when the making began
        self._made = 0
        self._last_use = 0.0
        self._not_before = 0.0
        self._now = 0.0

    @property
    def held_index(self) -> int | None:
        """The log after this index must not be trimmed; None: as far as snapshots are concerned, all of it may be."""
        held = [self._making_from] if self._making_from is not None else []
        held += [self._ready.manifest.index] if self._ready else []
        return min(held, default=None)

    def request(self, min_index: int, now: float) -> Manifest | None:
        """A snapshot of `min_index` or later, to be offered; None while there is none: one is being made then.

        `min_index` is one less than the log's first index: followers must be able to go on from the snapshot. `now` is
        in seconds, of any monotonic clock, the same in all calls.
        """
        self._last_use = now
        if self._ready and self._ready.manifest.index >= min_index:
            return self._ready.manifest
        if self._making_from is None and now >= self._not_before:
            self._make()
        return None

    def pull(
        self, snapshot_id: str, file: str, offset: int, deliver: Callable[[str, int, bytes], None], now: float
    ) -> bool:
        """Reads a chunk; a later `poll` calls `deliver(file, offset, data)`. False: there is no such chunk, or far too
        many are wanted at once; the follower needs a new offer."""
        ready = self._ready
        if ready is None or ready.snapshot_id != snapshot_id:
            return False
        wanted = ready.manifest.file(file)
        if wanted is None or offset not in wanted.chunks or len(self._background) >= MAX_PENDING_PULLS:
            return False
        self._last_use = now

        def done(future: Future[bytes]) -> None:
            error = future.exception()
            if error is None:
                deliver(file, offset, future.result())
            else:
                _logger.warning("snapshot %s can't be read and is dropped: %s", ready.directory, error)
                self.drop(snapshot_id)

        self._background.submit(lambda: _read_chunk(ready.directory, wanted, offset), done)
        return True

    def poll(self, now: float) -> None:
        """Hands over what the background has done, and drops a snapshot that nobody uses."""
        self._now = now
        self._background.poll()
        if self._ready and now - self._last_use > self._idle_s:
            self.drop(self._ready.snapshot_id)

    def drop(self, snapshot_id: str) -> None:
        """A follower found it damaged, or it is not needed any more."""
        if self._ready and self._ready.snapshot_id == snapshot_id:
            directory, self._ready = self._ready.directory, None
            self._background.submit(lambda: shutil.rmtree(directory, ignore_errors=True), _ignore)

    def close(self) -> None:
        """Ends what is under way and removes the snapshot. Close it before the state machine."""
        self._background.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _make(self) -> None:
        self._making_from = self._state_machine.applied_index
        self._made += 1
        directory = self._directory / str(self._made)

        def save() -> int:
            directory.mkdir()
            return self._state_machine.save(directory / snapshots.STATE)

        def saved(future: Future[int]) -> None:
            error = future.exception()
            if error is not None:
                self._fail(directory, error)
                return
            index = future.result()
            try:
                term, configuration = self._describe(index)
            except LookupError as unknown:
                self._fail(directory, unknown)
                return
            self._background.submit(
                lambda: snapshots.write(directory, index, term, configuration, self._pause), written
            )

        def written(future: Future[Manifest]) -> None:
            error = future.exception()
            if error is not None:
                self._fail(directory, error)
                return
            if self._ready:
                self.drop(self._ready.snapshot_id)
            manifest = future.result()
            self._ready = _Ready(manifest, manifest.snapshot_id, directory)
            self._making_from = None

        self._background.submit(save, saved)

    def _pause(self) -> None:
        """Pause between two pieces of the checksums: they are in no hurry, and the processor is the writers'."""
        if self._background.is_closing:
            raise _Stopped
        time.sleep(_PAUSE_S)

    def _fail(self, directory: Path, error: BaseException) -> None:
        """The group goes on without a snapshot; the next request after a pause tries again."""
        _logger.warning("no snapshot was made in %s: %s", directory, error)
        self._making_from = None
        self._not_before = self._now + self._retry_s
        self._background.submit(lambda: shutil.rmtree(directory, ignore_errors=True), _ignore)


def _read_chunk(directory: Path, file: SnapshotFile, offset: int) -> bytes:
    handle = os.open(directory / snapshots.STATE / file.name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(handle, file.chunk_bytes(offset), offset)
    finally:
        os.close(handle)
    if len(data) != file.chunk_bytes(offset):
        raise DamagedSnapshot(f"snapshot's file {file.name} is shorter than it was")
    return data


def _ignore(future: Future[None]) -> None:
    """Nothing depends on the outcome."""
