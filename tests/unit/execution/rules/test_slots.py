"""What fits beside what is under way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.errors import InvalidInput
from guardian.execution.rules.slots import ExecutionLimits, Slots, line_shares
from guardian.model.topology import TopicPartition
from guardian.throttle.rules.throttling import Copy, crossed

IDCS = {1: "shanghai", 2: "shanghai", 3: "suzhou", 4: "suzhou"}
COPY = Copy(TopicPartition("t", 0), 0.0, leader=1, sources=(1, 2), destinations=(3,), size_bytes=100)
INSIDE = Copy(
    TopicPartition("t", 1),
    0.0,
    1,
    (1, 2),
    log_dir_brokers=(2,),
    log_dirs=((2, "/b2/d0"), (2, "/b2/d1")),
    size_bytes=100,
)


def taken(slots: Slots, copy: Copy | None) -> int:
    """How many of it fit."""
    count = 0
    while slots.fit(copy) and count < 1000:
        slots.take(copy)
        count += 1
    return count


@pytest.mark.parametrize(
    ("limits", "copy", "count", "full"),
    [
        (ExecutionLimits(per_broker_in=3), COPY, 3, "into broker 3"),
        (ExecutionLimits(per_broker_out=2), COPY, 2, "out of broker 1"),
        (ExecutionLimits(per_cluster=4), COPY, 4, "the cluster"),
        (ExecutionLimits(per_line=2), COPY, 2, "the line from shanghai to suzhou"),
        (ExecutionLimits(per_disk=2), INSIDE, 2, "/b2/d0 of broker 2"),
        (ExecutionLimits(per_broker_out=1), INSIDE, 1, "out of broker 2"),
        (ExecutionLimits(per_cluster=6), None, 6, "the cluster"),
    ],
)
def test_each_place_has_its_limit_and_says_so(
    limits: ExecutionLimits, copy: Copy | None, count: int, full: str
) -> None:
    slots = Slots(limits, IDCS)
    assert taken(slots, copy) == count
    assert slots.why_full(copy) == full


def test_the_lists_of_a_topic_s_throttled_replicas_stay_within_a_string_of_kafka_s_protocol() -> None:
    """Entries as Kafka's documentation has them: partition:broker, separated by commas."""
    slots = Slots(ExecutionLimits(per_broker_in=10**6, per_broker_out=10**6, per_cluster=10**6))
    sources, destinations = (101, 102, 103), (104,)
    copies = [Copy(TopicPartition("t", 1000 + n), 0.0, 101, sources, destinations) for n in range(5000)]
    fitting = 0
    while slots.fit(copies[fitting]):
        slots.take(copies[fitting])
        fitting += 1
    listed = ",".join(f"{copy.partition.partition}:{broker}" for copy in copies[:fitting] for broker in sources)
    assert 29_000 < len(listed) < 32_767
    assert slots.why_full(copies[fitting]) == "leader.replication.throttled.replicas of topic t"
    assert slots.fit(replace(copies[0], partition=TopicPartition("u", 0)))


def test_a_full_broker_keeps_nobody_else_out() -> None:
    slots = Slots(ExecutionLimits(per_broker_in=1), IDCS)
    slots.take(COPY)
    assert not slots.fit(COPY)
    assert slots.fit(replace(COPY, destinations=(4,)))


def test_small_moves_share_a_slot_and_large_ones_take_no_more_than_one() -> None:
    limits = ExecutionLimits(per_broker_in=2, slot_bytes=400)
    assert taken(Slots(limits), COPY) == 8
    assert taken(Slots(limits), replace(COPY, size_bytes=1)) == taken(Slots(limits), replace(COPY, size_bytes=25)) == 32
    assert taken(Slots(limits), replace(COPY, size_bytes=10_000)) == 2
    assert taken(Slots(limits), replace(COPY, size_bytes=0)) == 2  # not known


def test_a_line_is_crossed_from_the_leaders_idc_to_that_of_each_destination() -> None:
    assert crossed(COPY, IDCS) == (("shanghai", "suzhou"),)
    assert crossed(replace(COPY, destinations=(3, 4)), IDCS) == (("shanghai", "suzhou"), ("shanghai", "suzhou"))
    assert crossed(replace(COPY, destinations=(2,)), IDCS) == ()
    assert crossed(replace(COPY, leader=3, destinations=(1, 4)), IDCS) == (("suzhou", "shanghai"),)
    assert crossed(COPY, {1: "shanghai"}) == ()


@pytest.mark.parametrize("field", ["per_broker_in", "per_broker_out", "per_cluster", "per_disk", "per_line"])
def test_limits_below_one_are_refused(field: str) -> None:
    with pytest.raises(InvalidInput, match=f"{field} is 0: use at least 1"):
        ExecutionLimits(**{field: 0})


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(InvalidInput, match="slot_bytes is -1"):
        ExecutionLimits(slot_bytes=-1)


def test_what_other_tickets_have_under_way_takes_its_slots() -> None:
    limits = ExecutionLimits(per_cluster=4, per_line=3)
    assert taken(Slots(limits, IDCS, [COPY, COPY, None]), COPY) == 1
    assert Slots(limits, IDCS, [COPY] * 3).why_full(COPY) == "the line from shanghai to suzhou"
    assert taken(Slots(limits, IDCS, [COPY] * 9), INSIDE) == 0, "more than the limit leaves nothing, and no less"


def test_a_line_is_shared_with_the_tickets_that_cross_it_now() -> None:
    there, back = ("shanghai", "suzhou"), ("suzhou", "shanghai")
    under_way: dict[str, list[Copy | None]] = {"t-1": [COPY, COPY], "t-2": [COPY, None], "t-3": [INSIDE], "t-4": []}
    shares = [line_shares({there: 6.0, back: 5.0}, ticket, under_way, IDCS) for ticket in under_way]
    assert shares == [
        {there: 3.0, back: 5.0},
        {there: 3.0, back: 5.0},
        {there: 2.0, back: 5.0},
        {there: 2.0, back: 5.0},
    ]
    assert line_shares({there: 6.0}, "t-1", {}, IDCS) == {there: 6.0}
