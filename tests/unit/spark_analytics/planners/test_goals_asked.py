"""What the goals and weights of the settings ask of the search."""

from __future__ import annotations

import numpy as np
import pytest

from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance
from spark_analytics.model.resources import Resource
from spark_analytics.planners.planning import make
from spark_analytics.planners.problem import goal_notes, targets_of
from tests.bench.planner.fresh import Shape, model_of


def test_without_goals_all_is_asked() -> None:
    targets = targets_of(PlannerSettings())
    assert np.isfinite(targets.cv).all()
    assert targets.disk_level == PlannerSettings().disk_spread
    assert targets.topic_spread


@pytest.mark.parametrize(
    ("goal", "levels_disks", "limits_topics"),
    [
        ("cpu-spread", False, False),
        ("CpuUsageDistributionGoal", False, False),
        ("log-dir-spread", True, False),
        ("log-dir-io-spread", True, False),
        ("topic-spread", False, True),
        ("rack", False, False),
    ],
)
def test_disks_are_levelled_and_topics_limited_only_where_a_goal_names_it(
    goal: str, levels_disks: bool, limits_topics: bool
) -> None:
    targets = targets_of(PlannerSettings(goals=(goal,)))
    assert np.isfinite(targets.disk_level) == levels_disks
    assert targets.topic_spread == limits_topics


def test_a_weight_of_nothing_asks_for_nothing() -> None:
    targets = targets_of(PlannerSettings(weights=(("cpu-spread", 0.0),)))
    assert np.flatnonzero(np.isinf(targets.cv)).tolist() == [Resource.CPU]


def test_hard_goals_alone_ask_for_mending_and_the_plan_says_so() -> None:
    assert goal_notes(PlannerSettings()) == ()
    assert goal_notes(PlannerSettings(goals=("rack", "cpu-spread"))) == ()
    plan = make(model_of(Shape(11, 12, 600, 3, 2)), Balance(), PlannerSettings(goals=("rack",)))
    assert plan.moves == ()
    assert any(note.startswith("goals names rack: what breaks a rule is mended") for note in plan.notes)
