"""The follower's side: an offer in, pulls out, chunks in, at last a verified snapshot on disk.

`Transfer` decides (no files, no clock): which chunks to ask for next, a few at a time, and which to take.
`SnapshotSink` writes in the background: each chunk as it comes; each file's size and SHA-256 once it is whole, then its
fsync; at the end the manifest and the directories. A chunk's place in the window is free again when it is written, so
a slow disk slows the leader down and memory holds a few chunks only.

The leader is not trusted with names or places: only what was asked for is taken.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from raft.errors import DamagedSnapshot
from raft.node.background import Background
from raft.snapshotting import snapshots
from raft.snapshotting.snapshots import Manifest, SnapshotFile
from raft.storage.files import sync_directory, sync_file, sync_tree, write_durably

WINDOW = 4
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pull:
    """A chunk to ask for."""

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class Completed:
    """All of it is verified and durable: `directory / snapshots.STATE` is for StateMachine.install."""

    manifest: Manifest
    directory: Path


@dataclass(frozen=True, slots=True)
class Progress:
    """What to do now: send the pulls; install what is complete; tell the leader of a failure (a sentence)."""

    pulls: tuple[Pull, ...] = ()
    completed: Completed | None = None
    failure: str = ""


class Transfer:
    """Which chunks are wanted, asked for, being written, and done."""

    def __init__(self, manifest: Manifest, window: int = WINDOW) -> None:
        self.manifest = manifest
        self._window = window
        self._wanted = _chunks(manifest)
        self._asked: dict[Pull, None] = {}  # in the order of asking
        self._writing: set[Pull] = set()
        self._chunks_left = Counter({file.name: len(file.chunks) for file in manifest.files})

    def next_pulls(self) -> tuple[Pull, ...]:
        """Return the pulls to ask for now, so that the window is full."""
        fresh: list[Pull] = []
        while len(self._asked) + len(self._writing) < self._window and (pull := next(self._wanted, None)):
            self._asked[pull] = None
            fresh.append(pull)
        return tuple(fresh)

    def asked(self) -> tuple[Pull, ...]:
        """Return the pulls that were asked for and have not come."""
        return tuple(self._asked)

    def take(self, pull: Pull, size: int) -> bool:
        """Return whether to write the chunk: it was asked for, has not come yet and has the right size."""
        file = self.manifest.file(pull.file)
        if pull not in self._asked or file is None or size != file.chunk_bytes(pull.offset):
            return False
        del self._asked[pull]
        self._writing.add(pull)
        return True

    def written(self, pull: Pull) -> SnapshotFile | None:
        """The file, when the chunk was the last that it lacked."""
        self._writing.remove(pull)
        self._chunks_left[pull.file] -= 1
        return self.manifest.file(pull.file) if not self._chunks_left[pull.file] else None

    @property
    def is_whole(self) -> bool:
        return not any(self._chunks_left.values())


class SnapshotSink:
    """All methods are the owner's (the tick thread's); `wake` is called on another thread when there is something to
    `poll`. `directory` is the sink's alone."""

    def __init__(
        self, directory: Path, *, wake: Callable[[], None], window: int = WINDOW, reserve_bytes: int = 0
    ) -> None:
        """Removes what an earlier process left in `directory`; an offer that would leave less than `reserve_bytes` on
        the disk is refused. Raises OSError."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self._directory = directory
        self._window, self._reserve_bytes = window, reserve_bytes
        self._background = Background("snapshot-sink", wake)
        self._transfer: Transfer | None = None
        self._snapshot_id = ""
        self._target = directory
        self._started = 0
        self._progress = Progress()

    @property
    def snapshot_id(self) -> str:
        """The snapshot that is being pulled; empty: none."""
        return self._snapshot_id if self._transfer else ""

    def offer(self, snapshot_id: str, manifest: bytes) -> tuple[Pull, ...]:
        """The chunks to ask the offering member for. The same snapshot again (from another leader, or after a broken
        connection): those that have not come; another one: it replaces what was being pulled.

        Raises DamagedSnapshot when the offer is malformed, and when it does not fit on the disk; nothing changes then.
        """
        if self._transfer and snapshot_id == self._snapshot_id:
            return self._transfer.asked()
        offered = Manifest.from_bytes(manifest)
        if offered.snapshot_id != snapshot_id:
            raise DamagedSnapshot(f"snapshot id {snapshot_id} is not that of its manifest: offer it again")
        free = shutil.disk_usage(self._directory).free
        if offered.total_bytes + self._reserve_bytes > free:
            raise DamagedSnapshot(
                f"snapshot of {offered.total_bytes} bytes does not fit on the disk: {free} bytes are free and "
                f"{self._reserve_bytes} are kept back, make space"
            )
        self.clear()
        self._start(snapshot_id, offered)
        return self._transfer.next_pulls() if self._transfer else ()

    def asked(self) -> tuple[Pull, ...]:
        """Return the pulls that were asked for and have not come, to be asked for again after a silence."""
        return self._transfer.asked() if self._transfer else ()

    def chunk(self, snapshot_id: str, file: str, offset: int, data: bytes) -> bool:
        """False: it was not asked for, and changes nothing. Else it is being written; `poll` tells how it goes on."""
        transfer, pull = self._transfer, Pull(file, offset)
        if transfer is None or snapshot_id != self._snapshot_id or not transfer.take(pull, len(data)):
            return False
        state = self._target / snapshots.STATE

        def written(future: Future[None]) -> None:
            if not self._is_current(transfer, future):
                return
            whole = transfer.written(pull)
            if whole is not None:
                self._verify(transfer, whole)
            self._progress = Progress((*self._progress.pulls, *transfer.next_pulls()))

        self._background.submit(lambda: _write_chunk(state / file, offset, data), written)
        return True

    def poll(self) -> Progress:
        """Return the progress since the last call."""
        self._background.poll()
        progress, self._progress = self._progress, Progress()
        return progress

    def clear(self) -> None:
        """Forgets the transfer and removes its files; after `Completed`: what install left of them."""
        self._transfer = None
        target = self._target
        if target != self._directory:
            self._background.submit(lambda: shutil.rmtree(target, ignore_errors=True), _ignore)

    def close(self) -> None:
        """Ends what is under way and removes its files."""
        self._background.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _start(self, snapshot_id: str, manifest: Manifest) -> None:
        self._started += 1
        self._target = target = self._directory / str(self._started)
        self._snapshot_id = snapshot_id
        self._transfer = transfer = Transfer(manifest, self._window)
        self._progress = Progress()

        def prepared(future: Future[None]) -> None:
            if self._is_current(transfer, future) and transfer.is_whole:
                self._finish(transfer)

        self._background.submit(lambda: _prepare(target / snapshots.STATE, manifest), prepared)

    def _verify(self, transfer: Transfer, file: SnapshotFile) -> None:
        path = self._target / snapshots.STATE / file.name

        def verify() -> None:
            snapshots.verify_file(path, file)
            sync_file(path)

        def verified(future: Future[None]) -> None:
            # The background keeps its order: when the last chunk is written, every earlier file was verified.
            if self._is_current(transfer, future) and is_last:
                self._finish(transfer)

        is_last = transfer.is_whole
        self._background.submit(verify, verified)

    def _finish(self, transfer: Transfer) -> None:
        target = self._target

        def finish() -> None:
            write_durably(target / snapshots.MANIFEST, transfer.manifest.to_bytes())
            sync_tree(target)
            sync_directory(target.parent)

        def finished(future: Future[None]) -> None:
            if self._is_current(transfer, future):
                self._transfer = None
                self._progress = Progress(completed=Completed(transfer.manifest, target))

        self._background.submit(finish, finished)

    def _is_current(self, transfer: Transfer, future: Future[None]) -> bool:
        """Return whether the job is of this transfer and went well; a transfer whose job failed is given up."""
        if transfer is not self._transfer:
            return False
        error = future.exception()
        if error is None:
            return True
        _logger.warning("the snapshot that is being received is given up: %s", error)
        self.clear()
        self._progress = Progress(failure=str(error))
        return False


def _chunks(manifest: Manifest) -> Iterator[Pull]:
    return (Pull(file.name, offset) for file in manifest.files for offset in file.chunks)


def _prepare(state: Path, manifest: Manifest) -> None:
    state.mkdir(parents=True)
    for file in manifest.files:
        path = state / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        if not file.size:
            snapshots.verify_file(path, file)


def _write_chunk(path: Path, offset: int, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            count = os.pwrite(handle, view, offset)
            view, offset = view[count:], offset + count
    finally:
        os.close(handle)


def _ignore(future: Future[None]) -> None:
    """Nothing depends on the outcome."""
