"""A plan that is larger than a ticket, as a client meets it: made, approved, run, cancelled, shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import Conflict, InvalidInput
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.member.web import create_app
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule
from guardian.model.topology import TopicPartition
from guardian.replication.store.state import Views
from guardian.rest.api import Api
from guardian.rest.parts import RestParts
from guardian.security.service import permissions
from guardian.tickets.rules.approving import automatic, expires_at_ms, why_not
from guardian.tickets.service.approvals import ApprovalKeeper, Approvals
from guardian.web.observed import NothingObserved
from guardian.web.parts import WebParts
from tests.command_line import app
from tests.unit.member.member import Member

S = TicketState
PARTITIONS = 6


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member(max_ticket_bytes=90)  # two moves
    member.kafka.create_topic("u", {number: [1, 2] for number in range(PARTITIONS)}, 10)
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint]) as client:
        yield client


@pytest.fixture
def driver(member: Member) -> Iterator[Driver]:
    driver = Driver(
        DriverPorts(ReplicatedExecutionStore(member.store), lambda _: member.kafka),
        DriverClocks(lambda: member.now_ms),
        DriverSettings(tiered_warm_up_s=0),
    )
    yield driver
    driver.close()


def made(client: GuardianClient) -> list[Ticket]:
    places = (ReplicaPlacement(3), ReplicaPlacement(2))
    moves = tuple(PartitionMove(TopicPartition("u", number), (), places) for number in range(PARTITIONS))
    ticket, _ = client.create_ticket(Plan("live", "run-plan", moves), author="ann", submit=True)
    return [each for each, _ in client.parts_of(ticket)]


def states(client: GuardianClient, ticket: Ticket) -> list[TicketState]:
    return [each.state for each, _ in client.parts_of(ticket)]


def test_three_tickets_are_approved_as_one_and_run_one_after_the_other(
    client: GuardianClient, member: Member, driver: Driver
) -> None:
    first, second, third = made(client)
    assert [each.moves for each in (first, second, third)] == [2, 2, 2]
    assert (first.approved_moves, first.approved_bytes) == (6, 60)
    for act in (client.approve, client.reject, client.submit):
        with pytest.raises(Conflict, match=rf"{second.id} is (part 2 of 3 of {first.id}|PENDING)"):
            act(second.id, "bob")
    why = client.explain_approval(third.id, "bob").refusal
    assert why == f"ticket {third.id} is part 3 of 3 of {first.id}: approve that one, for all"
    client.approve(first.id, "bob")
    assert client.preview(second.id).first == f"it waits for {first.id}, part 1 of 3 of {first.id}"
    seen = set()
    for _ in range(60):
        driver.tick()
        seen.add(tuple(states(client, first)))
    assert states(client, first) == [S.SUCCEEDED] * 3
    assert (S.SUCCEEDED, S.RUNNING, S.APPROVED) in seen
    assert not {each for each in seen if each[1] is S.RUNNING and each[0] is not S.SUCCEEDED}
    client.roll_back(first.id, "ann")
    assert states(client, first) == [S.ROLLING_BACK] * 3
    for _ in range(60):
        driver.tick()
    assert states(client, first) == [S.ROLLED_BACK] * 3
    where = member.kafka.describe_partitions(["u"]).values()
    assert {each.replicas for each in where} == {(1, 2)}


def test_who_cancels_a_part_ends_those_behind_it(client: GuardianClient) -> None:
    first, second, _ = made(client)
    client.approve(first.id, "bob")
    client.cancel(second.id, "ann")
    assert states(client, first) == [S.APPROVED, S.REJECTED, S.REJECTED]


def test_limits_of_approval_are_for_the_whole(client: GuardianClient) -> None:
    first, second, _ = made(client)
    rule = ApprovalRule("small", approvers=("*",), automatic=True, max_moves=5)
    assert "allows 5 moves, and it has 6" in why_not(ApprovalPolicy((rule,)), first, "bob", 0)
    assert automatic(ApprovalPolicy((rule,)), first, 0) is None
    enough = ApprovalPolicy((ApprovalRule("all", approvers=("*",), automatic=True, max_moves=6),))
    assert automatic(enough, first, 0) is not None
    assert automatic(enough, second, 0) is None, "the first one's approval is for all"


def test_a_part_does_not_expire_while_it_waits_for_its_turn(
    client: GuardianClient, member: Member, driver: Driver
) -> None:
    first, second, _ = made(client)
    client.approve(first.id, "bob")
    driver.tick()
    assert states(client, first)[0] is S.RUNNING
    assert expires_at_ms(first)
    assert expires_at_ms(client.ticket(second.id)[0]) == 0
    member.now_ms = first.expires_at_ms + 1000
    ApprovalKeeper(member.store, Approvals(), lambda: member.now_ms).tick()
    assert S.EXPIRED not in states(client, first)
    for _ in range(60):
        driver.tick()
    assert states(client, first) == [S.SUCCEEDED] * 3


def test_the_throttle_is_common_to_all(client: GuardianClient) -> None:
    first, second, third = made(client)
    client.set_throttle(second.id, 2_000_000, "ann")
    assert {each.throttle for each, _ in client.parts_of(first)} == {2_000_000}
    assert client.ticket(third.id)[0].history[-1].actor == "ann"


def test_new_partitions_of_one_topic_that_no_ticket_holds_are_refused(client: GuardianClient) -> None:
    moves = tuple(
        PartitionMove(TopicPartition("new", number), (), (ReplicaPlacement(1),), is_new=True) for number in range(9)
    )
    with pytest.raises(InvalidInput, match="topic new: more than one ticket holds"):
        client.create_ticket(Plan("live", "run-plan", moves), author="ann", dry_run=True)


def test_the_cli_shows_the_sequence(client: GuardianClient, member: Member) -> None:
    first, second, _ = made(client)
    at = ["--endpoints", member.endpoint]
    shown = CliRunner().invoke(app, ["ticket", "show", second.id, *at]).stdout
    assert f"PENDING, part 2 of 3 of {first.id}" in shown
    assert "One plan in 3 tickets, approved once, one after the other: 6 moves, 60 B to copy." in shown
    table = [line.split()[:4] for line in shown.splitlines() if line.split()[:1] in (["1"], ["2"], ["3"])]
    assert table[:3] == [[str(n), id, "PENDING", "2"] for n, id in enumerate((first.id, second.id, f"{first.id}-3"), 1)]
    told = json.loads(CliRunner().invoke(app, ["ticket", "show", first.id, "-o", "json", *at]).stdout)
    assert [each["id"] for each in told["parts"]] == [first.id, second.id, f"{first.id}-3"]
    assert told["ticket"]["part"] == {
        "first": first.id, "number": 1, "count": 3, "moves": 6, "bytes": "60", "left_moves": 6, "left_bytes": "60"
    }  # fmt: skip
    approved = CliRunner().invoke(app, ["ticket", "approve", first.id, *at]).stdout
    assert "One plan in 3 tickets" in approved
    assert f"Ticket {first.id} is APPROVED, part 1 of 3 of {first.id}: in all 6 moves, 60 B to copy." in approved


def test_the_console_and_the_rest_api_show_the_sequence(client: GuardianClient, member: Member) -> None:
    first, second, third = made(client)
    parts = WebParts("g1", lambda _: client, lambda: member.now_ms, observed=NothingObserved())
    with TestClient(create_app(parts)) as web:
        page = web.get(f"/console/tickets/{second.id}").text
        listed = web.get("/console/tickets").text
    api = FastAPI(openapi_url=None)
    api.include_router(Api(cast(RestParts, parts)).router)
    with TestClient(api) as web:
        told = web.get(f"/api/v1/tickets?sequence={second.id}").json()
    assert "Part 2 of 3 of one plan" in page
    assert "6 moves, 60 B to copy in all" in page
    assert all(f'href="/console/tickets/{each.id}"' in page for each in (first, second, third))
    assert f"/console/tickets/{second.id}/approve" not in page
    assert "2 of 3" in listed
    assert [each["id"] for each in told["tickets"]] == [first.id, second.id, third.id]
    assert [each["part"]["number"] for each in told["tickets"]] == [1, 2, 3]


def test_a_role_limited_to_tenants_needs_those_of_all_parts(
    client: GuardianClient, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done to one part is done to the others: an approver of u's tenant must not approve w's moves."""
    member.kafka.create_topic("w", {number: [1, 2] for number in range(2)}, 10)
    places = (ReplicaPlacement(3), ReplicaPlacement(2))
    moves = tuple(PartitionMove(TopicPartition(topic, n), (), places) for topic in ("u", "w") for n in range(2))
    first, _ = client.create_ticket(Plan("live", "run-plan", moves), author="ann", submit=True)
    asked: list[set[str]] = []

    def tenants(_views: Views, _cluster: str, topics: Iterable[str]) -> frozenset[str]:
        asked.append(set(topics))
        return frozenset(topics)

    monkeypatch.setattr(permissions, "tenants_of_topics", tenants)
    for part, _ in client.parts_of(first):
        assert permissions.tenants_of_ticket(member.store.read(), part) == frozenset({"u", "w"})
    assert asked == [{"u", "w"}] * 2
