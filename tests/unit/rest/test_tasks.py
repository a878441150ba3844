"""User tasks beside what their clients see: bounds, and what is forgotten."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from guardian.errors import Overloaded, Unavailable
from guardian.planning.model import PlansConfig, UserTaskAnswer, UserTaskRecord, UserTaskState
from guardian.planning.service.desk import Desk
from guardian.rest.cruise_control.endpoints import BY_NAME
from guardian.rest.cruise_control.parameters import parse
from guardian.rest.cruise_control.tasks import Answer, UserTask, UserTasks
from guardian.rest.parts import RestParts
from guardian.security.model.identity import LOCAL, Grant, Identity, Role

DONE = Answer({}, "done")
ANN = Identity("ann", (Grant(Role.VIEWER),))


class Kept:
    """What the group was told of tasks."""

    def __init__(self) -> None:
        self.told: list[tuple[UserTaskRecord, tuple[UserTaskAnswer, ...]]] = []

    def put(self, record: UserTaskRecord, answers: tuple[UserTaskAnswer, ...] = ()) -> None:
        self.told.append((record, answers))

    def tasks(self, cluster: str) -> tuple[UserTaskRecord, ...]:
        return tuple(record for record, _ in self.told if record.cluster == cluster)

    def answer(self, cluster: str, task_id: str) -> UserTaskAnswer | None:
        raise AssertionError(f"{task_id} of {cluster} is known here")


class Tasks(UserTasks):
    """User tasks with a desk of their own; `now` is the time."""

    def __init__(self) -> None:
        self.now = 5
        self.go = threading.Event()
        limits = PlansConfig()
        self.desk = Desk(limits.lanes, limits.wait_s, lambda: self.now)
        self.kept = Kept()
        nobody: Any = None
        planner = cast("Any", SimpleNamespace(desk=self.desk))
        super().__init__(RestParts(nobody, nobody, planner, nobody, nobody, self.kept, lambda: self.now))

    def held(self, _: UserTask) -> Answer:
        assert self.go.wait(60)
        return DONE


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    tasks.go.set()
    tasks.desk.close()


def ask(
    tasks: UserTasks,
    endpoint: str,
    work: object,
    client: str = "a",
    task_id: str = "",
    user: Identity = LOCAL,
    **by: str,
) -> UserTask:
    asked = parse(BY_NAME[endpoint], list(by.items()))
    return tasks.find_or_start("live", asked, f"/{endpoint}", client, user, work, task_id)  # type: ignore[arg-type]


def test_what_looks_does_not_wait_for_what_plans(tasks: Tasks) -> None:
    slow = [ask(tasks, "rebalance", tasks.held, str(number)) for number in range(10)]
    assert ask(tasks, "state", lambda _: DONE).future.result(60) == DONE
    assert not any(task.is_done for task in slow)


def test_one_person_has_one_plan_under_way_and_the_next_are_refused_at_once(tasks: Tasks) -> None:
    asked = [ask(tasks, "rebalance", tasks.held, reason=str(number)) for number in range(6)]
    with pytest.raises(Overloaded, match=r"requests of a: rebalance of cluster live under way, 5 wait \(got one more"):
        ask(tasks, "rebalance", tasks.held, reason="6")
    assert ask(tasks, "rebalance", tasks.held, reason="3") is asked[3], "a poll is no new request"
    assert tasks.before(asked[3]) == (2, 0)
    assert ask(tasks, "rebalance", lambda _: DONE, "b").future.result(60) == DONE, "another host is another person"
    assert not any(task.is_done for task in asked)


def test_who_is_known_is_one_person_wherever_he_asks_from(tasks: Tasks) -> None:
    for number in range(6):
        ask(tasks, "rebalance", tasks.held, client=f"10.0.0.{number}", user=ANN)
    with pytest.raises(Overloaded, match="requests of ann"):
        ask(tasks, "rebalance", tasks.held, client="10.0.0.9", user=ANN)


def test_looks_are_bounded_as_well(tasks: Tasks) -> None:
    for number in range(10):
        ask(tasks, "load", tasks.held, time=str(number))
    with pytest.raises(Overloaded, match="8 wait"):
        ask(tasks, "load", tasks.held, time="10")
    assert ask(tasks, "load", lambda _: DONE, "b").future.result(60) == DONE


def test_a_member_that_ends_tells_all_who_wait(tasks: Tasks) -> None:
    begun = threading.Event()

    def wanted(task: UserTask) -> Answer:
        begun.set()
        assert tasks.go.wait(60)
        task.step("Ticket", "the plan becomes a ticket")
        return DONE

    asked = [ask(tasks, "rebalance", wanted, reason=str(number)) for number in range(3)]
    assert begun.wait(60)
    closing = threading.Thread(target=tasks.desk.close)
    closing.start()
    for task in asked[1:]:
        with pytest.raises(Unavailable, match="this member ended before it was done"):
            task.future.result(60)
    tasks.go.set()
    with pytest.raises(Unavailable, match="this member ended before it was done"):
        asked[0].future.result(60)
    closing.join(60)
    with pytest.raises(Unavailable, match="this member ends: ask another one"):
        ask(tasks, "rebalance", wanted, "b")


def test_an_answer_that_was_given_is_not_given_to_the_next_one(tasks: Tasks) -> None:
    first = ask(tasks, "state", lambda _: DONE)
    first.future.result(60)
    assert ask(tasks, "state", lambda _: DONE) is first
    first.is_delivered = True
    second = ask(tasks, "state", lambda _: DONE)
    assert second is not first
    assert ask(tasks, "state", lambda _: DONE, task_id=first.id) is first, "by its id it is there for a day"
    own = str(uuid.uuid4())
    assert ask(tasks, "state", lambda _: DONE, task_id=own).id == own


def test_old_ones_are_forgotten(tasks: Tasks) -> None:
    for number in range(120):
        ask(tasks, "state", lambda _: DONE, str(number)).future.result(60)
    assert len(tasks.tasks("live")) == 100
    tasks.now += 25 * 3600 * 1000
    assert list(tasks.tasks("live")) == []
    assert list(tasks.tasks("elsewhere")) == []


def test_the_group_is_told_of_plans_and_of_no_looks(tasks: Tasks) -> None:
    ask(tasks, "state", lambda _: DONE).future.result(60)
    ask(tasks, "rebalance", lambda _: DONE).future.result(60)
    assert {(record.endpoint, record.state) for record, _ in tasks.kept.told} == {
        ("rebalance", UserTaskState.ACTIVE),
        ("rebalance", UserTaskState.COMPLETED),
    }


def test_what_is_given_up_before_it_began_has_failed_for_all_members(tasks: Tasks) -> None:
    ask(tasks, "rebalance", tasks.held, reason="1")
    waiting = ask(tasks, "rebalance", tasks.held, reason="2")
    waiting.job.cancel("nobody waits for it")
    ((record, (answer,)),) = [each for each in tasks.kept.told if each[0].state is UserTaskState.FAILED]
    assert (record.id, answer.status) == (waiting.id, 500)
    assert "nobody waits for it" in answer.document


def test_a_member_that_ends_tells_the_group_nothing_more(tasks: Tasks) -> None:
    ask(tasks, "rebalance", tasks.held, reason="1")
    waiting = ask(tasks, "rebalance", tasks.held, reason="2")
    tasks.close()
    waiting.job.cancel("it ends")
    assert {record.state for record, _ in tasks.kept.told} == {UserTaskState.ACTIVE}
