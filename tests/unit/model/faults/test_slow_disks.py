"""A disk that takes seconds for each write: page cache or not, the file system waits for its journal."""

from __future__ import annotations

import pytest

from guardian.model.faults.controller import Record, Settings
from guardian.model.faults.event import SlowWrites, Story
from guardian.model.faults.outcome import Lost, Outcome, outcome
from guardian.model.faults.stories import NAMED, Roles, disk_is_slow, story
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning, Ended

ROLES = Roles(1, (2, 3), (101,))
TIMES = Times(session_s=6.0, heartbeat_s=0.5, replica_lag_s=10.0)


def told(happens: Story, *, acks_all: bool = True) -> Outcome:
    start = Beginning(Record(ROLES.brokers, 1, ROLES.brokers))
    return outcome(start, Settings(2), happens, acks_all=acks_all, times=TIMES, controllers=ROLES.controllers)


@pytest.mark.parametrize("acks_all", [True, False])
def test_all_producers_wait_for_the_leaders_disk_and_nobody_else_leads(acks_all: bool) -> None:
    """With 2 s for each write brokers were silent for 4.7 to 16 s, with any acks, and went on to send heartbeats."""
    found = told(NAMED["slow-disk"](ROLES), acks_all=acks_all)
    assert (found.lost, found.leaders, found.awaited) == (Lost.NONE, (1,), ())
    assert 2 <= found.silent_s.least_s <= 4.7
    assert 16 <= found.silent_s.most_s <= 18


def test_a_slow_disk_is_waited_for_no_longer_than_it_is_slow_and_a_write_is_under_way() -> None:
    found = told(disk_is_slow(ROLES, 5.0, 12.0))
    assert 12 <= found.silent_s.most_s <= 12 + 5 + 1
    assert found.ended is Ended.HEALED


def test_a_follower_whose_disk_is_slow_leaves_the_isr_when_it_takes_too_long() -> None:
    slow = told(story("a follower's", (0.0, SlowWrites(2, 5.0)), (40.0, SlowWrites(2, 0.0))))
    assert (slow.lost, slow.ended) == (Lost.NONE, Ended.SHRUNK)
    assert slow.silent_s.most_s <= 1.5 * TIMES.replica_lag_s + 1.5
