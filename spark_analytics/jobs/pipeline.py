"""Lake -> windows -> model -> plan -> checked, for many clusters at once.

Spark groups the rows by cluster and runs the pure planner on each group, in parallel; only finished plans come back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from guardian.errors import GuardianError, InvalidInput
from guardian.model.plan import Plan
from guardian.wire.plans import plan_from_proto, plan_to_bytes
from protos.guardian.v1 import tickets_pb2
from spark_analytics.checker import check
from spark_analytics.lake import reader
from spark_analytics.lake.window import Window, model_of
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.load import load_now, summaries
from spark_analytics.planners import balance
from spark_analytics.planners.settings import BalanceSettings

_Maker = Callable[[ClusterModel], Plan]

_ANSWER = pa.schema(
    [("cluster", pa.string()), ("plan", pa.binary()), ("refused", pa.string()), ("broken", pa.string())]
)
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE[^]]*\].*?file:? (\S+?)\.?\s")
_ANSWER_DDL = "cluster string, plan binary, refused string, broken string"


def balanced(
    spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window, settings: BalanceSettings
) -> dict[str, Plan]:
    return _each_cluster(spark, lake_url, clusters, window, lambda model: balance.plan(model, settings), settings)


def measured(spark: SparkSession, lake_url: str, clusters: Sequence[str], window: Window) -> dict[str, Plan]:
    """Plans without moves: their load tables say how things are."""
    return _each_cluster(spark, lake_url, clusters, window, _as_it_is, BalanceSettings())


def _as_it_is(model: ClusterModel) -> Plan:
    load = load_now(model)
    return Plan(model.cluster, "measure", (), model.at_ms, model.input, summaries(model, load, load))


def _each_cluster(
    spark: SparkSession,
    lake_url: str,
    clusters: Sequence[str],
    window: Window,
    make: _Maker,
    settings: BalanceSettings,
) -> dict[str, Plan]:
    if not clusters:
        raise InvalidInput("clusters is empty: name at least one")
    rows = reader.model_rows(spark, lake_url, clusters, window)

    def answer(group: pa.Table) -> pa.Table:
        return pa.Table.from_pylist([_answer(group, window, make, settings)], schema=_ANSWER)

    # More partitions than clusters, so that two clusters seldom wait for one another.
    groups = rows.repartition(4 * len(clusters), "cluster").groupBy("cluster")
    answers = {row["cluster"]: row for row in _collect(groups.applyInArrow(answer, _ANSWER_DDL))}
    return {cluster: _plan(cluster, answers.get(cluster), window) for cluster in dict.fromkeys(clusters)}


def _answer(group: pa.Table, window: Window, make: _Maker, settings: BalanceSettings) -> dict[str, object]:
    """Runs in a Spark worker. What a person can mend comes back as a sentence, not as a stack trace."""
    cluster = group["cluster"][0].as_py()
    try:
        model = model_of(cluster, group, window)
        plan = make(model)
    except GuardianError as error:
        return {"cluster": cluster, "refused": str(error)}
    violations = check(model, plan, settings)
    if violations:
        return {"cluster": cluster, "broken": f"{violations[0]} (violations: {len(violations)})"}
    return {"cluster": cluster, "plan": plan_to_bytes(plan)}


def _plan(cluster: str, answer: Row | None, window: Window) -> Plan:
    if answer is None:
        raise InvalidInput(f"cluster {cluster} has no samples between {window}: take a window that has some")
    if answer["refused"]:
        raise InvalidInput(answer["refused"])
    if answer["broken"]:
        raise GuardianError(
            f"the plan for cluster {cluster} breaks a rule and is dropped, report this: {answer['broken']}"
        )
    return plan_from_proto(tickets_pb2.Plan.FromString(bytes(answer["plan"])))


def _collect(rows: DataFrame) -> Iterable[Row]:
    try:
        return rows.collect()
    except (PySparkException, Py4JJavaError) as error:
        file = _UNREADABLE.search(str(error))
        if file is None:
            raise
        raise InvalidInput(f"lake file {file[1]} can't be read as Parquet: restore it or remove it") from error
