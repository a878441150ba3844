"""User tasks as all members know them: what is stored of one, and of what it was answered. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from guardian.errors import InvalidInput, Unavailable
from guardian.planning.model import UserTaskAnswer, UserTaskRecord, UserTaskState
from guardian.rest.cruise_control import failures
from guardian.rest.cruise_control.endpoints import BY_NAME, Endpoint
from guardian.rest.cruise_control.parameters import Asked
from guardian.rest.cruise_control.user_tasks import ACTIVE, COMPLETED, FAILED, TaskInfo

_OK = 200
_MOVES = "proposals"  # one for each partition that moves
_LEAST = ("version", "summary", "guardian", "errorMessage")
_STATUS = {
    UserTaskState.ACTIVE: ACTIVE,
    UserTaskState.COMPLETED: COMPLETED,
    UserTaskState.FAILED: FAILED,
    UserTaskState.LOST: FAILED,
}


def request_hash(asked: Asked) -> bytes:
    """Return the hash of what was asked: the same for the same parameters and body, in whatever order they came."""
    factors = [(each.replication_factor, sorted(each.topics), each.pattern) for each in asked.factors]
    plain = json.dumps([asked.endpoint.name, sorted(asked.values.items()), factors], default=str)
    return hashlib.sha256(plain.encode()).digest()


def require_same(record: UserTaskRecord, asked: Asked, person: str) -> None:
    """Raises InvalidInput where the task is that of another request, or of somebody else."""
    if (record.request, record.person) != (request_hash(asked), person):
        raise InvalidInput(
            f"User-Task-ID is {record.id}, which is that of {record.endpoint} with other parameters: leave it out, or "
            "repeat the request as it was"
        )


def answers_of(document: Mapping[str, Any], text: str) -> tuple[UserTaskAnswer, ...]:
    """Return the answer, and after it what is left of it where it is too large to be kept: each says less."""
    without_moves = {name: value for name, value in document.items() if name != _MOVES}
    least = {name: document[name] for name in _LEAST if name in document}
    return (
        UserTaskAnswer(_OK, json.dumps(document), text),
        UserTaskAnswer(_OK, json.dumps(without_moves), ""),
        UserTaskAnswer(_OK, json.dumps(least), ""),
    )


def failure_of(error: BaseException, endpoint: Endpoint) -> UserTaskAnswer:
    """Return what a request that failed is answered with."""
    document = failures.document_of(error, endpoint.method, endpoint.name)
    return UserTaskAnswer(
        failures.status_of(error, has_begun=True), json.dumps(document), f"{document['errorMessage']}\n"
    )


def lost(record: UserTaskRecord) -> UserTaskAnswer:
    """Return what is told of a task whose member ended before it was done."""
    error = Unavailable(f"member {record.member} ended before task {record.id} was done: ask again")
    return failure_of(error, BY_NAME[record.endpoint])


def info_of(record: UserTaskRecord) -> TaskInfo:
    """Return the task as user_tasks lists it, without what it was answered."""
    status = _STATUS[record.state]
    return TaskInfo(
        record.id,
        record.url,
        record.client,
        record.started_ms,
        status,
        record.endpoint,
        ticket_ids=record.ticket_ids,
    )


def progress_of(record: UserTaskRecord) -> tuple[dict[str, Any], str]:
    """Return the progress of a task that another member has under way: JSON and text."""
    operation = BY_NAME[record.endpoint].operation
    said = f"member {record.member} was asked, and is not done"
    step = {"step": "Pending", "description": said, "time-in-ms": 0, "completionPercentage": 0.0}
    document = {"version": 1, "progress": [{"operation": operation, "operationProgress": [step]}]}
    return document, f"{operation}:\n(0.0%) Pending: {said}\n"
