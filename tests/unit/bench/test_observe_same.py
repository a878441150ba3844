"""When a value of ours is JMX's."""

from __future__ import annotations

import math

import pytest

from tests.bench.observe.same import compared

GAUGE = "kafka.server:type=ReplicaManager,name=LeaderCount:Value"
RATE = "kafka.server:type=raft-channel-metrics:request-rate"
COUNTER = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec:Count"


@pytest.mark.parametrize(
    ("name", "before", "ours", "after", "is_moving", "is_wrong"),
    [
        (GAUGE, 5.0, 5.0, 5.0, False, False),
        (GAUGE, 5.0, 6.0, 5.0, False, True),
        (RATE, 2.0, 2.5, 3.0, False, False),
        (RATE, 2.0, 3.5, 3.0, True, False),
        (COUNTER, 10.0, 11.0, 12.0, False, False),
        (COUNTER, 10.0, 13.0, 12.0, False, True),
        (RATE, math.nan, math.nan, math.nan, False, False),
        (GAUGE, 0.1 + 0.2, 0.3, 0.3, False, False),
    ],
)
def test_a_value_is_jmxs_when_it_lies_between_two_reads(
    name: str, before: float, ours: float, after: float, is_moving: bool, is_wrong: bool
) -> None:
    found = compared({name: before}, {name: ours}, {name: after})
    assert found.compared == 1
    assert (name in found.moving, name in found.wrong) == (is_moving, is_wrong)


def test_only_names_that_both_have_are_compared() -> None:
    found = compared({GAUGE: 1.0}, {GAUGE: 1.0, RATE: 2.0}, {GAUGE: 1.0, COUNTER: 3.0})
    assert (found.compared, found.moving, found.wrong) == (1, {}, {})
