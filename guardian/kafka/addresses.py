"""Connect to a name that stands for several addresses, some of which may swallow packets (RFC 8305, Happy Eyeballs).

first address   |----- no answer -----------------|
second              |--- connected: this one       |      each begins 0.25 s after the one before it, or at once
third                   (is not tried any more)    |      where that one is refused, in the resolver's order
"""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

__all__ = ["Address", "connect_to_any", "stagger_s"]

_STAGGER_S = 0.25  # RFC 8305's recommendation

Address = tuple[int, int, int, str, Any]  # as socket.getaddrinfo gives it
Wait = Callable[[selectors.BaseSelector, float], Awaitable[None]]


def stagger_s(left_s: float, addresses: int) -> float:
    """Return how long an address has for itself before the next one is tried too, in seconds.

    However many there are, the last one begins in the first half of the time that is left.
    """
    return min(_STAGGER_S, max(0.0, left_s) / (2 * addresses))


async def connect_to_any(
    addresses: Sequence[Address], options: Sequence[tuple[int, int, int]], deadline_s: float, wait: Wait
) -> socket.socket:
    """Return a non-blocking socket connected to the first of these addresses that takes the connection.

    `wait` returns once the selector has something to tell, or at the time that it is given; both are of the monotonic
    clock, in seconds. Raises OSError when all refuse, TimeoutError at the deadline.
    """
    pause_s = stagger_s(deadline_s - time.monotonic(), max(1, len(addresses)))
    untried, failure, winner = deque(addresses), OSError("no address"), None
    with selectors.DefaultSelector() as pending:
        try:
            while untried or pending.get_map():
                now_s = time.monotonic()
                if now_s >= deadline_s:
                    raise TimeoutError
                try:
                    if untried:
                        pending.register(_begin(untried.popleft(), options), selectors.EVENT_WRITE)
                    await wait(pending, min(deadline_s, now_s + pause_s) if untried else deadline_s)
                    winner = _connected(pending)
                except TimeoutError:
                    raise
                except OSError as error:
                    failure = error
                if winner is not None:
                    return winner
            raise failure
        finally:
            for key in pending.get_map().values():
                if key.fileobj is not winner:
                    cast("socket.socket", key.fileobj).close()


def _begin(address: Address, options: Sequence[tuple[int, int, int]]) -> socket.socket:
    """Return a socket that connects. Raises OSError where that fails at once, as for a family that this host lacks."""
    family, kind, protocol, _, target = address
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        for option in options:
            sock.setsockopt(*option)
        sock.connect(target)
    except BlockingIOError:
        pass
    except OSError:
        sock.close()
        raise
    return sock


def _connected(pending: selectors.BaseSelector) -> socket.socket | None:
    """Return a socket that is connected; None: none is yet. Raises OSError for one that was refused."""
    failure: OSError | None = None
    for key, _ in pending.select(0):
        sock = cast("socket.socket", key.fileobj)
        if not (code := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
            return sock
        pending.unregister(sock)
        sock.close()
        failure = OSError(code, os.strerror(code))
    if failure is not None:
        raise failure
    return None
