"""The web application of a member: what Prometheus and probes ask for, and the console.

/healthz           the process lives
/readyz            it can serve
/metrics           of the member itself
/metrics/tenants   whose topic it is (guardian.server.tenancy)
/sd/prometheus     where the brokers' own pages are (guardian.server.discovery)
/console/          the console (guardian.console.pages); / leads there

Every answer carries headers that leave a browser nothing but Guardian's own files: no script or style of a page's text
is run, no page is shown in a frame of another, nothing is kept unless it is a file named by its content. A request's
body has a size and a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial

import structlog
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guardian.console import pages
from guardian.core.routing import METRICS, OPEN, VIEW, access
from guardian.errors import GuardianError, Overloaded
from guardian.server.web_tracing import TracedRequests
from guardian.web.parts import WebParts
from guardian.wire.status import told_of
from metastore.store import StoreError

_log = structlog.get_logger(__name__)

MEMBER_METRICS, TENANT_METRICS = METRIC_PAGES = ("/metrics", "/metrics/tenants")
MAX_BODY_BYTES = 64 << 20  # as a gRPC message: a plan of a large cluster
BODY_TIMEOUT_S = 60.0
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
    app.add_middleware(_Guarded)
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

    for kind in (GuardianError, StoreError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, failed)
    return app


def status_of(error: Exception) -> int:
    """What HTTP says of an error."""
    if isinstance(error, HTTPException):
        return error.status_code
    if isinstance(error, RequestValidationError):
        return 400
    if isinstance(error, StoreError):
        return 503
    return told_of(error).http


def sentence_of(error: Exception) -> str:
    """What a person is told."""
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
            sentence = f"use one of {', '.join(('/healthz', '/readyz', '/sd/prometheus', *web.metrics, '/console/'))}"
        answer = PlainTextResponse(f"{sentence}\n", status)
    answer.headers.update(headers)
    return answer


def _probes(app: FastAPI, web: WebParts) -> None:
    @app.get("/healthz", include_in_schema=False)
    @access(OPEN)
    async def healthz() -> Response:
        return PlainTextResponse("alive\n")

    @app.get("/readyz", include_in_schema=False)
    @access(OPEN)
    def readyz() -> Response:
        reason = web.not_ready()
        lines = [reason or "ready", *(f"caution: {sentence}" for sentence in web.cautions)]
        return PlainTextResponse("".join(f"{line}\n" for line in lines), 503 if reason else 200)

    @app.get("/sd/prometheus", include_in_schema=False)
    @access(METRICS)
    def targets() -> Response:
        return Response(web.targets(), media_type="application/json")

    def metrics(registry: CollectorRegistry) -> Response:
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    for path, registry in web.metrics.items():
        app.add_api_route(path, _without_parameters(partial(metrics, registry)), include_in_schema=False)


def _without_parameters(answer: Callable[[], Response]) -> Callable[[], Response]:
    """FastAPI reads a partial's parameters as a query's."""

    @access(METRICS)
    def answers() -> Response:
        return answer()

    return answers


class _Guarded:
    """Headers on every answer; a limit to what a request may send, and for how long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, body.receive, with_headers)


class _Body:
    """What a client sends: after its end nothing is bounded, since a stream waits there for the client to go."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left = MAX_BODY_BYTES
        self._is_whole = False

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), BODY_TIMEOUT_S)
        except TimeoutError:
            raise HTTPException(408, f"the request's body did not arrive within {BODY_TIMEOUT_S:g} s") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise HTTPException(413, f"the request's body is larger than {MAX_BODY_BYTES >> 20} MiB: send less")
            self._is_whole = not message.get("more_body", False)
        return message
