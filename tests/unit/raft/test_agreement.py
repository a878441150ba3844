"""Whose history is the majority's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raft.configuration import Configuration
from raft.rules.agreement import Comparison, Verdict, judge

NAMES = "abcde"
FIVE = Configuration.of_voters("g", {name: f"{name}:1" for name in NAMES})
THREE = Configuration.of_voters("g", {name: f"{name}:1" for name in "abc"})


def test_who_differs_from_a_majority_is_wrong() -> None:
    verdict = judge("a", THREE, {"b": Comparison(9), "c": Comparison(5, 8)})
    assert verdict.wrong == {"c"}
    assert not verdict.is_outvoted


def test_an_agreement_from_before_the_difference_says_nothing() -> None:
    known = {"b": Comparison(7), "c": Comparison(5, 8)}
    assert judge("a", THREE, known) == Verdict(is_outvoted=True)
    assert judge("a", THREE, known, {"b"}) == Verdict()  # it will be compared in a moment


def test_a_voter_that_is_silent_is_not_believed_to_agree_once_another_differs() -> None:
    """Two live, with different histories: neither may go on with the other's acknowledgements."""
    assert judge("a", THREE, {"c": Comparison(5, 8)}).is_outvoted
    assert judge("c", THREE, {"a": Comparison(5, 8)}).is_outvoted
    assert not judge("a", THREE, {"c": Comparison(5)}).is_outvoted  # a group with one away goes on
    assert not judge("a", THREE, {}).is_outvoted


def test_a_voter_that_differs_does_not_agree_in_a_moment() -> None:
    assert judge("a", THREE, {"b": Comparison(0, 8), "c": Comparison(5, 8)}, {"b", "c"}).is_outvoted


def test_who_differs_from_two_of_three_is_outvoted() -> None:
    verdict = judge("a", THREE, {"b": Comparison(0, 8), "c": Comparison(5, 8)})
    assert verdict.is_outvoted
    assert not verdict.wrong


def test_a_learner_is_judged_and_does_not_count() -> None:
    group = THREE.with_learner("d", "d:1")
    assert judge("a", group, {"b": Comparison(9), "d": Comparison(0, 4)}).wrong == {"d"}
    assert not judge("a", group, {"d": Comparison(9), "c": Comparison(0, 4)}).wrong


def test_the_lowest_difference_counts_until_both_are_equal_again() -> None:
    found = Comparison().with_result(4, is_equal=True).with_result(9, is_equal=False).with_result(12, is_equal=False)
    assert found == Comparison(4, 9)
    assert found.with_result(20, is_equal=True) == Comparison(20)


@given(
    st.lists(st.sampled_from("xyz"), min_size=5, max_size=5),
    st.sets(st.sampled_from(NAMES[1:])),
    st.sets(st.sampled_from(NAMES)),
)
def test_it_is_what_somebody_who_sees_all_histories_would_say(
    histories: list[str], heard: set[str], awaited: set[str]
) -> None:
    """All compared at one index; `a` has heard from some. Nobody of the majority is wrong, whatever is not known; and
    once somebody differs `a` goes on only with a majority that it knows of, or will in a moment."""
    held = dict(zip(NAMES, histories, strict=True))
    known = {name: Comparison(9) if held[name] == held["a"] else Comparison(0, 9) for name in heard}
    verdict = judge("a", FIVE, known, awaited)
    group = {name for name in NAMES if held[name] == held["a"]}
    assert verdict.wrong == (heard - group if len(group & (heard | {"a"})) >= FIVE.majority else set())
    known_or_awaited = {"a"} | (heard & group) | (awaited - heard)
    assert verdict.is_outvoted == (not heard <= group and len(known_or_awaited) < FIVE.majority)
    if heard | awaited | {"a"} == set(NAMES):
        assert verdict.is_outvoted <= (len(group) < FIVE.majority)
