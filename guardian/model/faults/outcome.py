"""Tells the outcome of a story: the least and the most of all ways in which it can come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise

from guardian.model.faults.controller import NO_LEADER, Settings
from guardian.model.faults.event import Story
from guardian.model.faults.times import Times, paces
from guardian.model.faults.unfolding import STEP_S, Before, Beginning, Ended, World


class Lost(IntEnum):
    """Kinds of loss of acknowledged records, from none to all. Values are those of the wire."""

    NONE = 1
    SECONDS = 2  # what was produced in so many seconds
    SINCE_BEHIND = 3  # besides, all since the copy that leads fell out of the ISR
    UNFLUSHED = 4  # all that was never fsynced
    EVERYTHING = 5  # no copy is left


class Chance(IntEnum):
    """Tell whether something comes: in no way that a story can take, in some of them, or in all. Values are those of
    the wire."""

    NEVER = 1
    MAYBE = 2
    ALWAYS = 3

    @staticmethod
    def of(ways: Iterable[bool]) -> Chance:
        """Return the chance by whether it comes in each of the ways; there is at least one."""
        found = set(ways)
        return Chance.MAYBE if len(found) > 1 else Chance.ALWAYS if found.pop() else Chance.NEVER


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds, from the fastest to the slowest way."""

    least_s: float
    most_s: float

    @staticmethod
    def of(seconds: Iterable[float]) -> Span:
        """Return the span of these; there is at least one."""
        found = tuple(seconds)
        return Span(min(found), max(found))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tell what a story comes to for one partition and one kind of producer.

    `lost` is the worst kind that can come, `is_certain` tells that every way loses something, and `lost_s` how many
    seconds of what was produced. `read_lost` tells whether readers had records that are gone. `silent_s` is the longest
    time without an acknowledgement, `unread_s` the longest in which a reader gets nothing new. `ended` says how the
    silence ends in the slowest way, `awaited` which brokers were waited for meanwhile. `leaders` says who may lead at
    the end, and `elrs` every ELR that is passed through, ids in order.
    """

    lost: Lost
    is_certain: bool
    lost_s: Span
    read_lost: Chance
    silent_s: Span
    ended: Ended
    awaited: tuple[int, ...]
    leaders: tuple[int, ...]
    elrs: frozenset[tuple[int, ...]]
    unread_s: Span

    @property
    def is_safe(self) -> bool:
        """Tell that nothing acknowledged is lost, whichever way it comes."""
        return self.lost is Lost.NONE


@dataclass(frozen=True, slots=True)
class _Play:
    lost: Lost
    lost_s: float
    read_lost: bool
    silent_s: float
    ended: Ended
    awaited: tuple[int, ...]
    leader: int
    elrs: frozenset[tuple[int, ...]]
    unread_s: float


def outcome(
    start: Beginning,
    settings: Settings,
    story: Story,
    *,
    acks_all: bool,
    times: Times | None = None,
    controllers: tuple[int, ...] = (),
) -> Outcome:
    """Return what the story does to a partition that begins so; `controllers` name the quorum, the active one first."""
    known = times or Times()
    plays = []
    for pace in paces(known, heals=story.heals):
        first, together = 0, 1
        while first < together:
            world = World.of(
                start,
                acks_all=acks_all,
                settings=settings,
                times=known,
                pace=replace(pace, first=first),
                controllers=controllers or (NO_LEADER,),
            )
            world.play(story)
            plays.append(_seen(world, story))
            first, together = first + 1, world.fenced_together
    slowest = max(plays, key=lambda play: play.silent_s)
    return Outcome(
        lost=max(play.lost for play in plays),
        is_certain=all(play.lost is not Lost.NONE for play in plays),
        lost_s=Span.of(play.lost_s for play in plays),
        read_lost=Chance.of(play.read_lost for play in plays),
        silent_s=Span.of(play.silent_s for play in plays),
        ended=slowest.ended,
        awaited=tuple(sorted({each for play in plays for each in play.awaited})),
        leaders=tuple(sorted({play.leader for play in plays if play.leader != NO_LEADER})),
        elrs=frozenset().union(*(play.elrs for play in plays)),
        unread_s=Span.of(play.unread_s for play in plays),
    )


def _seen(world: World, story: Story) -> _Play:
    left = _left(world)
    made = [record for record in world.producer.acked if record not in left]
    began_s, silent_s = _silence(world.producer.acked_at_s, story)
    return _Play(
        lost=_kind(left, lost=bool(made)),
        lost_s=len(made) * STEP_S,
        read_lost=not world.read <= left,
        silent_s=silent_s,
        ended=_end(world, began_s, began_s + silent_s, story),
        awaited=tuple(world.awaited),
        leader=world.record.leader,
        elrs=frozenset(tuple(sorted(elr)) for elr in world.elrs),
        unread_s=_silence(world.reader.had_at_s, story)[1],
    )


def _left(world: World) -> set[int]:
    """Return the records that the leader has, or the best copy that is waited for."""
    ids = (world.record.leader,) if world.record.leader != NO_LEADER else world.record.awaited()
    logs = [world.replicas[each].log for each in ids if each in world.replicas]
    return {record for record, _ in max(logs, key=len, default=[])}


def _kind(left: set[int], *, lost: bool) -> Lost:
    if Before.ON_DISK not in left:
        return Lost.EVERYTHING
    if Before.UNFLUSHED not in left:
        return Lost.UNFLUSHED
    if Before.RECENT not in left:
        return Lost.SINCE_BEHIND
    return Lost.SECONDS if lost else Lost.NONE


def _silence(moments: list[float], story: Story) -> tuple[float, float]:
    """Return (since when, how long) a client heard nothing, at the longest; a step is no silence."""
    began = [] if moments and moments[0] <= 0 else [0.0]
    times = [*began, *moments, story.until_s]
    gaps = [(after - before, before) for before, after in pairwise(times)]
    length_s, began_s = max(gaps, key=lambda gap: (gap[0], -gap[1]))
    return (began_s, length_s) if length_s > 2 * STEP_S else (began_s, 0.0)


def _end(world: World, began_s: float, ended_s: float, story: Story) -> Ended:
    if ended_s <= began_s:
        return Ended.HEALED
    if ended_s >= story.until_s:
        return Ended.NEVER
    turns = [turn.how for turn in world.turns if began_s <= turn.at_s <= ended_s]
    return turns[-1] if turns else Ended.HEALED
