"""A line for people while a command waits: what is silent for more than a second looks as if it hung."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from guardian.cli.printing import echo

SILENT_S = 1.0


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
