"""Goals of other packages are found by entry points, and one that is wrong is refused with its package's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from guardian.config import planner_settings
from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Heal
from spark_analytics.checker import check
from spark_analytics.extensions.goal import Narrowed
from spark_analytics.extensions.installed import installed, known, require_same
from spark_analytics.goals import registry
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners.planning import make
from tests.unit.spark_analytics.extensions.acme import (
    NAME,
    SENTENCE,
    Goal,
    Package,
    Point,
    hosts,
    with_goals,
    with_points,
)
from tests.unit.spark_analytics.planners.small import cluster

BAD = "bad/goal"


def small() -> ClusterModel:
    """Two topics on three brokers."""
    return cluster(hosts(2, 1), {"a-0": ((1, 2), 1), "b-0": ((2, 3), 1)})


def anywhere(model: ClusterModel) -> Narrowed:
    return Narrowed(np.full(len(model.topics), -1), np.ones((0, model.brokers), np.bool_))


@pytest.mark.usefixtures("acme")
def test_an_installed_package_is_found_with_its_version() -> None:
    assert known() == ((NAME, "acme-goals 1.2"),)
    [goal] = installed()
    assert (goal.name, goal.package, goal.sentence) == (NAME, "acme-goals 1.2", SENTENCE)


def test_without_a_package_there_is_none() -> None:
    assert known() == ()
    assert installed() == ()


def test_goals_stand_in_the_order_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with_goals(monkeypatch, *(Goal(name, anywhere) for name in ("z/a", "a/z", "a/b")))
    assert [goal.name for goal in installed()] == ["a/b", "a/z", "z/a"]


def raising(error: BaseException) -> Callable[..., Any]:
    def function(*_: object) -> None:
        raise error

    return function


def narrowed(**changed: Any) -> Callable[[ClusterModel], Any]:
    """An answer that is right for small(), but for what is changed."""
    return lambda _: Narrowed(
        **{"row_of_topic": np.array([0, -1]), "may_hold": np.array([[True, True, False]]), **changed}
    )


ONE_ROW = np.ones((1, 3), np.bool_)


@pytest.mark.parametrize(
    ("narrows", "said"),
    [
        (raising(ValueError("no\nluck")), "narrow raised ValueError: no"),
        (raising(SystemExit(3)), "narrow raised SystemExit: 3"),
        (raising(KeyError()), "narrow raised KeyError"),
        (lambda _: None, "narrow returned NoneType, not Narrowed"),
        (narrowed(may_hold=[[True]]), r"may_hold is list, not an array of bool \[rows, 3 brokers\]"),
        (narrowed(may_hold=np.ones((1, 3))), r"may_hold is an array of float64, not of bool \[rows, 3 brokers\]"),
        (narrowed(may_hold=np.ones(3, np.bool_)), r"may_hold has shape \(3,\), not \[rows, 3 brokers\]"),
        (narrowed(may_hold=np.ones((1, 2), np.bool_)), r"may_hold has shape \(1, 2\), not \[rows, 3 brokers\]"),
        (narrowed(may_lead=np.ones((2, 3), np.bool_)), "may_lead has 2 rows, may_hold 1"),
        (narrowed(may_lead=np.ones((1, 3), np.int64)), "may_lead is an array of int64, not of bool"),
        (narrowed(row_of_topic=np.array([0.0, 1.0])), r"row_of_topic is an array of float64, not of int \[2 topics\]"),
        (narrowed(row_of_topic=np.array([0])), r"row_of_topic has shape \(1,\), not \[2 topics\]"),
        (narrowed(row_of_topic=np.array([0, 1])), "row_of_topic has 0 to 1, may_hold has 1 rows, and -1 is none"),
        (narrowed(row_of_topic=np.array([-2, 0])), "row_of_topic has -2 to 0, may_hold has 1 rows"),
    ],
)
def test_a_goal_that_answers_the_search_wrongly_refuses_the_plan(
    monkeypatch: pytest.MonkeyPatch, narrows: Callable[[ClusterModel], Any], said: str
) -> None:
    """A good one beside it does not hold alone."""
    with_goals(monkeypatch, Goal("a/good", anywhere), Goal(BAD, narrows))
    with pytest.raises(InvalidInput, match=f"^goal bad/goal of acme-goals 1.0: {said}") as refused:
        make(small(), Heal())
    assert str(refused.value).endswith("; no plan is made with it: mend the package, or uninstall it")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        (raising(ZeroDivisionError("by 0")), "judge raised ZeroDivisionError: by 0"),
        (raising(SystemExit()), "judge raised SystemExit"),
        (lambda _: True, "judge returned bool, not str"),
        (lambda _: None, "judge returned NoneType, not str"),
    ],
)
def test_a_goal_that_answers_the_checker_wrongly_refuses_the_plan(
    monkeypatch: pytest.MonkeyPatch, judges: Callable[..., Any], said: str
) -> None:
    plan = make(small(), Heal())
    with_goals(monkeypatch, Goal(BAD, anywhere, judges))
    for asked in (lambda: make(small(), Heal()), lambda: check(small(), plan)):
        with pytest.raises(InvalidInput, match=f"^goal bad/goal of acme-goals 1.0: {said}; no plan"):
            asked()


class Lacking:
    name = BAD
    sentence = "has no judge"

    def narrow(self) -> None: ...


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (raising(ModuleNotFoundError("No module named 'x'")), "loading acme_goals:GOAL raised ModuleNotFoundError: No"),
        (raising(SystemExit("bye")), "loading acme_goals:GOAL raised SystemExit: bye"),
        (lambda: None, "loading acme_goals:GOAL raised AttributeError: 'NoneType' object has no attribute 'name'"),
        (Lacking, "loading acme_goals:GOAL raised AttributeError: 'Lacking' object has no attribute 'judge'"),
        (lambda: Goal, "loading acme_goals:GOAL raised AttributeError"),
        (lambda: type("C", (Goal,), {"name": BAD}), "acme_goals:GOAL is a class: name an object of it"),
        (lambda: Goal("bad/other", anywhere), "the object calls itself 'bad/other'"),
        (lambda: Goal(BAD, anywhere, sentence=""), "its sentence is '': say what holds"),
        (lambda: Goal(BAD, anywhere, sentence=7), "its sentence is 7: say what holds"),
        (type("G", (), {"name": BAD, "sentence": "s", "narrow": 1, "judge": 2}), "narrow and judge must be functions"),
    ],
)
def test_a_goal_that_can_not_be_loaded_refuses_all(
    monkeypatch: pytest.MonkeyPatch, load: Callable[[], object], said: str
) -> None:
    good = Goal("a/good", anywhere)
    with_points(monkeypatch, Point("a/good", lambda: good), Point(BAD, load, Package("broken", "0.1")))
    for _ in range(2):
        with pytest.raises(InvalidInput, match=f"^goal bad/goal of broken 0.1: .*{said}"):
            installed()


@pytest.mark.parametrize("name", ["rack", "CpuCapacityGoal", "acme.rack", "Acme/rack", "acme/", "/rack", "a/b/c", ""])
def test_a_name_without_a_prefix_of_the_package_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """So no goal of another package has the name of one of Guardian's."""
    with_points(monkeypatch, Point(name, lambda: None))
    with pytest.raises(InvalidInput, match=f"^goal {name} of acme-goals 1.0: its name is none: use lower-case"):
        known()
    assert not any("/" in alias for goal in registry.GOALS for alias in (goal.name, *goal.aliases))


