"""What is kept of plans that people asked for, and for how long."""

from __future__ import annotations

import pytest

from metastore.tables import user_tasks
from protos.guardian.v1 import records_pb2, user_tasks_pb2
from protos.guardian.v1.user_tasks_pb2 import UserTask
from tests.unit.metastore.proposing import Group

ACTIVE, COMPLETED = user_tasks_pb2.USER_TASK_ACTIVE, user_tasks_pb2.USER_TASK_COMPLETED
FAILED, LOST = user_tasks_pb2.USER_TASK_FAILED, user_tasks_pb2.USER_TASK_LOST
DAY_MS = 24 * 3600 * 1000


def task(task_id: str = "1", person: str = "ann", started_ms: int = 5, **more: object) -> UserTask:
    fields = {"cluster": "live", "endpoint": "rebalance", "member": "g1", "process": "run-1", "state": ACTIVE}
    return UserTask(id=task_id, person=person, started_ms=started_ms, **{**fields, **more})  # type: ignore[arg-type]


def put(group: Group, asked: UserTask | None, answer: bytes = b"", at_ms: int = 5, process: str = "run-1") -> str:
    command = user_tasks_pb2.PutUserTask(task=asked, answer=answer, member="g1", process=process)
    entry = records_pb2.Command(put_user_task=command, proposed_at_ms=at_ms).SerializeToString()
    return group.apply(entry).error


def kept(group: Group, cluster: str | None = None) -> dict[str, int]:
    return {each.id: each.state for each in group.machine.read().user_tasks(cluster)}


@pytest.fixture
def group() -> Group:
    return Group()


def test_a_task_is_kept_with_its_answer_and_stays_as_it_ended(group: Group) -> None:
    assert put(group, task()) == ""
    assert put(group, task(state=COMPLETED, ticket_ids=["t-1"]), b"packed") == ""
    assert put(group, task()) == "task 1 of cluster live is over: it stays as it is"
    views = group.machine.read()
    assert list(views.user_tasks("live")) == [task(state=COMPLETED, ticket_ids=["t-1"])]
    assert (views.user_task_answer("live", "1"), views.user_task_answer("other", "1")) == (b"packed", b"")
    assert kept(group, "other") == {}


def test_only_the_newest_of_each_person_and_of_all_stay(group: Group) -> None:
    most, each = user_tasks.MAX_TASKS, user_tasks.MAX_TASKS_EACH
    assert put(group, task("ben", "ben", 1, state=FAILED), b"answer") == ""
    for number in range(each + 3):
        assert put(group, task(f"ann-{number}", started_ms=10 + number)) == ""
    found = kept(group)
    assert len(found) == each + 1, "ben's is no less kept for what ann asks"
    assert "ann-2" not in found
    assert "ann-3" in found
    for number in range(most):
        put(group, task(f"cat-{number}", f"cat-{number}", started_ms=100 + number))
    assert len(kept(group)) == most
    assert set(kept(group)) == {f"cat-{number}" for number in range(most)}
    assert group.machine.read().user_task_answer("live", "ben") == b"", "its answer went with it"


def test_old_ones_go_when_the_next_one_comes(group: Group) -> None:
    put(group, task("old", started_ms=5, state=COMPLETED))
    put(group, task("new", started_ms=DAY_MS + 6), at_ms=DAY_MS + 6)
    assert set(kept(group)) == {"new"}


def test_what_a_member_lost_is_marked_by_its_next_run_and_may_begin_anew(group: Group) -> None:
    put(group, task("1"))
    put(group, task("2", state=COMPLETED))
    put(group, task("3", member="g2", process="run-7"))
    put(group, None, process="run-1")
    assert kept(group) == {"1": ACTIVE, "2": COMPLETED, "3": ACTIVE}
    put(group, None, process="run-2")
    assert kept(group) == {"1": LOST, "2": COMPLETED, "3": ACTIVE}
    assert put(group, task("1", process="run-2"), process="run-2") == ""
    assert kept(group)["1"] == ACTIVE


@pytest.mark.parametrize(
    ("asked", "answer", "sentence"),
    [
        (task(person=""), b"", "person of the task is empty: give it"),
        (task(endpoint=""), b"", "endpoint of the task is empty: give it"),
        (task(url="x" * 10_001), b"", "task 1 has a text of more than 10000 characters: shorten it"),
        (task(), b"x" * (user_tasks.MAX_ANSWER_BYTES + 1), "send at most 131072"),
    ],
)
def test_what_is_not_whole_or_too_large_is_refused(group: Group, asked: UserTask, answer: bytes, sentence: str) -> None:
    assert sentence in put(group, asked, answer)
    assert kept(group) == {}
