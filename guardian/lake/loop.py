"""Keeps the lake tidy: hours that are over become one file a table, old ones go, and so does what a crash left. An hour
of partition samples is then rolled up (guardian.lake.store.hours).

Files are streamed: a row group's worth of rows is in memory, however long the hour was. What to do is decided in
guardian.lake.rules.chores.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import structlog

from guardian.lake.model.schema import PARTITION_HOURS, PARTITION_SAMPLES, TABLES
from guardian.lake.rules.chores import HIDDEN, Chores, LakeFile, LakeTimes, chores
from guardian.lake.store.damage import UNREADABLE, files_set_aside, may_be_damage, set_aside, why_damaged
from guardian.lake.store.filesystem import open_lake, written_whole
from guardian.lake.store.hours import is_rolled_up, outlived, roll_up_file

_LOG = structlog.get_logger(__name__)
_REPLACES = b"guardian.lake.replaces"
_MERGED = "merged-"
_ROWS_PER_GROUP = 250_000
_HOUR_MS = 3_600_000
_LATE_MS = 24 * _HOUR_MS


@dataclass(frozen=True, slots=True)
class _Hour:
    """One directory: a table's rows of a cluster and an hour."""

    table: str
    path: str
    end_ms: int


class LakeKeeper:
    """One at a time is enough, and two do no harm: what both merged is merged again, each collection once."""

    def __init__(
        self, url: str, times: LakeTimes, now_ms: Callable[[], int], max_hours: int = 50, max_looks: int = 2_000
    ) -> None:
        """Merge or remove `max_hours` directories in one tick, and list `max_looks`. `damaged_files` tells
        how many files are set aside, as of the last tick; None before the first.

        Raises InvalidInput for a URL of no use here.
        """
        self._fs, self._root = open_lake(url)
        self._times = times
        self._now_ms = now_ms
        self._max_hours = max_hours
        self._max_looks = max_looks
        self._looks = 0
        self.damaged_files: int | None = None
        self._walk: Iterator[_Hour] = self._hours()
        self._tidy: set[str] = set()  # paths of hours that need nothing any more but their removal

    def tick(self) -> list[str]:
        """Does a bounded part of what is due; says what was done. A directory that fails is tried again next time."""
        said: list[str] = []
        self._looks = 0
        try:
            self._keep_damaged()
        except (OSError, pa.ArrowException) as error:
            said.append(f"lake: what is set aside can't be looked at: {error}")
        while len(said) < self._max_hours and self._looks < self._max_looks:
            hour = next(self._walk, None)
            if hour is None:  # a walk through a large lake takes several ticks
                self._walk = self._hours()
                break
            try:
                done = self._keep(hour)
            except UNREADABLE as error:
                found = self._set_aside_damaged(hour) if may_be_damage(error) else ""
                done = found or f"lake: {hour.path} can't be tidied: {error}"
            if done:
                said.append(done)
        return said

    def _keep_damaged(self) -> None:
        """Count the files that are set aside, also by other readers; they go with their hours."""
        kept = 0
        for info in files_set_aside(self._fs, self._root):
            end_ms = _end_of(info.path.rpartition("/")[0].rpartition("/")[2])
            if end_ms is not None and chores(end_ms, {}, self._now_ms(), self._times).expired:
                self._fs.delete_file(info.path)
            else:
                kept += 1
        self.damaged_files = kept

    def _set_aside_damaged(self, hour: _Hour) -> str:
        """Say which files of the hour are damaged, and set aside by now; nothing where none is."""
        damaged = []
        for info in self._children(hour.path):
            is_whole = info.is_file and not info.base_name.startswith(HIDDEN)
            why = why_damaged(self._fs, info.path) if is_whole else ""
            if why and set_aside(self._fs, info.path, why):
                damaged.append(f"{info.path} ({why})")
        return f"lake: damaged, and set aside: {', '.join(damaged)}" if damaged else ""

    def _hours(self) -> Iterator[_Hour]:
        for table in sorted(TABLES):
            for cluster in self._children(f"{self._root}/{table}"):
                for path in self._children(cluster.path):
                    end_ms = _end_of(path.base_name)
                    if end_ms is not None:
                        yield _Hour(table, path.path, end_ms)

    def _children(self, path: str) -> list[Any]:
        selector = pafs.FileSelector(path, allow_not_found=True)
        return sorted(self._fs.get_file_info(selector), key=lambda info: info.path)

    def _keep(self, hour: _Hour) -> str:
        if self._is_expired(hour):
            self._fs.delete_dir(hour.path)
            self._tidy.discard(hour.path)
            return f"lake: {hour.path} is older than what is kept, and removed"
        if hour.path in self._tidy:
            return ""
        self._looks += 1
        if hour.table == PARTITION_HOURS:
            return self._keep_rollups(hour)
        files = {info.base_name: self._file(info) for info in self._children(hour.path)}
        due = chores(hour.end_ms, files, self._now_ms(), self._times)
        for name in due.remove:
            self._fs.delete_file(f"{hour.path}/{name}")
        if due.merge:
            self._merge(hour, due.merge)
            return f"lake: {len(due.merge)} files of {hour.path} are one now"
        if source := self._to_roll_up(hour, files):
            roll_up_file(self._fs, hour.path, source, self._now_ms())
            return f"lake: {hour.path} is rolled up"
        if due == Chores() and self._is_done(hour, files):
            self._tidy.add(hour.path)
        return f"lake: {len(due.remove)} files of {hour.path} are removed" if due.remove else ""

    def _to_roll_up(self, hour: _Hour, files: Mapping[str, LakeFile]) -> str:
        """The one file of an hour of partition samples that is over, has none waiting beside it and no roll-up yet."""
        if hour.table != PARTITION_SAMPLES or hour.end_ms >= self._now_ms() - self._times.settled_ms:
            return ""
        replaced = {name for file in files.values() for name in file.replaces}
        current = [name for name in files if not name.startswith(HIDDEN) and name not in replaced]
        if len(current) != 1 or is_rolled_up(self._fs, hour.path, current[0]):
            return ""
        return current[0]

    def _keep_rollups(self, hour: _Hour) -> str:
        """Roll-ups are never merged: the last one counts."""
        files = {info.base_name: self._file(info) for info in self._children(hour.path)}
        now_ms = self._now_ms()
        old = [name for name in outlived(list(files)) if files[name].modified_ms < now_ms - self._times.grace_ms]
        half = [
            name
            for name, file in files.items()
            if name.startswith(HIDDEN) and file.modified_ms < now_ms - self._times.abandoned_ms
        ]
        for name in (*old, *half):
            self._fs.delete_file(f"{hour.path}/{name}")
        if len(files) == 1 and hour.end_ms < now_ms - _LATE_MS:
            self._tidy.add(hour.path)
        return f"lake: {len(old) + len(half)} files of {hour.path} are removed" if old or half else ""

    def _is_expired(self, hour: _Hour) -> bool:
        return chores(hour.end_ms, {}, self._now_ms(), self._times).expired

    def _is_done(self, hour: _Hour, files: Mapping[str, LakeFile]) -> bool:
        """A day later no member brings a file of it any more: rows wait in memory for hours at the most."""
        return len(files) <= 1 and hour.end_ms < self._now_ms() - _LATE_MS

    def _file(self, info: Any) -> LakeFile:
        # Where the file system does not say when, a file is never old enough to go.
        modified_ms = self._now_ms() if info.mtime_ns is None else info.mtime_ns // 1_000_000
        if not info.base_name.startswith(_MERGED):
            return LakeFile(modified_ms)
        metadata = pq.read_schema(info.path, filesystem=self._fs).metadata or {}
        return LakeFile(modified_ms, frozenset(json.loads(metadata.get(_REPLACES, b"[]"))))

    def _merge(self, hour: _Hour, names: tuple[str, ...]) -> None:
        name = f"{_MERGED}{uuid.uuid4().hex[:12]}.parquet"
        schema = TABLES[hour.table]
        metadata = {**(schema.metadata or {}), _REPLACES: json.dumps(sorted(names)).encode()}
        with (
            written_whole(self._fs, hour.path, name) as hidden,
            pq.ParquetWriter(
                hidden,
                schema.with_metadata(metadata),
                filesystem=self._fs,
                compression="zstd",
                write_page_checksum=True,
            ) as writer,
        ):
            for rows in _in_groups(self._rows(hour, names, schema)):
                writer.write_table(rows, row_group_size=_ROWS_PER_GROUP)

    def _rows(self, hour: _Hour, names: tuple[str, ...], schema: pa.Schema) -> Iterator[pa.Table]:
        """Each collection's rows once: a collection is whole in one file of its table."""
        seen: npt.NDArray[np.int64] = np.empty(0, np.int64)
        for name in names:
            path = f"{hour.path}/{name}"
            table = pq.read_table(path, filesystem=self._fs, partitioning=None, page_checksum_verification=True)
            rows = _as_of(table, schema)
            collections = _collections(rows)
            yield rows.filter(pa.array(~np.isin(collections, seen)))
            seen = np.union1d(seen, collections)


def _collections(rows: pa.Table) -> npt.NDArray[np.int64]:
    """A number for each row's collection: its broker and, within the hour, its moment."""
    at_ms: npt.NDArray[np.int64] = rows["at_ms"].to_numpy()
    broker: npt.NDArray[np.int32] = rows["broker"].to_numpy()
    return broker.astype(np.int64) * _HOUR_MS + at_ms % _HOUR_MS


def _as_of(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of an older version of the schema lack columns: those are null."""
    columns = [
        rows[field.name] if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _in_groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, in tables that are worth a row group."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= _ROWS_PER_GROUP:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _end_of(directory: str) -> int | None:
    """Return the end of hour=2026-11-21T14 in ms since the epoch; None for what is no hour."""
    try:
        start = datetime.strptime(directory, "hour=%Y-%m-%dT%H").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(start.timestamp() * 1000) + _HOUR_MS