def test_two_goals_of_one_name_are_refused_with_both_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [Point(BAD, lambda: None, Package(name)) for name in ("zeta", "alpha")]
    with_points(monkeypatch, *points)
    with pytest.raises(InvalidInput, match=r"^goal bad/goal of alpha 1\.0: zeta 1\.0 has one of that name too"):
        known()


def test_settings_may_name_an_installed_goal_and_nothing_is_loaded_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members read settings, and load no code of others."""
    with_points(monkeypatch, Point(NAME, raising(AssertionError("loaded"))))
    assert planner_settings({"goals": [NAME]}).goals == (NAME,)
    goal = registry.goal(NAME)
    assert (goal.name, goal.is_hard, goal.resources) == (NAME, True, ())
    with pytest.raises(InvalidInput, match="goal 'acme/other' is not known"):
        registry.goal("acme/other")


def test_a_plan_asked_for_by_a_goal_of_another_package_alone_mends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with_goals(monkeypatch, Goal(NAME, anywhere))
    plan = make(small(), Heal(), PlannerSettings(goals=(NAME,)))
    assert plan.moves == ()


def test_executors_answer_only_with_the_goals_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    require_same(())
    with_points(monkeypatch, Point(NAME, lambda: None))
    require_same(((NAME, "acme-goals 1.0"),))
    with pytest.raises(InvalidInput, match=f"an executor has goal {NAME} of acme-goals 1.0, which the job's own"):
        require_same(())
    with pytest.raises(
        InvalidInput,
        match=f"an executor lacks goal {NAME} of acme-goals 2.0 and has goal {NAME} of acme-goals 1.0, which the job",
    ):
        require_same(((NAME, "acme-goals 2.0"),))
