"""The activity store of a member: slices in from the collector, answers out to the servicer.

write() ─▶ rows ─▶ waiting, bounded ─▶ one thread ─▶ which are stored already? ─▶ insert the others ─▶ position()

A slice is stored once, however often and by whichever member it is brought: before an insert the thread asks for the
markers of the same hours. That is exact at once and leaves the table plain, where a ReplacingMergeTree would count
twice until it merges, or cost every question a FINAL. Two members that bring the same slice in the same instant could
both store it; that takes a member that still reads a broker which another has taken over.

The collector asks a broker for the slices after `position`, which moves only when rows are stored: what a crash loses
here the broker's ring has still. While the database is away rows wait up to a bound; beyond it slices are dropped,
counted, and brought again by the broker as long as it has them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import structlog

from guardian.activity.rules import questions
from guardian.activity.rules.database import Database, Question, prepare
from guardian.activity.rules.rows import SliceName, SliceRows, joined, refused_slice, rows_of_slices, slice_rows
from guardian.errors import GuardianError, InvalidInput, Unavailable
from protos.guardian.v1 import reporter_pb2

_LOG = structlog.get_logger(__name__)
FLUSH_S = 5.0
MAX_WAITING_ROWS = 1_000_000
_MAX_INSERT_ROWS = 200_000  # one block: ClickHouse would cut a larger one, and a slice with it
_STOP_ASKING = 0.5  # of the bound: what is on its way must find room
_PAUSE_S = 1.0
_MAX_PAUSE_S = 30.0
_CLOSE_S = 10.0
_READY_S = 8.0
_POSITIONS_MS = 24 * 3_600_000


class Position(NamedTuple):
    """The last stored slice of a broker's life; (0, 0): none."""

    life_ms: int
    number: int


