"""Brokers whose clocks are 25 minutes off: all their samples were thrown away, and no plan could be made.

cruise-control #477.
"""

from __future__ import annotations

import pytest

from guardian.collection.rules.ingest import Asked
from guardian.model.topology import Broker, Cluster
from protos.guardian.v1 import reporter_pb2

NOW_MS = 1_760_000_000_000
MINUTES_MS = 60_000


@pytest.mark.parametrize("off_ms", [-25 * MINUTES_MS, 25 * MINUTES_MS, 500])
def test_samples_of_a_clock_that_is_off_are_stored_at_the_members_time(off_ms: int) -> None:
    asked = Asked(Cluster("live", "h:9092"), Broker(1), "g1", NOW_MS - 50, NOW_MS + 50)
    batch = reporter_pb2.MetricBatch(collected_at_ms=NOW_MS + off_ms)
    assert abs(batch.collected_at_ms + asked.correction_ms(batch) - NOW_MS) <= 2000
