"""Real Parquet files of a lake, damaged in the ways that disks, networks and people have."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow.parquet as pq

OLD_S = 1_700_000_000.0
_LARGE = 200  # of which the header is the smaller half


def cut(file: Path, length: int) -> Path:
    """Keep the first bytes of a file only."""
    return _written(file, file.read_bytes()[:length])


def with_noise(file: Path, column: str, length: int = 16) -> Path:
    """Overwrite bytes in the middle of a column's only page, or, where that is small, towards its end."""
    row_group = pq.read_metadata(file).row_group(0)
    chunk = next(each for each in map(row_group.column, range(row_group.num_columns)) if each.path_in_schema == column)
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    end = begin + chunk.total_compressed_size
    at = end - max(length + 1, (end - chunk.data_page_offset) // 2 if end - chunk.data_page_offset > _LARGE else 0)
    raw = bytearray(file.read_bytes())
    raw[at : at + length] = random.Random(7).randbytes(length)  # noqa: S311
    return _written(file, bytes(raw))


def _written(file: Path, raw: bytes) -> Path:
    file.write_bytes(raw)
    os.utime(file, (OLD_S, OLD_S))
    return file
