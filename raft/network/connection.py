"""One non-blocking connection between two members: TCP, TLS if asked for, frames in, frames out. No policy.

    CONNECTING ─▶ SECURING ─▶ OPEN ─▶ CLOSED
    TCP           TLS         frames   from each state, with a reason

Bytes are copied once on their way in (from the socket to the buffer; the message's own come from there) and not at all
on their way out. What waits to be sent is bounded: a peer that does not read is disconnected.
"""

from __future__ import annotations

import socket
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from itertools import count, islice
from typing import Any, NamedTuple, Protocol

from raft.network.frames import LENGTH

READ, WRITE, ERROR = 1, 2, 4
"""Masks of a poller."""

MAX_UNSENT_BYTES = 32 << 20
"""Of frames that wait for the peer to read; above the largest frame."""

GREETING_BYTES = 16 << 10
"""The longest frame before the sender is known."""

_BUFFER_BYTES = 256 << 10
_KEPT_BUFFER_BYTES = 8 << 20  # a larger one, for a larger frame, is given back
_READS_PER_EVENT = 64  # then others have their turn
_TLS_RECORD_BYTES = 16 << 10  # a full one: more may follow
_WRITES_AT_ONCE = 32
_USER_TIMEOUT_MS = 5000  # unacknowledged for so long: the peer's host, or the way to it, is gone
_KEEPALIVE_IDLE_S, _KEEPALIVE_INTERVAL_S, _KEEPALIVE_PROBES = 2, 1, 3


class Poller(Protocol):
    """The library's, or any other; the callback may be called without a reason, and once after unsubscribing."""

    def subscribe(self, descr: int, callback: Callable[[int, int], None], eventMask: int) -> None: ...  # noqa: N803

    def unsubscribe(self, descr: int) -> None: ...


class Closing(Enum):
    """Why a connection ended; the values are what it is counted as."""

    GONE = "disconnected"  # by the peer, or the network
    TLS = "refused_tls"
    TOO_LARGE = "refused_too_large"
    UNSENT = "send_buffer_full"


class Callbacks(NamedTuple):
    """Called by a connection; every call may close it."""

    opened: Callable[[Connection], None]  # it can carry frames
    received: Callable[[Connection, memoryview], None]  # a frame's body, valid during the call only
    failed: Callable[[Connection, Closing, str], None]  # it has closed itself, for this reason, with details


class _State(Enum):
    CONNECTING = 1
    SECURING = 2
    OPEN = 3
    CLOSED = 4


