"""What would happen to the data and the load of one cluster or of all, if.

    python -m spark_analytics.jobs.whatif --lake URL --cluster live --cluster bulk --window 24h \\
        --question '{"kind": "carry", "racks": ["r1"]}' --out answers.json
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from guardian.errors import GuardianError
from guardian.model.directory import Directory
from guardian.model.planner_settings import PlannerSettings
from spark_analytics.jobs import command
from spark_analytics.jobs.session import require_analyze_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from guardian.lake.model.window import Window
    from spark_analytics.model.cluster_model import ClusterModel
    from spark_analytics.whatif.answering import Answer
    from spark_analytics.whatif.questions import Question


def answers(
    spark: SparkSession,
    lake_url: str,
    questions: Mapping[str, Question],
    window: Window,
    settings: PlannerSettings | None = None,
    directory: Directory | None = None,
) -> dict[str, Answer | GuardianError]:
    """Return for each cluster the answer to its question, or why there is none: one may lack the rack that is asked
    about."""
    require_analyze_extra()
    from spark_analytics.jobs.clusters import of_each  # noqa: PLC0415 - needs the extra

    chosen = settings or PlannerSettings()
    asked = {cluster: _asked(question, chosen) for cluster, question in questions.items()}
    return of_each(spark, lake_url, asked, window, directory)


def _asked(question: Question, settings: PlannerSettings) -> Callable[[ClusterModel], Answer]:
    def asked(model: ClusterModel) -> Answer:
        """Runs in a Spark worker."""
        from spark_analytics.whatif.answering import answer  # noqa: PLC0415 - workers load what they need

        return answer(model, question, settings)

    return asked


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the answers are written, 2 with one sentence on stderr when there are none."""
    parser = command.parser("whatif", "Tell what would happen.")
    parser.add_argument("--question", required=True, help="as a JSON object with a kind, such as carry, grow or shrink")
    parser.add_argument("--settings", default="{}", help="the planner's settings, as a JSON object")

    def run(job: command.Job) -> object:
        from spark_analytics.jobs.documents import document_of  # noqa: PLC0415 - needs the extra

        question = job.question(job.options.question)
        settings = job.settings(job.options.settings)
        with job.session("guardian what-if") as spark:
            questions = dict.fromkeys(job.clusters, question)
            found = answers(spark, job.lake, questions, job.window, settings, job.directory)
        return {
            cluster: {"error": str(each)} if isinstance(each, GuardianError) else document_of(each)
            for cluster, each in found.items()
        }

    return command.carried_out(parser, arguments, run)


if __name__ == "__main__":
    sys.exit(main())
