"""A plan that anyone made, against the cluster as the lake shows it: the rules that it breaks, and what it comes to.

    python -m spark_analytics.jobs.check --lake URL --cluster live --plan reassignment.json --out verdict.json

The plan is a file for kafka-reassign-partitions. The same file goes to spark-submit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from guardian.errors import InvalidInput
from guardian.interop import reassignment_json
from guardian.model.cluster_state import LiveFacts
from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from spark_analytics.jobs import command
from spark_analytics.jobs.session import require_analyze_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from guardian.lake.model.window import Window
    from spark_analytics.model.cluster_model import ClusterModel
    from spark_analytics.planners.score import Score


@dataclass(frozen=True, slots=True)
class Verdict:
    """`violations` are sentences, in the plan's order. Without a score the plan names what the model does not know."""

    cluster: str
    input: str
    moves: int
    violations: tuple[str, ...]
    score: Score | None


def verdict(model: ClusterModel, plan: Plan, settings: PlannerSettings) -> Verdict:
    """Runs in a Spark worker, or for a model in a file."""
    from spark_analytics.checker import check  # noqa: PLC0415 - workers load what they need
    from spark_analytics.planners import score  # noqa: PLC0415
    from spark_analytics.readers.placement_v1 import of_plan  # noqa: PLC0415

    violations = check(model, plan, settings)
    known = not any(each.rule.is_about_names for each in violations) and not any(
        len(move.target) != len(model.replicas(model.partition_index(move.partition))) for move in plan.moves
    )
    found = score.of(model, *of_plan(plan, model), settings) if known else None
    return Verdict(model.cluster, model.input, len(plan.moves), tuple(str(each) for each in violations), found)


def verdict_of(
    spark: SparkSession,
    lake_url: str,
    plan: Plan,
    window: Window,
    settings: PlannerSettings | None = None,
    directory: Directory | None = None,
    present: LiveFacts | None = None,
) -> Verdict:
    """Judge one cluster's plan; `present` is what Kafka shows of it now.

    Raises InvalidInput when the window has too few samples, NotFound where there are none.
    """
    require_analyze_extra()
    from spark_analytics.jobs.clusters import of_each, required  # noqa: PLC0415 - needs the extra

    chosen = settings or PlannerSettings()

    def asked(model: ClusterModel) -> Verdict:
        return verdict(model, plan, chosen)

    shown = {plan.cluster: present} if present else {}
    return required(of_each(spark, lake_url, {plan.cluster: asked}, window, directory, shown))[plan.cluster]


def read_plan(path: Path, cluster: str) -> Plan:
    """Raises InvalidInput when the file can't be read, or says what the format does not allow."""
    try:
        return reassignment_json.read(path.read_text(encoding="utf-8"), cluster)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"plan is {path}: it can't be read: {error}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the verdict is written, whatever it says; 2 with one sentence on stderr when there is none."""
    parser = command.parser("check", "Check a plan that anyone made.")
    parser.add_argument("--plan", required=True, type=Path, help="a file for kafka-reassign-partitions, of one cluster")
    parser.add_argument("--settings", default="{}", help="the planner's settings, as a JSON object")

    def run(job: command.Job) -> object:
        if len(job.clusters) != 1:
            raise InvalidInput(f"cluster is {', '.join(job.clusters)}: a plan is for one, give it alone")
        plan = read_plan(job.options.plan, job.clusters[0])
        with job.session("guardian check") as spark:
            settings = job.settings(job.options.settings)
            return asdict(verdict_of(spark, job.lake, plan, job.window, settings, job.directory))

    return command.carried_out(parser, arguments, run)


if __name__ == "__main__":
    sys.exit(main())
