"""Whether a plan does what its task asks for, all of it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from guardian.model.plan import Plan
from guardian.model.tasks import Add, CreateTopic, ExpandTopic, Leaders, Relieve, Task
from spark_analytics.checker.done import check_done
from spark_analytics.checker.evenness import check_even
from spark_analytics.checker.loads import Sums
from spark_analytics.checker.places import Places
from spark_analytics.checker.relief import check_relieved
from spark_analytics.checker.rules import Rule, Violation
from spark_analytics.checker.world import World


def check_asked(
    world: World, plan: Plan, task: Task, at: Places, totals: tuple[Sums, Sums, Sums]
) -> Iterator[Violation]:
    """Yield a violation for all that the plan does beside its task or leaves undone of it. `at` is where replicas are
    when the plan is over, `totals` what brokers and log dirs carry.
    """
    if plan.kind != task.kind:
        yield Violation(Rule.TASK, f"the plan's kind is {plan.kind}, the task's is {task.kind}")
    for detail in _more_than_asked(world, plan, task):
        yield Violation(Rule.TASK, detail)
    for detail in check_done(world, plan, task, at):
        yield Violation(Rule.TASK, detail)
    if isinstance(task, Relieve):
        yield from (Violation(Rule.TASK, detail) for detail in check_relieved(world, plan, task, at))
    yield from (Violation(Rule.TASK, detail) for detail in check_even(world, plan, task, at, totals))


def _more_than_asked(world: World, plan: Plan, task: Task) -> Iterator[str]:
    """Yield what the plan does though such a task never does it, in sentences."""
    for move in plan.moves:
        now = {held.broker for held in world.partitions.get(move.partition, ())}
        comes = {place.broker for place in move.target} - now
        if isinstance(task, Leaders) and (comes or move.log_dir_moves):
            yield f"{move.partition} would be copied, and only leaders were to move"
        if isinstance(task, CreateTopic | ExpandTopic) and not move.is_new:
            yield f"{move.partition} would move, and only new partitions were to be placed"
        if isinstance(task, Add) and comes - set(task.brokers) - _dead_or_closed(world):
            yield f"{move.partition} would go to {sorted(comes)}, and only {sorted(task.brokers)} were to take"


def _dead_or_closed(world: World) -> set[int]:
    """These are told as closed already."""
    return {broker for broker, fact in world.brokers.items() if fact.closed}
