"""Who may lead, and who is heard."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.configuration import Configuration
from raft.errors import ChangeRefused
from raft.rules import elections
from raft.rules.elections import Ballot, LogEnd

NEW_FIVE = Configuration.of_voters("g", {name: f"{name}:1" for name in "abcde"})
FIVE = NEW_FIVE.founded({name: f"{name}-1" for name in "abcde"})
WITH_LEARNER = FIVE.without("d").without("e").with_learner("d", "d:1")


def test_a_newer_term_beats_a_longer_log() -> None:
    assert LogEnd(term=3, index=1) > LogEnd(term=2, index=9)
    assert LogEnd(term=3, index=9) > LogEnd(term=3, index=8)


def test_a_ballot_is_won_by_a_majority_of_voters_each_counted_once() -> None:
    ballot = Ballot(7).with_vote("a").with_vote("b").with_vote("b")
    assert not ballot.is_won(FIVE)
    assert not ballot.with_vote("stranger").is_won(FIVE)
    assert ballot.with_vote("e").is_won(FIVE)


def test_before_a_group_is_founded_all_must_vote() -> None:
    four = Ballot(1, frozenset("abcd"))
    assert four.is_won(FIVE)
    assert not four.is_won(NEW_FIVE)
    assert not four.is_won(NEW_FIVE.founded(dict.fromkeys("abcd", "1")))
    assert four.with_vote("e").is_won(NEW_FIVE)


def test_a_learner_s_vote_does_not_count() -> None:
    assert not Ballot(7).with_vote("a").with_vote("d").is_won(WITH_LEARNER)
    assert Ballot(7).with_vote("a").with_vote("c").is_won(WITH_LEARNER)


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")))
def test_two_majorities_share_a_voter(one: set[str], other: set[str]) -> None:
    if elections.is_majority(one, FIVE) and elections.is_majority(other, FIVE):
        assert one & other & FIVE.voters


def test_only_voters_campaign() -> None:
    assert elections.may_campaign("a", WITH_LEARNER)
    for name, configuration in (("d", WITH_LEARNER), ("x", WITH_LEARNER), ("a", None)):
        assert not elections.may_campaign(name, configuration)


@pytest.mark.parametrize(
    ("term", "log", "is_bound", "is_granted"),
    [
        (5, LogEnd(4, 10), False, True),
        (5, LogEnd(4, 9), False, False),  # lacks an entry
        (5, LogEnd(3, 99), False, False),  # longer, but of an older term
        (4, LogEnd(4, 10), False, False),  # a term that is not newer
        (5, LogEnd(4, 10), True, False),  # a leader was heard just now
    ],
)
def test_a_pre_vote_is_granted_to_who_could_win(term: int, log: LogEnd, is_bound: bool, is_granted: bool) -> None:
    assert elections.grants_pre_vote(term, log, term=4, log=LogEnd(4, 10), is_bound=is_bound) is is_granted


def test_a_member_is_bound_to_its_leader_for_the_least_election_time() -> None:
    assert not elections.is_bound(None, now=10.0, election_min_s=0.8)
    assert elections.is_bound(9.5, now=10.0, election_min_s=0.8)
    assert not elections.is_bound(9.0, now=10.0, election_min_s=0.8)


@pytest.mark.parametrize(("is_bound", "is_transfer"), list(itertools.product([False, True], repeat=2)))
def test_only_a_transfer_disturbs_a_bound_member(is_bound: bool, is_transfer: bool) -> None:
    assert elections.hears_candidate(is_bound=is_bound, is_transfer=is_transfer) is (is_transfer or not is_bound)


def test_a_leader_needs_word_from_a_majority() -> None:
    heard = {"b": 9.0, "c": 5.0, "d": 4.0, "learner": 9.9}
    assert elections.has_quorum("a", FIVE, heard, since=5.0)
    assert not elections.has_quorum("a", FIVE, heard, since=5.1)
    assert elections.has_quorum("a", Configuration.of_voters("g", {"a": "a:1"}), {}, since=5.0)


def test_the_successor_is_who_has_the_most() -> None:
    match = {"b": 90, "c": 100, "d": 100, "e": 10}
    assert elections.choose_successor("a", None, FIVE, match, least_match=50) == "c"
    assert elections.choose_successor("a", "b", FIVE, match, least_match=50) == "b"


@pytest.mark.parametrize(
    ("to", "match", "why"),
    [
        ("x", {"b": 100}, "member x is no other voter of the group \\(b, c, d, e\\)"),
        ("a", {"b": 100}, "member a is no other voter"),
        ("c", {"b": 100}, "member c is not connected or lags"),
        ("c", {"b": 100, "c": 49}, "member c is not connected or lags"),
        (None, {"b": 49}, "no other voter \\(b, c, d, e\\) is connected and has caught up"),
        (None, {"learner": 100}, "no other voter"),
    ],
)
def test_who_can_t_lead_is_not_chosen(to: str | None, match: dict[str, int], why: str) -> None:
    with pytest.raises(ChangeRefused, match=why):
        elections.choose_successor("a", to, FIVE, match, least_match=50)
