"""A Spark session for one command, where the analyze extra is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from guardian.cli.printing import echo, echo_text
from guardian.errors import GuardianError, InvalidInput
from guardian.lake.model.window import Window
from guardian.model.units import human_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception): ")


@contextmanager
def analysing(app: str, lake: str, window: tuple[int, int], master: str) -> Iterator[tuple[SparkSession, Window]]:
    """Says what is read, and stops the session at the end. Raises InvalidInput when the analyze extra is missing."""
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        from spark_analytics.jobs.session import local_session
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"`{app}` needs {error.name}, which is not installed: pip install 'kafka-guardian[analyze]'"
        ) from None
    asked = Window(*window)
    length = human_duration(asked.to_ms - asked.from_ms)
    echo(f"Reading {length} of the lake {lake} with Spark ({master})...", err=True)
    try:
        with local_session(app, master, asked.is_long) as spark:
            yield spark, asked
    except (PySparkException, Py4JError) as error:
        # What Spark says is for whoever mends it; the sentence below it is for whoever runs the command.
        echo_text(f"{error}\n", err=True)
        raise GuardianError(
            f"`{app}` failed in Spark: {_cause(str(error))}: report this with the lines above"
        ) from None


def _cause(trace: str) -> str:
    """The last line that names an exception, else the first line."""
    lines = trace.splitlines() or [""]
    return next((line.strip() for line in reversed(lines) if _EXCEPTION.match(line)), lines[0])
