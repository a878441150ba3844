"""How loaded brokers and log dirs are, and how evenly, as a plan's table tells it: `before` equals `after`.

python -m spark_analytics.jobs.measure --lake URL --cluster live --window 10m --out loads.json
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from guardian.model.directory import Directory
from guardian.model.plan import LoadSummary
from spark_analytics.jobs import command
from spark_analytics.jobs.session import require_analyze_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from guardian.lake.model.window import Window
    from spark_analytics.model.cluster_model import ClusterModel


def measure(
    spark: SparkSession,
    lake_url: str,
    clusters: Sequence[str],
    window: Window,
    directory: Directory | None = None,
) -> dict[str, tuple[LoadSummary, ...]]:
    """The load of each cluster's brokers and log dirs; `directory` tells which of them share a host. Raises as `plans`
    does."""
    require_analyze_extra()
    from spark_analytics.jobs.clusters import of_each, required, same_for  # noqa: PLC0415 - needs the extra

    return required(of_each(spark, lake_url, same_for(clusters, _measured), window, directory))


def _measured(model: ClusterModel) -> tuple[LoadSummary, ...]:
    """Runs in a Spark worker."""
    from guardian.model.planner_settings import PlannerSettings  # noqa: PLC0415
    from spark_analytics.explaining.measure import brokers_measured, log_dirs_measured  # noqa: PLC0415
    from spark_analytics.explaining.plan import load_table  # noqa: PLC0415
    from spark_analytics.model.load import load_now  # noqa: PLC0415
    from spark_analytics.planners.rules import compiled  # noqa: PLC0415

    rules, _ = compiled(model, PlannerSettings())
    load = load_now(model)
    brokers = brokers_measured(model, rules, load.broker, load.broker)
    return load_table(model, rules, brokers, log_dirs_measured(model, rules, load.log_dir, load.log_dir))


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the loads are written, 2 with one sentence on stderr when there are none."""

    def run(job: command.Job) -> object:
        from spark_analytics.jobs.documents import document_of  # noqa: PLC0415 - needs the extra

        with job.session("guardian measure") as spark:
            return document_of(measure(spark, job.lake, job.clusters, job.window, job.directory))

    return command.carried_out(command.parser("measure", "Tell how loaded brokers and disks are."), arguments, run)


if __name__ == "__main__":
    sys.exit(main())
