"""Predicts what brokers did: facts of Kafka 4.3, three brokers and a controller, defaults, 50 records a second each.

Losses are exact counts of record numbers; seconds are upper values, as the host was busy.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import pytest

from guardian.model.faults.controller import Record, Settings
from guardian.model.faults.outcome import Chance, Lost, Outcome, outcome
from guardian.model.faults.stories import NAMED, Roles, all_die
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning, Ended

ALL_UNFLUSHED = (-1, -1)
ROLES = Roles(1, (2, 3), (101,))
PER_S = 50


class Topic(NamedTuple):
    """Settings of one topic of the recorded cluster."""

    min_isr: int
    unclean: bool
    acks_all: bool


TOPICS = {
    "m1-all": Topic(1, False, True),
    "m1-one": Topic(1, False, False),
    "m2-all": Topic(2, False, True),
    "m2-one": Topic(2, False, False),
    "m1u-all": Topic(1, True, True),
    "m2u-all": Topic(2, True, True),
    "m2u-one": Topic(2, True, False),
}
ALL = tuple(name for name, topic in TOPICS.items() if topic.acks_all)
ONE = tuple(name for name, topic in TOPICS.items() if not topic.acks_all)


class Fact(NamedTuple):
    """What happened to these topics: (least, most) records lost, and silence. ALL_UNFLUSHED: what was never fsynced."""

    fault: str
    topics: tuple[str, ...]
    lost: tuple[int, int]
    silent_s: tuple[float, float] | None = None


FACTS = (
    Fact("cut1", ALL, (0, 0), (41, 43)),
    Fact("cut2", ("m1-all", "m1u-all"), (0, 0), (45, 45)),
    Fact("cut2-kill", ("m1-all", "m1-one"), (0, 0)),
    Fact("cut2-kill", ("m1u-all", "m2u-one"), (2739, 2739)),
    Fact("cut2-kill", ("m2-all", "m2u-all"), (0, 0)),
    Fact("cut4", ONE, (2193, 2209)),
    Fact("cut4", ALL, (0, 0), (43, 46)),
    Fact("cut6", ONE, (2480, 2480)),
    Fact("cut6", ALL, (0, 0), (51, 51)),
    Fact("cut7", ALL, (0, 0), (2, 4)),
    Fact("cut7", ONE, (0, 0), (2, 4)),
    Fact("kill-leader", ALL, (0, 0), (11, 12.5)),
    Fact("kill-all", ("m1-all", "m2-all"), (0, 0)),
    Fact("kill-all", ("m2u-one",), (49, 49)),
    Fact("power-all", tuple(TOPICS), ALL_UNFLUSHED),
)
ROWS = [pytest.param(fact, name, id=f"{fact.fault}-{name}") for fact in FACTS for name in fact.topics]


@cache
def predicted(fault: str, name: str) -> Outcome:
    """Predict for a topic whose ISR is full."""
    topic = TOPICS[name]
    start = Beginning(Record((1, 2, 3), 1, (1, 2, 3)))
    settings = Settings(topic.min_isr, topic.unclean)
    return outcome(start, settings, NAMED[fault](ROLES), acks_all=topic.acks_all, controllers=ROLES.controllers)


@pytest.mark.parametrize(("fact", "name"), ROWS)
def test_prediction_is_what_happened(fact: Fact, name: str) -> None:
    found = predicted(fact.fault, name)
    if fact.lost == ALL_UNFLUSHED:
        assert found.lost is Lost.UNFLUSHED
        assert found.is_certain
    else:
        least, most = fact.lost
        assert not (most and found.is_safe), "predicted safe, and records were lost"
        assert not (found.is_certain and not most), "predicted a loss, and none was lost"
        assert found.is_certain == (least > PER_S), "what loses more than a second's records is certain to lose"
        assert found.lost_s.least_s - 1 <= least / PER_S
        assert most / PER_S <= found.lost_s.most_s + 1
    if fact.silent_s:
        assert found.silent_s.least_s - 1 <= fact.silent_s[0]
        assert fact.silent_s[1] <= found.silent_s.most_s + 3


@pytest.mark.parametrize("name", TOPICS)
@pytest.mark.parametrize("fault", ["cut4", "cut6", "cut7", "kill-all"])
def test_what_was_read_stays_where_leaders_are_elected_cleanly(fault: str, name: str) -> None:
    """Acknowledged records of acks=1 may be gone all the same: readers get what all of the ISR have."""
    assert predicted(fault, name).read_lost is Chance.NEVER


@pytest.mark.parametrize(
    ("fault", "name", "expected"),
    [
        ("cut2-kill", "m1u-all", Chance.ALWAYS),  # an unclean leader has nothing of what one copy alone had
        ("cut2-kill", "m2u-one", Chance.NEVER),  # a leader below min ISR lets nobody read what it takes
        ("power-all", "m2-all", Chance.ALWAYS),
    ],
)
def test_what_was_read_is_lost_with_unclean_leaders_and_power(fault: str, name: str, expected: Chance) -> None:
    assert predicted(fault, name).read_lost is expected


@pytest.mark.parametrize("name", ["m1-all", "m1-one"])
def test_broker_that_was_alone_in_the_isr_is_waited_for(name: str) -> None:
    found = predicted("cut2-kill", name)
    assert (found.ended, found.awaited, found.leaders) == (Ended.RETURNED, (1,), (1,))


def test_leader_comes_from_the_elr_eight_seconds_after_the_kill() -> None:
    found = predicted("cut2-kill", "m2-one")
    assert (found.ended, found.awaited) == (Ended.ELECTED, ())
    assert found.silent_s.least_s - 1 <= 8 <= found.silent_s.most_s + 3


@pytest.mark.parametrize(
    ("fault", "name", "elrs"),
    [
        ("cut2-kill", "m2-all", {(), (3,)}),  # 2 left the ISR before 3 did
        ("cut2-kill", "m2-one", {(), (2, 3)}),  # both left it at a time
        ("cut2-kill", "m1-all", {(), (1,)}),
        ("cut6", "m2-all", {()}),
        ("kill-all", "m1-all", {(), (1,)}),
        ("kill-all", "m2-all", {(), (1,), (1, 2)}),  # 3 was fenced first
    ],
)
def test_elrs_that_were_seen_are_passed_through(fault: str, name: str, elrs: set[tuple[int, ...]]) -> None:
    assert elrs <= predicted(fault, name).elrs


@pytest.mark.parametrize(("fault", "name"), [("kill-all", "m1-all"), ("power-all", "m1u-all")])
def test_any_may_lead_where_all_are_fenced_or_back_together(fault: str, name: str) -> None:
    """Who was fenced last is waited for; who is back first is elected uncleanly."""
    assert predicted(fault, name).leaders == (1, 2, 3)


@pytest.mark.parametrize("name", ["m1-all", "m2-all"])
def test_last_known_leader_is_waited_for_though_the_others_are_back(name: str) -> None:
    """Brokers 3, 2 and 1 were started as soon as the one before was up: 1, which led last, ended 107 s of silence."""
    topic = TOPICS[name]
    start = Beginning(Record((1, 2, 3), 1, (1, 2, 3)))
    story = all_die((1, 2, 3), (3, 2, 1), every_s=35.0)
    found = outcome(start, Settings(topic.min_isr), story, acks_all=True, controllers=(101,))
    assert found.ended is Ended.RETURNED
    assert 1 in found.awaited
    assert found.silent_s.least_s - 1 <= 107 <= found.silent_s.most_s + 3


@pytest.mark.parametrize("name", TOPICS)
def test_broker_that_is_back_on_an_empty_disk_is_given_up_before_its_session_ends(name: str) -> None:
    """Sessions of 6 s; the leader was away for 2 s and took 0.8 to 1 s to start: 3.4 to 5.9 s of silence."""
    topic = TOPICS[name]
    times = Times(session_s=6.0, heartbeat_s=0.5, replica_lag_s=10.0, boot_s=(0.8, 1.0))
    start = Beginning(Record((1, 2, 3), 1, (1, 2, 3)))
    settings, story = Settings(topic.min_isr, topic.unclean), NAMED["lose-leader"](ROLES)
    found = outcome(start, settings, story, acks_all=topic.acks_all, times=times, controllers=ROLES.controllers)
    assert found.is_safe or (found.lost_s.most_s <= 1 and not topic.acks_all)
    assert (found.awaited, found.leaders) == ((), (2,))
    assert found.silent_s.least_s - 1 <= 3.4
    assert found.silent_s.most_s + 3 >= 5.9
