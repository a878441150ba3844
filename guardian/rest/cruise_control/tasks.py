"""User tasks: a request that lasts goes on while its client polls.

    first request     ── asks the desk for a job, is answered when it is done, or after some seconds with 202, progress
    the same request  ── of the same client, or any with the header User-Task-ID: is answered by the task, not again

Cruise Control tells clients apart by a cookie. Here the same person at the same address who asks the very same again
means the same task until he has its answer. So a poll by whatever client never starts anything twice. How much one
person, and all, may have under way is for the desk to say (guardian.planning.service.desk).
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import structlog

from guardian.errors import Conflict, GuardianError, InvalidInput
from guardian.planning.model import Lane, UserTaskAnswer, UserTaskRecord, UserTaskState
from guardian.rest.cruise_control.endpoints import Endpoint
from guardian.rest.cruise_control.kept import answers_of, failure_of, request_hash, require_same
from guardian.rest.cruise_control.parameters import Asked
from guardian.rest.parts import Job, RestParts, person_of
from guardian.security.model.identity import Identity

_log = structlog.get_logger(__name__)
_MAX_ENDED = 100
_ENDED_MS = 24 * 3600 * 1000
_PENDING = "Pending"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with: its JSON, its text; `ticket_id` of the first ticket that it made, if any."""

    document: dict[str, Any]
    text: str
    ticket_id: str = ""


@dataclass(slots=True, eq=False)
class UserTask:
    """`url` is path and query as they were sent; `is_delivered` once somebody got the answer, `is_kept` once the group
    was told of it."""

    id: str
    cluster: str
    asked: Asked
    url: str
    client: str
    user: Identity
    started_ms: int
    job: Job
    is_delivered: bool = False
    is_kept: bool = False

    @property
    def endpoint(self) -> Endpoint:
        return self.asked.endpoint

    @property
    def future(self) -> Future[Answer]:
        return self.job.future

    @property
    def is_done(self) -> bool:
        return self.future.done()

    def step(self, name: str, description: str) -> None:
        """Begin the next step. Raises GuardianError once nobody wants the task any more."""
        self.job.step(name, description)


Work = Callable[[UserTask], Answer]


