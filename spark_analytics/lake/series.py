"""What brokers and log dirs did, hour by hour, in Spark: for forecasts, which look back over weeks.

What an hour says is defined by guardian.lake.rules.series; here samples are brought together by broker.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from guardian.lake.model.schema import BROKER_SAMPLES, LOG_DIR_SAMPLES, NIC_SAMPLES
from guardian.lake.model.window import Window
from guardian.lake.model.windows import SERIES
from guardian.lake.rules.series import hourly
from spark_analytics.lake import listing
from spark_analytics.lake.reader import machines_by_broker, of_table, row_type, with_cluster

_TABLES = (BROKER_SAMPLES, LOG_DIR_SAMPLES, NIC_SAMPLES)
_ROWS = row_type(("cluster",), (SERIES,))


def series_rows(spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window) -> DataFrame:
    """Raises InvalidInput when the lake or a cluster is not there."""
    listing.require_clusters(spark, lake_url, clusters)
    return machines_by_broker(spark, lake_url, _TABLES, clusters, window).applyInArrow(_of_broker, _ROWS)


# Runs in a Spark worker. Types of Arrow's tables would make Spark ask their annotations what they are.
def _of_broker(key, samples):  # type: ignore[no-untyped-def]
    return with_cluster(key, hourly(*(of_table(samples, table) for table in _TABLES)))
