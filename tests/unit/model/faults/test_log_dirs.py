"""A log dir of several fails: the broker goes on, its copies on that dir do not."""

from __future__ import annotations

import pytest

from guardian.model.faults.controller import Record, Settings
from guardian.model.faults.event import CleanStop, Cut, Heal, LogDirFails, LogDirWorks, Start, Story
from guardian.model.faults.outcome import Lost, Outcome, outcome
from guardian.model.faults.stories import NAMED, Roles, story
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning, Ended

LEADER, CONTROLLER = 1, 101
ROLES = Roles(LEADER, (2, 3), (CONTROLLER,))
FAILS = NAMED["log-dir-fails"](ROLES)
TIMES = Times(boot_s=(1.0, 2.0))


def told(*, isr: tuple[int, ...] = ROLES.brokers, acks_all: bool = True, happens: Story = FAILS) -> Outcome:
    start = Beginning(Record(ROLES.brokers, LEADER, isr))
    return outcome(start, Settings(1), happens, acks_all=acks_all, times=TIMES, controllers=(CONTROLLER,))


@pytest.mark.parametrize("acks_all", [True, False])
def test_another_leads_at_once_since_the_broker_tells_its_controllers(acks_all: bool) -> None:
    """Brokers were silent for 0.2 to 0.6 s, with sessions of 6 s; none of 13,000 records was lost."""
    found = told(acks_all=acks_all)
    assert (found.leaders, found.awaited) == ((2,), ())
    assert found.silent_s.least_s - 1 <= 0.2
    assert found.silent_s.most_s < 2.5 < TIMES.session_s
    assert found.is_safe if acks_all else found.lost_s.most_s <= 1
    assert not found.is_certain


def test_the_only_copy_in_sync_is_waited_for_until_its_dir_works_again() -> None:
    found = told(isr=(LEADER,))
    assert (found.lost, found.awaited, found.ended) == (Lost.NONE, (LEADER,), Ended.RETURNED)
    assert found.silent_s.least_s >= 30


def test_a_start_does_not_help_while_the_dir_fails() -> None:
    without = story("not repaired", (0.0, LogDirFails(LEADER)), (5.0, CleanStop(LEADER)), (8.0, Start(LEADER)))
    assert told(isr=(LEADER,), happens=without).ended is Ended.NEVER
    assert told(happens=without).leaders == (2,)


def test_controllers_that_are_not_reached_learn_nothing() -> None:
    cut = Cut(frozenset({LEADER}), frozenset({CONTROLLER}))
    away = story("cut off", (0.0, cut), (0.5, LogDirFails(LEADER)), (4.0, Heal()))
    found = told(happens=away)
    assert found.silent_s.least_s >= 3.5
    assert (found.lost, found.leaders) == (Lost.NONE, (2,))


def test_a_follower_whose_dir_fails_is_not_waited_for() -> None:
    of_follower = story("a follower's", (0.0, LogDirFails(2)), (10.0, LogDirWorks(2)), (10.0, Start(2)))
    found = told(happens=of_follower)
    assert (found.lost, found.leaders) == (Lost.NONE, (LEADER,))
    assert found.silent_s.most_s < 2
