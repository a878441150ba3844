"""Processes that stand still, as one that hangs does (its connections stay open, and nothing answers), or end.

A signal returns before its process has changed: whoever asserts something then sees the time before it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.patience import wait_for

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
    def others() -> dict[int, set[str]]:
        return {pid: found for pid in pids if (found := _states(pid) - states)}

    wait_for(f"no thread runs after {sent}", lambda: not others(), every_s=0.001, story=others)


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
