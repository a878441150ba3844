"""Orders of plans and the plans that answer them, as messages."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest
from hypothesis import given

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Heal, Task
from guardian.model.wire import parts as wire
from guardian.model.wire.orders import order_from_proto, order_to_proto, parts_of_plan
from guardian.planning.orders import LONGEST_WINDOW_MS, IsolateOrder, OrderedTask, PlanOrder
from protos.guardian.v1 import planning_pb2, tickets_pb2
from tests.cases import orders as cases


def test_all_tasks_and_all_settings_are_tried() -> None:
    assert cases.TASKS.keys() == {task.kind for task in get_args(OrderedTask)} == {task.kind for task in get_args(Task)}
    assert cases.SETTINGS.keys() == {each.name for each in fields(PlannerSettings)}


@given(cases.orders)
def test_an_order_comes_back_as_it_was(order: PlanOrder) -> None:
    request = planning_pb2.MakePlanRequest.FromString(order_to_proto("live", order).SerializeToString())
    assert request.cluster == "live"
    assert order_from_proto(request) == order


def test_a_setting_that_is_to_be_none_wins_over_the_members_own() -> None:
    order = order_from_proto(order_to_proto("live", PlanOrder(Heal(), {"goals": (), "target_spread": None})))
    assert order.settings(PlannerSettings(target_spread=0.2, goals=("disk-spread",))) == PlannerSettings()


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (planning_pb2.MakePlanRequest(cluster="live"), "task: missing, or not known to this member .* give one of"),
        (
            planning_pb2.MakePlanRequest(heal={}, window_ms=LONGEST_WINDOW_MS + 60_000),
            r"window: longer than a member looks at for a plan \(got 6 h\); use up to 6 h, or plan with Spark",
        ),
        (planning_pb2.MakePlanRequest(heal={}, default_settings=["goal"]), "settings: 'goal' is none"),
        (planning_pb2.MakePlanRequest(heal={}, settings={"cpu_limit": 2}), "cpu_limit is 2"),
        (planning_pb2.MakePlanRequest(relieve={"limit": 7}), "limit is 7"),
        (planning_pb2.MakePlanRequest(isolate_label={}), "label is empty"),
        (planning_pb2.MakePlanRequest(create_topic={"topic": "t"}), "partitions is 0"),
        (planning_pb2.MakePlanRequest(migrate_idc={"tenant": "a", "topics": ["b"]}), "tenant is 'a' and topics"),
    ],
)
def test_what_is_wrong_is_refused(request_: planning_pb2.MakePlanRequest, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        order_from_proto(request_)


def test_a_number_that_no_message_holds_is_told() -> None:
    with pytest.raises(InvalidInput, match="a number is too large"):
        order_to_proto("live", PlanOrder(IsolateOrder("gold", release=2**40)))


def test_a_plan_comes_in_parts_that_are_small_and_together_are_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tickets_pb2.Plan(cluster="live", kind="heal", notes=["n" * 10], unmet=["u"], made_at_ms=7, seconds=1.5)
    for number in range(40):
        plan.loads.add(broker=number, before=1.0)
        plan.moves.add(topic="orders", partition=number, reason="r" * number)
    assert [*parts_of_plan(plan)] == [plan]
    for most in (1, 100, 400):
        monkeypatch.setattr(wire, "MAX_PART_BYTES", most)
        parts = [*parts_of_plan(plan)]
        assert len(parts) > 1
        assert all(part.ByteSize() <= most or len(part.loads) + len(part.moves) <= 1 for part in parts)
        joined = tickets_pb2.Plan()
        for part in parts:
            joined.MergeFrom(tickets_pb2.Plan.FromString(part.SerializeToString()))
        assert joined == plan
