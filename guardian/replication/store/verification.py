"""Reads back all that a member keeps, now and then, so that damage is found before somebody needs what is damaged.

a while after the start, then every `interval_s`:  the Raft log, then the store  ─▶ damage? ─▶ the member stops
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

_log = structlog.get_logger(__name__)

Verify = Callable[[Callable[[float], None]], None]
"""Reads one part back; calls with the share that is done, between pieces of the work."""

_FIRST_AFTER_S = 10.0  # the start itself reads and writes much
_RESTING = 4.0  # for each second of work: a fifth of a processor
_LONGEST_REST_S = 1.0


@dataclass(frozen=True, slots=True)
class VerificationStatus:
    """`share` of the round under way, or of the last one; `verified_at_ms`: the end of the last whole one, 0: none;
    `problem`: why the last one ended early."""

    is_running: bool = False
    share: float = 0.0
    verified_at_ms: int = 0
    problem: str = ""


class _Stopped(Exception):
    """The member is stopping."""


class Verification:
    """One thread of its own. What is damaged is told by the parts themselves, to whom it may concern."""

    def __init__(
        self,
        parts: tuple[Verify, ...],
        interval_s: float,
        now_ms: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is read until `start`; with an interval of 0 nothing ever is."""
        self._parts = parts
        self._interval_s = interval_s
        self._now_ms = now_ms
        self._clock = clock
        self._stop = threading.Event()
        self._status = VerificationStatus()
        self._worked_since = 0.0
        self._thread = threading.Thread(target=self._run, name="verification", daemon=True)

    def status(self) -> VerificationStatus:
        return self._status

    def start(self) -> None:
        if self._interval_s > 0:
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def verify(self) -> None:
        """One round, on this thread."""
        self._status = VerificationStatus(is_running=True, verified_at_ms=self._status.verified_at_ms)
        self._worked_since = self._clock()
        try:
            for number, part in enumerate(self._parts):
                part(lambda share, number=number: self._pause((number + share) / len(self._parts)))  # type: ignore[misc]
        except _Stopped:
            return
        except Exception as error:  # noqa: BLE001  a round that fails is made again; damage has stopped the member
            _log.warning("what is stored was not verified to its end", why=str(error) or repr(error))
            self._status = replace(self._status, is_running=False, problem=str(error) or repr(error))
        else:
            self._status = VerificationStatus(share=1.0, verified_at_ms=self._now_ms())

    def _run(self) -> None:
        pause_s = min(_FIRST_AFTER_S, self._interval_s)
        while not self._stop.wait(pause_s):
            pause_s = self._interval_s
            self.verify()

    def _pause(self, share: float) -> None:
        self._status = replace(self._status, share=share)
        worked_s = self._clock() - self._worked_since
        if self._stop.wait(min(_LONGEST_REST_S, _RESTING * worked_s)):
            raise _Stopped
        self._worked_since = self._clock()
