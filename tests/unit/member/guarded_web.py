"""The web application of a guarded member, with every router that a member serves, and every route of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry, Gauge

from guardian.member.security import Security
from guardian.member.web import create_app
from guardian.planning.service.planning import LivePlanner
from guardian.planning.store import ReplicatedUserTasks
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.parts import RestParts
from guardian.rest.routes import Rest
from guardian.security.model.security_config import OpenMetrics
from guardian.security.service.acting import ActingClients
from guardian.security.service.auth_routes import SigningIn
from guardian.security.service.csrf import FormTokens
from guardian.security.service.oidc import Provider
from guardian.security.service.signing_in import user_of
from guardian.security.service.web_guard import GuardSettings
from guardian.web.parts import WebParts
from metastore.state_machine import MetastoreStateMachine
from tests.unit.member.guarded import KEY, Guarded

HOUR_MS = 3_600_000


class GuardedWeb:
    """`browser` follows no redirect by itself."""

    def __init__(
        self,
        folder: Path,
        provider: Provider | None = None,
        url: str = "http://testserver",
        machine: MetastoreStateMachine | None = None,
        open_metrics: OpenMetrics = OpenMetrics.NO,
    ) -> None:
        self.guarded = Guarded(folder, machine, id_tokens=provider)
        self.clients = ActingClients(self.guarded.member.endpoint, self.guarded.prover)
        self.forms = FormTokens(KEY, lambda: self.guarded.now_ms)
        self.security = Security(
            self.forms,
            GuardSettings(self.guarded.gate, url=url, open_metrics=open_metrics),
            self.guarded.gate,
            self.guarded.prover,
            self.guarded.refusals,
            SigningIn(self.guarded.gate, provider, KEY, url, HOUR_MS, lambda: self.guarded.now_ms),
        )
        tasks = ReplicatedUserTasks(self.guarded.member.store, "g1")
        self.app = self.security.protect(whole_app(self.clients, self.security, tasks, self.guarded.now_ms))
        self.browser = TestClient(self.app, follow_redirects=False, raise_server_exceptions=False)

    def sign_in(self, name: str) -> None:
        answer = self.browser.post("/auth/token", data={"token": self.guarded.token[name]}, headers=OWN)
        assert answer.status_code == 303, answer.text

    def close(self) -> None:
        self.clients.close()
        self.guarded.stop()


CLUSTERS = ("live", "other-1")  # that metrics and discovery tell of


def _measured() -> CollectorRegistry:
    registry = CollectorRegistry()
    gauge = Gauge("asked", "By cluster.", ["cluster"], registry=registry)
    for name in CLUSTERS:
        gauge.labels(name).set(1)
    Gauge("own", "Of no cluster.", registry=registry).set(1)
    return registry


OWN = {"Origin": "http://testserver"}


def whole_app(clients: ActingClients, security: Security, tasks: ReplicatedUserTasks, now_ms: int) -> FastAPI:
    web = WebParts(
        "g1",
        clients.client_for,
        lambda: now_ms,
        user_of=user_of,
        csrf_token=security.form_token,
        form_guard=security.forms.required,
        metrics={"/metrics": _measured(), "/metrics/tenants": CollectorRegistry()},
        targets=lambda sees: json.dumps([name for name in CLUSTERS if sees(name)]).encode(),
        scraper_of=security.scraper_of,
        signs_in=True,
    )
    parts = RestParts(
        cast("Any", clients.client_for),
        user_of,
        cast("LivePlanner", None),
        cast("Any", None),
        cast("Any", None),
        tasks,
        lambda: now_ms,
    )
    rest = Rest(parts, Concurrency(10, 100))
    return create_app(web, [*security.routers(), *rest.routers])


@contextmanager
def guarded_web(
    folder: Path,
    provider: Provider | None = None,
    url: str = "http://testserver",
    machine: MetastoreStateMachine | None = None,
    open_metrics: OpenMetrics = OpenMetrics.NO,
) -> Iterator[GuardedWeb]:
    web = GuardedWeb(folder, provider, url, machine, open_metrics)
    try:
        with web.browser:
            yield web
    finally:
        web.close()
