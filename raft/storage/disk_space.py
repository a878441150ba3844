"""Refusing to write before the disk is full, and taking up writing again without anybody's help.

    free < reserve             short: entries are refused
    free > 1.25 x reserve      writable again; in between, whatever it was before

What is kept in reserve is for what must still be written then: votes, no-ops, the term, and the store's compactions. A
full disk would fail an fsync, and after that a member has to stop.
"""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass, replace
from pathlib import Path

_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class DiskGuard:
    """The decision. A reserve of 0 turns it off."""

    reserve_bytes: int
    is_short: bool = False

    def after(self, free_bytes: int) -> DiskGuard:
        """Return the guard's state once `free_bytes` were found to be free."""
        if free_bytes < self.reserve_bytes:
            return replace(self, is_short=True)
        if 4 * free_bytes > 5 * self.reserve_bytes:
            return replace(self, is_short=False)
        return self


def can_commit(leader: str, voters: Set[str], short: Set[str]) -> bool:
    """Return whether the leader has space and so have, with it or without it, a majority of the voters. `short`: who is
    known to lack it; of whom nothing is known yet is taken to have it.
    """
    return leader not in short and 2 * len(voters - short) > len(voters)


class DiskProbe:
    """How much is free on the file system of a directory, looked up at most twice a second."""

    def __init__(self, directory: Path, reserve_bytes: int) -> None:
        """Raises OSError when the directory can't be looked at."""
        self._directory = directory
        self._guard = DiskGuard(reserve_bytes)
        self._look_at = 0.0
        self.free_bytes = 0
        self._look()

    @property
    def reserve_bytes(self) -> int:
        return self._guard.reserve_bytes

    def has_space(self, now_monotonic: float) -> bool:
        """Raises OSError when the directory can't be looked at any more."""
        if now_monotonic >= self._look_at:
            self._look_at = now_monotonic + _LOOK_S
            self._look()
        return not self._guard.is_short

    def fault(self) -> str:
        """Return what is wrong, for people; "" when there was space at the last look."""
        if not self._guard.is_short:
            return ""
        return (
            f"the disk of {self._directory} has {self.free_bytes} bytes free, and {self.reserve_bytes} are kept in "
            f"reserve: make space there and retry"
        )

    def _look(self) -> None:
        found = os.statvfs(self._directory)
        self.free_bytes = found.f_bavail * found.f_frsize
        self._guard = self._guard.after(self.free_bytes)
