"""Cruise Control's API as its clients meet it: shapes, headers, user tasks, and tickets behind each change."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest

from guardian.errors import ClusterUnavailable
from guardian.model.tasks import Add, Balance, EmptyDisk, Heal, Leaders, LogDir, Remove, ReplicationFactor
from guardian.model.ticket import TicketState
from guardian.rest.cruise_control.endpoints import ENDPOINTS, WITHOUT_COUNTERPART
from guardian.security.model.identity import Grant, Identity, Role
from tests.unit.rest.service import Service

pytestmark = pytest.mark.slow

BASE = "/clusters/live/kafkacruisecontrol"


def test_state_tells_of_an_idle_cluster(service: Service) -> None:
    answer = service.web.get(f"{BASE}/state", params={"json": "true"})
    assert answer.status_code == 200
    assert answer.headers["Cruise-Control-Version"].startswith("2.5")
    uuid.UUID(answer.headers["User-Task-ID"])
    document = answer.json()
    assert document["version"] == 1
    assert document["ExecutorState"] == {"state": "NO_TASK_IN_PROGRESS"}
    assert document["MonitorState"]["numTotalPartitions"] == 1
    assert document["MonitorState"]["monitoringCoveragePct"] == 100.0
    assert "RackAwareGoal" in document["AnalyzerState"]["readyGoals"]
    assert document["AnomalyDetectorState"]["recentBrokerFailures"] == []


def test_substates_are_chosen_by_lists_and_by_repetition(service: Service) -> None:
    for query in ("substates=executor,analyzer", "substates=EXECUTOR&substates=analyzer"):
        assert set(service.web.get(f"{BASE}/state?json=true&{query}").json()) == {
            "ExecutorState",
            "AnalyzerState",
            "version",
        }


def test_text_is_the_default(service: Service) -> None:
    answer = service.web.get(f"{BASE}/state", params={"substates": "executor"})
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == "ExecutorState: {state: NO_TASK_IN_PROGRESS}\n"
    assert "trained: false" in service.web.get(f"{BASE}/state", params={"substates": "monitor"}).text


def test_the_bare_path_is_the_only_cluster(service: Service) -> None:
    assert service.web.get("/kafkacruisecontrol/state?json=true&substates=executor").status_code == 200


def test_load_counts_what_brokers_hold_and_carry(service: Service) -> None:
    document = service.web.get(f"{BASE}/load", params={"json": "true", "populate_disk_info": "true"}).json()
    first, second, third = document["brokers"]
    assert [first["Broker"], first["Leaders"], first["Replicas"], third["Replicas"]] == [1, 1, 1, 0]
    assert first["LeaderNwInRate"] == 2.0
    assert second["FollowerNwInRate"] == 2.0
    assert first["NwOutRate"] == 6.0, "4 KB/s to consumers and 2 to the follower"
    assert second["NwOutRate"] == 0.0
    assert second["PnwOutRate"] == 6.0
    assert first["CpuPct"] == 12.5, "50 % of one core of four"
    assert set(first["DiskState"]) == {"/d0", "/d1"}
    assert sum(host["Replicas"] for host in document["hosts"]) == 2


def test_load_as_text_has_a_line_a_broker(service: Service) -> None:
    text = service.web.get(f"{BASE}/load").text
    assert "DISK_CAP(MB)" in text
    assert len(text.strip().splitlines()) == 4


def test_partition_load_is_sorted_and_filtered(service: Service) -> None:
    service.member.kafka.create_topic("u", {0: [2, 3], 1: [3, 1]}, 500)
    document = service.web.get(f"{BASE}/partition_load", params={"json": "true"}).json()
    assert [(row["topic"], row["partition"]) for row in document["records"]] == [("u", 0), ("u", 1), ("t", 0)]
    by_rate = service.web.get(f"{BASE}/partition_load", params={"json": "true", "resource": "nw_in", "entries": "1"})
    assert [row["topic"] for row in by_rate.json()["records"]] == ["t"]
    assert by_rate.json()["records"][0]["msg_in"] == 7.0
    of_u = service.web.get(f"{BASE}/partition_load?json=true&topic=u&partition=1-1").json()["records"]
    assert [(row["topic"], row["partition"], row["leader"], row["followers"]) for row in of_u] == [("u", 1, 3, [1])]


def test_kafka_cluster_state_shows_what_is_wrong(service: Service) -> None:
    kafka = service.member.kafka
    kafka.create_topic("u", {0: [2, 3]}, 5)
    kafka.kill_broker(2)
    document = service.web.get(f"{BASE}/kafka_cluster_state", params={"json": "true", "verbose": "true"}).json()
    state = document["KafkaPartitionState"]
    assert {(row["topic"], tuple(row["offline"])) for row in state["with-offline-replicas"]} == {
        ("t", (2,)),
        ("u", (2,)),
    }
    assert {row["topic"] for row in state["urp"]} == {"t", "u"}
    assert document["KafkaBrokerState"]["OfflineReplicaCountByBrokerId"]["2"] == 2
    assert document["KafkaBrokerState"]["Summary"]["Brokers"] == 2
    assert document["KafkaBrokerState"]["OnlineLogDirsByBrokerId"]["1"] == ["/d0", "/d1"]
    assert "Under Replicated Partitions:" in service.web.get(f"{BASE}/kafka_cluster_state").text


def test_a_dry_run_is_the_default_and_changes_nothing(service: Service) -> None:
    answer = service.web.post(f"{BASE}/rebalance", params={"json": "true", "verbose": "true"})
    document = answer.json()
    assert answer.status_code == 200
    assert document["summary"]["numReplicaMovements"] == 1
    assert document["summary"]["dataToMoveMB"] == 10
    assert document["proposals"] == [
        {"topicPartition": "t-0", "oldLeader": 1, "oldReplicas": [1, 2], "newReplicas": [1, 3]}
    ]
    assert [row["Replicas"] for row in document["loadBeforeOptimization"]["brokers"]] == [1, 1, 0]
    assert [row["Replicas"] for row in document["loadAfterOptimization"]["brokers"]] == [1, 0, 1]
    assert {row["goal"]: row["status"] for row in document["goalSummary"]} == {
        "RackAwareGoal": "NO-ACTION",
        "DiskUsageDistributionGoal": "FIXED",
    }
    assert document["guardian"]["message"].startswith("This is a dry run")
    assert service.client.tickets() == ()


def test_without_a_dry_run_a_ticket_waits_for_approval_and_says_so(service: Service) -> None:
    answer = service.web.post(f"{BASE}/rebalance", params={"json": "true", "dryrun": "False", "reason": "skew"})
    (ticket,) = service.client.tickets()
    told = answer.json()["guardian"]
    assert (ticket.state, ticket.history[0].reason) == (TicketState.PENDING, "skew")
    assert answer.headers["Guardian-Ticket"] == ticket.id == told["ticket"]
    assert told["reviewStatus"] == "PENDING_REVIEW"
    assert f"review?approve={told['reviewId']}" in told["message"]

    board = service.web.get(f"{BASE}/review_board", params={"json": "true"}).json()["RequestInfo"]
    assert [(row["Id"], row["Status"]) for row in board] == [(told["reviewId"], "PENDING_REVIEW")]
    early = service.web.post(f"{BASE}/rebalance", params={"json": "true", "review_id": told["reviewId"]})
    assert (early.status_code, "waits for approval" in early.json()["errorMessage"]) == (500, True)

    service.web.post(f"{BASE}/review", params={"approve": told["reviewId"], "reason": "fine", "doAs": "bob"})
    approved, _ = service.client.ticket(ticket.id)
    assert (approved.state, approved.history[-1].actor) == (TicketState.APPROVED, "bob")
    second = service.web.post(f"{BASE}/rebalance", params={"json": "true", "review_id": told["reviewId"]})
    assert (second.status_code, second.json()["guardian"]["state"]) == (200, "APPROVED")
    assert second.json()["summary"]["numReplicaMovements"] == 1
    assert len(service.client.tickets()) == 1, "the second step makes no second ticket"


def test_a_review_may_be_discarded(service: Service) -> None:
    told = service.web.post(f"{BASE}/rebalance?json=true&dryrun=false").json()["guardian"]
    board = service.web.post(f"{BASE}/review?json=true&discard={told['reviewId']}").json()["RequestInfo"]
    assert [(row["Id"], row["Status"]) for row in board] == [(told["reviewId"], "DISCARDED")]
    assert service.web.post(f"{BASE}/review?approve=12345").status_code == 500


def test_removal_is_a_ticket_that_asks_and_keeps_its_exclusion(service: Service) -> None:
    dry = service.web.post(f"{BASE}/remove_broker", params={"brokerid": "2", "json": "true"})
    assert dry.status_code == 200
    assert service.planner.asked[-1][0] == Remove((2,))


@pytest.mark.parametrize(
    ("request_line", "task"),
    [
        ("rebalance", Balance()),
        ("rebalance?destination_broker_ids=3", Add((3,))),
        ("add_broker?brokerid=2,3", Add((2, 3))),
        ("demote_broker?brokerid=1", Leaders(away_from=(1,))),
        ("fix_offline_replicas", Heal()),
        ("remove_disks?brokerid_and_logdirs=1-/d1", EmptyDisk((LogDir(1, "/d1"),))),
        ("topic_configuration?topic=t.*&replication_factor=3", ReplicationFactor(("t",), 3)),
    ],
)
def test_each_endpoint_asks_for_its_plan(service: Service, request_line: str, task: object) -> None:
    assert service.web.post(f"{BASE}/{request_line}").status_code == 200
    assert service.planner.asked[-1][0] == task


def test_parameters_become_settings(service: Service) -> None:
    service.member.kafka.create_topic("logs-1", {0: [1, 2]}, 5)
    query = "goals=RackAwareGoal,DiskUsageDistributionGoal&excluded_topics=logs-.*&replication_throttle=1000000"
    service.web.post(f"{BASE}/rebalance?{query}")
    _, settings = service.planner.asked[-1]
    assert settings.goals == ("RackAwareGoal", "DiskUsageDistributionGoal")
    assert settings.excluded_topics == ("logs-1",)
    assert settings.throttle == 1e6
    service.web.post(f"{BASE}/rebalance?rebalance_disk=true")
    assert service.planner.asked[-1][1].goals == ("log-dir-spread", "log-dir-io-spread")


def test_a_repetition_finds_the_task_and_does_nothing_twice() -> None:
    service = Service(block_s=0.2)
    go = threading.Event()
    plan = service.planner.plan

    def slow(*arguments: object, **named: object) -> object:
        assert go.wait(30)
        return plan(*arguments, **named)  # type: ignore[arg-type]

    service.planner.plan = slow  # type: ignore[method-assign,assignment]
    try:
        url = f"{BASE}/rebalance?json=true&dryrun=false"
        first = service.web.post(url)
        assert first.status_code == 202
        steps = first.json()["progress"][0]
        assert steps["operation"] == "Rebalance"
        assert steps["operationProgress"][-1]["completionPercentage"] == 0.0
        again = service.web.post(url)
        by_id = service.web.post(url, headers={"User-Task-ID": first.headers["User-Task-ID"]})
        assert {first.headers["User-Task-ID"]} == {again.headers["User-Task-ID"], by_id.headers["User-Task-ID"]}
        active = service.web.get(f"{BASE}/user_tasks?json=true").json()["userTasks"]
        assert [(task["Status"], task["RequestURL"]) for task in active] == [("Active", f"POST {url}")]
        other = service.web.post(f"{BASE}/rebalance?json=true", headers={"User-Task-ID": first.headers["User-Task-ID"]})
        assert other.status_code == 400
        go.set()
        final = service.web.post(url)
        while final.status_code == 202:
            final = service.web.post(url)
        assert final.status_code == 200
        assert len(service.client.tickets()) == 1
        assert len(service.planner.asked) == 1
    finally:
        go.set()
        service.stop()


def test_user_tasks_outlive_the_member_that_was_asked(service: Service) -> None:
    made = service.web.post(f"{BASE}/rebalance?dryrun=false")
    other = Service()
    try:
        other.client, (own, other_client) = service.client, (service.client, other.client)
        task_id = made.headers["User-Task-ID"]
        seen = other.web.get(f"{BASE}/user_tasks?json=true").json()["userTasks"]
        assert [(task["UserTaskId"], task["Status"]) for task in seen] == [(task_id, "Active")]
        again = other.web.post(f"{BASE}/rebalance?dryrun=false", headers={"User-Task-ID": task_id})
        assert again.headers["Guardian-Ticket"] == made.headers["Guardian-Ticket"]
        assert len(own.tickets()) == 1
        other.client = other_client
    finally:
        other.stop()


def test_stop_takes_back_what_is_under_way(service: Service) -> None:
    assert "nothing to stop" in service.web.post(f"{BASE}/stop_proposal_execution").text
    told = service.web.post(f"{BASE}/rebalance?json=true&dryrun=false").json()["guardian"]
    service.client.approve(told["ticket"], "bob")
    message = service.web.post(f"{BASE}/stop_proposal_execution?json=true").json()["message"]
    assert told["ticket"] in message
    assert service.client.ticket(told["ticket"])[0].state is TicketState.REJECTED


def test_sampling_is_paused_and_resumed(service: Service) -> None:
    service.web.post(f"{BASE}/pause_sampling?reason=upgrade")
    assert service.client.list_clusters()[0].sampling_paused == "upgrade"
    state = service.web.get(f"{BASE}/state?json=true&substates=monitor").json()["MonitorState"]
    assert (state["state"], state["reasonOfLatestPauseOrResume"]) == ("PAUSED", "upgrade")
    assert service.web.post(f"{BASE}/resume_sampling?json=true").json()["message"] == (
        "Metric sampling of cluster live resumed."
    )
    assert service.client.list_clusters()[0].sampling_paused == ""


def test_admin_and_rightsize_do_what_they_can_and_refuse_the_rest(service: Service) -> None:
    refused = service.web.post(f"{BASE}/admin?json=true&disable_self_healing_for=broker_failure")
    assert (refused.status_code, "[healing]" in refused.json()["errorMessage"]) == (400, True)
    assert service.web.post(f"{BASE}/admin?drop_recently_removed_brokers=2").status_code == 500, "there is none"
    told = service.web.post(f"{BASE}/rightsize?json=true&num_brokers_to_add=2").json()
    assert told["provisionerState"].startswith("IGNORED || Guardian starts no machines")
    assert service.web.post(f"{BASE}/rightsize").status_code == 500


@pytest.mark.parametrize(
    ("method", "path", "status", "sentence"),
    [
        ("GET", f"{BASE}/nonsense", 404, "supported GET endpoints"),
        ("POST", f"{BASE}/state", 405, "asked for with GET"),
        ("GET", f"{BASE}/bootstrap", 501, "no counterpart"),
        ("GET", f"{BASE}/state?colour=red", 400, "has no parameter 'colour'"),
        ("GET", f"{BASE}/state?verbose=perhaps", 400, "verbose is 'perhaps'"),
        ("GET", f"{BASE}/state?substates=weather", 400, "use analyzer, monitor"),
        ("POST", f"{BASE}/remove_broker", 400, "brokerid of remove_broker is missing"),
        ("POST", f"{BASE}/remove_broker?brokerid=1,x", 400, "brokerid is '1,x'"),
        ("POST", f"{BASE}/remove_broker?brokerid=99999999999", 400, "broker id is 99999999999"),
        ("POST", f"{BASE}/remove_broker?brokerid=1&destination_broker_ids=2", 400, "destination_broker_ids is '2'"),
        ("POST", f"{BASE}/rebalance?kafka_assigner=true", 400, "one planner"),
        ("POST", f"{BASE}/rebalance?excluded_topics=(", 400, "use a regular expression"),
        ("POST", f"{BASE}/topic_configuration?topic=nope&replication_factor=2", 500, "no topic matches"),
        ("POST", f"{BASE}/rebalance?review_id=77", 500, "review 77 does not exist"),
        ("GET", "/clusters/elsewhere/kafkacruisecontrol/state", 404, "'elsewhere' is not registered"),
    ],
)
def test_errors_name_the_fix_in_both_shapes(
    service: Service, method: str, path: str, status: int, sentence: str
) -> None:
    text = service.web.request(method, path)
    assert (text.status_code, sentence in text.text) == (status, True), text.text
    document = service.web.request(method, f"{path}{'&' if '?' in path else '?'}json=true").json()
    assert sentence in document["errorMessage"]
    assert document["version"] == 1


def test_a_planner_that_fails_is_told_once_and_not_kept(service: Service) -> None:
    service.planner.failure = ClusterUnavailable("broker 3 did not tell its log dirs")
    failed = service.web.post(f"{BASE}/rebalance?json=true")
    assert (failed.status_code, "did not tell its log dirs" in failed.json()["errorMessage"]) == (500, True)
    tasks = service.web.get(f"{BASE}/user_tasks?json=true&types=completed_with_error").json()["userTasks"]
    assert len(tasks) == 1
    service.planner.failure = None
    assert service.web.post(f"{BASE}/rebalance?json=true").status_code == 200


def test_what_has_no_effect_is_said(service: Service) -> None:
    notes = service.web.post(f"{BASE}/rebalance?json=true&skip_hard_goal_check=true").json()["guardian"]["notes"]
    assert any(note.startswith("skip_hard_goal_check has no effect: hard goals hold") for note in notes)


def test_a_schema_is_told_on_demand(service: Service) -> None:
    answer = service.web.get(f"{BASE}/state?json=true&substates=executor&get_response_schema=true")
    assert '"state": {"type": "string"}' in answer.headers["Cruise-Control-JSON-Schema"]


@pytest.fixture
def guarded() -> Iterator[Service]:
    """A viewer of all, an operator of another cluster."""
    people = {
        "vera": Identity("vera", (Grant(Role.VIEWER),)),
        "otto": Identity("otto", (Grant(Role.OPERATOR, ("other-*",)), Grant(Role.VIEWER))),
        "nina": Identity("nina", (Grant(Role.VIEWER, ("other-*",)),)),
    }
    service = Service(people)
    yield service
    service.stop()


def test_every_endpoint_asks_for_its_role(guarded: Service) -> None:
    needed = {
        "rebalance": "dryrun=false",
        "add_broker": "brokerid=1&dryrun=false",
        "remove_broker": "brokerid=1&dryrun=false",
        "demote_broker": "brokerid=1&dryrun=false",
        "fix_offline_replicas": "dryrun=false",
        "remove_disks": "brokerid_and_logdirs=1-/d0&dryrun=false",
        "topic_configuration": "topic=t&replication_factor=1&dryrun=false",
        "review": "approve=1",
        "rightsize": "num_brokers_to_add=1",
    }
    for endpoint in ENDPOINTS:
        url = f"{BASE}/{endpoint.name}?{needed.get(endpoint.name, '')}"
        nobody = guarded.web.request(endpoint.method, url, headers={"X-Who": "nina"})
        assert nobody.status_code == 403, endpoint.name
        if endpoint.acting is not None:
            for who in ("vera", "otto"):
                assert guarded.web.request(endpoint.method, url, headers={"X-Who": who}).status_code == 403, url
    assert guarded.client.tickets() == ()
    assert guarded.web.post(f"{BASE}/rebalance", headers={"X-Who": "vera"}).status_code == 200, "a dry run only tells"


def test_who_is_known_can_not_act_for_others(guarded: Service) -> None:
    roles = guarded.web.get(f"{BASE}/permissions?json=true", headers={"X-Who": "vera"}).json()
    assert roles["roles"] == ["VIEWER"]


def test_the_issue_s_endpoints_are_all_there() -> None:
    wanted = (
        "state load partition_load proposals kafka_cluster_state user_tasks review_board rebalance add_broker "
        "remove_broker demote_broker fix_offline_replicas remove_disks topic_configuration rightsize "
        "stop_proposal_execution pause_sampling resume_sampling review admin permissions"
    )
    assert {endpoint.name for endpoint in ENDPOINTS} == set(wanted.split())
    assert set(WITHOUT_COUNTERPART) == {"bootstrap", "train"}
