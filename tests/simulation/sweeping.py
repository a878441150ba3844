"""A story is told again and again, each time with a death at another call of the driver (STYLE.md, 20).

    rehearsal ── the moments that its tickets pass, call by call ──▶ one death at least in each of them, and one at
                                                                     every so many calls besides

A moment is what the store holds: a ticket's kind, its state, the phase of its operation, and how far its moves are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pytest

from guardian.model.ticket import TicketState
from tests.simulation.world import Crash, Moment, Wire

# How a driver may die at a call: before it, after it, or in a write that reaches Kafka so many calls later. A call that
# is no write is never late: "late" is "before" there. test_every_kind.py tells of writes that never reach Kafka, for
# each kind of ticket at each of its moments.
DEATHS = pytest.mark.parametrize(
    ("after", "late"),
    [
        pytest.param(False, 0, id="before", marks=pytest.mark.long),
        pytest.param(True, 0, id="after"),
        pytest.param(False, 1, id="late"),
        pytest.param(False, 8, id="later", marks=pytest.mark.long),
    ],
)


class SweptWorld(Protocol):
    """Where stories are told."""

    wire: Wire

    def moments(self) -> frozenset[Moment]:
        """Those of all its tickets."""

    def new_driver(self) -> object:
        """Another process, which knows only the stores and Kafka."""

    def tick(self) -> object:
        """May raise Crash."""


World = TypeVar("World", bound=SweptWorld)


@dataclass(frozen=True)
class Swept:
    """At which moments a driver died, and in which states tickets stood after these deaths when stories were over: that
    of the rehearsal, in which nobody dies, is none of them."""

    moments: frozenset[Moment]
    ends: frozenset[TicketState]
    number: int


def sweep(
    make: Callable[[], World],
    story: Callable[[World], None],
    check: Callable[[World], None],
    after: bool,
    late: int,
    every: int,
    state: Callable[[World], TicketState] | None = None,
) -> Swept:
    """Dies at the first call in each moment and at every `every`-th one (at others in other modes), and looks at the
    end. `state` tells that of the ticket which the story is about."""
    rehearsal = make()
    rehearsal.wire.listen(rehearsal.moments)
    story(rehearsal)
    check(rehearsal)
    passed = rehearsal.wire.after_calls if after else rehearsal.wire.before_calls
    first: dict[Moment, int] = {}
    for call, moments in enumerate(passed, start=1):
        for moment in moments:
            first.setdefault(moment, call)
    died: set[Moment] = set()
    ends: set[TicketState] = set()
    calls = sorted({*first.values(), *range(1 + (2 * late + 3 * after) % every, len(passed) + 1, every)})
    for die_at in calls:
        world = make()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        world.wire.listen(world.moments)
        story(world)
        check(world)
        died |= world.wire.died_at
        ends |= {state(world)} if state else set()
    missed = first.keys() - died
    assert not missed, f"nobody died at {sorted(missed)}"
    return Swept(frozenset(died), frozenset(ends), len(calls))


def tick(world: SweptWorld) -> None:
    """A driver that dies is followed by another one."""
    try:
        world.tick()
    except Crash:
        world.new_driver()


def tick_until(world: SweptWorld, holds: Callable[[], bool], most: int = 600) -> None:
    """As `tick`, until it is so."""
    for _ in range(most):
        if holds():
            return
        tick(world)
    raise AssertionError(f"not so after {most} ticks: {sorted(world.moments())}")
