"""Tickets as a client meets them: checked against the live cluster, then carried through approval, once."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable, Conflict, InvalidInput, NotFound
from guardian.model.actor import Agent
from guardian.model.execution import Execution
from guardian.model.operation import Ask, AskKind
from guardian.model.tasks import Isolate
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from metastore.views import Views
from protos.guardian.v1 import federation_pb2
from tests.unit.member.member import Member, plan


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def client(member: Member) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint]) as client:
        yield client


def run(member: Member, ticket_id: str, *states: TicketState) -> None:
    """What the executor would do."""
    for state in states:
        ticket = member.store.read().ticket(ticket_id)
        assert ticket is not None
        member.store.advance(ticket_id, ticket.state, TicketTransition(state, 5, Agent.EXECUTOR, "did"), None, 0)


def test_a_draft_goes_through_approval(member: Member, client: GuardianClient) -> None:
    draft, resolved = client.create_ticket(plan(3, 2), author="ann", reason="skew")
    assert (draft.state, draft.moves, draft.bytes_to_copy) == (TicketState.DRAFT, 1, 10)
    assert resolved.moves[0].original_brokers == (1, 2)
    assert client.plan(draft.plan_hash) == resolved
    assert client.submit(draft.id, "ann").state is TicketState.PENDING
    assert client.approve(draft.id, "bob", "fine").state is TicketState.APPROVED
    history = [(past.state.name, past.actor, past.reason) for past in client.ticket(draft.id)[0].history]
    assert history == [("DRAFT", "ann", "skew"), ("PENDING", "ann", "submitted"), ("APPROVED", "bob", "fine")]
    assert (member.kafka.opened, member.kafka.closed) == (1, 1)


def test_the_author_does_not_approve_where_the_policy_says_so() -> None:
    member = Member(author_may_approve=False)
    try:
        with GuardianClient([member.endpoint]) as client:
            ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
            with pytest.raises(InvalidInput, match="somebody else must approve it"):
                client.approve(ticket.id, "ann")
            assert client.approve(ticket.id, "bob").state is TicketState.APPROVED
    finally:
        member.stop()


def test_a_ticket_without_a_throttle_says_so_in_so_many_words(client: GuardianClient) -> None:
    assert client.create_ticket(plan(3, 2), author="ann")[0].throttle == 50_000_000
    assert client.create_ticket(plan(3, 2), author="ann", unthrottled=True)[0].throttle == 0


def test_a_dry_run_stores_nothing(member: Member, client: GuardianClient) -> None:
    before = member.machine.read().applied_index
    ticket, resolved = client.create_ticket(plan(3, 2), author="ann", dry_run=True)
    assert (ticket.id, resolved.moves[0].size_bytes) == ("", 10)
    assert client.tickets() == ()
    assert member.machine.read().applied_index - before <= 2, "barriers only"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"throttle": 99_999}, r"throttle is 99999 bytes/s: use 100000 to 1000000000000, or 0"),
        ({"throttle": 2**63}, r"throttle is 9223372036854775808 bytes/s: use"),
        ({"throttle": 5_000_000, "unthrottled": True}, r"throttle is 5000000 bytes/s and unthrottled is true"),
        ({"max_throttle": 5_000_000, "unthrottled": True}, r"max_throttle is 5000000 bytes/s and unthrottled is true"),
        ({"author": ""}, r"author is '': use up to 128 printable"),
        ({"author": "a\nb"}, r"author: U\+000A is not printable \(got 'a\\nb'\); use printable characters"),
        ({"author": "healing"}, r"author is 'healing', which Guardian calls itself in the audit; use another name"),
        ({"evidence": "x" * 10_001}, r"evidence has 10001 characters: use up to 10000"),
        ({"reason": "x" * 501}, r"reason has 501 characters: use up to 500"),
        ({"plan": plan(3, 9)}, r"broker 9 of t-0 is not in cluster live"),
        ({"plan": plan(3, 2, write_rate=math.nan)}, r"write_rate of t-0 is nan"),
        ({"plan": plan(1, 2)}, r"nothing to do"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(
    client: GuardianClient, member: Member, arguments: dict[str, object], message: str
) -> None:
    good: dict[str, object] = {"plan": plan(3, 2), "author": "ann"}
    with pytest.raises(InvalidInput, match=message):
        client.create_ticket(**(good | arguments))  # type: ignore[arg-type]
    assert client.tickets() == ()
    assert member.kafka.opened == member.kafka.closed


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_plan_onto_a_broker_that_takes_nothing_is_refused(
    member: Member, client: GuardianClient, dry_run: bool
) -> None:
    exclusion = federation_pb2.Exclusion(cluster="live", broker_id=3, who="bob", why="it is sold")
    client.change_federation([federation_pb2.FederationChange(put=federation_pb2.FederationEntry(exclusion=exclusion))])
    with pytest.raises(InvalidInput, match="t-0 would come to broker 3, which bob excluded from new replicas: it is s"):
        client.create_ticket(plan(3, 2), author="ann", dry_run=dry_run)
    with pytest.raises(InvalidInput, match="t-0 would come to broker 3"):
        client.preview_plan(plan(3, 2))
    key = federation_pb2.FederationKey(exclusion=federation_pb2.ExclusionKey(cluster="live", broker_id=3))
    client.change_federation([federation_pb2.FederationChange(drop=key)])
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=(Broker(3, label="gold"),))))
    with pytest.raises(InvalidInput, match="broker 3, which has label gold, and topic t may stand only on brokers wit"):
        client.create_ticket(plan(3, 2), author="ann", dry_run=dry_run)
    assert client.tickets() == ()


def test_a_plan_that_gives_back_a_broker_and_leaves_something_there_is_refused(
    member: Member, client: GuardianClient
) -> None:
    member.kafka.create_topic("unknown", {0: [2, 1]}, 10)
    shrink = replace(plan(3, 2), kind="isolate-label", task=Isolate("gold", release=1))
    brokers = (Broker(1, label="gold"), Broker(3, label="gold"))
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
    topic = federation_pb2.Topic(cluster="live", name="t", label="gold")
    client.change_federation([federation_pb2.FederationChange(put=federation_pb2.FederationEntry(topic=topic))])
    with pytest.raises(InvalidInput, match="broker 1 would not become empty: it holds unknown-0, which the plan leave"):
        client.create_ticket(shrink, author="ann", dry_run=True)
    member.kafka.delete_topic("unknown")
    assert client.create_ticket(shrink, author="ann", dry_run=True)[0].moves == 1


def test_a_cluster_that_is_down_or_unknown_is_said_so(member: Member, client: GuardianClient) -> None:
    with pytest.raises(NotFound, match="cluster 'nowhere' is not registered"):
        client.create_ticket(plan(3, 2, cluster="nowhere"), author="ann")
    member.kafka.reachable = False
    with pytest.raises(ClusterUnavailable):
        client.create_ticket(plan(3, 2), author="ann")
    assert (member.kafka.opened, member.kafka.closed) == (1, 1)


def test_a_repeated_request_is_answered_though_the_cluster_has_moved_on(member: Member, client: GuardianClient) -> None:
    first = client.create_ticket(plan(3, 2), author="ann", idempotency_key="k")
    member.kafka.reachable = False
    assert client.create_ticket(plan(3, 2), author="ann", idempotency_key="k") == first
    assert len(client.tickets()) == 1


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_key_that_made_another_ticket_is_refused(client: GuardianClient, dry_run: bool) -> None:
    first, _ = client.create_ticket(plan(3, 2), author="ann", idempotency_key="k")
    with pytest.raises(Conflict, match=f"idempotency_key 'k' made ticket {first.id} for another request .that carries"):
        client.create_ticket(plan(2, 3), author="ann", idempotency_key="k", dry_run=dry_run)
    with pytest.raises(Conflict, match="ann made it, and bob asks"):
        client.create_ticket(plan(3, 2), author="bob", idempotency_key="k", dry_run=dry_run)
    with pytest.raises(Conflict, match=r"\(that has throttle 50.0 MB/s, and this no throttle\)"):
        client.create_ticket(plan(3, 2), author="ann", idempotency_key="k", dry_run=dry_run, unthrottled=True)
    with pytest.raises(Conflict, match=r"\(that expires after 7 d, and this after 1 h\)"):
        client.create_ticket(plan(3, 2), author="ann", idempotency_key="k", dry_run=dry_run, expires_in_ms=3_600_000)
    assert len(client.tickets()) == 1


def test_two_requests_that_race_with_one_key_make_one_ticket_and_the_other_is_told_so(
    member: Member, client: GuardianClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither knows of the other when it looks for the key."""
    first = client.create_ticket(plan(3, 2), author="ann", idempotency_key="k")
    look = Views.ticket_by_idempotency_key
    blind = [True]

    def late(views: Views, key: str) -> Ticket | None:
        return None if blind and blind.pop() else look(views, key)

    monkeypatch.setattr(Views, "ticket_by_idempotency_key", late)
    assert client.create_ticket(plan(3, 2), author="ann", idempotency_key="k") == first
    blind.append(True)
    with pytest.raises(Conflict, match=f"idempotency_key 'k' made ticket {first[0].id} for another request"):
        client.create_ticket(plan(3, 2), author="bob", idempotency_key="k")
    assert (len(client.tickets()), blind) == (1, [])


