"""A signal ends the work under way, wherever that is.

Its handler runs in the main thread, which may be inside a call of Spark's that nobody can enter twice, or hold an
event's lock. It does no more than put a word into a queue, which may be done at any moment. A thread takes it from
there, sets the event, and cancels.

    signal ─▶ handler ─▶ queue ─▶ watcher ─▶ event, cancel ─▶ the call in the main thread fails
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Event, Thread

_AGAIN_S = 0.5


@contextmanager
def stopping(
    cancel: Callable[[], object], signals: Sequence[signal.Signals] = (signal.SIGTERM, signal.SIGINT)
) -> Iterator[Event]:
    """An event that one of the signals sets. From then on `cancel` is called, in another thread, until the block ends.

    Again and again, since what was about to begin when it was first called is under way the next time. For the main
    thread only.
    """
    asked: SimpleQueue[bool] = SimpleQueue()
    stopped, over = Event(), Event()

    def watch() -> None:
        if not asked.get():
            return
        stopped.set()
        while not over.is_set():
            with suppress(Exception):  # who is gone, or not there yet, has nothing to cancel
                cancel()
            over.wait(_AGAIN_S)

    before = {each: signal.signal(each, lambda *_: asked.put(True)) for each in signals}
    watcher = Thread(target=watch, name="stopping", daemon=True)
    watcher.start()
    try:
        yield stopped
    finally:
        over.set()
        asked.put(False)
        watcher.join()
        for each, handler in before.items():
            signal.signal(each, handler)
