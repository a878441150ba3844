"""Processes that stand still, as one that hangs does (its connections stay open, and nothing answers), or end.

A signal returns before its process has changed: whoever asserts something then sees the time before it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_DEADLINE_S = 60.0
_STILL = frozenset("TtZX")  # stopped, traced, dead: proc_pid_stat(5)
_DEAD = frozenset("ZX")


def freeze(*pids: int) -> None:
    """Stop these processes, and return once none of their threads runs. Raises AssertionError."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    _await(_STILL, "SIGSTOP", pids)


def thaw(*pids: int) -> None:
    """Let these processes go on."""
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def kill(*pids: int) -> None:
    """Kill these processes, and return once all their threads are dead: their ports and files are free. One that has
    ended by itself is as good. Raises AssertionError."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await_end(*pids)


def await_end(*pids: int) -> None:
    """Return once all threads of these processes are dead. Raises AssertionError."""
    _await(_DEAD, "what was to end them", pids)


@contextmanager
def frozen(*pids: int) -> Iterator[None]:
    """Freeze these processes until the end."""
    try:
        freeze(*pids)
        yield
    finally:
        thaw(*pids)


def _await(states: frozenset[str], sent: str, pids: Sequence[int]) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while others := {pid: found for pid in pids if (found := _states(pid) - states)}:
        assert time.monotonic() < deadline, f"threads that run {_DEADLINE_S:g} s after {sent}: {others}"
        time.sleep(0.001)


def _states(pid: int) -> set[str]:
    """Return those of all threads of the process; of one that is gone, none."""
    states = set()
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                states.add((task / "stat").read_text().rpartition(")")[2].split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return states
