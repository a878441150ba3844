"""Random stories: what no order of faults may do to a partition, whatever the paces."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.model.faults.controller import NO_LEADER, Record, Settings, changed, fence, forget
from guardian.model.faults.event import Act, CleanStop, Cut, Event, Heal, Kill, Pause, PowerLoss, Resume, Start, Story
from guardian.model.faults.outcome import Lost, outcome
from guardian.model.faults.stories import SETTLES_S
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning

BROKERS, CONTROLLER = (1, 2, 3), 101
NODES = (*BROKERS, CONTROLLER)
QUICK = Times(session_s=3.0, heartbeat_s=0.5, replica_lag_s=6.0, request_timeout_s=6.0, boot_s=(1.0, 4.0))
FULL = Beginning(Record(BROKERS, 1, BROKERS))

sides = st.sampled_from(NODES).flatmap(
    lambda node: st.tuples(
        st.just(frozenset({node})), st.sets(st.sampled_from([n for n in NODES if n != node]), min_size=1)
    )
)
cuts = st.builds(lambda pair, one_way: Cut(pair[0], frozenset(pair[1]), one_way), sides, st.booleans())
brokers = st.sampled_from(BROKERS)
soft = st.one_of(
    cuts,
    st.just(Heal()),
    *(st.builds(kind, brokers) for kind in (Kill, CleanStop, Pause, Resume, Start)),
)


def story(acts: list[tuple[int, Act]]) -> Story:
    """Return these acts in the order of their times, and an end at which all is well again."""
    events = [Event(float(at), act) for at, act in sorted(acts, key=lambda each: each[0])]
    last = max((event.at_s for event in events), default=0.0) + 1
    ends: list[Act] = [Heal(), *(each(broker) for broker in BROKERS for each in (Resume, Start))]
    return Story("random", (*events, *(Event(last, act) for act in ends)), last + SETTLES_S)


stories = st.lists(st.tuples(st.integers(0, 30), soft), min_size=1, max_size=6).map(story)
topics = st.builds(Settings, min_isr=st.sampled_from([1, 2]), unclean=st.just(False), elr=st.booleans())


@settings(max_examples=25, deadline=None)
@given(stories, topics)
def test_acks_all_loses_nothing_while_power_lasts(told: Story, topic: Settings) -> None:
    found = outcome(FULL, topic, told, acks_all=True, times=QUICK, controllers=(CONTROLLER,))
    assert found.lost is Lost.NONE


@settings(max_examples=25, deadline=None)
@given(stories, topics, st.booleans(), st.booleans())
def test_all_that_comes_back_leads_again(told: Story, topic: Settings, acks_all: bool, unclean: bool) -> None:
    mixed = Settings(topic.min_isr, unclean, topic.elr)
    found = outcome(FULL, mixed, told, acks_all=acks_all, times=QUICK, controllers=(CONTROLLER,))
    assert found.leaders
    assert 0 <= found.silent_s.least_s <= found.silent_s.most_s < told.until_s
    assert 0 <= found.lost_s.least_s <= found.lost_s.most_s
    assert found.is_safe == (found.lost_s.most_s == 0)


@settings(max_examples=25, deadline=None)
@given(st.sets(brokers, min_size=1), st.permutations(BROKERS), topics, st.booleans())
def test_power_takes_what_no_living_copy_has(dark: set[int], order: list[int], topic: Settings, acks_all: bool) -> None:
    acts: list[tuple[int, Act]] = [(0, PowerLoss(broker)) for broker in dark]
    starts: list[tuple[int, Act]] = [(2 + 5 * at, Start(each)) for at, each in enumerate(order) if each in dark]
    found = outcome(FULL, topic, story([*acts, *starts]), acks_all=acks_all, times=QUICK, controllers=(CONTROLLER,))
    if dark == set(BROKERS):
        assert found.lost is Lost.UNFLUSHED
    elif topic.elr:
        assert found.lost is Lost.NONE or not acks_all


@given(st.lists(st.tuples(st.sampled_from(["fence", "back", "forget", "join"]), brokers), max_size=20), topics)
def test_controller_keeps_its_promises(acts: list[tuple[str, int]], topic: Settings) -> None:
    record, living = FULL.record, set(BROKERS)
    for act, broker in acts:
        before = record
        if act == "fence":
            living.discard(broker)
            record = fence(record, broker, topic, living.__contains__)
        elif act == "forget" and broker not in living:
            record = forget(record, broker, topic, living.__contains__)
        elif act == "back":
            living.add(broker)
            record = changed(record, record.isr, topic, living.__contains__)
        elif act == "join" and record.leader != NO_LEADER and broker in living:
            isr = tuple(each for each in BROKERS if each in {*record.isr, broker})
            record = changed(record, isr, topic, living.__contains__)
        assert record.epoch >= before.epoch
        assert not set(record.isr) & set(record.elr)
        if record.leader != NO_LEADER:
            assert record.leader in record.isr
            assert record.leader in living
            assert not record.awaited()
        else:
            assert record.awaited()
            assert not living & set(record.awaited())
        if not topic.elr:
            assert record.isr
            assert not record.elr
