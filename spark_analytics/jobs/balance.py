"""Plans that balance clusters, and measurements of how balanced they are.

    python -m spark_analytics.jobs.balance --lake URL --cluster live --window 10m --out plans.json

The same file goes to spark-submit. Spark is imported when a job runs, so that a missing extra is one clear sentence.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.json_format import MessageToDict

from guardian.errors import GuardianError, InvalidInput
from guardian.model.plan import LoadSummary, Plan
from guardian.model.units import parse_duration_ms
from guardian.wire.plans import plan_to_proto
from spark_analytics.jobs.session import local_session, require_analyze_extra
from spark_analytics.planners.settings import BalanceSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def balance(
    spark: SparkSession,
    lake_url: str,
    clusters: Sequence[str],
    from_ms: int,
    to_ms: int,
    settings: BalanceSettings | None = None,
) -> dict[str, Plan]:
    """A checked plan for each cluster, from the samples in [from_ms, to_ms). The same lake gives the same plans.

    Raises InvalidInput when the window has too few samples of a broker or a lake file is broken, NotFound when the
    lake has nothing of a cluster, GuardianError when a plan broke a rule.
    """
    require_analyze_extra()
    from spark_analytics.jobs import pipeline  # noqa: PLC0415 - needs the extra
    from spark_analytics.lake.window import Window  # noqa: PLC0415

    return pipeline.balanced(spark, lake_url, clusters, Window(from_ms, to_ms), settings or BalanceSettings())


def measure(
    spark: SparkSession, lake_url: str, clusters: Sequence[str], from_ms: int, to_ms: int
) -> dict[str, tuple[LoadSummary, ...]]:
    """The load of each cluster's brokers and log dirs, bytes/s; `before` equals `after`. Raises as `balance` does."""
    require_analyze_extra()
    from spark_analytics.jobs import pipeline  # noqa: PLC0415 - needs the extra
    from spark_analytics.lake.window import Window  # noqa: PLC0415

    plans = pipeline.measured(spark, lake_url, clusters, Window(from_ms, to_ms))
    return {cluster: plan.loads for cluster, plan in plans.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the plans are written, 2 with one sentence on stderr when they can't be made."""
    options = _parser().parse_args(arguments)
    until_ms = options.until if options.until is not None else time.time_ns() // 1_000_000
    try:
        settings = BalanceSettings(target_spread=options.target_spread)
        from_ms = until_ms - parse_duration_ms("window", options.window)
        spark = local_session("guardian balance", options.master)
        try:
            plans = balance(spark, options.lake, options.cluster, from_ms, until_ms, settings)
        finally:
            spark.stop()
        _write(Path(options.out), plans)
    except GuardianError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m spark_analytics.jobs.balance", description="Make balancing plans.")
    parser.add_argument("--lake", required=True, help="URL or path of the metrics lake")
    parser.add_argument("--cluster", required=True, action="append", help="a cluster's name; repeat it for several")
    parser.add_argument("--window", default="10m", help="how far back samples count, such as 90s, 10m, 6h")
    parser.add_argument("--until", type=int, help="the window's end in ms since the epoch; now when left out")
    parser.add_argument("--target-spread", type=float, default=0.1, help="max/mean - 1 to reach")
    parser.add_argument("--master", default="local[*]", help="Spark's master; spark-submit's own wins")
    parser.add_argument("--out", required=True, help="file for the plans, as JSON by cluster")
    return parser


def _write(path: Path, plans: Mapping[str, Plan]) -> None:
    content = {
        cluster: MessageToDict(plan_to_proto(plan), preserving_proto_field_name=True) for cluster, plan in plans.items()
    }
    try:
        path.write_text(json.dumps(content, indent=2) + "\n")
    except OSError as error:
        raise InvalidInput(f"out is {path}: it can't be written: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
