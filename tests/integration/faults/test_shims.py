"""The shims themselves, on small Python programs: what breaks is what is asked, and only as long as it is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.faults.disks import FailingDisk, SlowDisk, SmallDisk
from tests.integration.faults.shims import FailingFsync, JumpingClock, PowerCut

pytestmark = pytest.mark.integration

_SYNC_EACH = """
import os, sys
for path in sys.argv[1:]:
    with open(path, "w") as file:
        for sync in (os.fsync, os.fdatasync):
            try:
                sync(file.fileno())
                print("synced")
            except OSError as error:
                print(error.strerror)
"""
_TELL = """
import sys, threading, time
for _ in sys.stdin:
    before = time.monotonic()
    threading.Event().wait(0.2)
    print(time.time(), time.monotonic() - before, flush=True)
"""


_WRITE = """
import os, sys
with open(sys.argv[1] + "/both", "w") as both, open(sys.argv[1] + "/never", "w") as never:
    both.write("kept")
    both.flush()
    os.fdatasync(both.fileno())
    both.write(" and lost")
    never.write("lost")
os.rename(sys.argv[1] + "/both", sys.argv[1] + "/renamed")
"""


def _sync(shim: FailingFsync, *paths: Path) -> list[str]:
    command = [sys.executable, "-c", _SYNC_EACH, *map(str, paths)]
    environment = {**os.environ, **shim.environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_fsync_fails_below_the_directory_while_the_disk_is_broken(tmp_path: Path) -> None:
    (broken := tmp_path / "broken").mkdir()
    shim = FailingFsync(tmp_path, broken)
    assert _sync(shim, broken / "f") == ["synced"] * 2
    shim.break_disk()
    assert _sync(shim, broken / "f", tmp_path / "g") == ["Input/output error"] * 2 + ["synced"] * 2
    shim.repair_disk()
    assert _sync(shim, broken / "f") == ["synced"] * 2


def test_the_wall_clock_jumps_and_the_monotonic_one_and_waits_do_not(tmp_path: Path) -> None:
    import time

    clock = JumpingClock(tmp_path, "c")
    environment = {**os.environ, **clock.environment}
    command = [sys.executable, "-c", _TELL]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as told:
        assert told.stdin is not None
        assert told.stdout is not None
        for offset_s in (0.0, 3600.0, -7200.5, 0.0):
            clock.set(offset_s)
            told.stdin.write("\n")
            told.stdin.flush()
            wall, waited = map(float, told.stdout.readline().split())
            assert abs(wall - time.time() - offset_s) < 60
            assert 0.19 < waited < 60
        told.stdin.close()


def test_a_power_cut_takes_what_was_not_synced(tmp_path: Path) -> None:
    shim = PowerCut(tmp_path, "p")
    with SmallDisk(tmp_path / "disk", 8):
        command = [sys.executable, "-c", _WRITE, str(tmp_path / "disk")]
        subprocess.run(command, env={**os.environ, **shim.environment}, check=True)
        assert shim.cut(tmp_path / "disk") == len(" and lost") + len("lost")
        assert (tmp_path / "disk" / "renamed").read_text() == "kept"
        assert (tmp_path / "disk" / "never").read_text() == ""


def test_all_that_is_done_on_a_failed_disk_fails_until_it_is_repaired(tmp_path: Path) -> None:
    kept = tmp_path / "disk" / "kept"
    with FailingDisk(tmp_path / "disk", tmp_path / "image", 16) as disk:
        kept.write_text("written")
        with kept.open("a") as file:
            disk.fail()
            for use in (lambda: os.write(file.fileno(), b"more"), kept.read_text, (tmp_path / "disk" / "new").touch):
                with pytest.raises(OSError, match="Input/output error"):
                    use()
        disk.repair()
        assert kept.read_text() == "written"


def test_a_slow_disk_holds_up_what_must_reach_it_and_no_other_write(tmp_path: Path) -> None:
    def seconds(of: Callable[[int], object]) -> float:
        with (tmp_path / "disk" / "f").open("wb", buffering=0) as file:
            file.write(b"written")
            began_s = time.monotonic()
            of(file.fileno())
            return time.monotonic() - began_s

    with SlowDisk(tmp_path / "disk", tmp_path / "of it", 16) as disk:
        seconds(os.fsync)
        disk.set(0.5)
        assert seconds(os.fsync) >= 0.5
        assert seconds(lambda file: os.write(file, b"more")) < 0.5
    assert not (tmp_path / "disk" / "f").exists()
