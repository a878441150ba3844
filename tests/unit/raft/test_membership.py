"""Which change of the group may be made now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.configuration import Configuration
from raft.errors import ChangeRefused
from raft.protocol import AddLearner, Change, Promote, Remove
from raft.rules import membership
from raft.rules.membership import MAX_PROMOTION_LAG, LeaderView

THREE = Configuration.of_voters("g", {name: f"{name}:1" for name in "abc"})
VIEW = LeaderView(
    "a",
    THREE.with_learner("d", "d:1"),
    is_settled=True,
    last_index=5000,
    match={"b": 5000, "d": 5000},
    incarnations={"d": "d1"},
)


def test_a_change_that_fits_gives_the_next_configuration() -> None:
    assert membership.next_configuration(AddLearner("e", "e:1"), VIEW).learners == {"d", "e"}
    assert membership.next_configuration(Promote("d"), VIEW).voters == {*"abcd"}
    assert membership.next_configuration(Remove("c"), VIEW).voters == {*"ab"}


@pytest.mark.parametrize("change", [AddLearner("d", "d:1"), AddLearner("a", "a:1"), Promote("b"), Remove("x")])
def test_what_is_in_force_needs_nothing(change: Change) -> None:
    assert membership.is_in_force(change, VIEW.configuration)


@pytest.mark.parametrize("change", [AddLearner("e", "e:1"), Promote("d"), Remove("c")])
def test_one_change_at_a_time(change: Change) -> None:
    with pytest.raises(ChangeRefused, match="another change of the group is not committed yet"):
        membership.next_configuration(change, replace(VIEW, is_settled=False))


def test_a_learner_that_lags_is_not_promoted() -> None:
    late = {"d": VIEW.last_index - MAX_PROMOTION_LAG}
    assert membership.next_configuration(Promote("d"), replace(VIEW, match=late)).voters == {*"abcd"}
    with pytest.raises(ChangeRefused, match="learner d lags by 1001 entries"):
        membership.next_configuration(Promote("d"), replace(VIEW, match={"d": late["d"] - 1}))
    with pytest.raises(ChangeRefused, match="learner d is not connected to leader a"):
        membership.next_configuration(Promote("d"), replace(VIEW, match={}))


def test_only_the_leader_s_own_removal_needs_another_leader() -> None:
    assert membership.must_hand_over(Remove("a"), VIEW)
    assert not membership.must_hand_over(Remove("b"), VIEW)
    assert not membership.must_hand_over(Promote("a"), VIEW)


def test_what_can_never_fit_is_refused_at_once() -> None:
    alone = Configuration.of_voters("g", {"a": "a:1"})
    with pytest.raises(ChangeRefused, match="last voter"):
        membership.is_in_force(Remove("a"), alone)
    with pytest.raises(ChangeRefused, match="not in the group"):
        membership.is_in_force(Promote("x"), alone)
