"""`make demo` proves itself; here it is run both ways, and must leave nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("options", [(), ("--kill",)], ids=["undisturbed", "the leader is killed"])
def test_the_demo_proves_all_it_claims_and_leaves_nothing_behind(tmp_path: Path, options: tuple[str, ...]) -> None:
    home = tmp_path / "demo"
    before = {process.pid for process in psutil.process_iter()}
    command = [sys.executable, "-m", "deploy.demo", "--home", str(home), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "FAIL" not in done.stdout
    assert done.stdout.count("  ok  ") == (17 if options else 16)
    assert not home.exists()
    children = [p for p in psutil.process_iter() if p.pid not in before and str(home) in " ".join(_command(p))]
    assert children == []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
