"""What a module of the console hands over: the routes of some pages, and what to close when the member ends."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from guardian.console.rendering import Renderer
from guardian.web.parts import WebParts


class Pages:
    """Paths of `router` begin behind /console; `closing` is called when the member ends."""

    def __init__(self, router: APIRouter, *closing: Callable[[], None]) -> None:
        self.router = router
        self.closing = closing


Section = Callable[[WebParts, Renderer], Pages]
