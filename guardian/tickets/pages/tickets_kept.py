"""What the pages of tickets keep for a moment, so that many open pages read it once. Thread-safe."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from guardian.client import GuardianClient
from guardian.model.plan import Plan

Key = TypeVar("Key")  # that can be hashed
Value = TypeVar("Value")
_PLANS = 16
_RECENT = 64


class PlanShelf:
    """Plans by their hash: they never change, and reading one anew is dear."""

    def __init__(self, size: int = _PLANS) -> None:
        self._size = size
        self._lock = Lock()
        self._plans: OrderedDict[str, Plan] = OrderedDict()

    def plan(self, client: GuardianClient, plan_hash: str) -> Plan:
        """Raises NotFound. Who asks must have seen a ticket that names it."""
        with self._lock:
            if plan_hash in self._plans:
                self._plans.move_to_end(plan_hash)
                return self._plans[plan_hash]
        plan = client.plan(plan_hash)
        with self._lock:
            self._plans[plan_hash] = plan
            while len(self._plans) > self._size:
                self._plans.popitem(last=False)
        return plan


class Recent(Generic[Key, Value]):
    """Values that were read within `fresh_s`. What somebody has just changed is to be forgotten: he sees it at once."""

    def __init__(self, fresh_s: float, size: int = _RECENT, clock: Callable[[], float] = time.monotonic) -> None:
        self._fresh_s = fresh_s
        self._size = size
        self._clock = clock
        self._lock = Lock()
        self._values: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._forgotten = 0

    def of(self, key: Key, read: Callable[[], Value]) -> Value:
        """The recent value, or one that is read now."""
        with self._lock:
            found = self._values.get(key)
            if found is not None and self._clock() - found[0] < self._fresh_s:
                return found[1]
        return self.read(key, read)

    def read(self, key: Key, read: Callable[[], Value]) -> Value:
        """One that is read now, for whoever asks next as well. What is forgotten meanwhile is not kept: it may be of
        before."""
        with self._lock:
            forgotten, began = self._forgotten, self._clock()
        value = read()
        with self._lock:
            kept = self._values.get(key)
            # What began to be read earlier may be of before.
            if self._forgotten == forgotten and (kept is None or kept[0] <= began):
                self._values[key] = (began, value)
                self._values.move_to_end(key)
                while len(self._values) > self._size:
                    self._values.popitem(last=False)
        return value

    def forget(self) -> None:
        """All of it."""
        with self._lock:
            self._values.clear()
            self._forgotten += 1
