"""What is in the lake, asked of the same Hadoop file system that Spark reads with, so any URL of Spark's will do.

Listing comes first because a missing directory is a person's mistake, or just an hour without samples: neither should
surface as a stack trace of Spark's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from guardian.errors import InvalidInput, NotFound
from guardian.lake.model.schema import BROKER_SAMPLES, PARTITION_HOURS, hour_of
from guardian.lake.model.window import Window

_GLOB_HOURS = 200


@dataclass(frozen=True, slots=True)
class Hour:
    """A directory or a file with an hour of a cluster. `path` as Hadoop writes it."""

    cluster: str
    hour: str
    path: str
    size_bytes: int


def table_path(lake_url: str, table: str) -> str:
    """Members write by way of pyarrow, which says s3 where Hadoop says s3a: one URL of the lake serves both."""
    scheme, separator, place = lake_url.partition("://")
    url = f"s3a://{place}" if separator and scheme == "s3" else lake_url
    return f"{url.rstrip('/')}/{table}"


def require_clusters(spark: SparkSession, lake_url: str, clusters: Sequence[str]) -> None:
    """Raises InvalidInput when the lake can't be read or is empty, NotFound when it lacks one of the clusters."""
    for error in lacking(spark, lake_url, clusters).values():
        raise error


def lacking(spark: SparkSession, lake_url: str, clusters: Sequence[str]) -> dict[str, NotFound]:
    """The clusters that the lake has nothing of. Raises InvalidInput when the lake can't be read or is empty."""
    names = _children(spark, table_path(lake_url, BROKER_SAMPLES))
    known = sorted(name.removeprefix("cluster=") for name in names if name.startswith("cluster="))
    if not known:
        raise InvalidInput(f"lake {lake_url} has no samples: name the members' lake, and wait for their first file")
    return {
        cluster: NotFound(f"cluster {cluster} has no samples in lake {lake_url}: it has {', '.join(known)}")
        for cluster in clusters
        if cluster not in known
    }


def hours_of(
    spark: SparkSession, lake_url: str, table: str, clusters: Sequence[str], window: Window
) -> tuple[Hour, ...]:
    """The directories of a table that exist for these clusters and the hours of the window, in order."""
    files = _files(spark, lake_url, table, clusters, window.hours)
    found: dict[str, Hour] = {}
    for file in files:
        path = file.path.rpartition("/")[0]
        before = found.get(path)
        found[path] = Hour(file.cluster, file.hour, path, file.size_bytes + (before.size_bytes if before else 0))
    return tuple(found.values())


def rolled_up(spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window) -> tuple[Hour, ...]:
    """Return, of each hour that is read from its roll-up, and has one, the one file that counts."""
    files = _files(spark, lake_url, PARTITION_HOURS, clusters, window.rolled_up_hours)
    return tuple({(file.cluster, file.hour): file for file in files}.values())


def _files(spark: SparkSession, lake_url: str, table: str, clusters: Sequence[str], hours: range) -> Iterator[Hour]:
    """The files of these hours by cluster, hour and name."""
    context: Any = spark.sparkContext
    for cluster in sorted(set(clusters)):
        for begin in range(0, len(hours), _GLOB_HOURS):
            names = ",".join(hour_of(at_ms) for at_ms in hours[begin : begin + _GLOB_HOURS])
            path = f"{table_path(lake_url, table)}/cluster={cluster}/hour={{{names}}}/*.parquet"
            pattern = context._jvm.org.apache.hadoop.fs.Path(path)
            try:
                filesystem = pattern.getFileSystem(context._jsc.hadoopConfiguration())
                statuses = filesystem.globStatus(pattern) or ()
                found = sorted((str(status.getPath().toString()), int(status.getLen())) for status in statuses)
            except Py4JJavaError as error:
                raise InvalidInput(f"lake path {path} can't be read: {error.java_exception.getMessage()}") from error
            for file, size_bytes in found:
                directory, _, name = file.rpartition("/")
                if not name.startswith("."):
                    yield Hour(cluster, directory.rpartition("/hour=")[2], file, size_bytes)


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
