"""Plans, of any kind, for many clusters in one run.

    python -m spark_analytics.jobs.plans --lake URL --cluster live --task '{"kind": "balance"}' --out plans.json

The same file goes to spark-submit. Every plan is checked before it is shown, by who did not make it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from google.protobuf.json_format import MessageToDict

from guardian.errors import GuardianError
from guardian.model.cluster_state import LiveFacts
from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.model.wire.plans import plan_from_proto, plan_to_bytes, plan_to_proto
from protos.guardian.v1 import tickets_pb2
from spark_analytics.jobs import command
from spark_analytics.jobs.session import require_analyze_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from guardian.lake.model.window import Window
    from spark_analytics.model.cluster_model import ClusterModel


def plans(
    spark: SparkSession,
    lake_url: str,
    tasks: Mapping[str, Task],
    window: Window,
    settings: PlannerSettings | None = None,
    directory: Directory | None = None,
    present: Mapping[str, LiveFacts] | None = None,
) -> dict[str, Plan]:
    """A checked plan for each cluster of `tasks`. The same lake gives the same plans; with `present`, what Kafka shows
    of a cluster now, its plan is the one that a member makes of the same window, to the byte.

    Raises InvalidInput when the window has too few samples of a broker, a task can't be done or a lake file is broken.
    Raises NotFound when the lake has nothing of a cluster, GuardianError when a plan broke a rule.
    """
    from spark_analytics.jobs.clusters import required  # noqa: PLC0415 - needs the extra

    return required(outcomes(spark, lake_url, tasks, window, settings, directory, present))


def outcomes(
    spark: SparkSession,
    lake_url: str,
    tasks: Mapping[str, Task],
    window: Window,
    settings: PlannerSettings | None = None,
    directory: Directory | None = None,
    present: Mapping[str, LiveFacts] | None = None,
) -> dict[str, Plan | GuardianError]:
    """Return outcomes as `plans` does, but a cluster without a plan says why, and the others have theirs."""
    require_analyze_extra()
    from spark_analytics.jobs.clusters import of_each  # noqa: PLC0415 - needs the extra

    chosen = settings or PlannerSettings()
    asked = {cluster: _planned(task, chosen) for cluster, task in tasks.items()}
    found = of_each(spark, lake_url, asked, window, directory, present)
    return {cluster: _read(answer) for cluster, answer in found.items()}


def _planned(task: Task, settings: PlannerSettings) -> Callable[[ClusterModel], bytes]:
    def planned(model: ClusterModel) -> bytes:
        """Runs in a Spark worker."""
        from spark_analytics.checker import check  # noqa: PLC0415 - workers load what they need
        from spark_analytics.checker.checked import checked  # noqa: PLC0415
        from spark_analytics.planners.planning import make  # noqa: PLC0415

        plan = make(model, task, settings)
        return plan_to_bytes(checked(plan, check(model, plan, settings, task)))

    return planned


def _read(answer: bytes | GuardianError) -> Plan | GuardianError:
    return answer if isinstance(answer, GuardianError) else plan_from_proto(tickets_pb2.Plan.FromString(answer))


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the plans are written, 2 with one sentence on stderr when they can't be made."""
    parser = command.parser("plans", "Make plans.")
    parser.add_argument("--task", default='{"kind": "balance"}', help="what to plan, as a JSON object with a kind")
    parser.add_argument("--settings", default="{}", help="the planner's settings, as a JSON object")

    def run(job: command.Job) -> object:
        task = job.task(job.options.task)
        settings = job.settings(job.options.settings)
        with job.session("guardian plans") as spark:
            made = plans(spark, job.lake, dict.fromkeys(job.clusters, task), job.window, settings, job.directory)
        return {
            cluster: MessageToDict(plan_to_proto(plan), preserving_proto_field_name=True)
            for cluster, plan in made.items()
        }

    return command.carried_out(parser, arguments, run)


if __name__ == "__main__":
    sys.exit(main())
