from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from guardian.cli import tree
from guardian.errors import InvalidInput
from guardian.federation.commands import broker
from guardian.model.ticket import Ticket, TicketState
from guardian.tickets.commands import requests
from guardian.tickets.kinds.registry import KINDS
from guardian.tickets.kinds.requested import RequestKind
from protos.guardian.v1 import federation_pb2
from tests.command_line import app


class Guardian:
    """The client's part that the command uses."""

    def __enter__(self) -> Guardian:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def broker_metrics(self, cluster: str, broker_id: int) -> federation_pb2.BrokerMetrics:
        assert (cluster, broker_id) == ("live", 7)
        return federation_pb2.BrokerMetrics(
            collected_at_ms=5, names=["a:Value", "b:Count", "c:Value"], values=[0.25, 12345678.0, float("nan")]
        )

    def create_ticket(self, plan: object, **_: object) -> tuple[Ticket, object]:
        """As if it had been asked for with the same key before."""
        return Ticket("t-1", "live", "throttle-override", TicketState.RUNNING, "ann", "h", 0, 0, 0), plan


@pytest.fixture(autouse=True)
def guardian(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (broker, requests):
        monkeypatch.setattr(module, "connect", lambda _: Guardian())


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["broker", "metrics", "--cluster", "live", "7", *arguments])


def test_all_metrics_are_lines_with_whole_numbers_as_they_are() -> None:
    lines = [line.split() for line in run().stdout.splitlines()]
    assert lines == [["METRIC", "VALUE"], ["a:Value", "0.25"], ["b:Count", "12345678"], ["c:Value", "nan"]]


def test_a_filter_leaves_the_names_that_have_it_and_says_when_none_has() -> None:
    assert [line.split()[0] for line in run("--filter", "^[ab]:").stdout.splitlines()[1:]] == ["a:Value", "b:Count"]
    assert run("--filter", "zebra").stdout == "none of 3 metrics has a name with 'zebra'\n"


def test_json_has_no_numbers_that_json_does_not_know() -> None:
    assert json.loads(run("-o", "json").stdout) == {
        "collected_at_ms": 5,
        "values": {"a:Value": 0.25, "b:Count": 12345678.0, "c:Value": None},
    }


def test_a_filter_that_is_no_regular_expression_is_told() -> None:
    failed = run("--filter", "(")
    assert isinstance(failed.exception, InvalidInput)
    assert str(failed.exception).startswith("filter is '(', which is no regular expression: missing )")


def test_a_ticket_that_is_approved_already_is_not_said_to_need_it() -> None:
    shown = CliRunner().invoke(app, ["broker", "throttle", "--cluster", "live", "7", "20MB", "--for", "8h"])
    assert shown.stdout.splitlines()[0] == "Ticket t-1 is RUNNING."


def test_each_kind_that_sends_requests_has_its_command() -> None:
    commands = {kind.command for kind in KINDS.values() if isinstance(kind, RequestKind)}
    assert {noun for noun, _ in commands} == set(tree._WITH_REQUESTS)
    for noun, verb in commands:
        shown = CliRunner().invoke(app, [noun, verb, "--help"])
        assert (shown.exit_code, "--dry-run" in shown.output) == (0, True), shown.output
