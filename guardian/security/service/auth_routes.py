"""How people sign in to the console, and out: at the provider of identities, or with a token.

    /auth/login ─▶ /auth/oidc/start ─▶ the provider ─▶ /auth/callback ─▶ a session's cookie ─▶ the page that was wanted
                └▶ a token, typed  ─▶ /auth/token ──────────────────────┘

What has to survive the way through the provider (state, nonce, PKCE's verifier) travels in a sealed cookie of its own.
So any member can end what another one began.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from html import escape
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from guardian.errors import GuardianError, NotSignedIn
from guardian.security.model.identity import Identity
from guardian.security.rules.permitting import Where
from guardian.security.rules.routing import OPEN, VIEW, RouteRule, access
from guardian.security.rules.sealing import seal, unseal
from guardian.security.service.oidc import Provider
from guardian.security.service.permissions import Gate
from guardian.security.service.proving import SESSION_COOKIE
from guardian.security.service.signing_in import user_of

_SIGNING_IN = "guardian_signing_in"
_PURPOSE = "sign-in"
_SIGNING_IN_MS = 600_000
_MAX_CHARS = 4096


class SigningIn:
    """`url` is where people open the console; `key` the members' own; `style` the address of its style sheet."""

    def __init__(
        self,
        gate: Gate,
        provider: Provider | None,
        key: bytes,
        url: str,
        session_ms: int,
        now_ms: Callable[[], int],
        style: str = "",
    ) -> None:
        self._gate = gate
        self._provider = provider
        self._key = key
        self._url = url
        self._session_ms = session_ms
        self._now_ms = now_ms
        self._style = style

    def login_page(self, wanted: str, told: str = "", status: int = 200) -> Response:
        return HTMLResponse(
            _page(own_path(wanted), told, self._style, with_provider=self._provider is not None), status
        )

    def with_token(self, presented: str, wanted: str, address: str) -> Response:
        """Signs in whoever typed a token that is good."""

        def prove() -> Identity:
            return self._gate.prover.of_authorization(f"Bearer {presented.strip()}")

        try:
            identity = self._gate.enter(prove, "POST /auth/token", address)
            until_ms = self._now_ms() + self._session_ms
            session = self._gate.prover.session_of_text(presented.strip(), until_ms)
        except GuardianError as error:
            return self.login_page(wanted, str(error), 401)
        return self._signed_in(identity, session, wanted)

    def begin(self, wanted: str) -> Response:
        """Sends the browser to the provider. Raises Unavailable and NotSignedIn."""
        provider = self._require_provider()
        value = {
            "state": secrets.token_urlsafe(24),
            "nonce": secrets.token_urlsafe(24),
            "verifier": secrets.token_urlsafe(48),
            "next": own_path(wanted),
        }
        target = provider.authorization_url(self._redirect_uri, value["state"], value["nonce"], value["verifier"])
        answer = RedirectResponse(target, 303)
        sealed = seal(self._key, _PURPOSE, value, self._now_ms() + _SIGNING_IN_MS)
        self._set_cookie(answer, _SIGNING_IN, sealed, _SIGNING_IN_MS, path="/auth")
        return answer

    def end(self, request: Request, code: str, state: str, error: str) -> Response:
        """The browser comes back from the provider."""
        address = f"{request.client.host}:{request.client.port}" if request.client else ""
        back: list[tuple[str, str]] = []

        def prove() -> Identity:
            back.append(self._come_back(request.cookies.get(_SIGNING_IN, ""), code, state, error))
            return self._gate.prover.of_session(back[0][0])

        try:
            identity = self._gate.enter(prove, "GET /auth/callback", address)
        except GuardianError as refused:
            return self.login_page("/", str(refused), 401)
        session, wanted = back[0]
        answer = self._signed_in(identity, session, wanted)
        answer.delete_cookie(_SIGNING_IN, path="/auth")
        return answer

    def _come_back(self, sealed: str, code: str, state: str, error: str) -> tuple[str, str]:
        """Return the session of whom the provider names, and the page that he wanted. Raises NotSignedIn and
        Unavailable."""
        value = unseal(self._key, _PURPOSE, sealed, self._now_ms())
        if not secrets.compare_digest(str(value["state"]).encode(), state.encode()):
            raise NotSignedIn("the sign-in was begun in another window, or by another site: begin again")
        if error or not code:
            raise NotSignedIn(f"the provider of identities did not sign you in ({error[:100] or 'no code'})")
        provider = self._require_provider()
        person = provider.exchange(code, self._redirect_uri, str(value["nonce"]), str(value["verifier"]))
        return self._gate.prover.session_of_person(person, self._now_ms() + self._session_ms), str(value["next"])

    def sign_out(self, session: str) -> Response:
        answer: Response = RedirectResponse("/auth/login", 303)
        try:
            self._gate.prover.end_session(session)
        except GuardianError as error:
            told = f"you are signed out at this member, but the others could not be told: {error}"
            answer = self.login_page("/", told, 503)
        answer.delete_cookie(SESSION_COOKIE, path="/")
        return answer

    def told_to_clients(self) -> dict[str, Any]:
        """Return what `guardian login` has to know. It is no secret."""
        if self._provider is None:
            return {"issuer": ""}
        config = self._provider.config
        return {
            "issuer": config.issuer,
            "client_id": config.cli_client_id or config.client_id,
            "scopes": [*config.scopes],
        }

    @property
    def _redirect_uri(self) -> str:
        return f"{self._url}/auth/callback"

    def _require_provider(self) -> Provider:
        if self._provider is None:
            raise NotSignedIn("this member has no provider of identities ([security.oidc]): sign in with a token")
        return self._provider

    def _signed_in(self, identity: Identity, session: str, wanted: str) -> Response:
        if not identity.grants:
            told = f"you are {identity.name}, and no role is granted to you: an admin adds you to the roles"
            return self.login_page(wanted, told, 403)
        answer = RedirectResponse(own_path(wanted), 303)
        self._set_cookie(answer, SESSION_COOKIE, session, self._session_ms)
        return answer

    def _set_cookie(self, answer: Response, name: str, value: str, lifetime_ms: int, path: str = "/") -> None:
        answer.set_cookie(
            name,
            value,
            max_age=lifetime_ms // 1000,
            path=path,
            secure=self._url.startswith("https://"),
            httponly=True,
            samesite="lax",
        )


