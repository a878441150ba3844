"""The dry run of a removal says the same whether the CLI or Cruise Control's API is asked."""

from __future__ import annotations

import time
from typing import Any

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from tests.command_line import app
from tests.unit.rest.service import Service

URL = "/kafkacruisecontrol/remove_broker?json=true&dryrun=true&brokerid="


def why_not_by_rest(service: Service, *brokers: int) -> str:
    """Empty: it can run."""
    answer = service.web.post(URL + ",".join(map(str, brokers)))
    if answer.status_code == 200:
        return ""
    assert answer.status_code == 500
    return str(answer.json()["errorMessage"])


def why_not_by_cli(service: Service, *brokers: int) -> str:
    arguments = ["broker", "remove", *map(str, brokers), "--cluster", "live", "--no-shutdown", "--dry-run"]
    result = CliRunner().invoke(app, arguments, env={"GUARDIAN_ENDPOINTS": service.member.endpoint, "USER": "ann"})
    if result.exit_code == 0:
        assert "A ticket of kind remove-brokers can run on cluster live" in result.stdout
        return ""
    assert isinstance(result.exception, InvalidInput), result.output
    return str(result.exception)


@pytest.mark.parametrize("brokers", [(9,), (2, 9), (9, 8)])
def test_a_broker_that_is_gone_can_not_be_removed(service: Service, brokers: tuple[int, ...]) -> None:
    said = why_not_by_cli(service, *brokers)
    first = min(broker for broker in brokers if broker > 3)
    assert said == f"broker {first} is not in the model of cluster live: name one of 1, 2, 3"
    assert said in why_not_by_rest(service, *brokers)


def test_brokers_that_are_there_can_be_removed(service: Service) -> None:
    for broker in (2, 3):
        assert (why_not_by_cli(service, broker), why_not_by_rest(service, broker)) == ("", "")


def test_what_the_planner_refuses_is_refused_in_its_words(service: Service) -> None:
    service.planner.failure = InvalidInput("there is no room for t-0")
    assert why_not_by_cli(service, 2) == "nothing was changed: there is no room for t-0"
    assert "there is no room for t-0" in why_not_by_rest(service, 2)
    assert (why_not_by_cli(service, 3), why_not_by_rest(service, 3)) == ("", ""), "nothing is on it"


@pytest.mark.parametrize(("broker", "holds"), [(2, True), (3, False)])
def test_a_broker_is_there_while_it_is_registered_or_holds_something(
    service: Service, broker: int, holds: bool
) -> None:
    service.member.kafka.kill_broker(broker)
    assert (why_not_by_cli(service, broker), why_not_by_rest(service, broker)) == ("", ""), "it is registered"
    assert service.member.kafka.unregister_broker(broker) == ""
    said = why_not_by_cli(service, broker)
    assert said == ("" if holds else "broker 3 is not in the model of cluster live: name one of 1, 2")
    assert said in why_not_by_rest(service, broker)
    assert bool(why_not_by_rest(service, broker)) is not holds


def test_a_plan_that_takes_longer_than_its_client_waits_for_all_else_is_waited_for(service: Service) -> None:
    plan = service.planner.plan

    def made_slowly(*arguments: Any) -> Any:
        time.sleep(1.5)
        return plan(*arguments)

    service.planner.plan = made_slowly  # type: ignore[method-assign, assignment]
    body = {"cluster": "live", "dry_run": True, "ask": {"kind": "remove-brokers", "brokers": [2]}}
    with GuardianClient([service.member.endpoint], timeout_s=1.0) as service.client:
        answer = service.web.post("/api/v1/tickets", json=body)
    assert answer.status_code == 200, answer.text
    assert len(service.planner.asked) == 1
