"""HTTP of a member: /healthz (the process lives), /readyz (it can serve), /metrics (Prometheus)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from guardian.errors import InvalidInput

_CLIENT_TIMEOUT_S = 10.0  # a client that connects and says nothing holds a thread


class HttpServer:
    """Raises InvalidInput when the port is taken. `not_ready` returns why the member can't serve, or None."""

    def __init__(self, endpoint: str, registry: CollectorRegistry, not_ready: Callable[[], str | None]) -> None:
        host, port = endpoint.rsplit(":", 1)
        try:
            self._server = ThreadingHTTPServer((host.strip("[]"), int(port)), _handler(registry, not_ready))
        except OSError as error:
            raise InvalidInput(f"http is {endpoint!r}, which can't be listened on: {error.strerror}") from None
        self._thread = threading.Thread(target=self._server.serve_forever, name="http", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(registry: CollectorRegistry, not_ready: Callable[[], str | None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _CLIENT_TIMEOUT_S

        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/healthz":
                    self._answer(200, "text/plain", b"alive\n")
                case "/readyz":
                    reason = not_ready()
                    self._answer(503 if reason else 200, "text/plain", f"{reason or 'ready'}\n".encode())
                case "/metrics":
                    self._answer(200, CONTENT_TYPE_LATEST, generate_latest(registry))
                case _:
                    self._answer(404, "text/plain", b"try /healthz, /readyz or /metrics\n")

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes are not worth a line each."""

    return Handler
