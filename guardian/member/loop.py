"""What only the Raft leader does, once a tick: drive the tickets.

A member that lost its leadership without knowing may tick once more. The commit of its intents fails, or, if nothing
changed, the confirmation of its leadership does (see `guardian.execution.loop.proving`), so nothing is sent.

A tick that fails in a way nobody foresaw is logged, and the next one is made all the same. A leader without its loop
would go on leading and drive nothing. Ending the process would hand the same ticket to the next leader.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import structlog

from guardian.errors import GuardianError
from guardian.serving.counting import LoopCounters

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

    def tell_to_stop(self) -> None:
        """Begin no further tick; return at once."""
        self._stop.set()

    def stop(self, timeout_s: float | None = None) -> bool:
        """Begin no further tick, wait for the one under way, and return whether it has ended."""
        self.tell_to_stop()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        said: list[str] = []
        pause_s = self._interval_s
        while not self._stop.wait(pause_s):
            pause_s = self._interval_s
            if not self._is_leader():
                self._counters.rest()
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


def stop_all(loops: Mapping[str, LeaderLoop], timeout_s: float) -> list[str]:
    """Stop loops together; return the names of those whose tick is still under way after `timeout_s`.

    Such a tick goes on while the rest is closed, as one does whose member no longer leads; it ends with the process.
    """
    for loop in loops.values():
        loop.tell_to_stop()
    until = time.monotonic() + timeout_s
    busy = [name for name, loop in loops.items() if not loop.stop(max(0.0, until - time.monotonic()))]
    if busy:
        _log.warning("ticks are still under way: the member stops without them", loops=busy)
    return busy


def pause_after(tick_s: float, interval_s: float, *, has_more: bool) -> float:
    """Seconds until the next tick, after one that took `tick_s`.

    Work made of many small steps does not wait for the clock, but what it takes stays below 45 % of a core.
    """
    return min(interval_s, max(_SOON_S, 1.25 * tick_s)) if has_more else interval_s
