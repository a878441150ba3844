"""Tickets as a client meets them after approval: previewed, paused, resumed, rolled back, expired, listed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from guardian.client import GuardianClient
from guardian.errors import Conflict, InvalidInput
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.loop.replanning import LiveReplanner
from guardian.execution.loop.sending import Outcome, send
from guardian.execution.rules.beginning import begin
from guardian.execution.rules.previewing import ADAPTS, described
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.execution.store.operation_store import ReplicatedOperationStore
from guardian.kafka.admin import KafkaAdmin
from guardian.model.actor import Agent
from guardian.model.directory import Directory
from guardian.model.effects import Effect
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, Isolate, Leaders, ReplicationFactor
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import everybody
from guardian.model.tickets.preview import PreviewRequest
from guardian.model.topology import TopicPartition
from guardian.throttle.rules.adapting import Around, ThrottleSettings
from guardian.tickets.kinds import throttle_override
from guardian.tickets.kinds.throttle_override import ThrottleOverride
from guardian.tickets.service import tickets
from guardian.tickets.service.approvals import ApprovalKeeper, Approvals
from protos.guardian.v1 import federation_pb2 as pb
from tests.unit.member.member import T0, Member, NoPlans, plan

DAY_MS = 86_400_000


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
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


def approved(client: GuardianClient) -> Ticket:
    ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    return client.approve(ticket.id, "bob")


def run(driver: Driver, client: GuardianClient, ticket: Ticket, state: TicketState) -> None:
    for _ in range(50):
        if client.ticket(ticket.id)[0].state is state:
            return
        driver.tick()
    raise AssertionError(client.ticket(ticket.id)[0])


def test_a_ticket_goes_there_and_back_again(member: Member, client: GuardianClient, driver: Driver) -> None:
    ticket = approved(client)
    run(driver, client, ticket, TicketState.SUCCEEDED)
    assert member.kafka.peek().partitions[T0].replicas == (3, 2)
    assert client.roll_back(ticket.id, "ann", "it was wrong").state is TicketState.ROLLING_BACK
    assert client.roll_back(ticket.id, "ann", "it was wrong").state is TicketState.ROLLING_BACK, "asked twice"
    run(driver, client, ticket, TicketState.ROLLED_BACK)
    assert member.kafka.peek().partitions[T0].replicas == (1, 2)
    with pytest.raises(Conflict, match="is ROLLED_BACK: only a ticket that has SUCCEEDED, FAILED or was CANCELLED"):
        client.roll_back(ticket.id, "bob")


def test_a_way_back_to_where_nothing_may_go_is_refused(member: Member, client: GuardianClient, driver: Driver) -> None:
    ticket = approved(client)
    run(driver, client, ticket, TicketState.SUCCEEDED)
    exclusion = pb.Exclusion(cluster="live", broker_id=1, who="ann", why="it is sold")
    client.change_federation([pb.FederationChange(put=pb.FederationEntry(exclusion=exclusion))])
    with pytest.raises(Conflict, match=r"t-0 of ticket .* can't go back to broker 1, which gets no new replicas"):
        client.roll_back(ticket.id, "ann")
    with pytest.raises(Conflict, match=r"t-0 of ticket .* can't go back to broker 1, which gets no new replicas"):
        client.preview(ticket.id)
    key = pb.FederationKey(exclusion=pb.ExclusionKey(cluster="live", broker_id=1))
    client.change_federation([pb.FederationChange(drop=key)])
    member.kafka.kill_broker(1)
    with pytest.raises(Conflict, match=r"t-0 of ticket .* can't go back to broker 1, which is down: start it"):
        client.roll_back(ticket.id, "ann")
    assert client.ticket(ticket.id)[0].state is TicketState.SUCCEEDED


def test_what_never_moved_has_no_way_back(client: GuardianClient, member: Member) -> None:
    ticket = approved(client)
    stale = TicketTransition(TicketState.FAILED, 5, Agent.EXECUTOR, "stale")
    member.store.advance(ticket.id, ticket.state, stale, None, 0)
    with pytest.raises(Conflict, match=f"ticket {ticket.id} moved nothing that could go back: it is FAILED"):
        client.roll_back(ticket.id, "ann")
    with pytest.raises(Conflict, match=f"ticket {ticket.id} moved nothing that could go back: it is FAILED"):
        client.preview(ticket.id)
    rejected, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    client.reject(rejected.id, "bob")
    with pytest.raises(Conflict, match=f"ticket {rejected.id} is REJECTED: nothing would be sent"):
        client.preview(rejected.id)


def test_pause_and_resume_are_answered_alike_when_asked_twice(client: GuardianClient, driver: Driver) -> None:
    ticket = approved(client)
    with pytest.raises(Conflict, match="is APPROVED: only a RUNNING ticket can be paused"):
        client.pause(ticket.id, "bob")
    run(driver, client, ticket, TicketState.RUNNING)
    for _ in range(2):
        assert client.pause(ticket.id, "bob", "peak").state is TicketState.PAUSED
    with pytest.raises(Conflict, match="is PAUSED: only a RUNNING"):
        client.pause(ticket.id, "eve")
    for _ in range(2):
        assert client.resume(ticket.id, "bob").state is TicketState.RUNNING


def test_a_preview_of_a_plan_stores_and_sends_nothing(member: Member, client: GuardianClient) -> None:
    before = member.kafka.peek()
    found = client.preview_plan(plan(3, 2), 5_000_000)
    requests = [request for each in found.rounds for request in each.requests]
    assert [r.change for r in requests if r.api == "AlterPartitionReassignments"] == ["[1, 2] -> [3, 2]"]
    assert "follower.replication.throttled.rate = 5000000 (before: not set)" in [r.change for r in requests]
    assert found.remark == "then the ticket is SUCCEEDED: all 1 moves were seen in Kafka"
    assert client.tickets() == ()
    assert member.kafka.peek().partitions == before.partitions
    assert member.kafka.opened == member.kafka.closed
    with pytest.raises(InvalidInput, match="broker 9 of t-0 is not in cluster live"):
        client.preview_plan(plan(3, 9))
    with pytest.raises(InvalidInput, match="throttle is 5 bytes/s"):
        client.preview_plan(plan(3, 2), 5)


def test_a_draft_is_previewed_as_if_it_ran(client: GuardianClient) -> None:
    ticket, _ = client.create_ticket(plan(3, 2), author="ann")
    assert client.preview(ticket.id).rounds == client.preview_plan(plan(3, 2)).rounds


def test_a_preview_tells_first_what_the_executor_would_do_before_it_sends_anything(
    member: Member, client: GuardianClient, driver: Driver
) -> None:
    ticket = approved(client)
    assert client.preview(ticket.id).first == ""
    member.kafka.create_topic("u", {0: [1]}, 10**9)
    longer = Plan("live", "balance", (PartitionMove(TopicPartition("u", 0), (), (ReplicaPlacement(3),)),))
    blocking, _ = client.create_ticket(longer, author="ann", submit=True)
    state = TicketTransition(TicketState.RUNNING, 5, Agent.EXECUTOR, "it was first")
    client.approve(blocking.id, "bob")
    stored = client.plan(blocking.plan_hash)
    member.store.advance(blocking.id, TicketState.APPROVED, state, begin(blocking, stored), 0)
    waits = f"waits for {blocking.id}, on the same brokers"
    assert client.preview(ticket.id).first == f"it {waits}"
    both = ", ".join(sorted((ticket.id, blocking.id)))
    assert client.preview_plan(plan(3, 2)).first == f"it waits for {both}, on the same brokers", "it would be the last"
    assert f"ticket {ticket.id} {waits}" in driver.tick()
    assert client.preview(blocking.id).first == ""


def test_a_preview_tells_that_another_tool_would_pause_it(
    member: Member, client: GuardianClient, driver: Driver
) -> None:
    member.kafka.create_topic("u", {0: [1]}, 10**9)
    member.kafka.alter_reassignments({TopicPartition("u", 0): (2,)})
    assert client.preview_plan(plan(3, 2)).first == "it pauses before it sends anything: another tool moves u-0 to [2]"
    ticket = approved(client)
    assert client.preview(ticket.id).first.startswith(
        "it pauses before it sends anything: another tool moves u-0 to [2]: guardian ticket adopt"
    )
    run(driver, client, ticket, TicketState.PAUSED)
    assert T0 not in member.kafka.peek().reassignments


MOVES = plan(3, 2).moves
BARRED = "t-0 would come to broker 3, which ann excluded from new replicas: it is sold"
OLD = "it was made of samples that are 2 h old, more than 1 h"


@pytest.mark.parametrize(
    ("doubt", "task", "first", "driven"),
    [
        (BARRED, Balance(), "its plan is made anew first, since it is stale: ", "waits for a new plan, since"),
        (BARRED, None, "it fails, and nothing is changed: its plan is stale: ", "FAILED: the plan is stale"),
        (OLD, Balance(), "its plan is made anew first, since it is stale: ", "waits for a new plan, since"),
        (OLD, None, "it starts as approved, though ", "starts 1 moves as approved, though"),
    ],
    ids=["barred", "barred file", "old", "old file"],
)
def test_a_preview_tells_what_becomes_of_a_stale_plan(
    doubt: str, task: Balance | None, first: str, driven: str
) -> None:
    hour_ms, kind = 3_600_000, task.kind if task else "run-plan"
    member = Member(max_plan_age_s=3600.0)
    member.now_ms = 10 * hour_ms
    driver = Driver(
        DriverPorts(
            ReplicatedExecutionStore(member.store),
            lambda _: member.kafka,
            replanner=LiveReplanner(NoPlans(), Directory),
            labels=ReplicatedOperationStore(member.store, lambda: member.now_ms),
        ),
        DriverClocks(lambda: member.now_ms),
        DriverSettings(tiered_warm_up_s=0, max_plan_age_s=3600.0),
    )
    try:
        with GuardianClient([member.endpoint]) as client:
            made_at_ms = 8 * hour_ms if doubt == OLD else 0
            asked = Plan("live", kind, MOVES, made_at_ms, task=task, settings=PlannerSettings() if task else None)
            ticket, _ = client.create_ticket(asked, author="ann", submit=True)
            client.approve(ticket.id, "bob")
            if doubt == BARRED:
                exclusion = pb.Exclusion(cluster="live", broker_id=3, who="ann", why="it is sold")
                client.change_federation([pb.FederationChange(put=pb.FederationEntry(exclusion=exclusion))])
            assert client.preview(ticket.id).first.startswith(first + doubt)
            assert driver.tick()[0].startswith(f"ticket {ticket.id}: {driven}")
    finally:
        driver.close()
        member.stop()


def test_a_preview_of_a_file_takes_all_that_its_ticket_may_be_made_with(client: GuardianClient) -> None:
    none = client.preview_plan(plan(3, 2), unthrottled=True)
    assert not any("rate" in request.change for each in none.rounds for request in each.requests)
    with pytest.raises(InvalidInput, match="max_throttle is 5 bytes/s: use 5000000"):
        client.preview_plan(plan(3, 2), 5_000_000, 5)
    smaller = plan(2)
    with pytest.raises(InvalidInput, match="--change-replication-factor"):
        client.preview_plan(smaller)
    assert client.preview_plan(replace(smaller, kind=ReplicationFactor.kind, task=None)).rounds


class Quiet:
    """Brokers that did not answer yet, and are not unseen either: as a ticket finds them when it begins."""

    def ask(self, _cluster: str, _brokers: Collection[int]) -> Callable[[], Around]:
        return lambda: Around(ThrottleSettings())


@pytest.mark.parametrize("max_throttle", [0, 90_000_000])
def test_the_first_round_of_a_preview_is_what_the_first_tick_sends(
    max_throttle: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adaptive rates begin at a tenth, broker 1 has a standing rate, the topic is tiered."""
    member = Member(throttle=ThrottleSettings(), tiered_warm_up_s=600)
    member.kafka.set_config(("TOPIC", "t"), "remote.storage.enable", "true")
    store = ReplicatedExecutionStore(member.store)
    driver = Driver(
        DriverPorts(store, lambda _: member.kafka, surroundings=Quiet()), DriverClocks(lambda: member.now_ms)
    )
    sent: list[PreviewRequest] = []

    def sending(admin: KafkaAdmin, effect: Effect) -> Outcome:
        sent.extend(described(effect, member.kafka.peek()))
        return send(admin, effect)

    monkeypatch.setattr("guardian.execution.loop.effect_sender.send", sending)
    try:
        with GuardianClient([member.endpoint]) as client:
            assert ADAPTS not in client.preview_plan(plan(2, 1), 50_000_000).remark, "nothing is copied"
            rate = throttle_override.KIND.plan("live", ThrottleOverride(1, 2_000_000, 10**12))
            standing, _ = client.create_ticket(rate, author="ann", submit=True)
            client.approve(standing.id, "bob")
            run(driver, client, standing, TicketState.RUNNING)
            made, _ = client.create_ticket(
                plan(3, 2, write_rate=1000.0),
                author="ann",
                submit=True,
                throttle=50_000_000,
                max_throttle=max_throttle,
            )
            found = client.preview(made.id)
            client.approve(made.id, "bob")
            run(driver, client, made, TicketState.RUNNING)
            assert sent == []
            driver.tick()
            assert tuple(sent) == found.rounds[0].requests
            changes = {request.subject: request.change for request in sent if request.subject.startswith("broker")}
            assert " = 2000000 (" in changes["broker 1"]
            assert " = 5000000 (" in changes["broker 3"]
            assert found.remark.endswith(f"; {ADAPTS}")
    finally:
        driver.close()
        member.stop()


