from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.reporter.assignment import BrokerKey, owner, share

BROKERS = [BrokerKey(cluster, broker) for cluster in ("live", "bulk") for broker in range(150)]
MEMBERS = ["m1", "m2", "m3"]


@given(st.sets(st.text(min_size=1, max_size=5), min_size=1, max_size=6))
def test_every_broker_is_collected_by_exactly_one_live_member(members: set[str]) -> None:
    shares = [share(BROKERS, members, member) for member in members]
    assert sorted(broker for part in shares for broker in part) == sorted(BROKERS)


def test_a_members_death_moves_only_its_own_share() -> None:
    before = {broker: owner(broker, MEMBERS) for broker in BROKERS}
    after = {broker: owner(broker, ["m1", "m3"]) for broker in BROKERS}
    assert {before[broker] for broker in BROKERS if before[broker] != after[broker]} == {"m2"}
    assert all(after[broker] in ("m1", "m3") for broker in BROKERS)


def test_members_agree_whatever_the_order_in_which_they_know_each_other() -> None:
    assert share(BROKERS, MEMBERS, "m2") == share(reversed(BROKERS), MEMBERS[::-1], "m2")


def test_shares_are_about_equal() -> None:
    sizes = [len(share(BROKERS, MEMBERS, member)) for member in MEMBERS]
    assert min(sizes) > 70
    assert max(sizes) < 130


def test_a_member_that_is_not_live_collects_nothing() -> None:
    assert share(BROKERS, ["m1"], "m2") == []
    assert share(BROKERS, [], "m2") == []
