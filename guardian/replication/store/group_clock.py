"""The group's clock on this member, and who moves it on.

    vitals of all voters ─▶ the leader's ClockKeeper ─▶ AdvanceClock ─▶ the store ─▶ GroupClock.now_ms, on every member

Between two commands a member adds what its monotonic clock says has passed, at most a step. So no wall clock but the
median of the voters' has a say, time without a leader stands still after 30 s, and a new leader catches up in steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from guardian.replication.store.store import ReplicatedStore
from metastore import keys
from metastore.records import Record
from metastore.state_machine import MetastoreStateMachine
from metastore.tables import clock
from protos.guardian.v1 import records_pb2
from raft.configuration import Role
from raft.protocol import ReplicaStatus

LEAST_STEP_MS = 20_000
"""An idle group writes no more often than this, and the time in between is added by each member."""

_STEPS = 20  # of one tick: after a pause of two days the clock is right again within some minutes
_CLOCK_KEY = keys.group_clock()


class GroupClock:
    """Any thread may ask. Until the group has a clock, moments after its founding, it is the member's own. What the
    leader does by itself waits until it `is_set`, since it may go back then.
    """

    def __init__(
        self,
        state_machine: MetastoreStateMachine,
        wall_ms: Callable[[], int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._state_machine = state_machine
        self._wall_ms = wall_ms
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._last_ms = 0
        self._anchor = (0, 0.0)  # what is stored, and when it was known here
        state_machine.add_listener(self._changed)
        self._set(state_machine.read().clock_ms)

    @property
    def is_set(self) -> bool:
        """Return whether the group has a clock."""
        return self._anchor[0] > 0

    def now_ms(self) -> int:
        """Return the time in ms since the epoch; it never goes back on this member."""
        with self._lock:
            stored_ms, since_s = self._anchor
            if not stored_ms:
                return self._wall_ms()
            passed_ms = int((self._monotonic() - since_s) * 1000)
            self._last_ms = max(self._last_ms, stored_ms + min(passed_ms, clock.MAX_STEP_MS))
            return self._last_ms

    def _changed(self, _index: int, records: Sequence[Record] | None) -> None:
        if records is None:
            self._set(self._state_machine.read().clock_ms)
        elif records and records[0][0] == _CLOCK_KEY and records[0][1] is not None:
            self._set(int.from_bytes(records[0][1], "big"))

    def _set(self, stored_ms: int) -> None:
        with self._lock:
            self._anchor = (stored_ms, self._monotonic())


class ClockKeeper:
    """One thread calls `tick`, on the leader."""

    def __init__(self, store: ReplicatedStore) -> None:
        self._store = store
        self._is_behind = False

    def has_more(self) -> bool:
        """Return whether the clock has still to catch up."""
        return self._is_behind

    def tick(self) -> list[str]:
        """Moves the group's clock on, where it is due. Raises errors of guardian.errors."""
        clocks = voters_clocks(self._store.status())
        stored_ms = self._store.read_local().clock_ms
        for _ in range(_STEPS):
            self._is_behind = bool(clocks) and is_due(stored_ms, clocks)
            if not self._is_behind:
                break
            self._store.propose(records_pb2.Command(advance_clock=records_pb2.AdvanceClock(clocks_ms=clocks)))
            stored_ms = self._store.read_local().clock_ms
        return []


def is_due(stored_ms: int, clocks_ms: Sequence[int]) -> bool:
    return not stored_ms or clock.advanced(stored_ms, clocks_ms) - stored_ms >= LEAST_STEP_MS


def voters_clocks(status: ReplicaStatus) -> list[int]:
    """The clocks of the voters that this member hears; none while those are no majority."""
    voters = [member for member in status.members if member.role is Role.VOTER]
    known = [member.clock_ms for member in voters if member.clock_ms is not None]
    return known if 2 * len(known) > len(voters) else []
