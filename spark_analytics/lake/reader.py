"""From counters in the lake to one row a broker, log dir and replica: all of it in Spark.

A partition's rate is a **median** over the window, so a burst, a pause or a bad sample does not make a plan. It is
taken over pairs of consecutive samples of the replica that led at both ends, within one life of the broker (counters
begin anew with a restart). Kafka counts bytes by topic and broker, offsets by partition: the bytes of a topic that a
broker took in between two samples are shared out by the messages that its partitions gained, the bytes out likewise.

Each pair weighs as long as it lasts: the median is the rate at half of the time. With a steady interval that is the
plain median; when two members collect one broker, moments apart, the slivers between their samples count for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as F  # noqa: N812 - the name by which PySpark is known
from pyspark.sql import types as T  # noqa: N812

from spark_analytics.lake import listing, schema
from spark_analytics.lake.window import BROKER, LOG_DIR, REPLICA, Window

_TYPES: dict[pa.DataType, T.DataType] = {
    pa.int64(): T.LongType(),
    pa.int32(): T.IntegerType(),
    pa.string(): T.StringType(),
    pa.bool_(): T.BooleanType(),
}


def model_rows(spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window) -> DataFrame:
    """What is known of the clusters in the window: columns `kind` and `cluster`, and those of each kind.

    broker    broker, rack, idc, samples, failed, pairs, interval_ms, covered_ms, last_at_ms
    log_dir   broker, log_dir, disk, total_bytes, usable_bytes, offline, at_ms
    replica   broker, topic, partition, log_dir, is_leader, size_bytes, at_ms, write_rate, read_rate, rate_pairs

    Columns of other kinds are null. Rates are bytes/s of the partition, null where none could be told.
    Raises InvalidInput when the lake or a cluster is not there.
    """
    listing.require_clusters(spark, lake_url, clusters)
    # broker_samples first, since they are written last: whatever they speak of is in the other listings.
    brokers, log_dirs, partitions = (
        _samples(spark, lake_url, table, clusters, window)
        for table in (schema.BROKER_SAMPLES, schema.LOG_DIR_SAMPLES, schema.PARTITION_SAMPLES)
    )
    kinds = (
        (BROKER, _broker_rows(brokers)),
        (LOG_DIR, _log_dir_rows(log_dirs)),
        (REPLICA, _replica_rows(partitions)),
    )
    return reduce(
        lambda left, right: left.unionByName(right, allowMissingColumns=True),
        (rows.withColumn("kind", F.lit(kind)) for kind, rows in kinds),
    )


def _samples(spark: SparkSession, lake_url: str, table: str, clusters: Sequence[str], window: Window) -> DataFrame:
    """A table's rows in the window. Only the directories of its clusters and hours are read."""
    columns = T.StructType([T.StructField(field.name, _TYPES[field.type]) for field in schema.TABLES[table]])
    columns = columns.add("cluster", T.StringType()).add("hour", T.StringType())
    paths = listing.hours_of(spark, lake_url, table, clusters, window)
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


def _broker_rows(samples: DataFrame) -> DataFrame:
    """How well each broker was sampled. `covered_ms` leaves out gaps: pairs longer than one and a half intervals."""
    keys = ["cluster", "broker"]
    good = samples.where(F.col("error") == "").dropDuplicates([*keys, "at_ms", "broker_started_at_ms"])
    over = Over.partitionBy(*keys, "broker_started_at_ms").orderBy("at_ms")
    lasts = good.withColumn("lasts_ms", F.col("at_ms") - F.lag("at_ms").over(over))
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
    )
    # A failed collection still says that the broker belongs to the cluster.
    known = samples.groupBy(*keys).agg(_latest("rack", "idc"), F.count_if(F.col("error") != "").alias("failed"))
    counts = ["samples", "pairs", "interval_ms", "covered_ms", "last_at_ms"]
    return (
        known.join(sampled, keys, "left")
        .select(*keys, "latest.rack", "latest.idc", "failed", *counts)
        .fillna(0, subset=counts)
    )


def _replica_rows(samples: DataFrame) -> DataFrame:
    # By topic and broker all windows below find their rows together: one shuffle of the samples, not four.
    samples = samples.repartition("cluster", "broker", "topic")
    replica = ["cluster", "broker", "topic", "partition"]
    samples = _without_duplicates(samples, replica)
    latest = samples.groupBy(*replica).agg(_latest("is_leader", "log_dir", "size_bytes"))
    rates = _rates(samples, replica)
    return latest.select(*replica, "latest.*").join(rates, ["cluster", "topic", "partition"], "left")


def _without_duplicates(samples: DataFrame, replica: list[str]) -> DataFrame:
    """One row a replica and moment."""
    others = [name for name in samples.columns if name not in (*replica, "at_ms", "hour")]
    kept = samples.groupBy(*replica, "at_ms").agg(F.max(F.struct(*others)).alias("kept"))
    return kept.select(*replica, "at_ms", "kept.*")


def _rates(samples: DataFrame, replica: list[str]) -> DataFrame:
    """cluster, topic, partition, write_rate, read_rate, rate_pairs."""
    counters = ("log_end_offset", "topic_bytes_in_total", "topic_bytes_out_total")
    before = F.lag(F.struct("at_ms", "broker_started_at_ms", "is_leader", *counters))
    pairs = samples.withColumn("before", before.over(Over.partitionBy(*replica).orderBy("at_ms")))
    same_life = F.col("before.broker_started_at_ms") == F.col("broker_started_at_ms")
    led = F.col("before.is_leader") & F.col("is_leader")
    # A truncated log, and a topic whose counters Kafka dropped and made anew, go backwards within one life.
    forward = reduce(lambda left, right: left & right, (F.col(name) >= F.col(f"before.{name}") for name in counters))
    gained, bytes_in, bytes_out = (F.col(name) - F.col(f"before.{name}") for name in counters)
    pairs = pairs.where(same_life & led & forward).select(
        *replica,
        "at_ms",
        (F.col("at_ms") - F.col("before.at_ms")).alias("lasts_ms"),
        gained.alias("gained"),
        bytes_in.alias("bytes_in"),
        bytes_out.alias("bytes_out"),
    )
    of_topic = Over.partitionBy("cluster", "broker", "topic", "at_ms", "lasts_ms")
    gained_by_all = F.sum("gained").over(of_topic)
    evenly = F.lit(1.0) / F.count("gained").over(of_topic)
    shared = pairs.withColumn("share", F.when(gained_by_all > 0, F.col("gained") / gained_by_all).otherwise(evenly))
    return shared.groupBy("cluster", "topic", "partition").agg(
        _median_rate("bytes_in").alias("write_rate"),
        _median_rate("bytes_out").alias("read_rate"),
        F.count("share").alias("rate_pairs"),
    )


def _median_rate(counted: str) -> Column:
    """bytes/s, each pair weighing as long as it lasts."""
    return F.percentile(F.col(counted) * F.col("share") * 1000 / F.col("lasts_ms"), 0.5, F.col("lasts_ms"))
