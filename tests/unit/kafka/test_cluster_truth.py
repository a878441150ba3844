"""Whom to believe of a cluster: against a history that the controllers wrote, and against a naive twin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import Undecided
from guardian.kafka.cluster_truth import (
    MAX_AGE_S,
    MAX_LAG_MS,
    ControllersClaim,
    EpochMemory,
    Watermarks,
    described,
    partitions_of,
    view_of_all,
    view_of_witness,
)
from guardian.model.cluster_state import BrokerAnswer, BrokerNode, PartitionState, Unknown
from guardian.model.topology import TopicPartition

pytestmark = pytest.mark.slow

T0 = TopicPartition("t", 0)
ID = b"t" * 16
BROKERS: tuple[int, ...] = (1, 2, 3)


def answer(state: PartitionState | None, alive: tuple[int, ...] = BROKERS, topic_id: bytes = ID) -> BrokerAnswer:
    nodes = {broker: BrokerNode(broker, f"b{broker}", 9092) for broker in alive}
    return BrokerAnswer("c", nodes, {T0: state} if state else {}, {"t": topic_id} if state else {})


def led_by(leader: int, epoch: int, isr: tuple[int, ...] = BROKERS) -> PartitionState:
    return PartitionState(leader, BROKERS, isr, epoch)


OLD = answer(led_by(1, 0))
NEW = answer(led_by(2, 1, (2, 3)), (2, 3))


@st.composite
def histories(draw: st.DrawFn) -> list[BrokerAnswer]:
    """What the controllers decided, one after the other: a leader epoch grows with each new leader."""
    found = [answer(led_by(1, 0))]
    state, alive = led_by(1, 0), BROKERS
    for _ in range(draw(st.integers(0, 6))):
        alive = tuple(sorted(draw(st.sets(st.sampled_from(BROKERS), min_size=1))))
        isr = tuple(broker for broker in state.isr if broker in alive) or state.isr
        leader = state.leader if state.leader in alive else next((b for b in isr if b in alive), -1)
        epoch = state.leader_epoch + (leader != state.leader)
        state = PartitionState(leader, BROKERS, tuple(sorted({*isr, *draw(st.sets(st.sampled_from(alive)))})), epoch)
        found.append(answer(state, alive))
    return found


@given(histories(), st.data())
def test_a_witness_is_believed_and_never_goes_back_behind_what_was_seen(
    history: list[BrokerAnswer], data: st.DataObject
) -> None:
    memory = EpochMemory()
    highest = -1
    for offset in data.draw(st.lists(st.integers(0, len(history) - 1), max_size=8)):
        said = history[offset].partitions[T0]
        view = view_of_witness(1, history[offset], memory)
        assert view.brokers == history[offset].brokers
        if said.leader_epoch < highest:
            assert isinstance(view.partitions[T0], Unknown)
        else:
            assert view.partitions[T0] == said
        highest = max(highest, said.leader_epoch)


def naive(answers: dict[int, BrokerAnswer], known: set[int], seen: int) -> tuple[object, object]:
    """Who lives, and the partition's state; None for what is unknown. Without anybody's lag."""
    named = {b for each in answers.values() for b in each.brokers} | {*BROKERS} | known
    if len(answers) < 2 or any(broker not in answers for broker in named):
        return None, None
    lists = {tuple(sorted(each.brokers)) for each in answers.values()}
    states = [each.partitions[T0] for each in answers.values()]
    top = max(state.leader_epoch for state in states)
    at_top = {(s.leader, s.replicas, s.isr) for s in states if s.leader_epoch == top}
    lives = lists.pop() if len(lists) == 1 else None
    if lives is not None and set(lives) != set(answers):
        lives = None  # one that answers is not counted among the living
    return lives, at_top.pop() if len(at_top) == 1 and top >= seen else None


@given(histories(), st.dictionaries(st.sampled_from((*BROKERS, 4)), st.integers(0, 6), min_size=1), st.sets(st.just(4)))
def test_without_controllers_the_answers_decide_as_the_naive_twin_says(
    history: list[BrokerAnswer], applied: dict[int, int], known: set[int]
) -> None:
    answers = {broker: history[min(offset, len(history) - 1)] for broker, offset in applied.items()}
    view = view_of_all(answers, answers.keys(), {}, EpochMemory(), known)
    lives, state = naive(answers, known, -1)
    if lives is None:
        with pytest.raises(Undecided):
            described(view)
    else:
        assert tuple(sorted(described(view).brokers)) == lives
    if state is None:
        assert isinstance(view.partitions[T0], Unknown)
        with pytest.raises(Undecided):
            partitions_of(view)
    else:
        found = partitions_of(view)[T0]
        assert (found.leader, found.replicas, found.isr) == state


@given(histories(), st.data())
def test_what_is_decided_is_the_newest_that_any_broker_knows(history: list[BrokerAnswer], data: st.DataObject) -> None:
    """The leader of the newest answer, whichever brokers are left behind and whoever does not answer."""
    applied = data.draw(st.fixed_dictionaries({broker: st.integers(0, len(history) - 1) for broker in BROKERS}))
    there = data.draw(st.sets(st.sampled_from(BROKERS), min_size=1))
    newest = history[max(applied.values())].partitions[T0]
    view = view_of_all({b: history[applied[b]] for b in there}, there, {}, EpochMemory())
    found = view.partitions[T0]
    assert isinstance(found, Unknown) or (found.leader, found.leader_epoch) == (newest.leader, newest.leader_epoch)


def test_the_highest_epoch_wins_among_all_that_may_know() -> None:
    view = view_of_all({1: OLD, 2: NEW, 3: NEW}, BROKERS, {}, EpochMemory())
    assert view.partitions[T0] == led_by(2, 1, (2, 3))
    with pytest.raises(Undecided, match="broker 1: no controller answers"):
        described(view)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({1: OLD}, "brokers 2, 3, which may know better, can't be reached"),
        ({1: OLD, 2: OLD}, "broker 3, which may know better, can't be reached"),
        ({1: answer(PartitionState(1, (1,), (1,), 0), (1,))}, "one broker alone can't tell whether others live"),
    ],
)
def test_who_may_know_better_and_is_silent_leaves_all_unknown(answers: dict[int, BrokerAnswer], why: str) -> None:
    view = view_of_all(answers, answers.keys(), {}, EpochMemory())
    assert all(isinstance(each, Unknown) for each in (*view.brokers.values(), *view.partitions.values()))
    for decided in (described, partitions_of):
        with pytest.raises(Undecided, match=why):
            decided(view)


def test_one_answer_is_enough_from_fresh_metadata_and_none_from_old() -> None:
    alone = answer(led_by(1, 0, (1,)), (1,))
    view = view_of_all({1: alone}, [1], {1: 300.0}, EpochMemory())
    assert described(view).brokers.keys() == {1}
    assert partitions_of(view) == {T0: led_by(1, 0, (1,))}

    view = view_of_all({1: alone}, [1], {1: MAX_LAG_MS + 1}, EpochMemory())
    with pytest.raises(Undecided, match="no broker that answers knows what the controllers decided last"):
        described(view)
    assert isinstance(view.partitions[T0], Unknown)


def test_a_lag_that_only_a_clock_behind_the_controllers_can_tell_makes_nobody_fresh() -> None:
    assert described(view_of_all({1: OLD}, [1], {1: 300.0}, EpochMemory())).brokers.keys() == set(BROKERS)
    with pytest.raises(Undecided, match="brokers 2, 3, which may know better, can't be reached"):
        described(view_of_all({1: OLD}, [1], {1: -60_000.0}, EpochMemory()))


def test_a_broker_whose_lag_has_grown_is_not_counted() -> None:
    view = view_of_all({1: OLD, 2: NEW, 3: NEW}, BROKERS, {1: 60_000.0, 2: 400.0, 3: 450.0}, EpochMemory())
    assert described(view).brokers.keys() == {2, 3}
    assert partitions_of(view) == {T0: led_by(2, 1, (2, 3))}


def test_same_epoch_and_other_in_sync_replicas_is_unknown() -> None:
    view = view_of_all({1: OLD, 2: OLD, 3: answer(led_by(1, 0, (1, 2)))}, BROKERS, {}, EpochMemory())
    assert view.partitions[T0] == Unknown("no controller answers, and brokers differ about it at leader epoch 0")


def test_a_topic_that_was_made_anew_begins_again_and_a_deleted_one_is_forgotten() -> None:
    memory = EpochMemory()
    view_of_witness(1, answer(led_by(1, 9)), memory)
    assert isinstance(view_of_witness(1, answer(led_by(1, 0)), memory).partitions[T0], Unknown)
    assert view_of_witness(1, answer(led_by(1, 0), topic_id=b"u" * 16), memory).partitions[T0] == led_by(1, 0)
    memory.keep_only([b"u" * 16])
    assert (memory.highest(ID, 0), memory.highest(b"u" * 16, 0)) == (-1, 0)


def test_brokers_that_differ_about_a_topic_leave_it_unknown() -> None:
    view = view_of_all({1: OLD, 2: OLD, 3: answer(None)}, BROKERS, {}, EpochMemory())
    assert view.partitions[T0] == Unknown("no controller answers, and brokers differ about whether it exists")


def test_a_controller_that_was_replaced_or_stands_alone_is_not_believed() -> None:
    marks = Watermarks()
    assert marks.why_not(ControllersClaim(3, 100, is_backed=True)) == ""
    marks.learn(ControllersClaim(3, 100, is_backed=True), 10.0)
    assert "epoch 3 was seen before" in marks.why_not(ControllersClaim(2, 120, is_backed=True))
    marks.learn(ControllersClaim(4, 120, is_backed=True), 10.2)
    assert "was replaced" in marks.why_not(ControllersClaim(5, 119, is_backed=True)), "it has not caught up"
    assert "no majority" in marks.why_not(ControllersClaim(4, 120, is_backed=False))
    assert marks.why_not(ControllersClaim(5, 120, is_backed=True)) == ""


def test_an_answer_of_the_same_controller_that_another_has_overtaken_is_no_other_controller() -> None:
    marks = Watermarks()
    marks.learn(ControllersClaim(3, 100, is_backed=True), 10.0)
    late = ControllersClaim(3, 99, is_backed=True)
    assert marks.why_not(late) == ""
    marks.learn(late, 10.1)
    assert marks.least(10.1, strictly=True) == 99


def test_a_witness_has_applied_what_was_committed_two_seconds_ago_and_no_less_than_the_last_one() -> None:
    marks = Watermarks()
    marks.learn(ControllersClaim(1, 100, is_backed=True), 10.0)
    assert marks.least(10.1) == 99  # nothing older is known
    marks.learn(ControllersClaim(1, 140, is_backed=True), 11.0)
    assert (marks.least(11.1), marks.least(11.1, strictly=True)) == (99, 139)
    assert marks.least(10.0 + MAX_AGE_S + 0.1) == 139
    assert marks.least(60.0) == 139
    marks.applied = 150
    assert marks.least(11.1) == 150
