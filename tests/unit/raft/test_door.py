"""Whose word counts at a member: strangers change nothing, members can't break it, and who lags is introduced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from raft.configuration import Configuration
from raft.entries import command_entry, configuration_entry
from raft.errors import Diverged
from raft.network import frames
from raft.node.library import Timing
from raft.node.matching import Contradiction
from raft.rules.trust import MAX_TERM_JUMP, Circle, Part, is_plausible_term
from tests.forging import Forger, Message
from tests.simulation.raft_world import InlineExecutor
from tests.unit.raft.test_member_attacks import BEYOND, Lab, entries

pytestmark = pytest.mark.slow

GROUP = Configuration.of_voters("g", {name: f"{name}:1" for name in "abc"})
CIRCLE = Circle(
    GROUP.with_learner("d", "d:1"),
    members=frozenset("acd"),
    leaving=frozenset("e"),
    peers=frozenset("ap"),
    introduced=frozenset("i"),
)
EVERYBODY = "acdeipx"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    labs: list[Lab] = []

    def make(names: str = "abc", **options: Any) -> Lab:
        labs.append(Lab(tmp_path / f"b{len(labs)}", names, **options))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


def follows_a(lab: Lab) -> int:
    """Has b follow a, with nine committed entries, and returns the term."""
    lab.append("a", 3, (1, 0), entries(2, 10, 3), commit=10)
    lab.tick()
    lab.out.clear()
    return 3


@pytest.mark.parametrize(
    ("part", "settled", "lagging"),
    [
        (Part.LEADER, "ac", "acdeip"),
        (Part.VOTER, "ac", "ac"),
        (Part.MEMBER, "acde", "acde"),
        (Part.EITHER, "acde", "acdeip"),
        (Part.VOUCHER, "", "acp"),
    ],
)
def test_who_may_play_which_part(part: Part, settled: str, lagging: str) -> None:
    for is_settled, expected in ((True, settled), (False, lagging)):
        assert "".join(n for n in EVERYBODY if CIRCLE.may_play(part, n, is_settled=is_settled)) == expected


def test_a_member_without_a_configuration_hears_those_of_its_file_and_whom_they_introduce() -> None:
    circle = Circle(None, peers=frozenset("p"), introduced=frozenset("i"))
    assert circle.admitted == {"p", "i"}
    assert circle.vouchers == {"p"}
    for part, expected in ((Part.LEADER, "ip"), (Part.VOTER, ""), (Part.MEMBER, ""), (Part.VOUCHER, "p")):
        assert "".join(n for n in EVERYBODY if circle.may_play(part, n, is_settled=False)) == expected


def test_a_term_that_no_group_reaches_by_elections_is_not_believed() -> None:
    assert is_plausible_term(5 + MAX_TERM_JUMP, 5, is_new=False)
    assert not is_plausible_term(6 + MAX_TERM_JUMP, 5, is_new=False)
    assert is_plausible_term(6 + MAX_TERM_JUMP, 5, is_new=True)


@pytest.mark.parametrize("term", [1 << 40, frames.MAX_TERM])
def test_a_huge_term_is_refused_from_a_member_too(make: Callable[..., Lab], term: int) -> None:
    lab = make()
    own = lab.lead()
    lab.receive("a", "stale_term", term=term)
    lab.append("a", term, (1, 0), [])
    lab.receive("c", "request_vote", term=term, last_log_index=99, last_log_term=term, is_transfer=True)
    assert (lab.core.term, lab.core.is_leader) == (own, True)
    assert lab.member.seat.counters["refused_terms"] == 3


def test_a_stranger_s_entries_end_no_process_and_a_voter_s_contradiction_does(make: Callable[..., Lab]) -> None:
    """What raft_inproc2 of the review did: a wrong previous term at a committed index, in a term far ahead."""
    lab = make()
    term = follows_a(lab)
    lab.append("stranger", 1_000_000, (5, 2), [(command_entry(b"x"), 6, 1_000_000)], commit=6)
    lab.tick()
    assert (lab.core.term, lab.core.leader, lab.journal.last_index) == (term, "a", 10)
    assert lab.sent("next_node_idx", "stranger") == lab.sent("stale_term", "stranger") == []
    assert lab.member.seat.counters["refused_strangers"] == 1
    with pytest.raises(Contradiction):
        lab.append("c", 9, (5, 2), [], commit=6)


def test_a_peer_of_the_file_is_heard_while_the_member_lags_but_can_not_end_it(make: Callable[..., Lab]) -> None:
    lab = make(peers="p")
    follows_a(lab)
    lab.append("p", 7, (10, 3), entries(11, 11, 7))
    assert (lab.core.term, lab.journal.last_index) == (3, 10), "it knows who leads"
    lab.tick(BEYOND)
    lab.append("p", 7, (5, 2), [])
    assert lab.member.seat.counters["refused_contradictions"] == 1
    lab.append("p", 7, (10, 3), entries(11, 11, 7))
    lab.tick()
    assert (lab.core.leader, lab.journal.last_index) == ("p", 11)
    assert lab.sent("next_node_idx", "p")


def test_a_peer_of_the_file_that_is_no_voter_can_not_make_a_leader(make: Callable[..., Lab]) -> None:
    lab = make(peers="pq")
    lab.tick(BEYOND)
    term = lab.core.term + 1
    for name in "pq":
        lab.receive(name, "pre_vote_reply", term=term, is_granted=True)
        lab.tick()
        lab.receive(name, "response_vote", term=term)
        lab.receive(name, "read_round_reply", term=lab.core.term, round=1)
        lab.acknowledge(name, 5)
    lab.tick()
    assert not lab.core.is_leader
    assert lab.core.term == term - 1
    assert lab.member.seat.counters["refused_strangers"] == 8


def test_a_learner_that_was_promoted_meanwhile_is_heard_by_who_lags(make: Callable[..., Lab]) -> None:
    lab = make()
    follows_a(lab)
    lab.append("a", 3, (10, 3), [(configuration_entry(GROUP.with_learner("d", "d:1")), 11, 3)], commit=11)
    lab.tick()
    lab.append("d", 4, (11, 3), [])
    assert (lab.core.term, lab.member.seat.counters["out_of_role"]) == (3, 1)
    lab.tick(BEYOND)
    lab.append("d", 4, (11, 3), [])
    assert (lab.core.term, lab.core.leader) == (4, "d")


def asked(lab: Lab) -> set[str]:
    return {name for name, message in lab.out if message["type"] == "introduction_request"}


def lag(lab: Lab) -> None:
    """Lets it look around until nobody has led for a while."""
    for _ in range(4):
        lab.tick(Timing().election_min)


def test_who_hears_no_leader_asks_those_it_trusts_and_admits_whom_they_name(make: Callable[..., Lab]) -> None:
    lab = make(peers="p")
    lab.network.connected |= {"p", "z"}
    follows_a(lab)
    lab.tick()
    assert asked(lab) == set()
    lag(lab)
    assert asked(lab) == {"a", "c", "p"}
    assert not lab.member.admits("n")
    lab.receive("stranger", "introduction", members=["stranger", "n"])
    assert not any(map(lab.member.admits, ("n", "stranger")))
    lab.receive("c", "introduction", members=["b", "c", "n"])
    assert lab.member.admits("n")
    lab.append("n", 5, (10, 3), [])
    assert lab.core.leader == "n"
    newest = Configuration.of_voters("g", {name: f"{name}:1" for name in "bcn"})
    lab.append("n", 5, (10, 3), [(configuration_entry(newest), 11, 5)], commit=11)
    lab.tick()
    lab.tick(0.1)
    lab.receive("c", "introduction", members=["m"])
    assert lab.member.admits("n")
    assert not any(map(lab.member.admits, "ma")), "it knows who leads, and that a is none any more"


def test_an_introduction_is_given_to_members_only(make: Callable[..., Lab]) -> None:
    lab = make()
    lab.receive("c", "introduction_request")
    assert lab.sent("introduction", "c") == [{"type": "introduction", "members": ("a", "b", "c")}]
    lab.receive("stranger", "introduction_request")
    assert lab.sent("introduction", "stranger") == []


def state_of(lab: Lab) -> dict[str, Any]:
    core, journal = lab.core, lab.journal
    return {
        "term": core.term,
        "vote": core.voted_for,
        "leader": core.leader,
        "log": journal[:],
        "commit": core.commit_index,
        "applied": list(lab.machine.applied),
        "configuration": journal.configuration,
    }


def deliver(lab: Lab, sender: str, message: Message) -> None:
    lab.network.connected.add(sender)
    frame = frames.encode(message)
    lab.member.on_message(sender, frames.decode(frame[frames.LENGTH.size :]))


@pytest.mark.parametrize("role", ["follower", "leader", "lagging"])
def test_whatever_a_stranger_says_nothing_changes_and_it_is_told_nothing(make: Callable[..., Lab], role: str) -> None:
    lab = make()
    if role == "leader":
        lab.lead()
    else:
        follows_a(lab)
    if role == "lagging":
        lab.tick(BEYOND)
    forger = Forger(1, lab.core.term, lab.journal.last_index)
    before = state_of(lab)
    for count in range(1, 4001):
        deliver(lab, "stranger", forger.message())
        if count % 50 == 0:
            lab.tick(0.0)
    assert state_of(lab) == before
    assert [message for name, message in lab.out if name == "stranger"] == []
    assert lab.member.seat.counters["refused_strangers"] == 4000


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_said_under_a_member_s_name_the_member_stops_over_nothing_but_a_contradiction(
    make: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("raft.node.background.ThreadPoolExecutor", InlineExecutor)
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr("os.fdatasync", lambda _: None)
    lab = make(peers="acp")
    forger = Forger(seed, 3, 10)
    contradictions = 0
    for count in range(500):
        if count % 100 == 0:
            lab = make(peers="acp")
            if forger.random.random() < 0.5:
                lab.lead()
            else:
                follows_a(lab)
        forger.term, forger.last_index = lab.core.term, lab.journal.last_index
        if forger.random.random() < 0.1:
            lab.propose()
            lab.read()
        try:
            deliver(lab, forger.random.choice("aaccdp"), forger.message())
            if forger.random.random() < 0.3:
                lab.tick(forger.random.choice((0.0, 0.01, 0.2, BEYOND)))
        except (Contradiction, Diverged):
            contradictions += 1
            lab = make(peers="acp")
            follows_a(lab)
    assert contradictions < 100
