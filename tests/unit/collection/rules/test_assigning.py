from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from guardian.collection.rules.assigning import assign
from guardian.errors import Conflict, NotFound
from guardian.model.collection import BrokerKey, CollectionAssignment

DELAY_MS = 30_000
BROKERS = frozenset(BrokerKey("live", broker) for broker in range(9))


def settled(*members: str, brokers: frozenset[BrokerKey] = BROKERS) -> CollectionAssignment:
    now = CollectionAssignment()
    for member in members:
        now = now.joined(member, f"{member}-1")
    return assign(now, brokers, members, 1, DELAY_MS)


def share(now: CollectionAssignment, member: str, incarnation: str = "1") -> set[int]:
    return {key.broker for key in now.share_of(member, f"{member}-{incarnation}")}


def test_brokers_are_shared_out_evenly() -> None:
    now = settled("a", "b", "c")
    assert [len(share(now, member)) for member in "abc"] == [3, 3, 3]
    assert set.union(*(share(now, member) for member in "abc")) == set(range(9))
    assert assign(now, BROKERS, "abc", 2, DELAY_MS) is now


def test_a_restart_within_the_delay_moves_nothing() -> None:
    before = settled("a", "b", "c")
    gone = assign(before, BROKERS, "bc", 1000, DELAY_MS)
    assert gone.seats["a"].gone_since_ms == 1000
    assert assign(gone, BROKERS, "bc", 30_999, DELAY_MS) is gone
    back = assign(gone.joined("a", "a-2"), BROKERS, "abc", 31_000, DELAY_MS)
    assert (back.owners, back.moves) == (before.owners, {})
    assert share(back, "a", "2") == share(before, "a")
    assert share(back, "a", "1") == set()


def test_a_member_that_hears_that_it_is_missed_reads_nothing_until_the_leader_has_seen_it_again() -> None:
    # It may hear of it at the very end of the delay, and would then go on for as long again.
    before = settled("a", "b", "c")
    missed = assign(before, BROKERS, "bc", 1000, DELAY_MS)
    assert share(missed, "a") == set()
    assert share(assign(missed, BROKERS, "abc", 30_999, DELAY_MS), "a") == share(before, "a")


def test_a_death_moves_the_dead_ones_share_and_nothing_else() -> None:
    before = settled("a", "b", "c")
    gone = assign(before, BROKERS, "bc", 1000, DELAY_MS)
    after = assign(gone, BROKERS, "bc", 31_000, DELAY_MS)
    assert share(before, "b") < share(after, "b")
    assert share(before, "c") < share(after, "c")
    assert share(after, "b") | share(after, "c") == set(range(9))
    assert abs(len(share(after, "b")) - len(share(after, "c"))) == 1


def test_a_new_member_gets_its_brokers_once_their_owners_have_let_go() -> None:
    before = settled("a", "b")
    joined = assign(before.joined("c", "c-1"), BROKERS, "abc", 5, DELAY_MS)
    assert share(joined, "c") == set()
    assert len(joined.moves) == 3
    held = share(joined, "a") | share(joined, "b")
    assert len(held) == 6
    assert assign(joined, BROKERS, "abc", 6, DELAY_MS) is joined  # nothing goes on until they say so
    after = joined
    for member in "ab":
        after = assign(after.acknowledged(member, f"{member}-1", joined.generation), BROKERS, "abc", 7, DELAY_MS)
    assert not after.moves
    assert [len(share(after, member)) for member in "abc"] == [3, 3, 3]
    assert share(after, "a") | share(after, "b") == held


def test_a_move_to_a_member_that_goes_away_is_taken_back() -> None:
    joined = assign(settled("a", "b").joined("c", "c-1"), BROKERS, "abc", 5, DELAY_MS)
    after = assign(joined, BROKERS, "ab", 6, DELAY_MS)
    assert (after.moves, after.owners) == ({}, settled("a", "b").owners)


def test_a_second_process_of_a_name_fences_the_first() -> None:
    before = settled("a", "b")
    after = before.joined("a", "a-2")
    assert share(after, "a", "1") == set()
    assert share(after, "a", "2") == share(before, "a")
    with pytest.raises(Conflict, match="another process joined the collectors as 'a'"):
        after.acknowledged("a", "a-1", after.generation)
    with pytest.raises(NotFound, match="member is 'x'"):
        after.acknowledged("x", "x-1", 1)


def test_joining_or_acknowledging_twice_changes_nothing() -> None:
    now = settled("a", "b")
    assert now.joined("a", "a-1") is now
    acked = now.acknowledged("a", "a-1", now.generation)
    assert acked.acknowledged("a", "a-1", now.generation) is acked


def test_a_broker_that_is_removed_is_nobodys_and_a_new_one_goes_to_whoever_has_least() -> None:
    now = settled("a", "b", brokers=BROKERS - {BrokerKey("live", 0)})
    gone = BrokerKey("live", 1)
    brokers = BROKERS - {BrokerKey("live", 0), gone}
    fewer = assign(now, brokers, "ab", 2, DELAY_MS)
    assert gone not in fewer.share_of("a", "a-1") | fewer.share_of("b", "b-1")
    back = assign(fewer, BROKERS, "ab", 2, DELAY_MS)
    assert gone in back.moves, "its owner has not heard that it was gone"
    owner = fewer.owners[gone]
    fewer = assign(fewer.acknowledged(owner, f"{owner}-1", fewer.generation), brokers, "ab", 2, DELAY_MS)
    assert gone not in fewer.owners
    more = assign(fewer, BROKERS, "ab", 3, DELAY_MS)
    assert more.owners.keys() == BROKERS
    assert not more.moves


