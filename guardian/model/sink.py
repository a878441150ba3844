"""Where events are sent to, as the members' configuration names it: the same on all, since any of them may lead.

    [[sinks]]                            # a POST of JSON for each event, the newest schema of `guardian events -o json`
    name = "audit"
    kind = "webhook"
    url  = "https://hooks.example.net/guardian"
    token_file = "/etc/guardian/hook.token"     # sent as a bearer token; read again for each call
    template   = '{"text": "{summary}", "id": {id}}'   # instead of the event as JSON; fields in braces

    [[sinks]]                            # Slack, Mattermost, Rocket.Chat: an incoming webhook
    name = "chat"
    kind = "slack"
    url_file = "/etc/guardian/slack.url"        # an address that is a secret itself
    states   = ["PENDING", "PAUSED", "FAILED", "SUCCEEDED"]

    [[sinks]]                            # Prometheus Alertmanager, API v2
    name = "alerts"
    kind = "alertmanager"
    url  = "http://alertmanager:9093"

Each may say which events it wants: `kinds` (TICKET_CREATED, TICKET_MOVED, TICKET_AMENDED, THROTTLE_CHANGED,
FINDING_RAISED, FINDING_ENDED: a finding that calls a person), `states`
that a ticket enters (or leaves, where its alert ends), `clusters`; without them all but throttle changes, which have to
be named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from guardian.errors import InvalidInput
from guardian.model.event import Event, EventKind
from guardian.model.ticket import TicketState

FIELDS = (
    "id", "at_ms", "time", "kind", "cluster", "summary", "ticket_id", "ticket_kind", "author", "actor", "reason",
    "from_state", "to_state", "moves", "bytes_to_copy", "finding",
)  # fmt: skip
DEFAULT_KINDS = frozenset(EventKind) - {EventKind.THROTTLE_CHANGED}
_STATELESS = (EventKind.THROTTLE_CHANGED, EventKind.FINDING_RAISED, EventKind.FINDING_ENDED)
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_SETTINGS = (
    "name", "kind", "url", "url_file", "token_file", "template", "content_type", "kinds", "states", "clusters",
    "timeout_s",
)  # fmt: skip
_MAX_TIMEOUT_S = 60.0


class SinkKind(StrEnum):
    WEBHOOK = "webhook"
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"


@dataclass(frozen=True, slots=True)
class Sink:
    """`url` is empty where it is read from `url_file`. `states` and `clusters`: none named, all are wanted."""

    name: str
    kind: SinkKind
    url: str = ""
    url_file: Path | None = None
    token_file: Path | None = None
    template: str = ""
    content_type: str = "application/json"
    kinds: frozenset[EventKind] = DEFAULT_KINDS
    states: frozenset[TicketState] = frozenset()
    clusters: frozenset[str] = frozenset()
    timeout_s: float = 5.0

    def wants(self, event: Event) -> bool:
        return (
            event.kind in self.kinds
            and (not self.clusters or event.cluster in self.clusters)
            and (not self.states or event.kind in _STATELESS or self._has_its_state(event))
        )

    def _has_its_state(self, event: Event) -> bool:
        """An alert ends when the ticket leaves the state that it began with."""
        return event.to_state in self.states or (self.kind is SinkKind.ALERTMANAGER and event.from_state in self.states)

    @classmethod
    def of(cls, number: int, table: object) -> Sink:
        """From the section [[sinks]] of this number, from 1. Raises InvalidInput naming field, value and fix."""
        where = f"sinks[{number}]"
        if not isinstance(table, Mapping):
            raise InvalidInput(f"{where} is {table!r}: write each as a section, [[sinks]]")
        for key in table:
            if key not in _SETTINGS:
                raise InvalidInput(f"{where}.{key} is not a setting: use one of {', '.join(_SETTINGS)}")
        name = _text(where, table, "name")
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{where}.name is {name!r}: use up to 63 of a-z, 0-9, '_' and '-'")
        kind = _text(where, table, "kind")
        if kind not in tuple(SinkKind):
            raise InvalidInput(f"{where}.kind is {kind!r}: use one of {', '.join(SinkKind)}")
        if ("url" in table) == ("url_file" in table):
            raise InvalidInput(f"{where} has both or neither of url and url_file: give one of them")
        if "url" in table:
            require_url(f"{where}.url", _text(where, table, "url"))
        template = _text(where, table, "template") if "template" in table else ""
        if template and kind != SinkKind.WEBHOOK:
            raise InvalidInput(f"{where}.template is given, but {kind} has a form of its own: leave it out")
        for field in PLACEHOLDER.findall(template):
            if field not in FIELDS:
                raise InvalidInput(f"{where}.template has {{{field}}}: use {', '.join(FIELDS)}")
        return cls(
            name,
            SinkKind(kind),
            _text(where, table, "url").rstrip("/") if "url" in table else "",
            Path(_text(where, table, "url_file")) if "url_file" in table else None,
            Path(_text(where, table, "token_file")) if "token_file" in table else None,
            template,
            _text(where, table, "content_type") if "content_type" in table else "application/json",
            frozenset(EventKind[n] for n in _names(where, table, "kinds", EventKind.__members__)) or DEFAULT_KINDS,
            frozenset(TicketState[n] for n in _names(where, table, "states", TicketState.__members__)),
            frozenset(_names(where, table, "clusters", None)),
            _timeout(where, table.get("timeout_s", 5.0)),
        )


def require_url(where: str, url: str) -> None:
    """Raises InvalidInput without the address itself, which may be a secret."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usable = False
    if not is_usable or not url.isprintable() or " " in url:
        raise InvalidInput(f"{where} is no address: use http://host:port/path, or https")


def sinks_of(value: object) -> tuple[Sink, ...]:
    """Of all sections [[sinks]]. Raises InvalidInput."""
    if not isinstance(value, list):
        raise InvalidInput(f"sinks is {value!r}: write each as a section, [[sinks]]")
    sinks = tuple(Sink.of(number, table) for number, table in enumerate(value, start=1))
    names = [sink.name for sink in sinks]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"sinks has the name {name!r} twice: what it was given is noted by name")
    return sinks


def _text(where: str, table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        shown = "empty" if value == "" else repr(value) if key not in ("url",) else "not a text"
        raise InvalidInput(f"{where}.{key} is {shown}: give a non-empty string")
    return value


def _names(where: str, table: Mapping[str, object], key: str, known: Mapping[str, object] | None) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise InvalidInput(f"{where}.{key} is {value!r}: give a list of names")
    for name in value:
        if known is not None and name not in known:
            raise InvalidInput(f"{where}.{key} has {name!r}: use {', '.join(known)}")
    return value


def _timeout(where: str, value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not 0 < float(str(value)) <= _MAX_TIMEOUT_S:
        raise InvalidInput(f"{where}.timeout_s is {value!r}: use more than 0 and at most {_MAX_TIMEOUT_S:g}")
    return float(str(value))
