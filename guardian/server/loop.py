"""What only the Raft leader does, once a tick: drive the tickets.

A member that lost its leadership without knowing may tick once more: the commit of its intents fails, or, if nothing
changed, the confirmation of its leadership does (see `guardian.executor.driver`), so nothing is sent.

A tick that fails in a way nobody foresaw is logged, and the next one is made all the same: a leader without its loop
would go on leading and drive nothing, and ending the process would hand the same ticket to the next leader.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

from guardian.errors import GuardianError
from guardian.server.counting import LoopCounters

_log = structlog.get_logger(__name__)

_SOON_S = 0.1


class LeaderLoop:
    """Calls `tick` every `interval_s` seconds while `is_leader` says so, in a thread of its own.

    After a tick of which `has_more` tells that there is more to do or to see the next one comes soon.
    """

    def __init__(
        self,
        is_leader: Callable[[], bool],
        tick: Callable[[], list[str]],
        interval_s: float,
        counters: LoopCounters | None = None,
        has_more: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_leader = is_leader
        self._tick = tick
        self._interval_s = interval_s
        self._counters = counters or LoopCounters()
        self._has_more = has_more
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leader-loop", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when the tick under way has ended."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        said: list[str] = []
        pause_s = self._interval_s
        while not self._stop.wait(pause_s):
            pause_s = self._interval_s
            if not self._is_leader():
                continue
            began = time.monotonic()
            try:
                with self._counters.tick():
                    sentences = self._tick()
            except GuardianError as error:
                sentences = [str(error)]
            except Exception as error:  # noqa: BLE001  see above
                sentences = [f"a tick failed: {error!r}"]
                if sentences != said:
                    _log.exception("tick")
            for sentence in sentences:
                if sentence not in said:
                    _log.info("tick", did=sentence)
            said = sentences
            pause_s = pause_after(time.monotonic() - began, self._interval_s, has_more=self._has_more())


def pause_after(tick_s: float, interval_s: float, *, has_more: bool) -> float:
    """Seconds until the next tick, after one that took `tick_s`.

    Work made of many small steps does not wait for the clock, but what it takes stays below 45 % of a core.
    """
    return min(interval_s, max(_SOON_S, 1.25 * tick_s)) if has_more else interval_s
