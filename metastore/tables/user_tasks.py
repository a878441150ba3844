"""Plans that people asked for, and what they were answered: the newest of each person and of all, for a day.

A task is put when it is asked for and when it is over. What is over stays so; one that was lost may begin anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from guardian.errors import Conflict, InvalidInput
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import ReadView
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2, user_tasks_pb2
from protos.guardian.v1.user_tasks_pb2 import UserTask

MAX_ANSWER_BYTES = 128 * 1024
MAX_TASKS = 200
MAX_TASKS_EACH = 50
KEPT_MS = 24 * 3600 * 1000  # as Cruise Control keeps them
_MAX_TEXT_CHARS = 10_000
_OVER = (user_tasks_pb2.USER_TASK_COMPLETED, user_tasks_pb2.USER_TASK_FAILED)


def handle_put(command: user_tasks_pb2.PutUserTask, view: ReadView, proposal: Proposal) -> Decision:
    """Keep a task, forget those that are one too many or too old, and mark those that their member lost."""
    if not command.member or not command.process:
        raise InvalidInput("member or process is empty: name the member and its run")
    puts: dict[bytes, Put] = {}
    tasks = {(task.cluster, task.id): task for task in stored_tasks(view)}
    for task in tasks.values():
        is_lost = task.member == command.member and task.process != command.process
        if is_lost and task.state == user_tasks_pb2.USER_TASK_ACTIVE:
            task.state = user_tasks_pb2.USER_TASK_LOST
            puts[_key(task)] = _put(task)
    if command.HasField("task"):
        task = command.task
        _require_whole(task, command.answer)
        known = tasks.get((task.cluster, task.id))
        if known is not None and known.state in _OVER:
            raise Conflict(f"task {task.id} of cluster {task.cluster} is over: it stays as it is")
        tasks.pop((task.cluster, task.id), None)
        tasks[task.cluster, task.id] = task
        puts[_key(task)] = _put(task)
        if command.answer:
            answer = keys.user_task_answer(task.cluster, task.id)
            puts[answer] = Put(answer, command.answer)
    gone = [
        key
        for task in _surplus(tasks.values(), proposal.at_ms)
        for key in (_key(task), keys.user_task_answer(task.cluster, task.id))
    ]
    records: list[Record] = [*(put for key, put in puts.items() if key not in gone), *map(Delete, gone)]
    return records, records_pb2.CommandReply()


def stored_tasks(view: ReadView, cluster: str | None = None) -> tuple[UserTask, ...]:
    """Return the tasks of a cluster, or of all, by cluster and id."""
    prefix = keys.Table.USER_TASK.prefix if cluster is None else keys.user_tasks(cluster)
    return tuple(UserTask.FromString(value) for _, value in view.scan(prefix))


def stored_answer(view: ReadView, cluster: str, task_id: str) -> bytes:
    """Return what a task was answered with, compressed; empty: nothing is kept."""
    return view.get(keys.user_task_answer(cluster, task_id)) or b""


def _key(task: UserTask) -> bytes:
    return keys.user_task(task.cluster, task.id)


def _put(task: UserTask) -> Put:
    return Put(_key(task), task.SerializeToString(deterministic=True))


def _surplus(tasks: Iterable[UserTask], now_ms: int) -> list[UserTask]:
    """Return the oldest beyond what is kept of a person and in all, and those that are too old."""
    of_each: Counter[str] = Counter()
    kept, gone = 0, []
    for task in sorted(tasks, key=lambda each: (-each.started_ms, each.id, each.cluster)):
        of_each[task.person] += 1
        if of_each[task.person] > MAX_TASKS_EACH or kept >= MAX_TASKS or now_ms - task.started_ms > KEPT_MS:
            gone.append(task)
        else:
            kept += 1
    return gone


def _require_whole(task: UserTask, answer: bytes) -> None:
    for name in ("id", "cluster", "endpoint", "person"):
        if not getattr(task, name):
            raise InvalidInput(f"{name} of the task is empty: give it")
    if max(map(len, (task.id, task.endpoint, task.url, task.client, task.person))) > _MAX_TEXT_CHARS:
        raise InvalidInput(f"task {task.id[:60]} has a text of more than {_MAX_TEXT_CHARS} characters: shorten it")
    if len(answer) > MAX_ANSWER_BYTES:
        raise InvalidInput(f"answer of task {task.id} has {len(answer)} bytes: send at most {MAX_ANSWER_BYTES}")