def test_a_throttle_rises_above_what_was_approved_by_those_who_may_approve_it() -> None:
    member = Member(author_may_approve=False)
    try:
        with GuardianClient([member.endpoint]) as client:
            ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=500_000)
            assert client.set_throttle(ticket.id, 600_000, "ann").throttle == 600_000
            client.approve(ticket.id, "bob")
            assert client.set_throttle(ticket.id, 200_000, "ann", "the evening peak").throttle == 200_000
            assert client.set_throttle(ticket.id, 600_000, "ann").throttle == 600_000, "as approved"
            with pytest.raises(InvalidInput, match=r"would rise from 600.0 kB/s to 700.0 kB/s, more than was approved"):
                client.set_throttle(ticket.id, 700_000, "ann")
            with pytest.raises(InvalidInput, match=r"would rise from 600.0 kB/s to 700.0 kB/s, more than was approved"):
                client.set_throttle(ticket.id, 600_000, "ann", max_throttle=700_000)
            assert client.set_throttle(ticket.id, 700_000, "bob").throttle == 700_000
            client.set_throttle(ticket.id, 200_000, "ann")
            assert client.set_throttle(ticket.id, 700_000, "ann").throttle == 700_000, "bob approved that too"
    finally:
        member.stop()


def test_an_act_that_is_repeated_by_the_same_person_is_answered_alike(member: Member, client: GuardianClient) -> None:
    ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    client.approve(ticket.id, "bob")
    run(member, ticket.id, TicketState.RUNNING)
    assert client.approve(ticket.id, "bob").state is TicketState.RUNNING, "the executor may have been quick"
    with pytest.raises(Conflict, match="is RUNNING: only a PENDING ticket can be approved"):
        client.approve(ticket.id, "eve")
    client.cancel(ticket.id, "bob")
    with pytest.raises(Conflict, match="is CANCELLING: only a PENDING ticket can be approved"):
        client.approve(ticket.id, "bob")
    assert client.cancel(ticket.id, "bob").state is TicketState.CANCELLING


