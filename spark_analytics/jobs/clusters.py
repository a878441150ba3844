"""Lake -> windows -> model -> whatever is asked of a cluster, for many clusters at once.

Spark groups the rows by cluster and asks in parallel; only answers come back. What a person can mend comes back as a
sentence, and one cluster's trouble is no other's.
"""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from guardian.errors import GuardianError, InvalidInput, NotFound
from guardian.lake.model.window import Window
from guardian.lake.model.windows import Windows
from guardian.model.cluster_state import LiveFacts
from guardian.model.directory import Directory
from spark_analytics.extensions.installed import known, require_same
from spark_analytics.lake import listing, reader
from spark_analytics.lake.damaged import is_set_aside
from spark_analytics.lake.hosts import hosts_of
from spark_analytics.lake.window import model_of
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.readers.live import live_model

Answer = TypeVar("Answer")
Asked = Callable[[ClusterModel], Answer]
"""Runs in a Spark worker: raises InvalidInput where the cluster is such that there is no answer."""

_LOG = logging.getLogger(__name__)
_ANSWER = pa.schema([("cluster", pa.string()), ("answer", pa.binary()), ("refused", pa.string()), ("bug", pa.string())])
_ANSWER_DDL = "cluster string, answer binary, refused string, bug string"
_MOST_DAMAGED = 20  # files of one window, before it is worth a person's look
_OF_BYTES = frozenset({"", "CANNOT_READ_FILE_FOOTER", "NO_HINT"})
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE\.?([^]]*)\].*?file:? (\S+?)\.?\s")


class UnreadableFile(InvalidInput):
    """Names a file of the lake that Spark could not read, which `is_of_bytes` or of what they mean."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(f"lake file {path} can't be read as Parquet: restore it or remove it")
        self.path = path
        self.is_of_bytes = kind in _OF_BYTES


def of_each(
    spark: SparkSession,
    lake_url: str,
    asked: Mapping[str, Asked[Answer]],
    window: Window,
    directory: Directory | None = None,
    present: Mapping[str, LiveFacts] | None = None,
) -> dict[str, Answer | GuardianError]:
    """Return for each cluster its answer, or why there is none, in the order of `asked`.

    Of a cluster of `present` Kafka says who lives and where replicas are, and the lake only what they cost: the model
    is the one that a member makes of the same lake. Of all others the lake alone tells both.

    Raises InvalidInput when the lake can't be read, NotFound when it lacks all of them. An executor answers only with
    the goals of other packages that are installed here.
    """
    if not asked:
        raise InvalidInput("clusters is empty: name at least one")
    directory = directory or Directory()
    told = {cluster: directory.of_cluster(cluster) for cluster in asked}
    hosts = hosts_of(directory)
    questions, facts = dict(asked), dict(present or {})
    goals = known()

    def ask(group: pa.Table) -> pa.Table:
        cluster = group["cluster"][0].as_py()

        def answer() -> Answer:
            require_same(goals)
            return questions[cluster](model(cluster, group))

        return answered(cluster, answer)

    def model(cluster: str, rows: pa.Table | None) -> ClusterModel:
        if cluster in facts:
            windows = None if rows is None else Windows.of(rows)
            return live_model(facts[cluster], told[cluster], windows, hosts=hosts.get(cluster, {}))
        if rows is None:
            raise InvalidInput(f"cluster {cluster} has no samples between {window}: take a window that has some")
        return model_of(cluster, rows, window, told[cluster], hosts.get(cluster, {}))

    def unseen(cluster: str) -> Answer | GuardianError:
        """Of one without samples in the window."""
        [row] = answered(cluster, lambda: questions[cluster](model(cluster, None))).to_pylist()
        return of_row(row)  # type: ignore[return-value]  # what was asked, as from a worker

    lacking = without_samples(spark, lake_url, list(asked))
    sampled = [cluster for cluster in asked if cluster not in lacking]
    found = gathered_of_lake(
        spark, lambda: in_groups(reader.model_rows(spark, lake_url, sampled, window), len(asked), ask)
    )
    return {
        cluster: lacking[cluster]
        if cluster in lacking
        else of_row(found[cluster])  # type: ignore[misc]  # what the worker has made of the question
        if cluster in found
        else unseen(cluster)
        for cluster in asked
    }


def without_samples(spark: SparkSession, lake_url: str, clusters: Sequence[str]) -> dict[str, NotFound]:
    """Those that the lake lacks, with why they have no answer. Raises NotFound when it lacks all of them."""
    lacking = listing.lacking(spark, lake_url, clusters)
    if len(lacking) == len(set(clusters)):
        raise next(iter(lacking.values()))
    return lacking


def in_groups(rows: DataFrame, clusters: int, ask: Callable[[pa.Table], pa.Table]) -> DataFrame:
    """More tasks than clusters, so that two seldom wait for one another."""
    return rows.repartition(4 * clusters, "cluster").groupBy("cluster").applyInArrow(ask, _ANSWER_DDL)


def answered(cluster: str, answer: Callable[[], object]) -> pa.Table:
    """A row with the answer, or with the sentence that says why there is none."""
    row: dict[str, object] = {"cluster": cluster}
    try:
        row["answer"] = pickle.dumps(answer())
    except InvalidInput as error:
        row["refused"] = str(error)
    except GuardianError as error:
        row["bug"] = str(error)
    except Exception as error:  # noqa: BLE001  # one cluster's trouble is no other's
        _LOG.exception("cluster %s has no answer", cluster)
        row["bug"] = f"cluster {cluster} has no answer, report this: {type(error).__name__}: {error}"
    return pa.Table.from_pylist([row], schema=_ANSWER)


def gathered_of_lake(spark: SparkSession, rows: Callable[[], DataFrame]) -> dict[str, Row]:
    """Gather rows of the lake; where a file of it is damaged, set that aside, and gather rows that are made anew.

    Raises InvalidInput, which names the file, where it can't be set aside.
    """
    for _ in range(_MOST_DAMAGED):
        try:
            return gathered(rows())
        except UnreadableFile as error:
            if not error.is_of_bytes or not is_set_aside(spark, error.path):
                raise
    return gathered(rows())


def gathered(rows: DataFrame) -> dict[str, Row]:
    return {row["cluster"]: row for row in _collect(rows)}


def of_row(row: Row | Mapping[str, Any]) -> object | GuardianError:
    if row["refused"]:
        return InvalidInput(row["refused"])
    if row["bug"]:
        return GuardianError(row["bug"])
    answer: object = pickle.loads(bytes(row["answer"]))  # noqa: S301  # Spark's own workers have pickled it
    return answer


def required(found: Mapping[str, Answer | GuardianError]) -> dict[str, Answer]:
    """All answers. Raises the first reason why there is none."""
    answers: dict[str, Answer] = {}
    for cluster, answer in found.items():
        if isinstance(answer, GuardianError):
            raise answer
        answers[cluster] = answer
    return answers


def _collect(rows: DataFrame) -> Iterable[Row]:
    try:
        return rows.collect()
    except (PySparkException, Py4JJavaError) as error:
        file = _UNREADABLE.search(str(error))
        if file is None:
            raise
        raise UnreadableFile(file[2], file[1]) from error


def same_for(clusters: Sequence[str], asked: Asked[Answer]) -> dict[str, Asked[Answer]]:
    return dict.fromkeys(clusters, asked)
