"""Plans that people asked for, replicated: every member knows them for a day, whichever was asked, and after a restart.

A member puts a task when it is asked for and when it is over. What it lost when it ended is marked by its next run.
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import replace

import structlog

from guardian.errors import GuardianError
from guardian.planning.model import UserTaskAnswer, UserTaskRecord
from guardian.planning.wire import packed_answer, unpacked_answer, user_task_from_proto, user_task_to_proto
from guardian.replication.store.store import ReplicatedStore
from metastore.tables.user_tasks import MAX_ANSWER_BYTES
from protos.guardian.v1 import records_pb2, user_tasks_pb2

_log = structlog.get_logger(__name__)
_AGAIN_S = 2.0


class ReplicatedUserTasks:
    """Thread-safe. Each call waits for the group, and raises GuardianError."""

    def __init__(self, store: ReplicatedStore, member: str) -> None:
        self._store = store
        self._member = member
        self._process = uuid.uuid4().hex
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._mark_lost, name="lost-tasks", daemon=True)

    def start(self) -> None:
        """Mark what the member's last run lost, once the group has a leader."""
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def put(self, record: UserTaskRecord, answers: tuple[UserTaskAnswer, ...] = ()) -> None:
        """Keep a task of this member, with the first of the answers that is small enough; the others say less.

        Raises Conflict where the task is over already.
        """
        packed = (packed_answer(answer) for answer in answers)
        answer = next((each for each in packed if len(each) <= MAX_ANSWER_BYTES), b"")
        self._propose(user_task_to_proto(replace(record, member=self._member), self._process), answer)

    def tasks(self, cluster: str) -> tuple[UserTaskRecord, ...]:
        """Return the tasks of a cluster."""
        return tuple(user_task_from_proto(task) for task in self._store.read().user_tasks(cluster))

    def find(self, task_id: str) -> UserTaskRecord | None:
        """Return the task of that id, of whichever cluster."""
        tasks = self._store.read().user_tasks()
        return next((user_task_from_proto(task) for task in tasks if task.id == task_id), None)

    def is_over(self, cluster: str, task_id: str) -> bool:
        """Return whether this member has heard that a task is over; waits for nobody."""
        tasks = self._store.read_local().user_tasks(cluster)
        return any(task.id == task_id and task.state != user_tasks_pb2.USER_TASK_ACTIVE for task in tasks)

    def answer(self, cluster: str, task_id: str) -> UserTaskAnswer | None:
        """Return what a task was answered with; None: nothing is kept."""
        return unpacked_answer(self._store.read_local().user_task_answer(cluster, task_id))

    def _propose(self, task: user_tasks_pb2.UserTask | None, answer: bytes) -> None:
        command = user_tasks_pb2.PutUserTask(task=task, answer=answer, member=self._member, process=self._process)
        self._store.propose(records_pb2.Command(put_user_task=command))

    def _has_lost(self) -> bool:
        active = user_tasks_pb2.USER_TASK_ACTIVE
        return any(
            task.state == active and task.member == self._member and task.process != self._process
            for task in self._store.read().user_tasks()
        )

    def _mark_lost(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._has_lost():
                    self._propose(None, b"")
            except GuardianError as error:
                _log.debug("tasks that were lost are not marked yet", reason=str(error))
                self._stopping.wait(_AGAIN_S)
            else:
                return
