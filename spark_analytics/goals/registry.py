"""All goals, in the order in which they are told: hard ones first. Their names are those of guardian.model.goals.

Those of other packages come last; only where they are asked to judge are they loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from guardian.model.goals import goal_named
from guardian.model.plan import GoalResult
from spark_analytics.extensions.installed import known
from spark_analytics.goals import (
    capacity,
    exclusion,
    idc_placement,
    label_isolation,
    leader_bytes_in_spread,
    leader_place,
    log_dir_capacity,
    log_dirs,
    min_leaders,
    potential_nw_out,
    rack_aware,
    replica_capacity,
    replication_factor,
    spread,
    topic_spread,
)
from spark_analytics.goals.added import AddedByPackage, added_goals
from spark_analytics.goals.goal import Goal, Placed
from spark_analytics.model.resources import Resource

GOALS: tuple[Goal, ...] = (
    replication_factor.GOAL,
    rack_aware.GOAL,
    idc_placement.GOAL,
    label_isolation.GOAL,
    exclusion.GOAL,
    *capacity.GOALS,
    log_dir_capacity.GOAL,
    replica_capacity.GOAL,
    leader_place.GOAL,
    min_leaders.GOAL,
    *spread.GOALS,
    leader_bytes_in_spread.GOAL,
    potential_nw_out.GOAL,
    topic_spread.GOAL,
    log_dirs.BYTES_SPREAD,
    log_dirs.IO_SPREAD,
)

_BY_NAME = {each.name: each for each in GOALS}


def goal(name: str) -> Goal:
    """Find a goal by Guardian's name or Cruise Control's, package or not. Raises InvalidInput that lists near names."""
    if "/" in name and any(name == each for each, _ in known()):
        return AddedByPackage(name)
    return _BY_NAME[goal_named(name).name]


def resources(name: str) -> tuple[Resource, ...]:
    """Return the resources that the search makes even for this goal; () where rules, or topics and disks themselves,
    keep it.
    """
    return goal(name).resources


def judged(before: Placed, after: Placed, goals: Sequence[Goal] = GOALS) -> tuple[GoalResult, ...]:
    """Return each goal before and after, those of other packages too.

    A hard one is met when nothing breaks it, a soft one when all of it is in target.
    """
    return tuple(
        GoalResult(
            goal=each.name,
            is_hard=each.is_hard,
            before=each.measure(before),
            after=each.measure(after),
            target=each.target(after),
            is_met=not any(True for _ in each.violations(after)),
        )
        for each in (*goals, *added_goals(after.rules))
    )


def explained(placed: Placed, most: int = 5, goals: Sequence[Goal] = GOALS) -> tuple[str, ...]:
    """Explain what is not as it should be, goal by goal, up to `most` sentences each: "rack: t-3 has 2 replicas in
    ...".
    """
    return tuple(f"{each.name}: {sentence}" for each in goals for sentence in islice(each.violations(placed), most))
