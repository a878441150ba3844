from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from guardian.collection.rules.schedule import due_after_failures, next_due
from guardian.model.collection import BrokerKey

KEYS = st.builds(BrokerKey, st.sampled_from(["a", "b"]), st.integers(0, 1000))
NOW = st.floats(1.7e9, 1.9e9)
INTERVALS = st.floats(0.05, 600)


@given(KEYS, NOW, INTERVALS)
def test_the_next_moment_is_within_an_interval_and_the_same_for_all_members(
    key: BrokerKey, now: float, interval_s: float
) -> None:
    due = next_due(key, now, interval_s)
    assert now < due + 1e-6
    assert due <= now + interval_s + 1e-6
    another_members = next_due(key, (now + due) / 2, interval_s)
    assert abs(another_members - due) < 1e-6 or abs(another_members - due - interval_s) < 1e-6


def test_moments_are_spread_over_the_interval() -> None:
    dues = sorted(next_due(BrokerKey("c", broker), 0.0, 60.0) for broker in range(1000))
    assert sum(due < 30 for due in dues) in range(400, 600)
    assert max(later - sooner for sooner, later in pairwise(dues)) < 2.0


@given(KEYS, st.integers(1, 5000), NOW, INTERVALS)
def test_a_broker_that_fails_is_tried_again_sooner_never_later(
    key: BrokerKey, failures: int, now: float, interval_s: float
) -> None:
    assert now < due_after_failures(key, failures, now, interval_s) + 1e-6
    assert due_after_failures(key, failures, now, interval_s) <= next_due(key, now, interval_s)


def test_the_pause_grows_from_a_second() -> None:
    key = BrokerKey("c", 1)
    after = next_due(key, 0.0, 3600.0)
    pauses = [due_after_failures(key, failures, after, 3600.0) - after for failures in (1, 2, 3, 4)]
    assert pauses == [1.0, 2.0, 4.0, 8.0]
