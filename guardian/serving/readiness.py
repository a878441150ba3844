"""Whether a member can serve, looked at in a thread of its own and told at once.

A probe must not wait for what it asks about: a store that is busy would make its member look dead, and be ended for it.
What was seen last is told, and that it is not known where a look lasts too long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

_EVERY_S = 1.0
_OLD_S = 10.0


@dataclass(frozen=True, slots=True)
class Seen:
    """Hold what a look found that began `at_s`; `reason` None: the member can serve."""

    reason: str | None
    at_s: float


def why_not_ready(seen: Seen | None, now_s: float) -> str | None:
    """Return why the member is not to be asked, by the last look that ended; None: it can serve."""
    if seen is None:
        return "this member has begun just now: ask again"
    age_s = now_s - seen.at_s
    if age_s > _OLD_S:
        return f"whether this member can serve is not known since {age_s:.0f} s: its store does not answer"
    return seen.reason


class Readiness:
    """Tell at once what was seen last. `look` says why the member can't serve, or None; it may wait, and raises
    nothing."""

    def __init__(
        self,
        look: Callable[[], str | None],
        every_s: float = _EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._every_s = every_s
        self._clock = clock
        self._seen: Seen | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="readiness", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the looks; one that is under way is not waited for."""
        self._stopping.set()

    def reason(self) -> str | None:
        """Return why the member can't serve, without waiting."""
        return why_not_ready(self._seen, self._clock())

    def _run(self) -> None:
        while not self._stopping.is_set():
            began_s = self._clock()
            self._seen = Seen(self._look(), began_s)
            self._stopping.wait(self._every_s)
