"""Which round confirms which read, and how old a state may be."""

from __future__ import annotations

from typing import Any

from raft.configuration import Configuration
from raft.rules.reads import MAX_EMPTY_BATCHES, Asker, Freshness, Read, ReadRequests, ReadRounds

THREE = Configuration.of_voters("g", {name: f"{name}:1" for name in "abc"})


def read(deadline: float = 100.0) -> Read:
    return Read(deadline, lambda _: None)


def test_a_round_needs_a_majority_of_the_voters() -> None:
    rounds = ReadRounds()
    number = rounds.begin([Asker("a", 1)], commit_index=7)
    assert rounds.confirmed("a", THREE) == []
    rounds.answered("stranger", number)
    assert rounds.confirmed("a", THREE) == []
    rounds.answered("c", number)
    assert rounds.confirmed("a", THREE) == [(7, [Asker("a", 1)])]
    assert rounds.confirmed("a", THREE) == []


def test_an_answer_to_an_earlier_round_confirms_nothing_later() -> None:
    rounds = ReadRounds()
    first = rounds.begin([Asker("a", 1)], commit_index=7)
    rounds.begin([Asker("a", 2)], commit_index=8)
    rounds.answered("b", first)
    assert rounds.confirmed("a", THREE) == [(7, [Asker("a", 1)])]
    assert len(rounds) == 1


def test_an_answer_to_a_later_round_confirms_the_earlier_ones() -> None:
    rounds = ReadRounds()
    rounds.begin([Asker("a", 1)], commit_index=7)
    rounds.answered("b", rounds.begin([Asker("b", 1)], commit_index=9))
    assert rounds.confirmed("a", THREE) == [(7, [Asker("a", 1)]), (9, [Asker("b", 1)])]


def test_an_answer_to_a_round_that_never_was_is_ignored() -> None:
    rounds = ReadRounds()
    rounds.begin([Asker("a", 1)], commit_index=7)
    rounds.answered("b", 99)
    assert rounds.confirmed("a", THREE) == []


def test_a_sole_voter_confirms_by_itself() -> None:
    rounds = ReadRounds()
    rounds.begin([Asker("a", 1)], commit_index=7)
    assert rounds.confirmed("a", Configuration.of_voters("g", {"a": "a:1"})) == [(7, [Asker("a", 1)])]


def test_two_of_three_are_needed_whoever_the_leader_is_to_itself() -> None:
    """A leader that is no voter (any more) does not count itself."""
    rounds = ReadRounds()
    number = rounds.begin([Asker("x", 1)], commit_index=7)
    rounds.answered("a", number)
    assert rounds.confirmed("x", THREE) == []
    rounds.answered("b", number)
    assert rounds.confirmed("x", THREE) == [(7, [Asker("x", 1)])]


def test_reads_wait_until_their_index_is_applied() -> None:
    requests = ReadRequests()
    first, second = read(), read()
    requests.add([first])
    batch = requests.ask(now=1.0)
    requests.add([second])
    assert batch.reads == (first,)
    assert requests.ready(applied_index=100) == []
    requests.answered(batch.request_id, 7)
    assert requests.ready(applied_index=6) == []
    assert [done.reads for done in requests.ready(applied_index=7)] == [(first,)]
    assert requests.ask(now=2.0).reads == (second,)


def test_a_refused_or_lost_request_is_asked_again_in_order() -> None:
    requests = ReadRequests()
    reads = [read(), read(), read()]
    requests.add(reads[:1])
    refused = requests.ask(now=1.0)
    requests.add(reads[1:])
    requests.refused(refused.request_id)
    again = requests.ask(now=2.0)
    assert again.reads == tuple(reads)
    assert not requests.lost(asked_before=2.0)
    assert requests.lost(asked_before=2.1)
    requests.answered(again.request_id, 7)  # too late: it was given up
    assert requests.ready(applied_index=100) == []
    assert requests.ask(now=3.0).reads == tuple(reads)


def test_reads_expire_wherever_they_are() -> None:
    requests = ReadRequests()
    stages = [(read(5.0), read(50.0)) for _ in range(3)]
    requests.add([*stages[0]])
    confirmed = requests.ask(now=1.0)
    requests.answered(confirmed.request_id, 7)
    requests.add([*stages[1]])
    asked = requests.ask(now=1.0)
    requests.add([*stages[2]])
    assert sorted(map(id, requests.expired(now=5.0))) == sorted(id(early) for early, _ in stages)
    requests.answered(asked.request_id, 7)
    left: list[Any] = [one for batch in requests.ready(applied_index=7) for one in batch.reads]
    assert [*left, *requests.ask(now=6.0).reads] == [late for _, late in stages]


def test_freshness_counts_from_when_the_newest_confirmed_read_was_asked_for() -> None:
    freshness = Freshness()
    assert freshness.staleness_s(now=10.0) is None
    freshness.confirmed(asked_at=9.0)
    freshness.confirmed(asked_at=8.0)
    assert freshness.staleness_s(now=10.0) == 1.0


def test_a_member_that_can_t_apply_keeps_its_readers_and_few_empty_questions() -> None:
    requests = ReadRequests()
    for number in range(1000):
        requests.answered(requests.ask(float(number)).request_id, 10)
    read = Read(5000.0, lambda _: None)
    requests.add([read])
    requests.answered(requests.ask(1000.0).request_id, 10)
    requests.expired(1001.0)
    ready = requests.ready(10)
    assert len(ready) == MAX_EMPTY_BATCHES + 1
    assert ready[-1].reads == (read,)
