"""What may be asked for in the browser is what the planner and the executor take: no option is left out."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, get_args

import pytest

from guardian.console.filling import Shape
from guardian.errors import InvalidInput
from guardian.model.operation import Ask, AskKind
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, LogDir, Relieve, Remove
from guardian.planning.orders import MigrateIdcOrder, OrderedTask, PlanOrder
from guardian.planning.pages.asking import FORMS, SETTINGS, AskForm, PlanForm

PLANS = [form for form in FORMS.values() if isinstance(form, PlanForm)]
OPERATIONS = [form for form in FORMS.values() if isinstance(form, AskForm)]
NOT_ON_PAGES = {"kind", "revision", "finalize", "metadata_version", "accepted_partitions", "accepted_brokers"}
TYPED = {
    Shape.TEXT: "name",
    Shape.WORDS: "a, b*",
    Shape.COUNT: "3",
    Shape.COUNTS: "1 2",
    Shape.NUMBER: "0.5",
    Shape.BYTES: "2GB",
    Shape.RATE: "20MB",
    Shape.DURATION: "10m",
    Shape.TICK: "true",
    Shape.LOG_DIRS: "1:/data/a",
    Shape.PAIRS: "retention.ms=1",
}


def test_there_is_a_form_for_each_kind_of_plan_and_operation() -> None:
    assert {form.make for form in PLANS} == set(get_args(OrderedTask))
    assert {form.kind for form in OPERATIONS} == set(AskKind)


@pytest.mark.parametrize("form", PLANS, ids=lambda form: form.name)
def test_a_form_has_all_that_its_task_takes(form: PlanForm) -> None:
    task: Any = form.make
    assert {field.name for field in form.fields} == {field.name for field in fields(task)}
    needed = {each.name for each in fields(task) if each.default is MISSING and each.default_factory is MISSING}
    assert needed <= {field.name for field in form.fields if field.is_required}


def test_operations_take_all_but_what_is_left_to_the_command_line() -> None:
    offered = {field.name for form in OPERATIONS for field in form.fields}
    assert offered == {field.name for field in fields(Ask)} - NOT_ON_PAGES


@pytest.mark.parametrize("form", PLANS, ids=lambda form: form.name)
def test_each_field_alone_reaches_the_order(form: PlanForm) -> None:
    needed = {field.name: TYPED[field.shape] for field in form.fields if field.is_required}
    plain = form.order(needed)
    for field in (*form.fields, *SETTINGS):
        if field.is_required or (field.name == "goals"):
            continue
        assert form.order({**needed, field.name: TYPED[field.shape]}) != plain, field.name


@pytest.mark.parametrize("form", [*PLANS, *OPERATIONS], ids=lambda form: form.name)
def test_what_a_form_shows_at_first_is_what_holds_without_it(form: PlanForm | AskForm) -> None:
    shown = {field.name: field.default for field in (*form.fields, *form.settings) if field.default}
    needed = {field.name: TYPED[field.shape] for field in form.fields if field.is_required and field.name not in shown}
    if isinstance(form, PlanForm):
        assert form.order({**shown, **needed}).changes == {}
    else:
        assert form.ask({**shown, **needed}).brokers == (1, 2)


def test_orders_are_what_was_typed() -> None:
    assert _order("relieve", limit="0.7", brokers="3", log_dirs="4:/d").task == Relieve(0.7, (3,), (LogDir(4, "/d"),))
    assert _order("empty-brokers", brokers="7, 8", balance="true").task == Remove((7, 8), balance=True)
    assert _order("balance", window="10m") == PlanOrder(Balance(), window_ms=600_000)
    with pytest.raises(InvalidInput, match="window: longer than a member looks at"):
        _order("balance", window="7h")
    assert _order("migrate-idc", policy="home", tenant="pay").task == MigrateIdcOrder("home", tenant="pay")
    order = _order("balance", max_bytes="2GB", max_seconds="10m", throttle="20MB", exclude_topics="logs-*, x")
    assert order == PlanOrder(Balance(), {"max_bytes": 2e9, "max_seconds": 600.0, "throttle": 20e6}, ("logs-*", "x"))
    assert order.settings(PlannerSettings()).max_seconds == 600


def test_an_operation_says_what_is_lacking() -> None:
    restart = FORMS["rolling-restart"]
    assert isinstance(restart, AskForm)
    with pytest.raises(InvalidInput, match=r"Hook: nothing is given; \[hooks.NAME\]"):
        restart.ask({"brokers": "1"})
    asked = restart.ask({"brokers": "2 1", "hook": "unit", "batch_limit": "1", "back_within_ms": "5m"})
    assert asked == Ask(AskKind.RESTART, (1, 2), hook="unit", batch_limit=1, back_within_ms=300_000)
    assert restart.throttle({"throttle": "20MB"}) == 20_000_000


def _order(name: str, **typed: str) -> PlanOrder:
    form = FORMS[name]
    assert isinstance(form, PlanForm)
    return form.order(typed)
