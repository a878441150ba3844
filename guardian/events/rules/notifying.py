"""An event as a sink wants it: the path and the body of one POST. Pure.

webhook        the event as JSON, or the sink's template with each {field} in JSON's spelling
slack          {"text": ...}, one line and the ticket's commands
alertmanager   POST /api/v2/alerts: an alert while a ticket waits for somebody, ended when it does so no longer

state of the ticket      alert                   ends
─────────────────────    ─────────────────────   ─────────────────────────────────────
PENDING                  GuardianTicketPending   when the ticket leaves the state
PAUSED                   GuardianTicketPaused    when the ticket leaves the state
FAILED                   GuardianTicketFailed    when it is rolled back, or after a day

A finding that calls a person is the alert GuardianCallsPerson until it ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from guardian.events.model import FIELDS, PLACEHOLDER, Sink, SinkKind
from guardian.model import eventing
from guardian.model.event import Call, Event, EventKind, ThrottleChange
from guardian.model.text import escaped, json_escaped
from guardian.model.ticket import Ticket, TicketState

ALERTED: Mapping[TicketState, tuple[str, str]] = {
    TicketState.PENDING: ("GuardianTicketPending", "info"),
    TicketState.PAUSED: ("GuardianTicketPaused", "warning"),
    TicketState.FAILED: ("GuardianTicketFailed", "critical"),
}
CALLS_PERSON = "GuardianCallsPerson"
_ALERTS_PATH = "/api/v2/alerts"
FAILED_FOR_MS = 86_400_000
_WAITS_FOR_MS = 7 * 86_400_000


@dataclass(frozen=True, slots=True)
class Post:
    """`path` is behind the sink's address."""

    path: str
    content_type: str
    body: bytes


def post_of(sink: Sink, event: Event) -> Post | None:
    """Build what is sent of the event; None where the sink has nothing to say about it."""
    match sink.kind:
        case SinkKind.WEBHOOK:
            body = _filled(sink.template, event) if sink.template else _json(as_json(event))
            return Post("", sink.content_type, body.encode())
        case SinkKind.SLACK:
            return Post("", sink.content_type, json.dumps({"text": _chat_line(event)}, ensure_ascii=False).encode())
        case SinkKind.ALERTMANAGER:
            alerts = _alerts(sink, event)
            return Post(_ALERTS_PATH, sink.content_type, json.dumps(alerts).encode()) if alerts else None


def is_sent(sink: Sink, event: Event) -> bool:
    """Return whether the sink is told of the event at all."""
    return sink.wants(event) and (sink.kind is not SinkKind.ALERTMANAGER or bool(_alerts(sink, event)))


def standing(sink: Sink, tickets: Iterable[Ticket], calls: Iterable[Call], now_ms: int) -> Post | None:
    """All alerts that last: an Alertmanager that was started anew has forgotten them. None where there are none."""
    alerts: list[dict[str, object]] = []
    for ticket in tickets:
        event = eventing.standing(ticket) if ticket.state in ALERTED else None
        if event is None or not sink.wants(event):
            continue
        is_failed = ticket.state is TicketState.FAILED
        ends_ms = event.at_ms + FAILED_FOR_MS if is_failed else now_ms + _WAITS_FOR_MS
        if ends_ms > now_ms:
            alerts.append(_alert(event, ticket.state, event.at_ms, ends_ms))
    for call in calls:
        event = eventing.of_call(0, call.since_ms, call, is_over=False)
        if sink.wants(event):
            alerts.append({**_call_alert(event), "endsAt": time_of(now_ms + _WAITS_FOR_MS)})
    return Post(_ALERTS_PATH, sink.content_type, json.dumps(alerts).encode()) if alerts else None


def as_json(event: Event) -> dict[str, object]:
    """The event as people and programs read it: states and kinds by name."""
    return {
        **_fields(event),
        "changes": [_change(change) for change in event.changes],
        "left_out": event.left_out,
    }


