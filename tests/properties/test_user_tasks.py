"""Plans that people asked for are kept as a plain dict keeps them, whatever is put, refused or replayed."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from metastore.state_machine import MetastoreStateMachine
from metastore.tables import user_tasks
from protos.guardian.v1 import records_pb2 as pb
from protos.guardian.v1.user_tasks_pb2 import (
    USER_TASK_ACTIVE,
    USER_TASK_COMPLETED,
    USER_TASK_FAILED,
    USER_TASK_LOST,
    PutUserTask,
    UserTask,
)
from tests.unit.metastore.proposing import Group

MOST, EACH = 6, 3
Kept = dict[tuple[str, str], tuple[UserTask, bytes]]

tasks = st.builds(
    UserTask,
    id=st.sampled_from("12345"),
    cluster=st.sampled_from(["live", "bulk"]),
    person=st.sampled_from(["ann", "ben", "cat"]),
    endpoint=st.just("rebalance"),
    started_ms=st.integers(0, 20),
    member=st.sampled_from(["g1", "g2"]),
    process=st.sampled_from(["a", "b"]),
    state=st.sampled_from([USER_TASK_ACTIVE, USER_TASK_COMPLETED, USER_TASK_FAILED]),
)
puts = st.builds(
    PutUserTask,
    task=st.none() | tasks,
    answer=st.binary(max_size=2),
    member=st.sampled_from(["g1", "g2"]),
    process=st.sampled_from(["a", "b"]),
)


def put(kept: Kept, command: PutUserTask) -> bool:
    """As the table does it, on a dict; False: it is refused."""
    task = command.task if command.HasField("task") else None
    if task is not None and (task.cluster, task.id) in kept:
        known, answer = kept[task.cluster, task.id]
        if known.state in (USER_TASK_COMPLETED, USER_TASK_FAILED):
            return False
    for other, _ in kept.values():
        is_own = other.member == command.member and other.process != command.process
        if is_own and other.state == USER_TASK_ACTIVE:
            other.state = USER_TASK_LOST
    if task is not None:
        answer = kept.get((task.cluster, task.id), (task, b""))[1]
        kept[task.cluster, task.id] = (task, command.answer or answer)
    newest = sorted(kept.values(), key=lambda each: (-each[0].started_ms, each[0].id, each[0].cluster))
    left: Kept = {}
    for each, answer in newest:
        earlier = [other for other in newest if other[0].person == each.person].index((each, answer))
        if earlier < EACH and len(left) < MOST:
            left[each.cluster, each.id] = (each, answer)
    kept.clear()
    kept.update(left)
    return True


@settings(max_examples=100)
@given(st.lists(puts | st.none(), max_size=30))
def test_tasks_are_kept_as_in_a_dict(log: list[PutUserTask | None]) -> None:
    group, kept = Group(), Kept()
    with patch.object(user_tasks, "MAX_TASKS", MOST), patch.object(user_tasks, "MAX_TASKS_EACH", EACH):
        for step in log:
            if step is None:  # a restart: what was applied is applied again
                group.machine = MetastoreStateMachine(group.store)
                group.machine.apply(group.machine.applied_index, pb.Command().SerializeToString())
                continue
            taken = PutUserTask.FromString(step.SerializeToString())
            assert bool(group.propose(put_user_task=step).error) != put(kept, taken)
            views = group.machine.read()
            found = {(each.cluster, each.id): each for each in views.user_tasks()}
            assert found == {key: task for key, (task, _) in kept.items()}
            for (cluster, task_id), (_, answer) in kept.items():
                assert views.user_task_answer(cluster, task_id) == answer
