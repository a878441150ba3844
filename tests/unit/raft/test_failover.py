"""How long a group is without a leader, by its members' own timers: seconds of a clock that the test moves."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from raft.configuration import Configuration
from raft.network import frames
from raft.node.campaigning import Campaigning
from raft.node.library import Timing
from raft.node.seat import Seat

TIMING = Timing()
THREE = Configuration.of_voters("g", {name: f"{name}:1" for name in "abc"}).founded(
    {name: f"{name}-1" for name in "abc"}
)
TICK_S = 0.05


class Core:
    """What the library knows of a member."""

    def __init__(self, *, is_leader: bool) -> None:
        self.is_leader, self.term, self.leader, self.voted_for = is_leader, 7, "a", None

    def forget_leader(self) -> None:
        self.leader = ""

    def step_down(self, _term: int) -> None:
        self.is_leader = False


class Member:
    """Member a of three, whose clock begins at 100."""

    def __init__(self, *, is_leader: bool = False) -> None:
        self.now, self.sent = 100.0, list[tuple[str, Any]]()
        self.core = Core(is_leader=is_leader)
        journal = SimpleNamespace(configuration=THREE, last_term=7, last_index=70)
        links = SimpleNamespace(send=lambda name, message: self.sent.append((name, message)))
        parts = (journal, self.core, links, TIMING, lambda: None)
        self.campaigning = Campaigning(cast("Any", Seat)("a", "1", *parts, Counter()), self.now)
        self.campaigning.became(self.now, is_leader=is_leader)

    def tick(self) -> bool:
        self.now += TICK_S
        return self.campaigning.tick(self.now)


@pytest.mark.parametrize("_", range(20))
def test_a_follower_that_hears_nothing_runs_once_another_one_has_not_heard_either(_: int) -> None:
    member = Member()
    member.campaigning.heard_from_leader(member.now)
    began = member.now
    while not member.sent:
        assert not member.tick(), "it runs without having asked"
    assert TIMING.election_min <= member.now - began + 1e-6
    assert member.now - began <= TIMING.election_max + TICK_S + 1e-6
    assert {name for name, _ in member.sent} == {"b", "c"}
    assert {message["type"] for _, message in member.sent} == {frames.PRE_VOTE}
    member.campaigning.pre_vote_reply("b", {"term": 8, "is_granted": True}, member.now)
    assert member.tick(), "it runs at the next tick"


def test_where_the_connection_to_the_leader_breaks_it_runs_sooner() -> None:
    member = Member()
    member.campaigning.heard_from_leader(member.now)
    began = member.now
    member.campaigning.lost_leader(member.now)
    while not member.sent:
        member.tick()
    assert member.now - began <= 3 * TIMING.heartbeat + TICK_S + 1e-6


def test_a_leader_that_hears_nobody_steps_down_before_others_can_wait_for_it_for_long() -> None:
    member = Member(is_leader=True)
    began = member.now
    while member.core.is_leader:
        member.tick()
        assert member.now - began < 60
    assert TIMING.election_max <= member.now - began + 1e-6
    assert member.now - began <= TIMING.election_max + TIMING.heartbeat + TICK_S


def test_a_leader_that_hears_one_of_two_goes_on() -> None:
    member = Member(is_leader=True)
    for _ in range(200):
        member.campaigning.heard_from_follower("b", member.now)
        member.tick()
    assert member.core.is_leader


def test_a_group_is_without_a_leader_for_seconds() -> None:
    """A vote may be split a time or two."""
    assert 3 * TIMING.election_max < 10
