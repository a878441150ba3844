"""All REST routes of a member."""

from __future__ import annotations

from fastapi import APIRouter

from guardian.rest.api import Api
from guardian.rest.cruise_control.routes import CruiseControl
from guardian.rest.cruise_control.state import Concurrency
from guardian.rest.parts import RestParts


class Rest:
    """Guardian's own API, and Cruise Control's; `close` ends what the group is told of user tasks."""

    def __init__(self, parts: RestParts, concurrency: Concurrency) -> None:
        self._cruise_control = CruiseControl(parts, concurrency)
        self.routers: tuple[APIRouter, ...] = (self._cruise_control.router, Api(parts).router)

    def close(self) -> None:
        self._cruise_control.close()
