"""Dashboards and rules are whole, and ask for nothing that neither a broker nor a member serves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from deploy.grafana.boards import BOARDS
from deploy.grafana.build import text_of
from guardian.activity.store.store import StoreStatus
from guardian.client import GuardianClient
from guardian.collection.loop.counting import CollectionCounters
from guardian.events.loop.sinks import EventSinks
from guardian.events.model import sinks_of
from guardian.federation.service.tenancy import TopicTenants
from guardian.lake.store.writer import LakeStatus
from guardian.member.metrics import Measured, MemberMetrics
from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.federation import Entry, Tenant, Topic
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.wire.entries import entry_to_proto
from guardian.security.model.certificate import CertificateLife
from guardian.serving.counting import LoopCounters, Method
from protos.guardian.v1 import federation_pb2, tiering_pb2
from raft.configuration import Role
from raft.protocol import MemberStatus
from tests.command_line import mistake_in
from tests.unit.deploy.monitoring import (
    DASHBOARDS,
    PROMETHEUS,
    TARGET_LABELS,
    broker_metrics,
    dashboard_uses,
    dashboards,
    recorded,
    rule_uses,
    rules,
    use_of,
)
from tests.unit.member.member import Member, plan

NAMES = sorted(BOARDS)
OF_PROMETHEUS = {"up": frozenset[str](), "ALERTS": frozenset({"alertname", "alertstate"})}


@pytest.fixture
def member_metrics(monkeypatch: pytest.MonkeyPatch) -> dict[str, frozenset[str]]:
    """By sample the labels, of the pages of a member to which everything has happened once."""
    member = Member()
    # What a group of several knows beside: a real member is asked in tests/integration/deploy/test_monitoring.py.
    status = replace(
        member.replica.status(),
        staleness_s=0.1,
        members=(MemberStatus("g1", "h:1", Role.VOTER, is_connected=True, match_index=1),),
        counters={"proposals_waiting": 1, "reads_waiting": 1, "elections": 1, "refused_garbage": 1},
    )
    monkeypatch.setattr(member.replica, "status", lambda: status)
    try:
        return _samples(member)
    finally:
        member.stop()


def _samples(member: Member) -> dict[str, frozenset[str]]:
    entries: list[Entry] = [Tenant("pay"), Topic("live", "t", tenant="pay")]
    with GuardianClient([member.endpoint]) as client:
        client.change_federation([federation_pb2.FederationChange(put=entry_to_proto(entry)) for entry in entries])
    with member.calls.one(Method("s", "m"), is_unary=True, context=None):
        pass
    member.counters.refused_appends[tiering_pb2.INVALID_TRANSITION] += 1
    member.counters.claims["NOT_VERIFIED"] += 1
    _run_a_ticket(member)
    member.now_ms = 1_790_000_000_000
    member.findings.tick()
    sinks = EventSinks(
        member.store, sinks_of("sinks", [{"name": "s", "kind": "slack", "url": "http://h"}]), 1, lambda: 1
    )
    measured = Measured(
        member.store,
        list,
        CollectionCounters(),
        lambda: LakeStatus(last_written_at=1.0, last_failed_at=1.0),
        StoreStatus,
        member.counters,
        member.calls,
        {"executor": LoopCounters()},
        member.findings,
        sinks,
        lambda: [CertificateLife("g1", "grpc_tls", "certificate", "/etc/guardian/g1.pem", 0, 1)],
    )
    sinks.close()
    registry = CollectorRegistry()
    registry.register(MemberMetrics(measured))
    registry.register(TopicTenants(member.store.read_local))
    found: dict[str, frozenset[str]] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, frozenset()) | set(sample.labels)
    return found


def _run_a_ticket(member: Member) -> None:
    """One that has begun, so that it can be told what is left of it and how long that takes."""
    with GuardianClient([member.endpoint]) as client:
        ticket, resolved = client.create_ticket(plan(3, 2), author="ann", submit=True)
        client.approve(ticket.id, "ben", "")
    task = ExecutionTask(1, replace(resolved.moves[0], size_bytes=1_000_000), TaskState.RUNNING, started_at_ms=1)
    begins = TicketTransition(TicketState.RUNNING, 1, Agent.EXECUTOR, "")
    member.store.advance(ticket.id, TicketState.APPROVED, begins, Execution(ticket.id, (task,)), 0)


def panels(board: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (panel for panel in board["panels"] if panel["type"] != "row")


@pytest.mark.parametrize("name", NAMES)
def test_a_dashboard_is_what_its_data_says(name: str) -> None:
    """`python -m deploy.grafana.build` writes it anew."""
    assert (DASHBOARDS / f"{name}.json").read_text() == text_of(BOARDS[name])


def test_there_are_no_other_dashboards_and_each_has_its_own_uid() -> None:
    found = dashboards()
    assert sorted(found) == NAMES
    assert {board["uid"] for board in found.values()} == {
        "guardian-fleet",
        "guardian-broker",
        "guardian-disk",
        "guardian-topic",
        "guardian-tenant",
        "guardian-members",
    }


@pytest.mark.parametrize("name", NAMES)
def test_panels_have_their_place_their_source_and_their_queries(name: str) -> None:
    board = dashboards()[name]
    assert max(Counter(panel["id"] for panel in board["panels"]).values()) == 1
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        grid = panel["gridPos"]
        cells = {(grid["x"] + x, grid["y"] + y) for x in range(grid["w"]) for y in range(grid["h"])}
        assert not cells & taken, panel["title"]
        assert all(0 <= x < 24 for x, _ in cells), panel["title"]
        taken |= cells
    for panel in panels(board):
        assert panel["type"] in ("timeseries", "stat", "table")
        assert panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["targets"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])


@pytest.mark.parametrize("name", NAMES)
def test_variables_that_are_used_are_there_and_the_other_way_round(name: str) -> None:
    board = dashboards()[name]
    text = (DASHBOARDS / f"{name}.json").read_text()
    used = set(re.findall(r"\$\{?([a-z]+)", text)) - {"__rate_interval", "__all"}
    assert {variable["name"] for variable in board["templating"]["list"]} == used
    assert board["templating"]["list"][0]["type"] == "datasource"


def test_every_metric_and_label_that_is_asked_for_is_served(member_metrics: dict[str, frozenset[str]]) -> None:
    known = {**broker_metrics(), **member_metrics, **recorded(), **OF_PROMETHEUS}
    wrong = []
    for use in (*dashboard_uses(), *rule_uses()):
        unknown = use.metrics - known.keys()
        labels = TARGET_LABELS.union(*(known[metric] for metric in use.metrics & known.keys()))
        if unknown or not use.metrics:
            wrong.append(f"{use.where}: {sorted(unknown)} is no metric")
        elif use.labels - labels:
            wrong.append(f"{use.where}: {sorted(use.labels - labels)} is no label")
    assert wrong == []


def test_the_list_of_brokers_metrics_has_those_that_are_asked_for_and_no_others() -> None:
    asked = frozenset[str]().union(*(use.metrics for use in (*dashboard_uses(), *rule_uses())))
    of_brokers = ("kafka_", "node_", "jvm_", "process_", "guardian_log_dir_")
    assert set(broker_metrics()) == {name for name in asked if name.startswith(of_brokers)}


def test_recorded_metrics_are_used() -> None:
    asked = frozenset[str]().union(*(use.metrics for use in (*dashboard_uses(), *rule_uses())))
    assert recorded().keys() <= asked


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in rules("alerts.yml"):
        assert rule["labels"]["severity"] in ("critical", "warning"), rule["alert"]
        assert re.search(r"[:,?] ", rule["annotations"]["summary"]), rule["alert"]


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    cases = yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text())["tests"]
    fired = Counter(
        re.search(r'alertname="(\w+)"', expression["expr"])[1]  # type: ignore[index]
        for case in cases
        for expression in case.get("promql_expr_test", ())
        if expression["expr"].startswith("ALERTS{") and expression["exp_samples"]
    )
    assert set(fired) == {rule["alert"] for rule in rules("alerts.yml")}


def test_every_alert_that_waits_has_a_case_in_which_it_waits() -> None:
    cases = yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text())["tests"]
    silent: dict[str, int] = {}
    fires: dict[str, int] = {}
    for expression in (each for case in cases for each in case.get("promql_expr_test", ())):
        alert = re.search(r'^ALERTS\{alertname="(\w+)"', expression["expr"])
        if alert:
            minute = int(expression["eval_time"].removesuffix("m"))
            known = fires if expression["exp_samples"] else silent
            known[alert[1]] = min(minute, known.get(alert[1], minute))
    # An alert on what another group records may see it a minute late.
    late = {rule["alert"]: 1 + (":" in rule["expr"]) for rule in rules("alerts.yml") if "for" in rule}
    assert {alert: fires[alert] - silent[alert] for alert in late} == late


def _commands() -> Iterator[str]:
    texts = [rule["annotations"]["summary"] for rule in rules("alerts.yml")]
    texts += [panel["description"] for board in dashboards().values() for panel in panels(board)]
    texts += [board["description"] for board in dashboards().values()]
    for text in texts:
        yield from re.findall(r"`(guardian [^`]+)`", text)


@pytest.mark.parametrize("line", sorted(set(_commands())))
def test_a_command_that_is_advised_can_be_typed(line: str) -> None:
    assert not mistake_in(line)


def test_names_and_labels_are_found_in_an_expression() -> None:
    use = use_of("", 'sum by (le, a) (rate(m_total{b="x y", c!~"d"}[5m])) / on (e) group_left () n:o:p > 1e3 and 2 * q')
    assert use.metrics == {"m_total", "n:o:p", "q"}
    assert use.labels == {"le", "a", "b", "c", "e"}
