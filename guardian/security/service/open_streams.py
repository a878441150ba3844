"""End what stays open for long with the right to it: a look every few seconds, also where nothing is said.

gRPC    the method's replies pass through `replies_while`; a look that fails ends the call with its error
HTTP    an answer of server-sent events ends; browsers ask again, and are refused or get what they still may see
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guardian.errors import GuardianError

_log = structlog.get_logger(__name__)

LOOK_AGAIN_S = 4.0  # with what a look takes, five seconds are kept
_EVENTS = "text/event-stream"


async def replies_while(
    replies: AsyncIterator[Any], look: Callable[[], object], every_s: float = LOOK_AGAIN_S
) -> AsyncIterator[Any]:
    """Yield the replies until `look` raises a GuardianError, which is raised here, at once where none is waited for."""
    watch = _Watch(look, every_s)
    watching = asyncio.create_task(watch.run(asyncio.current_task()))
    iterator = aiter(replies)
    try:
        while True:
            try:
                reply = await watch.wait_for(anext(iterator))
            except StopAsyncIteration:
                return
            yield reply
    finally:
        watching.cancel()


class _Watch:
    """Cancel a task that waits for a reply when its caller may have it no longer. Of one event loop."""

    def __init__(self, look: Callable[[], object], every_s: float) -> None:
        self._look = look
        self._every_s = every_s
        self._is_waiting = False
        self._lost: GuardianError | None = None

    async def run(self, task: asyncio.Task[Any] | None) -> None:
        while self._lost is None:
            await asyncio.sleep(self._every_s)
            try:
                self._look()
            except GuardianError as error:
                self._lost = error
        if self._is_waiting and task is not None:
            task.cancel()

    async def wait_for(self, reply: Awaitable[Any]) -> Any:
        """Return the reply. Raises what the look raised."""
        self._is_waiting = True
        try:
            found = await reply
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._lost is None or task is None:
                raise
            task.uncancel()
            raise self._lost from None
        finally:
            self._is_waiting = False
        if self._lost is not None:
            raise self._lost
        return found


async def serve_while(
    app: ASGIApp,
    scope: Scope,
    receive: Receive,
    send: Send,
    may_go_on: Callable[[], Awaitable[bool]],
    every_s: float = LOOK_AGAIN_S,
) -> None:
    """Serve a request by the application; end its answer, if it is a stream of events, when `may_go_on` denies."""
    watching: list[asyncio.Task[None]] = []
    lost = asyncio.Event()
    serving = asyncio.current_task()
    is_open = False

    async def watched(message: Message) -> None:
        nonlocal is_open
        if message["type"] == "http.response.start":
            is_open = Headers(raw=message["headers"]).get("content-type", "").startswith(_EVENTS)
            if is_open:
                watching.append(asyncio.create_task(_end(serving, lost, may_go_on, every_s)))
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            is_open = False
        await send(message)

    try:
        await app(scope, receive, watched)
    except asyncio.CancelledError:
        if serving is None or not lost.is_set():
            raise
        serving.uncancel()
    finally:
        for each in watching:
            each.cancel()
    if lost.is_set() and is_open:
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _end(
    serving: asyncio.Task[Any] | None, lost: asyncio.Event, may_go_on: Callable[[], Awaitable[bool]], every_s: float
) -> None:
    """Cancel the task that serves when it may not go on, or when that can't be found out."""
    is_allowed = True
    while is_allowed:
        await asyncio.sleep(every_s)
        try:
            is_allowed = await may_go_on()
        except Exception:  # noqa: BLE001  whatever it is
            _log.exception("a stream ends, since nobody can say whether it may go on")
            is_allowed = False
    lost.set()
    if serving is not None:
        serving.cancel()
