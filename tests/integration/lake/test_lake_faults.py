"""What happens to the lake when its writer is killed, or its disk is full: a file is whole or it is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from guardian.collection.rules.ingest import Asked, failed_collection
from guardian.lake.model.schema import BROKER_SAMPLES
from guardian.lake.rules.chores import HIDDEN
from guardian.lake.store.writer import LakeWriter
from guardian.model.topology import Broker, Cluster
from tests.patience import wait_for

pytestmark = pytest.mark.integration

KILLS = 6
START_MS = 1_790_000_000_000
LIVE = Cluster("live", "h:9092", brokers=(Broker(1),))

# Writes files of 2,000 rows without an end, each row with the next moment.
WRITER = f"""
import sys
from guardian.model.topology import Broker, Cluster
from guardian.collection.rules.ingest import Asked, failed_collection
from guardian.lake.store.writer import LakeWriter
live, moment = Cluster("live", "h:9092", brokers=(Broker(1),)), 0
writer = LakeWriter(sys.argv[1], "g1", max_age_s=1e9)
while True:
    for _ in range(2000):
        at_ms = {START_MS} + moment
        writer.write("live", failed_collection(Asked(live, Broker(int(sys.argv[2])), "g1", at_ms, at_ms), "x" * 100))
        moment += 1
    writer.flush()
    print(moment, flush=True)
"""


def moments(lake: Path) -> dict[int, list[int]]:
    """By broker, of all that a reader finds."""
    if not any((lake / BROKER_SAMPLES).glob("*/*/[!.]*")):
        return {}
    table = ds.dataset(lake / BROKER_SAMPLES, format="parquet", partitioning="hive").to_table(
        columns=["broker", "at_ms"]
    )
    found: dict[int, list[int]] = {}
    for row in table.to_pylist():
        found.setdefault(row["broker"], []).append(row["at_ms"] - START_MS)
    return {broker: sorted(at) for broker, at in found.items()}


def hidden(lake: Path) -> list[Path]:
    return [path for path in lake.rglob(f"{HIDDEN}*") if path.is_file()]


def test_whoever_is_killed_in_the_middle_of_a_file_leaves_whole_ones_only(tmp_path: Path) -> None:
    reported: dict[int, int] = {}
    for writer in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(writer)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            reported[writer] = int(process.stdout.readline())
            # It has begun the next file, and is somewhere in it.
            wait_for("a file that is being written", lambda: hidden(tmp_path), every_s=0.01)
            process.kill()
            rest = process.stdout.read().split()
            reported[writer] = int(rest[-1]) if rest else reported[writer]
    found = moments(tmp_path)
    for writer, told in reported.items():
        # All that it said was written, and perhaps one file more, but no part of one.
        assert len(found[writer]) % 2000 == 0
        assert told <= len(found[writer]) <= told + 2000
        assert found[writer] == list(range(len(found[writer])))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = tmp_path / "disk"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(mounted)], check=True)
    try:
        yield mounted
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def fill(ballast: Path) -> None:
    """Write until the disk is full. Raises OSError."""
    with ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))


def test_rows_wait_while_the_disk_is_full_and_no_part_of_a_file_is_seen(small_disk: Path) -> None:
    lake, ballast = small_disk / "lake", small_disk / "ballast"
    writer = LakeWriter(str(lake), "g1", max_age_s=0.0)

    def write(moment: int) -> None:
        asked = Asked(LIVE, Broker(1), "g1", START_MS + moment, START_MS + moment)
        writer.write("live", failed_collection(asked, os.urandom(50).hex()))

    write(0)
    with pytest.raises(OSError, match="No space left"):
        fill(ballast)
    for moment in range(1, 50):
        write(moment)
    assert moments(lake) == {1: [0]}
    assert hidden(lake) == []
    ballast.unlink()
    writer.flush()
    assert moments(lake) == {1: list(range(50))}
