"""Nothing of Guardian's ever stays, and nothing foreign is ever overwritten, whatever happens in between.

The naive twin is what would be live if Guardian had never been there: only foreign changes touch it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.model.effects import ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.settings.rules import Live, Policy, Reconciliation, Required, entries_of, reconcile

pytestmark = pytest.mark.slow

KEY = ConfigKey("TOPIC", "t", "key")
RESOURCE = ("TOPIC", "t")
OURS = st.sampled_from(["1", "2", "3"])
THEIRS = st.sampled_from([None, "10", "20"])
OUR_ENTRIES = st.frozensets(st.sampled_from(["1", "2", "3"]), max_size=3)
THEIR_ENTRIES = st.frozensets(st.sampled_from(["10", "20"]), max_size=2)
CUTS = ["", "before the store", "before the send", "an old answer", "unreadable"]


@dataclass
class World:
    """One key, with what is stored, and a twin without Guardian. A step may be cut off, or see an old answer."""

    live: str | None
    policy: Policy
    twin: str | None = None
    stored: tuple[OwnedSetting, ...] = ()
    required: Required = field(default_factory=dict)
    last: str | None = None  # before the last change of Guardian's
    touched: bool = False  # the last change was Guardian's
    is_timed: bool = False  # who calls knows for how long a request may be on its way: two steps
    steps_left: int = 0

    def __post_init__(self) -> None:
        self.twin = self.live

    def step(self, cut: str = "") -> Reconciliation:
        is_old = cut == "an old answer" and self.touched
        seen = self.last if is_old else self.live
        self.touched = False
        pending = ({KEY} if self.steps_left else set()) if self.is_timed else None
        self.steps_left = max(self.steps_left - 1, 0)
        values = {KEY.key: seen} if seen is not None else {}
        found = reconcile(
            self.required, self.stored, Live({RESOURCE: values} if cut != "unreadable" else {}), self.policy, pending
        )
        if cut == "before the store":
            return found
        self.stored = found.settings
        self.steps_left = 2 if found.changes else self.steps_left
        if cut == "before the send":
            return found
        for change in found.changes.values():
            if change.expected == self.live != change.value:
                self.last, self.live, self.touched = self.live, change.value, True
        return found

    def settle(self) -> None:
        self.required = {}
        for _ in range(6):
            self.step()
        assert self.step() == Reconciliation()
        assert not self.stored


POLICIES = [Policy(), Policy(keeps_older=True), Policy(sets_deleted_again=True), Policy(keeps_older=True, is_cap=True)]
STAYS = st.just("stays")
# What is required from now on ("": nothing), what somebody else does, and how the step is cut off.
MOMENTS = st.lists(
    st.tuples(
        st.one_of(st.just(""), OURS),
        st.one_of(STAYS, STAYS, STAYS, THEIRS),
        st.one_of(st.just(""), st.sampled_from(CUTS)),
    ),
    max_size=8,
)


@pytest.mark.parametrize("is_timed", [False, True], ids=["steps", "timed"])
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=200)
@given(THEIRS, MOMENTS)
def test_a_value_is_in_the_end_what_it_was_without_guardian(
    policy: Policy, is_timed: bool, before: str | None, moments: list[tuple[str, str | None, str]]
) -> None:
    world = World(before, policy, is_timed=is_timed)
    for required, theirs, cut in moments:
        world.required = {KEY: required} if required else {}
        if theirs != "stays":
            world.live, world.twin, world.touched = theirs, theirs, False
        is_foreign = bool(world.stored) and world.live not in (*world.stored[0].values, world.stored[0].replaced)
        world.step(cut)
        if is_foreign and not (world.twin is None and policy.sets_deleted_again):
            assert world.live == world.twin, "a foreign value was overwritten"
    world.settle()
    assert world.live == world.twin


LIST_MOMENTS = st.lists(
    st.tuples(
        st.one_of(st.just(frozenset[str]()), OUR_ENTRIES),
        st.one_of(STAYS, STAYS, STAYS, st.just("*"), THEIR_ENTRIES),
        st.one_of(st.just(""), st.sampled_from(CUTS)),
    ),
    max_size=8,
)


@pytest.mark.parametrize("is_timed", [False, True], ids=["steps", "timed"])
@settings(max_examples=500)
@given(st.frozensets(st.sampled_from(["1", "10", "20"])), LIST_MOMENTS)
def test_a_list_has_in_the_end_the_entries_that_it_had_without_guardian(
    is_timed: bool, before: frozenset[str], moments: list[tuple[frozenset[str], frozenset[str] | str, str]]
) -> None:
    """Others change their own entries in place, or turn the list into a wildcard and back."""
    world = World(",".join(sorted(before)) or None, Policy(lists=frozenset({KEY.key})), is_timed=is_timed)
    for required, theirs, cut in moments:
        world.required = {KEY: required} if required else {}
        if theirs == "*":
            world.live, world.twin, world.touched = "*", "*", False
        elif isinstance(theirs, frozenset):
            kept = [each for each in entries_of(world.live) if each not in ("10", "20", "*")]
            stays = [each for each in entries_of(world.twin) if each == "1"]
            world.live = ",".join([*sorted(theirs), *kept]) or None
            world.twin, world.touched = ",".join([*sorted(theirs), *stays]) or None, False
        world.step(cut)
        if world.twin == "*":
            assert world.live == "*"
        assert {"10", "20"} & set(entries_of(world.live)) == {"10", "20"} & set(entries_of(world.twin))
    world.settle()
    assert sorted(entries_of(world.live)) == sorted(entries_of(world.twin))
