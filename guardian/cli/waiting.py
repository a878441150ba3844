"""A line for people while a command waits: what is silent for more than a second looks as if it hung."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from guardian.cli.printing import echo

SILENT_S = 1.0
PROGRESS_S = 2.0


@contextmanager
def told_if_slow(sentence: str, silent_s: float = SILENT_S) -> Iterator[None]:
    """Print the sentence to stderr when what is inside takes longer than that; what answers at once stays silent."""
    timer = threading.Timer(silent_s, lambda: echo(f"{sentence}...", err=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Progress:
    """How far a command has come, as a line to stderr every other second; what is done before stays silent."""

    def __init__(self, sentence: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`sentence` has {done} and {total} in it."""
        self._sentence = sentence
        self._total = total
        self._clock = clock
        self._told_s = clock()

    def at(self, done: int) -> None:
        now_s = self._clock()
        if now_s - self._told_s >= PROGRESS_S:
            self._told_s = now_s
            echo(self._sentence.format(done=f"{done:,}", total=f"{self._total:,}"), err=True)
