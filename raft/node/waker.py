"""Wakes the tick thread from any other. At most one byte is in the pipe, so that it never fills up (RAFT.md, T9)."""

from __future__ import annotations

import os
import threading

from raft.network.connection import READ, Poller


class Waker:
    def __init__(self) -> None:
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._lock = threading.Lock()
        self._is_pending = False

    def wake(self) -> None:
        if self._is_pending:
            return
        with self._lock:
            if not self._is_pending and self._writer >= 0:
                self._is_pending = True
                os.write(self._writer, b"!")

    @property
    def is_pending(self) -> bool:
        """Return whether somebody called since the last `rearm`."""
        return self._is_pending

    def rearm(self) -> None:
        """Before looking at what others left: a later wake counts again."""
        with self._lock:
            if self._is_pending:
                self._is_pending = False
                os.read(self._reader, 1)

    def subscribe(self, poller: Poller) -> None:
        poller.subscribe(self._reader, lambda _descriptor, _events: None, READ)

    def close(self) -> None:
        """A later wake does nothing."""
        with self._lock:
            os.close(self._reader)
            os.close(self._writer)
            self._writer = -1
