"""What a process has used: from /proc, in the ten milliseconds that the kernel counts CPU by."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

_TICKS_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """User and system time of the process, all its threads, since its start; of no child."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_S


def family_cpu_s(pid: int) -> float:
    """The same with the children that run."""
    return sum(cpu_s(one) for one in family(pid))


def family_memory_mb(pid: int) -> float:
    """Resident memory of the process and its children; what several share is counted once."""
    return sum(psutil.Process(one).memory_full_info().pss for one in family(pid)) / 1e6


def family(pid: int) -> Iterable[int]:
    """The process and its children, now."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def idle_share(pid: int, seconds: float) -> float:
    """Seconds of CPU a second that the process takes when nobody asks it for anything."""
    before, began = cpu_s(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_s(pid) - before) / (time.monotonic() - began)


def cpu_each_ms(pid: int, times: int, work: Callable[[], object], idle: float) -> float:
    """Milliseconds of the process's CPU for each of so many times that `work` asks it, without what it takes idle."""
    before, began = cpu_s(pid), time.monotonic()
    work()
    spent_s = cpu_s(pid) - before - idle * (time.monotonic() - began)
    return max(0.0, spent_s) / times * 1000
