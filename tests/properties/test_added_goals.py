"""Whatever a goal of another package asks, every kind of plan keeps it, and the checker agrees.

The examples are the same each time, so that none fails by chance; `make soak` looks for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model.federation import Machine, Topic
from guardian.model.goals import ADDED
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Isolate,
    Leaders,
    LogDir,
    MigrateIdc,
    Relieve,
    Remove,
    ReplicationFactor,
    Task,
)
from spark_analytics.checker import check
from spark_analytics.extensions import installed
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners.planning import make
from tests.properties.planning import GB, SPLIT, clusters
from tests.unit.spark_analytics.extensions.acme import Goal, Limit, Point

pytestmark = pytest.mark.slow

_SETTINGS = PlannerSettings()
_TASKS: list[Task] = [
    Balance(),
    Leaders(),
    Remove((0,)),
    Remove((1, 2), balance=True),
    Relieve(0.5),
    ReplicationFactor(("t0",), 2),
    ReplicationFactor(("t0",), 1),
    CreateTopic(Topic("live", "t9"), 3, 1),
    ExpandTopic("t0", 20),
    EmptyDisk((LogDir(0, "/a"),)),
    MigrateIdc(SPLIT, ("t0",)),
    Isolate("own", ("t0",), machines=tuple(Machine(f"m{each}", "east", f"n{each}", 900 * GB) for each in range(4))),
    Heal(),
    Add((0,)),
]
_SOAK = settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@contextmanager
def only(*goals: Goal) -> Iterator[None]:
    """Let these be all that is installed."""
    points = [Point(goal.name, lambda goal=goal: goal) for goal in goals]  # type: ignore[misc]  # mypy: no bound default
    with mock.patch.object(installed, "entry_points", lambda group: points if group == ADDED else ()):
        installed.installed.cache_clear()
        try:
            yield
        finally:
            installed.installed.cache_clear()


@st.composite
def limits(draw: st.DrawFn) -> Limit:
    """Draw some brokers, those that a plan lets join among them, and some of these to lead."""
    holding = draw(st.sets(st.integers(0, 12), min_size=1))
    leading = draw(st.sets(st.sampled_from(sorted(holding)), min_size=1))
    return Limit(draw(st.sampled_from(["t0", "t"])), frozenset(holding), frozenset(leading))


@given(clusters(), st.sampled_from(_TASKS), limits())
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_no_plan_places_against_it_and_the_checker_finds_nothing(model: ClusterModel, task: Task, limit: Limit) -> None:
    _kept(model, task, limit)


def _kept(model: ClusterModel, task: Task, limit: Limit) -> None:
    with only(limit.goal()):
        try:
            plan = make(model, task, _SETTINGS)
        except InvalidInput:
            return
        assert check(model, plan, _SETTINGS, task) == ()
    result = next(each for each in plan.goals if each.goal == limit.goal().name)
    assert result.is_met == (result.after == 0)
    for move in plan.moves:
        if move.partition.topic.startswith(limit.topics):
            assert set(move.added_brokers) <= limit.holding
            if isinstance(task, Balance | Heal) and move.original and move.original[0].broker in limit.leading:
                assert move.target[0].broker in limit.leading


@pytest.mark.soak
def test_it_is_kept_for_other_examples_each_time() -> None:
    _SOAK(given(clusters(), st.sampled_from(_TASKS), limits())(_kept))()
