"""Rows of the lake for who is asked about the last hour and has no Spark: a member.

Only the directories of one cluster and of the window's hours are listed, and rows stream through in batches, so that
what is in memory is what the caller keeps. After compaction an hour's rows are there twice for a while, and two members
may have brought the same collection: callers keep one row of each key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs

from guardian.errors import InvalidInput, Unavailable
from guardian.lake.model.schema import PARTITION_HOURS, TABLES, hour_of
from guardian.lake.model.window import Window
from guardian.lake.store.damage import UNREADABLE, may_be_damage, set_aside, why_damaged
from guardian.lake.store.filesystem import open_lake

_BATCH_ROWS = 1 << 17
_AHEAD = 2
_SEARCH_S = 30.0


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Of one reader: what a member does for one question."""

    rows: int = 20_000_000
    seconds: float = 8.0


class LakeReader:
    """For one question, whose limits count from its making."""

    def __init__(self, url: str, limits: ReadLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises InvalidInput when the URL is of no file system that can be used here."""
        self._fs, self._root = open_lake(url)
        self._limits = limits or ReadLimits()
        self._clock = clock
        self._until = clock() + self._limits.seconds
        self._rows_left = self._limits.rows

    def table(self, name: str, cluster: str, window: Window, columns: Sequence[str], *keys: str) -> pa.Table:
        """All rows of the window in the order of their keys, one a key; for tables that are small in a window."""
        schema = pa.schema([TABLES[name].field(column) for column in columns])
        rows = pa.Table.from_batches(self.batches(name, cluster, window, columns), schema).sort_by(
            [(key, "ascending") for key in keys]
        )
        if rows.num_rows < 2:
            return rows
        is_new = _differs(rows[keys[0]])
        for key in keys[1:]:
            is_new = pc.or_(is_new, _differs(rows[key]))
        return rows.filter(pa.concat_arrays([pa.array([True]), is_new]))

    def batches(
        self,
        name: str,
        cluster: str,
        window: Window,
        columns: Sequence[str],
        coded: Collection[str] = (),
        where: ds.Expression | None = None,
        but: Collection[int] = (),
    ) -> Iterator[pa.RecordBatch]:
        """Rows of the window as they come, those that `where` holds for; texts of the columns `coded` stay in
        dictionaries, as the files have them. Hours that begin at one of `but` are left out. A damaged file is set
        aside, and left out; rows of the others may then come once more.

        Raises InvalidInput when they are more than the limits allow, Unavailable when the lake can't be read.
        """
        at_ms = ds.field("at_ms")
        inside = (at_ms >= window.from_ms) & (at_ms < window.to_ms)
        wanted = inside if where is None else inside & where
        left_out: set[str] = set()
        while files := [path for path in self._files(name, cluster, window, but) if path not in left_out]:
            try:
                for batch in self._scanner(files, name, columns, coded, wanted).to_batches():
                    self._spend(batch.num_rows, window)
                    yield batch
            except FileNotFoundError as error:
                raise Unavailable("the lake was tidied up while it was read: ask again") from error
            except UNREADABLE as error:
                damaged = self._set_aside_damaged(files, str(error)) if may_be_damage(error) else set()
                if not damaged:
                    raise Unavailable(f"the lake can't be read: {(str(error).splitlines() or [''])[0]}") from error
                left_out |= damaged
            else:
                return

    def _scanner(
        self, files: list[str], name: str, columns: Sequence[str], coded: Collection[str], wanted: ds.Expression
    ) -> ds.Scanner:
        parquet = ds.ParquetFileFormat(
            read_options=ds.ParquetReadOptions(dictionary_columns=set(coded)),
            default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True),
        )
        return ds.dataset(files, _schema(name, coded), format=parquet, filesystem=self._fs).scanner(
            columns=list(columns),
            filter=wanted,
            batch_size=_BATCH_ROWS,
            batch_readahead=_AHEAD,
            fragment_readahead=_AHEAD,
        )

    def _set_aside_damaged(self, files: list[str], said: str) -> set[str]:
        """Return the files that are damaged: that which the error names, else all among which one must be."""
        named = [path for path in files if path in said]
        until = self._clock() + _SEARCH_S
        damaged = set()
        for path in named or files:
            if why := why_damaged(self._fs, path):
                set_aside(self._fs, path, why)
                damaged.add(path)
            if self._clock() > until:
                break
        return damaged

    def rolled_up(self, cluster: str, window: Window) -> frozenset[int]:
        """Return the beginnings of the window's hours that are read from partition_hours, and are there."""
        return frozenset(self._files_by_hour(PARTITION_HOURS, cluster, window, ()))

    def _files(self, table: str, cluster: str, window: Window, but: Collection[int]) -> list[str]:
        return [path for paths in self._files_by_hour(table, cluster, window, but).values() for path in paths]

    def _files_by_hour(
        self, table: str, cluster: str, window: Window, but: Collection[int]
    ) -> Mapping[int, Sequence[str]]:
        """Return the files by hour; of an hour's roll-ups only the last counts."""
        is_rolled_up = table == PARTITION_HOURS
        parent = f"{self._root}/{table}/cluster={cluster}"
        found = {}
        for at_ms in window.rolled_up_hours if is_rolled_up else window.hours:
            if at_ms in but:
                continue
            children = self._children(f"{parent}/hour={hour_of(at_ms)}")
            paths = [info.path for info in children if info.is_file and not info.base_name.startswith(".")]
            if paths:
                found[at_ms] = [max(paths)] if is_rolled_up else paths
            self._spend(0, window)
        return found

    def _children(self, path: str) -> list[Any]:
        try:
            found: list[Any] = self._fs.get_file_info(pafs.FileSelector(path, allow_not_found=True))
        except (OSError, pa.ArrowException) as error:
            raise Unavailable(f"the lake can't be read: {str(error).splitlines()[0]}") from error
        return found

    def _spend(self, rows: int, window: Window) -> None:
        self._rows_left -= rows
        if self._rows_left < 0 or self._clock() > self._until:
            raise InvalidInput(
                f"between {window} the lake has more than a member reads for one question ({self._limits.rows} rows, "
                f"{self._limits.seconds:g} s): ask for a shorter time, such as --since 10m"
            )


def _schema(name: str, coded: Collection[str]) -> pa.Schema:
    code = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([field.with_type(code) if field.name in coded else field for field in TABLES[name]])


def _differs(column: pa.ChunkedArray) -> pa.Array:
    """Return for each value but the first whether it is another than the one before."""
    values = column.combine_chunks()
    different: pa.Array = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
    return different
