"""Shut down connections of a port that are over the share of their address, whoever has accepted them.

gRPC's C library accepts by itself and tells nobody. What it holds are descriptors of this process. A look finds those
that the port accepted and whose they are, and ends those that are too many (guardian.serving.rules.shares). First goes
who has sent nothing, longest silent first, then the newest. A shutdown acts on the connection, not on the descriptor:
the library sees that the other side has ended it, and closes it as any other.

Nothing is proxied and no byte is copied: what it costs is some microseconds per open file, five times a second. A look
at thousands of them pauses again and again, so that no other thread of the member waits for all of it. While thousands
come in a second most are not even accepted (guardian.serving.keeping_out).
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import structlog

from guardian.serving.counting import PortCounters
from guardian.serving.keeping_out import KeepingOut, listening_on
from guardian.serving.rules.shares import PortShare, holder_of, over_share

_LOG = structlog.get_logger(__name__)

_EVERY_S = 0.2
_AT_ONCE = 128  # files looked at, or connections shut down, before others have the processor
_PAUSE_S = 0.002
_OPEN_FILES = Path("/proc/self/fd")
_TCP_INFO_BYTES = 136  # up to tcpi_bytes_received (linux/tcp.h)
_RECEIVED_AT = 128


@dataclass(eq=False, slots=True)
class _Connection:
    """One that the port accepted; `number` rises with the time of the look that found it first."""

    inode: int
    descriptor: int
    holder: str
    number: int = field(default_factory=count().__next__)


class Shedding:
    """Look from `start` to `stop`, on a thread of its own; do nothing where the system has no list of open files."""

    def __init__(self, port: int, share: PortShare, counters: PortCounters, every_s: float = _EVERY_S) -> None:
        self._counters = counters
        self._port = port
        self._share = share
        self._every_s = every_s
        self._keeping_out = KeepingOut(lambda: listening_on(port), share)
        self._known: dict[int, _Connection | None] = {}  # by inode; None: no connection of the port
        self._steps = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="shedding", daemon=True)

    def start(self) -> None:
        if _OPEN_FILES.is_dir():
            self._thread.start()

    def stop(self) -> None:
        """End the looks. A second call does nothing."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self) -> None:
        """Find all connections of the port, and shut down those that are too many."""
        found = dict(self._look_at_files())
        self._known = found
        held: defaultdict[str, list[_Connection]] = defaultdict(list)
        for connection in found.values():
            if connection is not None:
                held[connection.holder].append(connection)
        self._counters.connections = sum(map(len, held.values()))
        counts = {holder: len(of) for holder, of in held.items()}
        self._keeping_out.look(self._counters.refused, lambda: counts, time.monotonic())
        if self._counters.connections <= self._share.connections and not any(
            len(of) > self._share.per_address for of in held.values()
        ):
            return
        for connection in over_share(held, self._share, self._worth):
            self._shut_down(connection)

    def _run(self) -> None:
        while not self._stopping.wait(self._every_s):
            try:
                self.look()
            except OSError as error:  # out of descriptors, say: the next look may be luckier
                _LOG.warning("connections can't be looked at", port=self._port, error=str(error))

    def _step(self) -> None:
        self._steps += 1
        if self._steps % _AT_ONCE == 0:
            self._stopping.wait(_PAUSE_S)

    def _look_at_files(self) -> Iterator[tuple[int, _Connection | None]]:
        known = self._known
        for name in os.listdir(_OPEN_FILES):  # noqa: PTH208  names are all that is needed, and thousands
            descriptor = int(name)
            self._step()
            try:
                status = os.fstat(descriptor)
            except OSError:
                continue  # it was closed meanwhile
            if not stat.S_ISSOCK(status.st_mode):
                continue
            inode = status.st_ino
            if inode in known and ((seen := known[inode]) is None or seen.descriptor == descriptor):
                yield inode, known[inode]
            else:
                with suppress(OSError):
                    yield inode, self._connection(descriptor, inode)

    def _connection(self, descriptor: int, inode: int) -> _Connection | None:
        with _borrowed(descriptor) as borrowed:
            if os.fstat(borrowed.fileno()).st_ino != inode or borrowed.family not in (socket.AF_INET, socket.AF_INET6):
                return None
            if borrowed.getsockname()[1] != self._port:
                return None
            return _Connection(inode, descriptor, holder_of(str(borrowed.getpeername()[0])))

    def _worth(self, connection: _Connection) -> tuple[bool, int]:
        """Return what sorts connections by how much they are worth keeping. First comes who has sent something, the
        oldest first; then who has sent nothing, the newest first, since he may be about to.
        """
        self._step()
        if _has_sent(connection):
            return False, connection.number
        return True, -connection.number

    def _shut_down(self, connection: _Connection) -> None:
        self._step()
        with suppress(OSError), _borrowed(connection.descriptor) as borrowed:
            if os.fstat(borrowed.fileno()).st_ino == connection.inode:
                borrowed.shutdown(socket.SHUT_RDWR)
                self._counters.refused += 1


def _borrowed(descriptor: int) -> socket.socket:
    """Return the same connection under a descriptor of our own: the other one may be closed at any moment."""
    return socket.socket(fileno=os.dup(descriptor))


def _has_sent(connection: _Connection) -> bool:
    try:
        with _borrowed(connection.descriptor) as borrowed:
            info = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return False
    return len(info) < _TCP_INFO_BYTES or struct.unpack_from("=Q", info, _RECEIVED_AT)[0] > 0
