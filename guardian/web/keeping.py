"""What is dear to look at, kept for a few seconds: many open pages cost one look.

first question      waits for the look, at most `patience_s`, then says that it is being looked at
within `fresh_s`    what is kept
after it            what is kept, at once; one thread looks anew meanwhile
after `stale_s`     as the first question
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from typing import Generic, TypeVar

from guardian.errors import GuardianError, Overloaded

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_MOST_KEYS = 512
_RETRY_MS = 1000


class StillBeingRead(Overloaded):
    """The first look takes longer than anybody should wait: the next question finds its answer."""


@dataclass(slots=True)
class _Kept(Generic[Value]):
    value: Value | None = None
    error: GuardianError | None = None
    looked_at: float = float("-inf")
    look: Future[None] | None = None


class Kept(Generic[Key, Value]):
    """Looks of one kind, by key. Thread-safe. A GuardianError of a look is kept and raised like an answer."""

    def __init__(
        self,
        look: Callable[[Key], Value],
        *,
        fresh_s: float = 5.0,
        stale_s: float = 120.0,
        patience_s: float = 10.0,
        threads: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._fresh_s = fresh_s
        self._stale_s = stale_s
        self._patience_s = patience_s
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[Key, _Kept[Value]] = {}
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="web-look")

    def of(self, key: Key, patience_s: float | None = None) -> Value:
        """Raises what the look raised, or StillBeingRead. `patience_s` is that of this question (the usual one)."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                self._make_room()
                kept = self._kept[key] = _Kept()
            age_s = self._clock() - kept.looked_at
            if age_s >= self._fresh_s and kept.look is None:
                kept.look = self._pool.submit(self._renew, key, kept)
            look = kept.look
        if look is not None and age_s >= self._stale_s:
            try:
                look.result(self._patience_s if patience_s is None else patience_s)
            except NotYet:
                raise StillBeingRead("this is still being read: look again in a moment", _RETRY_MS) from None
        if kept.error is not None:
            raise kept.error
        assert kept.value is not None  # noqa: S101  a look that ended has one of both
        return kept.value

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _renew(self, key: Key, kept: _Kept[Value]) -> None:
        value, failure = None, None
        try:
            value = self._look(key)
        except GuardianError as error:
            failure = error
        except Exception:
            with self._lock:
                self._kept.pop(key, None)
            raise
        with self._lock:
            kept.value, kept.error, kept.looked_at, kept.look = value, failure, self._clock(), None

    def _make_room(self) -> None:
        """Drops what was looked at first, of what nobody waits for."""
        while len(self._kept) >= _MOST_KEYS:
            oldest = min(self._kept, key=lambda each: self._kept[each].looked_at)
            del self._kept[oldest]
