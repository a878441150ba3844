"""What Strimzi's operators and koperator send, and what they make of the answers, which they read as their code does.

`request_logs` has their requests, and where these were learnt.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.topology import TopicPartition
from guardian.planning.model import UserTaskRecord
from guardian.planning.store import ReplicatedUserTasks
from guardian.rest.cruise_control.operations import _RETOLD
from tests.unit.rest.service import MB, Service

pytestmark = pytest.mark.slow

LOGS = Path(__file__).parent / "request_logs"
TASKS = "/kafkacruisecontrol/user_tasks?json=true&fetch_completed_task=true"
MOVED = ("numReplicaMovements", "dataToMoveMB", "numIntraBrokerReplicaMovements", "numLeaderMovements")
PLACES = (ReplicaPlacement(1), ReplicaPlacement(3))
RUNNING = (TicketState.APPROVED, TicketState.RUNNING)


def log(name: str) -> list[dict[str, Any]]:
    return list(json.loads((LOGS / f"{name}.json").read_text())["requests"])


class Client:
    """Sends the requests of a log, and knows the task of the last one that began one."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.task = ""

    def send(self, request: dict[str, Any]) -> httpx.Response:
        headers = dict(request.get("headers", {}))
        if request.get("task_header"):
            headers["User-Task-ID"] = self.task
        content = json.dumps(request["body"]) if "body" in request else None
        url = request["target"].replace("{task}", self.task)
        answer: httpx.Response = self.service.web.request(request["method"], url, headers=headers, content=content)
        if request["method"] == "POST":
            self.task = answer.headers.get("User-Task-ID", self.task)
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        return answer


def of_proposal(answer: httpx.Response) -> str | dict[str, Any]:
    """What Strimzi's rebalance operator tells of a proposal: its summary, or why there is none."""
    document = answer.json()
    if answer.status_code in (200, 201):
        assert "errorMessage" not in document
        return dict(document["summary"])
    if answer.status_code == 202:
        return "still calculating" if "progress" in document else "no progress"
    if answer.status_code != 500:
        return f"unexpected status code {answer.status_code}"
    said = str(document["errorMessage"])
    if "IllegalArgumentException" in said and "does not exist." in said:
        return "some brokers do not exist"
    return f"server returned: {said}"


def of_user_task(answer: httpx.Response) -> tuple[str, Any]:
    """What it makes of a user task: its status, and the summary of the plan."""
    assert answer.status_code == 200
    tasks = answer.json()["userTasks"]
    if not tasks:
        return "none", None
    status = tasks[0]["Status"]
    if status == "Active":
        return status, None
    original = tasks[0]["originalResponse"]
    if status == "CompletedWithError":
        return status, original
    assert status in ("InExecution", "Completed")
    read = json.loads(original)
    assert "loadAfterOptimization" in read
    return status, read["summary"]


def of_topic_operator(answer: httpx.Response) -> dict[str, str]:
    """The status of each task. Its reader refuses a key that it does not know."""
    assert answer.status_code == 200
    document = answer.json()
    assert document.keys() == {"userTasks", "version"}
    for task in document["userTasks"]:
        assert task.keys() == {"Status", "ClientIdentity", "RequestURL", "UserTaskId", "StartMs"}
    return {task["UserTaskId"]: task["Status"] for task in document["userTasks"]}


