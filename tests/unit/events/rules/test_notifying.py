"""What each kind of sink is sent."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from guardian.events.model import Sink, sinks_of
from guardian.events.rules.notifying import as_json, post_of
from guardian.model.event import Call, Event, EventKind, ThrottleChange
from guardian.model.eventing import of_call
from guardian.model.ticket import TicketState


def sink(**settings: object) -> Sink:
    [made] = sinks_of("sinks", [{"name": "s", "kind": "webhook", "url": "http://h:1/x", **settings}])
    return made


def event(
    to_state: TicketState = TicketState.PENDING,
    from_state: TicketState | None = None,
    kind: EventKind = EventKind.TICKET_MOVED,
    reason: str = 'a "quoted"\nreason',
) -> Event:
    return Event(
        7,
        1_500,
        kind,
        "live",
        f"ticket t-1 moved: {reason}",
        "t-1",
        "balance",
        "ann",
        "ben",
        reason,
        from_state,
        to_state,
    )


def sent(sink: Sink, what: Event) -> object:
    post = post_of(sink, what)
    return json.loads(post.body) if post is not None else None


def test_a_webhook_gets_the_event_as_the_cli_prints_it() -> None:
    changed = Event(
        9, 0, EventKind.THROTTLE_CHANGED, "live", "s", changes=(ThrottleChange("broker 1", "rate", "", "5"),)
    )
    assert sent(sink(), changed) == as_json(changed)
    assert as_json(changed)["changes"] == [{"scope": "broker 1", "key": "rate", "before": "", "after": "5", "why": ""}]
    assert as_json(event())["time"] == "1970-01-01T00:00:01.500Z"


def test_a_template_is_filled_with_values_that_break_no_json() -> None:
    template = '{"text": "{reason}", "id": {id}, "state": "{from_state}>{to_state}"}'
    told = sent(sink(template=template), event(from_state=TicketState.DRAFT))
    assert told == {"text": 'a "quoted"\nreason', "id": 7, "state": "DRAFT>PENDING"}


def test_chat_gets_one_line_that_no_reason_can_turn_into_a_link() -> None:
    told = sent(sink(kind="slack"), event(reason="<!channel> & <http://evil|click>"))
    assert isinstance(told, dict)
    assert "&lt;!channel&gt; &amp; &lt;http://evil|click&gt;" in told["text"]
    assert told["text"].endswith("`guardian ticket approve t-1`")


def test_an_alert_begins_with_the_state_and_ends_with_it_under_the_same_labels() -> None:
    alerts = sink(kind="alertmanager")
    begun = sent(alerts, event(TicketState.PAUSED, TicketState.RUNNING))
    ended = sent(alerts, event(TicketState.RUNNING, TicketState.PAUSED))
    assert isinstance(begun, list)
    assert isinstance(ended, list)
    [begin], [end] = begun, ended
    assert begin["labels"] == end["labels"]
    assert begin["labels"]["alertname"] == "GuardianTicketPaused"
    assert begin["startsAt"] < begin["endsAt"]
    assert "startsAt" not in end
    assert end["endsAt"] == "1970-01-01T00:00:01.500Z"
    post = post_of(alerts, event())
    assert post is not None
    assert post.path == "/api/v2/alerts"


def test_one_alert_may_end_where_another_begins() -> None:
    told = sent(sink(kind="alertmanager"), event(TicketState.FAILED, TicketState.PAUSED))
    assert isinstance(told, list)
    assert [alert["labels"]["alertname"] for alert in told] == ["GuardianTicketPaused", "GuardianTicketFailed"]


@pytest.mark.parametrize(
    "what",
    [
        event(TicketState.RUNNING, TicketState.APPROVED),
        event(TicketState.PENDING, TicketState.PENDING, EventKind.TICKET_AMENDED),
    ],
)
def test_what_is_no_alert_sends_none(what: Event) -> None:
    assert post_of(sink(kind="alertmanager"), what) is None


def test_a_sink_wants_what_it_names() -> None:
    throttle = event(kind=EventKind.THROTTLE_CHANGED)
    assert sink().wants(event())
    assert not sink().wants(throttle)
    assert sink(kinds=["THROTTLE_CHANGED"]).wants(throttle)
    assert not sink(states=["FAILED"]).wants(event())
    assert sink(states=["FAILED"]).wants(event(TicketState.FAILED))
    assert not sink(clusters=["other"]).wants(event())


def test_an_alert_of_a_named_state_ends_though_the_next_state_is_not_named() -> None:
    alerts = sink(kind="alertmanager", states=["PAUSED"])
    left = event(TicketState.RUNNING, TicketState.PAUSED)
    assert alerts.wants(left)
    assert not sink(states=["PAUSED"]).wants(left)
    failed = event(TicketState.FAILED, TicketState.PAUSED)
    assert alerts.wants(failed)
    told = sent(alerts, failed)
    assert isinstance(told, list)
    assert [alert["labels"]["alertname"] for alert in told] == ["GuardianTicketPaused"]
    assert "startsAt" not in told[0]


def test_a_finding_that_calls_a_person_is_an_alert_until_it_ends() -> None:
    call = Call("live", "storm healing", "6 of 10 brokers <are> in trouble", 900)
    raised, ended = (of_call(7, at_ms, call, is_over=at_ms == 2_500) for at_ms in (1_500, 2_500))
    for settings in ({}, {"states": ["PAUSED"]}):
        alerts = sink(kind="alertmanager", **settings)
        begin, end = (cast("list[dict[str, Any]]", sent(alerts, what))[0] for what in (raised, ended))
        assert begin["labels"] == end["labels"]
        assert begin["labels"]["alertname"] == "GuardianCallsPerson"
        assert (begin["labels"]["finding"], begin["labels"]["severity"]) == ("storm healing", "critical")
        assert begin["startsAt"] == "1970-01-01T00:00:01.500Z"
        assert end["endsAt"] == "1970-01-01T00:00:02.500Z"
    told = sent(sink(kind="slack"), raised)
    assert told == {"text": "storm healing of cluster live calls a person: 6 of 10 brokers &lt;are&gt; in trouble"}
    assert sink(states=["PENDING"]).wants(raised)
    assert not sink(kinds=["TICKET_MOVED"]).wants(raised)
    assert sent(sink(template='"{finding}"'), ended) == "storm healing"
