"""The HTTP server of a member: uvicorn on a thread of its own, in front of guardian.server.web.

A client that connects and does not send a whole request's head in time is hung up on, at the first request of a
connection and at each later one: it would hold memory and a descriptor for ever.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from guardian.errors import InvalidInput

_CLIENT_TIMEOUT_S = 10.0
_KEEP_ALIVE_S = 30
_GRACE_S = 2
_MOST_CONNECTIONS = 2048
_START_S = 30.0


class HttpServer:
    """Raises InvalidInput when the port is taken. `tls` is the context of HTTPS; None: plain HTTP."""

    def __init__(self, endpoint: str, app: FastAPI, tls: ssl.SSLContext | None = None) -> None:
        self._socket = _bound(endpoint)
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            loop="asyncio",
            log_config=None,  # logs are structlog's
            access_log=False,  # scrapes are not worth a line each
            server_header=False,
            proxy_headers=False,  # nobody is believed about who asks
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_GRACE_S,
            limit_concurrency=_MOST_CONNECTIONS,
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
        self._socket.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


class _Protocol(H11Protocol):
    """Bounds the time for a request's head."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._silence: asyncio.TimerHandle | None = None
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_asked():
            self._heard()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        super().connection_lost(exc)

    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        if self._silence is None:
            self._silence = self.loop.call_later(_CLIENT_TIMEOUT_S, self._hang_up)

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
            bound.listen(2048)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise InvalidInput(f"http is {endpoint!r}, which can't be listened on: {error.strerror}") from None
    return bound