def test_strimzis_rebalance_operator_understands_every_answer(service: Service) -> None:
    client = Client(service)

    def proposal(answer: httpx.Response) -> None:
        summary = of_proposal(answer)
        assert isinstance(summary, dict), summary
        assert summary["numReplicaMovements"] == 1

    def state(answer: httpx.Response) -> None:
        assert answer.json()["ExecutorState"]["state"] == "NO_TASK_IN_PROGRESS"

    def no_broker(answer: httpx.Response) -> None:
        assert of_proposal(answer) == "some brokers do not exist"

    def error(answer: httpx.Response) -> None:
        said = of_proposal(answer)
        assert isinstance(said, str)
        assert "rebalance_disk is true and goals are given" in said

    def user_task(answer: httpx.Response) -> None:
        assert of_user_task(answer) == ("Active", None)

    def stop(answer: httpx.Response) -> None:
        assert answer.status_code == 200

    checks: dict[str, Callable[[httpx.Response], None]] = {
        "state": state,
        "proposal": proposal,
        "execution": proposal,
        "no broker": no_broker,
        "error": error,
        "user task": user_task,
        "stop": stop,
    }
    for request in log("strimzi_rebalance_operator"):
        checks[request["what"]](client.send(request))
    assert len(service.client.tickets()) == 1


def test_strimzis_topic_operator_understands_every_answer(service: Service) -> None:
    for topic in ("my.topic", "my-topic", "myxtopic"):
        service.member.kafka.create_topic(topic, {0: [1, 2]}, 5)
    client = Client(service)
    seen = []
    for request in log("strimzi_topic_operator"):
        answer = client.send(request)
        seen.append(request["what"])
        if request["what"] == "change":
            assert answer.status_code == 200, "it takes any other status for a failure"
            uuid.UUID(answer.headers["User-Task-ID"])
        elif request["what"] == "user tasks":
            assert of_topic_operator(answer) == {client.task: "Active"}
        else:
            assert answer.status_code == 500
            assert answer.json().keys() == {"version", "stackTrace", "errorMessage"}
            assert "topic gone does not exist" in answer.json()["errorMessage"]
    assert set(seen) == {"change", "user tasks", "error"}
    topics = sorted(topic for task, _ in service.planner.asked for topic in task.topics)  # type: ignore[union-attr]
    assert topics == ["my-topic", "my.topic", "t"]


def test_koperator_understands_every_answer(service: Service) -> None:
    client = Client(service)
    for request in log("koperator"):
        answer = client.send(request)
        document = answer.json()
        match request["what"]:
            case "status":
                assert document["MonitorState"]["state"] == "RUNNING"
                assert document["AnalyzerState"]["isProposalReady"] is True
                assert document["ExecutorState"]["state"] == "NO_TASK_IN_PROGRESS"
            case "load":
                assert {row["Broker"]: row["BrokerState"] for row in document["brokers"]} == {
                    1: "ALIVE",
                    2: "ALIVE",
                    3: "ALIVE",
                }
            case "cluster":
                assert document["KafkaBrokerState"]["ReplicaCountByBrokerId"]["1"] == 1
            case "operation":
                assert answer.status_code == 200, answer.text
                assert document["summary"]["dataToMoveMB"] == 10
                uuid.UUID(answer.headers["User-Task-ID"])
            case "user tasks":
                assert [task["Status"] for task in document["userTasks"]] == ["Active"]
            case "error":
                assert answer.status_code == 500
                assert "Broker 9 does not exist." in document["errorMessage"]
            case _:
                assert (answer.status_code, request["what"]) == (200, "stop")


@contextmanager
def another(service: Service, *, knows_tasks: bool = False) -> Iterator[Service]:
    """Another member of the group, or the same one after a restart: it knows what is stored, and nothing else.

    Unless it `knows_tasks`, what was stored of user tasks is forgotten by now, and tickets are left.
    """
    other = Service()
    own, other.client = other.client, service.client
    if knows_tasks:
        other.tasks.join(service.tasks)
    try:
        yield other
    finally:
        other.client = own
        other.stop()


def advance(service: Service, *states: TicketState) -> None:
    (ticket,) = service.client.tickets()
    for state in states:
        transition = TicketTransition(state, service.member.now_ms, "guardian", "told to")
        ticket = service.member.store.advance(ticket.id, ticket.state, transition, None, 0, None)


