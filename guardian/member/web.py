"""The web application of a member: what Prometheus and probes ask for, and the console.

/healthz, /livez   the process lives
/readyz            it can serve
/metrics           of the member itself
/metrics/tenants   whose topic it is (guardian.federation.service.tenancy)
/sd/prometheus     where the brokers' own pages are (guardian.federation.service.discovery)
/console/          the console (guardian.member.pages); / leads there

Every answer carries headers that leave a browser nothing but Guardian's own files. No script or style of a page's text
is run, no page is shown in a frame of another, nothing is kept unless it is a file named by its content. A request's
body has a size, and as a whole a time.

Probes hold no thread and ask no store, so that a member whose pool is full still answers them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guardian.errors import GuardianError, Overloaded
from guardian.member import pages
from guardian.member.shown_metrics import ShownMetrics
from guardian.model.wire.status import told_of
from guardian.replication.store.state import StoreError
from guardian.security.rules.routing import METRICS, OPEN, VIEW, access
from guardian.serving.web_tracing import TracedRequests
from guardian.web.answers import TextAnswer
from guardian.web.exposition import exposition
from guardian.web.parts import WebParts

_log = structlog.get_logger(__name__)

MEMBER_METRICS, TENANT_METRICS = METRIC_PAGES = ("/metrics", "/metrics/tenants")
_OWN_PATHS = ("/healthz", "/livez", "/readyz", "/sd/prometheus")
MAX_BODY_BYTES = 64 << 20  # as a gRPC message: a plan of a large cluster
_LAST_ANSWER = {"Connection": "close"}
_HEADERS = {
    # Attributes alone: bars have their length there, and drawings put their labels where they belong.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def create_app(web: WebParts, routers: Iterable[APIRouter] = ()) -> FastAPI:
    """Serves `routers` as well, before the console."""
    app = FastAPI(title="Guardian", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.add_middleware(_Guarded, body_s=web.body_s)
    app.add_middleware(TracedRequests)  # outside: it sees refusals too
    _probes(app, web)
    for router in routers:
        app.include_router(router)
    console = pages.Console(web)
    app.include_router(console.router)
    app.router.on_shutdown.append(console.close)

    @app.get("/", include_in_schema=False)
    @access(VIEW)
    def root() -> Response:
        return RedirectResponse("/console/")

    def failed(request: Request, error: Exception) -> Response:
        return _told(console, web, request, error)

    app.add_exception_handler(ClientDisconnect, _nobody_waits)
    for kind in (GuardianError, StoreError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, failed)
    return app


def _nobody_waits(_: Request, __: Exception) -> Response:
    """Answer a client that went while it sent a body: no fault of ours, and not worth a line of the log."""
    return Response(status_code=400)


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, HTTPException):
        return error.status_code
    if isinstance(error, RequestValidationError):
        return 400
    if isinstance(error, StoreError):
        return 503
    return told_of(error).http


def sentence_of(error: Exception) -> str:
    """Return the sentence that a person is told of an error."""
    if isinstance(error, RequestValidationError):
        return "; ".join(f"{'.'.join(str(part) for part in each['loc'][1:])}: {each['msg']}" for each in error.errors())
    if isinstance(error, HTTPException):
        return str(error.detail)
    if isinstance(error, GuardianError | StoreError):
        return str(error)
    return "Guardian failed over this request: its log says more, report it as a bug"


def _told(console: pages.Console, web: WebParts, request: Request, error: Exception) -> Response:
    status, sentence = status_of(error), sentence_of(error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if isinstance(error, Overloaded) and error.retry_after_ms:
        headers["Retry-After"] = str(max(1, round(error.retry_after_ms / 1000)))
    if status == 500:
        _log.error("a request failed", path=request.url.path, exc_info=error)
    if request.url.path.startswith("/console/"):
        answer: Response = console.error(request, status, sentence)
    else:
        if status == 404 and isinstance(error, HTTPException):
            sentence = f"use one of {', '.join((*_OWN_PATHS, *web.metrics, '/console/'))}"
        answer = TextAnswer(f"{sentence}\n", status)
    answer.headers.update(headers)
    return answer


def _probes(app: FastAPI, web: WebParts) -> None:
    @app.get("/livez", include_in_schema=False)
    @app.get("/healthz", include_in_schema=False)
    @access(OPEN)
    async def healthz() -> Response:
        return TextAnswer("alive\n")

    @app.get("/readyz", include_in_schema=False)
    @access(OPEN)
    async def readyz() -> Response:
        reason = web.not_ready()
        lines = [reason or "ready", *(f"caution: {sentence}" for sentence in web.cautions)]
        return TextAnswer("".join(f"{line}\n" for line in lines), 503 if reason else 200)

    @app.get("/sd/prometheus", include_in_schema=False)
    @access(METRICS)
    def targets(request: Request) -> Response:
        return Response(web.targets(web.scraper_of(request).sees), media_type="application/json")

    for path, registry in web.metrics.items():
        app.add_api_route(path, _metrics_page(web, registry), include_in_schema=False)


def _metrics_page(web: WebParts, registry: CollectorRegistry) -> Callable[[Request], Response]:
    @access(METRICS)
    def metrics(request: Request) -> Response:
        shown = ShownMetrics(registry, web.scraper_of(request), web.sinks)
        return Response(exposition(shown), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return metrics


class _Guarded:
    """Headers on every answer; a limit to what a request may send, and for how long."""

    def __init__(self, app: ASGIApp, body_s: float) -> None:
        self._app = app
        self._body_s = body_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, self._body_s)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, body.receive, with_headers)


class _Body:
    """What a client sends, as a whole within a time: after its end nothing is bounded, since a stream waits there for
    the client to go. What is refused ends its connection: the rest of the body is nobody's."""

    def __init__(self, receive: Receive, within_s: float) -> None:
        self._receive = receive
        self._within_s = within_s
        self._until = asyncio.get_running_loop().time() + within_s
        self._left = MAX_BODY_BYTES
        self._is_whole = False

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(
                408, f"the request's body did not arrive within {self._within_s:g} s", _LAST_ANSWER
            ) from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise HTTPException(
                    413, f"the request's body is larger than {MAX_BODY_BYTES >> 20} MiB: send less", _LAST_ANSWER
                )
            self._is_whole = not message.get("more_body", False)
        return message
