"""host:port to socket addresses, without ever making the caller wait for a name server."""

from __future__ import annotations

import socket
import threading
from typing import Any

SocketAddress = tuple[int, tuple[Any, ...]]
"""A family, and what `socket.connect` takes."""


def split(address: str) -> tuple[str, int]:
    """Raises ValueError when it is no host:port; a host may be in brackets."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ValueError(f"address {address!r} is not host:port")
    return host.strip("[]"), int(port)


def resolve(address: str, flags: int = 0) -> list[SocketAddress]:
    """All that a name stands for, in the resolver's order; may take seconds. Empty when it can't be resolved.

    `flags` as in getaddrinfo.
    """
    try:
        host, port = split(address)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, ValueError, UnicodeError):
        return []
    return [(family, where) for family, _, _, _, where in found]


class Lookup:
    """One resolution; that of a name runs on a thread of its own, which ends by itself."""

    def __init__(self, address: str) -> None:
        self.found: list[SocketAddress] | None = resolve(address, socket.AI_NUMERICHOST) or None  # None: not yet
        if self.found is None:
            threading.Thread(target=self._run, args=(address,), name="raft-resolve", daemon=True).start()

    def _run(self, address: str) -> None:
        self.found = resolve(address)
