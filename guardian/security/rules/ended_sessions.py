"""Remember which sessions of the console were ended by their owners, until they would be over by themselves.

Only a good session can be ended, so that who has none adds nothing; of too many the oldest are forgotten.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict


class EndedSessions:
    """Not for more than one thread at a time: the caller holds its lock."""

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._until_ms: OrderedDict[bytes, int] = OrderedDict()

    def end(self, cookie: str, until_ms: int, now_ms: int) -> None:
        """Remember that the cookie, which is good until then, is good no longer."""
        for key in [key for key, each_ms in self._until_ms.items() if each_ms <= now_ms]:
            del self._until_ms[key]
        self._until_ms[_key(cookie)] = until_ms
        if len(self._until_ms) > self._most:
            self._until_ms.popitem(last=False)

    def has(self, cookie: str) -> bool:
        """Return whether the cookie's session was ended."""
        return _key(cookie) in self._until_ms

    def __len__(self) -> int:
        return len(self._until_ms)


def _key(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
