"""`rebalance_disk` on brokers with one disk each balanced between brokers instead (strimzi #6383)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.planning import plan_model

MODEL = Path(__file__).parent / "model.json"


@pytest.mark.slow
def test_nothing_moves_between_brokers() -> None:
    done = plan_model(MODEL, "--goal", "IntraBrokerDiskCapacityGoal,IntraBrokerDiskUsageDistributionGoal", "-o", "json")
    result = json.loads(done.stdout)
    assert (result["replica_moves"], result["leader_moves"]) == (0, 0)
