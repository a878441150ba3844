"""Does a plan keep the rules? Asked of every plan, also of one that was made elsewhere.

This is not the maker: it shares no code with the planners, the search and the goals. It walks the plan in plain Python,
and adds up all loads again from nothing. Numbers here are slow and obvious on purpose.

    world     the model as dictionaries, and what the task changes in it
    added     what goals of other packages forbid
    moves     each move by itself: places, racks, data centres, labels, exclusions, leaders
    stages    all moves in their order: whether disks and brokers have room at every moment
    loads     the load table, added up again
    costs     what was allowed to be spent, and the counts that each broker keeps
    asked     whether the task is done (done, relief, evenness): what is not is named, and nobody finds a place for it

While Kafka moves a partition its old replicas stay until the new ones are in sync, and one of them leads. So between
the beginning and the end of a move it has no fewer copies, racks or data centres than before. What can go wrong in
between is room, and that there is nobody to copy from.
"""

from __future__ import annotations

from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from spark_analytics.checker.added import with_added
from spark_analytics.checker.asked import check_asked
from spark_analytics.checker.costs import check_costs
from spark_analytics.checker.loads import check_loads, sums
from spark_analytics.checker.moves import check_move
from spark_analytics.checker.rules import Rule, Violation
from spark_analytics.checker.stages import check_stages
from spark_analytics.checker.world import World, finally_at
from spark_analytics.model.cluster_model import ClusterModel

__all__ = ["Rule", "Violation", "check"]


def check(
    model: ClusterModel, plan: Plan, settings: PlannerSettings | None = None, task: Task | None = None
) -> tuple[Violation, ...]:
    """Every rule that the plan breaks on this model, in the plan's order; none: it keeps them all.

    `model` is the cluster as it is, `task` what the plan was asked for, where it was asked for by one. An empty
    `original` stands for the model's, and "any" log dir for one of its broker; the load table is checked where the plan
    has one.
    """
    world = with_added(World.of(model, settings or PlannerSettings(), plan, task), plan)
    found = [] if plan.cluster == model.cluster else [Violation(Rule.CLUSTER, f"{plan.cluster}, not {model.cluster}")]
    seen = set()
    for move in plan.moves:
        if move.partition in seen:
            found.append(Violation(Rule.ONE_MOVE_A_PARTITION, str(move.partition)))
        seen.add(move.partition)
        found.extend(check_move(world, plan, move))
    if any(violation.rule.is_about_names for violation in found):
        return tuple(found)  # the sums below need known places
    found.extend(check_stages(world, plan))
    totals = sums(world, plan)
    found.extend(check_loads(world, plan, totals))
    at = finally_at(world, plan)
    found.extend(check_costs(world, plan, task, at))
    if task is not None:
        found.extend(check_asked(world, plan, task, at, totals))
    return tuple(found)
