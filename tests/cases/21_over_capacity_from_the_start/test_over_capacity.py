"""All brokers are over the disk limit from the start: there was no plan at all (cruise-control #1052, #325)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.planning import plan_model

MODEL = Path(__file__).parent / "model.json"


@pytest.mark.slow
def test_a_plan_is_made_and_says_what_is_missing() -> None:
    done = plan_model(MODEL)
    assert done.returncode == 0, done.stderr
    assert "3 replicas move" in done.stdout + done.stderr
    assert "add brokers" in done.stdout + done.stderr
