"""How long single brokers may take over a question that is asked at each tick: who is late is left out for a while.

A broker whose disk hangs sends heartbeats and answers nothing; each question occupies one more of its threads. So one
that was late gets more time the next time, as it may only be busy, but is asked less often from time to time:

    late for the   1st   2nd   3rd   4th time, with no answer in time between
    waited         1     2     4     4          times `usual_s`, up to `most_s`
    then left out  2     8     32    60         as many times as long, up to a minute

An answer that would have been in time one step earlier takes that step back. One that had a bad moment is asked as
before at the next tick but one. Who always needs a little more than `usual_s` keeps the time that it needs. A rate is
read again right before it is set, so that whoever is heard only now and then would never get one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

_LONGEST_REST_S = 60.0
_MOST_TIMES = 10  # 2 to the power of it is more than any rest


class _Late(NamedTuple):
    times: int
    until_s: float  # left out


@dataclass(slots=True)
class Patience:
    """Of one kind of question, for one thread. Times are those of a clock that never goes back, in seconds."""

    usual_s: float
    most_s: float
    _late: dict[int, _Late] = field(default_factory=dict)

    def limits(self, brokers: Collection[int], now_s: float) -> dict[int, float]:
        """Those to be asked now, and the seconds that each may take."""
        never = _Late(0, now_s)
        return {b: self._limit_s(late.times) for b in brokers if (late := self._late.get(b, never)).until_s <= now_s}

    def was_late(self, broker: int, now_s: float) -> None:
        before = self._late[broker].times if broker in self._late else 0
        times = min(before + 1, _MOST_TIMES)
        self._late[broker] = _Late(times, now_s + min(self._limit_s(before) * 2**times, _LONGEST_REST_S))

    def was_in_time(self, broker: int, took_s: float) -> None:
        late = self._late.get(broker)
        if late is None or took_s > self._limit_s(late.times - 1):
            return
        del self._late[broker]
        if late.times > 1:
            self._late[broker] = late._replace(times=late.times - 1)

    def _limit_s(self, times: int) -> float:
        return float(min(self.usual_s * 2**times, self.most_s))
