"""Processes that stand still, as one that hangs does: its connections stay open, and nothing answers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DEADLINE_S = 60.0
_STILL = frozenset("TtZX")  # stopped, traced, dead: proc_pid_stat(5)


def freeze(*pids: int) -> None:
    """Stop these processes, and return once none of their threads runs. The signal alone returns while they still do:
    what is asked then may be answered. Raises AssertionError."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + _DEADLINE_S
    while any(running := {pid: _running(pid) for pid in pids}.values()):
        assert time.monotonic() < deadline, f"threads that run {_DEADLINE_S:g} s after SIGSTOP: {running}"
        time.sleep(0.001)


def thaw(*pids: int) -> None:
    """Let these processes go on."""
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def frozen(*pids: int) -> Iterator[None]:
    """Freeze these processes until the end."""
    try:
        freeze(*pids)
        yield
    finally:
        thaw(*pids)


def _running(pid: int) -> list[str]:
    """The states of threads that may still run."""
    states = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
    return [state for state in states if state not in _STILL]
