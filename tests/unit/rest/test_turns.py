"""Plans over HTTP in turn: who asks for too many is refused at once, and one whose client is gone is given up."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from deploy.local import ports
from guardian.errors import GuardianError
from guardian.planning.model import Lane
from guardian.serving.http import HttpServer
from tests.unit.rest.service import Service

pytestmark = pytest.mark.slow

WAIT_S = 60.0
PLANS = "/api/v1/clusters/live/plans"
TICKETS = "/api/v1/tickets"


class Held:
    """A planner whose plans are made once they are let go; `given_up` are the sentences of those that were not."""

    def __init__(self, service: Service) -> None:
        self.begun, self.go, self.given_up = threading.Event(), threading.Event(), list[str]()
        self._plan = service.planner.plan
        service.planner.plan = self.plan  # type: ignore[method-assign]

    def plan(self, job: Any, *arguments: Any, **named: Any) -> Any:
        self.begun.set()
        with job.ending(self.go.set):
            assert self.go.wait(WAIT_S)
        try:
            job.require_wanted()
        except GuardianError as error:
            self.given_up.append(str(error))
            raise
        return self._plan(job, *arguments, **named)


@contextmanager
def served(service: Service) -> Iterator[str]:
    """The routes behind the member's own HTTP server."""
    endpoint = f"{ports.HOST}:{ports.pick(1)[0]}"
    server = HttpServer(endpoint, service.app)
    server.start()
    try:
        yield endpoint
    finally:
        server.stop()


def connected(endpoint: str, path: str, body: dict[str, Any]) -> socket.socket:
    """A connection on which the request was sent."""
    host, port = endpoint.rsplit(":", 1)
    content = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: {endpoint}\r\nContent-Type: application/json\r\n"
    found = socket.create_connection((host, int(port)), WAIT_S)
    found.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n{content}".encode())
    return found


def wait_for(holds: Callable[[], object]) -> None:
    pause, deadline = threading.Event(), WAIT_S
    while not holds():
        pause.wait(0.05)
        deadline -= 0.05
        assert deadline > 0


def test_the_next_plans_wait_without_a_thread_and_one_too_many_is_refused_at_once(service: Service) -> None:
    held = Held(service)
    with served(service) as endpoint:
        asked = [connected(endpoint, PLANS, {"kind": "balance"}) for _ in range(6)]
        refused = wait_for_refusal(endpoint)
        assert refused.headers["Retry-After"] == "30"
        assert refused.json()["type"] == "urn:guardian:overloaded"
        assert refused.json()["detail"] == (
            "requests of 127.0.0.1: balance of cluster live under way, 5 wait (got one more, at most 5 may wait); ask "
            "again when one is done"
        )
        assert len([each for each in threading.enumerate() if each.name.startswith("plan_")]) <= 10
        assert service.web.post(PLANS, json={"kind": "nonsense"}).status_code == 400, "other hosts are let through"
        held.go.set()
        for each in asked:
            assert each.recv(12) == b"HTTP/1.1 200"
            each.close()


def wait_for_refusal(endpoint: str) -> httpx.Response:
    """The answer once all that may wait does."""
    found: list[httpx.Response] = []

    def is_refused() -> bool:
        try:
            found.append(httpx.post(f"http://{endpoint}{PLANS}", json={"kind": "balance"}, timeout=1, trust_env=False))
        except httpx.ReadTimeout:
            return False
        return found[-1].status_code == 429

    wait_for(is_refused)
    return found[-1]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PLANS, {"kind": "balance"}),
        (TICKETS, {"cluster": "live", "plan": {"kind": "balance"}, "submit": True, "idempotency_key": "1"}),
    ],
)
def test_a_plan_whose_client_is_gone_is_given_up_and_makes_no_ticket(
    service: Service, path: str, body: dict[str, Any]
) -> None:
    held = Held(service)
    with served(service) as endpoint:
        asked = connected(endpoint, path, body)
        assert held.begun.wait(WAIT_S)
        asked.close()
        wait_for(lambda: held.given_up)
    assert held.given_up == ["the client that asked for this plan is gone"]
    assert service.client.tickets() == ()


def test_a_dry_run_over_grpc_has_its_turn_as_well(service: Service) -> None:
    held, desk = Held(service), service.planner.desk
    lines = [desk.submit(Lane.PEOPLE, "127.0.0.1", "held", lambda job: held.plan(job, "live", None)) for _ in range(6)]
    refused = service.web.post(
        TICKETS, json={"cluster": "live", "dry_run": True, "ask": {"kind": "remove-brokers", "brokers": [2]}}
    )
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:guardian:overloaded"), refused.text
    assert "requests of 127.0.0.1: held under way, 5 wait" in refused.json()["detail"]
    for each in lines:
        each.cancel("the test is over")
