"""Decide whose work is done next in a lane, and whose is refused. Pure.

    waiting   ann ann ann     ben      cat            in the order of arrival
    ring      ben, cat, ann                           the persons who wait; whoever's work begins goes to the end

The next one is the first person of the ring who may have more under way. So a person's turn comes after at most one
piece of work of each other person who was there before, however much any of them asks for. Within a person the first
one asked is the first one done. This is the round robin of Nagle, "On Packet Switches with Infinite Storage" (RFC 970).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from guardian.planning.model import LaneLimits, LineFull

_RETRY_MS = 30_000  # about a plan; a client of gRPC's tries again by itself, and gives up where it has less time


@dataclass(frozen=True, slots=True)
class Turn:
    """Describe a piece of work by its id, by who asked for it, and by `what` it is, in words for people."""

    id: str
    person: str
    what: str


@dataclass(frozen=True, slots=True)
class Line:
    """Hold what is under way and what waits, in the order of arrival; `ring` names the persons who wait."""

    running: tuple[Turn, ...] = ()
    waiting: tuple[Turn, ...] = ()
    ring: tuple[str, ...] = ()


def joined(line: Line, turn: Turn, limits: LaneLimits) -> tuple[Line, tuple[Turn, ...]]:
    """Return the line with one more, and what begins now. Raises LineFull where it would be one too many."""
    ring = line.ring if turn.person in line.ring else (*line.ring, turn.person)
    then, begun = started(replace(line, waiting=(*line.waiting, turn), ring=ring), limits)
    if turn not in begun:
        _require_room(line, turn, limits)
    return then, begun


def left(line: Line, turn_id: str, limits: LaneLimits) -> tuple[Line, tuple[Turn, ...]]:
    """Return the line without what is done or given up, and what begins now."""
    waiting = tuple(turn for turn in line.waiting if turn.id != turn_id)
    persons = {turn.person for turn in waiting}
    return started(
        Line(
            tuple(turn for turn in line.running if turn.id != turn_id),
            waiting,
            tuple(person for person in line.ring if person in persons),
        ),
        limits,
    )


def started(line: Line, limits: LaneLimits) -> tuple[Line, tuple[Turn, ...]]:
    """Return the line after all has begun that may, and what that is."""
    begun: list[Turn] = []
    while (turn := _next(line, limits)) is not None:
        begun.append(turn)
        waiting = tuple(each for each in line.waiting if each is not turn)
        others = tuple(person for person in line.ring if person != turn.person)
        has_more = any(each.person == turn.person for each in waiting)
        line = Line((*line.running, turn), waiting, (*others, turn.person) if has_more else others)
    return line, tuple(begun)


def before(line: Line, turn_id: str) -> tuple[int, int]:
    """Return how much waits before this one that the same person asked for, and how much others have waiting."""
    turn = next((each for each in line.waiting if each.id == turn_id), None)
    if turn is None:
        return 0, 0
    own = [each.id for each in line.waiting if each.person == turn.person]
    return own.index(turn_id), len(line.waiting) - len(own)


def _next(line: Line, limits: LaneLimits) -> Turn | None:
    if len(line.running) >= limits.at_once:
        return None
    for person in line.ring:
        if sum(turn.person == person for turn in line.running) < limits.at_once_each:
            return next(turn for turn in line.waiting if turn.person == person)
    return None


def _require_room(line: Line, turn: Turn, limits: LaneLimits) -> None:
    """Raises LineFull. What others asked for is counted, not named: it may be none of this person's business."""
    own = [each for each in line.waiting if each.person == turn.person]
    if limits.waiting_each is not None and len(own) >= limits.waiting_each:
        running = [each.what for each in line.running if each.person == turn.person]
        raise LineFull(
            f"requests of {turn.person}: {', '.join(running) or 'nothing'} under way, {len(own)} wait (got one more, "
            f"at most {limits.waiting_each} may wait); ask again when one is done",
            len(running) + len(own),
            _RETRY_MS,
        )
    if limits.waiting is not None and len(line.waiting) >= limits.waiting:
        raise LineFull(
            f"requests of all: {len(line.running)} under way, {len(line.waiting)} wait (got one more, at most "
            f"{limits.waiting} may wait); ask again when some are done",
            len(line.running) + len(line.waiting),
            _RETRY_MS,
        )
