"""What is in the lake, asked of the same Hadoop file system that Spark reads with, so any URL of Spark's will do.

Listing comes first because a missing directory is a person's mistake, or just an hour without samples: neither should
surface as a stack trace of Spark's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from guardian.errors import InvalidInput, NotFound
from spark_analytics.lake.schema import BROKER_SAMPLES, hour_of
from spark_analytics.lake.window import Window

_HOUR_MS = 3_600_000


def table_path(lake_url: str, table: str) -> str:
    """Members write by way of pyarrow, which says s3 where Hadoop says s3a: one URL of the lake serves both."""
    scheme, separator, place = lake_url.partition("://")
    url = f"s3a://{place}" if separator and scheme == "s3" else lake_url
    return f"{url.rstrip('/')}/{table}"


def require_clusters(spark: SparkSession, lake_url: str, clusters: Sequence[str]) -> None:
    """Raises InvalidInput when the lake can't be read or is empty, NotFound when it lacks one of the clusters."""
    names = _children(spark, table_path(lake_url, BROKER_SAMPLES))
    known = sorted(name.removeprefix("cluster=") for name in names if name.startswith("cluster="))
    if not known:
        raise InvalidInput(f"lake {lake_url} has no samples: name the members' lake, and wait for their first file")
    for cluster in clusters:
        if cluster not in known:
            raise NotFound(f"cluster {cluster} has no samples in lake {lake_url}: it has {', '.join(known)}")


def hours_of(
    spark: SparkSession, lake_url: str, table: str, clusters: Sequence[str], window: Window
) -> tuple[str, ...]:
    """The directories of a table that exist for these clusters and the hours of the window, in order."""
    hours = {hour_of(at_ms) for at_ms in range(window.from_ms - window.from_ms % _HOUR_MS, window.to_ms, _HOUR_MS)}
    return tuple(
        f"{parent}/{name}"
        for parent in (f"{table_path(lake_url, table)}/cluster={cluster}" for cluster in sorted(set(clusters)))
        for name in _children(spark, parent)
        if name.removeprefix("hour=") in hours
    )


def _children(spark: SparkSession, path: str) -> list[str]:
    """Names in a directory, ascending; none when it is not there."""
    context: Any = spark.sparkContext  # Hadoop's file system has no public door in PySpark
    directory = context._jvm.org.apache.hadoop.fs.Path(path)
    try:
        filesystem = directory.getFileSystem(context._jsc.hadoopConfiguration())
        if not filesystem.exists(directory):
            return []
        return sorted(status.getPath().getName() for status in filesystem.listStatus(directory))
    except Py4JJavaError as error:
        raise InvalidInput(f"lake path {path} can't be read: {error.java_exception.getMessage()}") from error
