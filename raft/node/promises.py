"""What this member promises: votes and acknowledgements, which leave only after the journal's sync.

An acknowledgement that says nothing new goes out now and then only; one that says more replaces the one before it.
"""

from __future__ import annotations

from typing import Any

from raft.network import frames
from raft.node.library import Message
from raft.node.seat import Seat


class Promises:
    """The tick thread's."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._held: list[tuple[str, Message]] = []  # until the sync
        self._acknowledged: tuple[Any, ...] = ()
        self._acknowledged_at = 0.0

    def hold(self, member: str, message: Message) -> None:
        """Send the message after the next sync."""
        self._held.append((member, message))

    def acknowledge(self, leader: str, next_index: int, now: float, *, is_match: bool, has_space: bool) -> None:
        """Tell the leader where the logs agree, after the next sync."""
        term = self._seat.core.term
        said = (leader, term, next_index, is_match, has_space)
        if is_match and said == self._acknowledged and now - self._acknowledged_at < self._quiet_s:
            return
        self._acknowledged, self._acknowledged_at = said, now
        message = {
            "type": frames.NEXT_NODE_IDX,
            "term": term,
            "next_node_idx": next_index,
            "reset": not is_match,
            "success": is_match,
            "has_space": has_space,
        }
        if is_match and has_space and self._held and _supersedes(leader, message, *self._held[-1]):
            self._held[-1] = (leader, message)
        else:
            self._held.append((leader, message))

    def forget(self) -> None:
        """Take the next acknowledgement for news: the leader may not know what it was told."""
        self._acknowledged = ()

    def keep(self) -> None:
        """Sync the journal, then send what waited for that."""
        self._seat.journal.sync()
        if self._held:
            held, self._held = self._held, []
            for member, message in held:
                self._seat.links.send(member, message)

    @property
    def _quiet_s(self) -> float:
        return self._seat.timing.heartbeat / 2


def _supersedes(leader: str, message: Message, held_for: str, held: Message) -> bool:
    return (
        held_for == leader
        and held["type"] == frames.NEXT_NODE_IDX
        and held["success"]
        and held["term"] == message["term"]
        and held["next_node_idx"] <= message["next_node_idx"]
    )
