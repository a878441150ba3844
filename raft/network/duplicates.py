"""Whether another process of this member's name is there to stay, from what others say when they refuse this one.

A connection that is about to end refuses for a moment, too: only refusals that go on count.
"""

from __future__ import annotations

from dataclasses import dataclass

DUPLICATE_S = 15.0
PAUSE_S = 5.0  # without a refusal: what was refused before is another matter


@dataclass(frozen=True, slots=True)
class Refusals:
    """By one member, without a pause. Seconds of a monotonic clock."""

    first_at: float
    last_at: float

    @property
    def go_on(self) -> bool:
        return self.last_at - self.first_at >= DUPLICATE_S


def refused(before: Refusals | None, at: float) -> Refusals:
    """Return the refusals of a member that refuses at this moment."""
    if before is None or at - before.last_at > PAUSE_S:
        return Refusals(at, at)
    return Refusals(before.first_at, at)
