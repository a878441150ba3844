"""Whatever a person may order of a planner, a body orders."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, Isolate, LogDir
from guardian.planning.orders import LONGEST_WINDOW_MS, PlanOrder
from guardian.rest.bodies import PlanBody
from protos.guardian.v1 import federation_pb2 as pb
from tests.cases import orders as cases
from tests.unit.rest.service import Service

PLANS = "/api/v1/clusters/live/plans"


def body_of(order: PlanOrder) -> dict[str, Any]:
    task = order.task
    found: dict[str, Any] = {each.name: getattr(task, each.name) for each in fields(task)}
    if "log_dirs" in found:
        found["log_dirs"] = [{"broker": each.broker, "path": each.path} for each in found["log_dirs"]]
    if "configs" in found:
        found["configs"] = dict(found["configs"])
    changed = {
        name: None if value == math.inf else dict(value) if name in ("min_leaders", "weights") else value
        for name, value in order.changes.items()
    }
    return {
        "kind": task.kind,
        **found,
        "settings": changed,
        "excluded_topics": order.exclude_topics,
        "window_ms": order.window_ms,
    }


@given(cases.orders)
@settings(max_examples=100, deadline=None)
def test_a_body_orders_what_a_message_orders(order: PlanOrder) -> None:
    assert PlanBody.model_validate_json(json.dumps(body_of(order))).order() == order


def test_the_short_words_for_settings_win() -> None:
    given = {"throttle": 7, "cpu_limit": 0.5}
    body = {"kind": "heal", "goals": ["cpu-spread"], "throttle": 5, "settings": given}
    assert PlanBody.model_validate(body).order().changes == {
        "goals": ("cpu-spread",),
        "throttle": 5.0,
        "cpu_limit": 0.5,
    }


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.stop()


def test_a_body_with_all_options_is_planned(service: Service) -> None:
    asked = {
        "kind": "isolate-label",
        "label": "gold",
        "headroom": 0.2,
        "window_ms": 60_000,
        "settings": {"max_bytes": 9},
    }
    assert service.web.post(PLANS, json=asked).status_code == 200
    assert service.planner.asked[-1] == (Isolate("gold", headroom=0.2), PlannerSettings(max_bytes=9.0))
    assert service.planner.windows == [60_000]
    assert service.web.post("/api/v1/tickets", json={"cluster": "live", "plan": {"kind": "balance"}}).status_code == 201
    assert [task for task, _ in service.planner.asked][-1:] == [Balance()]


def test_a_migration_says_that_nobody_tells_what_clients_move(service: Service) -> None:
    entry = pb.FederationEntry(idc_policy=pb.IdcPolicy(name="two", replicas={"a": 2}))
    service.client.change_federation([pb.FederationChange(put=entry)])
    answer = service.web.post(PLANS, json={"kind": "migrate-idc", "policy": "two"})
    assert answer.json()["notes"][-1].startswith(
        "What producers and consumers put on lines is not all in these numbers"
    )


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"kind": "heal", "window_ms": LONGEST_WINDOW_MS * 24}, "window: longer than a member looks at"),
        ({"kind": "heal", "settings": {"cpu": 1}}, "cpu"),
        ({"kind": "heal", "settings": {"goals": ["fast"]}}, "goals: goal 'fast' is not known"),
        ({"kind": "isolate-label"}, "label is empty"),
        ({"kind": "create-topic", "topic": "t"}, "partitions is 0"),
    ],
)
def test_what_is_wrong_is_refused(service: Service, body: dict[str, Any], sentence: str) -> None:
    answer = service.web.post(PLANS, json=body)
    assert answer.status_code == 400
    assert sentence in answer.json()["detail"]
    assert service.planner.asked == []


def test_a_log_dir_of_a_body_is_checked() -> None:
    with pytest.raises(InvalidInput, match="use an absolute path"):
        PlanBody.model_validate({"kind": "empty-disk", "log_dirs": [{"broker": 1, "path": "d"}]}).order()
    found = PlanBody.model_validate({"kind": "empty-disk", "log_dirs": [{"broker": 1, "path": "/d"}]}).order()
    assert found.task.log_dirs == (LogDir(1, "/d"),)  # type: ignore[union-attr]
