"""The throttle of a ticket over what brokers suffered."""

from __future__ import annotations

from guardian.model.event import Event, EventKind, ThrottleChange
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.tickets.pages.tickets_series import MOST_LINES, aligned, brokers_of, charts, rate_steps, window_of
from guardian.web.pressure import BrokerPressure, PressureSeen

S = TicketState


def event(at_ms: int, *changes: ThrottleChange) -> Event:
    return Event(at_ms, at_ms, EventKind.THROTTLE_CHANGED, "live", "", changes=changes)


def rate(scope: str, after: str, key: str = "rate") -> ThrottleChange:
    return ThrottleChange(scope, key, "", after)


def ticket(*states: tuple[TicketState, int]) -> Ticket:
    history = tuple(TicketTransition(state, at_ms, "ann", "") for state, at_ms in states)
    return Ticket("t-1", "live", "balance", states[-1][0], "ann", "h", 1, 0, 0, history)


def test_each_change_of_a_rate_is_a_step() -> None:
    steps = rate_steps(
        [
            event(1, rate("broker 3", "100"), rate("line east to west", "500")),
            event(2, rate("broker 3", "50"), rate("broker 3", "9", "leader.replication.throttled.rate")),
            event(3, rate("broker 3", "")),
        ]
    )
    assert steps == {"broker 3": [(1, 100.0), (2, 50.0), (3, None)], "line east to west": [(1, 500.0)]}
    assert brokers_of(steps) == [3]


def test_a_fixed_rate_is_what_was_set_in_kafka() -> None:
    steps = rate_steps([event(1, rate("broker 3", "100", "follower.replication.throttled.rate"))])
    assert steps == {"broker 3": [(1, 100.0)]}


def test_the_brokers_whose_rate_changed_most_come_first() -> None:
    steps = rate_steps(
        [event(at, rate("broker 12", str(at))) for at in range(1, 5)] + [event(9, rate("broker 2", "1"))]
    )
    assert brokers_of(steps) == [12, 2]


def test_a_rate_holds_until_it_is_changed_and_a_measurement_does_not() -> None:
    series = {"one": [(1000, 5.0), (3000, 7.0)], "two": [(2000, 1.0)]}
    assert aligned(series, is_held=True) == {
        "at": [1.0, 2.0, 3.0],
        "labels": ["one", "two"],
        "values": [[5.0, 5.0, 7.0], [None, 1.0, 1.0]],
    }
    assert aligned(series)["values"] == [[5.0, None, 7.0], [None, 1.0, None]]


def test_three_charts_have_the_same_brokers_and_time() -> None:
    steps = rate_steps([event(2000, rate(f"broker {number}", "100")) for number in range(1, 9)])
    seen = PressureSeen({1: BrokerPressure(((1000, 0.5),), ((1000, 12.0),)), 8: BrokerPressure(((1000, 0.9),))})
    found = charts(steps, seen, brokers_of(steps), (1000, 5000))
    assert (found["from"], found["to"]) == (1.0, 5.0)
    shown = [f"broker {number}" for number in range(1, MOST_LINES + 1)]
    assert found["rate"]["labels"] == shown  # type: ignore[index]
    assert found["rate"]["at"] == [2.0, 5.0], "it still holds at the end"  # type: ignore[index]
    assert found["busy"] == {"at": [1.0], "labels": ["broker 1"], "values": [[0.5]]}
    assert found["p99"] == {"at": [1.0], "labels": ["broker 1"], "values": [[12.0]]}
    one = charts(steps, seen, [8], (1000, 5000))
    assert one["rate"]["labels"] == ["broker 8"]  # type: ignore[index]
    assert one["busy"]["values"] == [[0.9]]  # type: ignore[index]


def test_the_time_shown_begins_before_the_ticket_ran() -> None:
    hour = 3_600_000
    assert window_of(ticket((S.PENDING, 0), (S.RUNNING, hour)), hour + 5000) == (hour - 300_000, hour + 5000)
    over = ticket((S.RUNNING, hour), (S.SUCCEEDED, hour + 10_000))
    assert window_of(over, 9 * hour) == (hour - 300_000, hour + 70_000)
    assert window_of(ticket((S.RUNNING, 0)), 30 * hour) == (18 * hour, 30 * hour), "no more than the last twelve hours"
    begin, end = window_of(ticket((S.DRAFT, 0)), 5)
    assert 0 <= begin < end