NOWHERE = Position(0, 0)


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Since the start, but for the first two, which are now. `dropped_slices` found no room, and come again if their
    brokers still have them; `refused_slices` contradicted themselves."""

    is_ready: bool = False
    waiting_rows: int = 0
    stored_rows: int = 0
    stored_slices: int = 0
    repeated_slices: int = 0
    dropped_slices: int = 0
    refused_slices: int = 0
    failed_inserts: int = 0


class ActivityStore:
    """Any thread may use it. Works from `start()` to `close()`; until the database answers it is not ready."""

    def __init__(
        self,
        database: Database,
        retention_days: int,
        flush_s: float = FLUSH_S,
        max_waiting_rows: int = MAX_WAITING_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._retention_days = retention_days
        self._flush_s = flush_s
        self._max_waiting_rows = max_waiting_rows
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[SliceRows] = deque()
        self._known: set[SliceName] = set()  # waiting, or on its way into the database
        self._positions: dict[tuple[str, int], Position] = {}
        self._oldest = 0.0
        self._status = StoreStatus()
        self._closing = False
        self._wanted = False  # a member that collects from nobody needs no database
        self._thread = threading.Thread(target=self._run, name="activity", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stores what waits, if the database takes it within seconds, and closes it."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(_CLOSE_S)
        self._database.close()

    def status(self) -> StoreStatus:
        with self._changed:
            return self._status

    def position(self, cluster_name: str, broker_id: int) -> Position | None:
        """After which slice the broker is to be asked for more; None: not now, for they could not be kept."""
        with self._changed:
            self._want()
            if not self._status.is_ready or self._status.waiting_rows > _STOP_ASKING * self._max_waiting_rows:
                return None
            return self._positions.get((cluster_name, broker_id), NOWHERE)

    def write(self, cluster_name: str, batch: reporter_pb2.MetricBatch, correction_ms: int = 0) -> None:
        """Takes the batch's slices; they are stored within seconds. Taking one twice is harmless. `correction_ms` is
        added to their times: what the broker's clock lacks."""
        news: dict[SliceName, reporter_pb2.ActivitySlice] = {}
        for found in batch.activity:
            name = SliceName(cluster_name, batch.broker_id, batch.broker_started_at_ms, found.number)
            if name not in news and self._is_news(name):
                news[name] = found
        for rows in self._read(news, batch.collected_at_ms, correction_ms):
            if not self._take(rows):
                return  # the later ones too: a position must not pass one that is not stored

    def ask(self, question: Question) -> list[dict[str, Any]]:
        """The answer, without what still waits. Raises Unavailable, or InvalidInput when it would take too much."""
        with self._changed:
            self._want()
            if not self._changed.wait_for(lambda: self._status.is_ready or self._closing, _READY_S):
                raise Unavailable("the activity store is away, or is starting: ask again")
        return self._database.query(question)

    def _want(self) -> None:
        if not self._wanted:
            self._wanted = True
            self._changed.notify_all()

    def _is_news(self, name: SliceName) -> bool:
        with self._changed:
            stored = self._positions.get((name.cluster, name.broker), NOWHERE)
            is_stored = stored.life_ms == name.life_ms and name.number <= stored.number
            if is_stored or name in self._known:
                self._status = replace(self._status, repeated_slices=self._status.repeated_slices + 1)
                return False
            return True

    def _read(
        self, news: Mapping[SliceName, reporter_pb2.ActivitySlice], at_ms: int, correction_ms: int
    ) -> Sequence[SliceRows]:
        try:
            return rows_of_slices(list(news), list(news.values()), correction_ms)
        except InvalidInput:  # of one, which must not cost the others
            alone = (self._read_one(name, found, at_ms, correction_ms) for name, found in news.items())
            return [rows for rows in alone if rows is not None]

    def _read_one(
        self, name: SliceName, found: reporter_pb2.ActivitySlice, at_ms: int, correction_ms: int
    ) -> SliceRows | None:
        try:
            return slice_rows(name, found, correction_ms)
        except InvalidInput as error:
            with self._changed:
                self._status = replace(self._status, refused_slices=self._status.refused_slices + 1)
            _LOG.warning("a slice of client activity is refused", error=str(error))
        try:
            return refused_slice(name, at_ms + correction_ms)
        except InvalidInput:  # not even the clock of its broker can be believed
            return None

    def _take(self, rows: SliceRows) -> bool:
        with self._changed:
            status = self._status
            is_full = status.waiting_rows + rows.count > self._max_waiting_rows
            if is_full and self._waiting:  # alone, one of any size finds room: else it would stop its broker for good
                if not status.dropped_slices:
                    _LOG.error("client activity is dropped, the store takes none", waiting_rows=status.waiting_rows)
                self._status = replace(status, dropped_slices=status.dropped_slices + 1)
                return False
            if not self._waiting:
                self._oldest = self._clock()
            self._want()
            self._waiting.append(rows)
            self._known.add(rows.name)
            self._status = replace(status, waiting_rows=status.waiting_rows + rows.count)
            self._changed.notify_all()
            return True

    def _run(self) -> None:
        """Nothing here may end the thread: what fails is tried again."""
        pause_s = _PAUSE_S
        while not (self._closing and not self._waiting):
            try:
                self._work()
                pause_s = _PAUSE_S
            except GuardianError as error:
                if pause_s == _PAUSE_S:
                    _LOG.warning("the activity store takes nothing", error=str(error))
                with self._changed:
                    if self._closing:
                        return
                    self._status = replace(self._status, failed_inserts=self._status.failed_inserts + 1)
                    self._changed.wait_for(lambda: self._closing, pause_s)
                pause_s = min(2 * pause_s, _MAX_PAUSE_S)

    def _work(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._closing)
        if not self._wanted:
            return
        if not self._status.is_ready:
            self._open()
        with self._changed:
            self._changed.wait_for(self._is_due, self._left_s())
            if not self._is_due():
                return
            chunk = _chunk(self._waiting)
        self._store(chunk)

    def _open(self) -> None:
        prepare(self._database, self._retention_days)
        found = self._database.query(questions.positions(max(0, time.time_ns() // 1_000_000 - _POSITIONS_MS)))
        with self._changed:
            for row in found:
                self._positions[row["cluster"], row["broker"]] = Position(row["life_ms"], row["number"])
            self._status = replace(self._status, is_ready=True)
            self._changed.notify_all()

    def _is_due(self) -> bool:
        if self._closing or self._status.waiting_rows >= _MAX_INSERT_ROWS:
            return True
        return bool(self._waiting) and self._clock() - self._oldest >= self._flush_s

    def _left_s(self) -> float:
        return max(0.0, self._oldest + self._flush_s - self._clock()) if self._waiting else self._flush_s

    def _store(self, chunk: Sequence[SliceRows]) -> None:
        """Store the chunk. What is not stored when this raises stays where it is, first in the queue."""
        if not chunk:
            return
        stored = self._stored_of(chunk)
        new = [each for each in chunk if each.name.number > stored.get(each.name[:3], 0)]
        if new:
            self._database.insert(joined(new))
        with self._changed:
            for each in chunk:
                self._waiting.popleft()
                self._known.discard(each.name)
                self._advance(each.name)
            self._oldest = self._clock()
            status = self._status
            self._status = replace(
                status,
                waiting_rows=status.waiting_rows - sum(each.count for each in chunk),
                stored_rows=status.stored_rows + sum(each.count for each in new),
                stored_slices=status.stored_slices + len(new),
                repeated_slices=status.repeated_slices + len(chunk) - len(new),
            )

    def _advance(self, name: SliceName) -> None:
        """A life that began before the one that was known follows it all the same: the broker's clock was set back."""
        key = (name.cluster, name.broker)
        stored = self._positions.get(key, NOWHERE)
        if stored.life_ms != name.life_ms or stored.number < name.number:
            self._positions[key] = Position(name.life_ms, name.number)

    def _stored_of(self, chunk: Iterable[SliceRows]) -> dict[tuple[str, int, int], int]:
        """Return by cluster, broker and life the last slice that is stored: slices are stored in their order."""
        by_cluster: dict[str, list[int]] = {}
        for each in chunk:
            by_cluster.setdefault(each.name.cluster, []).append(each.from_ms)
        return {
            (cluster, row["broker"], row["life"]): row["last_slice"]
            for cluster, times in by_cluster.items()
            for row in self._database.query(questions.stored_slices(cluster, min(times), max(times)))
        }


def _chunk(waiting: Iterable[SliceRows]) -> list[SliceRows]:
    """The first slices, as many as fit into a block; at least one."""
    chunk: list[SliceRows] = []
    rows = 0
    for each in waiting:
        rows += each.count
        if chunk and rows > _MAX_INSERT_ROWS:
            break
        chunk.append(each)
    return chunk
