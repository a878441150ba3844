"""What a member does while its disk has no space or its process no descriptors: it tells who waits, and waits too.

A write that finds no room waits in the middle of a tick (raft.storage.room). So nothing is sent meanwhile and others
elect a leader, as if this member's disk were slow. A store that had no room may take nothing more, also when there is
room again. It is opened anew, and what it lost is applied again from the log, which still has it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from raft.entries import command_in
from raft.errors import LowDisk
from raft.node.proposals import Proposals
from raft.node.reading import Reading
from raft.protocol import StateMachine
from raft.storage.journal import Journal
from raft.storage.room import is_passing

_WAIT_S = 0.1  # between two attempts to write
_MEND_S = 1.0  # and to open the store anew
_STUCK = "its store has no room: make space, or raise its limit of open files, and retry"
_logger = logging.getLogger(__name__)


class Lacking:
    """The tick thread's. Times are of one monotonic clock."""

    def __init__(
        self,
        name: str,
        journal: Journal,
        state_machine: StateMachine,
        proposals: Proposals,
        reading: Reading,
        clock: Callable[[], float],
    ) -> None:
        self.is_ending: Callable[[], bool] = lambda: False  # what waits is then given up
        self._name = name
        self._journal = journal
        self._state_machine = state_machine
        self._proposals = proposals
        self._reading = reading
        self._clock = clock
        self._is_waiting = False
        self._is_stuck, self._mend_at = False, 0.0
        journal.room.wait = self._wait

    def apply(self, index: int, command: bytes) -> bytes:
        """Return the result of a command, once there is room for what it changes. Raises what the state machine raises,
        and OSError when the member is to end first."""
        return self._journal.room.ensure(lambda: self._apply(index, command))

    def stick(self) -> None:
        """The state machine had no room for what it was told to write."""
        self._is_stuck = True

    def fault(self, now: float, applied_index: int) -> str:
        """Try to mend what is stuck, without waiting; return what is lacking still, "" when nothing is. Raises OSError
        over a disk that is broken."""
        if self._is_waiting:
            _logger.warning("member %s can write again", self._name)
            self._is_waiting = False
        if self._is_stuck and now >= self._mend_at:
            self._mend_at = now + _MEND_S
            try:
                self._mend(applied_index)
            except OSError as error:
                if not is_passing(error):
                    raise
        return _STUCK if self._is_stuck else ""

    def _apply(self, index: int, command: bytes) -> bytes:
        self._mend(index - 1)
        try:
            return self._state_machine.apply(index, command)
        except OSError:
            self.stick()
            raise

    def _mend(self, up_to_index: int) -> None:
        if not self._is_stuck:
            return
        self._state_machine.reopen()
        first = self._journal.first_index
        for entry, index, _ in self._journal[self._state_machine.applied_index + 1 - first : up_to_index + 1 - first]:
            command = command_in(entry)
            if command is not None:
                self._state_machine.apply(index, command)
        self._is_stuck = False

    def _wait(self, error: OSError) -> None:
        if self.is_ending():
            raise error
        if not self._is_waiting:
            _logger.error("member %s takes part again once it can write: %s", self._name, error)
        self._is_waiting = True
        fault = (
            f"member {self._name} can't write ({error.strerror}): make space on its disk, or raise its limit of open "
            "files, and retry"
        )
        self._proposals.disk_fault = self._reading.disk_fault = fault
        now = self._clock()
        self._proposals.refuse_waiting(LowDisk(fault))
        self._proposals.expire(now)
        self._reading.expire(now)
        time.sleep(_WAIT_S)
