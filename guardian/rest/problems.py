"""Errors as a program reads them: application/problem+json (RFC 9457), with the one sentence as `detail`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from guardian.errors import GuardianError, NotSignedIn, Overloaded
from guardian.model.wire.status import told_of
from guardian.web.answers import JsonAnswer

PROBLEM = "application/problem+json"


def status_of(error: Exception) -> int:
    """500 for what is none of Guardian's errors."""
    return told_of(error).http


def headers_of(error: Exception) -> dict[str, str]:
    """Return the headers that say when to try again, and how to sign in."""
    if isinstance(error, Overloaded) and error.retry_after_ms:
        return {"Retry-After": str(max(1, -(-error.retry_after_ms // 1000)))}
    if isinstance(error, NotSignedIn):
        return {"WWW-Authenticate": "Bearer"}
    return {}


def problem(status: int, kind: str, detail: str, headers: dict[str, str] | None = None) -> Response:
    title = kind.replace("-", " ")
    body = {"type": f"urn:guardian:{kind}", "title": title, "status": status, "detail": detail}
    return JsonAnswer(body, status, headers, PROBLEM)


def problem_of(error: GuardianError) -> Response:
    return problem(status_of(error), told_of(error).name, str(error), headers_of(error))


class ProblemRoute(APIRoute):
    """A route whose errors are problems, in whatever application it is."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except GuardianError as error:
                return problem_of(error)
            except RequestValidationError as error:
                return problem(400, "invalid-input", sentence_of(error))

        return handled


def sentence_of(error: RequestValidationError) -> str:
    """The field, its value and the fix, of the first few that are wrong."""
    told = []
    for each in error.errors()[:3]:
        place = ".".join(str(part) for part in each["loc"] if part not in ("body", "query", "path"))
        told.append(f"{place or 'body'} is {str(each.get('input'))[:60]!r}: {each['msg']}")
    return "; ".join(told)
