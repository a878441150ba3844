"""What the commands of all jobs share: which clusters of which lake, which window, where the answer goes."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from guardian.errors import GuardianError, InvalidInput
from guardian.lake.model.window import Window
from guardian.model.directory import Directory
from guardian.model.planner_settings import PlannerSettings
from guardian.model.units import parse_duration_ms
from spark_analytics.jobs.session import local_session, require_analyze_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from guardian.model.tasks import Task
    from spark_analytics.whatif.questions import Question


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its command line asks for it."""

    options: argparse.Namespace
    window: Window

    @property
    def lake(self) -> str:
        return str(self.options.lake)

    @property
    def clusters(self) -> tuple[str, ...]:
        """Those named, else all of the directory. Raises InvalidInput when there is none."""
        named = self.options.cluster or sorted(cluster.name for cluster in self.directory.clusters)
        if not named:
            raise InvalidInput("cluster is not given and the directory names none: use --cluster or --directory")
        return tuple(dict.fromkeys(named))

    @property
    def directory(self) -> Directory:
        """Read what people have told Guardian, if the command names a file with it (`guardian plan` asks a member)."""
        if self.options.directory is None:
            return Directory()
        from spark_analytics.jobs.documents import directory_of  # noqa: PLC0415 - needs the extra

        return directory_of(_json_file("directory", self.options.directory))

    def task(self, text: str) -> Task:
        from spark_analytics.jobs.documents import parsed, task_of  # noqa: PLC0415 - needs the extra

        return task_of(parsed("task", text))

    def question(self, text: str) -> Question:
        from spark_analytics.jobs.documents import parsed, question_of  # noqa: PLC0415 - needs the extra

        return question_of(parsed("question", text))

    def settings(self, text: str) -> PlannerSettings:
        from spark_analytics.jobs.documents import parsed  # noqa: PLC0415 - needs the extra

        table = parsed("settings", text)
        if not isinstance(table, Mapping):
            raise InvalidInput(f"settings is {table!r}: use an object")
        return PlannerSettings.of(table)

    @contextmanager
    def session(self, app: str) -> Iterator[SparkSession]:
        spark = local_session(app, self.options.master, is_large=self.window.is_long)
        try:
            yield spark
        finally:
            spark.stop()


def parser(job: str, does: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog=f"python -m spark_analytics.jobs.{job}", description=does)
    made.add_argument("--lake", required=True, help="URL or path of the metrics lake")
    made.add_argument("--cluster", action="append", help="a cluster's name, may be repeated; all of --directory")
    made.add_argument("--window", default="1h", help="how far back samples count, such as 90s, 10m, 24h")
    made.add_argument("--until", type=int, help="the window's end in ms since the epoch; now when left out")
    made.add_argument("--directory", type=Path, help="JSON with labels, tenants, topics, policies and exclusions")
    made.add_argument("--master", default="local[*]", help="Spark's master; spark-submit's own wins")
    made.add_argument("--out", required=True, type=Path, help="file for the answer, as JSON by cluster")
    return made


def carried_out(made: argparse.ArgumentParser, arguments: Sequence[str] | None, run: Callable[[Job], object]) -> int:
    """0 when the answer is written, 2 with one sentence on stderr when there is none."""
    options = made.parse_args(arguments)
    try:
        require_analyze_extra()
        answer = run(_job(options))
        _write(options.out, answer)
    except GuardianError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _job(options: argparse.Namespace) -> Job:
    until_ms = options.until if options.until is not None else time.time_ns() // 1_000_000
    return Job(options, Window(until_ms - parse_duration_ms("window", options.window), until_ms))


def _json_file(name: str, path: Path) -> object:
    from spark_analytics.jobs.documents import parsed  # noqa: PLC0415 - needs the extra

    try:
        return parsed(f"{name} {path}", path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{name} is {path}: it can't be read: {error}") from error


def _write(path: Path, answer: object) -> None:
    try:
        path.write_text(json.dumps(answer, indent=2) + "\n")
    except OSError as error:
        raise InvalidInput(f"out is {path}: it can't be written: {error.strerror}") from error
