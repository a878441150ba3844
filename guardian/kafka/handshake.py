"""Connections by TLS whose handshake ends in time, and which say why a broker ended them.

kafka-python 3.0.12 waits for the other side's part of the handshake without a limit, and keeps the socket: a broker
that accepts connections and says nothing would cost a file descriptor each time that it is asked. It also forgets the
alert with which a broker refuses a client's certificate if a request meets the closed connection first.
"""

from __future__ import annotations

import ssl
from typing import Any

from kafka.errors import KafkaConnectionError
from kafka.net.inet import create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport


class BoundedManager(KafkaConnectionManager):  # type: ignore[misc]
    """Makes connections as its parent does; a handshake takes no longer than the connection may."""

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        if not self.ssl_enabled:
            return await super()._build_transport(node, timeout_at=timeout_at)
        options, proxy = self.config["socket_options"], self.config["proxy_url"]
        sock = await create_connection(self._net, node.host, node.port, options, proxy_url=proxy, timeout_at=timeout_at)
        settings = {key: value for key, value in self.config.items() if key.startswith("ssl_")}
        transport = _Transport(self._net, sock, host=node.host, **settings)
        try:
            await transport.shake_hands(timeout_at)
        except Exception as error:
            transport.end()
            raise KafkaConnectionError(f"Handshake failed: {error}") from error
        return transport


class _Transport(KafkaSSLTransport):  # type: ignore[misc]
    async def shake_hands(self, timeout_at: float | None) -> None:
        while True:
            try:
                self._sock.do_handshake()
            except ssl.SSLWantReadError:
                await self._net.wait_read(self._sock, timeout_at)
            except ssl.SSLWantWriteError:
                await self._net.wait_write(self._sock, timeout_at)
            else:
                return

    def _sock_send(self) -> tuple[int, Exception | None]:
        sent, error = super()._sock_send()
        if error is None or self._sock is None:
            return sent, error
        _, alert = self._sock_recv()
        return sent, alert if _is_alert(alert) else error

    def end(self) -> None:
        """Close the socket of a handshake that failed: nobody else knows it."""
        self._sock.close()


def _is_alert(error: Exception | None) -> bool:
    cause = error.args[0] if error is not None and error.args else None
    return isinstance(cause, ssl.SSLError) and "ALERT" in (cause.reason or "")
