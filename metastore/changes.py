"""Who waits for what is stored to change is told on the event loop what did.

    applying thread   Changes.note(index, records): collects, wakes the loop once for many writes
    event loop        each subscriber's callback, with all that changed since the last time

Nothing is polled, and what is collected is bounded by the number of partitions.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from metastore import segment_keys as sk
from metastore.records import Record


class Changed(NamedTuple):
    """Say what a command changed. `partitions` are the encoded names of those with new events, or a new state;
    `is_all`: everything may have changed; `has_others`: something besides partitions has."""

    partitions: frozenset[bytes]
    has_others: bool
    is_all: bool


Listener = Callable[[int, Sequence[Record] | None], None]
Subscriber = Callable[[Changed], None]

_HEAD_BYTES = len(sk.HEAD)


class Source(Protocol):
    """A MetastoreStateMachine."""

    def add_listener(self, listener: Listener) -> None: ...


class Changes:
    """Made on the event loop that it tells its subscribers on; `subscribe` and `unsubscribe` are called there too."""

    def __init__(self, source: Source) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._partitions: set[bytes] = set()
        self._has_others = self._is_all = False
        self._is_woken = False
        self._subscribers: set[Subscriber] = set()
        source.add_listener(self.note)

    def subscribe(self, subscriber: Subscriber) -> None:
        """`subscriber` must be quick and must not raise."""
        self._subscribers.add(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.discard(subscriber)

    @contextmanager
    def of_others(self) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever something besides partitions has changed."""
        has_changed = asyncio.Event()

        def note(changed: Changed) -> None:
            if changed.has_others or changed.is_all:
                has_changed.set()

        self.subscribe(note)
        try:
            yield has_changed
        finally:
            self.unsubscribe(note)

    def note(self, _index: int, records: Sequence[Record] | None) -> None:
        """The state machine's listener. Heads come first among the records; None: the whole state was replaced."""
        if not self._subscribers or (records is not None and not records):
            return
        with self._lock:
            if records is None:
                self._is_all = True
            elif not records[0][0].startswith(sk.HEAD):
                self._has_others = True
            for key, _ in records or ():
                if not key.startswith(sk.HEAD):
                    break
                self._partitions.add(key[_HEAD_BYTES:])
            if self._is_woken:
                return
            self._is_woken = True
        try:
            self._loop.call_soon_threadsafe(self._tell)
        except RuntimeError:  # the loop is closed: the server has stopped
            self._subscribers.clear()

    def _tell(self) -> None:
        with self._lock:
            changed = Changed(frozenset(self._partitions), self._has_others, self._is_all)
            self._partitions.clear()
            self._has_others = self._is_all = self._is_woken = False
        for subscriber in tuple(self._subscribers):
            subscriber(changed)
