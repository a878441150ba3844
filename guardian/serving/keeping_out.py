"""Keep those who flood a port out before they are accepted: the kernel drops what they send to begin connections.

To accept a connection and close it again keeps the member's interpreter from others, and a flood has thousands a
second. It is told by what was refused lately; the filter (guardian.serving.rules.keeping_out) is taken away when that
has been quiet for a while.
"""

from __future__ import annotations

import ctypes
import os
import socket
import stat
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from guardian.serving.rules.keeping_out import MOST_HOLDERS, gets_no_more, keeping_out
from guardian.serving.rules.shares import PortShare

_LOG = structlog.get_logger(__name__)

EVERY_S = 0.1
"""How often `look` is to be called, about."""

_FLOOD_PER_S = 100.0  # refused
_FOR_S = 5.0
_ATTACH, _DETACH = 26, 27  # SO_ATTACH_FILTER, SO_DETACH_FILTER of Linux
_OPEN_FILES = Path("/proc/self/fd")


class KeepingOut:
    """Look at one port, from one thread. `listeners` are asked for when they are needed first."""

    def __init__(self, listeners: Callable[[], list[socket.socket]], share: PortShare) -> None:
        self._find = listeners
        self._listeners: list[socket.socket] = []
        self._share = share
        self._refused = 0
        self._looked_s: float | None = None
        self._until_s = 0.0
        self._holders: list[str] = []

    @property
    def holders(self) -> list[str]:
        """Return who is kept out now."""
        return self._holders

    def look(self, refused: int, held: Callable[[], Mapping[str, int]], now_s: float) -> None:
        """Keep out, or no longer. `refused` counts all connections that were ever refused, `held` those there are."""
        lately, self._refused = refused - self._refused, refused
        before_s, self._looked_s = self._looked_s, now_s
        if before_s is not None and lately and lately >= _FLOOD_PER_S * (now_s - before_s):
            self._until_s = now_s + _FOR_S
        elif now_s >= self._until_s:
            self._set([])
            return
        over = gets_no_more(held(), self._share)
        self._set(list(dict.fromkeys([*over, *self._holders]))[:MOST_HOLDERS])

    def _set(self, holders: list[str]) -> None:
        if set(holders) == set(self._holders):
            return
        if not (holders and self._holders):
            _LOG.warning("port is flooded" if holders else "port is flooded no longer", by=holders or self._holders)
        self._holders = holders
        self._listeners = self._listeners or self._find()
        with suppress(OSError):  # a system without such filters refuses them later, one by one
            for listener in self._listeners:
                _filter(listener, holders)


def listening_on(port: int) -> list[socket.socket]:
    """Return the listening sockets of this process at a port, under descriptors of our own."""
    found: dict[int, socket.socket] = {}
    for name in os.listdir(_OPEN_FILES):  # noqa: PTH208  names are all that is needed
        with suppress(OSError):
            status = os.fstat(int(name))
            if not stat.S_ISSOCK(status.st_mode) or status.st_ino in found:
                continue
            borrowed = socket.socket(fileno=os.dup(int(name)))
            if borrowed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and borrowed.getsockname()[1] == port:
                found[status.st_ino] = borrowed
            else:
                borrowed.close()
    return list(found.values())


def _filter(listener: socket.socket, holders: list[str]) -> None:
    if not holders:
        listener.setsockopt(socket.SOL_SOCKET, _DETACH, 0)
        return
    program = keeping_out(holders)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in program))
    listener.setsockopt(socket.SOL_SOCKET, _ATTACH, struct.pack("HL", len(program), ctypes.addressof(code)))
