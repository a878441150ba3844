"""One line on stderr for everything that takes longer than two seconds, so that nobody wonders whether it hangs."""

from __future__ import annotations

import sys


def say(message: str) -> None:
    """Prints a progress line. It goes to stderr: stdout belongs to what a command answers."""
    print(message, file=sys.stderr, flush=True)