@pytest.mark.parametrize(
    ("states", "status"),
    [
        ((), "Active"),
        (RUNNING, "InExecution"),
        ((*RUNNING, TicketState.SUCCEEDED), "Completed"),
        ((*RUNNING, TicketState.FAILED), "CompletedWithError"),
    ],
)
def test_a_task_has_its_summary_in_every_state_from_every_member(
    service: Service, states: tuple[TicketState, ...], status: str
) -> None:
    requests = {request["what"]: request for request in log("strimzi_rebalance_operator")}
    service.member.kafka.create_topic("u", {0: [1, 2]}, 20 * MB)
    moved = PartitionMove(TopicPartition("u", 0), (ReplicaPlacement(1), ReplicaPlacement(2)), PLACES, 20 * MB)
    service.planner.moves = (moved,)
    client = Client(service)
    first = client.send(requests["execution"])
    wanted = first.json()["summary"]
    advance(service, *states)
    with another(service) as other:
        for asked in (service, other):
            told = asked.web.request("GET", requests["user task"]["target"].replace("{task}", client.task))
            read, said = of_user_task(told)
            assert read == status
            (task,) = told.json()["userTasks"]
            summary = json.loads(task["originalResponse"])["summary"]
            assert {name: summary[name] for name in MOVED} == {name: wanted[name] for name in MOVED}
            assert (summary["numReplicaMovements"], summary["dataToMoveMB"]) == (1, 20)
            assert summary.keys() == wanted.keys()
            if status in ("InExecution", "Completed"):
                assert said == summary
            assert task["guardian"]["tickets"] == [first.headers["Guardian-Ticket"]]


@pytest.mark.parametrize("wants_json", ["true", "false"])
def test_a_plan_without_a_ticket_is_known_to_every_member(service: Service, wants_json: str) -> None:
    proposal = next(request for request in log("strimzi_rebalance_operator") if request["what"] == "proposal")
    client = Client(service)
    first = client.send(proposal)
    assert service.client.tickets() == ()
    with another(service, knows_tasks=True) as other:
        url = f"{TASKS.replace('json=true', f'json={wants_json}')}&user_task_ids={client.task}"
        if wants_json == "false":
            text = other.web.get(url).text
            assert "Completed" in text
            assert "Optimization has 1 inter-broker replica" in text
            return
        (task,) = other.web.get(url).json()["userTasks"]
        assert (task["Status"], json.loads(task["originalResponse"])) == ("Completed", first.json())
        again = other.web.request("POST", proposal["target"], headers={"User-Task-ID": client.task})
        assert (again.status_code, again.json(), again.headers["User-Task-ID"]) == (200, first.json(), client.task)
        assert other.planner.asked == [], "it is answered with what it was answered"
        stranger = other.web.post("/kafkacruisecontrol/rebalance?json=true", headers={"User-Task-ID": client.task})
        assert (stranger.status_code, "with other parameters" in stranger.json()["errorMessage"]) == (400, True)


def test_a_plan_that_failed_without_a_ticket_is_known_to_every_member(service: Service) -> None:
    failed = service.web.post("/kafkacruisecontrol/remove_broker?brokerid=9&json=true")
    task_id = failed.headers["User-Task-ID"]
    with another(service, knows_tasks=True) as other:
        (task,) = other.web.get(f"{TASKS}&user_task_ids={task_id}").json()["userTasks"]
        assert (task["Status"], json.loads(task["originalResponse"])) == ("CompletedWithError", failed.json())
        again = other.web.post(
            "/kafkacruisecontrol/remove_broker?brokerid=9&json=true", headers={"User-Task-ID": task_id}
        )
        assert (again.status_code, again.json()) == (500, failed.json())


