"""A kind that approval rules go by is that of what the plan does, whatever its author calls it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.model.acl import AclBinding
from guardian.model.federation import IdcPolicy, Topic
from guardian.model.plan import RUN_PLAN, PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import (
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
)
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds.acl_repair import AclRepair
from guardian.tickets.kinds.kind import AnyKind
from guardian.tickets.kinds.registry import KINDS
from guardian.tickets.kinds.throttle_override import ThrottleOverride
from guardian.tickets.rules.kind_check import clamped, of_its_kind


def places(*where: int | str) -> tuple[ReplicaPlacement, ...]:
    """Broker, or "broker:path"; a broker alone is on its /d."""
    parts = [str(each).partition(":") for each in where]
    return tuple(ReplicaPlacement(int(broker), path or "/d") for broker, _, path in parts)


def move(before: tuple[int | str, ...], after: tuple[int | str, ...], topic: str = "t") -> PartitionMove:
    partition = TopicPartition(topic, 0)
    return PartitionMove(partition, places(*before), places(*after), size_bytes=5 * 10**12, is_new=not before)


COPIED, LED, NEW = move((1, 2), (3, 2)), move((1, 2), (2, 1)), move((), (1, 2))
GROWN = move((1, 2), (1, 2, 3))
POLICY = IdcPolicy("two", (("a", 2),))


def plan(task: PlanTask | None, *moves: PartitionMove, kind: str = "") -> Plan:
    return Plan("live", kind or (task.kind if task else RUN_PLAN), moves, task=task)


@pytest.mark.parametrize(
    ("task", "fits", "why"),
    [
        (Leaders(), LED, ""),
        (Leaders(), COPIED, "t-0 is copied (5.0 TB)"),
        (Leaders(), move((1, 2), ("1:/e", 2)), "t-0 is copied"),
        (Balance(), COPIED, ""),
        (Balance(("logs-*",)), COPIED, "t-0 is of a topic that is not named (logs-*)"),
        (Balance(), NEW, "t-0 is created"),
        (Balance(), GROWN, "t-0 changes its replication factor"),
        (CreateTopic(Topic("live", "t"), 1, 2), NEW, ""),
        (CreateTopic(Topic("live", "u"), 1, 2), NEW, "t-0 is not of topic u"),
        (CreateTopic(Topic("live", "t"), 1, 2), COPIED, "t-0 is there already"),
        (ExpandTopic("t", 4), NEW, ""),
        (ExpandTopic("u", 4), NEW, "t-0 is not of topic u"),
        (ReplicationFactor(("t",), 3), GROWN, ""),
        (ReplicationFactor(("t",), 4), GROWN, "t-0 gets 3 replicas, not 4"),
        (ReplicationFactor(("u",), 3), GROWN, "t-0 is of a topic that is not named (u)"),
        (Add((3,)), COPIED, ""),
        (Add((4,)), COPIED, "t-0 comes to broker 3, which is not among those added"),
        (Remove((1,)), COPIED, ""),
        (Remove((3,)), COPIED, "t-0 comes to broker 3, which is to be removed"),
        (EmptyDisk((LogDir(1, "/d"),)), COPIED, ""),
        (EmptyDisk((LogDir(3, "/d"),)), COPIED, "t-0 comes to, or stays on, a log dir that is to be emptied"),
        (MigrateIdc(POLICY, ("u",)), COPIED, "t-0 is of a topic that is not named (u)"),
        (Heal(), COPIED, ""),
        (Heal(), NEW, "t-0 is created"),
    ],
)
def test_what_a_planner_calls_its_plan_is_so(task: PlanTask, fits: PartitionMove, why: str) -> None:
    asked = plan(task, fits)
    found = of_its_kind(asked, is_planners=True)
    if not why:
        assert found == asked
    else:
        assert found.kind == RUN_PLAN
        assert found.task == task
        assert found.notes[-1].startswith(f"kind {task.kind} became run-plan: {why}")


@pytest.mark.parametrize("task", [Leaders(), Balance(), Remove((1,))])
def test_a_file_is_no_plan_of_a_planner(task: PlanTask) -> None:
    found = of_its_kind(plan(task, LED), is_planners=False)
    assert (found.kind, found.task) == (RUN_PLAN, task)
    assert found.notes == (f"kind {task.kind} became run-plan: no planner of Guardian made it",)
    untold = of_its_kind(plan(None, COPIED, kind="leaders"), is_planners=True)
    assert untold.kind == RUN_PLAN
    assert untold.notes == ("kind leaders became run-plan: it does not say what it was asked for",)


@pytest.mark.parametrize(
    ("moved", "kind"),
    [
        (move(("1:any", 2), (3, 2)), "heal"),
        (move(("1:any", 2), ("1:/e", 2)), "heal"),  # off a log dir that is offline
        (move((1, 2), (3, 2)), RUN_PLAN),
        (move(("1:any", 2), (3, 4)), RUN_PLAN),  # 2 is alive
        (move(("1:any", 2), (2, "1:any")), RUN_PLAN),  # it takes nothing off
    ],
)
def test_a_person_may_file_what_takes_replicas_off_places_that_are_gone_as_a_heal(
    moved: PartitionMove, kind: str
) -> None:
    assert of_its_kind(plan(Heal(), moved), is_planners=False).kind == kind


def test_what_says_all_that_it_does_bears_its_kind_whoever_made_it() -> None:
    rule = AclBinding("TOPIC", "LITERAL", "t", "User:ann", "*", "READ", "ALLOW")
    for task in (ThrottleOverride(1, 10**6, 5), AclRepair((rule,))):
        assert of_its_kind(plan(task), is_planners=False) == plan(task)
    assert of_its_kind(plan(None, COPIED), is_planners=False) == plan(None, COPIED)


def test_a_file_may_say_that_it_changes_replication_factors_and_nothing_else() -> None:
    kind = ReplicationFactor.kind
    assert of_its_kind(plan(None, GROWN, kind=kind), is_planners=False).kind == kind
    more = replace(COPIED, partition=TopicPartition("u", 0))
    assert of_its_kind(plan(None, GROWN, more, kind=kind), is_planners=False).kind == RUN_PLAN


def test_no_plan_is_made_in_the_future_or_before_time_began() -> None:
    assert [clamped(replace(plan(None), made_at_ms=at), 1000).made_at_ms for at in (-5, 0, 7, 1000, 10**15)] == [
        0,
        0,
        7,
        1000,
        1000,
    ]


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.moves_replicas and kind.name != RUN_PLAN])
def test_no_kind_of_moves_is_believed_of_a_file(kind: AnyKind) -> None:
    keeps = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),), 5 * 10**12)
    assert of_its_kind(Plan("live", kind.name, (keeps,)), is_planners=False).kind == RUN_PLAN
