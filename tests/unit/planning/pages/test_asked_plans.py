"""Plans that are asked for in the browser: whose they are, how they end, how many there may be, who knows them."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from guardian.errors import ClusterUnavailable, NotFound, Overloaded, Unavailable
from guardian.model.plan import Plan
from guardian.planning.pages.asked_plan import AskedPlan
from guardian.planning.pages.asked_plans import AskedPlans, Told
from guardian.planning.store import ReplicatedUserTasks
from guardian.web.parts import Local
from tests.patience import until
from tests.unit.member.member import Member, plan

ANN, BOB = Local("ann"), Local("bob")
PLAN = Plan("live", "balance", ())


@pytest.fixture(scope="module")
def member() -> Iterator[Member]:
    made = Member()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def clock(member: Member) -> Iterator[int]:
    """Tick at each look: the group keeps the newest of each person."""
    return count(member.now_ms)


@pytest.fixture(scope="module")
def process(member: Member) -> ReplicatedUserTasks:
    """One for all tests: a late word of the test before would be that of a process that ended."""
    return ReplicatedUserTasks(member.store, "g1")


@pytest.fixture(scope="module")
def other_process(member: Member) -> ReplicatedUserTasks:
    return ReplicatedUserTasks(member.store, "g2")


@pytest.fixture
def asked(process: ReplicatedUserTasks, clock: Iterator[int]) -> Iterator[AskedPlans]:
    made = AskedPlans(lambda: next(clock), process)
    yield made
    made.close()


@pytest.fixture
def elsewhere(other_process: ReplicatedUserTasks, clock: Iterator[int]) -> Iterator[AskedPlans]:
    """Those of another member of the same group."""
    made = AskedPlans(lambda: next(clock), other_process)
    yield made
    made.close()


def over(plans: AskedPlans, one: AskedPlan) -> AskedPlan:
    until(lambda: plans.of(one.person, one.id).is_over)
    return plans.of(one.person, one.id)


def test_a_plan_is_its_askers_alone_with_what_he_typed(asked: AskedPlans) -> None:
    one = over(asked, asked.start(ANN, "live", "balance", {"topics": "a"}, lambda _: PLAN))
    assert (one.plan, one.error, one.given) == (PLAN, None, {"topics": "a"})
    with pytest.raises(NotFound, match="no member knows it"):
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


def kept(plans: AskedPlans, one: AskedPlan) -> AskedPlan:
    """Wait until the group knows how it ended; return it as another member shows it."""
    until(lambda: plans.of(one.person, one.id).is_over)
    return plans.of(one.person, one.id)


def test_every_member_knows_the_same_plan_and_its_asker_alone(asked: AskedPlans, elsewhere: AskedPlans) -> None:
    whole = replace(plan(3, 2), notes=("ü & more",))
    one = over(asked, asked.start(ANN, "live", "balance", {"topics": "a&b", "throttle": "20MB"}, lambda _: whole))
    there = kept(elsewhere, one)
    assert (there.plan, there.form, there.given, there.began_ms) == (whole, "balance", one.given, one.began_ms)
    with pytest.raises(NotFound, match="no member knows it"):
        elsewhere.of(BOB, one.id)


def test_another_member_tells_who_makes_it_and_why_it_failed(asked: AskedPlans, elsewhere: AskedPlans) -> None:
    go = threading.Event()

    def fails(_: Told) -> Plan:
        go.wait(60)
        raise ClusterUnavailable("cluster live: no broker answers")

    one = asked.start(ANN, "live", "heal", {}, fails)
    there = elsewhere.of(ANN, one.id)
    assert (there.is_over, there.doing) == (False, "member g1 makes it")
    go.set()
    error = kept(elsewhere, one).error
    assert isinstance(error, ClusterUnavailable)
    assert str(error) == "cluster live: no broker answers"


def test_one_that_is_given_up_elsewhere_ends_where_it_is_made(asked: AskedPlans, elsewhere: AskedPlans) -> None:
    go, ended = threading.Event(), threading.Event()

    def slow(tell: Told) -> Plan:
        go.wait(60)
        try:
            tell("on it goes")
        finally:
            ended.set()
        return PLAN

    one = asked.start(ANN, "live", "heal", {}, slow)
    assert "given up" in str(elsewhere.give_up(ANN, one.id).error)
    go.set()
    assert ended.wait(30)
    assert "given up" in str(over(asked, one).error)
    assert elsewhere.of(ANN, one.id).plan is None


def test_one_that_its_member_lost_says_so(member: Member, clock: Iterator[int], elsewhere: AskedPlans) -> None:
    go = threading.Event()
    gone = AskedPlans(lambda: next(clock), ReplicatedUserTasks(member.store, "g3"))

    def waits(_: Told) -> Plan:
        go.wait(60)
        return PLAN

    one = gone.start(ANN, "live", "heal", {}, waits)
    again = ReplicatedUserTasks(member.store, "g3")
    again.start()
    until(lambda: elsewhere.of(ANN, one.id).is_over)
    again.stop()
    error = elsewhere.of(ANN, one.id).error
    assert isinstance(error, Unavailable)
    assert "member g3 ended before the plan was made" in str(error)
    go.set()
    gone.close()


def test_a_plan_too_large_to_be_kept_is_still_the_member_s_own(asked: AskedPlans, elsewhere: AskedPlans) -> None:
    noise = random.Random(7)  # noqa: S311  the same each time
    large = replace(plan(3, 2), notes=tuple(noise.randbytes(40).hex() for _ in range(10_000)))
    one = over(asked, asked.start(ANN, "live", "balance", {}, lambda _: large))
    assert one.plan == large
    assert "too large to be kept" in str(kept(elsewhere, one).error)


def test_a_group_that_does_not_keep_it_keeps_nobody_from_his_plan(asked: AskedPlans) -> None:
    one = over(asked, asked.start(ANN, "live", "balance", {"topics": "x" * 12_000}, lambda _: PLAN))
    assert one.plan == PLAN
