"""What a module of the console hands over: the routes of some pages, and what to close when the member ends.

A handler bears its path below /console and its right: `@get("/members", VIEW)`, or `@post` where it changes something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Depends

from guardian.console.live import LiveFeeds
from guardian.console.rendering import Renderer
from guardian.security.rules.routing import Handler, RouteRule, access
from guardian.web.parts import WebParts

_PAGE = "console_page"


class Pages:
    """Paths of `router` begin behind /console; `closing` is called when the member ends."""

    def __init__(self, router: APIRouter, *closing: Callable[[], None]) -> None:
        self.router = router
        self.closing = closing


# The feeds are one set for all sections: a person has so many live pages in all.
Section = Callable[[WebParts, Renderer, LiveFeeds], Pages]


def get(path: str, rule: RouteRule) -> Callable[[Handler], Handler]:
    """Return a decorator that declares the path of a page and who may see it."""
    return _page("GET", path, rule)


def post(path: str, rule: RouteRule) -> Callable[[Handler], Handler]:
    """Return a decorator that declares where a form is sent to and who may send it."""
    return _page("POST", path, rule)


def router_of(pages: object, form_guard: Callable[..., Any]) -> APIRouter:
    """Return the routes of an object's handlers. `form_guard` is the dependency of those that change something."""
    router = APIRouter()
    handlers = [name for name, handler in vars(type(pages)).items() if hasattr(handler, _PAGE)]
    served = [(*getattr(getattr(pages, name), _PAGE), getattr(pages, name)) for name in handlers]
    # "{" comes after all letters, so that a literal path is tried before one with a name in its place.
    for path, method, handler in sorted(served, key=lambda each: each[:2]):
        guards = [Depends(form_guard)] if method == "POST" else []
        router.add_api_route(path, handler, methods=[method], dependencies=guards)
    return router


def _page(method: str, path: str, rule: RouteRule) -> Callable[[Handler], Handler]:
    def declare(handler: Handler) -> Handler:
        setattr(handler, _PAGE, (path, method))
        return access(rule)(handler)

    return declare
