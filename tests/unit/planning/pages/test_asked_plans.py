"""Plans that are asked for in the browser: whose they are, how they end, how many there may be."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from guardian.errors import ClusterUnavailable, NotFound, Overloaded
from guardian.model.plan import Plan
from guardian.planning.pages.asked_plans import AskedPlan, AskedPlans, Told
from guardian.web.parts import Local
from tests.patience import until

ANN, BOB = Local("ann"), Local("bob")
PLAN = Plan("live", "balance", ())


@pytest.fixture
def asked() -> Iterator[AskedPlans]:
    made = AskedPlans(lambda: 1000)
    yield made
    made.close()


def over(plans: AskedPlans, one: AskedPlan) -> AskedPlan:
    until(lambda: plans.of(one.person, one.id).is_over)
    return plans.of(one.person, one.id)


def test_a_plan_is_its_askers_alone_with_what_he_typed(asked: AskedPlans) -> None:
    one = over(asked, asked.start(ANN, "live", "balance", {"topics": "a"}, lambda _: PLAN))
    assert (one.plan, one.error, one.given, one.began_ms) == (PLAN, None, {"topics": "a"}, 1000)
    with pytest.raises(NotFound, match="this member does not know it"):
        asked.of(BOB, one.id)
    with pytest.raises(NotFound):
        asked.give_up(BOB, one.id)


def test_it_tells_what_is_done_and_why_it_failed(asked: AskedPlans) -> None:
    go = threading.Event()

    def fails(tell: Told) -> Plan:
        tell("the cluster is looked at")
        go.wait(60)
        raise ClusterUnavailable("cluster live: no broker answers")

    one = asked.start(ANN, "live", "heal", {}, fails)
    until(lambda: asked.of(ANN, one.id).doing == "the cluster is looked at")
    go.set()
    assert "no broker answers" in str(over(asked, one).error)


def test_one_that_is_given_up_ends_at_its_next_word_and_stays_given_up(asked: AskedPlans) -> None:
    go, ended = threading.Event(), threading.Event()

    def slow(tell: Told) -> Plan:
        go.wait(60)
        try:
            tell("on it goes")
        finally:
            ended.set()
        return PLAN

    one = asked.start(ANN, "live", "heal", {}, slow)
    assert "given up" in str(asked.give_up(ANN, one.id).error)
    go.set()
    assert ended.wait(30)
    assert asked.of(ANN, one.id).plan is None


def test_a_mistake_of_our_own_is_told_as_one(asked: AskedPlans) -> None:
    def broken(_: Told) -> Plan:
        raise KeyError("x")

    assert "see the member's log" in str(over(asked, asked.start(ANN, "live", "heal", {}, broken)).error)


def test_too_many_of_one_are_refused_and_others_go_on(asked: AskedPlans) -> None:
    go = threading.Event()

    def waits(_: Told) -> Plan:
        go.wait(60)
        return PLAN

    for _ in range(10):
        asked.start(ANN, "live", "heal", {}, waits)
    with pytest.raises(Overloaded, match="got 10 of ann's"):
        asked.start(ANN, "live", "heal", {}, waits)
    one = asked.start(BOB, "live", "heal", {}, lambda _: PLAN)
    assert over(asked, one).plan == PLAN
    go.set()


def test_old_ones_that_are_over_are_forgotten(asked: AskedPlans) -> None:
    first = over(asked, asked.start(ANN, "live", "heal", {}, lambda _: PLAN))
    for _ in range(200):
        over(asked, asked.start(ANN, "live", "heal", {}, lambda _: PLAN))
    with pytest.raises(NotFound):
        asked.of(ANN, first.id)