class UserTasks:
    """Thread-safe. The planner's desk does the work; plans that are asked for are kept for the other members."""

    def __init__(self, parts: RestParts) -> None:
        self._parts = parts
        self._is_closing = False
        self._lock = threading.Lock()
        self._tasks: dict[str, UserTask] = {}

    def find_or_start(
        self, cluster: str, asked: Asked, url: str, client: str, user: Identity, work: Work, task_id: str = ""
    ) -> UserTask:
        """Wait for no work, but for the group, which is told of a new task.

        Raises InvalidInput where `task_id` is that of another request, Overloaded.
        """
        with self._lock:
            self._forget_old()
            known = self._known(cluster, asked, client, user, task_id)
            if known is not None:
                return known
            task_id = task_id or str(uuid.uuid4())
            job = self._parts.planner.desk.submit(
                Lane.PEOPLE if asked.endpoint.makes_plans else Lane.LOOKUPS,
                person_of(user, client),
                f"{asked.endpoint.name} of cluster {cluster}",
                lambda _: self._done(work, task_id),
            )
            task = UserTask(task_id, cluster, asked, url, client, user, self._parts.now_ms(), job)
            self._tasks[task_id] = task
        if asked.endpoint.makes_plans:
            self._keep(task, UserTaskState.ACTIVE)
            job.future.add_done_callback(lambda _: self._keep_end(task))
        return task

    def elsewhere(
        self, cluster: str, asked: Asked, client: str, user: Identity, task_id: str
    ) -> tuple[UserTaskRecord, UserTaskAnswer | None] | None:
        """Return the task that another member was asked for, or this one before it was restarted, and its answer.

        None: there is none, or it was lost, so that it begins anew. Raises InvalidInput where it is another request's.
        """
        _require_uuid(task_id)
        with self._lock:
            if task_id in self._tasks:
                return None
        record = next((each for each in self._parts.tasks.tasks(cluster) if each.id == task_id), None)
        if record is None:
            return None
        require_same(record, asked, person_of(user, client))
        if record.state is UserTaskState.LOST:
            return None
        return record, self._parts.tasks.answer(cluster, task_id)

    def close(self) -> None:
        """Tell the group nothing more: what ends from now on is lost, as the next run of this member will say."""
        self._is_closing = True

    def tasks(self, cluster: str) -> Sequence[UserTask]:
        """The newest first."""
        with self._lock:
            self._forget_old()
            return [task for task in reversed(self._tasks.values()) if task.cluster == cluster]

    def before(self, task: UserTask) -> tuple[int, int]:
        """Return how much waits before it that the same person asked for, and how much others have waiting."""
        return self._parts.planner.desk.before(task.job)

    def _done(self, work: Work, task_id: str) -> Answer:
        with self._lock:  # it is there as soon as `find_or_start` is done
            task = self._tasks[task_id]
        try:
            answer = work(task)
        except GuardianError as error:
            self._keep(task, UserTaskState.FAILED, (failure_of(error, task.endpoint),))
            raise
        tickets = (answer.ticket_id,) if answer.ticket_id else ()
        self._keep(task, UserTaskState.COMPLETED, answers_of(answer.document, answer.text), tickets)
        return answer

    def _keep_end(self, task: UserTask) -> None:
        """Keep the end of a task that never began, or failed over a mistake of Guardian's own."""
        error = task.future.exception()
        if error is not None and not task.is_kept:
            self._keep(task, UserTaskState.FAILED, (failure_of(error, task.endpoint),))

    def _keep(
        self,
        task: UserTask,
        state: UserTaskState,
        answers: tuple[UserTaskAnswer, ...] = (),
        ticket_ids: tuple[str, ...] = (),
    ) -> None:
        """Tell the group; a task goes on without it: this member knows it anyway."""
        if self._is_closing or not task.endpoint.makes_plans:
            return
        task.is_kept = task.is_kept or state is not UserTaskState.ACTIVE
        record = UserTaskRecord(
            task.id,
            task.cluster,
            task.endpoint.name,
            task.url,
            task.client,
            person_of(task.user, task.client),
            task.started_ms,
            request_hash(task.asked),
            state=state,
            ticket_ids=ticket_ids,
        )
        try:
            self._parts.tasks.put(record, answers)
        except Conflict:
            _log.debug("a task was over before it was known to have begun", task=task.id)
        except GuardianError as error:
            _log.warning("other members don't know of a task", task=task.id, reason=str(error))

    def _known(self, cluster: str, asked: Asked, client: str, user: Identity, task_id: str) -> UserTask | None:
        if task_id:
            _require_uuid(task_id)
            known = self._tasks.get(task_id)
            if known is not None and not _is_same(known, cluster, asked, user):
                raise InvalidInput(
                    f"User-Task-ID is {task_id}, which is that of {known.endpoint.name} with other parameters: "
                    "leave it out, or repeat the request as it was"
                )
            return known
        for task in reversed(self._tasks.values()):
            if task.client == client and not task.is_delivered and _is_same(task, cluster, asked, user):
                return task
        return None

    def _forget_old(self) -> None:
        now = self._parts.now_ms()
        ended = [task for task in self._tasks.values() if task.is_done]
        surplus = {task.id for task in ended[: max(0, len(ended) - _MAX_ENDED)]}
        for task in ended:
            if task.id in surplus or now - task.started_ms > _ENDED_MS:
                del self._tasks[task.id]


def _is_same(task: UserTask, cluster: str, asked: Asked, user: Identity) -> bool:
    return (task.cluster, task.asked, task.user.name) == (cluster, asked, user.name)


def _require_uuid(text: str) -> None:
    try:
        uuid.UUID(text)
    except ValueError:
        raise InvalidInput(f"User-Task-ID is {text[:60]!r}: use one that an answer had, or leave it out") from None


@dataclass(frozen=True, slots=True)
class _Shown:
    name: str
    description: str
    ms: int
    percent: float


def _shown(task: UserTask, before: tuple[int, int], now_ms: int) -> list[_Shown]:
    return [
        _Shown(
            step.name,
            f"{step.description}, behind {before[0]} of the same person's and among {before[1]} of others"
            if step.name == _PENDING and not step.ended_ms
            else step.description,
            (step.ended_ms or now_ms) - step.began_ms,
            100.0 if step.ended_ms else 0.0,
        )
        for step in task.job.steps()
    ]


def progress_document(task: UserTask, before: tuple[int, int], now_ms: int) -> dict[str, Any]:
    """Build the progress of a task that is not done; `before` is what waits before it."""
    steps = [
        {
            "step": step.name,
            "description": step.description,
            "time-in-ms": step.ms,
            "completionPercentage": step.percent,
        }
        for step in _shown(task, before, now_ms)
    ]
    return {"version": 1, "progress": [{"operation": task.endpoint.operation, "operationProgress": steps}]}


def progress_text(task: UserTask, before: tuple[int, int], now_ms: int) -> str:
    lines = [
        f"({step.percent:.1f}%) {step.name}: {step.description}, {step.ms / 1000:.1f}s"
        for step in _shown(task, before, now_ms)
    ]
    return "\n".join([f"{task.endpoint.operation}:", *lines]) + "\n"
