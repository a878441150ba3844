"""What brokers and log dirs did, hour by hour: for forecasts, which look back over weeks.

    cluster, broker, log_dir ("": the broker), resource, at_ms, value, capacity (null: not known)

A log dir's bytes are those at the hour's end; a broker's loads are the hour's mean. All of it is in Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name by which PySpark is known

from guardian.lake.model import schema
from guardian.lake.model.window import Window
from spark_analytics.lake import listing
from spark_analytics.lake.reader import broker_loads, nic_rows, samples_of

DISK, CPU, NW_IN, NW_OUT = "disk", "cpu", "nw_in", "nw_out"
_COLUMNS = ("cluster", "broker", "log_dir", "resource", "at_ms", "value", "capacity")


def series_rows(spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window) -> DataFrame:
    """Raises InvalidInput when the lake or a cluster is not there."""
    listing.require_clusters(spark, lake_url, clusters)
    log_dirs, brokers, nics = (
        samples_of(spark, lake_url, table, clusters, window)
        for table in (schema.LOG_DIR_SAMPLES, schema.BROKER_SAMPLES, schema.NIC_SAMPLES)
    )
    return reduce(DataFrame.unionByName, (_disks(log_dirs), *_loads(brokers, nics)))


def _disks(samples: DataFrame) -> DataFrame:
    online = samples.where(~F.col("offline") & (F.col("total_bytes") > 0))
    latest = online.groupBy("cluster", "broker", "log_dir", "hour").agg(
        F.max(F.struct("at_ms", "total_bytes", "usable_bytes")).alias("latest")
    )
    used = (F.col("latest.total_bytes") - F.col("latest.usable_bytes")).cast("double")
    return latest.select(
        "cluster",
        "broker",
        "log_dir",
        F.lit(DISK).alias("resource"),
        "latest.at_ms",
        used.alias("value"),
        F.col("latest.total_bytes").cast("double").alias("capacity"),
    )


def _loads(brokers: DataFrame, nics: DataFrame) -> list[DataFrame]:
    keys = ["cluster", "broker"]
    hours = (
        broker_loads(brokers)
        .groupBy(*keys, "hour")
        .agg(
            F.max("at_ms").alias("at_ms"),
            F.max("cores").alias("cores"),
            *((F.sum(F.col(name) * F.col("lasts_ms")) / _lasted(name)).alias(name) for name in (CPU, NW_IN, NW_OUT)),
        )
    )
    hours = hours.join(nic_rows(nics), keys, "left").withColumn("log_dir", F.lit(""))
    capacity = {CPU: F.col("cores") * 100.0, NW_IN: F.col("nic_bytes_per_s"), NW_OUT: F.col("nic_bytes_per_s")}
    return [
        hours.withColumns({"resource": F.lit(name), "value": F.col(name), "capacity": capacity[name].cast("double")})
        .where(F.col("value").isNotNull())
        .select(*_COLUMNS)
        for name in (CPU, NW_IN, NW_OUT)
    ]


def _lasted(name: str) -> Column:
    """The time in which this was known; null when it never was."""
    known = F.sum(F.when(F.col(name).isNotNull(), F.col("lasts_ms")))
    return F.when(known > 0, known)
