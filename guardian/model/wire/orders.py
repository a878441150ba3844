"""What a person asks a plan for, and the plan that answers it, which may be larger than a message <-> protobuf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

from google.protobuf.message import Message

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.wire.fields import filled, read
from guardian.model.wire.parts import parts_of
from guardian.planning.orders import OrderedTask, PlanOrder
from protos.guardian.v1 import planning_pb2 as pb
from protos.guardian.v1 import tickets_pb2

_CUT = ("loads", "moves")  # the rows of a plan of which there may be very many
_TASKS: dict[str, type[OrderedTask]] = {task.kind.replace("-", "_"): task for task in get_args(OrderedTask)}
_DEFAULTS = {each.name: each.default for each in fields(PlannerSettings)}


def order_to_proto(cluster: str, order: PlanOrder) -> pb.MakePlanRequest:
    """Return the message. Raises InvalidInput for a number that no message holds."""
    request = pb.MakePlanRequest(cluster=cluster, exclude_topics=order.exclude_topics, window_ms=order.window_ms)
    try:
        filled(getattr(request, order.task.kind.replace("-", "_")), order.task)
        _write_settings(request, order)
    except ValueError as error:
        raise InvalidInput(f"plan: a number is too large ({error}); use a smaller one") from None
    return request


def order_from_proto(request: pb.MakePlanRequest) -> PlanOrder:
    """Return the order of a message. Raises InvalidInput, also where there is no task, or one of a newer version."""
    name = request.WhichOneof("task")
    if name is None:
        kinds = ", ".join(task.kind for task in _TASKS.values())
        raise InvalidInput(f"task: missing, or not known to this member (got none); give one of {kinds}")
    task: Any = read(_TASKS[name], getattr(request, name))
    return PlanOrder(task, _read_settings(request), tuple(request.exclude_topics), request.window_ms)


def parts_of_plan(plan: tickets_pb2.Plan) -> Iterator[tickets_pb2.Plan]:
    """Return the plan in parts that gRPC takes, one at least; merged in order they are the plan."""
    return parts_of(plan, _CUT)


def _write_settings(request: pb.MakePlanRequest, order: PlanOrder) -> None:
    if not order.changes:
        return
    none = [name for name, value in order.changes.items() if value is None or value == ()]
    filled(request.settings, PlannerSettings(**order.changes))
    for field in request.settings.DESCRIPTOR.fields:
        if field.name not in order.changes or field.name in none:
            request.settings.ClearField(field.name)
    request.default_settings.extend(sorted(none))


def _read_settings(request: pb.MakePlanRequest) -> dict[str, Any]:
    told: Message = request.settings
    known = read(PlannerSettings, told) if request.HasField("settings") else PlannerSettings()
    named = {field.name: getattr(known, field.name) for field, _ in told.ListFields()}
    return {**named, **{name: _DEFAULTS.get(name) for name in request.default_settings}}
