"""What a leader knows of another member's log, and what it may send it next: a window on what is not acknowledged.

probing ── an acknowledgement says where the logs match ─▶ streaming (many messages under way)
   ▲──────── the member lacks what comes before, or the connection broke ────────┘

Compare etcd-io/raft's tracker. The library would rewind at each acknowledgement, and send any backlog at once.
"""

from __future__ import annotations

from collections import deque

from raft.storage.journal import Entry, Journal

WINDOW_BYTES = 8 << 20
BATCH_BYTES = 1 << 20
_MAX_IN_FLIGHT = 256
_MAX_BATCH_ENTRIES = 4096


class Progress:
    """Of one member, in one term of its leader. What it holds is known by what it said over the present connection."""

    __slots__ = (
        "_bytes",
        "_in_flight",
        "awaited_index",
        "commit_told",
        "has_space",
        "is_probing",
        "match_index",
        "next_index",
    )

    def __init__(self, next_index: int) -> None:
        self.next_index = next_index
        self.match_index = 0
        self.is_probing = True  # one message with entries at a time
        self.has_space = True
        self.commit_told = 0
        self.awaited_index = 0  # somebody waits for the member to apply up to there
        self._in_flight: deque[tuple[int, int]] = deque()  # last index, bytes
        self._bytes = 0

    @property
    def is_waiting(self) -> bool:
        """Return whether an acknowledgement of entries is awaited."""
        return bool(self._in_flight)

    @property
    def may_send_entries(self) -> bool:
        if not self.has_space:
            return False
        if self.is_probing:
            return not self._in_flight
        return self._bytes < WINDOW_BYTES and len(self._in_flight) < _MAX_IN_FLIGHT

    def sent(self, last_index: int, size: int) -> None:
        """Entries up to `last_index` are under way."""
        self._in_flight.append((last_index, size))
        self._bytes += size
        self.next_index = last_index + 1

    def matched(self, next_index: int, *, has_space: bool) -> None:
        """The member's log is the leader's up to before `next_index`."""
        self.match_index = max(self.match_index, next_index - 1)
        self.is_probing = False
        self.has_space = has_space
        if not has_space:
            self._rewind(next_index)
            return
        self.next_index = max(self.next_index, next_index)
        while self._in_flight and self._in_flight[0][0] < next_index:
            self._bytes -= self._in_flight.popleft()[1]

    def rejected(self, hint: int, last_index: int) -> None:
        """The member lacks what comes before the entries; its log may match the leader's before `hint`."""
        self.is_probing = True
        self._rewind(max(1, min(hint, last_index + 1)))

    def connected(self) -> None:
        """Forget what the member held: who is there now may have another folder, or an older copy of the same."""
        self.match_index = 0
        self.commit_told = 0

    def disconnected(self) -> None:
        """Give up what was under way to a member that is not connected any more, and probe it anew."""
        self.is_probing = True
        self._rewind(self.match_index + 1 if self.match_index else self.next_index)

    def installed(self, index: int) -> None:
        """The member holds a snapshot of the leader's state at `index`."""
        self.match_index = max(self.match_index, index)
        self.is_probing = True
        self._rewind(index + 1)

    def _rewind(self, next_index: int) -> None:
        self.next_index = next_index
        self._in_flight.clear()
        self._bytes = 0


def next_batch(journal: Journal, first_index: int) -> tuple[list[Entry], int]:
    """The entries from `first_index` on, as many as go in one message but at least one, and their size in bytes."""
    position = first_index - journal.first_index
    entries = journal[position : position + _MAX_BATCH_ENTRIES]
    size = 0
    for count, (entry, _, _) in enumerate(entries):
        size += len(entry)
        if size >= BATCH_BYTES:
            return entries[: count + 1], size
    return entries, size
