"""Spans of requests to the REST API and the console: what these ask of gRPC is below them, with the ticket they name.

Probes, scrapes and files are too many to be written down, and a live page's stream lasts for as long as somebody looks.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guardian import tracing

_UNTRACED = re.compile(r"/(healthz|livez|readyz|metrics(/.*)?|sd/.*|console/static/.*|favicon.ico)?")
_TICKET = re.compile(r"/(t-[0-9a-f]{8}(?:-[0-9]+)?)(?=/|$)")
_STREAM = b"text/event-stream"
_FAILURES = 500


class TracedRequests:
    """ASGI middleware; does nothing while traces are off."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not tracing.is_on() or not _is_worth_it(scope):
            await self._app(scope, receive, send)
            return
        named = _TICKET.search(scope["path"])
        told = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        method = str(scope["method"])
        with tracing.span(f"HTTP {method}", named[1] if named else "", told, http_method=method) as span:

            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = int(message["status"])
                    span.set(http_status=status)
                    if status >= _FAILURES:
                        span.failed(f"answered with {status}")
                await send(message)

            try:
                await self._app(scope, receive, noted)
            finally:
                if "endpoint" in scope:
                    route = _route(scope)
                    span.called(f"{method} {route}")
                    span.set(http_route=route)


def _is_worth_it(scope: Scope) -> bool:
    wants = dict(scope["headers"]).get(b"accept", b"")
    return _UNTRACED.fullmatch(scope["path"]) is None and _STREAM not in wants


def _route(scope: Scope) -> str:
    """The path with its parameters' names: a route knows its own part only, not what it is included under."""
    names = {str(value): f"{{{name}}}" for name, value in scope.get("path_params", {}).items()}
    return "/".join(names.get(part, part) for part in scope["path"].split("/"))
