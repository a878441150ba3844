"""From counters in the lake to one row a broker, log dir, disk and replica: all of it in Spark.

A rate is a **median** over the window, so a burst, a pause or a bad sample does not make a plan; beside it is the 95th
percentile. Each pair of consecutive samples weighs as long as it lasts: the median is the rate at half of the time.

Samples of replicas are by far the most rows, and a broker's fit together (guardian.lake.rules.rollup): they are
grouped by broker, however unequal clusters are. In a long window the hours that are compacted come from
partition_hours, a row an hour instead of each sample; only the newest hours and the window's ragged ends are read raw.
Rows that come late to an hour that is rolled up count once it is rolled up anew, minutes after they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as F  # noqa: N812 - the name by which PySpark is known
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.window import WindowSpec

from guardian.lake.model import schema
from guardian.lake.model.window import Window
from guardian.lake.rules.replicas import NEEDED, REPLICAS, replica_rows
from guardian.lake.rules.rollup import HOURS, SAMPLED, roll_up, roll_up_hours
from spark_analytics.lake import listing
from spark_analytics.lake.window import BROKER, DISK, LOG_DIR, REPLICA

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
    """What is known of the clusters in the window: columns `kind` and `cluster`, and those of each kind.

    broker    broker, rack, idc, samples, failed, failed_at_ms, pairs, interval_ms, covered_ms, last_at_ms, cores,
              cpu and cpu_p95 (percent of one core), nw_in and nw_out (bytes/s, replication included),
              nic_bytes_per_s (each way)
    log_dir   broker, log_dir, disk, total_bytes, usable_bytes, offline, at_ms
    disk      broker, disk, pairs, covered_ms, io_rate, io_p95, read_rate (bytes/s), busy (0 to 1), await_ms a request
    replica   broker, and the columns of guardian.lake.rules.replicas.REPLICAS

    Columns of other kinds are null, and so is what nothing tells. Rates are bytes/s.
    Raises InvalidInput when the lake or a cluster is not there.
    """
    listing.require_clusters(spark, lake_url, clusters)
    # broker_samples first, since they are written last: whatever they speak of is in the other listings.
    brokers, log_dirs, disks, nics = (
        samples_of(spark, lake_url, table, clusters, window)
        for table in (schema.BROKER_SAMPLES, schema.LOG_DIR_SAMPLES, schema.DISK_SAMPLES, schema.NIC_SAMPLES)
    )
    kinds = (
        (BROKER, _broker_rows(brokers, nics)),
        (LOG_DIR, _log_dir_rows(log_dirs)),
        (DISK, _disk_rows(disks)),
        (REPLICA, _replica_rows(spark, lake_url, clusters, window)),
    )
    return reduce(
        lambda left, right: left.unionByName(right, allowMissingColumns=True),
        (rows.withColumn("kind", F.lit(kind)) for kind, rows in kinds),
    )


def samples_of(spark: SparkSession, lake_url: str, table: str, clusters: Sequence[str], window: Window) -> DataFrame:
    """A table's rows in the window. Only the directories of its clusters and hours are read."""
    hours = listing.hours_of(spark, lake_url, table, clusters, window)
    return _read(spark, lake_url, table, [hour.path for hour in hours], window)


def _read(spark: SparkSession, lake_url: str, table: str, paths: Sequence[str], window: Window) -> DataFrame:
    columns = T.StructType([T.StructField(field.name, _TYPES[field.type]) for field in schema.TABLES[table]])
    columns = columns.add("cluster", T.StringType()).add("hour", T.StringType())
    if not paths:
        return spark.createDataFrame([], columns)
    reader = spark.read.schema(columns).option("basePath", listing.table_path(lake_url, table))
    return reader.parquet(*paths).where((F.col("at_ms") >= window.from_ms) & (F.col("at_ms") < window.to_ms))


def _latest(*columns: str) -> Column:
    """The values at the latest `at_ms`; a tie goes to the larger, so that the order of rows never matters."""
    return F.max(F.struct("at_ms", *columns)).alias("latest")


