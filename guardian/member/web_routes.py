"""All routes that a member serves, each with its handler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from guardian.member.web import METRIC_PAGES, create_app
from guardian.rest.api import api_routes
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.forwarding import answered_by
from guardian.rest.parts import RestParts
from guardian.rest.routes import Rest
from guardian.security.rules.routing import RouteTable
from guardian.security.service import auth_routes
from guardian.web.parts import WebParts


def routes_of(app: FastAPI) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Yield method, path and handler of each route, in the order in which they are tried."""
    return _flat(app.router.routes, "")


def route_table() -> RouteTable:
    """Return the rules of all routes, as they are without a member: for their description."""
    nobody: Any = None
    web = WebParts("", nobody, nobody, metrics={path: CollectorRegistry() for path in METRIC_PAGES})
    rest = Rest(RestParts(nobody, nobody, nobody, nobody, nobody, nobody, nobody), Concurrency(1, 1))
    return RouteTable(routes_of(create_app(web, [auth_routes.router(nobody, web.form_guard), *rest.routers])))


def api_handlers() -> Iterator[Callable[..., Any]]:
    """Yield the handlers of /api/v1, as they are without a member: for their description."""
    return (handler for _, _, handler in _flat(api_routes().routes, ""))


def rpcs_answered() -> frozenset[str]:
    """Return the RPCs that routes of /api/v1 stand for, besides those that they are seen to call."""
    return frozenset(rpc for handler in api_handlers() for rpc in answered_by(handler))


def _flat(routes: Iterable[Any], prefix: str) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    for route in routes:
        if hasattr(route, "original_router"):  # FastAPI keeps a router that was included as it is
            yield from _flat(route.original_router.routes, prefix + route.include_context.prefix)
        elif hasattr(route, "endpoint"):
            for method in sorted(route.methods - {"HEAD", "OPTIONS"}):
                yield method, prefix + route.path, route.endpoint
        else:
            raise TypeError(f"{route!r}: a route of a kind that has no handler; serve it by a function")
