"""`guardian cluster list` and `broker list`: what serves now is told, and what nobody knows is no zero."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from guardian.errors import Unavailable
from guardian.federation.commands import broker, cluster
from guardian.model.topology import Broker, Cluster
from protos.guardian.v1 import insight_pb2 as pb
from tests.command_line import app

LIVE = Cluster("live", "k1:9092", brokers=(Broker(1, rack="r1"), Broker(2), Broker(3)))
BULK = Cluster("bulk", "b1:9092", brokers=(Broker(1),))
SEEN = pb.FindingsReport(
    findings=[pb.Finding(kind=pb.BROKER_DOWN, cluster="live"), pb.Finding(kind=pb.TOPIC_AT_RISK, cluster="live")],
    brokers=[pb.BrokersSeen(cluster="live", alive=[1, 3], looked_at_ms=5)],
)


class Guardian:
    """The client's part that the lists use; without a report no leader answers."""

    def __init__(self, report: pb.FindingsReport | None) -> None:
        self._report = report

    def __enter__(self) -> Guardian:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def list_clusters(self) -> tuple[Cluster, ...]:
        return (BULK, LIVE)

    def findings(self) -> pb.FindingsReport:
        if self._report is None:
            raise Unavailable("nobody leads")
        return self._report


def run(monkeypatch: pytest.MonkeyPatch, report: pb.FindingsReport | None, *words: str) -> Any:
    for module in (broker, cluster):
        monkeypatch.setattr(module, "connect", lambda _: Guardian(report))
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(printed: str) -> list[list[str]]:
    return [line.replace("not known", "?").split() for line in printed.splitlines()[1:]]


def test_clusters_have_a_row_each_with_how_many_brokers_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows(run(monkeypatch, SEEN, "cluster", "list")) == [
        ["bulk", "1", "?", "?", "b1:9092"],
        ["live", "3", "2", "of", "3", "2", "k1:9092"],
    ]
    told = json.loads(run(monkeypatch, SEEN, "cluster", "list", "-o", "json"))
    assert [(each["name"], each["serving"]) for each in told] == [("bulk", None), ("live", [1, 3])]


def test_brokers_say_whether_they_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    served = [row[:3] for row in rows(run(monkeypatch, SEEN, "broker", "list"))]
    assert served == [["bulk", "1", "?"], ["live", "1", "yes"], ["live", "2", "NO"], ["live", "3", "yes"]]
    told = json.loads(run(monkeypatch, SEEN, "broker", "list", "--cluster", "live", "-o", "json"))
    assert [(each["id"], each["serves"]) for each in told] == [(1, True), (2, False), (3, True)]


def test_without_a_leader_nothing_is_known_and_the_lists_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [row[2:4] for row in rows(run(monkeypatch, None, "cluster", "list"))] == [["?", "?"], ["?", "?"]]
    assert {row[2] for row in rows(run(monkeypatch, None, "broker", "list"))} == {"?"}


def test_a_cluster_whose_brokers_all_serve_has_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    report = pb.FindingsReport(brokers=[pb.BrokersSeen(cluster="bulk", alive=[1]), pb.BrokersSeen(cluster="live")])
    assert rows(run(monkeypatch, report, "cluster", "list")) == [
        ["bulk", "1", "1", "0", "b1:9092"],
        ["live", "3", "0", "of", "3", "0", "k1:9092"],
    ]
