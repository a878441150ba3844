"""Guardian's own API: what the CLI shows and does, as JSON that its OpenAPI document describes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from guardian.client import GuardianClient
from guardian.errors import Overloaded, Unavailable
from guardian.model.federation import IdcPolicy, Topic
from guardian.model.tasks import Balance, CreateTopic, Leaders, MigrateIdc
from guardian.model.ticket import TicketState
from guardian.model.wire.entries import entry_to_proto
from guardian.rest import document
from guardian.rest.bodies import AskBody
from guardian.rest.problems import headers_of, status_of
from guardian.security.model.identity import Grant, Identity, Role
from guardian.tickets.kinds.topic_config import TopicConfig, TopicSetting
from protos.guardian.v1 import federation_pb2, records_pb2
from protos.guardian.v1.federation_pb2 import FederationChange
from tests.unit.rest.service import MB, Service

API = "/api/v1"
REASSIGNMENT = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 3]}]}
OPENAPI: dict[str, Any] = json.loads(document.text())


def checked(answer: Any, method: str, template: str) -> Any:
    """The body, after it was held against what the document says of this answer."""
    operation = OPENAPI["paths"][f"{API}{template}"][method]
    told = operation["responses"].get(str(answer.status_code), operation["responses"]["default"])
    kind = answer.headers["content-type"].partition(";")[0]
    schema = told["content"][kind]["schema"]
    jsonschema.validate(answer.json(), {**schema, "components": OPENAPI["components"]})
    return answer.json()


def made(service: Service, **more: object) -> str:
    body = {"cluster": "live", "reassignment": REASSIGNMENT, "author": "ann", **more}
    ticket: str = checked(service.web.post(f"{API}/tickets", json=body), "post", "/tickets")["ticket"]["id"]
    return ticket


def test_the_document_in_docs_is_the_one_that_is_served(service: Service) -> None:
    kept = Path(__file__).parents[3] / "docs" / "openapi.json"
    assert kept.read_text() == document.text(), "run: python -m guardian.rest.document docs/openapi.json"
    assert service.web.get(f"{API}/openapi.json").json() == OPENAPI


def test_every_operation_is_described() -> None:
    for path, methods in OPENAPI["paths"].items():
        for operation in methods.values():
            assert operation["description"], path
            assert "default" in operation["responses"], path
            assert operation["tags"], path


def test_clusters_and_brokers(service: Service) -> None:
    clusters = checked(service.web.get(f"{API}/clusters"), "get", "/clusters")["clusters"]
    assert [cluster["name"] for cluster in clusters] == ["live"]
    assert checked(service.web.get(f"{API}/clusters/live"), "get", "/clusters/{cluster}")["cluster_id"] == "fake"
    checked(service.web.get(f"{API}/clusters/live/brokers"), "get", "/clusters/{cluster}/brokers")
    missing = service.web.get(f"{API}/clusters/nope")
    assert checked(missing, "get", "/clusters/{cluster}")["type"] == "urn:guardian:not-found"
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")


def test_topics_come_in_pages(service: Service) -> None:
    for number in range(5):
        service.member.kafka.create_topic(f"u{number}", {0: [1, 2]}, 5)
    url, names, after = f"{API}/clusters/live/topics", [], ""
    while True:
        page = checked(service.web.get(url, params={"limit": 2, "after": after}), "get", "/clusters/{cluster}/topics")
        names += [row["name"] for row in page["topics"]]
        after = page["next"]
        if not after:
            break
    assert names == ["t", "u0", "u1", "u2", "u3", "u4"]
    found = service.web.get(url, params={"contains": "u3"}).json()
    assert (found["total"], found["topics"][0]["replication_factor"]) == (1, 2)
    one = checked(service.web.get(f"{url}/t"), "get", "/clusters/{cluster}/topics/{topic}")
    assert one["partitions"] == [{"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1, 2]}]
    assert service.web.get(f"{url}/nope").status_code == 404


def test_a_page_of_topics_reads_of_the_directory_no_more_than_up_to_its_end(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        service.member.kafka.create_topic(f"u{number}", {0: [1, 2]}, 5)
    puts = [
        federation_pb2.FederationChange(
            put=federation_pb2.FederationEntry(topic=federation_pb2.Topic(cluster="live", name=f"u{number}", owner="o"))
        )
        for number in range(5)
    ]
    change = federation_pb2.ChangeFederationRequest(changes=puts)
    service.member.store.propose(records_pb2.Command(change_federation=change))
    read: list[str] = []
    federation = GuardianClient.federation

    def counted(client: GuardianClient, *asked: Any) -> Iterator[federation_pb2.FederationEntry]:
        for entry in federation(client, *asked):
            read.append(entry.topic.name)
            yield entry

    monkeypatch.setattr(GuardianClient, "federation", counted)
    found = service.web.get(f"{API}/clusters/live/topics", params={"limit": 2}).json()["topics"]
    assert [(row["name"], "entry" in row) for row in found] == [("t", False), ("u0", True)]
    assert read == ["u0", "u1"]
    assert service.web.get(f"{API}/clusters/live/topics", params={"contains": "nothing"}).json()["topics"] == []
    assert len(read) == 2


def test_a_ticket_from_draft_to_its_end(service: Service) -> None:
    ticket = made(service, reason="skew")
    listed = checked(service.web.get(f"{API}/tickets"), "get", "/tickets")
    assert [(each["id"], each["state"]) for each in listed["tickets"]] == [(ticket, "DRAFT")]
    for act, state, actor in (("submit", "PENDING", "ann"), ("approve", "APPROVED", "bob"), ("cancel", "REJECTED", "")):
        answer = service.web.post(f"{API}/tickets/{ticket}/{act}", json={"actor": actor, "reason": act})
        assert checked(answer, "post", f"/tickets/{{ticket_id}}/{act}")["state"] == state
    detail = checked(service.web.get(f"{API}/tickets/{ticket}"), "get", "/tickets/{ticket_id}")
    assert [past["actor"] for past in detail["ticket"]["history"]] == ["ann", "ann", "bob", "local"]
    plan = service.web.get(f"{API}/plans/{detail['ticket']['plan_hash']}")
    stored = checked(plan, "get", "/plans/{plan_hash}")
    assert (stored["moves"][0]["topic"], len(stored["takes_s"])) == ("t", 2)
    again = service.web.post(f"{API}/tickets/{ticket}/approve", json={})
    assert checked(again, "post", "/tickets/{ticket_id}/approve")["type"] == "urn:guardian:conflict"
    states = checked(service.web.get(f"{API}/tickets?state=rejected&cluster=live"), "get", "/tickets")
    assert states["total"] == 1
    assert states["next_page_token"] == ""


def test_pages_of_tickets_and_of_the_audit_lead_to_the_next_ones(service: Service) -> None:
    new = {made(service, reason=f"skew {number}") for number in range(3)}
    for path, rows, name in (("tickets", "tickets", "id"), ("audit", "records", "index")):
        everything = checked(service.web.get(f"{API}/{path}"), "get", f"/{path}")
        where, seen = f"{API}/{path}?limit=2", []
        while where:
            answer = service.web.get(where)
            page = checked(answer, "get", f"/{path}")
            assert len(page[rows]) <= 2
            seen += [row[name] for row in page[rows]]
            where = answer.links.get("next", {}).get("url", "")
            assert bool(where) == bool(page["next_page_token"])
        assert seen == [row[name] for row in everything[rows]]
    assert new <= {row["id"] for row in service.web.get(f"{API}/tickets").json()["tickets"]}
    assert service.web.get(f"{API}/tickets?page_token=t-1").status_code == 400
    assert service.web.get(f"{API}/tickets?state=odd").status_code == 400


def test_a_ticket_that_sends_requests_is_made_of_its_kinds_options(service: Service) -> None:
    request = {"kind": "topic-config", "topic": ["t"], "set": ["retention.ms=2000"]}
    body = {"cluster": "live", "request": request, "submit": True, "author": "ann"}
    rehearsed = service.web.post(f"{API}/tickets", json={**body, "dry_run": True}).json()
    assert rehearsed["plan"]["notes"] == ["retention.ms of topic t: not set -> 2000"]
    assert service.client.tickets() == ()
    answer = checked(service.web.post(f"{API}/tickets", json=body), "post", "/tickets")
    assert (answer["ticket"]["kind"], answer["ticket"]["state"]) == ("topic-config", "PENDING")
    assert service.client.plan(answer["ticket"]["plan_hash"]).task == TopicConfig(
        (TopicSetting("t", "retention.ms", "2000"),)
    )


def test_a_ticket_shows_what_it_would_send_and_takes_another_throttle(service: Service) -> None:
    ticket = made(service)
    preview = checked(service.web.get(f"{API}/tickets/{ticket}/preview"), "get", "/tickets/{ticket_id}/preview")
    assert preview["rounds"]
    faster = service.web.post(f"{API}/tickets/{ticket}/throttle", json={"throttle": 7_000_000})
    assert checked(faster, "post", "/tickets/{ticket_id}/throttle")["throttle"] == "7000000"


def test_a_ticket_of_brokers_is_amended_and_approved_at_the_revision_that_was_seen(service: Service) -> None:
    ask = {"kind": "remove-brokers", "brokers": [3], "shutdown": False}
    body = {"cluster": "live", "ask": ask, "author": "ann", "submit": True, "expires_in_ms": -1}
    answer = service.web.post(f"{API}/tickets", json=body).json()
    assert "ticket" in answer, answer
    made = answer["ticket"]
    assert made["expires_at_ms"] == "0"
    where = f"{API}/tickets/{made['id']}"
    amended = service.web.post(f"{where}/amend", json={"brokers": [2], "actor": "ann"})
    assert checked(amended, "post", "/tickets/{ticket_id}/amend")["ask"]["brokers"] == [2]
    assert service.web.post(f"{where}/amend", json={"brokers": [3], "actor": "ann", "revision": 0}).status_code == 409
    assert service.web.post(f"{where}/approve", json={"actor": "bob", "revision": 0}).status_code == 409
    approved = service.web.post(f"{where}/approve", json={"actor": "bob", "revision": 1})
    assert checked(approved, "post", "/tickets/{ticket_id}/approve")["state"] == "APPROVED"
    other = service.web.post(f"{API}/tickets", json={"cluster": "live", "plan": {"kind": "balance"}}).json()["ticket"]
    refused = service.web.post(f"{API}/tickets/{other['id']}/amend", json={"brokers": [1]})
    assert (refused.status_code, "asks for no brokers" in refused.json()["detail"]) == (409, True)


def test_brokers_may_be_given_more_time_to_be_back() -> None:
    body = {"kind": "rolling-restart", "brokers": [1], "hook": "h", "back_within_ms": 60_000}
    assert AskBody.model_validate(body).ask().back_within_ms == 60_000


def test_a_reassignment_is_previewed_and_made_a_ticket_without_a_throttle(service: Service) -> None:
    moves = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 3]}]}
    seen = service.web.post(f"{API}/clusters/live/preview", json={"reassignment": moves, "unthrottled": True})
    assert checked(seen, "post", "/clusters/{cluster}/preview")["rounds"]
    body = {"cluster": "live", "reassignment": moves, "unthrottled": True, "expires_in_ms": 60_000}
    ticket = service.web.post(f"{API}/tickets", json=body).json()["ticket"]
    assert (ticket["throttle"], ticket["expires_at_ms"]) == ("0", "61000")
    more = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2, 3]}]}
    body = {"cluster": "live", "reassignment": more, "dry_run": True}
    assert service.web.post(f"{API}/tickets", json=body).status_code == 400
    grown = service.web.post(f"{API}/tickets", json={**body, "change_replication_factor": True})
    assert grown.json()["plan"]["kind"] == "change-replication-factor"
    assert service.client.tickets()[0].id == ticket["id"]


def test_the_same_key_makes_one_ticket(service: Service) -> None:
    assert made(service, idempotency_key="k") == made(service, idempotency_key="k")
    assert len(service.client.tickets()) == 1


def test_a_dry_run_stores_nothing(service: Service) -> None:
    body = {"cluster": "live", "plan": {"kind": "balance"}, "dry_run": True}
    answer = service.web.post(f"{API}/tickets", json=body)
    assert (answer.status_code, answer.json()["ticket"]["id"]) == (200, "")
    assert service.client.tickets() == ()


def test_plans_are_made_of_kinds(service: Service) -> None:
    answer = service.web.post(f"{API}/clusters/live/plans", json={"kind": "balance", "topics": ["t"], "throttle": MB})
    made = checked(answer, "post", "/clusters/{cluster}/plans")
    least_s, most_s = made["takes_s"]
    assert (made["kind"], 0 < least_s < 10 < most_s < 60) == ("balance", True)  # 10 MiB at 1 MiB/s take 10 s
    task, settings = service.planner.asked[-1]
    assert (task, settings.throttle) == (Balance(("t",)), MB)
    service.web.post(f"{API}/clusters/live/plans", json={"kind": "leaders", "away_from": [2]})
    assert service.planner.asked[-1][0] == Leaders((), (2,))


def test_a_new_topic_goes_where_the_directory_says(service: Service) -> None:
    topic = Topic("live", "orders", label="gold", idc_policy="two", expected_bytes_in_per_s=9)
    policy = IdcPolicy("two", (("shanghai", 2), ("suzhou", 1)))
    changes = [FederationChange(put=entry_to_proto(each)) for each in (policy, topic)]
    service.client.change_federation(changes)
    for name, known in (("orders", topic), ("new", Topic("live", "new"))):
        body = {"kind": "create-topic", "topic": name, "partitions": 6, "replication_factor": 3}
        assert service.web.post(f"{API}/clusters/live/plans", json=body).status_code == 200
        assert service.planner.asked[-1][0] == CreateTopic(known, 6, 3)
    service.web.post(f"{API}/clusters/live/plans", json={"kind": "migrate-idc", "policy": "two"})
    assert service.planner.asked[-1][0] == MigrateIdc(policy)


def test_what_else_there_is_to_see(service: Service) -> None:
    ticket = made(service, submit=True)
    events = checked(service.web.get(f"{API}/events", params={"ticket": ticket}), "get", "/events")["events"]
    assert [event["kind"] for event in events] == ["TICKET_CREATED"]
    assert service.web.get(f"{API}/events", params={"after": events[-1]["id"]}).json()["events"] == []
    assert service.web.get(f"{API}/events?kind=odd").status_code == 400
    checked(service.web.get(f"{API}/findings?cluster=live"), "get", "/findings")
    checked(service.web.get(f"{API}/healing"), "get", "/healing")
    assert checked(service.web.get(f"{API}/audit?limit=1"), "get", "/audit")["records"]
    assert checked(service.web.get(f"{API}/members"), "get", "/members")["raft"][0]["name"] == "g1"
    checked(service.web.get(f"{API}/clusters/live/durability"), "get", "/clusters/{cluster}/durability")
    path = "/clusters/{cluster}/past"
    found = checked(service.web.get(f"{API}/clusters/live/past?at_ms=1790000000000"), "get", path)
    assert (int(found["at_ms"]), found["brokers"]) == (1790000000000, [])
    assert service.web.get(f"{API}/clusters/live/past?broker=1").json()["detail"].startswith("broker is 1, which")


def test_a_fault_is_predicted(service: Service) -> None:
    body = {"topics": ["t"], "acks": "ACKS_ALL", "kill": {"brokers": [1], "seconds": 5}}
    answer = service.web.post(f"{API}/clusters/live/what-if", json=body)
    found = checked(answer, "post", "/clusters/{cluster}/what-if")
    assert (found["fault"], [each["lost"] for each in found["topics"]]) == ("kill of broker 1", ["LOST_NOTHING"])
    assert [each["read_lost"] for each in found["topics"]] == ["IN_NO_WAY"]


@pytest.mark.parametrize(
    ("kind", "said", "shutdown"),
    [
        ("remove-brokers", {}, True),
        ("remove-brokers", {"shutdown": False}, False),
        ("offline-brokers", {}, True),
        ("online-brokers", {}, False),
        ("rolling-restart", {"hook": "h"}, False),
    ],
)
def test_brokers_that_go_are_shut_down_unless_it_is_said_otherwise(
    kind: str, said: dict[str, object], shutdown: bool
) -> None:
    """As by the command line."""
    assert AskBody.model_validate({"kind": kind, "brokers": [1], **said}).ask().shutdown is shutdown


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("/tickets", {"cluster": "live"}, "give exactly one of them"),
        ("/tickets", {"cluster": "live", "colour": "red"}, "colour is 'red'"),
        ("/tickets", {"cluster": "live", "reassignment": {"version": 2}}, "version is 2"),
        ("/tickets", {"cluster": "live", "ask": {"kind": "remove-brokers"}}, "brokers of remove-brokers is empty"),
        ("/tickets", {"cluster": "live", "request": {"kind": "topic-config"}}, "topic"),
        (
            "/tickets",
            {"cluster": "live", "request": {"kind": "topic-config", "topic": ["t"], "set": ["retention.ms"]}},
            "set is 'retention.ms': use key=value",
        ),
        ("/tickets", {"cluster": "live", "request": {"kind": "magic"}}, "magic"),
        ("/tickets/t-1/throttle", {"throttle": 0}, "throttle is '0'"),
        ("/clusters/live/plans", {"kind": "magic"}, "kind is 'magic'"),
        ("/clusters/live/plans", {"kind": "remove-brokers"}, "brokers is empty"),
        ("/clusters/live/plans", {"kind": "migrate-idc", "policy": "x"}, "policy is 'x'"),
        ("/clusters/live/what-if", {"colour": "red"}, "colour"),
        ("/clusters/live/what-if", {"cluster": "bulk"}, "cluster: not that of the path (got 'bulk')"),
        ("/clusters/live/what-if", {}, "fault: missing"),
    ],
)
def test_wrong_bodies_change_nothing(service: Service, path: str, body: dict[str, object], detail: str) -> None:
    answer = service.web.post(f"{API}{path}", json=body)
    assert (answer.status_code, detail in answer.json()["detail"]) == (400, True), answer.text
    assert service.client.tickets() == ()


def test_a_form_is_refused(service: Service) -> None:
    ticket = made(service, submit=True)
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = service.web.post(f"{API}/tickets/{ticket}/approve", content=b"{}", headers={"Content-Type": kind})
        assert (answer.status_code, "Content-Type" in answer.json()["detail"]) == (400, True)
    assert service.client.ticket(ticket)[0].state is TicketState.PENDING


def test_unknown_paths_are_problems(service: Service) -> None:
    answer = service.web.get(f"{API}/nothing/here")
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:guardian:not-found")


def test_overload_says_when_to_come_back() -> None:
    error = Overloaded("too much", 1500)
    assert (status_of(error), headers_of(error)) == (429, {"Retry-After": "2"})
    assert status_of(Unavailable("nobody leads")) == 503
    assert status_of(ValueError()) == 500


@pytest.fixture
def guarded() -> Iterator[Service]:
    service = Service(
        {
            "nina": Identity("nina", (Grant(Role.VIEWER, ("other-*",)),)),
            "vera": Identity("vera", (Grant(Role.VIEWER),)),
        }
    )
    yield service
    service.stop()


def test_what_is_asked_beside_grpc_asks_for_the_role(guarded: Service) -> None:
    who = {"X-Who": "nina"}
    for method, path, body in (
        ("GET", "/clusters/live/topics", None),
        ("GET", "/clusters/live/topics/t", None),
        ("POST", "/clusters/live/plans", {"kind": "balance"}),
        ("POST", "/tickets", {"cluster": "live", "plan": {"kind": "balance"}}),
    ):
        answer = guarded.web.request(method, f"{API}{path}", json=body, headers=who)
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:guardian:not-allowed"), path
    assert guarded.planner.asked == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_viewer_has_no_ticket_planned_not_even_a_dry_run(guarded: Service, dry_run: bool) -> None:
    """The service refuses it anyway, after the search."""
    for what in ({"plan": {"kind": "balance"}}, {"ask": {"kind": "remove-brokers", "brokers": [2]}}):
        body = {"cluster": "live", "dry_run": dry_run, **what}
        answer = guarded.web.post(f"{API}/tickets", json=body, headers={"X-Who": "vera"})
        assert (answer.status_code, answer.json()["detail"].partition(":")[0]) == (
            403,
            "vera is no operator of cluster live",
        )
    assert guarded.planner.asked == []