def test_tickets_expire_as_the_request_or_the_policy_says(member: Member, client: GuardianClient) -> None:
    assert approved(client).expires_at_ms == 1000 + 7 * DAY_MS
    soon, _ = client.create_ticket(plan(2, 3), author="ann", submit=True, expires_in_ms=5000)
    never, _ = client.create_ticket(plan(2, 3), author="ann", submit=True, expires_in_ms=-1)
    assert (soon.expires_at_ms, never.expires_at_ms) == (6000, 0)
    with pytest.raises(InvalidInput, match="expires_in_ms is -2: use 1 to"):
        client.create_ticket(plan(2, 3), author="ann", expires_in_ms=-2)
    keeper = ApprovalKeeper(member.store, Approvals(), lambda: member.now_ms)
    assert keeper.tick() == []
    member.now_ms = 6000
    with pytest.raises(Conflict, match="it was not approved before 1970-01-01 00:00:06 UTC"):
        client.approve(soon.id, "bob")
    said = keeper.tick()
    assert [line.split(":")[0] for line in said] == [f"ticket {soon.id} is EXPIRED"]
    member.now_ms = 8 * DAY_MS
    assert len(keeper.tick()) == 1, "the approved one, which never started"
    assert {ticket.state for ticket in client.tickets()} == {TicketState.EXPIRED, TicketState.PENDING}


