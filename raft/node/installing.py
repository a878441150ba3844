"""A follower takes a snapshot: from an offer to the replaced state, safe to die after each step.

offer ─▶ pulls and chunks (raft.snapshotting.sink) ─▶ note ─▶ StateMachine.install ─▶ Journal.reset ─▶ note removed

At start, the note tells which of the last steps are missing.
"""

from __future__ import annotations

from pathlib import Path

from raft.errors import REJOIN, DamagedData, DamagedSnapshot
from raft.network import frames
from raft.node.library import Message
from raft.node.seat import Seat
from raft.protocol import StateMachine
from raft.snapshotting import pending_install, snapshots
from raft.snapshotting.pending_install import PendingInstall
from raft.snapshotting.sink import Completed, Pull, SnapshotSink
from raft.snapshotting.snapshots import Manifest
from raft.storage.journal import Journal

_ASK_AGAIN_S = 2.0
_REASON_CHARS = 500


class Installing:
    """The tick thread's, which is also the one that applies."""

    def __init__(self, seat: Seat, directory: Path, sink: SnapshotSink, state_machine: StateMachine) -> None:
        self._seat = seat
        self._directory = directory
        self._sink = sink
        self._state_machine = state_machine
        self._leader = ""
        self._snapshot_id = ""
        self._moved_at = 0.0

    def offer(self, leader: str, message: Message, now: float) -> bool:
        """Take the offer of the leader that this member follows. False: it is not needed, the leader should go on from
        the log.
        """
        try:
            manifest = Manifest.from_bytes(message["manifest"])
            if manifest.index != message["index"] or manifest.term > message["term"]:
                raise DamagedSnapshot(
                    f"snapshot of index {manifest.index} and term {manifest.term} was offered as one of index "
                    f"{message['index']} by a leader of term {message['term']}: take a new snapshot"
                )
            if self._is_known(manifest):
                return False
            self._leader, self._snapshot_id, self._moved_at = leader, message["snapshot_id"], now
            pulls = self._sink.offer(message["snapshot_id"], message["manifest"])
        except DamagedSnapshot as damaged:
            self._leader, self._snapshot_id = leader, message["snapshot_id"]
            self._refuse(str(damaged))
        else:
            self._pull(pulls)
        return True

    def chunk(self, sender: str, message: Message, now: float) -> None:
        is_new = sender == self._leader and self._sink.chunk(
            message["snapshot_id"], message["file"], message["offset"], message["data"]
        )
        if is_new:
            self._moved_at = now

    def refused(self, sender: str, message: Message) -> None:
        """The leader does not offer it any more."""
        if sender == self._leader and message["snapshot_id"] == self._snapshot_id:
            self._sink.clear()

    def abandon(self) -> None:
        """This member leads now: nobody can have more than it."""
        self._sink.clear()

    def work(self, now: float) -> int | None:
        """Once a tick. The index of a snapshot that was installed."""
        progress = self._sink.poll()
        self._pull(progress.pulls)
        if progress.failure:
            self._refuse(progress.failure)
        if progress.completed is not None:
            return self._install(progress.completed)
        if now - self._moved_at >= _ASK_AGAIN_S:
            self._moved_at = now
            self._pull(self._sink.asked())
        return None

    def close(self) -> None:
        self._sink.close()

    def _is_known(self, manifest: Manifest) -> bool:
        """Return whether the log holds all up to the snapshot. What follows there may have been acknowledged, and so be
        committed: a reset would break that promise (Raft's paper, figure 13, step 6).
        """
        core, journal = self._seat.core, self._seat.journal
        if manifest.index > core.commit_index and journal.term_at(manifest.index) == manifest.term:
            core.set_commit_index(manifest.index)  # a snapshot is of what is committed
        return manifest.index <= core.commit_index

    def _install(self, completed: Completed) -> int | None:
        manifest = completed.manifest
        if self._is_known(manifest):
            self._sink.clear()
            return None
        install(self._directory, manifest, completed.directory, self._state_machine, self._seat.journal)
        self._sink.clear()
        self._seat.core.installed(manifest.index)
        self._seat.counters["snapshots_installed"] += 1
        done = {"type": frames.SNAPSHOT_INSTALLED, "term": self._seat.core.term, "index": manifest.index}
        self._seat.links.send(self._leader, done)
        return manifest.index

    def _pull(self, pulls: tuple[Pull, ...]) -> None:
        for pull in pulls:
            message = {"type": frames.SNAPSHOT_PULL, "snapshot_id": self._snapshot_id}
            self._seat.links.send(self._leader, {**message, "file": pull.file, "offset": pull.offset})

    def _refuse(self, reason: str) -> None:
        refused = {"type": frames.SNAPSHOT_REFUSED, "snapshot_id": self._snapshot_id}
        self._seat.links.send(self._leader, {**refused, "reason": reason[:_REASON_CHARS]})


def install(directory: Path, manifest: Manifest, snapshot: Path, state_machine: StateMachine, journal: Journal) -> None:
    """Replaces state and log by a verified snapshot. Raises what the state machine raises, and OSError."""
    note = PendingInstall(manifest.index, manifest.term, manifest.configuration)
    journal.room.ensure(lambda: pending_install.write(directory, note))
    state_machine.install(snapshot / snapshots.STATE)
    journal.reset(manifest.index, manifest.term, manifest.configuration)
    journal.room.ensure(lambda: pending_install.remove(directory))


def repair(directory: Path, applied_index: int, journal: Journal) -> None:
    """Finish, at start, an install that a crash interrupted, or forget one that had not happened.

    Raises DamagedData when state and log do not belong together.
    """
    pending = pending_install.read(directory)
    if pending is not None:
        if pending.is_done_by(applied_index) and journal.term_at(pending.index) != pending.term:
            journal.reset(pending.index, pending.term, pending.configuration)
        pending_install.remove(directory)
    if applied_index > journal.last_index:
        raise DamagedData(
            f"the state machine has applied index {applied_index} but the raft log ends at {journal.last_index}: "
            f"{REJOIN}"
        )
    if max(1, applied_index) < journal.first_index:
        raise DamagedData(
            f"the state machine has applied index {applied_index} but the raft log begins at {journal.first_index}: "
            f"{REJOIN}"
        )