@pytest.mark.parametrize("now_ms", [0, 500])
def test_a_leader_whose_clock_is_behind_begins_the_delay_anew(now_ms: int) -> None:
    gone = assign(settled("a", "b"), BROKERS, "b", 40_000, DELAY_MS)
    again = assign(gone, BROKERS, "b", now_ms, DELAY_MS)
    assert share(again, "a") == share(gone, "a")
    assert again.seats["a"].gone_since_ms == max(1, now_ms)


@given(st.sets(st.sampled_from(sorted(BROKERS))), st.permutations(["a", "b", "c", "d"]), st.integers(0, 4))
def test_shares_differ_by_one_at_most_whoever_comes_first(
    brokers: set[BrokerKey], order: list[str], count: int
) -> None:
    now = CollectionAssignment()
    for member in order[:count]:
        now = assign(now.joined(member, "1"), brokers, order[:count], 1, DELAY_MS)
        for owner in now.seats:
            now = assign(now.acknowledged(owner, "1", now.generation), brokers, order[:count], 1, DELAY_MS)
    sizes = [len(now.share_of(member, "1")) for member in order[:count]]
    assert sum(sizes) == (len(brokers) if count else 0)
    assert max(sizes, default=0) - min(sizes, default=0) <= 1


class Known(NamedTuple):
    """An assignment, and when that was certainly the group's."""

    assignment: CollectionAssignment
    at_ms: int


class CollectorsAndLeader(RuleBasedStateMachine):
    """Processes that start, die, hang and hear late; a leader that ticks. Each acts on what it knew when it asked."""

    @initialize()
    def begin(self) -> None:
        self.now_ms = 1
        self.assignment = CollectionAssignment()
        self.processes: dict[str, int] = {}  # member -> its incarnation, where one runs
        self.started = 0
        self.heard: dict[tuple[str, int], Known] = {}  # what each running process knows
        self.asked: dict[tuple[str, int], Known] = {}  # what it acts on
        self.brokers = set(BROKERS)

    @rule(member=st.sampled_from("abc"))
    def start(self, member: str) -> None:
        if member not in self.processes:
            self.started += 1
            self.processes[member] = self.started
            self.assignment = self.assignment.joined(member, str(self.started))
            self.hear(member)
            self.ask(member)

    @rule(member=st.sampled_from("abc"))
    def kill(self, member: str) -> None:
        if member in self.processes:
            process = member, self.processes.pop(member)
            del self.heard[process], self.asked[process]

    @rule(member=st.sampled_from("abc"))
    def hear(self, member: str) -> None:
        if member in self.processes:
            self.heard[member, self.processes[member]] = Known(self.assignment, self.now_ms)

    @rule(member=st.sampled_from("abc"))
    def ask(self, member: str) -> None:
        if member in self.processes:
            process = member, self.processes[member]
            self.asked[process] = self.heard[process]

    @rule(member=st.sampled_from("abc"))
    def acknowledge(self, member: str) -> None:
        if member in self.processes:
            incarnation = self.processes[member]
            if member not in self.assignment.seats:
                self.assignment = self.assignment.joined(member, str(incarnation))
            else:
                acted_on = self.asked[member, incarnation].assignment.generation
                self.assignment = self.assignment.acknowledged(member, str(incarnation), acted_on)

    @rule(member=st.sampled_from("abc"))
    def hear_and_acknowledge(self, member: str) -> None:
        self.hear(member)
        self.ask(member)
        self.acknowledge(member)

    @rule(broker=st.sampled_from(sorted(BROKERS)))
    def add_or_remove(self, broker: BrokerKey) -> None:
        self.brokers ^= {broker}

    @rule(passed_ms=st.sampled_from([100, 10_000, 29_000]), cut_off=st.sets(st.sampled_from("abc"), max_size=1))
    def tick(self, passed_ms: int, cut_off: set[str]) -> None:
        self.now_ms += passed_ms
        live = set(self.processes) - cut_off
        for member in live:
            # Whoever the leader hears from hears from the leader; how much later it asks is its own affair.
            self.hear(member)
        self.assignment = assign(self.assignment, self.brokers, live, self.now_ms, DELAY_MS)

    @invariant()
    def nobody_is_read_by_two(self) -> None:
        readers: dict[BrokerKey, set[tuple[str, int]]] = {}
        for process, (assignment, at_ms) in self.asked.items():
            if self.now_ms - at_ms < DELAY_MS:
                for key in assignment.share_of(process[0], str(process[1])):
                    readers.setdefault(key, set()).add(process)
        assert all(len(by) == 1 for by in readers.values()), readers

    @invariant()
    def every_broker_has_an_owner_once_somebody_is_there(self) -> None:
        owners = self.assignment.owners
        assert all(owner in self.assignment.seats for owner in owners.values())
        assert set(self.assignment.moves) <= set(owners)


TestCollectorsAndLeader = pytest.mark.slow(CollectorsAndLeader.TestCase)
# As many as it takes to find a hand-over without the owner's word, or before the delay is over.
TestCollectorsAndLeader.settings = settings(max_examples=600, stateful_step_count=30)
