"""What a client shows besides, or instead of, a certificate: headers that go with each of its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import grpc

from guardian.errors import InvalidInput

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

Headers = Sequence[tuple[str, str]]
Bearing = Callable[[], Headers]
"""Asked at each call, from any thread: a token may be renewed meanwhile."""


class _Details(NamedTuple):
    """As grpc wants it; its own class can't be made anew."""

    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


class _Adding(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    def __init__(self, bearing: Bearing) -> None:
        self._bearing = bearing

    def _with(self, details: Any) -> _Details:
        metadata = [*(details.metadata or ()), *self._bearing()]
        return _Details(
            details.method,
            details.timeout,
            metadata,
            details.credentials,
            getattr(details, "wait_for_ready", None),
            getattr(details, "compression", None),
        )

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(self._with(client_call_details), request)

    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(self._with(client_call_details), request)

    def intercept_stream_unary(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return continuation(self._with(client_call_details), request_iterator)

    def intercept_stream_stream(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return continuation(self._with(client_call_details), request_iterator)


def require_private(endpoint: str, tls: object | None, bearing: Bearing | None) -> None:
    """Raises InvalidInput where a token would travel for everybody to read."""
    if bearing is not None and tls is None and endpoint.rsplit(":", 1)[0] not in _LOOPBACK:
        raise InvalidInput(f"a token would go to {endpoint} in plain text: give the members' authority, --ca")


def bearing_channel(channel: grpc.Channel, bearing: Bearing | None) -> grpc.Channel:
    """The channel, with those headers on each call."""
    return grpc.intercept_channel(channel, _Adding(bearing)) if bearing is not None else channel


def bearer(token: str) -> Bearing:
    """Shows a token that does not change."""
    return lambda: (("authorization", f"Bearer {token}"),)
