"""The roll-up against a twin that is obviously right: loops over pairs of samples, plain numbers, no tricks."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.lake.model.schema import PARTITION_SAMPLES, TABLES
from guardian.lake.rules import replicas as lake_replicas
from guardian.lake.rules import rollup
from guardian.lake.rules.replicas import NEEDED, replica_rows
from guardian.lake.rules.rollup import SAMPLED, roll_up

pytestmark = pytest.mark.slow

HOUR_MS = 3_600_000
START_MS = 1_790_006_400_000
_EXACT = 3e-4  # two bytes tell a rate to 0.025 %


@dataclass(frozen=True)
class Pair:
    lasts: int
    led: bool
    write: float
    read: float


def samples(rows: list[dict[str, Any]]) -> pa.Table:
    schema = pa.schema([TABLES[PARTITION_SAMPLES].field(name) for name in SAMPLED])
    return pa.Table.from_pylist(rows, schema=schema)


def twin_pairs(rows: list[dict[str, Any]], hours: bool) -> dict[tuple[int, str, int], list[Pair]]:
    """The pairs of each replica that tell a rate; with `hours`, none that spans two."""
    by_replica: dict[tuple[int, str, int], dict[int, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        by_replica[row["broker"], row["topic"], row["partition"]][row["at_ms"]] = row
    pairs = []
    for key, moments in by_replica.items():
        times = sorted(moments)
        for before, after in pairwise(times):
            a, b = moments[before], moments[after]
            if hours and before // HOUR_MS != after // HOUR_MS:
                continue
            if a["broker_started_at_ms"] != b["broker_started_at_ms"] or b["log_end_offset"] < a["log_end_offset"]:
                continue
            pairs.append((key, a, b))
    leads_in: dict[tuple[int, str, int], bool] = defaultdict(bool)
    for row in rows:
        leads_in[row["broker"], row["topic"], row["at_ms"] // HOUR_MS if hours else 0] |= row["is_leader"]
    found: dict[tuple[int, str, int], list[tuple[int, Pair]]] = defaultdict(list)
    for led in (True, False):
        counted = [each for each in pairs if _counts(each, led, leads_in, hours)]
        for key, a, b in counted:
            fellows = [
                (x, y)
                for other, x, y in counted
                if other[:2] == key[:2] and (x["at_ms"], y["at_ms"]) == (a["at_ms"], b["at_ms"])
            ]
            total = sum(y["log_end_offset"] - x["log_end_offset"] for x, y in fellows)
            share = (b["log_end_offset"] - a["log_end_offset"]) / total if total else 1 / len(fellows)
            lasts = b["at_ms"] - a["at_ms"]
            written, read = (
                share * (b[name] - a[name]) * 1000 / lasts for name in ("topic_bytes_in_total", "topic_bytes_out_total")
            )
            found[key].append((b["at_ms"], Pair(lasts, led, written if led else 0.0, read)))
    return {key: _one_kind(each, hours) for key, each in found.items()}


def _counts(pair: tuple[Any, ...], led: bool, leads_in: dict[tuple[int, str, int], bool], hours: bool) -> bool:
    (broker, topic, _), a, b = pair
    given = b["topic_bytes_out_total"] - a["topic_bytes_out_total"]
    if led:
        taken = b["topic_bytes_in_total"] - a["topic_bytes_in_total"]
        return bool(a["is_leader"] and b["is_leader"] and taken >= 0 and given >= 0)
    hour = b["at_ms"] // HOUR_MS if hours else 0
    return bool(not leads_in[broker, topic, hour] and given > 0)


def _one_kind(pairs: list[tuple[int, Pair]], hours: bool) -> list[Pair]:
    """What it gave as a follower counts only if it never led."""
    led = [pair for _, pair in pairs if pair.led]
    return led or [pair for _, pair in pairs]


def twin_quantile(pairs: list[Pair], name: str, share: float) -> float:
    """The least rate below which that share of the time lies."""
    total = sum(pair.lasts for pair in pairs)
    summed = 0.0
    for pair in sorted(pairs, key=lambda pair: float(getattr(pair, name))):
        summed += pair.lasts
        if summed >= share * total * (1 - 1e-9):
            return float(getattr(pair, name))
    return math.inf


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """One broker over two hours: restarts, leaders that change, counters that go back, samples that are missing."""
    rows: list[dict[str, Any]] = []
    moments = sorted(draw(st.sets(st.integers(0, 2 * 60 - 1), min_size=2, max_size=10)))
    started = 1
    offsets: dict[tuple[str, int], int] = defaultdict(int)
    totals: dict[tuple[str, str], int] = defaultdict(int)
    for moment in moments:
        if draw(st.integers(0, 9)) == 0:
            started += 1
            totals.clear()
        for topic in ("a", "b"):
            for name in ("in", "out"):
                totals[topic, name] = max(0, totals[topic, name] + draw(st.integers(-50, 5000)))
            for partition in range(2):
                offsets[topic, partition] = max(0, offsets[topic, partition] + draw(st.integers(-5, 100)))
                if draw(st.integers(0, 5)) == 0:
                    continue
                rows.append(
                    {
                        "at_ms": START_MS + moment * 60_000,
                        "broker": 3,
                        "broker_started_at_ms": started,
                        "topic": topic,
                        "partition": partition,
                        "log_dir": f"/d{draw(st.integers(0, 1))}",
                        "is_leader": draw(st.integers(0, 3)) > 0,
                        "size_bytes": draw(st.integers(0, 10**12)),
                        "log_end_offset": offsets[topic, partition],
                        "topic_bytes_in_total": totals[topic, "in"],
                        "topic_bytes_out_total": totals[topic, "out"],
                        "replicas": draw(st.sampled_from([None, 2, 3])),
                    }
                )
    return rows


def quantiles(rows: list[dict[str, Any]], hourly: bool) -> dict[tuple[int, str, int], dict[str, Any]]:
    if hourly:
        hours = sorted({row["at_ms"] // HOUR_MS for row in rows})
        parts = [roll_up(samples([row for row in rows if row["at_ms"] // HOUR_MS == hour])) for hour in hours]
        rolled = pa.concat_tables(parts)
    else:
        rolled = roll_up(samples(rows))
    found = replica_rows(rolled.select(NEEDED)).to_pylist()
    return {(row["broker"], row["topic"], row["partition"]): row for row in found}


@pytest.mark.parametrize("hourly", [False, True])
@settings(max_examples=60)
@given(rows=histories(), order=st.randoms(use_true_random=False))
def test_median_and_p95_are_those_of_all_pairs_whether_hours_were_rolled_up_or_not(
    hourly: bool, rows: list[dict[str, Any]], order: Any
) -> None:
    if not rows:
        return
    expected = twin_pairs(rows, hourly)
    order.shuffle(rows)
    for key, row in quantiles(rows, hourly).items():
        pairs = expected.get(key, [])
        led = [pair for pair in pairs if pair.led]
        assert row["rate_pairs"] == len(led)
        for name, shown in (("write", "write_rate"), ("read", "read_rate")):
            values = led if name == "write" else pairs
            for share, column in ((0.5, shown), (0.95, shown.replace("_rate", "_p95"))):
                if values:
                    # How long a pair lasted is rounded too: where two parts weigh the same, either is the middle.
                    least, most = (twin_quantile(values, name, share + by) for by in (-_EXACT, _EXACT))
                    assert least * (1 - _EXACT) - 1e-3 <= row[column] <= most * (1 + _EXACT) + 1e-3
                else:
                    assert row[column] is None


@given(rows=histories(), order=st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_neither_the_order_of_rows_nor_a_second_copy_changes_a_byte(rows: list[dict[str, Any]], order: Any) -> None:
    if not rows:
        return
    once = roll_up(samples(rows))
    twice = rows + rows
    order.shuffle(twice)
    assert roll_up(samples(twice)).equals(once)


def test_columns_in_another_order_have_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"broker": 3, "broker_started_at_ms": 1, "topic": "a", "partition": 2, "log_dir": "/d", "is_leader": True}
    rows = [
        row | {"at_ms": START_MS + minute * 60_000, "size_bytes": 7 * minute, "log_end_offset": 5 * minute}
        | {"topic_bytes_in_total": 1100 * minute, "topic_bytes_out_total": 130 * minute, "replicas": 4}
        for minute in range(9)
    ]  # fmt: skip
    rolled, replicas = roll_up(samples(rows)), replica_rows(roll_up(samples(rows)).select(NEEDED))
    for module, name in ((rollup, "HOURS"), (lake_replicas, "REPLICAS")):
        monkeypatch.setattr(module, name, pa.schema(reversed(getattr(module, name))))
    assert roll_up(samples(rows)).schema == pa.schema(reversed(rolled.schema))
    assert roll_up(samples(rows)).to_pylist() == rolled.to_pylist()
    assert replica_rows(roll_up(samples(rows)).select(NEEDED)).to_pylist() == replicas.to_pylist()


def test_what_a_replica_is_now_is_what_its_last_sample_says() -> None:
    row = {"broker": 3, "broker_started_at_ms": 1, "topic": "a", "partition": 0, "log_end_offset": 5}
    row |= {"topic_bytes_in_total": 0, "topic_bytes_out_total": 0}
    first = row | {"at_ms": START_MS, "log_dir": "/d0", "is_leader": False, "size_bytes": 10, "replicas": None}
    last = row | {"at_ms": START_MS + HOUR_MS, "log_dir": "/d1", "is_leader": True, "size_bytes": 3610, "replicas": 3}
    for hourly in (False, True):
        [found] = quantiles([last, first], hourly).values()
        assert (found["log_dir"], found["is_leader"], found["size_bytes"], found["replicas"]) == ("/d1", True, 3610, 3)
        assert (found["at_ms"], found["samples"]) == (START_MS + HOUR_MS, 2)


@pytest.mark.parametrize(("hours", "growth"), [(1, 0.0), (5, 0.0), (6, 1.0), (24, 1.0)])
def test_growth_is_told_only_where_hours_of_it_were_seen(hours: int, growth: float) -> None:
    row = {"broker": 3, "broker_started_at_ms": 1, "topic": "a", "partition": 0, "log_end_offset": 5, "log_dir": "/d"}
    row |= {"topic_bytes_in_total": 0, "topic_bytes_out_total": 0, "is_leader": True, "replicas": 1}
    seen = [row | {"at_ms": START_MS + hour * HOUR_MS, "size_bytes": hour * 3600} for hour in range(hours + 1)]
    for hourly in (False, True):
        [found] = quantiles(seen, hourly).values()
        assert found["growth_bytes_per_s"] == pytest.approx(growth)
