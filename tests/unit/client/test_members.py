"""Which member is asked: the leader, all in turn, and those that failed last."""

from __future__ import annotations

from guardian.client.members import FIRST_PENALTY_S, MAX_PENALTY_S, Members

NOW = 1000.0


def test_reads_go_round_all_members() -> None:
    members = Members(["a", "b", "c"], turn=1)
    assert [members.for_read(0)[0] for _ in range(4)] == ["b", "c", "a", "b"]
    assert sorted(members.for_read(0)) == ["a", "b", "c"]


def test_changes_go_to_the_leader_first_and_to_anybody_while_there_is_none() -> None:
    members = Members(["a", "b"])
    assert sorted(members.for_change(0)) == ["a", "b"]
    members.learn(["a", "b", "c"], "c")
    for _ in range(3):
        assert members.for_change(0)[0] == "c"
        assert len(members.for_change(0)) == 3


def test_a_member_that_failed_is_asked_last_for_a_while_longer_each_time() -> None:
    members = Members(["a", "b"])
    members.learn(["a", "b"], "a")
    members.failed("a", NOW)
    assert members.leader is None
    assert all(members.for_change(NOW + FIRST_PENALTY_S / 2)[-1] == "a" for _ in range(3))
    assert {members.for_read(NOW + FIRST_PENALTY_S)[0] for _ in range(2)} == {"a", "b"}
    for _ in range(20):
        members.failed("a", NOW)
    assert all(members.for_read(NOW + MAX_PENALTY_S - 1)[-1] == "a" for _ in range(3))
    assert {members.for_read(NOW + MAX_PENALTY_S)[0] for _ in range(2)} == {"a", "b"}
    members.failed("b", NOW)
    members.answered("b")
    assert {members.for_read(NOW + MAX_PENALTY_S)[0] for _ in range(2)} == {"a", "b"}


def test_members_that_left_are_forgotten_and_those_that_were_given_are_not() -> None:
    members = Members(["a"])
    members.learn(["b", "c"], None)
    assert members.endpoints == ("a", "b", "c")
    members.learn(["c"], "d")
    assert members.endpoints == ("a", "c", "d")
    members.failed("gone", 0)
    members.answered("gone")
