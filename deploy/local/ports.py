"""Free ports on loopback, from below the range that the system hands out for outgoing connections."""

from __future__ import annotations

import random
import socket

HOST = "127.0.0.1"
_FIRST, _LAST = 20_000, 31_999
_handed_out: set[int] = set()


def is_free(port: int) -> bool:
    """Whether the port can be bound on loopback now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def pick(count: int) -> list[int]:
    """Ports that are free now, none of which this process was given before.

    Another process may take one before it is bound: whoever starts a server on one retries with another.
    """
    chooser = random.SystemRandom()
    picked: list[int] = []
    while len(picked) < count:
        port = chooser.randint(_FIRST, _LAST)
        if port not in _handed_out and is_free(port):
            _handed_out.add(port)
            picked.append(port)
    return picked


def keep_or_pick(port: int) -> int:
    """The same port when it is free, so that a restarted server is found where it was; another one otherwise."""
    return port if is_free(port) else pick(1)[0]
