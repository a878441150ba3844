"""The web application of a guarded member, with every router that a member serves, and every route of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from guardian.executor.planning import LivePlanner
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.parts import RestParts
from guardian.rest.routes import Rest
from guardian.server.acting import ActingClients
from guardian.server.auth_routes import SigningIn
from guardian.server.csrf import FormTokens
from guardian.server.oidc import Provider
from guardian.server.security import Security
from guardian.server.signing_in import user_of
from guardian.server.web import create_app
from guardian.server.web_guard import GuardSettings
from guardian.web.parts import WebParts
from tests.unit.server.guarded import KEY, Guarded

HOUR_MS = 3_600_000


class GuardedWeb:
    """`browser` follows no redirect by itself."""

    def __init__(self, folder: Path, provider: Provider | None = None, url: str = "http://testserver") -> None:
        self.guarded = Guarded(folder, id_tokens=provider)
        self.clients = ActingClients(self.guarded.member.endpoint, self.guarded.prover)
        self.forms = FormTokens(KEY, lambda: self.guarded.now_ms)
        self.security = Security(
            self.forms,
            GuardSettings(self.guarded.gate, url=url),
            self.guarded.gate,
            self.guarded.prover,
            self.guarded.refusals,
            SigningIn(self.guarded.gate, provider, KEY, url, HOUR_MS, lambda: self.guarded.now_ms),
        )
        self.app = self.security.protect(whole_app(self.clients, self.security, self.guarded.now_ms))
        self.browser = TestClient(self.app, follow_redirects=False, raise_server_exceptions=False)

    def sign_in(self, name: str) -> None:
        answer = self.browser.post("/auth/token", data={"token": self.guarded.token[name]}, headers=OWN)
        assert answer.status_code == 303, answer.text

    def close(self) -> None:
        self.clients.close()
        self.guarded.stop()


OWN = {"Origin": "http://testserver"}


def whole_app(clients: ActingClients, security: Security, now_ms: int) -> FastAPI:
    web = WebParts(
        "g1",
        clients.client_for,
        lambda: now_ms,
        user_of=user_of,
        csrf_token=security.form_token,
        form_guard=security.forms.required,
        metrics={"/metrics": CollectorRegistry(), "/metrics/tenants": CollectorRegistry()},
        signs_in=True,
    )
    parts = RestParts(
        cast("Any", clients.client_for),
        user_of,
        cast("LivePlanner", None),
        cast("Any", None),
        cast("Any", None),
        lambda: now_ms,
    )
    rest = Rest(parts, Concurrency(10, 100))
    return create_app(web, [*security.routers(), *rest.routers])


@contextmanager
def guarded_web(folder: Path, provider: Provider | None = None, url: str = "http://testserver") -> Iterator[GuardedWeb]:
    web = GuardedWeb(folder, provider, url)
    try:
        with web.browser:
            yield web
    finally:
        web.close()
