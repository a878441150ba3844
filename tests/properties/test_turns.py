"""Any requests of any persons in any order: never too many at once, nobody passed over, nothing lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import Overloaded
from guardian.planning.model import Lane, LaneLimits, PlansConfig
from guardian.planning.rules.turns import Line, Turn, joined, left

PERSONS = st.sampled_from(["ann", "ben", "cat", "dan", "eve"])
LIMITS = st.builds(
    LaneLimits,
    at_once=st.integers(1, 4),
    at_once_each=st.integers(1, 2),
    waiting_each=st.none() | st.integers(0, 4),
    waiting=st.none() | st.integers(0, 8),
)
# Somebody asks, or what began as the so-manieth is done, or what waits as the so-manieth is given up.
ACTS = st.lists(
    st.tuples(st.just("ask"), PERSONS) | st.tuples(st.sampled_from(["done", "given up"]), st.integers(0, 9)),
    max_size=60,
)


class Watched:
    """A line, and who has been passed over since his turn could have come."""

    def __init__(self, limits: LaneLimits) -> None:
        self.limits = limits
        self.line = Line()
        self.number = 0
        self.begun_since: dict[str, list[str]] = {}  # by a person who waits: who began since he could

    def ask(self, person: str) -> bool:
        turn = Turn(str(self.number), person, "plan")
        self.number += 1
        line = self.line
        try:
            then, begun = joined(line, turn, self.limits)
        except Overloaded:
            own = sum(each.person == person for each in line.waiting)
            bounds = (self.limits.waiting_each, self.limits.waiting)
            assert own == bounds[0] or len(line.waiting) == bounds[1], "it is refused only where a line is full"
            return False
        assert {*then.running, *then.waiting} == {*line.running, *line.waiting, turn}
        self.moved_to(then, begun)
        return True

    def leave(self, turn: Turn) -> None:
        then, begun = left(self.line, turn.id, self.limits)
        assert {*then.running, *then.waiting} == {*self.line.running, *self.line.waiting} - {turn}
        self.moved_to(then, begun)

    def moved_to(self, line: Line, begun: tuple[Turn, ...]) -> None:
        for turn in begun:
            self.begun_since.pop(turn.person, None)
            for others in self.begun_since.values():
                others.append(turn.person)
        self.line = line
        self.check()

    def check(self) -> None:
        line, limits = self.line, self.limits
        of_each = {turn.person: sum(each.person == turn.person for each in line.running) for turn in line.running}
        assert len(line.running) <= limits.at_once
        assert all(number <= limits.at_once_each for number in of_each.values())
        waiting = {turn.person for turn in line.waiting}
        assert set(line.ring) == waiting
        assert len(line.ring) == len(waiting)
        may = {person for person in waiting if of_each.get(person, 0) < limits.at_once_each}
        assert not may or len(line.running) == limits.at_once, "a slot is free, and somebody waits who may have it"
        self.begun_since = {person: self.begun_since.get(person, []) for person in may}
        for person, others in self.begun_since.items():
            assert all(others.count(each) <= 1 for each in others), f"{person} was passed over: {others}"


@given(LIMITS, ACTS)
def test_nobody_has_too_much_and_nobody_is_passed_over(limits: LaneLimits, acts: list[tuple[str, object]]) -> None:
    watched = Watched(limits)
    for what, which in acts:
        if isinstance(which, str):
            watched.ask(which)
            continue
        assert isinstance(which, int)
        turns = watched.line.running if what == "done" else watched.line.waiting
        if turns:
            watched.leave(turns[which % len(turns)])
    while watched.line.running:
        watched.leave(watched.line.running[0])
    assert watched.line == Line(), "all that was taken has had its turn"


@given(st.lists(PERSONS, max_size=60), st.integers(1, 8))
def test_healing_begins_whatever_people_ask_for(people: list[str], clusters: int) -> None:
    lanes = PlansConfig().lanes
    watched = {lane: Watched(limits) for lane, limits in lanes.items()}
    for person in people:
        watched[Lane.PEOPLE].ask(person)
    for number in range(clusters):
        assert watched[Lane.HEALING].ask(f"healing of {number}"), "healing is never refused"
    assert len(watched[Lane.HEALING].line.running) == min(clusters, lanes[Lane.HEALING].at_once)
