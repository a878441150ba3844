"""That this member leads and that a ticket is as it was decided from, proven shortly before each request to Kafka.

    proof ── the time is taken, then the store confirms ──▶ young ──▶ request
                                                       └──▶ old (the process was stopped, a broker took its time)
                                                            ──▶ proven anew, or nothing is sent

A proof holds for less than the least time in which another member can be elected: whoever is stopped for longer finds
on waking that it must ask again. Else it could send what belongs to a ticket that another member has ended meanwhile,
and what nobody knows of any more nobody takes back.

It is asked for before each request of a call, and before each repetition of one that got no answer
(`KafkaAdmin.each_change_proven_by`). A leader that was stopped within a call sends nothing of the rest. A request is
handed to the socket right after that, not in a later round of the client's loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from guardian.errors import Unavailable

HOLDS_S = 0.5  # raft.node.library.Timing.election_min is 0.8
_ATTEMPTS = 3


def since_boot_s() -> float:
    """A clock that runs on while the process is stopped, and, where there is one, while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Proof:
    """Of a ticket, of a cluster's cordons, or of what is held for its disks. `confirm` raises where it is no longer so;
    `at_s` is the time of `clock_s` when the proof that is there was asked for, None: there is none."""

    def __init__(self, confirm: Callable[[], object], clock_s: Callable[[], float], at_s: float | None) -> None:
        self._confirm = confirm
        self._clock_s = clock_s
        self._at_s = at_s

    def require(self) -> None:
        """Returns when what is sent now is covered. Raises what `confirm` raises, and Unavailable where proofs are too
        old by the time they come."""
        for _ in range(_ATTEMPTS):
            if self._holds():
                return
            self.renew()
        if not self._holds():
            raise Unavailable(f"the members took longer than {HOLDS_S:g} s to confirm who leads: the next tick goes on")

    def renew(self) -> None:
        """A new one, whatever there is."""
        self._at_s = None
        at_s = self._clock_s()
        self._confirm()
        self._at_s = at_s

    def _holds(self) -> bool:
        return self._at_s is not None and self._clock_s() - self._at_s <= HOLDS_S
