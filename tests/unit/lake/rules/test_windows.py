"""The rows of a window against a naive twin: one sample after the other, and percentiles of a list of milliseconds."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from guardian.lake.model.schema import BROKER_SAMPLES, DISK_SAMPLES, LOG_DIR_SAMPLES, NIC_SAMPLES, TABLES
from guardian.lake.rules.series import hourly
from guardian.lake.rules.windows import (
    BROKER_COLUMNS,
    DISK_COLUMNS,
    LOG_DIR_COLUMNS,
    NIC_COLUMNS,
    broker_rows,
    disk_rows,
    log_dir_rows,
)

Row = dict[str, Any]

T0 = 1_766_000_000_000
HOUR = 3_600_000
COUNTERS = (
    "bytes_in_total",
    "bytes_out_total",
    "replication_bytes_in_total",
    "replication_bytes_out_total",
    "cpu_busy_ms",
)
SEEDS = range(12)


def table(name: str, columns: Sequence[str], rows: list[Row]) -> pa.Table:
    schema = pa.schema([TABLES[name].field(column).with_nullable(True) for column in columns])
    return pa.Table.from_pylist([{column: row[column] for column in columns} for row in rows], schema=schema)


def chances(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  # no secret


def close(row: Row) -> Row:
    return {name: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value for name, value in row.items()}


def brokers(chance: random.Random) -> list[Row]:
    """Steady and ragged intervals, gaps, slivers, restarts, counters that begin anew, failures, hosts that tell
    nothing, rows that came twice."""
    found: list[Row] = []
    for broker in range(1, chance.randint(2, 4)):
        at_ms, started = T0 + chance.randint(0, 20), T0 - 1000
        total = dict.fromkeys(COUNTERS, 0)
        tells = chance.random() < 0.8
        for _ in range(chance.randint(1, 12)):
            at_ms += chance.choice([20, 20, 20, 20, chance.randint(1, 60), 90])
            if chance.random() < 0.1:
                started, total = at_ms, dict.fromkeys(COUNTERS, 0)
            if chance.random() < 0.1:
                total["bytes_in_total"] = 0
            total = {name: value + chance.randint(0, 500) for name, value in total.items()}
            row: Row = {"at_ms": at_ms, "broker": broker, "broker_started_at_ms": started, "error": "", **total}
            row |= {"rack": chance.choice("ab"), "idc": "x", "cores": 8 if tells else None}
            if not tells:
                row["cpu_busy_ms"] = None
            if chance.random() < 0.15:
                row |= dict.fromkeys(COUNTERS, 0) | {"error": "no answer", "broker_started_at_ms": 0, "cores": None}
            found += [row] * chance.choice([1, 1, 1, 2])
    chance.shuffle(found)
    return found


def nics(chance: random.Random) -> list[Row]:
    rows = [
        {"at_ms": T0 + at, "broker": broker, "nic": nic, "bits_per_s": chance.choice([0, 8000, 80_000])}
        for broker in (1, 2, 3)
        for nic in ("eth0", "eth1")
        for at in (0, 50)
    ]
    chance.shuffle(rows)
    return rows


def share_of(pairs: list[tuple[float | None, int]], share: float) -> float | None:
    """Of a list with each value once for each millisecond that it lasted."""
    values = [value for value, lasts in pairs if value is not None for _ in range(lasts)]
    return float(np.percentile(values, share * 100)) if values else None


def good(rows: list[Row], broker: int) -> list[Row]:
    once = {(row["at_ms"], row["broker_started_at_ms"]): row for row in rows if not row["error"]}
    return sorted((row for row in once.values() if row["broker"] == broker), key=lambda row: row["at_ms"])


def steps(rows: list[Row], broker: int) -> Iterator[tuple[Row, Row, int]]:
    """Each two samples of one life, one after the other."""
    for _, life in sorted(lives(good(rows, broker)).items()):
        for before, after in pairwise(life):
            yield before, after, after["at_ms"] - before["at_ms"]


def lives(rows: list[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["broker_started_at_ms"], []).append(row)
    return found


def rate(before: Row, after: Row, lasts: int, *names: str) -> float | None:
    if any(row[name] is None for row in (before, after) for name in names):
        return None
    gained = sum(after[name] - before[name] for name in names)
    return gained * 1000 / lasts if gained >= 0 else None


def twin(rows: list[Row], speeds: list[Row], broker: int) -> Row:
    mine = [row for row in rows if row["broker"] == broker]
    once, pairs = good(rows, broker), list(steps(rows, broker))
    newest = max(mine, key=lambda row: (row["at_ms"], row["rack"], row["idc"]))
    failed = [row["at_ms"] for row in mine if row["error"]]
    usual = share_of([(lasts, lasts) for *_, lasts in pairs], 0.5) or 0.0
    of = {
        name: [(rate(*pair, *counters), pair[2]) for pair in pairs]
        for name, counters in (
            ("cpu", ("cpu_busy_ms",)),
            ("nw_in", ("bytes_in_total", "replication_bytes_in_total")),
            ("nw_out", ("bytes_out_total", "replication_bytes_out_total")),
        )
    }
    cpu = [(None if value is None else value / 10, lasts) for value, lasts in of["cpu"]]
    last = {(row["at_ms"], row["nic"]): row["bits_per_s"] for row in speeds if row["broker"] == broker}
    speed = sum(last[max(at for at, name in last if name == nic), nic] for nic in {nic for _, nic in last}) / 8
    return {
        "broker": broker,
        "rack": newest["rack"],
        "idc": newest["idc"],
        "failed": len(failed),
        "failed_at_ms": max(failed, default=None),
        "samples": len(once),
        "pairs": sum(lasts >= usual / 2 for *_, lasts in pairs),
        "interval_ms": usual,
        "covered_ms": sum(lasts for *_, lasts in pairs if lasts <= 1.5 * usual),
        "last_at_ms": once[-1]["at_ms"] if once else 0,
        "cores": once[-1]["cores"] if once else None,
        "cpu": share_of(cpu, 0.5),
        "cpu_p95": share_of(cpu, 0.95),
        "nw_in": share_of(of["nw_in"], 0.5),
        "nw_out": share_of(of["nw_out"], 0.5),
        "nic_bytes_per_s": speed or None,
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_a_broker(seed: int) -> None:
    chance = chances(seed)
    rows, speeds = brokers(chance), nics(chance)
    found = broker_rows(table(BROKER_SAMPLES, BROKER_COLUMNS, rows), table(NIC_SAMPLES, NIC_COLUMNS, speeds))
    expected = [twin(rows, speeds, broker) for broker in sorted({row["broker"] for row in rows})]
    assert found.to_pylist() == [close(row) for row in expected]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_rows_changes_no_bit(seed: int) -> None:
    chance = chances(seed)
    rows, speeds = brokers(chance), nics(chance)
    # Two members tell other things of one collection: whichever counts is the same in any order.
    rows += [row | {"cpu_busy_ms": 7, "rack": "c"} for row in rows if not row["error"]][:3]
    found = broker_rows(table(BROKER_SAMPLES, BROKER_COLUMNS, rows), table(NIC_SAMPLES, NIC_COLUMNS, speeds))
    chance.shuffle(rows)
    again = broker_rows(table(BROKER_SAMPLES, BROKER_COLUMNS, rows), table(NIC_SAMPLES, NIC_COLUMNS, speeds[::-1]))
    assert found.equals(again)


def disks(chance: random.Random) -> list[Row]:
    found: list[Row] = []
    for broker in (1, 2):
        for disk in ("sda", "sdb")[: chance.randint(1, 2)]:
            total = dict.fromkeys(DISK_COLUMNS[3:], 0)
            at_ms = T0
            for _ in range(chance.randint(1, 9)):
                at_ms += chance.choice([20, 20, 20, chance.randint(1, 60)])
                if chance.random() < 0.15:  # the host was started anew
                    total = dict.fromkeys(total, 0)
                total = {name: value + chance.randint(0, 30) for name, value in total.items()}
                found += [{"at_ms": at_ms, "broker": broker, "disk": disk, **total}] * chance.choice([1, 1, 2])
    chance.shuffle(found)
    return found


def disk_twin(rows: list[Row], broker: int, disk: str) -> Row:
    once = {row["at_ms"]: row for row in rows if (row["broker"], row["disk"]) == (broker, disk)}
    samples = [once[at_ms] for at_ms in sorted(once)]
    pairs = [(before, after, after["at_ms"] - before["at_ms"]) for before, after in pairwise(samples)]

    def of(*names: str) -> list[tuple[float | None, int]]:
        return [(rate(*pair, *names), pair[2]) for pair in pairs]

    moved = of("bytes_read", "bytes_written")
    busy = share_of(of("busy_ms"), 0.5)
    waited, requests = (
        sum(value * lasts / 1000 for value, lasts in of(*names) if value is not None)
        for names in (("read_ms", "write_ms"), ("reads_completed", "writes_completed"))
    )
    return {
        "broker": broker,
        "disk": disk,
        "pairs": sum(value is not None for value, _ in moved),
        "covered_ms": sum(lasts for value, lasts in moved if value is not None),
        "io_rate": share_of(moved, 0.5),
        "io_p95": share_of(moved, 0.95),
        "read_rate": share_of(of("bytes_read"), 0.5),
        "busy": None if busy is None else busy / 1000,
        "await_ms": waited / requests if requests else None,
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_a_disk(seed: int) -> None:
    rows = disks(chances(seed))
    found = disk_rows(table(DISK_SAMPLES, DISK_COLUMNS, rows))
    keys = sorted({(row["broker"], row["disk"]) for row in rows})
    assert found.to_pylist() == [close(disk_twin(rows, *key)) for key in keys]


def log_dir(broker: int, path: str, at_ms: int, used: int, *, offline: bool = False) -> Row:
    row: Row = {"at_ms": at_ms, "broker": broker, "log_dir": path, "disk": "sda", "offline": offline}
    return row | {"total_bytes": 100, "usable_bytes": 100 - used}


def test_a_log_dir_is_as_it_was_last_seen_and_of_two_at_once_the_larger_counts() -> None:
    rows = [log_dir(1, "/b", T0, 5), log_dir(1, "/a", T0 + 9, 7), log_dir(1, "/a", T0, 1), log_dir(2, "/a", T0, 2)]
    rows += [log_dir(1, "/b", T0, 3, offline=True)]
    for order in (rows, rows[::-1]):
        found = log_dir_rows(table(LOG_DIR_SAMPLES, LOG_DIR_COLUMNS, order)).to_pylist()
        assert [(row["broker"], row["log_dir"], row["usable_bytes"], row["offline"]) for row in found] == [
            (1, "/a", 93, False),
            (1, "/b", 97, True),
            (2, "/a", 98, False),
        ]


def test_nothing_tells_nothing() -> None:
    nothing = [
        broker_rows(table(BROKER_SAMPLES, BROKER_COLUMNS, []), table(NIC_SAMPLES, NIC_COLUMNS, [])),
        disk_rows(table(DISK_SAMPLES, DISK_COLUMNS, [])),
        log_dir_rows(table(LOG_DIR_SAMPLES, LOG_DIR_COLUMNS, [])),
        hourly(
            table(BROKER_SAMPLES, BROKER_COLUMNS, []),
            table(LOG_DIR_SAMPLES, LOG_DIR_COLUMNS, []),
            table(NIC_SAMPLES, NIC_COLUMNS, []),
        ),
    ]
    assert [each.num_rows for each in nothing] == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_hours_are_the_mean_of_their_pairs(seed: int) -> None:
    chance = chances(seed)
    rows, speeds = brokers(chance), nics(chance)
    for row in rows:  # minutes instead of milliseconds, so that they span hours
        row |= {"at_ms": T0 + (row["at_ms"] - T0) * 60_000}
    dirs = [log_dir(1, "/a", T0 + hour * HOUR // 2, 3 * hour, offline=hour == 5) for hour in range(7)]
    found = hourly(
        table(BROKER_SAMPLES, BROKER_COLUMNS, rows),
        table(LOG_DIR_SAMPLES, LOG_DIR_COLUMNS, dirs),
        table(NIC_SAMPLES, NIC_COLUMNS, speeds),
    ).to_pylist()
    used = {row["at_ms"]: row["value"] for row in found if row["resource"] == "disk"}
    last = {row["at_ms"] // HOUR: row for row in dirs if not row["offline"]}
    assert used == {row["at_ms"]: 100.0 - row["usable_bytes"] for row in last.values()}
    expected: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for broker in {row["broker"] for row in rows}:
        for before, after, lasts in steps(rows, broker):
            value = rate(before, after, lasts, "bytes_in_total", "replication_bytes_in_total")
            if value is not None:
                expected.setdefault((broker, after["at_ms"] // HOUR), []).append((value, lasts))
    loads = {(row["broker"], row["at_ms"] // HOUR): row["value"] for row in found if row["resource"] == "nw_in"}
    assert loads == {
        key: pytest.approx(math.fsum(value * lasts for value, lasts in some) / sum(lasts for _, lasts in some))
        for key, some in expected.items()
    }
