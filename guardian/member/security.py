"""[security] of a member, put together: who asks, what he may, and where it is recorded.

Without it all of this is absent, and a member takes everybody for the one who runs it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import grpc.aio
from fastapi import APIRouter, FastAPI, Request
from starlette.middleware import Middleware

from guardian.client import ClientTls
from guardian.config import ServerConfig, is_loopback
from guardian.member.web_routes import routes_of
from guardian.model.federation import ROLES
from guardian.replication.store.documents import StoredDocument
from guardian.replication.store.state import MetastoreStateMachine
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.identity import LOCAL, Grant, Identity, Role
from guardian.security.model.roles import stored_roles
from guardian.security.model.security_config import OpenMetrics, SecurityConfig
from guardian.security.rules.rate_limiting import RateLimits
from guardian.security.rules.routing import RouteTable
from guardian.security.rules.sealing import MIN_KEY_BYTES
from guardian.security.rules.tokens import parse_tokens
from guardian.security.service.acting import ActingClients
from guardian.security.service.auth_routes import SigningIn, router
from guardian.security.service.csrf import FormTokens
from guardian.security.service.oidc import Provider
from guardian.security.service.permissions import Gate, PermissionInterceptor
from guardian.security.service.proving import Prover
from guardian.security.service.refusals import Refusals, Why
from guardian.security.service.roles import MemberRoles
from guardian.security.service.signing_in import identity_of
from guardian.security.service.watched_file import WatchedFile, read_secret
from guardian.security.service.web_guard import GuardSettings, WebGuard
from guardian.security.store import AuditFile, EndedOnMembers


@dataclass(frozen=True, slots=True)
class Security:
    """`forms` are there in any case. All others are None where security is off."""

    forms: FormTokens
    guard: GuardSettings
    gate: Gate | None = None
    prover: Prover | None = None
    refusals: Refusals | None = None
    signing_in: SigningIn | None = None
    roles: MemberRoles | None = None

    def interceptors(self, store: ReplicatedStore) -> list[grpc.aio.ServerInterceptor]:
        return [PermissionInterceptor(self.gate, store.read_local)] if self.gate is not None else []

    def routers(self) -> list[APIRouter]:
        return [router(self.signing_in, self.forms.required)] if self.signing_in is not None else []

    def protect(self, app: FastAPI) -> FastAPI:
        """Put the guard in front of the application's routes, behind what adds headers to all answers. Raises TypeError
        where a route has no rule."""
        app.user_middleware.append(Middleware(WebGuard, settings=self.guard, routes=RouteTable(routes_of(app))))
        return app

    def note_certificate(self, what: str, why: str, address: str = "") -> None:
        """A certificate was refused; recorded where security is on."""
        if self.refusals is not None:
            self.refusals.note(Why.CERTIFICATE, "", what, why, address)

    def clients(self, address: str, tls: ClientTls | None) -> ActingClients | None:
        """Make the clients for pages; None where security is off."""
        return ActingClients(address, self.prover, tls) if self.prover is not None else None

    def scraper_of(self, request: Request) -> Identity:
        """Return for whom metrics are told; who shows nothing is told what the configuration says."""
        if self.gate is None:
            return LOCAL
        is_all = self.guard.open_metrics is OpenMetrics.ALL
        return identity_of(request.scope) or Identity("", (Grant(Role.VIEWER),) if is_all else ())

    def form_token(self, request: Request) -> str:
        return self.forms.token_of(request)


def make_security(
    config: ServerConfig,
    store: ReplicatedStore,
    state_machine: MetastoreStateMachine,
    now_ms: Callable[[], int],
    stack: ExitStack,
    style: str = "",
) -> Security:
    """Raises InvalidInput when a file can't be used: a member without its roles lets nobody in, and need not start."""
    settings = config.security
    if settings is None:
        guard = GuardSettings(is_loopback=is_loopback(config.http))
        return Security(FormTokens(secrets.token_bytes(MIN_KEY_BYTES), now_ms), guard)
    key = read_secret("security.key_file", settings.key_file, MIN_KEY_BYTES)
    roles = MemberRoles(settings.roles, StoredDocument(state_machine, ROLES, stored_roles).current)
    provider = _provider(settings, now_ms, stack)
    prover = Prover(
        roles,
        WatchedFile("tokens file", settings.tokens, parse_tokens) if settings.tokens is not None else None,
        key,
        now_ms,
        provider,
        EndedOnMembers(store),
    )
    refusals = Refusals(store, now_ms)
    refusals.start()
    stack.callback(refusals.stop)
    if settings.audit_file is not None:
        audit_file = AuditFile(settings.audit_file, state_machine)
        audit_file.start()
        stack.callback(audit_file.stop)
    limits = RateLimits(settings.calls_per_s, settings.burst)
    gate = Gate(prover, refusals, limits, settings.allowed_bootstraps)
    url = settings.url.rstrip("/") or f"{'https' if config.http_tls is not None else 'http'}://{config.http}"
    session_ms = int(settings.session_hours * 3_600_000)
    return Security(
        FormTokens(key, now_ms),
        GuardSettings(gate, False, url, settings.open_metrics),
        gate,
        prover,
        refusals,
        SigningIn(gate, provider, key, url, session_ms, now_ms, style),
        roles,
    )


def _provider(settings: SecurityConfig, now_ms: Callable[[], int], stack: ExitStack) -> Provider | None:
    if settings.oidc is None:
        return None
    provider = Provider(settings.oidc, now_ms)
    provider.start()
    stack.callback(provider.stop)
    return provider
