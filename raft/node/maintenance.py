"""Keeps the log short: syncs the state machine now and then, on another thread, and cuts what that made superfluous."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future

from raft.node.background import Background
from raft.protocol import StateMachine
from raft.rules.trimming import KEPT_BYTES, trim_limit
from raft.storage.journal import Journal
from raft.storage.room import is_passing

_logger = logging.getLogger(__name__)
_LOOK_S = 0.5
_SYNC_S = 60.0  # in any case: a member that crashes then applies a minute's commands again, at most
_TRIM_SYNC_S = 5.0  # when the log could be cut further: a sync is work for the store


class Maintenance:
    """The tick thread's."""

    def __init__(
        self,
        journal: Journal,
        state_machine: StateMachine,
        held_index: Callable[[], int | None],
        wake: Callable[[], None],
        now: float,
        on_stuck: Callable[[], None],
    ) -> None:
        """`held_index`: from where on the log must stay for others, None when nobody needs it. `on_stuck` is called
        when the state machine had no room for a sync."""
        self._on_stuck = on_stuck
        self._journal = journal
        self._state_machine = state_machine
        self._held_index = held_index
        self._background = Background("raft-sync", wake)
        self._synced_index = 0
        self._synced_at = self._looked_at = now

    def work(self, now: float) -> None:
        """Once a tick. Raises what the state machine's `sync` raised."""
        self._background.poll()
        if now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        limit = self._limit(self._synced_index)
        if limit is not None:
            self._journal.trim(limit)
        if self._must_sync(now - self._synced_at) and not len(self._background):
            self._synced_at = now
            self._background.submit(self._state_machine.sync, self._synced)

    def close(self) -> None:
        self._background.close()

    def _must_sync(self, age_s: float) -> bool:
        wanted = self._limit(self._state_machine.applied_index)
        if wanted is not None and wanted > self._synced_index:
            return age_s >= _TRIM_SYNC_S or self._journal.size_bytes >= 2 * KEPT_BYTES
        return age_s >= _SYNC_S

    def _limit(self, synced_index: int) -> int | None:
        journal = self._journal
        return trim_limit(
            first_index=journal.first_index,
            last_index=journal.last_index,
            size_bytes=journal.size_bytes,
            synced_index=synced_index,
            held_index=self._held_index(),
        )

    def _synced(self, future: Future[int]) -> None:
        try:
            self._synced_index = max(self._synced_index, future.result())
        except OSError as error:
            if not is_passing(error):
                raise
            _logger.warning("the store can't be written for now, and is written later: %s", error)
            self._on_stuck()
