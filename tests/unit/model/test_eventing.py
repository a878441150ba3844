"""What is told of a change of a ticket, of throttles and of rates."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from guardian.model.event import EventKind, ThrottleChange
from guardian.model.eventing import (
    MAX_CHANGES,
    MAX_EVENTS,
    changes_of,
    of_protection,
    of_throttles,
    of_ticket,
    standing,
)
from guardian.model.execution import AdaptedRate, Execution
from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import DiskKey, Lever, LeverKind, Protection
from guardian.model.ticket import Ticket, TicketState, TicketTransition

CREATED = TicketTransition(TicketState.PENDING, 5, "ann", "spread the disks")
TICKET = Ticket(
    "t-1", "live", "balance", TicketState.PENDING, "ann", "h", 1, 5, 5, (CREATED,), moves=3, bytes_to_copy=9
)
RATE_KEY = "leader.replication.throttled.rate"


def moved(ticket: Ticket, state: TicketState, actor: str = "ben", reason: str = "fine") -> Ticket:
    return replace(ticket, state=state, history=(*ticket.history, TicketTransition(state, 7, actor, reason)))


def rate_intent(broker: int, value: str) -> OwnedSetting:
    return OwnedSetting("BROKER", str(broker), RATE_KEY, (value,), None)


def test_a_new_ticket_is_told_with_its_author_and_reason() -> None:
    event = of_ticket(77, None, TICKET)
    assert event is not None
    assert (event.id, event.at_ms, event.kind) == (77, 5, EventKind.TICKET_CREATED)
    assert (event.from_state, event.to_state, event.moves, event.bytes_to_copy) == (None, TicketState.PENDING, 3, 9)
    assert event.summary == ("ticket t-1 (balance of cluster live) was created as PENDING by ann: spread the disks")


def test_a_transition_is_told_with_who_and_why() -> None:
    event = of_ticket(78, TICKET, moved(TICKET, TicketState.APPROVED))
    assert event is not None
    assert (event.kind, event.actor, event.reason, event.author) == (EventKind.TICKET_MOVED, "ben", "fine", "ann")
    assert event.summary == "ticket t-1 (balance of cluster live) went from PENDING to APPROVED by ben: fine"


def test_another_throttle_of_a_ticket_is_an_amendment_and_nothing_is_nothing() -> None:
    event = of_ticket(79, TICKET, moved(replace(TICKET, throttle=2), TicketState.PENDING, reason="slower"))
    assert event is not None
    assert event.kind is EventKind.TICKET_AMENDED
    assert event.summary == "ticket t-1 (balance of cluster live), PENDING, was amended by ben: slower"
    assert of_ticket(80, TICKET, TICKET) is None


def test_a_state_that_lasts_is_told_as_it_was_entered_whatever_was_amended_since() -> None:
    paused = replace(moved(TICKET, TicketState.PAUSED, reason="a storm"), throttle=2)
    slower = TicketTransition(TicketState.PAUSED, 99, "ann", "slower")
    event = standing(replace(paused, history=(*paused.history, slower)))
    assert event is not None
    assert (event.at_ms, event.to_state) == (7, TicketState.PAUSED)
    assert event.summary == "ticket t-1 (balance of cluster live) is PAUSED: a storm"


def test_throttles_are_told_by_key_with_what_they_were() -> None:
    before = Execution("t-1", (), (rate_intent(1, "10"), rate_intent(2, "10")))
    after = Execution("t-1", (), (rate_intent(1, "10"), rate_intent(1, "20"), rate_intent(3, "30")))
    [event] = of_throttles(81, 9, TICKET, before, after)
    assert event.changes == (
        ThrottleChange("broker 1", RATE_KEY, "10", "20"),
        ThrottleChange("broker 2", RATE_KEY, "10", "", "restored to what stood there before"),
        ThrottleChange("broker 3", RATE_KEY, "", "30"),
    )
    assert event.summary == (
        f"ticket t-1 (balance of cluster live): {RATE_KEY} of broker 1 went from 10 B/s to 20 B/s, and 2 more"
    )
    assert of_throttles(82, 9, TICKET, after, replace(after, note="another tick", revision=8)) == []


def test_rates_are_told_with_why_they_changed() -> None:
    slow = AdaptedRate(5, broker=1, why="fell to 5 B/s: disk d1 is 96% busy")
    line = AdaptedRate(7, line=("east", "west"), why="begins")
    [event] = of_throttles(
        83, 9, TICKET, Execution("t-1", (), rates=(AdaptedRate(9, broker=1),)), Execution("t-1", (), rates=(slow, line))
    )
    assert event.changes == (
        ThrottleChange("broker 1", "rate", "9", "5", slow.why),
        ThrottleChange("line east to west", "rate", "", "7", "begins"),
    )
    same = Execution("t-1", (), rates=(replace(slow, why="stays", changed_at_ms=4), line))
    assert of_throttles(84, 9, TICKET, Execution("t-1", (), rates=(slow, line)), same) == []


@given(st.integers(1, 10**13), st.integers(1, 10**13))
def test_no_sentence_of_an_event_has_raw_bytes(before: int, after: int) -> None:
    """Changes keep the numbers; sentences have a unit, and differ where the numbers do."""
    rates = [Execution("t-1", (), rates=(AdaptedRate(rate, broker=1, why="it is so"),)) for rate in (before, after)]
    events = of_throttles(83, 9, TICKET, rates[0], rates[1]) + of_throttles(84, 9, TICKET, None, rates[1])
    events += of_throttles(85, 9, TICKET, Execution("t-1", (), (rate_intent(1, str(before)),)), rates[1])
    for event in events:
        assert not re.search(r"(?<![\d,.])\d{5,}", event.summary), event.summary
        assert "B/s" in event.summary
    if before != after:
        told = re.search("went from (.*?) to (.*?) \\(", events[0].summary)
        assert told is not None
        assert told[1] != told[2]


def test_a_ticket_that_is_over_takes_nothing_any_more_and_something_again_when_it_is_rolled_back() -> None:
    last = Execution("t-1", (), rates=(AdaptedRate(5, broker=1, why="begins"),))
    [over] = of_throttles(86, 9, moved(TICKET, TicketState.SUCCEEDED), last, last)
    assert over.changes == (ThrottleChange("broker 1", "rate", "5", "", "nothing is copied there any more"),)
    [back] = of_throttles(87, 9, moved(TICKET, TicketState.ROLLING_BACK), last, last, was_over=True)
    assert back.changes == (ThrottleChange("broker 1", "rate", "", "5", "begins"),)


def test_each_of_very_many_changes_is_told_by_as_many_events_as_that_needs() -> None:
    rates = tuple(AdaptedRate(5, broker=broker, why="begins") for broker in range(150))
    intents = tuple(rate_intent(broker, "1") for broker in range(150))
    events = of_throttles(85, 9, TICKET, None, Execution("t-1", (), intents, rates=rates))
    assert [event.id for event in events] == [85, 86, 87]
    assert [len(event.changes) for event in events] == [MAX_CHANGES] * 3
    keys = [change.key for event in events for change in event.changes]
    assert (keys.count("rate"), keys.count(RATE_KEY)) == (150, 150)
    assert len({(change.scope, change.key) for event in events for change in event.changes}) == 300
    assert {event.left_out for event in events} == {0}
    assert all(event.summary.endswith(", and 99 more") for event in events)
    assert RATE_KEY in events[2].summary


def test_a_flood_of_changes_is_cut_and_counted() -> None:
    many = tuple(rate_intent(broker, "1") for broker in range(MAX_CHANGES * MAX_EVENTS + 5))
    events = of_protection(85, 9, Protection("live"), Protection("live", intents=many))
    assert len(events) == MAX_EVENTS
    assert sum(len(event.changes) for event in events) == MAX_CHANGES * MAX_EVENTS
    assert [event.left_out for event in events if event.left_out] == [5]
    assert (events[0].ticket_id, events[0].actor) == ("", "protection")


def test_what_protects_a_disk_is_told_with_why() -> None:
    disk = DiskKey(3, "sdb")
    quota = Lever(disk, LeverKind.CLIENT_QUOTA, "user=etl", "consumer_byte_rate", 5, 9, why="reads from disk")
    rate = Lever(disk, LeverKind.LOG_DIR_RATE, "", "", 7, 9, why="copies between disks")
    [begun] = of_protection(88, 9, Protection("live"), Protection("live", levers=(quota, rate)))
    assert begun.changes == (
        ThrottleChange("client user=etl", "consumer_byte_rate", "", "5", "reads from disk"),
        ThrottleChange("broker 3", "log_dir_rate", "", "7", "copies between disks"),
    )
    eased = replace(quota, value=8, why="the disk has recovered a little")
    [then] = of_protection(89, 9, Protection("live", levers=(quota, rate)), Protection("live", levers=(eased,)))
    assert [(change.before, change.after) for change in then.changes] == [("5", "8"), ("7", "")]
    assert (
        of_protection(90, 9, Protection("live", levers=(quota,)), Protection("live", levers=(quota,), note="x")) == []
    )


def test_long_lists_are_shortened() -> None:
    value = ",".join(f"{n}:1" for n in range(500))
    intent = OwnedSetting("TOPIC", "t", "leader.replication.throttled.replicas", tuple(value.split(",")), None)
    [change] = changes_of((), (intent,))
    assert len(change.after) == 200
    assert change.after.endswith("...")
