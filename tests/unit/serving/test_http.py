"""HTTP of a member: alive, ready and measured; a silent client holds nothing."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from deploy.local import ports
from guardian.activity.store.store import StoreStatus
from guardian.client import GuardianClient
from guardian.collection.loop.counting import CollectionCounters
from guardian.errors import InvalidInput
from guardian.federation.service.discovery import BrokerTargets
from guardian.federation.service.tenancy import TopicTenants
from guardian.lake.store.writer import LakeStatus
from guardian.member import web
from guardian.member.metrics import Measured, MemberMetrics
from guardian.member.web import create_app
from guardian.model.federation import Entry, Tenant, Topic
from guardian.model.wire.entries import entry_to_proto
from guardian.replication.store.store import ReplicatedStore
from guardian.serving.counting import LoopCounters
from guardian.serving.http import HttpLimits, HttpServer
from guardian.web.parts import WebParts
from metastore.store import StoreError
from protos.guardian.v1 import federation_pb2 as pb
from tests.patience import PATIENCE_S
from tests.unit.member.member import Member

pytestmark = pytest.mark.slow

POOL = 40  # threads that Starlette has for handlers that wait


class Site:
    """A server on a free port, over a member whose readiness is set by hand."""

    def __init__(
        self, *, is_open: bool = False, routers: Sequence[APIRouter] = (), limits: HttpLimits | None = None
    ) -> None:
        self.member = Member()
        self.reason: str | None = None
        registry = CollectorRegistry()
        collections = CollectionCounters()
        collections.succeeded(0.02, 100)
        collections.failed()
        collections.watch([90.0, 95.0], 100.0)
        measured = Measured(
            self.member.store,
            lambda: ["live/1", "live/2"],
            collections,
            lambda: LakeStatus(waiting_rows=3, written_rows=7),
            StoreStatus,
            self.member.counters,
            self.member.calls,
            {"executor": LoopCounters()},
        )
        registry.register(MemberMetrics(measured))
        tenants = CollectorRegistry()
        tenants.register(TopicTenants(self.member.store.read_local))
        pages = {"/metrics": registry, "/metrics/tenants": tenants}
        (self.port,) = ports.pick(1)
        self.client = GuardianClient([self.member.endpoint])
        parts = WebParts(
            "g1",
            lambda _: self.client,
            lambda: self.member.now_ms,
            not_ready=lambda: self.reason,
            targets=BrokerTargets(self.member.store).json,
            metrics=pages,
            cautions=("it is open to all",) if is_open else (),
        )
        self.server = HttpServer(f"127.0.0.1:{self.port}", create_app(parts, routers), limits=limits)
        self.server.start()

    def stop(self) -> None:
        self.server.stop()
        self.client.close()
        self.member.stop()

    def get(self, path: str) -> tuple[int, str]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.stop()


def test_a_member_says_whether_it_lives_and_can_serve(site: Site) -> None:
    assert site.get("/healthz") == site.get("/livez") == (200, "alive\n")
    assert site.get("/readyz?verbose") == (200, "ready\n")
    site.reason = "there is no leader"
    assert site.get("/readyz") == (503, "there is no leader\n")
    assert site.get("/elsewhere")[0] == 404


def test_probes_are_answered_while_every_thread_of_the_pool_is_taken() -> None:
    go, entered, router = threading.Event(), threading.Semaphore(0), APIRouter()

    @router.get("/hold")
    def hold() -> str:
        entered.release()
        assert go.wait(PATIENCE_S)
        return "held"

    site = Site(routers=[router])
    askers = [threading.Thread(target=site.get, args=("/hold",)) for _ in range(POOL + 20)]
    metrics: list[int] = []
    later = threading.Thread(target=lambda: metrics.append(site.get("/metrics")[0]))
    try:
        for asker in askers:
            asker.start()
        for _ in range(POOL):
            assert entered.acquire(timeout=PATIENCE_S)
        later.start()
        for _ in range(10):
            assert site.get("/livez") == site.get("/healthz") == (200, "alive\n")
            assert site.get("/readyz") == (200, "ready\n")
        assert not metrics, "a page that needs a thread waits: the pool is full indeed"
        assert not entered.acquire(blocking=False)
    finally:
        go.set()
        for asker in (*askers, later):
            asker.join(PATIENCE_S)
        site.stop()
    assert metrics == [200]


def test_a_member_that_is_open_to_all_says_so_and_serves() -> None:
    site = Site(is_open=True)
    try:
        assert site.get("/readyz") == (200, "ready\ncaution: it is open to all\n")
    finally:
        site.stop()


def test_metrics_are_those_of_the_member(site: Site) -> None:
    status, text = site.get("/metrics")
    assert status == 200
    lines = text.splitlines()
    assert "guardian_raft_is_leader 1.0" in lines
    assert "guardian_collected_brokers 2.0" in lines
    assert 'guardian_collections_total{result="succeeded"} 1.0' in lines
    assert 'guardian_collections_total{result="failed"} 1.0' in lines
    assert "guardian_collected_values_total 100.0" in lines
    assert 'guardian_collection_seconds_bucket{le="0.01"} 0.0' in lines
    assert 'guardian_collection_seconds_bucket{le="0.025"} 1.0' in lines
    assert "guardian_collection_longest_gap_seconds 10.0" in lines
    assert 'guardian_tickets{state="RUNNING"} 0.0' in lines
    assert "guardian_sessions 0.0" in lines
    assert "guardian_lake_written_rows_total 7.0" in lines
    assert "guardian_activity_ready 0.0" in lines
    assert 'guardian_leader_failed_ticks_total{loop="executor"} 0.0' in lines
    assert 'guardian_moves{state="PENDING"} 0.0' in lines
    assert f"guardian_raft_commit_index {float(site.member.machine.applied_index)}" in lines


def test_the_brokers_pages_are_found_or_the_reason_why_not(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.get("/sd/prometheus") == (200, "[]")
    status = replace(site.member.replica.status(), staleness_s=None)
    monkeypatch.setattr(site.member.replica, "status", lambda: status)
    assert site.get("/sd/prometheus") == (503, "this member does not know the brokers of now: ask another one\n")


def test_topics_with_a_tenant_are_told_on_a_page_of_their_own(site: Site) -> None:
    entries: list[Entry] = [Tenant("pay"), *(Topic("live", f"t{i}", tenant="pay" if i % 2 else "") for i in range(3))]
    with GuardianClient([site.member.endpoint]) as client:
        client.change_federation([pb.FederationChange(put=entry_to_proto(entry)) for entry in entries])
    status, text = site.get("/metrics/tenants")
    assert status == 200
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        'guardian_topic_tenant{cluster="live",tenant="pay",topic="t1"} 1.0'
    ]
    assert "guardian_topic_tenant" not in site.get("/metrics")[1]


def test_a_store_that_can_not_be_read_is_an_error_and_no_empty_page(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise StoreError("the store is closed")

    monkeypatch.setattr(ReplicatedStore, "read_local", fails)
    assert site.get("/metrics") == (503, "the store is closed\n")


@pytest.fixture
def hasty() -> Iterator[Site]:
    yield from _served(HttpLimits(handshake_s=0.2))


def _served(limits: HttpLimits) -> Iterator[Site]:
    site = Site(limits=limits)
    yield site
    site.stop()


def test_a_client_that_says_nothing_is_hung_up_on(hasty: Site) -> None:
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=PATIENCE_S) as silent:
        assert silent.recv(1) == b""


def test_a_head_that_comes_by_drops_is_hung_up_on_too(hasty: Site) -> None:
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=PATIENCE_S) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n")
        answer = b""
        while not answer.endswith(b"alive\n"):
            answer += slow.recv(4096)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHo")
        assert slow.recv(4096) == b""


def test_every_answer_tells_browsers_to_run_nothing_of_others(site: Site) -> None:
    for path in ("/healthz", "/console/nowhere", "/nowhere"):
        with urllib.request.build_opener(_Errors).open(f"http://127.0.0.1:{site.port}{path}", timeout=30) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"
            assert "uvicorn" not in str(answer.headers)


def test_a_body_that_is_too_large_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MAX_BODY_BYTES", 1000)
    router = APIRouter()

    @router.post("/echo")
    async def echo(request: Request) -> int:
        return len(await request.body())

    with TestClient(web.create_app(WebParts("g1", lambda _: site.client, lambda: 0), [router])) as client:
        assert client.post("/echo", content=b"x" * 1000).text == "1000"
        refused = client.post("/echo", content=b"x" * 1001)
        assert (refused.status_code, refused.text) == (413, "the request's body is larger than 0 MiB: send less\n")


class _Errors(urllib.request.HTTPErrorProcessor):
    """Their headers count as well."""

    def http_response(self, _: object, response: Any) -> Any:
        return response


def test_a_port_that_is_taken_is_said_so(site: Site) -> None:
    with pytest.raises(InvalidInput, match=rf"http is '127.0.0.1:{site.port}', which can't be listened on: Address al"):
        HttpServer(f"127.0.0.1:{site.port}", FastAPI())
