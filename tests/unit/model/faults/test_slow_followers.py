"""A follower that fetches more slowly than is written: acks=all waits for it, until it leaves the ISR."""

from __future__ import annotations

import pytest

from guardian.model.faults.controller import Record, Settings
from guardian.model.faults.event import Kill, SlowFollower, Story
from guardian.model.faults.outcome import Lost, Outcome, outcome
from guardian.model.faults.stories import NAMED, Roles, follower_is_slow, story
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning, Ended

ROLES = Roles(1, (2, 3), (101,))
TIMES = Times(session_s=6.0, heartbeat_s=0.5, replica_lag_s=10.0)


NAMED_ONE = NAMED["slow-follower"](ROLES)


def told(share: float, seconds: float = 25.0, *, acks_all: bool = True, times: Times = TIMES) -> Outcome:
    return of(follower_is_slow(ROLES, share, seconds), acks_all=acks_all, times=times)


def of(happens: Story, *, acks_all: bool = True, times: Times = TIMES) -> Outcome:
    start = Beginning(Record(ROLES.brokers, 1, ROLES.brokers))
    return outcome(start, Settings(2), happens, acks_all=acks_all, times=times, controllers=ROLES.controllers)


def test_acks_all_waits_for_replica_lag_time_at_a_time() -> None:
    """Over links of 5 and 10 kB/s producers were silent for 10.4 to 14.8 s: leaders look every half of 10 s."""
    found = of(NAMED_ONE)
    assert (found.lost, found.ended, found.leaders) == (Lost.NONE, Ended.SHRUNK, (1,))
    assert found.silent_s.least_s - 1 <= 10.4
    assert 14.8 <= found.silent_s.most_s <= 16


def test_acks_1_notices_nothing() -> None:
    found = of(NAMED_ONE, acks_all=False)
    assert (found.lost, found.silent_s.most_s) == (Lost.NONE, 0.0)


def test_each_wait_is_longer_than_the_one_before() -> None:
    """At two thirds of what is written brokers were silent for 5 s after 17 s, and kept the follower in sync."""
    short, long = told(0.66, 5.0), told(0.66, 17.0)
    assert 0 < short.silent_s.most_s < long.silent_s.least_s < 8
    assert long.ended is Ended.HEALED


def test_a_link_that_carries_what_is_written_is_not_slow() -> None:
    assert told(1.0).silent_s.most_s <= 1


@pytest.mark.parametrize("lag_s", [5.0, 30.0])
def test_the_end_of_a_wait_is_that_of_the_settings_or_of_the_fault(lag_s: float) -> None:
    found = of(NAMED_ONE, times=Times(replica_lag_s=lag_s))
    assert found.silent_s.most_s < 1.5 * lag_s + 2
    assert found.ended is (Ended.SHRUNK if lag_s < 25 else Ended.HEALED)


def test_a_slow_follower_that_must_lead_lacks_what_was_under_way_for_acks_1() -> None:
    start = Beginning(Record(ROLES.brokers, 1, (1, 2)), frozenset({3}))
    happens = story("leader dies", (0.0, SlowFollower(2, 0.1)), (6.0, Kill(1)))
    one, every = (
        outcome(start, Settings(1), happens, acks_all=acks_all, times=TIMES, controllers=ROLES.controllers)
        for acks_all in (False, True)
    )
    assert (every.lost, one.lost, one.is_certain) == (Lost.NONE, Lost.SECONDS, True)
    assert 3 <= one.lost_s.least_s <= 6
