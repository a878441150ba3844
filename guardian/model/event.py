"""Something that happened to a ticket or a throttle, or that calls a person, as it is told to whoever watches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from guardian.model.text import Text
from guardian.model.ticket import TicketState

MAX_KEPT_FINDINGS = 2000  # of a cluster, for the next leader


class EventKind(Enum):
    """Values are those of the wire, and are stored: never renumber."""

    TICKET_CREATED = 1
    TICKET_MOVED = 2  # to another state
    TICKET_AMENDED = 3  # something else about it was changed
    THROTTLE_CHANGED = 4
    FINDING_RAISED = 5  # one that calls a person
    FINDING_ENDED = 6

    @property
    def is_of_finding(self) -> bool:
        return self in (EventKind.FINDING_RAISED, EventKind.FINDING_ENDED)


@dataclass(frozen=True, slots=True)
class Call:
    """A finding that calls a person until it ends. `finding` is its subject's title, such as "storm healing"."""

    cluster: str
    finding: str
    sentence: Text
    since_ms: int

    @property
    def identity(self) -> tuple[str, str]:
        return self.cluster, self.finding


@dataclass(frozen=True, slots=True)
class ThrottleChange:
    """One value. `before` and `after` are empty where it was, or is, not set by Guardian.

    `scope` is "broker 3", "topic orders" or "line east to west"; `key` is Kafka's, or "rate" for what copies may take.
    """

    scope: str
    key: str
    before: str
    after: str
    why: Text = ""


@dataclass(frozen=True, slots=True)
class Event:
    """`id` counts up in the order in which things happened, with gaps. `from_state` None: there was no ticket before.

    `summary` is all of it in one sentence. A throttle that protects disks is of no ticket: `ticket_id` is empty then.
    `finding` is what calls a person: events of raising and of ending it name the same one in a cluster.
    """

    id: int
    at_ms: int
    kind: EventKind
    cluster: str
    summary: Text
    ticket_id: str = ""
    ticket_kind: str = ""
    author: str = ""
    actor: str = ""
    reason: Text = ""
    from_state: TicketState | None = None
    to_state: TicketState | None = None
    moves: int = 0
    bytes_to_copy: int = 0
    changes: tuple[ThrottleChange, ...] = ()
    left_out: int = 0  # changes beyond those that are listed
    finding: str = ""
