"""The HTTP server of a member: uvicorn on a thread of its own, in front of guardian.member.web.

A client is hung up on that connects and does not shake hands, or send a whole request's head, in time. That holds at
the first request of a connection and at each later one. So is one that does not take its answer: it would hold memory
and a descriptor for ever. How many connections there may be is said in guardian.serving.accepting; no request is
refused for their number, so that a probe that has come in is answered.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from asyncio import sslproto as ssl_buffers
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from guardian.errors import InvalidInput
from guardian.serving import keeping_out
from guardian.serving.accepting import LimitedListener
from guardian.serving.counting import PortCounters
from guardian.serving.rules.shares import HTTP_SHARE, PortShare

_KEEP_ALIVE_S = 30
_GRACE_S = 2
_BACKLOG = 2048

# asyncio puts that much aside for each TLS connection, and 256 KiB by itself; no answer needs it at once.
ssl_buffers.SSLProtocol.max_size = 32 << 10


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """A client has `handshake_s` for TLS, and again for the head of each request, and may leave an answer untaken for
    `answer_s`."""

    share: PortShare = HTTP_SHARE
    handshake_s: float = 10.0
    answer_s: float = 60.0


class HttpServer:
    """Raises InvalidInput when the port is taken. `tls` is the context of HTTPS; None: plain HTTP."""

    def __init__(
        self,
        endpoint: str,
        app: FastAPI,
        tls: ssl.SSLContext | None = None,
        limits: HttpLimits | None = None,
        counters: PortCounters | None = None,
    ) -> None:
        limits = limits or HttpLimits()
        self._listener = LimitedListener(_bound(endpoint), limits.share, counters or PortCounters())
        self._handshake_s = limits.handshake_s if tls is not None else None
        config = uvicorn.Config(
            app,
            http=_protocol(self._listener, limits),
            ws="none",
            loop="asyncio",
            log_config=None,  # logs are structlog's
            access_log=False,  # scrapes are not worth a line each
            server_header=False,
            proxy_headers=False,  # nobody is believed about who asks
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_GRACE_S,
            backlog=_BACKLOG,
            lifespan="on",
        )
        config.load()
        config.ssl = tls
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Answers what is under way for a short while, then ends."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: _Loop(self._handshake_s, self._listener)) as runner:
            runner.run(self._server.serve(sockets=[self._listener]))


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose servers have a time for the TLS handshake, which uvicorn can't be told, and whose listener is
    tended."""

    def __init__(self, handshake_s: float | None, listener: LimitedListener) -> None:
        super().__init__()
        self._handshake_s = handshake_s
        self._listener = listener

    def _tend(self) -> None:
        self._listener.tend()
        self.call_later(keeping_out.EVERY_S, self._tend)

    async def create_server(self, *args: Any, **options: Any) -> Any:
        self._tend()
        return await super().create_server(*args, ssl_handshake_timeout=self._handshake_s, **options)


def _protocol(listener: LimitedListener, limits: HttpLimits) -> type[asyncio.Protocol]:
    """Return the class whose objects are the protocols of connections."""

    class Limited(_Protocol):
        _listener = listener
        _limits = limits

    return Limited


class _Protocol(H11Protocol):
    """Bounds the time for a request's head and for taking an answer; tells the listener who is answered."""

    _listener: LimitedListener
    _limits: HttpLimits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._silence: asyncio.TimerHandle | None = None
        self._untaken: asyncio.TimerHandle | None = None
        self._peer = transport.get_extra_info("peername")
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_asked():
            self._heard()
            if self.conn.their_state is not h11.SEND_BODY:
                self._listener.set_answered(self._peer, is_answered=True)
        else:
            self._await_head()

    def on_response_complete(self) -> None:
        self._listener.set_answered(self._peer, is_answered=False)
        super().on_response_complete()
        if self._is_asked() and self.conn.their_state is not h11.SEND_BODY:  # it had sent the next request already
            self._listener.set_answered(self._peer, is_answered=True)
        elif not self._is_asked() and self.conn.their_state is h11.SEND_BODY:
            self._await_head()  # what is left of the body, first

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._untaken is None:
            self._untaken = self.loop.call_later(self._limits.answer_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._taken()

    def _taken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        self._taken()
        super().connection_lost(exc)

    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        if self._silence is None:
            self._silence = self.loop.call_later(self._limits.handshake_s, self._hang_up)

    def _heard(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _hang_up(self) -> None:
        self._silence = None
        if not self._is_asked() and not self.transport.is_closing():
            self.transport.close()


def _bound(endpoint: str) -> socket.socket:
    host, port = endpoint.rsplit(":", 1)
    host = host.strip("[]")
    try:
        found: Any = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        bound = socket.socket(found[0], socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(found[4])
            bound.listen(_BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise InvalidInput(f"http is {endpoint!r}, which can't be listened on: {error.strerror}") from None
    return bound
