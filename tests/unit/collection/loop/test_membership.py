from __future__ import annotations

import threading

import pytest
from structlog.testing import capture_logs

from guardian.collection.loop.membership import CollectorMembership
from guardian.collection.rules import assigning
from guardian.errors import Unavailable
from guardian.model.collection import BrokerKey, CollectionAssignment

BROKERS = frozenset(BrokerKey("live", broker) for broker in range(4))
DELAY_S = 30.0


class Group:
    """A group of which everybody hears at once, unless told otherwise."""

    def __init__(self) -> None:
        self.now = CollectionAssignment()
        self.staleness: float | None = 0.0
        self.reachable = True
        self.acks: list[tuple[str, int]] = []
        self.joined = threading.Event()

    def assignment(self) -> CollectionAssignment:
        return self.now

    def staleness_s(self) -> float | None:
        return self.staleness

    def join(self, member: str, incarnation: str) -> None:
        self._require_reachable()
        self.now = self.now.joined(member, incarnation)
        self.joined.set()

    def ack(self, member: str, incarnation: str, generation: int) -> None:
        self._require_reachable()
        self.acks.append((member, generation))
        self.now = self.now.acknowledged(member, incarnation, generation)

    def assign(self, *live: str) -> None:
        self.now = assigning.assign(self.now, BROKERS, live, 1, int(DELAY_S * 1000))

    def _require_reachable(self) -> None:
        if not self.reachable:
            raise Unavailable("nobody leads")


@pytest.fixture
def group() -> Group:
    return Group()


def member(group: Group, name: str = "a", incarnation: str = "1") -> CollectorMembership:
    return CollectorMembership(group, name, incarnation, DELAY_S)


def test_a_member_joins_and_then_has_its_share(group: Group) -> None:
    a = member(group)
    assert a.mine(BROKERS) == frozenset()
    a.look()
    group.assign("a")
    assert a.mine(BROKERS) == BROKERS
    assert a.mine([BrokerKey("live", 1), BrokerKey("other", 1)]) == {BrokerKey("live", 1)}


def test_a_member_says_that_it_let_go_only_once_its_collector_has_asked_again(group: Group) -> None:
    a, b = member(group), member(group, "b")
    a.look()
    group.assign("a")
    a.mine(BROKERS)
    b.look()
    group.assign("a", "b")
    a.look()
    assert group.acks == []
    assert len(a.mine(BROKERS)) == 2  # here the collector learns of it, and lets go
    a.look()
    assert group.acks == []
    a.mine(BROKERS)  # it has let go
    a.look()
    assert [name for name, _ in group.acks] == ["a"]
    group.assign("a", "b")
    b.look()
    assert (len(a.mine(BROKERS)), len(b.mine(BROKERS))) == (2, 2)
    assert a.mine(BROKERS) | b.mine(BROKERS) == BROKERS


def test_news_that_arrives_while_it_asks_does_not_make_an_old_share_fresh() -> None:
    class Thawing(Group):
        """Its process was stopped; all that happened meanwhile arrives between two of its reads."""

        def assignment(self) -> CollectionAssignment:
            before = self.now
            self.assign("b")
            self.staleness = 0.0
            return before

    thawing = Thawing()
    collector = member(thawing)
    collector.look()
    thawing.now = thawing.now.joined("a", "1").joined("b", "1")
    thawing.assign("a", "b")
    thawing.staleness = DELAY_S
    assert collector.mine(BROKERS) == frozenset()


@pytest.mark.parametrize("staleness", [DELAY_S, None])
def test_a_member_that_hears_nothing_for_as_long_as_the_delay_collects_nothing(
    group: Group, staleness: float | None
) -> None:
    a = member(group)
    a.look()
    group.assign("a")
    group.staleness = DELAY_S - 0.1
    assert a.mine(BROKERS) == BROKERS
    group.staleness = staleness
    assert a.mine(BROKERS) == frozenset()
    group.staleness = 0.0
    assert a.mine(BROKERS) == BROKERS


def test_of_two_processes_with_one_name_the_later_one_collects(group: Group) -> None:
    first, second = member(group, incarnation="1"), member(group, incarnation="2")
    first.look()
    first.look()
    group.assign("a")
    assert first.mine(BROKERS) == BROKERS
    second.look()
    with capture_logs() as logs:
        first.look()
    assert first.is_fenced
    assert "another process of this member's name" in logs[0]["event"]
    first.look()  # and does not take the seat back
    assert (first.mine(BROKERS), second.mine(BROKERS)) == (frozenset(), BROKERS)


def test_a_member_that_was_away_for_too_long_takes_a_seat_again(group: Group) -> None:
    a = member(group)
    a.look()
    a.look()
    group.now = CollectionAssignment(generation=9)
    a.look()
    group.assign("a")
    assert a.mine(BROKERS) == BROKERS


def test_a_group_that_does_not_answer_is_asked_again(group: Group) -> None:
    group.reachable = False
    a = member(group)
    a.start()
    try:
        group.reachable = True
        assert group.joined.wait(30)
    finally:
        a.stop()
        a.stop()
