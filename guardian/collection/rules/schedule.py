"""When a broker is collected next. Pure; times are seconds since the epoch.

Each broker has its own moment in the interval, worked out from its name. Calls, and the memory that answers take, are
spread evenly. A member that takes a broker over goes on at the moments at which the other would have called.
"""

from __future__ import annotations

import math
from hashlib import blake2b

from guardian.model.collection import BrokerKey

_FIRST_RETRY_S = 1.0


def next_due(key: BrokerKey, now: float, interval_s: float) -> float:
    """The broker's first moment after `now`."""
    moment = _share_of_interval(key) * interval_s
    return moment + (math.floor((now - moment) / interval_s) + 1) * interval_s


def due_after_failures(key: BrokerKey, failures: int, now: float, interval_s: float) -> float:
    """After 1, 2, 4... seconds, never later than its next moment: `failures` is how many there were in a row."""
    back_off = _FIRST_RETRY_S * 2.0 ** min(failures - 1, 16)
    return min(now + back_off, next_due(key, now, interval_s))


def _share_of_interval(key: BrokerKey) -> float:
    digest = blake2b(f"{key.cluster}\0{key.broker}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
