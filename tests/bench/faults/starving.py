"""Tells whether this machine was too busy for what is measured in seconds."""

from __future__ import annotations

import threading
import time

from tests.patience import PATIENCE_S

_EVERY_S = 0.1


class Starving:
    """A context manager: until its end a thread sleeps again and again for a tenth of a second."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        """The longest that it woke up too late."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Starving:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        before_s = time.monotonic()
        while not self._over.wait(_EVERY_S):
            now_s = time.monotonic()
            self.longest_s = max(self.longest_s, now_s - before_s - _EVERY_S)
            before_s = now_s
