"""Last words: what a member tells the others before it stops by itself, and what others have told.

words ─▶ to all that are connected, and to whoever connects later ─▶ kept there until the member is back
"""

from __future__ import annotations

from collections.abc import Iterable

from raft.network import frames
from raft.node.library import Message
from raft.node.seat import Links
from raft.protocol import LastWords, StopCause


class Parting:
    """The tick thread's; any thread reads `of_others`."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._own: LastWords | None = None
        self.of_others: dict[str, LastWords] = {}

    @property
    def is_under_way(self) -> bool:
        """Return whether this member stops by itself."""
        return self._own is not None

    def begin(self, words: LastWords, others: Iterable[str]) -> None:
        self._own = words
        for member in others:
            self._tell(member, words)

    def connected(self, member: str) -> None:
        """It is back; and this member may have something to tell."""
        self.of_others.pop(member, None)
        if self._own is not None:
            self._tell(member, self._own)

    def heard(self, sender: str, message: Message) -> None:
        self.of_others[sender] = LastWords(StopCause(message["cause"]), message["reason"])

    def _tell(self, member: str, words: LastWords) -> None:
        said = {"cause": words.cause.value, "reason": words.reason[: frames.MAX_TEXT]}
        self._links.send(member, {"type": frames.LAST_WORDS, **said})