def test_a_broken_policy_approves_nothing_and_expires_all_the_same(
    member: Member, client: GuardianClient, tmp_path: Path
) -> None:
    file = tmp_path / "approvals.toml"
    file.write_text("[[rules]]\nname = 'all'\nautomatic = true\n")
    keeper = ApprovalKeeper(member.store, Approvals(file), lambda: member.now_ms)
    first, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, expires_in_ms=5000)
    file.write_text("[[rules")
    assert keeper.tick()[0].startswith(f"no ticket is approved: approvals file {file} is not valid TOML")
    member.now_ms = 9000
    keeper.tick()
    assert client.ticket(first.id)[0].state is TicketState.EXPIRED
    second, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    file.write_text("[[rules]]\nname = 'all'\nautomatic = true\n")
    assert keeper.tick() == [f"ticket {second.id} is APPROVED: approved by rule 'all' (policy)"]


def test_a_rule_for_leaders_approves_nothing_that_is_copied(
    member: Member, client: GuardianClient, tmp_path: Path
) -> None:
    file = tmp_path / "approvals.toml"
    file.write_text("[[rules]]\nname = 'leaders'\nkinds = ['leaders']\nautomatic = true\n")
    copied, led = (
        client.create_ticket(replace(plan(*to), kind="leaders", task=Leaders()), author="ann", submit=True)[0]
        for to in ((3, 2), (2, 1))
    )
    untold, _ = client.create_ticket(replace(plan(2, 1), kind="leaders", task=None), author="ann", submit=True)
    assert [each.kind for each in (copied, led, untold)] == ["run-plan", "leaders", "run-plan"]
    assert ApprovalKeeper(member.store, Approvals(file), lambda: member.now_ms).tick() == [
        f"ticket {led.id} is APPROVED: approved by rule 'leaders' (policy)"
    ]
    repeated = replace(plan(3, 2), kind="leaders", task=Leaders())
    again = [client.create_ticket(repeated, author="ann", idempotency_key="k")[0].id for _ in range(2)]
    assert again[0] == again[1]


