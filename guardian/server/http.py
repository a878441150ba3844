"""HTTP of a member: whether it lives and can serve, and what Prometheus asks it for.

/healthz           the process lives
/readyz            it can serve
/metrics           of the member itself
/metrics/tenants   whose topic it is (guardian.server.tenancy)
/sd/prometheus     where the brokers' own pages are (guardian.server.discovery)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from guardian.errors import GuardianError, InvalidInput
from metastore.store import StoreError

_CLIENT_TIMEOUT_S = 10.0  # a client that connects and says nothing holds a thread


class HttpServer:
    """Raises InvalidInput when the port is taken. `not_ready` returns why the member can't serve, or None; `targets`
    the answer for Prometheus' service discovery, or raises a GuardianError; `metrics` are the pages by path."""

    def __init__(
        self,
        endpoint: str,
        metrics: Mapping[str, CollectorRegistry],
        not_ready: Callable[[], str | None],
        targets: Callable[[], bytes],
    ) -> None:
        host, port = endpoint.rsplit(":", 1)
        try:
            self._server = ThreadingHTTPServer((host.strip("[]"), int(port)), _handler(metrics, not_ready, targets))
        except OSError as error:
            raise InvalidInput(f"http is {endpoint!r}, which can't be listened on: {error.strerror}") from None
        self._thread = threading.Thread(target=self._server.serve_forever, name="http", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(
    metrics: Mapping[str, CollectorRegistry], not_ready: Callable[[], str | None], targets: Callable[[], bytes]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _CLIENT_TIMEOUT_S

        def do_GET(self) -> None:
            match path := self.path.partition("?")[0]:
                case "/healthz":
                    self._answer(200, "text/plain", b"alive\n")
                case "/readyz":
                    reason = not_ready()
                    self._answer(503 if reason else 200, "text/plain", f"{reason or 'ready'}\n".encode())
                case "/sd/prometheus":
                    self._answer_made("application/json", targets)
                case _ if path in metrics:
                    self._answer_made(CONTENT_TYPE_LATEST, lambda: generate_latest(metrics[path]))
                case _:
                    known = ", ".join(("/healthz", "/readyz", "/sd/prometheus", *metrics))
                    self._answer(404, "text/plain", f"use one of {known}\n".encode())

        def _answer_made(self, content_type: str, make: Callable[[], bytes]) -> None:
            try:
                body = make()
            except (GuardianError, StoreError) as error:
                self._answer(503, "text/plain", f"{error}\n".encode())
            else:
                self._answer(200, content_type, body)

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes are not worth a line each."""

    return Handler
