import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from deploy.local import processes
from deploy.local.processes import LocalProcess
from deploy.local.state import from_state, to_state
from tests.patience import until

SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT = (
    "import subprocess, sys, time; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
    "print('child', child.pid, flush=True); time.sleep(600)"
)


def spawn(program: str, log: Path) -> LocalProcess:
    process = processes.spawn([sys.executable, "-c", program], log)
    until(lambda: "\n" in processes.output(process))
    return process


def test_a_process_lives_in_its_own_session_until_it_is_stopped(tmp_path: Path) -> None:
    process = spawn(SLEEPER, tmp_path / "log")
    assert processes.is_alive(process)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    assert processes.stop_all([process]) == []
    assert not processes.is_alive(process)
    assert not psutil.pid_exists(process.pid)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not group by sessions")
def test_a_session_gives_way_to_the_command_that_started_it(tmp_path: Path) -> None:
    process = spawn(SLEEPER, tmp_path / "log")
    try:
        until(lambda: Path(f"/proc/{process.pid}/autogroup").read_text().endswith("nice 10\n"))
        processes.give_way(process.pid, 19)
        until(lambda: Path(f"/proc/{process.pid}/autogroup").read_text().endswith("nice 19\n"))
    finally:
        processes.stop_all([process])


def test_one_that_ignores_sigterm_is_killed_after_the_deadline(tmp_path: Path) -> None:
    process = spawn(STUBBORN, tmp_path / "log")
    assert processes.stop_all([process], deadline_s=0.3) == [process]
    assert not processes.is_alive(process)


def test_children_end_with_their_parent(tmp_path: Path) -> None:
    process = spawn(PARENT, tmp_path / "log")
    child = int(processes.output(process).split()[1])
    assert psutil.pid_exists(child)
    processes.stop_all([process])
    until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)


def test_a_pid_that_was_given_to_somebody_else_is_dead_to_us_and_never_signalled(tmp_path: Path) -> None:
    somebody = spawn(SLEEPER, tmp_path / "log")
    ours = replace(somebody, started_s=somebody.started_s - 1.0)
    try:
        assert not processes.is_alive(ours)
        assert not processes.send(ours, signal.SIGKILL)
        assert processes.stop_all([ours]) == []
        processes.kill(ours)
        assert processes.is_alive(somebody)
    finally:
        processes.kill(somebody)


def test_a_killed_child_that_nobody_waited_for_counts_as_dead(tmp_path: Path) -> None:
    process = spawn(SLEEPER, tmp_path / "log")
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: not processes.is_alive(process))


def test_a_process_survives_its_state(tmp_path: Path) -> None:
    process = spawn(SLEEPER, tmp_path / "log")
    try:
        assert processes.is_alive(from_state(LocalProcess, to_state(process)))
    finally:
        processes.kill(process)


def test_what_a_process_says_begins_where_it_was_started(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("an earlier run\n")
    process = spawn("print('one\\ntwo\\nthree')", log)
    until(lambda: not processes.is_alive(process))
    assert processes.output(process) == "one\ntwo\nthree\n"
    assert processes.last_lines(process, 2) == "two\nthree"


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_a_pid_that_nobody_has_is_dead(tmp_path: Path, seconds: float) -> None:
    process = spawn("print('gone')", tmp_path / "log")
    until(lambda: not processes.is_alive(process))
    assert not processes.is_alive(replace(process, started_s=seconds))
