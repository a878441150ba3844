"""What a plan was asked for: protobuf <-> model, by the fields of each task."""

from __future__ import annotations

from guardian.model.tasks import PlanTask
from guardian.model.wire.fields import filled, read
from guardian.tickets.kinds.registry import TASKS
from protos.guardian.v1 import tasks_pb2 as pb

_TASKS = {name.replace("-", "_"): task for name, task in TASKS.items()}


def task_to_proto(task: PlanTask) -> pb.Task:
    message = pb.Task()
    filled(getattr(message, task.kind.replace("-", "_")), task)
    return message


def task_from_proto(message: pb.Task) -> PlanTask | None:
    """Return the task; None where there is none, or one that only newer members know. Raises InvalidInput."""
    name = message.WhichOneof("task")
    return read(_TASKS[name], getattr(message, name)) if name is not None else None
