"""What a benchmark says while people wait for it, and how it ends when they don't."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import TextIO


def say(line: str, file: TextIO | None = None) -> None:
    """To standard output unless told otherwise, at once."""
    print(line, file=file or sys.stdout, flush=True)


def teller() -> Callable[[str], None]:
    """Says lines with the seconds since this call."""
    began = time.monotonic()
    return lambda line: say(f"{time.monotonic() - began:6.1f} s  {line}")


def end_on_sigterm() -> None:
    """From now on SIGTERM is as Ctrl-C: what was started is ended."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
