"""After warming nobody compiles: neither a plan, nor one within a budget, nor one of leaders alone."""

from __future__ import annotations

from numba.core.dispatcher import Dispatcher

from guardian.model.planner_settings import PlannerSettings
from spark_analytics.planners.rules import compiled
from spark_analytics.planners.warming import warm
from spark_analytics.search import disks, forced, kernels
from spark_analytics.search.goal import Budget, Targets
from spark_analytics.search.search import find, leaders
from tests.bench.planner.fresh import Shape, model_of


def compiled_for() -> dict[str, int]:
    """Of each kernel that is kept on disk, for how many kinds of arguments this process has it."""
    several = {
        name: kernel
        for module in (kernels, disks, forced)
        for name, kernel in vars(module).items()
        if isinstance(kernel, Dispatcher) and kernel.stats.cache_path
    }
    return {name: len(kernel.signatures) for name, kernel in several.items()}


def test_no_plan_compiles_what_warming_has_not() -> None:
    warm()
    warmed = compiled_for()
    assert {"sweep", "exchange", "give_back", "place_forced", "_level_all", "_fit_beside", "_part_crowds"} <= set(
        warmed
    )
    assert all(warmed.values())
    for shape in (Shape(1, 12, 1_200, 3, 2, disks=2), Shape(2, 6, 300, 3, 3)):
        model = model_of(shape)
        rules, _ = compiled(model, PlannerSettings())
        for budget in (None, Budget(bytes=float(model.slot_load[:, 3].sum()) / 50)):
            find(model, rules, Targets.default(), budget)
        leaders(model, rules, Targets.default())
    assert compiled_for() == warmed
