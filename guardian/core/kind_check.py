"""Check that a plan does what its kind says, and nothing else: approval rules go by the kind. Pure.

run-plan                     whatever a file asks for
leaders                      no replica is added or changes its log dir
create-topic, expand-topic   only the topic's new partitions
change-replication-factor    only topics that are named, to that number of replicas
add-brokers                  new replicas only on the added brokers
remove-brokers, empty-disk   no new replica on what is to become empty
others                       no partition is created, no replication factor changes, only topics that are named move
"""

from __future__ import annotations

from dataclasses import replace

from guardian.model.plan import RUN_PLAN, PartitionMove, Plan
from guardian.model.planner_settings import is_named
from guardian.model.tasks import (
    AclRepair,
    Add,
    Balance,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Leaders,
    LogDir,
    MigrateIdc,
    PlanTask,
    Remove,
    ReplicationFactor,
    ThrottleOverride,
)
from guardian.model.topology import ANY_LOG_DIR

# Their task, or the file, is all that they do: anybody may state them.
_STATED_BY_ANYBODY = (RUN_PLAN, AclRepair.kind, ThrottleOverride.kind)


def of_its_kind(plan: Plan, *, is_planners: bool) -> Plan:
    """Return the plan, with its originals filled in, as run-plan where it can't bear its kind; a note says why.

    `is_planners`: a planner that is trusted made it. Of others a plan may be a heal that takes replicas only off places
    that are gone, and one that does nothing but change replication factors.
    """
    why = _why_not(plan, is_planners)
    if not why:
        return plan
    return replace(plan, kind=RUN_PLAN, notes=(*plan.notes, f"kind {plan.kind} became {RUN_PLAN}: {why}"))


def clamped(plan: Plan, now_ms: int) -> Plan:
    """Return the plan as made not later than now: one from the future would never be too old."""
    return replace(plan, made_at_ms=min(max(plan.made_at_ms, 0), now_ms))


def _why_not(plan: Plan, is_planners: bool) -> str:
    if plan.kind in _STATED_BY_ANYBODY:
        return ""
    if plan.kind == ReplicationFactor.kind and plan.task is None:
        keeps = (move.partition for move in plan.moves if not move.changes_replication_factor)
        return next((f"{partition} keeps its replication factor" for partition in keeps), "")
    if plan.task is None:
        return "it does not say what it was asked for"
    if not is_planners and not (isinstance(plan.task, Heal) and all(map(_leaves_what_is_gone, plan.moves))):
        return "no planner of Guardian made it"
    return next((f"{each.partition} {why}" for each in plan.moves if (why := _why_unfit(plan.task, each))), "")


def _leaves_what_is_gone(move: PartitionMove) -> bool:
    """Return whether the move takes replicas only off places that are gone: of a broker that is down, and of a log dir
    that is offline, the original log dir is not known."""
    target = {place.broker: place.log_dir for place in move.target}
    left = [place for place in move.original if target.get(place.broker) not in (ANY_LOG_DIR, place.log_dir)]
    return bool(left) and all(place.log_dir == ANY_LOG_DIR for place in left)


def _why_unfit(task: PlanTask, move: PartitionMove) -> str:  # noqa: PLR0911  # one for each kind
    if move.is_new is not isinstance(task, CreateTopic | ExpandTopic):
        return "is created" if move.is_new else "is there already"
    if move.changes_replication_factor and not isinstance(task, ReplicationFactor):
        return "changes its replication factor"
    topic, added = move.partition.topic, set(move.added_brokers)
    match task:
        case CreateTopic(topic=entry) if entry.name != topic:
            return f"is not of topic {entry.name}"
        case ExpandTopic(topic=name) if name != topic:
            return f"is not of topic {name}"
        case Leaders() if added or move.log_dir_moves:
            return f"is copied ({move.bytes_to_copy} bytes)"
        case ReplicationFactor(replication_factor=factor) if len(move.target) != factor:
            return f"gets {len(move.target)} replicas, not {factor}"
        case Add(brokers=brokers) if not added <= set(brokers):
            return f"comes to broker {min(added - set(brokers))}, which is not among those added"
        case Remove(brokers=brokers) if added & set(brokers):
            return f"comes to broker {min(added & set(brokers))}, which is to be removed"
        case EmptyDisk(log_dirs=log_dirs) if any(LogDir(each.broker, each.log_dir) in log_dirs for each in move.target):
            return "comes to, or stays on, a log dir that is to be emptied"
    return _why_not_named(task, topic)


def _why_not_named(task: PlanTask, topic: str) -> str:
    named: tuple[str, ...] = ()
    if isinstance(task, Balance | Leaders | MigrateIdc | ReplicationFactor):
        named = task.topics
    if not named or any(is_named(topic, each) for each in named):
        return ""
    return f"is of a topic that is not named ({', '.join(named[:3])})"
