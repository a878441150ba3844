"""`rebalance_disk` on brokers with one disk each balanced between brokers instead (strimzi #6383)."""

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
def test_nothing_moves_between_brokers() -> None:
    done = planned("--goal", "IntraBrokerDiskCapacityGoal,IntraBrokerDiskUsageDistributionGoal", "-o", "json")
    result = json.loads(done.stdout)
    assert (result["replica_moves"], result["leader_moves"]) == (0, 0)
