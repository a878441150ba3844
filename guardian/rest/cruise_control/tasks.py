"""User tasks: a request that lasts goes on in a thread of its own while its client polls.

    first request      ── starts a task, is answered when it is done, or after some seconds with 202 and its progress
    the same request   ── of the same client, or any with the header User-Task-ID: is answered by the task, not again

Cruise Control tells clients apart by a cookie; here the same person at the same address who asks the very same again
means the same task until he has its answer: so a poll by whatever client never starts anything twice. Tasks are kept in
the memory of the member that was asked; a ticket that one made is in the store, and carries the task's id.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from guardian.errors import InvalidInput, Overloaded
from guardian.model.identity import Identity
from guardian.rest.cruise_control.endpoints import Endpoint
from guardian.rest.cruise_control.parameters import Asked

_THREADS = 4
_MAX_ACTIVE = 25
_MAX_ENDED = 100
_ENDED_MS = 24 * 3600 * 1000
_RETRY_MS = 5000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with: its JSON, its text; `ticket_id` of the ticket that it made, if any."""

    document: dict[str, Any]
    text: str
    ticket_id: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a task does; `ended_ms` 0: it does it now."""

    name: str
    description: str
    began_ms: int
    ended_ms: int = 0


class Progress:
    """What a task has done, told by the task and read by whoever polls."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._steps: list[Step] = []

    def step(self, name: str, description: str) -> None:
        """The step before it is over."""
        now = self._now_ms()
        with self._lock:
            self._end(now)
            self._steps.append(Step(name, description, now))

    def end(self) -> None:
        with self._lock:
            self._end(self._now_ms())

    def steps(self) -> tuple[Step, ...]:
        with self._lock:
            return tuple(self._steps)

    def _end(self, now: int) -> None:
        if self._steps and not self._steps[-1].ended_ms:
            last = self._steps[-1]
            self._steps[-1] = Step(last.name, last.description, last.began_ms, now)


@dataclass(slots=True, eq=False)
class UserTask:
    """`url` is path and query as they were sent; `is_delivered` once somebody got the answer."""

    id: str
    cluster: str
    asked: Asked
    url: str
    client: str
    user: Identity
    started_ms: int
    progress: Progress
    future: Future[Answer] = field(default_factory=Future)
    is_delivered: bool = False

    @property
    def endpoint(self) -> Endpoint:
        return self.asked.endpoint

    @property
    def ticket_id(self) -> str:
        return self.future.result().ticket_id if self.is_done and not self.has_failed else ""

    @property
    def is_done(self) -> bool:
        return self.future.done()

    @property
    def has_failed(self) -> bool:
        return self.future.done() and (self.future.cancelled() or self.future.exception() is not None)


Work = Callable[[UserTask], Answer]


class UserTasks:
    """Thread-safe."""

    def __init__(self, now_ms: Callable[[], int], max_active: int = _MAX_ACTIVE) -> None:
        self._now_ms = now_ms
        self._max_active = max_active
        self._lock = threading.Lock()
        self._tasks: dict[str, UserTask] = {}
        self._planning = ThreadPoolExecutor(_THREADS, thread_name_prefix="user-task-plan")
        self._looking = ThreadPoolExecutor(_THREADS, thread_name_prefix="user-task-look")

    def find_or_start(
        self, cluster: str, asked: Asked, url: str, client: str, user: Identity, work: Work, task_id: str = ""
    ) -> UserTask:
        """Raises InvalidInput where `task_id` is that of another request, Overloaded."""
        with self._lock:
            self._forget_old()
            known = self._known(cluster, asked, client, user, task_id)
            if known is not None:
                return known
            active = sum(not task.is_done for task in self._tasks.values())
            if active >= self._max_active:
                raise Overloaded(f"{active} requests are under way here: ask again when some are done", _RETRY_MS)
            task = UserTask(
                task_id or str(uuid.uuid4()), cluster, asked, url, client, user, self._now_ms(), Progress(self._now_ms)
            )
            pool = self._planning if asked.endpoint.makes_plans else self._looking
            task.future = pool.submit(self._run, work, task)
            self._tasks[task.id] = task
            return task

    def tasks(self, cluster: str) -> Sequence[UserTask]:
        """The newest first."""
        with self._lock:
            self._forget_old()
            return [task for task in reversed(self._tasks.values()) if task.cluster == cluster]

    def close(self) -> None:
        for pool in (self._planning, self._looking):
            pool.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _run(work: Work, task: UserTask) -> Answer:
        try:
            return work(task)
        finally:
            task.progress.end()

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
        now = self._now_ms()
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


def progress_document(task: UserTask, now_ms: int) -> dict[str, Any]:
    """Of a task that is not done."""
    steps = [
        {
            "step": step.name,
            "description": step.description,
            "time-in-ms": (step.ended_ms or now_ms) - step.began_ms,
            "completionPercentage": 100.0 if step.ended_ms else 0.0,
        }
        for step in task.progress.steps()
    ]
    return {"version": 1, "progress": [{"operation": task.endpoint.operation, "operationProgress": steps}]}


def progress_text(task: UserTask, now_ms: int) -> str:
    lines = [
        f"({100.0 if step.ended_ms else 0.0:.1f}%) {step.name}: {step.description}, "
        f"{((step.ended_ms or now_ms) - step.began_ms) / 1000:.1f}s"
        for step in task.progress.steps()
    ]
    return "\n".join([f"{task.endpoint.operation}:", *lines]) + "\n"
