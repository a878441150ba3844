"""Cordons follow exclusions, whatever happens in between; and nothing of ours is left when they are lifted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from guardian.cordons.rules import BrokerLook, CordonStep, step
from guardian.model.cordon import Cordon
from guardian.model.effects import CORDONED, ConfigKey
from guardian.model.topology import TopicPartition

KEY = ConfigKey("BROKER", "7", CORDONED)
OLD, NEW = TopicPartition("old", 0), TopicPartition("new", 3)


class World:
    """Kafka's one broker and what is stored, with a crash wherever a test wants one."""

    def __init__(self, value: str | None = None) -> None:
        self.value = value
        self.is_alive = True
        self.knows_cordons = True
        self.holds = frozenset({OLD})
        self.stored: dict[int, Cordon] = {}
        self.controllers_answer = True

    def decide(self, excluded: Collection[int]) -> CordonStep:
        look = BrokerLook(self.is_alive, self.value, self.knows_cordons, self.holds)
        return step("live", excluded, tuple(self.stored.values()), {7: look}, now_ms=1000)

    def save(self, decided: CordonStep) -> None:
        for cordon in decided.put:
            self.stored[cordon.broker_id] = replace(cordon, revision=cordon.revision + 1)
        for cordon in decided.dropped:
            del self.stored[cordon.broker_id]

    def send(self, decided: CordonStep) -> None:
        for key, change in decided.changes.items():
            assert key == KEY
            if change.expected == self.value:
                self.value = change.value
        if self.controllers_answer:
            for key, value in decided.debts.items():
                self.value = value
                del self.stored[int(key.resource_name)]

    def tick(self, excluded: Collection[int], *, dies_before_sending: bool = False) -> CordonStep:
        decided = self.decide(excluded)
        self.save(decided)
        if not dies_before_sending:
            self.send(decided)
        return decided

    def settle(self, excluded: Collection[int]) -> None:
        for _ in range(5):
            self.tick(excluded)
        last = self.tick(excluded)
        assert not last.changes
        assert not last.put
        assert not last.dropped


@pytest.mark.parametrize("before", [None, "/disk2", "*"])
def test_what_stood_before_is_put_back(before: str | None) -> None:
    world = World(before)
    world.settle({7})
    assert world.value == "*"
    world.settle(())
    assert world.value == before
    assert not world.stored


@pytest.mark.parametrize("before", [None, "/disk2"])
@pytest.mark.parametrize("death", range(6))
def test_a_leader_that_dies_between_commit_and_send_leaves_nothing_behind(before: str | None, death: int) -> None:
    """The exclusion is lifted after three ticks; one of six ticks is cut off after its commit."""
    world = World(before)
    for number in range(6):
        world.tick({7} if number < 3 else (), dies_before_sending=number == death)
    world.settle(())
    assert world.value == before
    assert not world.stored


def test_what_left_an_excluded_broker_is_held_no_longer() -> None:
    world = World()
    world.tick({7})
    assert world.stored[7].held == {OLD}
    world.holds = frozenset()
    world.tick({7})
    world.holds = frozenset({OLD, NEW})
    world.tick({7})
    assert world.stored[7].held == frozenset()


def test_a_cordon_that_somebody_took_away_is_set_again_and_another_value_is_left_alone() -> None:
    world = World("/disk1")
    world.settle({7})
    world.value = None
    world.settle({7})
    assert world.value == "*"
    world.value = "/disk2"
    world.tick({7})
    assert world.value == "/disk2"
    assert world.stored[7].note == (
        "cordoned.log.dirs of broker 7 was set to /disk2 by somebody else and is left alone"
    )
    world.settle(())
    assert world.value == "/disk2"
    assert not world.stored


@pytest.mark.parametrize("ticks_before_it_dies", [0, 1])
def test_another_value_is_left_alone_on_a_broker_that_is_down_too(ticks_before_it_dies: int) -> None:
    world = World("/disk1")
    world.settle({7})
    world.value = "/disk2"
    if ticks_before_it_dies:
        world.tick({7})
        world.tick(())
        world.is_alive = False
    else:
        world.tick({7})
        world.is_alive = False
        world.tick({7})
        world.tick({7})
        assert "is down" in world.stored[7].note
    world.settle(())
    assert world.value == "/disk2"
    assert not world.stored


def test_a_broker_that_is_down_is_cordoned_when_it_is_back() -> None:
    world = World()
    world.is_alive = False
    world.settle({7})
    assert world.value is None
    assert "is cordoned when it is back" in world.stored[7].note
    world.is_alive = True
    world.settle({7})
    assert world.value == "*"


def test_what_a_dead_broker_owes_is_restored_through_a_controller_or_stays_a_debt() -> None:
    world = World("/disk1")
    world.settle({7})
    world.is_alive = False
    world.controllers_answer = False
    world.settle(())
    assert world.stored[7].is_lifted
    assert world.value == "*"
    world.controllers_answer = True
    world.tick(())
    assert world.value == "/disk1"
    assert not world.stored


def test_a_broker_excluded_anew_before_its_cordon_was_lifted_keeps_what_was_replaced() -> None:
    world = World("/disk1")
    world.settle({7})
    world.tick((), dies_before_sending=True)
    world.holds = frozenset({OLD, NEW})
    world.settle({7})
    assert world.value == "*"
    assert world.stored[7].held == {OLD, NEW}
    world.settle(())
    assert world.value == "/disk1"


def test_where_kafka_knows_no_cordons_what_the_broker_held_is_noted_all_the_same() -> None:
    world = World()
    world.knows_cordons = False
    world.settle({7})
    assert world.value is None
    assert world.stored[7].held == {OLD}
    assert "knows no cordons" in world.stored[7].note
    world.settle(())
    assert not world.stored


def test_an_answer_from_before_the_cordon_does_not_let_it_be_forgotten() -> None:
    """Brokers lag behind (KAFKA.md, trap 9): right after the cordon was sent, the broker may still tell none."""
    world = World()
    decided = world.decide({7})
    world.save(decided)
    world.tick(())  # lifted at once, and the look is from before
    assert 7 in world.stored
    world.send(decided)
    world.settle(())
    assert world.value is None
    assert not world.stored
