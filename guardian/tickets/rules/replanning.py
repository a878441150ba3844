"""When a ticket is planned anew, before it runs or at its end, and what it may do then without a new approval. Pure.

approved ──▶ still fits the cluster, young enough ──▶ runs
         ──▶ a partition of it was moved          ──▶ is made anew ──▶ no more than was approved ──▶ runs
         ──▶ its input is older than allowed      ──▶ is made anew          more ──▶ FAILED, nothing was changed

all tasks are over ──▶ a broker died in mid-move  ──▶ is made anew ──▶ no more than was approved ──▶ goes on
                   ──▶ partitions went elsewhere
                   ──▶ a topic was expanded       ──▶ is made anew          more, or none ──▶ ends, and says so

An expansion by another tool disturbs no move in flight, and those of tickets are made again after one by a ticket
(guardian/execution/rules/expanding.py). But the new partitions may be where the ticket moves everything away from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from guardian.execution.rules import losing
from guardian.execution.rules.beginning import why_stale
from guardian.execution.rules.executing import Step
from guardian.model.cluster_state import ClusterObservation
from guardian.model.directory import Directory
from guardian.model.effects import ConfigKey, SettleDebts
from guardian.model.execution import ExecutionTask, TaskState
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket
from guardian.model.topology import TopicPartition
from guardian.model.units import human_bytes, human_duration

# The cluster lives on between approval and start: a plan of today moves a little more or less than that of yesterday.
_MARGIN = 1.25
_NAMED = 3


def doubts(plan: Plan, observation: ClusterObservation, barred: str, max_age_ms: int, now_ms: int) -> tuple[str, str]:
    """Say why the plan must not start as it was approved, and why it should not; empty where it may. `barred` is what
    somebody has said of its brokers since.
    """
    stale = why_stale(plan, observation) or barred
    return stale, stale or why_old(plan, max_age_ms, now_ms)


def why_old(plan: Plan, max_age_ms: int, now_ms: int) -> str:
    """Say why the plan should be made anew though the cluster still fits it; empty when it need not."""
    age_ms = now_ms - plan.made_at_ms
    if not plan.made_at_ms or not max_age_ms or age_ms <= max_age_ms:
        return ""
    return f"it was made of samples that are {human_duration(age_ms)} old, more than {human_duration(max_age_ms)}"


def why_beyond(ticket: Ticket, plan: Plan) -> str:
    """Say why the new plan needs an approval of its own; empty when that of the ticket covers it.

    A part of a sequence is planned anew with all that follows it: the task is that of the whole.
    """
    if plan.cluster != ticket.cluster:
        return f"it is for cluster {plan.cluster}"
    part = ticket.part
    moves, size = (part.left_moves, part.left_bytes) if part is not None else (ticket.moves, ticket.bytes_to_copy)
    if len(plan.moves) > moves * _MARGIN:
        return f"it has {len(plan.moves)} moves, {moves} were approved"
    if plan.bytes_to_copy > size * _MARGIN:
        return f"it copies {human_bytes(plan.bytes_to_copy)}, {human_bytes(size)} were approved"
    return ""


def why_of_others(ticket: Ticket, plan: Plan, new: Plan, directory: Directory) -> str:
    """Return why the new plan is none that the author could ask for. He may move topics of some tenants only, and it
    moves one of others that `plan` does not; empty where there is none.
    """
    if not ticket.tenants:
        return ""
    known = {move.partition.topic for move in plan.moves}
    owners = {topic.name: topic.tenant for topic in directory.topics if topic.cluster == ticket.cluster}
    for topic in sorted({move.partition.topic for move in new.moves} - known):
        tenant = owners.get(topic, "")
        if not tenant or not any(fnmatchcase(tenant, each) for each in ticket.tenants):
            owner = f"tenant {tenant}" if tenant else "no tenant"
            his = ", ".join(ticket.tenants)
            return f"it moves topic {topic} of {owner}, and {ticket.author} may move topics of {his}"
    return ""


def is_at_its_end(decided: Step) -> bool:
    """Return whether nothing is left to do in this step's plan. What brokers that are down owe (a configuration to be
    put back once a controller or they can be reached) holds up no new one.
    """
    if decided.transition is not None:
        return True
    owed = {key for each in decided.effects if isinstance(each, SettleDebts) for key in each.values}
    kept = {ConfigKey.of(each) for each in decided.execution.throttles}
    return (
        kept <= owed
        and all(isinstance(effect, SettleDebts) for effect in decided.effects)
        and all(task.state.is_over for task in decided.execution.tasks)
    )


def counted(tasks: tuple[ExecutionTask, ...], partitions: Collection[TopicPartition]) -> tuple[ExecutionTask, ...]:
    """The tasks, each move with how many partitions its topic has: those that there are, and that the tasks create."""
    numbers = {task.move.partition for task in tasks if task.move.is_new}.union(partitions)
    counts = Counter(partition.topic for partition in numbers)
    return tuple(
        task if task.move.is_new else replace(task, topic_partitions=counts[task.move.partition.topic])
        for task in tasks
    )


def counted_topics(tasks: Collection[ExecutionTask]) -> frozenset[str]:
    """The topics of which it is known how many partitions they had."""
    return frozenset(task.move.partition.topic for task in tasks if task.topic_partitions)


def grown(tasks: Collection[ExecutionTask], partitions: Collection[TopicPartition]) -> dict[str, tuple[int, int]]:
    """Return by topic how many partitions it had and has, where somebody else expanded it meanwhile."""
    before: dict[str, int] = {}
    for task in tasks:
        topic = task.move.partition.topic
        before[topic] = max(before.get(topic, 0), task.topic_partitions)
    now = Counter(partition.topic for partition in partitions)
    return {topic: (count, now[topic]) for topic, count in sorted(before.items()) if 0 < count < now[topic]}


def why_anew(tasks: Collection[ExecutionTask], expanded: Mapping[str, tuple[int, int]]) -> str:
    """Say why what a ticket is for should be planned anew at its end; empty when it need not. One that failed for
    another reason than a lost broker ends, however its topics grew: somebody must look at it.
    """
    lost = [task for task in tasks if losing.is_lost(task)]
    failed = any(task.state is TaskState.FAILED and not losing.is_lost(task) for task in tasks)
    reasons = ["a broker died in mid-move"] if not all(map(losing.was_overtaken, lost)) else []
    reasons += ["partitions of it went elsewhere before their turn"] if any(map(losing.was_overtaken, lost)) else []
    if expanded and not failed:
        reasons.append(f"{_named(expanded)} in mid-move")
    return ", and ".join(reasons)


def why_unmet(expanded: Mapping[str, tuple[int, int]], why_none: str, *, is_met: bool = False) -> str:
    """Say of a ticket that ends though topics grew that a new plan found nothing to move (`is_met`), or why there is
    none. Empty where none grew.
    """
    if not expanded:
        return ""
    if is_met:
        return f"{_named(expanded)} meanwhile, and a new plan has nothing to move"
    return f"{_named(expanded)} meanwhile, and what is new was not planned{f': {why_none}' if why_none else ''}"


def continued(
    tasks: tuple[ExecutionTask, ...], new: tuple[ExecutionTask, ...], counts: Mapping[str, int]
) -> tuple[ExecutionTask, ...]:
    """The tasks with those of a new plan behind them; `counts` are the partitions, by topic, that this plan knew of.

    What is moved a second time comes in a later stage, so that a roll-back takes back the later move first.
    """
    done = {task.move.partition for task in tasks if task.state is TaskState.DONE}
    if any(task.move.partition in done for task in new):
        later = 1 + max(task.move.stage for task in tasks)
        new = tuple(replace(task, move=replace(task.move, stage=task.move.stage + later)) for task in new)
    known = tuple(
        replace(task, topic_partitions=counts[task.move.partition.topic])
        if 0 < task.topic_partitions < counts.get(task.move.partition.topic, 0)
        else task
        for task in tasks
    )
    return losing.replaced(known, new)


def _named(expanded: Mapping[str, tuple[int, int]]) -> str:
    each = [f"topic {topic} grew from {before} to {now} partitions" for topic, (before, now) in expanded.items()]
    return ", ".join(each[:_NAMED]) + (f" and {len(each) - _NAMED} more did" if len(each) > _NAMED else "")
