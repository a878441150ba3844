"""Racks on some brokers only: the reassignment failed (TencentBlueKing/blueking-dbm #14004)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.planning import plan_model

MODEL = Path(__file__).parent / "model.json"


@pytest.mark.slow
def test_a_plan_is_made_and_breaks_no_rack() -> None:
    done = plan_model(MODEL, "-o", "json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["rack_violations"], result["unplaced"]) == (0, 0)