def _log_dir_rows(samples: DataFrame) -> DataFrame:
    latest = samples.groupBy("cluster", "broker", "log_dir").agg(
        _latest("offline", "disk", "total_bytes", "usable_bytes")
    )
    return latest.select("cluster", "broker", "log_dir", "latest.*")


def _broker_rows(samples: DataFrame, nics: DataFrame) -> DataFrame:
    """How well each broker was sampled, and how busy it was.

    `covered_ms` leaves out gaps: pairs longer than one and a half intervals.
    """
    keys = ["cluster", "broker"]
    lasts = broker_loads(samples)
    lasts = lasts.withColumn(
        "interval_ms", F.percentile("lasts_ms", 0.5, F.coalesce("lasts_ms", F.lit(0))).over(Over.partitionBy(*keys))
    )
    is_long = F.col("lasts_ms") > 1.5 * F.col("interval_ms")
    is_sliver = F.col("lasts_ms") < 0.5 * F.col("interval_ms")
    sampled = lasts.groupBy(*keys).agg(
        F.count("at_ms").alias("samples"),
        F.count_if(~is_sliver).alias("pairs"),
        F.first("interval_ms").alias("interval_ms"),
        F.sum(F.when(~is_long, F.col("lasts_ms"))).alias("covered_ms"),
        F.max("at_ms").alias("last_at_ms"),
        F.max(F.struct("at_ms", "cores"))["cores"].alias("cores"),
        _quantile("cpu", 0.5).alias("cpu"),
        _quantile("cpu", 0.95).alias("cpu_p95"),
        _quantile("nw_in", 0.5).alias("nw_in"),
        _quantile("nw_out", 0.5).alias("nw_out"),
    )
    # A failed collection still says that the broker belongs to the cluster.
    known = samples.groupBy(*keys).agg(
        _latest("rack", "idc"),
        F.count_if(F.col("error") != "").alias("failed"),
        F.max(F.when(F.col("error") != "", F.col("at_ms"))).alias("failed_at_ms"),
    )
    counts = ["samples", "pairs", "interval_ms", "covered_ms", "last_at_ms"]
    loads = ["cores", "cpu", "cpu_p95", "nw_in", "nw_out"]
    return (
        known.join(sampled, keys, "left")
        .select(*keys, "latest.rack", "latest.idc", "failed", "failed_at_ms", *counts, *loads)
        .fillna(0, subset=counts)
        .join(nic_rows(nics), keys, "left")
    )


def broker_loads(samples: DataFrame) -> DataFrame:
    """Collections that did not fail, once each, with `lasts_ms` since the one before and what the broker did in it.

    cpu is in percent of one core; nw_in and nw_out are in bytes/s, replication included.
    """
    good = samples.where(F.col("error") == "").dropDuplicates(["cluster", "broker", "at_ms", "broker_started_at_ms"])
    over = Over.partitionBy("cluster", "broker", "broker_started_at_ms").orderBy("at_ms")
    lasts = good.withColumn("lasts_ms", F.col("at_ms") - F.lag("at_ms").over(over))
    return lasts.withColumns(
        {
            "cpu": _rate(F.col("cpu_busy_ms"), over) / 10,  # ms in a second: 1000 are one core
            "nw_in": _rate(F.col("bytes_in_total") + F.col("replication_bytes_in_total"), over),
            "nw_out": _rate(F.col("bytes_out_total") + F.col("replication_bytes_out_total"), over),
        }
    )


def nic_rows(samples: DataFrame) -> DataFrame:
    """What a broker's interfaces can carry together, each way; null where none says its speed."""
    latest = samples.groupBy("cluster", "broker", "nic").agg(_latest("bits_per_s"))
    speed = F.sum("latest.bits_per_s") / 8
    rows = latest.groupBy("cluster", "broker").agg(speed.alias("nic_bytes_per_s"))
    return rows.where(F.col("nic_bytes_per_s") > 0)


