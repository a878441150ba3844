"""What pages keep for a moment, and forget when somebody has done something."""

from __future__ import annotations

from typing import cast

from guardian.client import GuardianClient
from guardian.model.plan import Plan
from guardian.tickets.pages.tickets_kept import PlanShelf, Recent


class Clock:
    at = 0.0

    def __call__(self) -> float:
        return self.at


def test_a_value_is_read_once_while_it_is_fresh() -> None:
    clock, reads = Clock(), iter(range(10))
    recent: Recent[str, int] = Recent(1.5, clock=clock)
    assert [recent.of("a", lambda: next(reads)) for _ in range(3)] == [0, 0, 0]
    assert recent.of("b", lambda: next(reads)) == 1
    clock.at = 1.5
    assert recent.of("a", lambda: next(reads)) == 2
    assert recent.read("a", lambda: next(reads)) == 3, "whoever reads anew does so for all"
    assert recent.of("a", lambda: next(reads)) == 3


def test_who_has_done_something_does_not_see_what_was_before() -> None:
    reads = iter(range(10))
    recent: Recent[str, int] = Recent(100.0)
    assert recent.of("a", lambda: next(reads)) == 0
    recent.forget()
    assert recent.of("a", lambda: next(reads)) == 1

    def slow() -> int:
        """Somebody acts while it is read."""
        recent.forget()
        return next(reads)

    assert recent.read("a", slow) == 2
    assert recent.of("a", lambda: next(reads)) == 3, "what was read before the act is not kept"


def test_who_read_longer_does_not_put_back_what_was_before() -> None:
    clock = Clock()
    recent: Recent[str, int] = Recent(100.0, clock=clock)

    def slow() -> int:
        """Somebody else reads anew meanwhile."""
        clock.at = 1.0
        assert recent.read("a", lambda: 2) == 2
        return 1

    assert recent.read("a", slow) == 1
    assert recent.of("a", lambda: 3) == 2


def test_no_more_is_kept_than_there_is_room_for() -> None:
    recent: Recent[int, int] = Recent(100.0, size=3)
    for key in range(5):
        recent.of(key, lambda key=key: key)  # type: ignore[misc]
    assert recent.of(4, lambda: -1) == 4
    assert recent.of(0, lambda: -1) == -1


def test_a_plan_is_read_once_and_the_least_used_is_put_away() -> None:
    asked: list[str] = []

    class Client:
        def plan(self, plan_hash: str) -> Plan:
            asked.append(plan_hash)
            return Plan("live", plan_hash, ())

    client, shelf = cast(GuardianClient, Client()), PlanShelf(size=2)
    for plan_hash in ("a", "b", "a", "c", "a", "b"):
        assert shelf.plan(client, plan_hash).kind == plan_hash
    assert asked == ["a", "b", "c", "b"]
