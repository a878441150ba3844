"""Where events are sent to, as the members' configuration names it: the same on all, since any of them may lead.

A webhook gets a POST of JSON for each event, the newest schema of `guardian events -o json`. An Alertmanager is called
by its API v2. Slack stands for Mattermost and Rocket.Chat, too: an incoming webhook, whose address is often a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from guardian.errors import InvalidInput
from guardian.model import settings
from guardian.model.event import Event, EventKind
from guardian.model.settings import Section, check_ranges, setting
from guardian.model.ticket import TicketState

FIELDS = (
    "id", "at_ms", "time", "kind", "cluster", "summary", "ticket_id", "ticket_kind", "author", "actor", "reason",
    "from_state", "to_state", "moves", "bytes_to_copy", "finding",
)  # fmt: skip
DEFAULT_KINDS = frozenset(EventKind) - {EventKind.THROTTLE_CHANGED}
_STATELESS = (EventKind.THROTTLE_CHANGED, EventKind.FINDING_RAISED, EventKind.FINDING_ENDED)
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class SinkKind(StrEnum):
    WEBHOOK = "webhook"
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"


def _url(path: str, value: object) -> str:
    url = settings.text(path, value, is_secret=True)
    require_url(path, url)
    return url.rstrip("/")


@dataclass(frozen=True, slots=True)
class Sink(Section):
    """Send events of tickets, throttles and findings somewhere (guardian/events/README.md)."""

    name: str = setting(
        ..., "A name of up to 63 of a-z, 0-9, '_' and '-'; what was sent is noted by it.", example="alerts"
    )
    kind: SinkKind = setting(
        ..., "The protocol; slack is an incoming webhook, of Mattermost and Rocket.Chat, too.", example="webhook"
    )
    url: str = setting("", "Its address.", example="https://hooks.example.net/guardian", read=_url)
    url_file: Path | None = setting(None, "A file with an address that is a secret itself, instead of `url`.")
    token_file: Path | None = setting(
        None, "A file with a bearer token; read again for each call.", example="/etc/guardian/hook.token"
    )
    template: str = setting(
        "",
        "Body of a webhook's call instead of the event as JSON, with fields in braces.",
        example='{"text": "{summary}", "id": {id}}',
    )
    content_type: str = setting("application/json", "Content type of the body.")
    kinds: frozenset[EventKind] = setting(
        DEFAULT_KINDS,
        "Kinds of events to send; default: all but THROTTLE_CHANGED.",
        least=1,
        example=["TICKET_MOVED", "FINDING_RAISED"],
    )
    states: frozenset[TicketState] = setting(
        frozenset(),
        "States of tickets to send when they are entered (or left, where an alert ends); default: all.",
        example=["PENDING", "PAUSED", "FAILED", "SUCCEEDED"],
    )
    clusters: frozenset[str] = setting(frozenset(), "Clusters whose events to send; default: all.", example=["live"])
    timeout_s: float = setting(5.0, "Time after which a call is given up.", above=0, most=60)

    def __post_init__(self) -> None:
        check_ranges(self)
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(f"name is {self.name!r}: use up to 63 of a-z, 0-9, '_' and '-'")
        if bool(self.url) == (self.url_file is not None):
            raise InvalidInput("url and url_file are both given or both missing: give one of them")
        if self.template and self.kind is not SinkKind.WEBHOOK:
            raise InvalidInput(f"template is given, but {self.kind} has a form of its own: leave it out")
        for field in PLACEHOLDER.findall(self.template):
            if field not in FIELDS:
                raise InvalidInput(f"template has {{{field}}}: use {', '.join(FIELDS)}")

    def wants(self, event: Event) -> bool:
        return (
            event.kind in self.kinds
            and (not self.clusters or event.cluster in self.clusters)
            and (not self.states or event.kind in _STATELESS or self._has_its_state(event))
        )

    def _has_its_state(self, event: Event) -> bool:
        """An alert ends when the ticket leaves the state that it began with."""
        return event.to_state in self.states or (self.kind is SinkKind.ALERTMANAGER and event.from_state in self.states)


def require_url(where: str, url: str) -> None:
    """Raises InvalidInput without the address itself, which may be a secret."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usable = False
    if not is_usable or not url.isprintable() or " " in url:
        raise InvalidInput(f"{where} is no address: use http://host:port/path, or https")


def sinks_of(path: str, value: object) -> tuple[Sink, ...]:
    """Return what all sections [[sinks]] say. Raises InvalidInput."""
    sinks = settings.read_all(Sink, value, path)
    names = [sink.name for sink in sinks]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"{path} has the name {name!r} twice: what it was given is noted by name")
    return sinks
