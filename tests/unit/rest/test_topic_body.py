"""The body of topic_configuration: topics by the replication factor that they get."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from guardian.model.tasks import ReplicationFactor, Task
from guardian.model.ticket import TicketState
from guardian.rest.cruise_control import routes
from guardian.rest.cruise_control.topic_body import MAX_BYTES
from tests.unit.rest.service import Service

pytestmark = pytest.mark.slow

URL = "/clusters/live/kafkacruisecontrol/topic_configuration?json=true"


def body(**topics: str) -> bytes:
    return json.dumps({"replication_factor": {"topic_by_replication_factor": topics}}).encode()


def asked(service: Service) -> list[Task]:
    return [task for task, _ in service.planner.asked]


def test_names_are_just_these_topics_and_an_expression_is_all_that_it_matches(service: Service) -> None:
    for name in ("a.b", "a-b", "axb", "logs-1", "logs-2"):
        service.member.kafka.create_topic(name, {0: [1, 2]}, 5)
    assert service.web.post(URL, content=body(**{"3": "a.b|a-b"})).status_code == 200
    assert service.web.post(URL, content=body(**{"2": "logs-.*"})).status_code == 200
    assert asked(service) == [ReplicationFactor(("a-b", "a.b"), 3), ReplicationFactor(("logs-1", "logs-2"), 2)]


def test_hundreds_of_names_are_no_expression_that_is_too_long(service: Service) -> None:
    names = [f"orders-of-the-{number:03}th-customer" for number in range(200)]
    for name in names:
        service.member.kafka.create_topic(name, {0: [1, 2]}, 5)
    assert service.web.post(URL, content=body(**{"3": "|".join(names)})).status_code == 200
    assert asked(service) == [ReplicationFactor(tuple(names), 3)]


def test_each_replication_factor_is_a_plan_and_a_ticket_of_one_task(service: Service) -> None:
    service.member.kafka.create_topic("u", {0: [1, 2]}, 5)
    answer = service.web.post(f"{URL}&dryrun=false&verbose=true", content=body(**{"3": "u", "1": "t"}))
    assert answer.status_code == 200, answer.text
    assert asked(service) == [ReplicationFactor(("t",), 1), ReplicationFactor(("u",), 3)]
    document = answer.json()
    assert document["summary"]["numReplicaMovements"] == 2
    assert len(document["proposals"]) == 2
    tickets = {ticket.id: ticket for ticket in service.client.tickets()}
    assert {part["ticket"] for part in document["guardian"]["parts"]} == set(tickets)
    assert len(tickets) == 2

    def status() -> str:
        found = service.web.get(URL.replace("topic_configuration", "user_tasks")).json()["userTasks"]
        assert [task["UserTaskId"] for task in found] == [answer.headers["User-Task-ID"]]
        return str(found[0]["Status"])

    first, second = sorted(tickets)
    assert status() == "Active"
    service.client.reject(first, "bob")
    assert status() == "Active", "it has not failed while one of its tickets may still run"
    service.client.reject(second, "bob")
    assert status() == "CompletedWithError"
    assert {ticket.state for ticket in service.client.tickets()} == {TicketState.REJECTED}


def test_the_same_body_again_is_the_same_task_and_another_one_is_not(service: Service) -> None:
    first = service.web.post(f"{URL}&dryrun=false", content=body(**{"3": "t"}))
    task_id = {"User-Task-ID": first.headers["User-Task-ID"]}
    assert service.web.post(f"{URL}&dryrun=false", content=body(**{"3": "t"}), headers=task_id).status_code == 200
    assert len(service.client.tickets()) == 1
    other = service.web.post(f"{URL}&dryrun=false", content=body(**{"2": "t"}), headers=task_id)
    assert "with other parameters" in other.json()["errorMessage"]


def test_who_sends_a_body_is_not_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(block_s=0.05)
    plan, go = service.planner.plan, threading.Event()

    def slow(*arguments: Any, **named: Any) -> Any:
        assert go.wait(30)
        return plan(*arguments, **named)

    monkeypatch.setattr(service.planner, "plan", slow)
    try:
        assert service.web.post(f"{URL}&topic=t&replication_factor=3").status_code == 202
        threading.Timer(0.5, go.set).start()
        assert service.web.post(URL, content=body(**{"3": "t"})).status_code == 200
        go.clear()
        monkeypatch.setattr(routes, "_BODY_BLOCK_S", 0.1)
        first = service.web.post(f"{URL}&dryrun=false", content=body(**{"3": "t"}))
        again = service.web.post(f"{URL}&dryrun=false", content=body(**{"3": "t"}))
        assert (first.status_code, again.status_code) == (202, 202)
        assert first.headers["User-Task-ID"] == again.headers["User-Task-ID"]
    finally:
        go.set()
        service.stop()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{replication_factor: 3}", "which is no JSON"),
        (b"[" * 100_000, "which is no JSON"),
        (b"[]", "which has not the key 'replication_factor' alone"),
        (b'{"replication_factor": {}, "topic": "t"}', "which has not the key 'replication_factor' alone"),
        (b'{"replication_factor": {"topics": {}}}', "which has not the key 'topic_by_replication_factor' alone"),
        (body(), "which names no topics"),
        (body(**{"0": "t"}), "replication factor in the body is '0'"),
        (body(**{"3": ""}), "topics of replication factor 3 are ''"),
        (body(**{"3": "("}), "use a regular expression"),
        (body(**{"3": "t", "2": "t"}), "body names topic t twice"),
        (
            b'{"replication_factor": {"topic_by_replication_factor": {"3": "t", "3": "u"}}}',
            "body has the key '3' twice",
        ),
        (b" " * MAX_BYTES + body(**{"3": "t"}), f"has more than {MAX_BYTES} bytes"),
    ],
)
def test_a_body_that_can_not_be_meant_is_refused_in_a_sentence(service: Service, content: bytes, sentence: str) -> None:
    answer = service.web.post(URL, content=content)
    assert (answer.status_code, sentence in answer.json()["errorMessage"]) == (400, True), answer.text
    assert asked(service) == []


@pytest.mark.parametrize(
    ("topics", "sentence"),
    [
        ({"3": "t|nope"}, "topic nope does not exist in cluster live"),
        ({"2": "t.*", "3": "t"}, "topic t would get the replication factors 2 and 3"),
        ({"3": "nope.*"}, "which no topic matches"),
    ],
)
def test_what_the_cluster_does_not_bear_out_makes_no_plan(
    service: Service, topics: dict[str, str], sentence: str
) -> None:
    answer = service.web.post(f"{URL}&dryrun=false", content=body(**topics))
    assert sentence in answer.json()["errorMessage"]
    assert (asked(service), service.client.tickets()) == ([], ())


def test_a_body_beside_the_same_in_the_url_is_refused(service: Service) -> None:
    for given in ("topic=t", "replication_factor=2"):
        answer = service.web.post(f"{URL}&{given}", content=body(**{"3": "t"}))
        assert (answer.status_code, "give one of them" in answer.json()["errorMessage"]) == (400, True)


def test_endpoints_without_a_body_say_so_instead_of_passing_it_over(service: Service) -> None:
    url = URL.replace("topic_configuration", "rebalance")
    answer = service.web.post(url, content=b"dryrun=false")
    assert (answer.status_code, "body of rebalance has 12 bytes" in answer.json()["errorMessage"]) == (400, True)
    assert service.web.post(url, content=b"\n").status_code == 200
