"""What becomes of a question where Spark can't read a file of the lake; the integration tests ask Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from pyspark.errors import PySparkException

from guardian.errors import InvalidInput
from spark_analytics.jobs import clusters

FILE = "file:///lake/disk_samples/cluster=live/hour=2026-09-21T14/g1-{}.parquet"


class Rows:
    """As a data frame of a lake, of which some files are left that Spark can't read."""

    def __init__(self, left: list[str], kind: str) -> None:
        self._left = left
        self._kind = kind

    def collect(self) -> Iterable[Any]:
        if self._left:
            raise PySparkException(
                f"[FAILED_READ_FILE{self._kind}] Encountered error while reading file {self._left[0]}. SQLSTATE: KD001"
            )
        return [{"cluster": "live"}]


def asked(
    monkeypatch: pytest.MonkeyPatch, left: list[str], kind: str = ".NO_HINT", is_moved: Callable[[str], bool] = bool
) -> dict[str, Any]:
    def is_set_aside(_: object, path: str) -> bool:
        if is_moved(path):
            left.remove(path)
        return is_moved(path)

    monkeypatch.setattr(clusters, "is_set_aside", is_set_aside)
    rows: Any = lambda: Rows(left, kind)  # noqa: E731
    spark: Any = None
    return clusters.gathered_of_lake(spark, rows)


@pytest.mark.parametrize("kind", ["", ".NO_HINT", ".CANNOT_READ_FILE_FOOTER"])
def test_rows_are_made_anew_without_each_damaged_file(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    left = [FILE.format(number) for number in range(20)]
    assert list(asked(monkeypatch, left, kind)) == ["live"]
    assert left == []


def test_a_file_that_stays_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"^lake file \S+g1-1.parquet can't be read as Parquet: restore it"):
        asked(monkeypatch, [FILE.format(1)], is_moved=lambda _: False)


def test_a_file_of_other_columns_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [FILE.format(1)]
    with pytest.raises(InvalidInput, match="can't be read as Parquet"):
        asked(monkeypatch, left, ".PARQUET_COLUMN_DATA_TYPE_MISMATCH")
    assert left == [FILE.format(1)]


def test_a_lake_of_damage_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [FILE.format(number) for number in range(30)]
    with pytest.raises(InvalidInput, match=r"g1-20.parquet can't be read"):
        asked(monkeypatch, left)
    assert len(left) == 10