def test_an_act_that_an_earlier_attempt_carries_out_meanwhile_is_no_conflict(
    member: Member, client: GuardianClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt was on its way when the second one read the ticket."""
    ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    advance = member.store.advance

    def advance_twice(
        ticket_id: str,
        expected: TicketState,
        transition: TicketTransition | None,
        execution: Execution | None,
        revision: int,
        ask_revision: int | None = None,
        policy_revision: int | None = None,
    ) -> object:
        advance(ticket_id, expected, transition, execution, revision, ask_revision, policy_revision)
        return advance(ticket_id, expected, transition, execution, revision, ask_revision, policy_revision)

    monkeypatch.setattr(member.store, "advance", advance_twice)
    assert client.approve(ticket.id, "bob").state is TicketState.APPROVED


def test_a_reason_is_limited_for_every_act(client: GuardianClient) -> None:
    ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    with pytest.raises(InvalidInput, match="reason has 600 characters"):
        client.approve(ticket.id, "bob", "x" * 600)
    assert client.ticket(ticket.id)[0].state is TicketState.PENDING


def test_tickets_are_listed_newest_first_by_cluster(member: Member, client: GuardianClient) -> None:
    made = []
    for now in (1000, 2000):
        member.now_ms = now
        made.append(client.create_ticket(plan(3, 2), author="ann")[0].id)
    assert [ticket.id for ticket in client.tickets("live")] == made[::-1]
    with pytest.raises(NotFound, match="cluster 'other' is not registered"):
        client.tickets("other")


def test_a_list_comes_in_pages_that_go_on_whatever_comes_and_goes(member: Member, client: GuardianClient) -> None:
    made = []
    for now in range(1000, 1005):
        member.now_ms = now
        made.append(client.create_ticket(plan(3, 2), author="ann", submit=now % 2 == 0)[0].id)
    first = client.ticket_page("live", size=2, with_counts=True)
    assert [ticket.id for ticket, _ in first.tickets] == made[:-3:-1]
    assert first.counts == {("live", TicketState.PENDING): 3, ("live", TicketState.DRAFT): 2}
    member.now_ms = 2000
    client.create_ticket(plan(3, 2), author="ann")
    client.reject(made[2], "bob")
    second = client.ticket_page("live", token=first.next_token, size=2)
    assert [ticket.id for ticket, _ in second.tickets] == [made[2], made[1]]
    assert second.counts == {}
    last = client.ticket_page("live", token=second.next_token, size=2)
    assert ([ticket.id for ticket, _ in last.tickets], last.next_token) == ([made[0]], "")
    drafts = client.ticket_page("live", (TicketState.DRAFT,), size=1)
    assert [ticket.id for ticket in client.tickets("live", (TicketState.DRAFT,))][1:] == [made[3], made[1]]
    following = client.ticket_page("live", (TicketState.DRAFT,), token=drafts.next_token, size=1)
    assert [ticket.id for ticket, _ in following.tickets] == [made[3]]
    for token in ("t-9", "dC05", "____"):
        with pytest.raises(InvalidInput, match="page_token is"):
            client.ticket_page(token=token)


def test_what_does_not_exist_is_not_found(client: GuardianClient) -> None:
    for call in (lambda: client.ticket("t-9"), lambda: client.approve("t-9", "ann"), lambda: next(client.watch("t-9"))):
        with pytest.raises(NotFound, match="ticket 't-9' does not exist"):
            call()
    with pytest.raises(NotFound, match="plan 'ff' is not stored"):
        client.plan("ff")


def test_a_watch_tells_every_change_until_the_end(member: Member, client: GuardianClient) -> None:
    ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
    steps = iter(
        [
            lambda: client.approve(ticket.id, "bob"),
            lambda: run(member, ticket.id, TicketState.RUNNING),
            lambda: run(member, ticket.id, TicketState.SUCCEEDED),
        ]
    )
    seen = []
    for state, _ in client.watch(ticket.id):
        seen.append(state.state.name)
        step = next(steps, None)
        if step is not None:
            threading.Timer(0.05, step).start()
    assert seen == ["PENDING", "APPROVED", "RUNNING", "SUCCEEDED"]


def test_a_cluster_with_an_open_ticket_is_not_removed(member: Member, client: GuardianClient) -> None:
    ticket, _ = client.create_ticket(plan(3, 2), author="ann")
    with pytest.raises(Conflict, match=ticket.id):
        client.remove_cluster("live")
    client.cancel(ticket.id, "ann")
    client.remove_cluster("live")
    assert client.list_clusters() == ()
    with pytest.raises(NotFound, match="cluster 'live' is not registered"):
        client.remove_cluster("live")


ASK = Ask(AskKind.REMOVE, (2,))


def asking(member: Member) -> Ticket:
    """A PENDING ticket of brokers."""
    history = (TicketTransition(TicketState.PENDING, 5, "ann", "created"),)
    made = Ticket("t-1", "live", "remove-brokers", TicketState.PENDING, "ann", "", 1_000_000, 5, 5, history, "k")
    return member.store.add_ticket(replace(made, ask=ASK))


def test_an_approval_is_for_the_ask_that_was_shown(member: Member, client: GuardianClient) -> None:
    ticket = asking(member)
    member.store.amend(ticket.id, TicketState.PENDING, replace(ASK, brokers=(2, 3)), "ann", "one more")
    with pytest.raises(Conflict, match="the ask of ticket t-1 is at revision 1 and no longer at 0"):
        client.approve(ticket.id, "bob", expected_ask_revision=0)
    assert client.approve(ticket.id, "bob", expected_ask_revision=1).state is TicketState.APPROVED
    assert client.approve(ticket.id, "bob", expected_ask_revision=1).state is TicketState.APPROVED, "asked again"


def test_an_approval_is_for_the_ask_that_the_policy_was_asked_about(
    member: Member, client: GuardianClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = asking(member)
    advance = member.store.advance

    def amended_before(*arguments: object) -> object:
        member.store.amend(ticket.id, TicketState.PENDING, replace(ASK, brokers=(2, 3)), "ann", "one more")
        return advance(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(member.store, "advance", amended_before)
    with pytest.raises(Conflict, match="at revision 1 and no longer at 0"):
        client.approve(ticket.id, "bob")
    assert client.ticket(ticket.id)[0].state is TicketState.PENDING