def test_a_plan_from_the_future_is_as_old_as_its_ticket(member: Member, client: GuardianClient) -> None:
    member.now_ms = 5000
    for told, kept in ((10**15, 5000), (-7, 0), (7, 7)):
        assert client.create_ticket(replace(plan(3, 2), made_at_ms=told), author="ann")[1].made_at_ms == kept


def test_who_approves_sees_what_is_asked_for(client: GuardianClient) -> None:
    asked = replace(plan(3, 2), kind="isolate-label", task=Isolate("gold", ("t",), brokers=(3,)))
    ticket, _ = client.create_ticket(asked, author="ann", submit=True)
    assert client.preview(ticket.id).asks == (
        "task isolate-label: label gold; topics t; brokers 3",
        "moves partitions of t",
        "gives label gold to brokers 3 where they get replicas",
        "gives label gold to topics t",
    )
    assert client.preview_plan(plan(3, 2)).asks == ("task balance", "moves partitions of t")


def test_the_policy_is_told(client: GuardianClient) -> None:
    assert client.approvals() == everybody()


def test_lists_tell_how_far_a_ticket_is(member: Member, client: GuardianClient, driver: Driver) -> None:
    ticket = approved(client)
    assert next(each for _, each in client.walk_tickets()) is not None
    run(driver, client, ticket, TicketState.SUCCEEDED)
    ((listed, progress),) = client.walk_tickets("live")
    assert (listed.id, progress) == (ticket.id, None)


def test_a_page_ends_behind_tickets_of_too_many_moves(
    member: Member, client: GuardianClient, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tickets, "MAX_TASKS", 1)
    draft, _ = client.create_ticket(plan(3, 2), author="ann")
    member.now_ms += 1
    ticket = approved(client)
    run(driver, client, ticket, TicketState.RUNNING)
    first = client.ticket_page()
    assert [each.id for each, _ in first.tickets] == [ticket.id]
    assert first.next_token
    assert [each.id for each, _ in client.ticket_page(token=first.next_token).tickets] == [draft.id]
    assert [each.id for each in client.tickets()] == [ticket.id, draft.id]