class Connection:
    """`start` it; then it lives by the poller's events until `close`, or until it reports a failure."""

    def __init__(self, callbacks: Callbacks, poller: Poller, endpoint: socket.socket, *, is_dialled: bool) -> None:
        self.is_dialled = is_dialled
        self.unsent_bytes = 0
        self.max_frame_bytes = GREETING_BYTES
        self._callbacks = callbacks
        self._poller = poller
        self._socket = endpoint
        self._descriptor = endpoint.fileno()
        self._tls: ssl.SSLSocket | None = None
        self._context: ssl.SSLContext | None = None
        self._state = _State.CONNECTING
        self._mask = 0
        self._unsent: deque[bytes | memoryview] = deque()
        self._buffer = bytearray(LENGTH.size + GREETING_BYTES)
        self._start = self._end = 0  # of what was received and is not delivered yet

    @classmethod
    def dial(cls, callbacks: Callbacks, poller: Poller, family: int, address: tuple[str | int, ...]) -> Connection:
        """A connection on its way. Raises OSError when it fails at once."""
        endpoint = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            _tune(endpoint)
            endpoint.connect(address)
        except BlockingIOError:
            pass
        except OSError:
            endpoint.close()
            raise
        return cls(callbacks, poller, endpoint, is_dialled=True)

    @classmethod
    def accepted(cls, callbacks: Callbacks, poller: Poller, endpoint: socket.socket) -> Connection:
        """Takes an accepted socket over. Raises OSError when it is gone already."""
        try:
            endpoint.setblocking(False)
            _tune(endpoint)
        except OSError:
            endpoint.close()
            raise
        return cls(callbacks, poller, endpoint, is_dialled=False)

    def start(self, context: ssl.SSLContext | None) -> None:
        """`context`: for TLS."""
        self._context = context
        if self.is_dialled:
            self._subscribe(READ | WRITE)
        else:
            self._connected()

    @property
    def is_closed(self) -> bool:
        return self._state is _State.CLOSED

    @property
    def is_open(self) -> bool:
        return self._state is _State.OPEN

    def peer_certificate(self) -> Mapping[str, Any] | None:
        """Return the peer's certificate in the form of the ssl module; None without TLS."""
        return self._tls.getpeercert() if self._tls is not None else None

    def greeted(self, max_frame_bytes: int) -> None:
        """The sender is known: from here on frames may be so long."""
        self.max_frame_bytes = max_frame_bytes
        self._make_room(_BUFFER_BYTES)

    def send(self, frame: bytes) -> bool:
        """Sends or queues a frame. False: too much waits already, and the connection is closed (`failed` is called)."""
        if self._state is not _State.OPEN:
            return False
        if self.unsent_bytes + len(frame) > MAX_UNSENT_BYTES:
            self._fail(Closing.UNSENT, f"{self.unsent_bytes} bytes wait for it to read")
            return False
        was_waiting = bool(self._unsent)
        self._unsent.append(frame)
        self.unsent_bytes += len(frame)
        if not was_waiting:
            self._write()
        return not self.is_closed

    def close(self) -> None:
        """Close without calling `failed`. A second call does nothing."""
        if self._state is _State.CLOSED:
            return
        self._state = _State.CLOSED
        if self._mask:
            self._poller.unsubscribe(self._descriptor)
        self._socket.close()
        self._unsent.clear()
        self._buffer = bytearray()

    def _on_event(self, _descriptor: int, _mask: int) -> None:
        """Act on what the socket does, not on the mask: an event may be meant for an earlier owner of the
        descriptor.
        """
        if self._state is _State.CONNECTING:
            self._finish_connecting()
        if self._state is _State.SECURING:
            self._shake_hands()
        if self._state is _State.OPEN and self._unsent:
            self._write()
        if self._state is _State.OPEN:
            self._read()

    def _finish_connecting(self) -> None:
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._fail(Closing.GONE, OSError(error, "can't connect").strerror or "can't connect")
            return
        try:
            self._socket.getpeername()
        except OSError:
            return  # not yet
        self._connected()

    def _connected(self) -> None:
        if self._context is None:
            self._opened()
            return
        try:
            self._tls = self._context.wrap_socket(
                self._socket, server_side=not self.is_dialled, do_handshake_on_connect=False
            )
        except OSError as error:
            self._fail(Closing.GONE, str(error))
            return
        self._socket = self._tls
        self._state = _State.SECURING
        self._shake_hands()

    def _shake_hands(self) -> None:
        assert self._tls is not None  # noqa: S101  this state is reached with TLS only
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._subscribe(READ)
        except ssl.SSLWantWriteError:
            self._subscribe(READ | WRITE)
        except ssl.SSLError as error:
            self._fail(Closing.TLS, str(error))
        except OSError as error:
            self._fail(Closing.GONE, str(error))
        else:
            self._opened()

    def _opened(self) -> None:
        self._state = _State.OPEN
        self._subscribe(READ)
        self._callbacks.opened(self)

    def _read(self) -> None:
        """Until nothing is left, or others must have their turn; what TLS has decrypted is always taken, since no
        event would tell of it."""
        for reads in count(1):
            asked = len(self._buffer) - self._end
            received = self._receive()
            if received is None:
                return
            self._end += received
            self._deliver()
            if self.is_closed:
                return
            is_last = reads >= _READS_PER_EVENT
            if self._tls is None:
                is_last = is_last or received < asked
            else:
                is_last = (is_last or received % _TLS_RECORD_BYTES > 0) and not self._tls.pending()
            if is_last:
                return

    def _receive(self) -> int | None:
        """Read once and return the number of bytes that came; None: none now, or the connection is closed."""
        try:
            received = self._socket.recv_into(memoryview(self._buffer)[self._end :])
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except ssl.SSLWantWriteError:
            self._subscribe(READ | WRITE)
            return None
        except ssl.SSLError as error:
            self._fail(Closing.TLS, str(error))
            return None
        except OSError as error:
            self._fail(Closing.GONE, str(error))
            return None
        if not received:
            self._fail(Closing.GONE, "it closed the connection")
            return None
        return received

    def _deliver(self) -> None:
        """Hands over the frames that are complete."""
        while self._end - self._start >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._buffer, self._start)
            if length > self.max_frame_bytes:
                self._fail(Closing.TOO_LARGE, f"a frame of {length} bytes, and {self.max_frame_bytes} are allowed")
                return
            body = self._start + LENGTH.size
            if body + length > self._end:
                self._make_room(LENGTH.size + length)
                return
            self._start = body + length
            self._callbacks.received(self, memoryview(self._buffer)[body : body + length])
            if self.is_closed:
                return
        self._make_room(LENGTH.size)

    def _make_room(self, needed: int) -> None:
        """So that a frame of so many bytes fits behind what is there of it."""
        waiting = self._end - self._start
        is_too_large = not waiting and len(self._buffer) > _KEPT_BUFFER_BYTES
        if needed > len(self._buffer) or is_too_large:
            fresh = bytearray(max(needed, _BUFFER_BYTES))
            fresh[:waiting] = self._buffer[self._start : self._end]
            self._buffer = fresh
        elif waiting and self._start + needed > len(self._buffer):
            self._buffer[:waiting] = self._buffer[self._start : self._end]
        elif waiting:
            return
        self._start, self._end = 0, waiting

    def _write(self) -> None:
        while self._unsent:
            try:
                if self._tls is not None or len(self._unsent) == 1:
                    sent = self._socket.send(self._unsent[0])
                else:
                    sent = self._socket.sendmsg(list(islice(self._unsent, _WRITES_AT_ONCE)))
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                self._subscribe(READ | WRITE)
                return
            except OSError as error:
                self._fail(Closing.GONE, str(error))
                return
            self._drop_sent(sent)
        self._subscribe(READ)

    def _drop_sent(self, sent: int) -> None:
        self.unsent_bytes -= sent
        while sent:
            first = self._unsent[0]
            if sent < len(first):
                self._unsent[0] = memoryview(first)[sent:]
                return
            sent -= len(first)
            self._unsent.popleft()

    def _subscribe(self, mask: int) -> None:
        if mask != self._mask:
            self._mask = mask
            self._poller.subscribe(self._descriptor, self._on_event, mask | ERROR)

    def _fail(self, why: Closing, detail: str) -> None:
        self.close()
        self._callbacks.failed(self, why, detail)


def _tune(endpoint: socket.socket) -> None:
    endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE_S)
    endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_INTERVAL_S)
    endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_PROBES)
    endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT_MS)
