from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from pyspark.sql import Row

from guardian.errors import GuardianError, InvalidInput
from guardian.lake.model.window import Window
from guardian.lake.model.windows import BROKER, KINDS
from guardian.model.cluster_state import BrokerNode, LiveFacts, LogDir, LogDirReplica, PartitionState
from guardian.model.directory import Directory
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Remove
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.model.wire.plans import plan_from_proto
from protos.guardian.v1 import tickets_pb2
from spark_analytics.jobs import clusters, command, plans, session, whatif
from spark_analytics.jobs.clusters import answered, of_row
from spark_analytics.jobs.plans import main
from spark_analytics.lake import reader
from spark_analytics.lake.listing import table_path
from spark_analytics.planners import planning
from tests.unit.spark_analytics.planners.small import GB, brokers, cluster


def java(directory: Path, version: str) -> str:
    """A JAVA_HOME whose java says that it has this version."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    program.chmod(0o755)
    return str(directory)


@pytest.mark.parametrize("version", ["17.0.15", "21.0.1", "25"])
def test_a_java_that_is_new_enough_passes(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    session.require_java()


@pytest.mark.parametrize(("version", "found"), [("1.8.0_402", "1"), ("11.0.2", "11"), ("x", "of an unknown version")])
def test_an_old_java_is_refused(version: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    with pytest.raises(InvalidInput, match=rf"needs Java 17 or newer, .*java is {found}: apt-get install openjdk-17"):
        session.require_java()


def test_a_missing_java_is_refused_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInput, match="java does not run: apt-get install openjdk-17-jre-headless"):
        session.require_java()


def test_a_missing_extra_is_one_sentence_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "find_spec", lambda module: None if module == "pyspark" else object())
    assert main(["--lake", str(tmp_path), "--cluster", "live", "--out", str(tmp_path / "plans.json")]) == 2
    assert capsys.readouterr().err == (
        "planning needs the analyze extra (pyspark is missing): pip install 'kafka-guardian[analyze]'\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--window", "soon"], "window is 'soon'"),
        (["--settings", '{"target_spread": -1}'], "planner.target_spread is -1"),
        (["--task", '{"kind": "tidy"}'], "task.kind is 'tidy': use one of add-brokers"),
        (["--task", "{"], "task is no JSON at position 1"),
        (["--directory", "/nowhere.json"], "directory is /nowhere.json: it can't be read"),
    ],
)
def test_bad_options_are_one_sentence_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--lake", str(tmp_path), "--cluster", "live", "--out", "plans.json", *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_an_answer_is_there_or_one_sentence_why_not(caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> None:
        raise InvalidInput("too few samples")

    def trip() -> None:
        [].pop()

    def row(answer: Callable[[], object]) -> object:
        return of_row(Row(**answered("live", answer).to_pylist()[0]))

    assert row(lambda: 7) == 7
    refused, bug, unfit = row(refuse), row(trip), row(threading.Lock)
    assert isinstance(refused, InvalidInput)
    assert str(refused) == "too few samples"
    assert str(bug) == "cluster live has no answer, report this: IndexError: pop from empty list"
    assert "cannot pickle" in str(unfit)
    assert "line" in caplog.text  # of the traceback
    assert not caplog.text.count("too few samples")


def test_with_each_cluster_go_the_hosts_that_it_shares_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def table(*clusters: str) -> pa.Table:
        return pa.table({"cluster": list(clusters)})

    brokers = (Broker(1, reporter="h:1"), Broker(2, reporter="i:1"))
    told = Directory(clusters=(Cluster("live", "h:9", brokers=brokers), Cluster("bulk", "h:8", brokers=brokers[:1])))
    monkeypatch.setattr(clusters, "without_samples", lambda *_: {})
    monkeypatch.setattr(reader, "model_rows", lambda *_: None)
    monkeypatch.setattr(clusters, "in_groups", lambda _, __, ask: [ask(table(name)) for name in ("live", "bulk")])
    monkeypatch.setattr(
        clusters, "gathered", lambda answers: {row["cluster"]: row for [row] in (each.to_pylist() for each in answers)}
    )
    monkeypatch.setattr(clusters, "model_of", lambda *given: given[4])

    def sharing(hosts: Any) -> dict[int, int]:
        return {broker: host.brokers for broker, host in hosts.items()}

    found = clusters.of_each(mock.Mock(), "/lake", dict.fromkeys(["live", "bulk"], sharing), Window(1, 2), told)
    assert found == {"live": {1: 2, 2: 1}, "bulk": {1: 2}}


def test_kafka_says_who_lives_where_it_was_asked_and_a_window_without_samples_is_no_reason_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = pa.unify_schemas([*KINDS.values()])
    rows = kinds.append(pa.field("kind", pa.string())).append(pa.field("cluster", pa.string())).empty_table()
    seven = pa.Table.from_pylist([{"kind": BROKER, "cluster": "live", "broker": 1, "samples": 7}], rows.schema)
    monkeypatch.setattr(clusters, "without_samples", lambda *_: {})
    monkeypatch.setattr(reader, "model_rows", lambda *_: None)
    monkeypatch.setattr(clusters, "in_groups", lambda _, __, ask: [ask(seven)])
    monkeypatch.setattr(
        clusters, "gathered", lambda answers: {row["cluster"]: row for [row] in (each.to_pylist() for each in answers)}
    )
    present = {
        name: LiveFacts(
            name,
            7,
            {1: BrokerNode(1, "h", 9092)},
            {TopicPartition("t", 0): PartitionState(1, (1, 2), (1,))},
            {},
            (LogDir(1, "/d", replicas={TopicPartition("t", 0): LogDirReplica(5, 0, False)}),),
        )
        for name in ("live", "new")
    }
    asked = dict.fromkeys(["live", "new", "old"], lambda model: model.input)
    found = clusters.of_each(mock.Mock(), "/lake", asked, Window(1, 2), None, present)
    shown = "Kafka itself: 1 partitions on 1 live brokers"
    assert found["live"] == f"{shown}, rates of 1 of them from the lake; broker 2 is dead"
    assert found["new"] == f"{shown}, no rates: the lake has no new samples; broker 2 is dead"
    assert str(found["old"]).startswith("cluster old has no samples between")


def test_clusters_are_those_named_or_all_of_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []

    def answers(_: object, __: str, questions: Mapping[str, object], *___: object) -> dict[str, object]:
        asked.append(list(questions))
        return {}

    monkeypatch.setattr(command.Job, "session", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(whatif, "answers", answers)
    directory = tmp_path / "directory.json"
    directory.write_text('{"clusters": [{"name": "b", "bootstrap": "h:1"}, {"name": "a", "bootstrap": "h:2"}]}')
    question = ["--question", '{"kind": "carry", "brokers": [1]}', "--lake", "/lake", "--out", str(tmp_path / "out")]
    assert whatif.main([*question, "--directory", str(directory)]) == 0
    assert whatif.main([*question, "--directory", str(directory), "--cluster", "b"]) == 0
    assert asked == [["a", "b"], ["b"]]
    assert whatif.main(question) == 2
    assert capsys.readouterr().err == (
        "cluster is not given and the directory names none: use --cluster or --directory\n"
    )


@pytest.mark.parametrize(
    ("lake", "path"),
    [
        ("/var/lake/", "/var/lake/t"),
        ("file:///var/lake", "file:///var/lake/t"),
        ("hdfs://nn:8020/lake", "hdfs://nn:8020/lake/t"),
        ("s3://bucket/lake", "s3a://bucket/lake/t"),
        ("s3a://bucket/lake", "s3a://bucket/lake/t"),
    ],
)
def test_the_members_url_of_the_lake_is_put_in_hadoops_words(lake: str, path: str) -> None:
    assert table_path(lake, "t") == path


def test_a_plan_that_does_too_little_says_so_and_one_that_breaks_a_rule_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = cluster(brokers(4), {"t-0": ((1, 2), 10)})
    made = plans._planned(Remove((1,)), PlannerSettings())

    def answer(*targets: tuple[int, ...]) -> Plan:
        moves = tuple(_moved((1, 2), target) for target in targets)
        monkeypatch.setattr(planning, "make", lambda *_: Plan("live", "remove-brokers", moves))
        return plan_from_proto(tickets_pb2.Plan.FromString(made(model)))

    assert answer((3, 2)).unmet == ()
    (sentence,) = answer().unmet
    assert sentence.startswith("broker 1 keeps 1 replicas")
    with pytest.raises(GuardianError, match="breaks a rule and is dropped, report this: the number of replicas"):
        answer((2,))


def _moved(original: tuple[int, ...], target: tuple[int, ...]) -> PartitionMove:
    there, then = (tuple(ReplicaPlacement(broker, "/d") for broker in each) for each in (original, target))
    return PartitionMove(TopicPartition("t", 0), there, then, size_bytes=10 * GB)
