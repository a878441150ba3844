"""All brokers are over the disk limit from the start: there was no plan at all (cruise-control #1052, #325)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODEL = Path(__file__).parent / "model.json"


def planned(*more: str) -> subprocess.CompletedProcess[str]:
    guardian = Path(sys.executable).with_name("guardian")
    return subprocess.run(
        [guardian, "plan", "model", str(MODEL), *more], capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.slow
def test_a_plan_is_made_and_says_what_is_missing() -> None:
    done = planned()
    assert done.returncode == 0, done.stderr
    assert "3 replicas move" in done.stdout + done.stderr
    assert "add brokers" in done.stdout + done.stderr
