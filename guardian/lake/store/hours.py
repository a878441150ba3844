"""An hour of partition samples as partition_hours: a row a replica, written when the hour's files have become one.

The file bears the name of the one that it was made of, so it is seen whether an hour has one. When late rows make the
hour's file anew, so is this one; names begin with the time, and readers take the last. Those before it are removed
after a while, since somebody may have listed them.

Rows come late when a member kept them in memory while the lake was out of reach. Between their coming and the next look
at the hour, minutes later, a long window lacks them (a short one reads samples). Of an hour's rates some are missing,
which a median hardly feels.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from guardian.lake.model.schema import PARTITION_HOURS, PARTITION_SAMPLES, TABLES
from guardian.lake.rules.chores import HIDDEN
from guardian.lake.rules.rollup import SAMPLED, roll_up

_ROLLED = "rolled-"
_ROWS_AT_A_TIME = 2_000_000


def directory_of_rollup(directory: str) -> str:
    """Return where the roll-up of an hour's directory of partition_samples lies."""
    before, _, after = directory.rpartition(f"/{PARTITION_SAMPLES}/")
    return f"{before}/{PARTITION_HOURS}/{after}"


def is_rolled_up(fs: Any, directory: str, source: str) -> bool:
    """`source` is the name of the hour's one file."""
    found = fs.get_file_info(pafs.FileSelector(directory_of_rollup(directory), allow_not_found=True))
    return any(info.base_name.startswith(_ROLLED) and info.base_name.endswith(_ending(source)) for info in found)


def roll_up_file(fs: Any, directory: str, source: str, now_ms: int) -> None:
    """Written whole under a hidden name, then renamed. Brokers are taken a few at a time, so that memory is bounded."""
    to = directory_of_rollup(directory)
    fs.create_dir(to, recursive=True)
    name = f"{_ROLLED}{now_ms:013}-{uuid.uuid4().hex[:8]}{_ending(source)}"
    schema = TABLES[PARTITION_HOURS]
    try:
        with pq.ParquetWriter(
            f"{to}/{HIDDEN}{name}", schema, filesystem=fs, compression="zstd", write_page_checksum=True
        ) as writer:
            for rows in _brokers(fs, f"{directory}/{source}"):
                writer.write_table(roll_up(rows).cast(schema))
        fs.move(f"{to}/{HIDDEN}{name}", f"{to}/{name}")
    except BaseException:
        if fs.get_file_info(f"{to}/{HIDDEN}{name}").is_file:
            fs.delete_file(f"{to}/{HIDDEN}{name}")
        raise


def outlived(names: list[str]) -> list[str]:
    """All roll-ups of an hour but the last."""
    return sorted(name for name in names if name.startswith(_ROLLED))[:-1]


def _ending(source: str) -> str:
    return f"-of-{source}"


def _brokers(fs: Any, path: str) -> Iterator[pa.Table]:
    """The samples of some brokers after those of others; a broker's come together."""
    checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    parquet = ds.ParquetFileFormat(default_fragment_scan_options=checked)
    rows = ds.dataset(path, format=parquet, filesystem=fs)
    broker = pc.value_counts(rows.to_table(columns=["broker"])["broker"].combine_chunks())
    ids, counts = (broker.field(index).to_numpy() for index in (0, 1))
    order = np.argsort(ids)
    part = np.cumsum(counts[order]) // _ROWS_AT_A_TIME
    for number in np.unique(part):
        some = pa.array(ids[order][part == number])
        yield rows.to_table(columns=list(SAMPLED), filter=ds.field("broker").isin(some))