def test_a_plan_under_way_is_known_to_every_member_and_lost_with_its_own() -> None:
    service = Service(block_s=0.1)
    go, plan = threading.Event(), service.planner.plan

    def slow(*arguments: Any, **named: Any) -> Any:
        assert go.wait(60)
        return plan(*arguments, **named)

    service.planner.plan = slow  # type: ignore[method-assign]
    url = "/kafkacruisecontrol/rebalance?json=true"
    try:
        task_id = service.web.post(url).headers["User-Task-ID"]
        headers = {"User-Task-ID": task_id}
        with another(service, knows_tasks=True) as other:
            told = other.web.get(f"{TASKS}&user_task_ids={task_id}").json()["userTasks"][0]
            assert told["Status"] == "Active"
            assert json.loads(told["originalResponse"])["progress"]
            asked = other.web.post(url, headers=headers)
            assert (asked.status_code, asked.headers["User-Task-ID"]) == (202, task_id)
            assert asked.json()["progress"][0]["operationProgress"][0]["description"].startswith("member g1 was asked")
            restarted = ReplicatedUserTasks(service.member.store, "g1")
            restarted.start()
            while other.web.get(f"{TASKS}&user_task_ids={task_id}").json()["userTasks"][0]["Status"] == "Active":
                pass
            restarted.stop()
            told = other.web.get(f"{TASKS}&user_task_ids={task_id}").json()["userTasks"][0]
            assert told["Status"] == "CompletedWithError"
            assert "member g1 ended before task" in json.loads(told["originalResponse"])["errorMessage"]
            anew = other.web.post(url, headers=headers)
            assert (anew.status_code, anew.headers["User-Task-ID"]) == (200, task_id)
            assert len(other.planner.asked) == 1
    finally:
        go.set()
        service.stop()


def test_what_was_asked_for_in_the_browser_is_no_user_task(service: Service) -> None:
    asked = UserTaskRecord("0123", "live", "console/balance", "topics=a", "", "ann", service.member.now_ms, b"")
    ReplicatedUserTasks(service.member.store, "g1").put(asked)
    with another(service, knows_tasks=True) as other:
        assert "0123" not in other.web.get(TASKS).text
        assert other.web.get(f"{TASKS}&user_task_ids=0123").status_code == 200


def test_a_removal_has_a_summary_of_what_it_planned_so_far(service: Service) -> None:
    made = service.web.post("/kafkacruisecontrol/remove_broker?brokerid=2&dryrun=false&json=true")
    with another(service) as other:
        url = "/kafkacruisecontrol/user_tasks?json=true&fetch_completed_task=true&user_task_ids={}"
        (task,) = other.web.get(url.format(made.headers["User-Task-ID"])).json()["userTasks"]
    assert json.loads(task["originalResponse"])["summary"]["numReplicaMovements"] == 0


def test_a_plan_that_can_not_be_made_is_told_as_json(service: Service) -> None:
    failed = service.web.post("/kafkacruisecontrol/remove_broker?brokerid=9&dryrun=false&json=true")
    url = f"{TASKS}&user_task_ids={failed.headers['User-Task-ID']}"
    (task,) = service.web.get(url).json()["userTasks"]
    assert task["Status"] == "CompletedWithError"
    assert json.loads(task["originalResponse"]) == failed.json()
    text = service.web.get(url.replace("json=true", "json=false")).text
    assert failed.json()["errorMessage"] in text


def test_only_so_many_plans_are_read_for_one_answer(service: Service) -> None:
    for number in range(_RETOLD + 2):
        service.web.post(f"/kafkacruisecontrol/rebalance?dryrun=false&reason=number-{number}")
    with another(service) as other:
        reads = []
        plan = other.client.plan
        other.client.plan = lambda plan_hash: reads.append(plan_hash) or plan(plan_hash)  # type: ignore[method-assign,func-returns-value]
        tasks = other.web.get(TASKS).json()["userTasks"]
        del other.client.plan
    assert (len(tasks), len(reads)) == (_RETOLD + 2, _RETOLD)
    assert [bool(task["originalResponse"]) for task in tasks].count(True) == _RETOLD
