"""What the audit of clients proves of topics, and each gap that keeps it from being proof."""

from __future__ import annotations

import pytest

from guardian.activity.rules.questions import Span
from guardian.execution.loop.topic_uses import SLACK_MS, ActivityTopicUses, gap_of

SPAN = Span(10_000_000, 20_000_000)
WHOLE = {"from_ms": SPAN.from_ms, "to_ms": SPAN.to_ms, "gap_ms": 0, "sum_lost": 0, "sum_dropped": 0}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({}, ""),
        ({"gap_ms": SLACK_MS, "to_ms": SPAN.to_ms - SLACK_MS}, ""),
        ({"from_ms": SPAN.from_ms + 60_000}, "broker 1 tells of its clients only since 1 min after the time asked for"),
        ({"to_ms": SPAN.to_ms - 600_000}, "broker 1 has told nothing of its clients for 10 min"),
        ({"gap_ms": 600_000}, "broker 1 has told nothing of its clients for 10 min in between"),
        ({"sum_lost": 2}, "broker 1 has lost 2 slices and 0 events"),
        ({"sum_dropped": 3}, "broker 1 has lost 0 slices and 3 events"),
    ],
)
def test_each_gap_is_named(changed: dict[str, int], sentence: str) -> None:
    assert gap_of(1, {**WHOLE, **changed}, SPAN) == sentence


def test_who_told_nothing_is_named() -> None:
    assert gap_of(1, None, SPAN) == "broker 1 has told nothing of its clients"


def test_a_member_without_a_store_proves_nothing() -> None:
    assert "audit.url is not set" in ActivityTopicUses(None, lambda: 1).last_uses("live", ["t"], [1], 1).gap