def _disk_rows(samples: DataFrame) -> DataFrame:
    keys = ["cluster", "broker", "disk"]
    over = Over.partitionBy(*keys).orderBy("at_ms")
    lasts = (
        samples.dropDuplicates([*keys, "at_ms"])
        .withColumn("lasts_ms", F.col("at_ms") - F.lag("at_ms").over(over))
        .withColumn("io", _rate(F.col("bytes_read") + F.col("bytes_written"), over))
        .withColumn("read", _rate(F.col("bytes_read"), over))
        .withColumn("busy", _rate(F.col("busy_ms"), over))
        .withColumn("waited_ms", _gain(F.col("read_ms") + F.col("write_ms"), over))
        .withColumn("requests", _gain(F.col("reads_completed") + F.col("writes_completed"), over))
    )
    return lasts.groupBy(*keys).agg(
        F.count("io").alias("pairs"),
        F.sum(F.when(F.col("io").isNotNull(), F.col("lasts_ms"))).alias("covered_ms"),
        _quantile("io", 0.5).alias("io_rate"),
        _quantile("io", 0.95).alias("io_p95"),
        _quantile("read", 0.5).alias("read_rate"),
        (_quantile("busy", 0.5) / 1000).alias("busy"),
        F.try_divide(F.sum("waited_ms"), F.sum("requests")).alias("await_ms"),
    )


def _gain(total: Column, over: WindowSpec) -> Column:
    """Since the sample before; null where a counter began anew."""
    gained = total - F.lag(total).over(over)
    return F.when(gained >= 0, gained)


def _rate(total: Column, over: WindowSpec) -> Column:
    return _gain(total, over) * 1000 / F.col("lasts_ms")


def _quantile(rate: str, share: float) -> Column:
    """Each pair weighing as long as it lasts."""
    return F.percentile(rate, share, F.coalesce("lasts_ms", F.lit(0)))


def _replica_rows(spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window) -> DataFrame:
    held = listing.hours_of(spark, lake_url, schema.PARTITION_SAMPLES, clusters, window)
    rolled = listing.rolled_up(spark, lake_url, clusters, window) if window.is_long else ()
    done = {(hour.cluster, hour.hour) for hour in rolled}
    raw = [hour for hour in held if (hour.cluster, hour.hour) not in done]
    samples = _read(spark, lake_url, schema.PARTITION_SAMPLES, [hour.path for hour in raw], window)
    sampled = _by_broker(samples.select("cluster", *SAMPLED), [*raw, *rolled])
    if not rolled:
        return sampled.applyInArrow(_of_samples, _REPLICA_ROWS)
    hours = _read(spark, lake_url, schema.PARTITION_HOURS, [hour.path for hour in rolled], window)
    of_hours = _by_broker(hours.select("cluster", *NEEDED), [*raw, *rolled])
    return sampled.cogroup(of_hours).applyInArrow(_of_hours, _REPLICA_ROWS)


def _by_broker(rows: DataFrame, files: Sequence[listing.Hour]) -> GroupedData:
    """In tasks of a bounded size. The number of the broker comes first: rows are sorted by it fastest."""
    tasks = min(_MAX_TASKS, 1 + sum(file.size_bytes for file in files) // _TASK_BYTES)
    return rows.repartition(tasks, "broker", "cluster").groupBy("broker", "cluster")


_HOURS = pa.schema([HOURS.field(name) for name in NEEDED])
_REPLICA_ROWS = T.StructType([T.StructField("cluster", T.StringType())])
for _field in REPLICAS:
    _REPLICA_ROWS = _REPLICA_ROWS.add(_field.name, _TYPES[_field.type])


# The next two run in Spark workers. Types of Arrow's tables would make Spark ask their annotations what they are.
def _of_samples(key, samples):  # type: ignore[no-untyped-def]
    """Of a broker in a short window."""
    return _with_cluster(key, replica_rows(roll_up(samples)))


def _of_hours(key, samples, hours):  # type: ignore[no-untyped-def]
    """Of a broker: what is rolled up, and the samples of hours that are not."""
    parts = (hours, roll_up_hours(samples))
    return _with_cluster(key, replica_rows(pa.concat_tables([part.select(NEEDED).cast(_HOURS) for part in parts])))


def _with_cluster(key: tuple[pa.Scalar, pa.Scalar], rows: pa.Table) -> pa.Table:
    return rows.add_column(0, "cluster", pa.repeat(key[1], rows.num_rows))
