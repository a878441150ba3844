"""Processes that outlive the command that started them, and are never mistaken for others.

A process is known by its pid *and* the moment it started: a pid that the system has given to somebody else is seen as
dead and never signalled. The moment counts from boot, so that setting the clock does not change it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

# The kernel counts start times in hundredths of a second.
_SAME_START_S = 0.05
# A dozen sessions of brokers and members would leave a command and its Spark a twelfth of the CPUs each. So a session
# weighs a tenth of the command's: 110 beside 1024 (sched(7), nice values).
_BEHIND_COMMANDS = 10
_KILLED_S = 60.0


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """A process that we started, `started_s` after boot; what it says goes to `log`, from byte `log_start` on."""

    pid: int
    started_s: float
    log: Path
    log_start: int = 0


def spawn(
    command: Sequence[str], log: Path, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> LocalProcess:
    """Starts a command in a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it.

    It gives way to commands that somebody waits for; see `give_way`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        log_start = output.tell()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    # From here on the pid and its start moment are all that is known of the process: the same for this process and the
    # next command. Without this, subprocess would warn that a child is still running.
    child.returncode = 0
    give_way(child.pid, _BEHIND_COMMANDS)
    return LocalProcess(child.pid, _started_s(child.pid), log, log_start)


def give_way(session: int, nice: int) -> None:
    """Set a session's weight by its own nice value: where autogrouping is on, Linux weighs whole sessions (sched(7)).

    A kernel without it, or one that does not allow this, leaves it as it is.
    """
    with suppress(OSError):
        Path(f"/proc/{session}/autogroup").write_text(str(nice))


def is_alive(process: LocalProcess) -> bool:
    """Return whether this very process runs: not ended, not a zombie, not another one with its pid."""
    try:
        found = psutil.Process(process.pid)
        if not _same(found, process):
            return False
        if found.status() == psutil.STATUS_ZOMBIE:
            return not _reap(process.pid)
    except psutil.NoSuchProcess:
        return False
    return True


def send(process: LocalProcess, signal_number: int) -> bool:
    """Signals the process; False when it is gone, or its pid belongs to somebody else."""
    if not is_alive(process):
        return False
    try:
        os.kill(process.pid, signal_number)
    except ProcessLookupError:
        return False
    return True


def stop_all(processes: Iterable[LocalProcess], deadline_s: float = 30.0) -> list[LocalProcess]:
    """SIGTERM to all at once, SIGKILL to those that still run after the deadline, and waits for every end.

    Their children end with them. Returns those that had to be killed.
    """
    stopping = [process for process in processes if is_alive(process)]
    children = [child for process in stopping for child in _children(process)]
    for process in stopping:
        send(process, signal.SIGTERM)
    late = _wait_gone(stopping, deadline_s)
    for process in [*late, *(child for child in children if is_alive(child))]:
        send(process, signal.SIGKILL)
    _wait_gone([*late, *children], 10.0)
    return late


def kill(process: LocalProcess) -> None:
    """SIGKILL, and waits for the end. Raises TimeoutError when it does not come, as of one that waits for a disk."""
    send(process, signal.SIGKILL)
    if _wait_gone([process], _KILLED_S):
        raise TimeoutError(f"process {process.pid} still runs {_KILLED_S:g} s after SIGKILL; see /proc for its state")


def last_lines(process: LocalProcess, count: int = 12) -> str:
    """Return the last lines of what the process said since it was started."""
    return "\n".join(output(process).splitlines()[-count:])


def output(process: LocalProcess) -> str:
    """All that the process said since it was started; empty when its log is gone."""
    try:
        with process.log.open("rb") as log:
            log.seek(process.log_start)
            return log.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def _wait_gone(processes: list[LocalProcess], deadline_s: float) -> list[LocalProcess]:
    """Those that still run when the deadline has passed."""
    deadline = time.monotonic() + deadline_s
    left = processes
    while (left := [process for process in left if is_alive(process)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _children(process: LocalProcess) -> list[LocalProcess]:
    try:
        found = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    children = []
    for child in found:
        try:
            children.append(LocalProcess(child.pid, _started_s(child.pid), process.log))
        except psutil.NoSuchProcess:
            continue
    return children


def _started_s(pid: int) -> float:
    return psutil.Process(pid).create_time() - psutil.boot_time()


def _same(found: psutil.Process, process: LocalProcess) -> bool:
    return abs(found.create_time() - psutil.boot_time() - process.started_s) < _SAME_START_S


def _reap(pid: int) -> bool:
    """A child of ours that ended stays a zombie until somebody asks for its status. False while some of its threads,
    which hold its files and ports, have yet to end."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
