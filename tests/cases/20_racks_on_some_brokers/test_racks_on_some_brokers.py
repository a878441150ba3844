"""Racks on some brokers only: the reassignment failed (TencentBlueKing/blueking-dbm #14004)."""

from __future__ import annotations

import json
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
def test_a_plan_is_made_and_breaks_no_rack() -> None:
    done = planned("-o", "json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["rack_violations"], result["unplaced"]) == (0, 0)
