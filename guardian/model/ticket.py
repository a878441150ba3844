"""A ticket carries a plan through approval.

    DRAFT -> PENDING -> APPROVED | REJECTED | EXPIRED
    APPROVED -> RUNNING <-> PAUSED -> SUCCEEDED | FAILED
    RUNNING | PAUSED | ROLLING_BACK -> CANCELLING -> CANCELLED
    SUCCEEDED | FAILED | CANCELLED -> ROLLING_BACK -> ROLLED_BACK

A DRAFT, PENDING or APPROVED ticket that is cancelled never ran: it becomes REJECTED. A PENDING or APPROVED one expires.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from guardian.model.operation import Ask
from guardian.model.text import Text

# One command carries an execution whole, and a command must stay below what Raft sends in one piece.
MAX_EXECUTION_BYTES = 900_000
MAX_TROUBLES = 1000  # of one ticket; a storm is far fewer


class TicketState(Enum):
    """Values are those of the wire, and are stored: never renumber."""

    DRAFT = 1
    PENDING = 2
    APPROVED = 3
    REJECTED = 4
    EXPIRED = 5
    RUNNING = 6
    PAUSED = 7
    SUCCEEDED = 8
    FAILED = 9
    CANCELLING = 10
    CANCELLED = 11
    ROLLING_BACK = 12
    ROLLED_BACK = 13

    @property
    def is_driven(self) -> bool:
        """The executor has work to do."""
        return self in _DRIVEN

    @property
    def is_over(self) -> bool:
        """Nothing happens any more unless a person asks for it."""
        return self in _OVER


_DRIVEN = frozenset(
    {
        TicketState.APPROVED,
        TicketState.RUNNING,
        TicketState.PAUSED,
        TicketState.CANCELLING,
        TicketState.ROLLING_BACK,
    }
)
_OVER = frozenset(
    {
        TicketState.REJECTED,
        TicketState.EXPIRED,
        TicketState.SUCCEEDED,
        TicketState.FAILED,
        TicketState.CANCELLED,
        TicketState.ROLLED_BACK,
    }
)

OPEN_STATES = tuple(state for state in TicketState if state not in _OVER)
DRIVEN_STATES = tuple(state for state in TicketState if state in _DRIVEN)

VALID_TRANSITIONS: dict[TicketState, frozenset[TicketState]] = {
    TicketState.DRAFT: frozenset({TicketState.PENDING, TicketState.REJECTED}),
    TicketState.PENDING: frozenset({TicketState.APPROVED, TicketState.REJECTED, TicketState.EXPIRED}),
    TicketState.APPROVED: frozenset(
        {TicketState.RUNNING, TicketState.REJECTED, TicketState.FAILED, TicketState.EXPIRED}
    ),
    TicketState.RUNNING: frozenset(
        {
            TicketState.RUNNING,  # a line of its history, and nothing else
            TicketState.PAUSED,
            TicketState.SUCCEEDED,
            TicketState.FAILED,
            TicketState.CANCELLING,
        }
    ),
    TicketState.PAUSED: frozenset(
        {
            TicketState.PAUSED,
            TicketState.RUNNING,
            TicketState.SUCCEEDED,
            TicketState.FAILED,
            TicketState.CANCELLING,
        }
    ),
    TicketState.CANCELLING: frozenset({TicketState.CANCELLED}),
    TicketState.SUCCEEDED: frozenset({TicketState.ROLLING_BACK}),
    TicketState.FAILED: frozenset({TicketState.ROLLING_BACK}),
    TicketState.CANCELLED: frozenset({TicketState.ROLLING_BACK}),
    TicketState.ROLLING_BACK: frozenset({TicketState.ROLLED_BACK, TicketState.CANCELLING}),
    TicketState.REJECTED: frozenset(),
    TicketState.EXPIRED: frozenset(),
    TicketState.ROLLED_BACK: frozenset(),
}


@dataclass(frozen=True, slots=True)
class TicketTransition:
    """One line of a ticket's history."""

    state: TicketState
    at_ms: int
    actor: str
    reason: Text


@dataclass(frozen=True, slots=True)
class TicketTrouble:
    """A finding that a ticket of healing's is for, by its kind and `subject`, with the `brokers` and `log_dirs` (of the
    one broker) that it is about. An empty `subject` names log dirs that an earlier ticket emptied and this one keeps
    empty. `kind` is a FindingKind, or the number of one that only a newer version knows."""

    kind: int
    subject: str
    brokers: tuple[int, ...] = ()
    log_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TicketPart:
    """A ticket's place in a sequence of tickets that carries one plan under one approval: `number` (from 1) of `count`.

    `first` is the id of the first one. `moves` and `bytes_to_copy` are those of the whole sequence, `left_moves` and
    `left_bytes` those of this part and all that follow.
    """

    first: str
    number: int
    count: int
    moves: int = 0
    bytes_to_copy: int = 0
    left_moves: int = 0
    left_bytes: int = 0

    @property
    def is_last(self) -> bool:
        return self.number == self.count

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of all parts, in the order in which they run."""
        return tuple(part_id(self.first, number) for number in range(1, self.count + 1))


def key_was_used(idempotency_key: str) -> str:
    """Return why no ticket is made by a key that made another one, of which nothing may be told."""
    return f"idempotency_key {idempotency_key!r} was used before: use a new key for each request"


def part_id(first: str, number: int) -> str:
    """Return the id of a part, by the id of the first one and its number from 1."""
    return first if number == 1 else f"{first}-{number}"


@dataclass(frozen=True, slots=True)
class Ticket:
    """`moves` and `bytes_to_copy` repeat the plan's, for lists. What is still PENDING or APPROVED at `expires_at_ms`
    expires (a draft's time begins when it is submitted); 0: never. `evidence` is what was seen that makes it needed;
    `troubles` are what a ticket of healing's is for. `throttle` (bytes/s per broker) is where rates rise to and, unless
    `max_throttle` is more, also the most that they may be. `approved_throttle` is the highest that somebody approved,
    once the rates have changed since the approval; 0: they have not. `tenants` are patterns of those that the author's
    role is limited to, none: it is not limited; a plan that is made anew moves no topics of others.

    `part` is its place in a sequence of tickets that carries one plan; None: it stands alone.

    A ticket with an `ask` is more than one plan: its `plan_hash` is empty, its plans are made while it runs.
    """

    id: str
    cluster: str
    kind: str
    state: TicketState
    author: str
    plan_hash: str
    throttle: int
    created_at_ms: int
    updated_at_ms: int
    history: tuple[TicketTransition, ...] = ()
    idempotency_key: str = ""
    moves: int = 0
    bytes_to_copy: int = 0
    expires_at_ms: int = 0
    evidence: Text = ""
    ask: Ask | None = None
    max_throttle: int = 0
    approved_throttle: int = 0
    troubles: tuple[TicketTrouble, ...] = ()
    tenants: tuple[str, ...] = ()
    part: TicketPart | None = None

    @property
    def follows_another(self) -> bool:
        """Tell whether another ticket of its sequence runs first, and was approved for it."""
        return self.part is not None and self.part.number > 1

    @property
    def approved_moves(self) -> int:
        """Return how many moves the one approval is for: those of the whole sequence."""
        return self.part.moves if self.part is not None else self.moves

    @property
    def approved_bytes(self) -> int:
        """Return how many bytes the one approval lets copy: what the whole sequence copies."""
        return self.part.bytes_to_copy if self.part is not None else self.bytes_to_copy
