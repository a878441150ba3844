"""Failures in Cruise Control's words: the status that its clients read the reason of, and brokers that do not exist."""

from __future__ import annotations

import re

import pytest

from guardian import errors
from guardian.errors import GuardianError, InvalidInput, NotAllowed, NotFound, NotSignedIn, Overloaded, Unavailable
from guardian.planning.model import LineFull
from guardian.rest.cruise_control.failures import NoSuchBrokers, document_of, reason_of, status_of
from tests.unit.rest.service import Service

BASE = "/clusters/live/kafkacruisecontrol"
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GuardianError)]


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_fails_as_a_request_is_carried_out_is_500_but_for_who_asks(kind: type[GuardianError]) -> None:
    known = {NotSignedIn: 401, NotAllowed: 403}
    assert status_of(kind("why"), has_begun=True) == known.get(kind, 500)
    before = known | {InvalidInput: 400, NotFound: 404}
    assert status_of(kind("why"), has_begun=False) == before.get(kind, 500)


def test_each_broker_that_is_gone_is_said_in_the_words_that_clients_look_for() -> None:
    reason = reason_of(NoSuchBrokers("broker 8 is not there", (9, 8)))
    assert reason == (
        "java.lang.IllegalArgumentException: Broker 8 does not exist. Broker 9 does not exist. broker 8 is not there"
    )
    assert reason_of(InvalidInput("nothing can be planned")) == "nothing can be planned"


@pytest.mark.parametrize("dry", ["true", "false"])
@pytest.mark.parametrize(
    "request_line",
    [
        "add_broker?brokerid=1,9",
        "remove_broker?brokerid=9",
        "demote_broker?brokerid=9",
        "rebalance?destination_broker_ids=9",
        "remove_disks?brokerid_and_logdirs=9-/d0",
    ],
)
def test_a_broker_that_does_not_exist_is_known_by_that(service: Service, request_line: str, dry: str) -> None:
    answer = service.web.post(f"{BASE}/{request_line}&json=true&dryrun={dry}")
    said = answer.json()["errorMessage"]
    assert answer.status_code == 500
    assert "java.lang.IllegalArgumentException: Broker 9 does not exist." in said
    assert "broker 9 is not in the model of cluster live: name one of 1, 2, 3" in said
    assert (service.planner.asked, service.client.tickets()) == ([], ())


def test_a_broker_that_is_down_exists_while_it_is_registered_or_holds_something(service: Service) -> None:
    kafka = service.member.kafka
    kafka.kill_broker(2)
    kafka.kill_broker(3)
    assert service.web.post(f"{BASE}/remove_broker?brokerid=2").status_code == 200
    assert len(service.planner.asked) == 1
    empty = service.web.post(f"{BASE}/remove_broker?brokerid=3&json=true")
    assert empty.status_code == 200
    assert "Nothing is on brokers 3: no replica has to move." in empty.json()["guardian"]["notes"]
    assert len(service.planner.asked) == 1, "the planner knows nothing of a broker that is down and empty"
    assert kafka.unregister_broker(2) == kafka.unregister_broker(3) == ""
    assert service.web.post(f"{BASE}/remove_broker?brokerid=2").status_code == 200
    assert service.web.post(f"{BASE}/remove_broker?brokerid=3").status_code == 500


@pytest.mark.parametrize("request_line", ["state?json=true", "user_tasks?json=true", "review_board?json=true"])
def test_guardian_without_a_leader_is_a_reason_as_well(service: Service, request_line: str) -> None:
    def unavailable(*_: object) -> object:
        raise Unavailable("nobody leads")

    service.client.list_clusters = unavailable  # type: ignore[method-assign,assignment]
    answer = service.web.get(f"{BASE}/{request_line}")
    assert (answer.status_code, "nobody leads" in answer.json()["errorMessage"]) == (500, True)


def test_a_line_that_is_full_is_known_by_cruise_controls_sentence() -> None:
    """As Strimzi's CruiseControlApiImpl looks for it in the reason of a 500."""
    wanted = r".*There are already \d+ active user tasks, which has reached the servlet capacity..*"
    error = LineFull("requests of ann: nothing under way, 5 wait", 6, 30_000)
    document = document_of(error, "POST", "rebalance")
    assert re.fullmatch(wanted, document["errorMessage"])
    assert "requests of ann: nothing under way, 5 wait" in document["errorMessage"]
    assert status_of(error, has_begun=False) == 500


def test_too_much_at_once_says_when_to_come_again(service: Service) -> None:
    service.planner.failure = Overloaded("25 requests are under way here", 5000)
    answer = service.web.post(f"{BASE}/rebalance?json=true")
    assert (answer.status_code, answer.headers["Retry-After"]) == (500, "5")
