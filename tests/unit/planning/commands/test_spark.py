"""A command's Spark session, with Spark played by plain objects."""

from __future__ import annotations

import contextlib

import pytest
from pyspark.errors import PySparkException

from guardian.errors import GuardianError, InvalidInput
from guardian.planning.commands.spark import analysing
from spark_analytics.jobs import session

TRACE = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "clusters.py", line 56, in ask
IndexError: index 1 is out of bounds
"""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "local_session", lambda *_: contextlib.nullcontext(None))


def test_a_failure_of_spark_ends_in_one_sentence_below_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        pytest.raises(GuardianError, match=r"^`guardian plan` failed in Spark: IndexError: index 1 is out of bounds"),
        analysing("guardian plan", "/lake", (0, 600_000), "local[2]"),
    ):
        raise PySparkException(TRACE)

    told = capsys.readouterr().err
    assert "Reading 10 min of the lake /lake with Spark (local[2])" in told
    assert TRACE in told


def test_what_guardian_refuses_is_passed_on_as_it_is() -> None:
    with (
        pytest.raises(InvalidInput, match=r"^take a longer window$"),
        analysing("guardian plan", "/lake", (0, 60_000), "local[2]"),
    ):
        raise InvalidInput("take a longer window")
