"""The console: its pages by what they show, behind one frame (templates/base.html).

/console/                                the federation
/console/clusters/NAME                   a cluster, and below it brokers, disks, topics
/console/tenants, machines, findings     what the federation knows and finds
/console/members, audit                  Guardian itself
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from guardian.console.live import LiveFeeds
from guardian.console.rendering import STATIC_PATH, THEME_COOKIE, Renderer, static_answer, theme_of
from guardian.console.sections import Section
from guardian.errors import NotFound
from guardian.member import reading
from guardian.planning.pages import measured, plans
from guardian.security.rules.routing import OPEN, access
from guardian.tickets.pages import tickets
from guardian.web.parts import WebParts

_YEAR_S = 31_536_000


class Console:
    """All pages of a member."""

    def __init__(self, web: WebParts, sections: Iterable[Section] | None = None) -> None:
        self._render = Renderer(web)
        self.router = APIRouter(prefix="/console", include_in_schema=False)
        feeds = LiveFeeds(pages_per_person=web.live_pages)
        self._closing: list[Callable[[], None]] = [feeds.close]
        self.router.include_router(_frame())
        for section in sections_of_all() if sections is None else sections:
            made = section(web, self._render, feeds)
            self.router.include_router(made.router)
            self._closing += made.closing

    def close(self) -> None:
        for close in self._closing:
            close()

    def error(self, request: Request, status: int, sentence: str) -> Response:
        title = {401: "Sign in", 403: "Not allowed", 404: "Not found"}.get(status, "That did not work")
        return self._render(request, "error.html", status=status, section="", title=title, crumbs=(), sentence=sentence)


def _frame() -> APIRouter:
    router = APIRouter()

    @router.get("/static/{name}")
    @access(OPEN)
    def static(name: str) -> Response:
        answer = static_answer(name)
        if answer is None:
            raise NotFound(f"{STATIC_PATH}/{name} is no file of the console: open the page anew")
        return answer

    @router.get("/theme")
    @access(OPEN)
    def theme(request: Request, back: str = "/console/", to: str = "") -> Response:
        """Set the theme. Without `to`: the other one, after which comes what the system has."""
        chosen = to or {"": "dark", "dark": "light", "light": ""}[theme_of(request)]
        answer = RedirectResponse(own(back), 303)
        answer.set_cookie(
            THEME_COOKIE, chosen, max_age=_YEAR_S, path="/console", samesite="lax", secure=request.url.scheme == "https"
        )
        return answer

    return router


def own(where: str) -> str:
    """Return `where` if it is a page of this console; else its first page: a link must not lead people elsewhere."""
    parts = urlsplit(where)
    is_own = not parts.scheme and not parts.netloc and where.startswith("/console/") and "\\" not in where
    return where if is_own and where.isprintable() else "/console/"


def sections_of_all() -> tuple[Section, ...]:
    """Who adds pages names their function here: it gets the WebParts, the Renderer and the feeds."""
    return (reading.pages, tickets.pages, plans.pages, measured.pages)
