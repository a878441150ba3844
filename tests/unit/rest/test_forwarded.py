"""Routes that are RPCs: each is asked, and its answer held against the OpenAPI document and what gRPC answers."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from guardian.client import GuardianClient
from guardian.client.messages import Way
from guardian.model.federation import Tenant
from guardian.model.wire.entries import entry_to_proto
from guardian.rest import streams
from guardian.rest.forwarded import FORWARDED
from guardian.rest.forwarding import DAY_MS, HOUR_MS, Forwarded
from guardian.security.model.identity import LOCAL, Role
from guardian.security.rules.permitting import Where
from protos.guardian.v1 import activity_pb2, federation_pb2, insight_pb2, tiering_pb2
from tests.unit.rest.service import Service
from tests.unit.rest.test_api import API, OPENAPI, checked, made

ROWS = {f"{row.method} {row.path}": row for row in FORWARDED}
READS = [key for key, row in ROWS.items() if row.method == "GET"]
QUERIES = {"GET /federation": {"table": "TENANTS"}}
# What a member without an activity store, or about nothing, refuses; and why.
REFUSED = {
    "GET /clusters/{cluster}/activity": "subject is empty",
    "GET /clusters/{cluster}/idle-topics": "audit.url is not set",
    "GET /clusters/{cluster}/acl-use": "audit.url is not set",
    "GET /tiering/segments": "cluster_id has 0 characters",
}


def tenants(*names: str) -> list[federation_pb2.FederationChange]:
    return [federation_pb2.FederationChange(put=entry_to_proto(Tenant(name))) for name in names]


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Service, str]]:
    """A service that is only read, and a ticket of it."""
    service = Service()
    service.client.change_federation(tenants("payments"))
    yield service, made(service, submit=True)
    service.stop()


@pytest.mark.parametrize("key", READS)
def test_what_is_read_is_as_the_document_says_and_as_grpc_says(shared: tuple[Service, str], key: str) -> None:
    row, (service, ticket) = ROWS[key], shared
    path = row.path.replace("{cluster}", "live").replace("{ticket_id}", ticket)
    answer = service.web.get(f"{API}{path}", params=QUERIES.get(key, {}))
    found = checked(answer, "get", row.path)
    if key in REFUSED:
        assert (answer.status_code, REFUSED[key] in found["detail"]) == (400, True), found
        return
    assert answer.status_code == 200, found
    given = {each.name: None for each in row.parameters} | {name: path.split("/")[2] for name in row.in_path}
    asked = row.asked(given | QUERIES.get(key, {}), LOCAL, service.member.now_ms)
    assert ParseDict(found, row.reply()) == (service.client.call(row.rpc, asked, row.way) or row.reply())


def test_a_query_is_the_request(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def call(_: GuardianClient, rpc: str, request: Any, way: Way) -> Any:
        asked.append((rpc, way, request))

    monkeypatch.setattr(GuardianClient, "call", call)
    live = f"{API}/clusters/live"
    assert service.web.get(f"{live}/activity", params={"broker": 0, "limit": 7}).status_code == 200
    service.web.get(f"{live}/idle-topics", params={"with_internal": True, "since_ms": 5})
    service.web.get(f"{live}/acl-use")
    service.web.get(f"{live}/topic-descriptions", params={"topics": ["a*", "b"], "with_settings": "true"})
    service.web.get(f"{live}/disks", params={"to_ms": 9})
    service.web.get(f"{API}/federation", params={"table": "TOPICS", "cluster": "live", "page_token": "x"})
    one: dict[str, Any] = {"cluster_id": "k", "topic_id": "AAECAwQFBgcICQoLDA0ODw", "partition": 3}
    service.web.get(f"{API}/tiering/segments", params=one)
    now = service.member.now_ms
    partition = tiering_pb2.TopicIdPartition(cluster_id="k", topic_id=bytes(range(16)), partition=3)
    assert [request for _, _, request in asked] == [
        activity_pb2.ListActivityRequest(
            cluster="live", broker=0, limit=7, to_ms=now + 1, from_ms=max(0, now + 1 - HOUR_MS)
        ),
        activity_pb2.ListIdleTopicsRequest(cluster="live", since_ms=5, with_internal=True, limit=100),
        activity_pb2.ListAclUseRequest(cluster="live", since_ms=max(0, now - 30 * DAY_MS)),
        insight_pb2.DescribeTopicsRequest(cluster="live", topics=["a*", "b"], with_settings=True),
        insight_pb2.GetDiskHealthRequest(cluster="live", to_ms=9, max_disks=100),
        federation_pb2.ListFederationRequest(
            table=federation_pb2.TOPICS, cluster="live", page_token="x", page_size=100
        ),
        tiering_pb2.ListLiveSegmentsRequest(partition=partition),
    ]
    assert {rpc for rpc, _, _ in asked} <= {row.rpc for row in FORWARDED}


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/federation?table=CHAIRS", "CHAIRS"),
        ("/federation?table=TENANTS&limit=0", "limit is '0'"),
        ("/federation?table=TENANTS&page_token=odd", "page_token"),
        ("/clusters/live/activity?broker=one", "broker is 'one'"),
        ("/clusters/live/topic-descriptions?topics=nope", "nope"),
        ("/tiering/segments?topic_id=1&cluster_id=k", "topic_id"),
    ],
)
def test_a_wrong_query_is_a_problem(shared: tuple[Service, str], path: str, detail: str) -> None:
    answer = shared[0].web.get(f"{API}{path}")
    assert (answer.status_code in (400, 404), detail in answer.json()["detail"]) == (True, True), answer.text


def test_the_federation_is_changed_and_listed_in_pages(service: Service) -> None:
    names = ["a", "b", "c"]
    changes = [{"put": {"tenant": {"name": name, "owner": "ann"}}} for name in names]
    for rehearsal in ({"dry_run": True}, {}):
        done = service.web.post(f"{API}/federation", json={"changes": changes, **rehearsal})
        assert len(checked(done, "post", "/federation")["revisions"]) == 3
        stored = [*service.client.federation(federation_pb2.TENANTS)]
        assert len(stored) == (0 if rehearsal else 3)
    where, seen = f"{API}/federation?table=TENANTS&limit=2", []
    while where:
        answer = service.web.get(where)
        seen += [each["tenant"]["name"] for each in checked(answer, "get", "/federation")["entries"]]
        where = answer.links.get("next", {}).get("url", "")
    assert seen == names
    drop = {"changes": [{"drop": {"tenant": "nope"}}]}
    assert service.web.post(f"{API}/federation", json=drop).status_code == 404
    assert service.web.post(f"{API}/federation", json={"changes": [{"put": {"colour": "red"}}]}).status_code == 400


def test_a_cluster_is_registered_at_its_path_and_forgotten(service: Service) -> None:
    (known,) = service.client.list_clusters()
    entry = {"cluster": {"bootstrap": known.bootstrap}}
    answer = service.web.put(f"{API}/clusters/live", json=entry)
    assert checked(answer, "put", "/clusters/{cluster}")["cluster"]["name"] == "live"
    other = service.web.put(f"{API}/clusters/live", json={"cluster": {"name": "bulk", "bootstrap": "h:1"}})
    assert (other.status_code, other.json()["detail"]) == (
        400,
        "cluster.name: not that of the path (got 'bulk'); leave it out",
    )
    odd = service.web.put(f"{API}/clusters/live", json={"cluster": "live"})
    assert odd.json()["detail"] == "cluster: no object (got 'live'); see openapi.json"
    assert service.web.put(f"{API}/clusters/live", content=b"{}").status_code == 400
    assert checked(service.web.delete(f"{API}/clusters/live"), "delete", "/clusters/{cluster}") == {}
    assert service.client.list_clusters() == ()
    assert service.web.delete(f"{API}/clusters/live").status_code == 404


def test_what_nothing_is_held_for_is_not_released(service: Service) -> None:
    answer = service.web.post(f"{API}/clusters/live/protection/release", json={"broker": 1})
    assert (answer.status_code, "nothing is held" in answer.json()["detail"]) == (404, True), answer.text


def test_the_group_is_not_changed_where_that_does_not_fit(service: Service) -> None:
    for path, body in (("members", {"promote": "nope"}), ("leader", {"to": "nope"}), ("level", {"level": 9999})):
        answer = service.web.post(f"{API}/raft/{path}", json=body)
        checked(answer, "post", f"/raft/{path}")
        assert answer.status_code in (400, 404, 409), answer.text


def test_segments_of_deleted_partitions_are_none(service: Service) -> None:
    partition: dict[str, Any] = {"cluster_id": "fake", "topic_id": "AAECAwQFBgcICQoLDA0ODw==", "partition": 0}
    gone = service.web.post(f"{API}/tiering/partitions/delete", json={"partitions": [partition]})
    assert checked(gone, "post", "/tiering/partitions/delete") == {}
    (known,) = checked(service.web.get(f"{API}/tiering/partitions"), "get", "/tiering/partitions")["partitions"]
    assert (known["partition"], known["deleted"]) == (partition, True)
    assert service.web.get(f"{API}/tiering/segments", params=partition).status_code == 404


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def test_a_ticket_is_watched_until_it_is_over(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_LOOK_S", 0.05)
    ticket = made(service, submit=True)
    reject = threading.Timer(0.5, lambda: service.client.reject(ticket, "bob", "no"))
    reject.start()
    answer = service.web.get(f"{API}/tickets/{ticket}/watch")
    reject.join()
    assert answer.headers["content-type"].partition(";")[0] == "text/event-stream"
    assert [each["ticket"]["state"] for each in events(answer.text)] == ["PENDING", "REJECTED"]
    over = service.web.get(f"{API}/tickets/{ticket}/watch")
    assert events(over.text) == [service.web.get(f"{API}/tickets/{ticket}").json()]
    missing = service.web.get(f"{API}/tickets/nope/watch")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:guardian:not-found")


def test_too_many_are_watched(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_MOST_WATCHED", 0)
    answer = service.web.get(f"{API}/tickets/{made(service)}/watch")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")


def test_the_state_comes_as_an_archive(service: Service) -> None:
    answer = service.web.get(f"{API}/raft/snapshot")
    assert answer.headers["content-type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        assert "MANIFEST" in " ".join(archive.getnames()).upper()


@pytest.mark.parametrize("row", FORWARDED, ids=ROWS)
def test_a_route_asks_for_the_right_of_its_rpc(row: Forwarded) -> None:
    assert row.rule.roles == tuple(role for role in row.of_rpc.roles if role is not Role.BROKER)
    if row.of_rpc.where is Where.EVERYWHERE:
        assert row.rule.where is Where.EVERYWHERE
    assert (row.rule.where is Where.CLUSTER) == ("{cluster}" in row.path)
    assert (row.method == "GET") == (row.way in (Way.READ, Way.SLOW_READ, Way.PAGES, Way.LEADER, Way.HERE))
    assert set(row.of_rpc.roles) <= {Role.VIEWER, Role.BROKER} or row.method != "GET"


def test_what_is_sent_may_leave_out_what_answers_always_have() -> None:
    schemas = OPENAPI["components"]["schemas"]
    assert "required" in schemas["Cluster"]
    assert "required" not in schemas["ClusterInput"]
    assert schemas["RegisterClusterRequest"]["properties"]["cluster"]["$ref"].endswith("/ClusterInput")
    known: Callable[[str], bool] = schemas.__contains__
    assert all(known(each.removeprefix("#/components/schemas/")) for each in references(OPENAPI))


def references(document: Any) -> list[str]:
    if isinstance(document, dict):
        own = [document["$ref"]] if isinstance(document.get("$ref"), str) else []
        return own + [each for value in document.values() for each in references(value)]
    return [each for value in document for each in references(value)] if isinstance(document, list) else []
