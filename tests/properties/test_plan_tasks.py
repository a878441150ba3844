"""A stored plan asks for the same again: every task and setting, with every parameter that either has."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardian.execution.loop.replanning import LiveReplanner
from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, CreateTopic, Isolate, MigrateIdc, Task
from guardian.model.ticket import Ticket, TicketState
from guardian.model.wire.plans import plan_from_proto, plan_to_bytes
from guardian.tickets.kinds.registry import TASKS
from protos.guardian.v1 import tasks_pb2, tickets_pb2
from spark_analytics.planners import planning
from tests.properties.nouns import nouns
from tests.unit.spark_analytics.planners.small import brokers, cluster

pytestmark = pytest.mark.slow

drawn = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=60)


class Planner:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Task, PlannerSettings | None]] = []

    def ask(self, _key: str, cluster: str, task: Task, settings: PlannerSettings | None = None) -> None:
        self.asked.append((cluster, task, settings))

    def forget(self, key: str) -> None:
        raise AssertionError(key)


def stored(plan: Plan) -> Plan:
    return plan_from_proto(tickets_pb2.Plan.FromString(plan_to_bytes(plan)))


@pytest.mark.parametrize("kind", TASKS.values(), ids=lambda kind: kind.kind)
@given(data=st.data())
@drawn
def test_a_plan_comes_back_with_its_task_and_settings(kind: type[Any], data: st.DataObject) -> None:
    task, how = data.draw(nouns(kind)), data.draw(nouns(PlannerSettings))
    plan = Plan("live", kind.kind, (), settings=how, task=task)
    assert stored(plan) == plan


@pytest.mark.parametrize("kind", get_args(Task), ids=lambda kind: kind.kind)
@given(data=st.data())
@drawn
def test_the_planner_is_asked_the_same_again(kind: type[Any], data: st.DataObject) -> None:
    task, how = data.draw(nouns(kind)), data.draw(nouns(PlannerSettings))
    known = Directory(
        machines=task.machines if isinstance(task, Isolate) else (),
        policies=(task.policy,) if isinstance(task, MigrateIdc) else (),
        topics=(task.topic,) if isinstance(task, CreateTopic) else (),
    )
    planner = Planner()
    ticket = Ticket("t-1", "live", kind.kind, TicketState.APPROVED, "ann", "hash", 1, 0, 0)
    plan = stored(Plan("live", kind.kind, (), settings=how, task=task))
    assert LiveReplanner(planner, lambda: known).replan(ticket, plan) is None
    assert planner.asked == [("live", task, how)]


def test_a_planner_says_in_the_plan_what_it_was_asked() -> None:
    task, how = Balance(("t-*",)), PlannerSettings(weights=(("disk-spread", 2.0),), min_leaders=(("t-*", 1),))
    plan = stored(planning.make(cluster(brokers(3), {"t-one-0": ([1, 2], 10), "t-one-1": ([1, 2], 10)}), task, how))
    planner = Planner()
    ticket = Ticket("t-1", "live", plan.kind, TicketState.APPROVED, "ann", "hash", 1, 0, 0)
    assert LiveReplanner(planner, Directory).replan(ticket, plan) is None
    assert planner.asked == [("live", task, how)]


def test_each_task_has_a_message_of_its_name() -> None:
    fields = [(field.name, field.message_type) for field in tasks_pb2.Task.DESCRIPTOR.fields]
    names = {name: message.name for name, message in fields if message is not None}
    assert names == {each.kind.replace("-", "_"): each.__name__ for each in TASKS.values()}
    assert len(names) > 15


def test_a_task_that_only_newer_members_know_is_none() -> None:
    newer = tickets_pb2.Plan(cluster="live", kind="retire-cluster")
    newer.task.MergeFromString(bytes([99 << 3 & 0x7F | 0x80 | 2, 99 >> 4, 0]))
    assert newer.task.ByteSize() > 0
    plan = plan_from_proto(newer)
    assert (plan.kind, plan.task) == ("retire-cluster", None)
