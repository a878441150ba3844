"""Rows into the lake: buffered, then written whole.

A file of a table, cluster and hour holds what was collected in about `max_age_s`; its name appears only when all of it
is there (guardian/lake/model/schema.py). Rows that can't be written stay in memory for another attempt, up to a
bound.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import structlog

from guardian.lake.model.schema import BROKER_SAMPLES, Rows, directory_of, hour_of
from guardian.lake.store.filesystem import open_lake, written_whole

_LOG = structlog.get_logger(__name__)
_MAX_BUFFERED_ROWS = 2_000_000
_HOUR_MS = 3_600_000


class _FileKey(NamedTuple):
    table: str
    cluster: str
    hour: str


@dataclass(slots=True)
class _Buffer:
    since: float
    tables: deque[pa.Table] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """Since the start, but for `waiting_rows`, which is now. Times are seconds since the epoch, 0 for never."""

    waiting_rows: int = 0
    written_rows: int = 0
    written_files: int = 0
    dropped_rows: int = 0
    failed_files: int = 0
    last_written_at: float = 0.0
    last_failed_at: float = 0.0


class LakeWriter:
    """Safe for concurrent callers. `url` is a local path or a URL (guardian.lake.store.filesystem)."""

    def __init__(
        self,
        url: str,
        member: str,
        max_age_s: float = 60.0,
        max_buffered_rows: int = _MAX_BUFFERED_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises InvalidInput when the URL is of no file system that can be used here."""
        self._fs, self._root = open_lake(url)
        self._member = member
        self._max_age_s = max_age_s
        self._max_buffered_rows = max_buffered_rows
        self._clock = clock
        self._lock = threading.Lock()
        self._buffers: dict[_FileKey, _Buffer] = {}
        self._status = LakeStatus()

    def status(self) -> LakeStatus:
        with self._lock:
            return replace(self._status, waiting_rows=self._waiting_rows())

    def write(self, cluster: str, rows: Rows) -> None:
        """Takes the rows; they are in the lake after `max_age_s`, or after `flush()`."""
        with self._lock:
            for table, arrow in rows.items():
                for hour, part in _by_hour(arrow):
                    self._buffer(_FileKey(table, cluster, hour)).append(part)
        self.flush_aged()

    def flush_aged(self) -> None:
        """Writes the rows that have waited for `max_age_s`: for callers that may have nothing new to write."""
        now = self._clock()
        self._flush(lambda buffer: now - buffer.since >= self._max_age_s)

    def flush(self) -> None:
        """Writes all rows. What can't be written is logged and kept."""
        self._flush(lambda _: True)

    def _buffer(self, key: _FileKey) -> deque[pa.Table]:
        return self._buffers.setdefault(key, _Buffer(self._clock())).tables

    def _flush(self, due: Callable[[_Buffer], bool]) -> None:
        """Writing happens outside the lock: a slow lake holds up nobody who only brings rows.

        All tables of a cluster are written together, broker_samples last: a broker's row says that the rest of its
        collection is in the lake.
        """
        with self._lock:
            clusters = {key.cluster for key, buffer in self._buffers.items() if due(buffer)}
            keys = sorted(self._buffers, key=lambda key: key.table == BROKER_SAMPLES)
            taken = {key: self._buffers.pop(key) for key in keys if key.cluster in clusters}
        failed: set[str] = set()
        for key, buffer in taken.items():
            if key.cluster in failed:
                self._take_back(key, buffer)
                continue
            try:
                self._write_file(key, pa.concat_tables(buffer.tables))
            except (OSError, pa.ArrowException) as error:
                _LOG.error("rows can't be written to the lake", table=key.table, cluster=key.cluster, error=str(error))
                self._take_back(key, buffer)
                self._count_failure()
                failed.add(key.cluster)

    def _take_back(self, key: _FileKey, buffer: _Buffer) -> None:
        with self._lock:
            self._buffer(key).extendleft(reversed(buffer.tables))
            self._drop_excess()

    def _write_file(self, key: _FileKey, rows: pa.Table) -> None:
        first_ms = pc.min(rows["at_ms"]).as_py()
        directory = f"{self._root}/{directory_of(key.table, key.cluster, first_ms)}"
        name = f"{self._member}-{first_ms}-{uuid.uuid4().hex[:12]}.parquet"
        self._fs.create_dir(directory, recursive=True)
        with written_whole(self._fs, directory, name) as hidden:
            pq.write_table(rows, hidden, filesystem=self._fs, compression="zstd", write_page_checksum=True)
        self._count_file(rows.num_rows)

    def _count_file(self, rows: int) -> None:
        with self._lock:
            self._status = replace(
                self._status,
                written_rows=self._status.written_rows + rows,
                written_files=self._status.written_files + 1,
                last_written_at=time.time(),
            )

    def _count_failure(self) -> None:
        with self._lock:
            self._status = replace(self._status, failed_files=self._status.failed_files + 1, last_failed_at=time.time())

    def _waiting_rows(self) -> int:
        return sum(table.num_rows for buffer in self._buffers.values() for table in buffer.tables)

    def _drop_excess(self) -> None:
        """A lake that stays away must not fill the member's memory: the oldest rows go first."""
        rows = self._waiting_rows()
        dropped = 0
        for key in sorted(self._buffers, key=lambda key: key.hour):
            tables = self._buffers[key].tables
            while tables and rows - dropped > self._max_buffered_rows:
                dropped += tables.popleft().num_rows
            if not tables:
                del self._buffers[key]
        if dropped:
            self._status = replace(self._status, dropped_rows=self._status.dropped_rows + dropped)
            _LOG.error("rows are dropped, the lake takes none", rows=dropped, kept=rows - dropped)


def _by_hour(rows: pa.Table) -> list[tuple[str, pa.Table]]:
    """A batch has one time: nearly always all of it is of one hour."""
    if not rows.num_rows:
        return []
    times = pc.min_max(rows["at_ms"]).as_py()
    first, last = times["min"] // _HOUR_MS, times["max"] // _HOUR_MS
    if first == last:
        return [(hour_of(first * _HOUR_MS), rows)]
    hours = pc.divide(rows["at_ms"], _HOUR_MS)
    return [(hour_of(hour.as_py() * _HOUR_MS), rows.filter(pc.equal(hours, hour))) for hour in pc.unique(hours)]
