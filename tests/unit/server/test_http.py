"""HTTP of a member: alive, ready and measured; a silent client holds nothing."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from guardian.errors import InvalidInput
from guardian.reporter.counting import CollectionCounters
from guardian.server import http
from guardian.server.http import HttpServer
from guardian.server.metrics import MemberMetrics
from tests.unit.server.member import Member

DEADLINE_S = 30


class Site:
    """A server on a free port, over a member whose readiness is set by hand."""

    def __init__(self) -> None:
        self.member = Member()
        self.reason: str | None = None
        registry = CollectorRegistry()
        collections = CollectionCounters()
        collections.succeeded(0.02, 100)
        collections.failed()
        collections.watch([90.0, 95.0], 100.0)
        registry.register(
            MemberMetrics(self.member.store, lambda: ["live/1", "live/2"], collections, self.member.counters)
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.server = HttpServer(f"127.0.0.1:{self.port}", registry, lambda: self.reason)
        self.server.start()

    def get(self, path: str) -> tuple[int, str]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}{path}", timeout=DEADLINE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(http, "_CLIENT_TIMEOUT_S", 0.2)
    site = Site()
    yield site
    site.server.stop()
    site.member.stop()


def test_a_member_says_whether_it_lives_and_can_serve(site: Site) -> None:
    assert site.get("/healthz") == (200, "alive\n")
    assert site.get("/readyz?verbose") == (200, "ready\n")
    site.reason = "there is no leader"
    assert site.get("/readyz") == (503, "there is no leader\n")
    assert site.get("/elsewhere")[0] == 404


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
    assert f"guardian_raft_commit_index {float(site.member.machine.applied_index)}" in lines


def test_a_client_that_says_nothing_is_hung_up_on(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE_S) as silent:
        assert silent.recv(1) == b""


def test_a_port_that_is_taken_is_said_so(site: Site) -> None:
    with pytest.raises(InvalidInput, match=rf"http is '127.0.0.1:{site.port}', which can't be listened on: Address al"):
        HttpServer(f"127.0.0.1:{site.port}", CollectorRegistry(), lambda: None)
