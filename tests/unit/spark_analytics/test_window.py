from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import ReplicaPlacement
from spark_analytics.lake.window import BROKER, LOG_DIR, REPLICA, Window, model_of
from spark_analytics.model.cluster_model import ClusterModel

WINDOW = Window(1_766_000_000_000, 1_766_000_060_000)
LAST = WINDOW.to_ms - 5_000


def broker(number: int, **other: Any) -> dict[str, Any]:
    row = {"kind": BROKER, "broker": number, "rack": f"r{number}", "idc": "shanghai", "samples": 6, "failed": 0}
    return row | {"pairs": 5, "interval_ms": 10_000.0, "covered_ms": 50_000, "last_at_ms": LAST} | other


def log_dir(number: int, path: str = "/d1", at_ms: int = LAST, usable: int = 50) -> dict[str, Any]:
    row = {"kind": LOG_DIR, "broker": number, "log_dir": path, "at_ms": at_ms, "disk": "sda", "offline": False}
    return row | {"total_bytes": 100, "usable_bytes": usable}


def replica(number: int, partition: int, **other: Any) -> dict[str, Any]:
    row = {"kind": REPLICA, "broker": number, "topic": "t", "partition": partition, "log_dir": "/d1", "at_ms": LAST}
    return row | {"is_leader": False, "size_bytes": 7, "write_rate": 3.0, "read_rate": 2.0, "rate_pairs": 5} | other


def model(*rows: dict[str, Any]) -> ClusterModel:
    columns = sorted({name for row in rows for name in row} | {"kind"})
    return model_of("live", pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows]), WINDOW)


TWO = (broker(1), broker(2), log_dir(1), log_dir(2))


def test_a_model_is_put_together() -> None:
    found = model(*TWO, replica(2, 0, is_leader=True), replica(1, 0, size_bytes=9))
    assert found.replicas(0) == (ReplicaPlacement(2, "/d1"), ReplicaPlacement(1, "/d1"))
    assert (found.write_rate[0], found.read_rate[0], found.size_bytes[0], bool(found.movable[0])) == (3, 2, 9, True)
    assert found.at_ms == WINDOW.to_ms
    assert found.input == (
        "12 samples of 2 brokers between 2025-12-17T19:33:20Z and 2025-12-17T19:34:20Z, 100% complete "
        "(least: broker 1 with 100%; failed collections: 0)"
    )


def test_the_input_says_how_complete_it_is() -> None:
    found = model(broker(1), broker(2, covered_ms=20_000, samples=3, failed=3), log_dir(1), log_dir(2))
    assert "9 samples of 2 brokers" in found.input
    assert "75% complete (least: broker 2 with 50%; failed collections: 3)" in found.input


@pytest.mark.parametrize(
    "claims",
    [
        (replica(1, 0, is_leader=True, at_ms=LAST - 100), replica(2, 0, is_leader=True)),
        (replica(2, 0, is_leader=True), replica(1, 0, is_leader=True, at_ms=LAST - 100)),
    ],
)
def test_of_two_that_say_they_lead_the_later_one_is_right(claims: tuple[dict[str, Any], ...]) -> None:
    assert model(*TWO, *claims).replicas(0)[0].broker == 2


def test_a_partition_without_a_leader_or_a_rate_stays_where_it_is() -> None:
    found = model(*TWO, replica(1, 0), replica(2, 1, is_leader=True, rate_pairs=2), replica(1, 2, is_leader=True))
    assert found.movable.tolist() == [False, False, True]


def test_a_partition_without_a_rate_counts_as_idle() -> None:
    found = model(*TWO, replica(1, 0, is_leader=True, write_rate=None, read_rate=None, rate_pairs=None))
    assert (found.write_rate[0], found.read_rate[0], bool(found.movable[0])) == (0, 0, False)


def test_what_left_before_the_last_sample_is_gone() -> None:
    earlier = LAST - 20_000
    gone = (replica(1, 0, at_ms=earlier), log_dir(2, "/d2", at_ms=earlier))
    found = model(*TWO, *gone, replica(2, 0, is_leader=True), replica(1, 1, is_leader=True))
    assert found.replicas(0) == (ReplicaPlacement(2, "/d1"),)
    assert found.log_dirs == ("/d1", "/d1")


def test_a_broker_whose_partition_samples_end_early_is_refused() -> None:
    with pytest.raises(InvalidInput, match="broker 1 of cluster live has no partition samples at 2025-12-17T19:34:15Z"):
        model(*TWO, replica(1, 0, at_ms=LAST - 20_000), replica(2, 0, is_leader=True))


def test_a_new_broker_without_replicas_is_welcome() -> None:
    found = model(*TWO, broker(3), log_dir(3), replica(1, 0, is_leader=True), replica(2, 0))
    assert found.broker_ids.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((broker(1), broker(2, pairs=2), broker(3, pairs=0)), r"has 1 of 3 brokers .*\(too few of broker 2, 3\)"),
        ((replica(1, 0),), "has 0 of 0 brokers"),
        ((broker(1),), "broker 1 of cluster live has no log dirs"),
        ((*TWO, replica(1, 0, log_dir="/d9")), "unknown log dir /d9 of broker 1"),
        ((broker(1), log_dir(1, usable=-1)), "usable_bytes -1"),
    ],
)
def test_too_little_to_plan_from_is_refused_in_one_sentence(rows: tuple[dict[str, Any], ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        model(*rows)


@pytest.mark.parametrize(("from_ms", "to_ms"), [(5, 5), (6, 5), (-1, 5)])
def test_a_window_ends_after_it_begins(from_ms: int, to_ms: int) -> None:
    with pytest.raises(InvalidInput, match=f"window is from {from_ms} to {to_ms} ms"):
        Window(from_ms, to_ms)
