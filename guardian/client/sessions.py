"""A session's numbers on the client's side: which are under way, and below which all are answered. Pure."""

from __future__ import annotations

from protos.guardian.v1.sessions_pb2 import SessionRef


class SessionNumbers:
    """Not thread-safe. At most `window` are under way at once."""

    def __init__(self, session_id: int, window: int) -> None:
        self.session_id = session_id
        self.window = window
        self._next = 1
        self._answered_below = 1
        self._answered: set[int] = set()  # from _answered_below on

    @property
    def has_room(self) -> bool:
        return self._next - self._answered_below < self.window

    def take(self) -> int:
        """The next sequence, which is under way from now on. Only while there is room."""
        sequence = self._next
        self._next += 1
        return sequence

    def ref(self, sequence: int) -> SessionRef:
        """Return what goes along with the change, as of now."""
        return SessionRef(id=self.session_id, sequence=sequence, answered_below=self._answered_below)

    def release(self, sequence: int) -> None:
        """Its answer is there, or nobody waits for it any longer: it is not repeated."""
        self._answered.add(sequence)
        while self._answered_below in self._answered:
            self._answered.remove(self._answered_below)
            self._answered_below += 1
