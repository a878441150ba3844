"""What the newest samples say of rates, by way of a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from guardian.lake.model.recent_rates import PartitionRate, Rates
from guardian.lake.model.schema import PARTITION_SAMPLES
from guardian.lake.model.windows import BROKERS, REPLICAS, Windows
from guardian.lake.store.recent_rates import LakeRates, rates_of
from guardian.lake.store.recent_rates_worker import answer_of
from guardian.model.topology import TopicPartition
from tests.unit.lake.damage import cut
from tests.unit.member.lake import TO_MS, write_lake

T0 = TopicPartition("t", 0)


def test_rates_are_those_of_leaders() -> None:
    empty = REPLICAS.empty_table()
    rows: dict[str, list[object]] = {name: [None, None] for name in empty.column_names}
    rows |= {"broker": [1, 2], "topic": ["t", "t"], "partition": [0, 0], "is_leader": [True, False]}
    rows |= {"write_rate": [10.0, 10.0], "read_rate": [5.0, None], "messages_rate": [2.0, 0.0]}
    table = pa.table({name: pa.array(values, REPLICAS.field(name).type) for name, values in rows.items()})
    row = {"broker": 1, "samples": 2, "cpu": 3.0, "cores": 4, "nic_bytes_per_s": 9.0}
    brokers = pa.Table.from_pylist([row], schema=BROKERS)
    answer = json.loads(json.dumps(answer_of(Windows(brokers=brokers, replicas=table))))
    rates = rates_of(answer)
    assert rates == Rates({T0: PartitionRate(10.0, 5.0, 2.0)}, {1: 3.0}, {1: 4}, {1: 9.0})
    assert "no new samples" in rates_of(json.loads(json.dumps(answer_of(Windows())))).remark


@pytest.mark.slow
def test_a_lake_that_is_not_there_is_a_remark() -> None:
    assert LakeRates("", lambda: 1000)("live").remark == "no metrics lake is configured"
    assert LakeRates("/nowhere/at/all", lambda: 10**12)("live").remark


@pytest.mark.slow
def test_a_damaged_file_costs_its_own_rows_and_leaves_the_answer_whole(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_lake(tmp_path)
    newest = max(tmp_path.glob(f"{PARTITION_SAMPLES}/*/*/*.parquet"), key=lambda file: file.parent.name)
    copy = newest.with_name("g9-1-1.parquet")
    copy.write_bytes(newest.read_bytes())
    before = LakeRates(str(tmp_path), lambda: TO_MS)("live")
    cut(copy, 500)
    after = LakeRates(str(tmp_path), lambda: TO_MS)("live")
    assert (after, after.remark) == (before, "")
    assert after.partitions
    assert "is set aside" in capfd.readouterr().err
    assert not copy.exists()