def _fields(event: Event) -> dict[str, object]:
    values = {
        "id": event.id,
        "at_ms": event.at_ms,
        "time": time_of(event.at_ms),
        "kind": event.kind.name,
        "cluster": event.cluster,
        "summary": event.summary,
        "ticket_id": event.ticket_id,
        "ticket_kind": event.ticket_kind,
        "author": event.author,
        "actor": event.actor,
        "reason": event.reason,
        "from_state": event.from_state.name if event.from_state is not None else "",
        "to_state": event.to_state.name if event.to_state is not None else "",
        "moves": event.moves,
        "bytes_to_copy": event.bytes_to_copy,
        "finding": event.finding,
    }
    return {name: values[name] for name in FIELDS}


def _change(change: ThrottleChange) -> dict[str, str]:
    return {
        "scope": change.scope,
        "key": change.key,
        "before": change.before,
        "after": change.after,
        "why": change.why,
    }


def _filled(template: str, event: Event) -> str:
    """Each value as it stands inside a JSON string: a quote or a line end in a reason must not break the body."""
    values = {name: _json(str(value))[1:-1] for name, value in _fields(event).items()}
    return PLACEHOLDER.sub(lambda found: values[found.group(1)], template)


def _json(value: object) -> str:
    return json_escaped(json.dumps(value, ensure_ascii=False))


def _chat_line(event: Event) -> str:
    # Slack reads <...> as links and & as the beginning of one of its three escapes.
    text = escaped(event.summary).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if event.kind is EventKind.THROTTLE_CHANGED or not event.ticket_id:
        return text
    hint = "approve" if event.to_state is TicketState.PENDING else "show"
    return f"{text}\n`guardian ticket {hint} {event.ticket_id}`"


def _alerts(sink: Sink, event: Event) -> list[dict[str, object]]:
    """The end of what the ticket was waiting for, and the begin of what it waits for now."""
    if event.kind.is_of_finding:
        return [_call_alert(event)]
    if event.kind not in (EventKind.TICKET_CREATED, EventKind.TICKET_MOVED):
        return []
    before, after = event.from_state, event.to_state
    alerts = []
    if before is not None and before in ALERTED and before is not after:
        alerts.append(_alert(event, before, None, event.at_ms))
    if after is not None and after in ALERTED and (not sink.states or after in sink.states):
        lasts_ms = FAILED_FOR_MS if after is TicketState.FAILED else _WAITS_FOR_MS
        alerts.append(_alert(event, after, event.at_ms, event.at_ms + lasts_ms))
    return alerts


def _call_alert(event: Event) -> dict[str, object]:
    alert: dict[str, object] = {
        "labels": {
            "alertname": CALLS_PERSON,
            "severity": "critical",
            "cluster": event.cluster,
            "finding": event.finding,
        },
        "annotations": {"summary": event.summary},
    }
    if event.kind is EventKind.FINDING_ENDED:
        return {**alert, "endsAt": time_of(event.at_ms)}
    return {**alert, "startsAt": time_of(event.at_ms), "endsAt": time_of(event.at_ms + _WAITS_FOR_MS)}


def _alert(event: Event, state: TicketState, starts_ms: int | None, ends_ms: int) -> dict[str, object]:
    """Alertmanager knows an alert by its labels: those of the end are those of the begin."""
    name, severity = ALERTED[state]
    alert: dict[str, object] = {
        "labels": {
            "alertname": name,
            "severity": severity,
            "cluster": event.cluster,
            "ticket": event.ticket_id,
            "kind": event.ticket_kind,
        },
        "annotations": {"summary": event.summary, "author": event.author},
        "endsAt": time_of(ends_ms),
    }
    if starts_ms is not None:
        alert["startsAt"] = time_of(starts_ms)
    return alert


def time_of(at_ms: int) -> str:
    """RFC 3339, in UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
