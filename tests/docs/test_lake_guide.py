"""The guide to the lake tells the schema as it is, and its queries run and agree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from guardian.collection.rules.ingest import Asked, failed_collection
from guardian.lake.model.schema import (
    BROKER_SAMPLES,
    DISK_SAMPLES,
    LOG_DIR_SAMPLES,
    METRIC_SAMPLES,
    NIC_SAMPLES,
    PARTITION_HOURS,
    PARTITION_SAMPLES,
    TABLES,
    Rows,
)
from guardian.lake.store.writer import LakeWriter
from guardian.model.topology import Broker, Cluster

GUIDE = Path(__file__).parents[2] / "guardian" / "lake" / "README.md"
START_MS = 1_790_000_040_000
KEYS = {
    PARTITION_SAMPLES: ("topic", "partition"),
    LOG_DIR_SAMPLES: ("log_dir",),
    DISK_SAMPLES: ("disk",),
    NIC_SAMPLES: ("nic",),
    METRIC_SAMPLES: ("metric",),
    BROKER_SAMPLES: (),
    PARTITION_HOURS: ("topic", "partition"),
}
TELLS = {
    PARTITION_SAMPLES: "a replica: what this broker holds of a partition",
    LOG_DIR_SAMPLES: "a log dir",
    DISK_SAMPLES: "a disk of the broker's host",
    NIC_SAMPLES: "a network interface of the broker's host",
    METRIC_SAMPLES: "a metric that is kept under its own name",
    BROKER_SAMPLES: "a collection of a broker, also one that failed; written last",
    PARTITION_HOURS: "a replica and an hour, rolled up from its samples; of several files in a directory only the last "
    "by name counts",
}


def tables_of_the_schema() -> str:
    lines = ["| table | a row is | key, beside cluster, broker, at_ms | columns |", "|---|---|---|---|"]
    for table, schema in TABLES.items():
        columns = ", ".join(f"{field.name} {field.type}{' null' if field.nullable else ''}" for field in schema)
        keys = ", ".join(KEYS[table]) or "-"
        lines.append(f"| `{table}` | {TELLS[table]} | {keys} | {columns} |")
    return "\n".join(lines)


def test_the_guide_tells_the_schema_as_it_is() -> None:
    told = re.search(r"<!-- tables: begin .*?-->\n(.*?)\n?<!-- tables: end -->", GUIDE.read_text(), re.DOTALL)
    assert told is not None
    assert told[1] == tables_of_the_schema(), "write this between the marks of guardian/lake/README.md"


def query(language: str, lake: Path, after: str) -> str:
    found = re.search(rf"{after}:\n\n```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    return found[1].replace("LAKE", str(lake))


def sample(broker: int, minute: int, bytes_in: int, started_ms: int = 1) -> Rows:
    asked = Asked(Cluster("live", "h:1"), Broker(broker), "g1", 0, START_MS + 60_000 * minute)
    rows = failed_collection(asked, "none")[BROKER_SAMPLES].to_pylist()
    changed = {"error": "", "bytes_in_total": bytes_in, "broker_started_at_ms": started_ms}
    return {BROKER_SAMPLES: pa.Table.from_pylist([{**rows[0], **changed}], schema=TABLES[BROKER_SAMPLES])}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two brokers; broker 2 restarts. Each row is there twice, as while an hour's files are merged."""
    folder = tmp_path_factory.mktemp("lake")
    for _ in range(2):
        writer = LakeWriter(str(folder), "g1")
        for minute, total in enumerate((100, 250, 300)):
            writer.write("live", sample(1, minute, total))
        for minute, (total, started) in enumerate(((10, 1), (30, 1), (5, 2), (6, 2))):
            writer.write("live", sample(2, minute, total, started))
        writer.write("other", sample(1, 0, 7))
        writer.write("live", failed_collection(Asked(Cluster("live", "h:1"), Broker(3), "g1", 0, START_MS), "away"))
        writer.flush()
    return folder


MINUTE = START_MS // 60_000
EXPECTED = [
    (1, MINUTE, None),
    (1, MINUTE + 1, 150),
    (1, MINUTE + 2, 50),
    (2, MINUTE, None),
    (2, MINUTE + 1, 20),
    (2, MINUTE + 2, None),
    (2, MINUTE + 3, 1),
]


def plain(rows: Any) -> list[tuple[int, int, int | None]]:
    return [
        (int(broker), int(minute), None if gained is None or math.isnan(gained) else int(gained))
        for broker, minute, gained in rows
    ]


def test_duckdb_reads_the_lake(lake: Path) -> None:
    assert plain(duckdb.sql(query("sql", lake, "DuckDB")).fetchall()) == EXPECTED


def test_pandas_reads_the_lake(lake: Path) -> None:
    namespace: dict[str, Any] = {}
    exec(query("python", lake, "pandas"), namespace)  # noqa: S102  the guide's own code
    result: pd.DataFrame = namespace["result"]
    assert plain(result.itertuples(index=False)) == EXPECTED


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.integration
def test_spark_reads_the_lake(lake: Path, spark: SparkSession) -> None:
    namespace: dict[str, Any] = {"spark": spark}
    exec(query("python", lake, "Spark"), namespace)  # noqa: S102  the guide's own code
    assert plain(namespace["result"].collect()) == EXPECTED
