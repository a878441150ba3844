"""How often somebody may ask: a bucket for each name, that fills at a rate and holds a burst.

Names come from outside, so that their number is bounded: the ones that were not heard of for longest are forgotten,
which for them is a full bucket again. So those who prove nothing are counted by what fails, apart from the rest.
"""

from __future__ import annotations

from collections import OrderedDict

from guardian.errors import Overloaded


class RateLimits:
    """Not for more than one thread at a time: the caller holds its lock. `now_s` only ever goes on."""

    def __init__(self, per_s: float, burst: int, most_names: int = 10_000) -> None:
        self._per_s = per_s
        self._burst = burst
        self._most_names = most_names
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when that was so

    def take(self, name: str, now_s: float) -> None:
        """Raises Overloaded, with the time to wait, when the name's bucket is empty."""
        left, at_s = self._buckets.pop(name, (float(self._burst), now_s))
        left = min(float(self._burst), left + (now_s - at_s) * self._per_s)
        is_enough = left >= 1
        self._buckets[name] = (left - 1 if is_enough else left, now_s)
        if len(self._buckets) > self._most_names:
            self._buckets.popitem(last=False)
        if not is_enough:
            wait_ms = int(1000 * (1 - left) / self._per_s) + 1
            raise Overloaded(
                f"{name} asks more than {self._per_s:g} times a second: try again in {wait_ms} ms", wait_ms
            )

    def has_room(self, name: str, now_s: float) -> bool:
        """Return whether `take` would do, without taking."""
        left, at_s = self._buckets.get(name, (float(self._burst), now_s))
        return min(float(self._burst), left + (now_s - at_s) * self._per_s) >= 1

    def __len__(self) -> int:
        return len(self._buckets)
