"""In front of every HTTP route: where the request comes from, who sends it, and whether he may.

    foreign site? ─▶ 403      nobody knows who? ─▶ 401, or for a person's browser the page to sign in
    no rule about the path ─▶ 404     not his role ─▶ 403       too often ─▶ 429       all refusals are recorded,
                                                                                       a route's own 403 too

A stream of events ends with the right to it (open_streams).

Without [security] only the first question is asked, and on loopback the second: for whom the browser takes us. A page
of a strange site that makes its own name point to 127.0.0.1 is told nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guardian.errors import NotAllowed, NotSignedIn, Overloaded
from guardian.model.text import escaped
from guardian.security.model.identity import Identity
from guardian.security.model.security_config import OpenMetrics
from guardian.security.rules.permitting import Place, Where, require
from guardian.security.rules.routing import RouteRule, RouteTable, is_for_programs
from guardian.security.service.open_streams import serve_while
from guardian.security.service.permissions import Gate
from guardian.security.service.proving import SESSION_COOKIE
from guardian.security.service.refusals import Why
from guardian.security.service.signing_in import identity_of, known_name, note_identity

_SAFE = ("GET", "HEAD", "OPTIONS")
_OWN_HOSTS = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """`gate` None: security is off. `is_loopback`: the port listens there, without security. `url` is where people open
    the console, if not where their browser says."""

    gate: Gate | None = None
    is_loopback: bool = False
    url: str = ""
    open_metrics: OpenMetrics = OpenMetrics.NO


class WebGuard:
    """ASGI. Goes in front of the routes, behind what puts headers on each answer."""

    def __init__(self, app: ASGIApp, settings: GuardSettings, routes: RouteTable) -> None:
        self._app = app
        self._settings = settings
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no websockets here
        headers = Headers(scope=scope)
        refusal = self._of_foreign_site(scope, headers)
        if refusal is None and self._settings.gate is not None and not self._is_open(scope):
            refusal = await run_in_threadpool(self._of_person, self._settings.gate, scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
        else:
            await self._serve(scope, receive, send, headers)

    def _is_open(self, scope: Scope) -> bool:
        """Return whether nobody is asked who he is: probes wait for no thread of the pool."""
        found = self._routes.find(scope["method"], scope["path"])
        is_open = found is not None and found[0].where is Where.OPEN and not found[0].knows_people
        if is_open:
            note_identity(scope, None)
        return is_open

    async def _serve(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        gate = self._settings.gate
        if gate is None:
            await self._app(scope, receive, send)
            return
        may_go_on = partial(run_in_threadpool, self._may_go_on, gate, scope, headers)
        await serve_while(self._app, scope, receive, self._watched(gate, scope, send), may_go_on, gate.look_again_s)

    def _may_go_on(self, gate: Gate, scope: Scope, headers: Headers) -> bool:
        """Return whether who began an answer is still who he was, with the roles that he had."""
        began = identity_of(scope)
        if began is None:
            return True  # the path is open to all
        try:
            return _prove(gate, headers, scope["path"]) == began
        except NotSignedIn as error:
            gate.note(Why.NOT_SIGNED_IN, began.name, _what(scope), str(error), _address(scope))
            return False

    def _watched(self, gate: Gate, scope: Scope, send: Send) -> Send:
        """Record what a route itself refuses with 403, as what is refused here is recorded."""

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 403:
                gate.note(Why.NOT_ALLOWED, known_name(scope), _what(scope), "refused by the route", _address(scope))
            await send(message)

        return watched

    def _of_foreign_site(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if self._settings.is_loopback and _host_name(host) not in _OWN_HOSTS:
            return _told(421, f"this member listens on loopback only, and is not {host[:100]!r}: use 127.0.0.1")
        if scope["method"] in _SAFE:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        is_foreign = (origin is not None and not self._is_own(origin, host)) or site not in (
            None,
            "same-origin",
            "none",
        )
        if is_foreign or (origin is None and site is None and _may_be_unasked(headers)):
            self._note(scope, "the request comes from another site")
            return _told(403, "the request does not come from a page of this console: open it, and use its forms")
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        if origin == self._settings.url:
            return True
        try:
            return urlsplit(origin).netloc == host
        except ValueError:
            return False

    def _of_person(self, gate: Gate, scope: Scope, headers: Headers) -> Response | None:  # noqa: PLR0911  a refusal each
        """Return what is answered instead of the route's answer; None: he may, and the route is told who he is."""
        method, path = scope["method"], scope["path"]
        found = self._routes.find(method, path)
        if found is None:
            found = (RouteRule(Where.ANYWHERE, ()), {})  # after who it is: strangers are not told what there is
        rule, parameters = found
        is_open = rule.is_metrics and self._settings.open_metrics is not OpenMetrics.NO
        if rule.where is Where.OPEN or is_open:
            note_identity(scope, self._known(gate, headers, path) if rule.knows_people or is_open else None)
            return None
        what = _what(scope)
        address = _address(scope)
        try:
            identity = gate.enter(lambda: _prove(gate, headers, path), what, address)
        except NotSignedIn as error:
            if method == "GET" and "text/html" in headers.get("accept", "") and "authorization" not in headers:
                query = scope.get("query_string", b"").decode("latin-1")
                target = f"{path}?{query}" if query else path
                return RedirectResponse(f"/auth/login?next={quote(target)}", 303)
            return _told(401, str(error), {"WWW-Authenticate": "Bearer"})
        except Overloaded as error:
            return _told(429, str(error), {"Retry-After": str(max(1, error.retry_after_ms // 1000))})
        note_identity(scope, identity)
        if not rule.roles and rule.where is not Where.PROVEN:
            return _told(404, f"nothing is served at {path[:200]}, or no rule says who may use it")
        try:
            require(identity, rule.roles, rule.where, self._places(rule, parameters))
        except NotAllowed as error:
            gate.refuse(identity, what, error, address)
            return _told(403, str(error))
        return None

    def _places(self, rule: RouteRule, parameters: dict[str, str]) -> tuple[Place, ...]:
        return (Place(parameters["cluster"]),) if rule.where is Where.CLUSTER else ()

    def _known(self, gate: Gate, headers: Headers, path: str) -> Identity | None:
        """Return who it is, where nobody need say so; None: not known."""
        try:
            return _prove(gate, headers, path)
        except NotSignedIn:
            return None

    def _note(self, scope: Scope, why: str) -> None:
        if self._settings.gate is not None:
            self._settings.gate.note(Why.OTHER_SITE, "", _what(scope), why, _address(scope))


def _may_be_unasked(headers: Headers) -> bool:
    """Return whether a browser may have sent it by itself: then it must say that a page of ours made it. Cookies go
    with whatever a browser sends; so would a name and password, if a person had given it any.
    """
    authorization = headers.get("authorization")
    if authorization is None:
        return bool(_cookie(headers))
    is_basic = authorization.partition(" ")[0].lower() == "basic"
    return is_basic and headers.get("user-agent", "").startswith("Mozilla/")


def _prove(gate: Gate, headers: Headers, path: str) -> Identity:
    """Raises NotSignedIn."""
    authorization = headers.get("authorization")
    if authorization is not None:
        return gate.prover.of_authorization(authorization, takes_basic=is_for_programs(path))
    cookie = _cookie(headers)
    if not cookie:
        raise NotSignedIn(
            "nobody is signed in: open /auth/login, or send a token (Authorization: Bearer)", is_attempt=False
        )
    return gate.prover.of_session(cookie)


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(SESSION_COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel is not None else ""


def _what(scope: Scope) -> str:
    return f"{scope['method']} {scope['path']}"[:200]


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return f"{client[0]}:{client[1]}" if client else ""


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _told(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{escaped(sentence)}\n", status, headers)
