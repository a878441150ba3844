"""From counters in the lake to one row a broker, log dir, disk and replica, in Spark's workers.

What a row says is defined elsewhere, for Spark and members alike: guardian.lake.rules.windows for brokers, log dirs and
disks, guardian.lake.rules.replicas for replicas. Here samples are read, and brought together by broker: a broker's fit
into memory, however unequal clusters are. In a long window the hours that are compacted come from partition_hours, a
row an hour instead of each sample; only the newest hours and the window's ragged ends are read raw. Rows that come late
to an hour that is rolled up count once it is rolled up anew, minutes after they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name by which PySpark is known
from pyspark.sql import types as T  # noqa: N812

from guardian.lake.model import schema
from guardian.lake.model.window import Window
from guardian.lake.model.windows import BROKER, DISK, KINDS, LOG_DIR, REPLICA
from guardian.lake.rules.replicas import NEEDED, window_rows
from guardian.lake.rules.rollup import SAMPLED
from guardian.lake.rules.windows import (
    BROKER_COLUMNS,
    DISK_COLUMNS,
    LOG_DIR_COLUMNS,
    NIC_COLUMNS,
    broker_rows,
    disk_rows,
    log_dir_rows,
)
from spark_analytics.lake import listing

_TASK_BYTES = 8 << 20  # of compressed Parquet: some 60 MB of rows, and a fraction of a second of work
_MAX_TASKS = 2_000
_TYPES: dict[pa.DataType, T.DataType] = {
    pa.int64(): T.LongType(),
    pa.int32(): T.IntegerType(),
    pa.float32(): T.FloatType(),
    pa.float64(): T.DoubleType(),
    pa.string(): T.StringType(),
    pa.binary(): T.BinaryType(),
    pa.bool_(): T.BooleanType(),
}


def model_rows(spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window) -> DataFrame:
    """Read what is known of the clusters in the window: columns `kind` and `cluster`, and those of each kind.

    The columns of a kind are those of guardian.lake.model.windows.KINDS; those of other kinds are null, and so is what
    nothing tells. Raises InvalidInput when the lake or a cluster is not there.
    """
    listing.require_clusters(spark, lake_url, clusters)
    samples = machines_by_broker(spark, lake_url, tuple(_MACHINES), clusters, window)
    machines = samples.applyInArrow(_of_machine, _MACHINE_ROWS)
    replicas = _replica_rows(spark, lake_url, clusters, window).withColumn("kind", F.lit(REPLICA))
    return machines.unionByName(replicas, allowMissingColumns=True)


def _read(spark: SparkSession, lake_url: str, table: str, paths: Sequence[str], window: Window) -> DataFrame:
    columns = T.StructType([T.StructField(field.name, _TYPES[field.type]) for field in schema.TABLES[table]])
    columns = columns.add("cluster", T.StringType()).add("hour", T.StringType())
    if not paths:
        return spark.createDataFrame([], columns)
    reader = spark.read.schema(columns).option("basePath", listing.table_path(lake_url, table))
    return reader.parquet(*paths).where((F.col("at_ms") >= window.from_ms) & (F.col("at_ms") < window.to_ms))


def machines_by_broker(
    spark: SparkSession, lake_url: str, tables: Sequence[str], clusters: Sequence[str], window: Window
) -> GroupedData:
    """Samples of these tables in the window, by broker; `of_table` takes them apart. Only the directories of the
    clusters and hours are read, in the order of the tables: whatever broker_samples speak of is in the others, as they
    are written last."""
    held = {table: listing.hours_of(spark, lake_url, table, clusters, window) for table in tables}
    samples = (
        _read(spark, lake_url, table, [hour.path for hour in hours], window)
        .select("cluster", *_MACHINES[table])
        .withColumn("table", F.lit(table))
        for table, hours in held.items()
    )
    union = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), samples)
    return _by_broker(union, [hour for hours in held.values() for hour in hours])


def _replica_rows(spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window) -> DataFrame:
    held = listing.hours_of(spark, lake_url, schema.PARTITION_SAMPLES, clusters, window)
    rolled = listing.rolled_up(spark, lake_url, clusters, window)
    done = {(hour.cluster, hour.hour) for hour in rolled}
    raw = [hour for hour in held if (hour.cluster, hour.hour) not in done]
    samples = _read(spark, lake_url, schema.PARTITION_SAMPLES, [hour.path for hour in raw], window)
    sampled = _by_broker(samples.select("cluster", *SAMPLED), [*raw, *rolled])
    if not rolled:
        return sampled.applyInArrow(_of_samples(window), _REPLICA_ROWS)
    hours = _read(spark, lake_url, schema.PARTITION_HOURS, [hour.path for hour in rolled], window)
    of_hours = _by_broker(hours.select("cluster", *NEEDED), [*raw, *rolled])
    return sampled.cogroup(of_hours).applyInArrow(_of_hours(window), _REPLICA_ROWS)


def _by_broker(rows: DataFrame, files: Sequence[listing.Hour]) -> GroupedData:
    """Group the rows in tasks of a bounded size. The number of the broker comes first: rows are sorted by it
    fastest.
    """
    tasks = min(_MAX_TASKS, 1 + sum(file.size_bytes for file in files) // _TASK_BYTES)
    return rows.repartition(tasks, "broker", "cluster").groupBy("broker", "cluster")


_MACHINES = {
    schema.BROKER_SAMPLES: BROKER_COLUMNS,
    schema.LOG_DIR_SAMPLES: LOG_DIR_COLUMNS,
    schema.DISK_SAMPLES: DISK_COLUMNS,
    schema.NIC_SAMPLES: NIC_COLUMNS,
}


def row_type(first: Sequence[str], schemas: Iterable[pa.Schema]) -> T.StructType:
    """Return the type of rows with these texts, then each column of the schemas once."""
    columns = {field.name: _TYPES[field.type] for fields in schemas for field in fields}
    texts = [T.StructField(name, T.StringType()) for name in first]
    return T.StructType([*texts, *(T.StructField(name, kind) for name, kind in columns.items())])


_MACHINE_KINDS = (BROKER, LOG_DIR, DISK)
_MACHINE_ROWS = row_type(("cluster", "kind"), (KINDS[kind] for kind in _MACHINE_KINDS))
_REPLICA_ROWS = row_type(("cluster",), (KINDS[REPLICA],))


# The next ones run in Spark workers. Types of Arrow's tables would make Spark ask their annotations what they are.
def _of_machine(key, samples):  # type: ignore[no-untyped-def]
    """Of a broker."""
    brokers, log_dirs, disks, nics = (of_table(samples, table) for table in _MACHINES)
    found = (broker_rows(brokers, nics), log_dir_rows(log_dirs), disk_rows(disks))
    schema = pa.unify_schemas([KINDS[kind] for kind in _MACHINE_KINDS])
    rows = [
        part.add_column(0, "kind", pa.repeat(pa.scalar(kind), part.num_rows))
        for kind, part in zip(_MACHINE_KINDS, found, strict=True)
    ]
    whole = pa.concat_tables(rows, promote_options="default")
    return with_cluster(key, whole.select(["kind", *schema.names]))


def _of_samples(window: Window) -> Callable[..., pa.Table]:
    """Of a broker in a short window, or one without roll-ups."""

    def rows(key, samples):  # type: ignore[no-untyped-def]
        return with_cluster(key, window_rows(window, samples))

    return rows


def _of_hours(window: Window) -> Callable[..., pa.Table]:
    """Of a broker: what is rolled up, and the samples of hours that are not."""

    def rows(key, samples, hours):  # type: ignore[no-untyped-def]
        return with_cluster(key, window_rows(window, samples, hours))

    return rows


def of_table(samples: pa.Table, table: str) -> pa.Table:
    """Return a broker's samples of one table, in a Spark worker."""
    return samples.filter(pc.equal(samples["table"], table)).select(_MACHINES[table])


def with_cluster(key: tuple[pa.Scalar, pa.Scalar], rows: pa.Table) -> pa.Table:
    """Return the rows with the cluster of their group, which is (broker, cluster)."""
    return rows.add_column(0, "cluster", pa.repeat(key[1], rows.num_rows))
