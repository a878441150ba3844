"""User tasks beside what their clients see: bounds, and what is forgotten."""

from __future__ import annotations

import threading
import uuid

import pytest

from guardian.errors import Overloaded
from guardian.model.identity import LOCAL
from guardian.rest.cruise_control.endpoints import BY_NAME
from guardian.rest.cruise_control.parameters import parse
from guardian.rest.cruise_control.tasks import Answer, UserTask, UserTasks

DONE = Answer({}, "done")


def ask(tasks: UserTasks, endpoint: str, work: object, client: str = "a", task_id: str = "") -> UserTask:
    asked = parse(BY_NAME[endpoint], [])
    return tasks.find_or_start("live", asked, f"/{endpoint}", client, LOCAL, work, task_id)  # type: ignore[arg-type]


def test_what_looks_does_not_wait_for_what_plans() -> None:
    tasks, go = UserTasks(lambda: 5), threading.Event()

    def plan(_: UserTask) -> Answer:
        assert go.wait(60)
        return DONE

    try:
        slow = [ask(tasks, "rebalance", plan, str(number)) for number in range(10)]
        assert ask(tasks, "state", lambda _: DONE).future.result(60) == DONE
        assert not any(task.is_done for task in slow)
    finally:
        go.set()
        tasks.close()


def test_too_many_at_once_are_told_to_come_back() -> None:
    tasks, go = UserTasks(lambda: 5, max_active=2), threading.Event()

    def plan(_: UserTask) -> Answer:
        assert go.wait(60)
        return DONE

    try:
        first = ask(tasks, "rebalance", plan, "a")
        ask(tasks, "rebalance", plan, "b")
        with pytest.raises(Overloaded, match="2 requests are under way here"):
            ask(tasks, "rebalance", plan, "c")
        assert ask(tasks, "rebalance", plan, "a") is first, "a poll is no new request"
    finally:
        go.set()
        tasks.close()


def test_an_answer_that_was_given_is_not_given_to_the_next_one() -> None:
    tasks = UserTasks(lambda: 5)
    try:
        first = ask(tasks, "state", lambda _: DONE)
        first.future.result(60)
        assert ask(tasks, "state", lambda _: DONE) is first
        first.is_delivered = True
        second = ask(tasks, "state", lambda _: DONE)
        assert second is not first
        assert ask(tasks, "state", lambda _: DONE, task_id=first.id) is first, "by its id it is there for a day"
        own = str(uuid.uuid4())
        assert ask(tasks, "state", lambda _: DONE, task_id=own).id == own
    finally:
        tasks.close()


def test_old_ones_are_forgotten() -> None:
    now = [5]
    tasks = UserTasks(lambda: now[0])
    try:
        for number in range(120):
            ask(tasks, "state", lambda _: DONE, str(number)).future.result(60)
        assert len(tasks.tasks("live")) == 100
        now[0] += 25 * 3600 * 1000
        assert list(tasks.tasks("live")) == []
        assert list(tasks.tasks("elsewhere")) == []
    finally:
        tasks.close()
