"""What a leader sends to whom: entries, heartbeats, how far the log is committed, and offers of snapshots.

journal ─▶ entries, as far as each member's window allows ─▶ member ─▶ acknowledgement ─▶ its Progress
        └▶ a snapshot, to a member that needs entries which the log no longer holds
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from raft.network import frames
from raft.node.library import Message
from raft.node.seat import Seat
from raft.rules.progress import Progress, next_batch
from raft.snapshotting.source import SnapshotSource
from raft.storage.journal import Entry

TELL_AFTER_S = 0.004  # how long a commit waits for entries to be told with, unless somebody waits for it
OFFER_AGAIN_S = 3.0
OFFER_AFTER_REFUSAL_S = 15.0
_PULLING_S = 5.0  # a member that has asked for a piece so lately is still at it


class Feeder:
    """One leader's view of the others, in its term. Not used while a member follows."""

    def __init__(self, seat: Seat, source: SnapshotSource) -> None:
        self._seat = seat
        self._source = source
        self._members: dict[str, Progress] = {}
        self._pulled_at: dict[str, float] = {}
        self._offer_at: dict[str, float] = {}  # when a member may be offered a snapshot again
        self._tell_at: float | None = None  # when commits that were not told yet have waited long enough
        self._frame_of: tuple[int, ...] = ()
        self._frame = b""

    def begin(self, members: Iterable[str]) -> None:
        """A term of this leader starts; before its first entry is appended."""
        self._members.clear()
        self._pulled_at.clear()
        self._offer_at.clear()
        self._frame_of = ()
        self.set_members(members)

    def set_members(self, members: Iterable[str]) -> None:
        wanted = set(members)
        for gone in self._members.keys() - wanted:
            del self._members[gone]
        for new in wanted - self._members.keys():
            self._members[new] = Progress(self._seat.journal.last_index + 1)

    def forget(self, member: str) -> None:
        """Drop what is known of a member that was removed: whoever bears the name next may be another."""
        self._members.pop(member, None)
        self._pulled_at.pop(member, None)
        self._offer_at.pop(member, None)

    def progress(self, member: str) -> Progress | None:
        return self._members.get(member)

    def match_indexes(self) -> dict[str, int]:
        """Return the match index of each connected member."""
        return {
            name: progress.match_index
            for name, progress in self._members.items()
            if self._seat.links.is_connected(name)
        }

    def space_known(self) -> dict[str, bool]:
        """Return for each member whether it said that its disk has space."""
        return {name: progress.has_space for name, progress in self._members.items()}

    @property
    def tell_at(self) -> float | None:
        """Return when `feed` should be called again at the latest, to tell of commits; None: not needed."""
        return self._tell_at

    def feed(self, now: float, *, is_heartbeat: bool = False) -> None:
        """Send every connected member what is new for it; as a heartbeat, something in any case."""
        is_telling = self._tell_at is not None and now >= self._tell_at
        commit_index = self._seat.core.commit_index
        is_any_untold = False
        for name, progress in self._members.items():
            if self._seat.links.is_connected(name):
                self._feed(name, progress, is_heartbeat=is_heartbeat, is_telling=is_telling)
                is_any_untold = is_any_untold or (progress.commit_told < commit_index and not progress.is_probing)
        if not is_any_untold:
            self._tell_at = None
        elif self._tell_at is None or is_telling:
            self._tell_at = now + TELL_AFTER_S

    def awaits(self, member: str, index: int) -> None:
        """Somebody waits for the member to apply up to `index`: it is told of that commit at once."""
        progress = self._members.get(member)
        if progress is None or progress.awaited_index >= index:
            return
        progress.awaited_index = index
        if self._seat.core.commit_index >= index > progress.commit_told and self._seat.links.is_connected(member):
            self._feed(member, progress)

    def acknowledged(self, member: str, message: Message) -> None:
        """An acknowledgement of this term; one from a stranger is ignored."""
        progress = self._members.get(member)
        if progress is None:
            return
        last_index = self._seat.journal.last_index
        if message["success"]:
            progress.matched(min(message["next_node_idx"], last_index + 1), has_space=message["has_space"])
        elif message["reset"]:
            progress.rejected(message["next_node_idx"], last_index)
        if progress.next_index <= last_index and (progress.may_send_entries or self._is_needed(progress)):
            self._feed(member, progress)

    def connected(self, member: str) -> None:
        progress = self._members.get(member)
        if progress is not None:
            progress.connected()

    def disconnected(self, member: str) -> None:
        progress = self._members.get(member)
        if progress is not None:
            progress.disconnected()
        self._offer_at.pop(member, None)

    def offer_snapshots(self, now: float) -> None:
        """Offer a snapshot to members whose next entry is no longer in the log."""
        for name in self._lagging():
            manifest = self._source.request(self._seat.journal.first_index, now)
            if manifest is None or now < self._offer_at.get(name, 0.0):
                continue
            self._offer_at[name] = now + OFFER_AGAIN_S
            offer = {
                "type": frames.SNAPSHOT_OFFER,
                "term": self._seat.core.term,
                "snapshot_id": manifest.snapshot_id,
                "index": manifest.index,
                "manifest": manifest.to_bytes(),
            }
            if self._seat.links.send(name, offer):
                self._seat.counters["snapshots_offered"] += 1

    def pulled(self, member: str, message: Message, now: float) -> None:
        """A member asks for a piece of a snapshot."""
        snapshot_id = message["snapshot_id"]

        def deliver(file: str, offset: int, data: bytes) -> None:
            chunk = {"type": frames.SNAPSHOT_CHUNK, "snapshot_id": snapshot_id}
            self._seat.links.send(member, {**chunk, "file": file, "offset": offset, "data": data})

        self._offer_at[member] = now + OFFER_AGAIN_S
        self._pulled_at[member] = now
        if not self._source.pull(snapshot_id, message["file"], message["offset"], deliver, now):
            reason = "this snapshot is not offered any more"
            self._seat.links.send(
                member, {"type": frames.SNAPSHOT_REFUSED, "snapshot_id": snapshot_id, "reason": reason}
            )
            self._offer_at.pop(member, None)

    def refused(self, member: str, message: Message, now: float) -> None:
        """A member could not take a snapshot: it was damaged, or there is no space for it. A new one, later; but one
        that another member is taking stays: without space there, nobody else could ever finish."""
        self._seat.counters["snapshots_refused"] += 1
        self._pulled_at.pop(member, None)
        if not any(now - at < _PULLING_S for at in self._pulled_at.values()):
            self._source.drop(message["snapshot_id"])
        self._offer_at[member] = now + OFFER_AFTER_REFUSAL_S

    def installed(self, member: str, index: int) -> None:
        progress = self._members.get(member)
        if progress is not None and index <= self._seat.core.commit_index:
            self._seat.counters["snapshots_sent"] += 1
            progress.installed(index)
            self._feed(member, progress)

    def _lagging(self) -> Iterator[str]:
        first_index = self._seat.journal.first_index
        for name, progress in self._members.items():
            if progress.next_index <= first_index and self._seat.links.is_connected(name):
                yield name

    def _feed(self, name: str, progress: Progress, *, is_heartbeat: bool = False, is_telling: bool = False) -> None:
        journal = self._seat.journal
        last_index = journal.last_index
        if progress.next_index <= journal.first_index:
            if is_heartbeat:
                self._append(name, last_index + 1, [])  # it will say what it lacks; a snapshot is on its way
            return
        is_sent = False
        commit_index = self._seat.core.commit_index
        while progress.next_index <= last_index and (progress.may_send_entries or self._is_needed(progress)):
            entries, size = next_batch(journal, progress.next_index)
            if not self._append(name, progress.next_index, entries):
                return
            progress.sent(entries[-1][1], size)
            is_sent = True
        is_news = progress.commit_told < commit_index and not progress.is_probing
        is_awaited = commit_index >= progress.awaited_index > progress.commit_told
        must_tell = is_news and (is_telling or is_awaited)
        if is_sent or ((is_heartbeat or must_tell) and self._append(name, progress.next_index, [])):
            progress.commit_told = commit_index

    def _is_needed(self, progress: Progress) -> bool:
        """Return whether a member with a full disk needs the next message all the same. Its reserve takes messages one
        at a time, up to the first entry of this leader's term. It could not even answer reads before that is committed.
        """
        is_due = not progress.has_space and not progress.is_waiting and not self._seat.is_settled_leader
        return is_due and progress.next_index <= self._seat.own_term_index

    def _append(self, name: str, first_index: int, entries: list[Entry]) -> bool:
        """Most often the members are sent the same: the frame is made once. In one term, a leader's log only grows, so
        where a message begins, how long it is and what it says of commits make it what it is."""
        core = self._seat.core
        frame_of = (core.term, core.commit_index, first_index, len(entries))
        if frame_of != self._frame_of:
            message = {
                "type": frames.APPEND_ENTRIES,
                "term": core.term,
                "commit_index": core.commit_index,
                "prevLogIdx": first_index - 1,
                "prevLogTerm": self._seat.journal.term_at(first_index - 1),
                "entries": entries,
            }
            self._frame_of, self._frame = frame_of, frames.encode(message)
        return self._seat.links.send(name, self._frame)
