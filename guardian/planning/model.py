"""Say how many plans members make at once, and for whom; describe a plan that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from guardian.errors import Overloaded
from guardian.model.settings import Section, setting

_DAY_S = 86_400.0
_LOOKUPS = 4
_LOOKUPS_EACH = 2
_LOOKUPS_WAITING_EACH = 8
_LOOKUPS_WAITING = 32


class Lane(StrEnum):
    """Tell whom work is for; each lane has slots of its own, which no other one can take."""

    PEOPLE = "people"  # plans that somebody asked for
    LOOKUPS = "lookups"  # what somebody asked to see, and takes long to find out
    TICKETS = "tickets"  # rounds of removals, plans of stale tickets
    HEALING = "healing"


class LineFull(Overloaded):
    """Say that too much waits already; `active` is how much of it is under way or waits."""

    def __init__(self, message: str, active: int, retry_after_ms: int) -> None:
        super().__init__(message, retry_after_ms)
        self.active = active


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """Hold how much of a lane's work is under way at once, in all and for one person, and how much may wait.

    None: as much as there is.
    """

    at_once: int
    at_once_each: int = 1
    waiting_each: int | None = None
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class PlansConfig(Section):
    """Limit the plans that a member makes at once (guardian/planning/README.md)."""

    people: int = setting(
        2, "Plans that people asked for, made at the same time; one for each person.", least=1, most=16
    )
    tickets: int = setting(2, "Plans of tickets under way, made at the same time.", least=1, most=16)
    healing: int = setting(
        2, "Plans of healing, made at the same time; nobody else can take their place.", least=1, most=16
    )
    waiting_each: int = setting(5, "Plans that wait for one person; more are refused at once.", least=0, most=24)
    # Each one that is asked for over gRPC holds one of the server's 32 threads.
    waiting: int = setting(20, "Plans that wait for all persons; more are refused at once.", least=0, most=24)
    wait_s: float = setting(300.0, "A plan that waited for its turn so long is given up.", least=1, most=_DAY_S)
    deadline_s: float = setting(180.0, "The search for a plan that takes longer is ended.", above=0, most=_DAY_S)

    @property
    def longest_s(self) -> float:
        """Return how long somebody waits for a plan at most: for his turn, and for the search."""
        return self.wait_s + self.deadline_s

    @property
    def lanes(self) -> Mapping[Lane, LaneLimits]:
        """Return the limits of each lane."""
        return {
            Lane.PEOPLE: LaneLimits(self.people, 1, self.waiting_each, self.waiting),
            Lane.LOOKUPS: LaneLimits(_LOOKUPS, _LOOKUPS_EACH, _LOOKUPS_WAITING_EACH, _LOOKUPS_WAITING),
            Lane.TICKETS: LaneLimits(self.tickets),
            Lane.HEALING: LaneLimits(self.healing),
        }


@dataclass(frozen=True, slots=True)
class Step:
    """Describe one thing that a task does; `ended_ms` 0: it does it now."""

    name: str
    description: str
    began_ms: int
    ended_ms: int = 0


class UserTaskState(Enum):
    """Tell how far a plan is that somebody asked for; LOST: the member that was asked ended before it was done."""

    ACTIVE = 1
    COMPLETED = 2
    FAILED = 3
    LOST = 4


@dataclass(frozen=True, slots=True)
class UserTaskRecord:
    """Describe a plan that somebody asked for, as all members know it.

    `url` is the request as it was sent, `client` the address that sent it, `request` a hash of what was asked, `member`
    who was asked, `ticket_ids` the tickets that it made, the oldest first.
    """

    id: str
    cluster: str
    endpoint: str
    url: str
    client: str
    person: str
    started_ms: int
    request: bytes
    member: str = ""
    state: UserTaskState = UserTaskState.ACTIVE
    ticket_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserTaskAnswer:
    """Hold what a request was answered with: the status of HTTP, a JSON document, and its text."""

    status: int
    document: str
    text: str