def router(signing_in: SigningIn, form_guard: Callable[..., Any]) -> APIRouter:
    """The routes below /auth."""
    routes = APIRouter(prefix="/auth", include_in_schema=False)

    @routes.get("/login")
    @access(OPEN)
    def login(next: str = "/") -> Response:
        return signing_in.login_page(next)

    @routes.post("/token")
    @access(OPEN)
    def with_token(
        request: Request, token: Annotated[str, Form()] = "", next: Annotated[str, Form()] = "/"
    ) -> Response:
        address = f"{request.client.host}:{request.client.port}" if request.client else ""
        return signing_in.with_token(token[:_MAX_CHARS], next, address)

    @routes.get("/oidc")
    @access(OPEN)
    def provider() -> Response:
        return JSONResponse(signing_in.told_to_clients())

    @routes.get("/oidc/start")
    @access(OPEN)
    def start(next: str = "/") -> Response:
        try:
            return signing_in.begin(next)
        except GuardianError as error:
            return signing_in.login_page(next, str(error), 503)

    @routes.get("/callback")
    @access(OPEN)
    def callback(request: Request, code: str = "", state: str = "", error: str = "") -> Response:
        return signing_in.end(request, code[:_MAX_CHARS], state[:_MAX_CHARS], error)

    @routes.post("/logout", dependencies=[Depends(form_guard)])
    @access(RouteRule(Where.OPEN, knows_people=True))
    def logout(request: Request) -> Response:
        return signing_in.sign_out(request.cookies.get(SESSION_COOKIE, ""))

    @routes.get("/me")
    @access(VIEW)
    def me(user: Annotated[Identity, Depends(user_of)]) -> Response:
        grants = [
            {"role": grant.role.value, "clusters": [*grant.clusters], "tenants": [*grant.tenants]}
            for grant in user.grants
        ]
        told = {"name": user.name, "proof": user.proof.value, "groups": [*user.groups], "grants": grants}
        return JSONResponse({**told, "until_ms": user.until_ms})

    return routes


def own_path(wanted: str) -> str:
    """A page of this console and of nobody else: browsers take //host and /\\host for another site."""
    is_own = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_own and "\\" not in wanted and len(wanted) <= _MAX_CHARS else "/"


def _page(wanted: str, told: str, style: str, *, with_provider: bool) -> str:
    link = f'<link rel="stylesheet" href="{escape(style)}">' if style else ""
    note = f'<p class="note" role="alert">{escape(told)}</p>' if told else ""
    provider = (
        f'<p><a class="button main" href="/auth/oidc/start?next={escape(quote(wanted, safe=""))}">Sign in</a> '
        "at your organisation's provider of identities.</p>"
        if with_provider
        else ""
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in · Guardian</title>{link}</head>
<body><main id="main"><section class="card"><h1>Sign in to Guardian</h1>{note}{provider}
<form method="post" action="/auth/token"><input type="hidden" name="next" value="{escape(wanted)}">
<label for="token">{"Or with a token" if with_provider else "Token"}</label>
<input id="token" name="token" type="password" autocomplete="off" required>
<button class="main">Sign in with the token</button></form></section></main></body></html>
"""
