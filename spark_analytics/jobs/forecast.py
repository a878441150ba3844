"""When disks fill up and brokers get hot, if they go on as they did.

python -m spark_analytics.jobs.forecast --lake URL --cluster live --window 14d --out forecasts.json
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from guardian.model.forecast import Forecast
from guardian.model.planner_settings import PlannerSettings
from spark_analytics.jobs import command
from spark_analytics.jobs.session import require_analyze_extra

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from guardian.lake.model.window import Window


def forecasts(
    spark: SparkSession,
    lake_url: str,
    clusters: Sequence[str],
    window: Window,
    settings: PlannerSettings | None = None,
) -> dict[str, tuple[Forecast, ...]]:
    """Return for each cluster every log dir and every load of a broker whose capacity is known, the soonest trouble
    first.

    The limits are the planner's. A cluster without samples in the window has none. Raises InvalidInput when the lake
    can't be read, NotFound when it lacks all of them.
    """
    require_analyze_extra()
    from spark_analytics.jobs.clusters import (  # noqa: PLC0415
        answered,
        gathered_of_lake,
        in_groups,
        of_row,
        required,
        without_samples,
    )
    from spark_analytics.lake.series import series_rows  # noqa: PLC0415

    chosen = settings or PlannerSettings()

    def ask(group: pa.Table) -> pa.Table:
        return answered(group["cluster"][0].as_py(), lambda: _of_cluster(group, chosen))

    lacking = without_samples(spark, lake_url, clusters)
    present = [cluster for cluster in clusters if cluster not in lacking]
    rows = gathered_of_lake(spark, lambda: in_groups(series_rows(spark, lake_url, present, window), len(present), ask))
    found = required({cluster: of_row(row) for cluster, row in rows.items()})
    return {cluster: found.get(cluster, ()) for cluster in dict.fromkeys(clusters)}  # type: ignore[misc]  # pickled


def _of_cluster(rows: pa.Table, settings: PlannerSettings) -> tuple[Forecast, ...]:
    """Runs in a Spark worker."""
    import numpy as np  # noqa: PLC0415 - workers load what they need

    keys = ["broker", "log_dir", "resource"]
    rows = rows.sort_by([(name, "ascending") for name in (*keys, "at_ms")])
    columns = [rows[name].to_pylist() for name in keys]
    begins = [i for i, key in enumerate(zip(*columns, strict=True)) if not i or key != tuple(c[i - 1] for c in columns)]
    at_ms, values = (rows[name].to_numpy().astype(np.float64) for name in ("at_ms", "value"))
    capacity = rows["capacity"].to_pylist()
    found = []
    for begin, end in zip(begins, [*begins[1:], rows.num_rows], strict=True):
        if capacity[end - 1]:
            broker, log_dir, resource = (column[begin] for column in columns)
            made = _maker(broker, log_dir, resource, capacity[end - 1], settings)
            found.append(made(at_ms[begin:end], values[begin:end]))
    return tuple(sorted(found, key=lambda each: (each.days, each.days_soonest, each.broker, each.log_dir)))


def _maker(
    broker: int, log_dir: str, resource: str, capacity: float, settings: PlannerSettings
) -> Callable[..., Forecast]:
    from guardian.lake.rules.forecasts import disk_full, hot_broker  # noqa: PLC0415 - needs the extra

    if log_dir:
        return lambda at_ms, used: disk_full(broker, log_dir, at_ms, used, capacity, settings.disk_limit)
    limit = settings.cpu_limit if resource == "cpu" else settings.network_limit
    return lambda at_ms, load: hot_broker(broker, resource, at_ms, load, capacity, limit)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the forecasts are written, 2 with one sentence on stderr when there are none."""
    parser = command.parser("forecast", "Tell when disks fill up and brokers get hot.")
    parser.add_argument("--settings", default="{}", help="the planner's settings, as a JSON object: its limits count")

    def run(job: command.Job) -> object:
        from spark_analytics.jobs.documents import document_of  # noqa: PLC0415 - needs the extra

        settings = job.settings(job.options.settings)
        with job.session("guardian forecast") as spark:
            return document_of(forecasts(spark, job.lake, job.clusters, job.window, settings))

    return command.carried_out(parser, arguments, run)


if __name__ == "__main__":
    sys.exit(main())
