"""`make demo` proves itself; here it is run both ways, and must leave nothing behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from tests.patience import CALL_S

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


def test_it_leaves_all_of_it_running_where_that_is_asked_for(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    local = [str(Path(sys.executable).parent / "guardian"), "local"]
    environment = {**os.environ, "GUARDIAN_LOCAL": str(home)}
    try:
        command = [sys.executable, "-m", "deploy.demo", "--home", str(home), "--keep"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, "FAIL" in done.stdout) == (0, False), done.stdout
        (*_, first) = re.findall(r"console: (\S+)", done.stdout)
        httpx.get(first, timeout=CALL_S).raise_for_status()
        status = json.loads(subprocess.check_output([*local, "status", "-o", "json"], env=environment))
        assert all(broker["pid"] for cluster in status["clusters"] for broker in cluster["brokers"])
    finally:
        subprocess.run([*local, "wipe"], env=environment, check=True)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
