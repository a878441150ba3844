"""The same work every few minutes, for as long as it is wanted: one line a round, whatever comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from threading import Event

from guardian.errors import GuardianError


def rounds(
    work: Callable[[int], str],
    every_s: float,
    stopped: Event,
    survivable: tuple[type[Exception], ...] = (GuardianError,),
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> Iterator[str]:
    """A line for each round, until `stopped`. `work` gets the time in ms since the epoch.

    A round begins `every_s` after the one before began, or at once when that took longer. One that fails with something
    `survivable` is a line too, and the next one is made all the same; so is one that failed because it was `stopped`.
    """
    while not stopped.is_set():
        begun_ms = now_ms()
        try:
            said = work(begun_ms)
        except survivable as error:
            again = f"failed, the next round is in {every_s:g} s at the latest: {_first_line(error)}"
            said = "given up, as this is to end" if stopped.is_set() else again
        took_s = (now_ms() - begun_ms) / 1000
        at = datetime.fromtimestamp(begun_ms / 1000, UTC).strftime("%H:%M:%SZ")
        yield f"{at} {said} ({took_s:.1f} s)"
        stopped.wait(max(0.0, every_s - took_s))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
