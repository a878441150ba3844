"""Turns at making long answers: few threads of the pool do so at once, the others wait without the interpreter's lock.

Who has had a turn while others wait for theirs rests for as long as it took before the next one has it. So lists, asked
for as fast as they are answered, take half of the interpreter at the most, and writes have the other half.

What computes long without a page's limit has turns too. A rating of all topics has one, a walk through a table one page
by page. Between two pages it sleeps, which is what hands the lock over: whoever only lets go of it is the first to have
it again.

A thread that wants the lock waits up to 5 ms for each thread that computes. With all 32 of the pool at it, the Raft
thread, which gives the lock up at each sync and message, would miss its heartbeats. With two it does not notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import TypeVar

from guardian.errors import Overloaded

AT_ONCE = 2
_PATIENCE_S = 20.0
_REST_S = 0.001
_LONGEST_REST_S = 0.02
_RETRY_MS = 2_000
_Row = TypeVar("_Row")


class Turns:
    """Of one member. Whoever has a turn waits for nothing but the store's files: not for Raft, not for Kafka."""

    def __init__(
        self, at_once: int = AT_ONCE, patience_s: float = _PATIENCE_S, rest: Callable[[float], None] = time.sleep
    ) -> None:
        """`patience_s` is how long a call waits for its turn, in seconds; `rest` sleeps for so many."""
        self._free = BoundedSemaphore(at_once)
        self.waiting = 0
        """About how many calls wait for a turn: counted without a lock, it decides about a rest alone."""
        self._patience_s = patience_s
        self._rest = rest

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a turn. Raises Overloaded when none comes in time."""
        self.waiting += 1
        try:
            has_turn = self._free.acquire(timeout=self._patience_s)
        finally:
            self.waiting -= 1
        if not has_turn:
            raise Overloaded(f"lists: no turn within {self._patience_s:g} s on this member; retry later", _RETRY_MS)
        began_s = time.monotonic()
        try:
            yield
            if self.waiting > 0:
                self._rest(min(_LONGEST_REST_S, max(_REST_S, time.monotonic() - began_s)))
        finally:
            self._free.release()

    def walk(self, read_page: Callable[[bytes], tuple[Sequence[_Row], bytes]]) -> Iterator[_Row]:
        """Yield what all pages hold, each read in a turn of its own, with a rest before the next one. A page is read
        behind what the one before returned as its end, b"" at first and at last. Raises Overloaded."""
        after = b""
        while True:
            with self.one():
                rows, after = read_page(after)
            yield from rows
            if not after:
                return
            self._rest(_REST_S)


LISTS = Turns()
"""Shared by all services of the process: they share its interpreter."""
