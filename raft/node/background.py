"""Work that would hold up the tick thread: it runs on one other thread, in order, and its outcome comes back.

owner ── submit(job, done) ─▶ thread: job() ── wake() ─▶ owner: poll() calls done(future)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Background:
    """`submit`, `poll` and `close` are the owner's; `wake` is called on the other thread and must be quick."""

    def __init__(self, name: str, wake: Callable[[], None]) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._wake = wake
        self._pending: deque[tuple[Future[Any], Callable[[Future[Any]], None]]] = deque()
        self.is_closing = False  # long jobs look at it and end early

    def submit(self, job: Callable[[], _Result], done: Callable[[Future[_Result]], None]) -> None:
        """Runs `job` after all that was submitted before; `poll` hands its outcome, or its error, to `done`."""
        future = self._executor.submit(job)
        self._pending.append((future, done))
        future.add_done_callback(lambda _: self._wake())

    def __len__(self) -> int:
        """Return how many outcomes are still to be handed over."""
        return len(self._pending)

    def poll(self) -> None:
        while self._pending and self._pending[0][0].done():
            future, done = self._pending.popleft()
            done(future)

    def close(self) -> None:
        """Waits for the job that runs; what waits is dropped, and no outcome is handed over any more."""
        self.is_closing = True
        self._pending.clear()
        self._executor.shutdown(wait=True, cancel_futures=True)
