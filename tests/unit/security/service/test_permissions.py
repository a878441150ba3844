"""Nobody calls anything unless it is known who he is and that he may; what is refused is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn
from guardian.model.actor import Agent, Proof
from guardian.model.federation import IdcPolicy, Machine
from guardian.model.plan import Plan
from guardian.model.tasks import Balance, Isolate, Leaders, MigrateIdc
from guardian.model.ticket import TicketPart, TicketState
from guardian.model.topology import Cluster
from guardian.model.wire.actors import shown_actor
from guardian.model.wire.federation import cluster_to_proto
from guardian.planning.service.planning import LivePlanner
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.identity import BrokerId, Grant, Identity, Role
from guardian.security.model.roles import parse_roles
from guardian.security.rules.permitting import RPCS, Where
from guardian.security.rules.sealing import seal
from guardian.security.rules.tokens import make_token, parse_tokens
from guardian.security.service.proving import ACTING
from guardian.security.service.refusals import Why
from guardian.tickets.kinds.delete_topic import DeleteTopic, SavedTopic
from guardian.tickets.kinds.topic_config import TopicConfig, TopicSetting
from protos.guardian.v1 import (
    federation_pb2,
    federation_pb2_grpc,
    identity_pb2,
    records_pb2,
    tickets_pb2,
    tiering_pb2,
    tiering_pb2_grpc,
)
from tests.patience import CALL_S, PATIENCE_S
from tests.unit.member.guarded import Guarded, Rpc, call, every_rpc, headers
from tests.unit.member.member import Member, plan


class Shown(NamedTuple):
    """A certificate."""

    names: tuple[str, ...]
    uris: tuple[str, ...] = ()
    not_after_ms: int = 0


REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    yield guarded
    guarded.stop()


@pytest.fixture
def channel(guarded: Guarded) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(guarded.member.endpoint) as channel:
        yield channel


def client(guarded: Guarded, name: str) -> GuardianClient:
    return GuardianClient([guarded.member.endpoint], 10.0, bearing=bearer(guarded.token[name]))


def names(rpc: Rpc) -> str:
    return rpc.path.removeprefix("/guardian.v1.")


def test_every_rpc_has_a_rule_and_every_rule_an_rpc() -> None:
    others = {
        f"/{service.full_name}/{method.name}"
        for file in (health_pb2.DESCRIPTOR, reflection_pb2.DESCRIPTOR)
        for service in file.services_by_name.values()
        for method in service.methods
    }
    assert set(RPCS) == {rpc.path for rpc in every_rpc()} | others


def test_only_the_health_check_is_open_to_all() -> None:
    assert {path for path, rule in RPCS.items() if rule.where is Where.OPEN} == {
        path for path in RPCS if path.startswith("/grpc.health.")
    }


@pytest.mark.parametrize("rpc", every_rpc(), ids=names)
def test_no_rpc_is_carried_out_without_good_credentials(guarded: Guarded, channel: grpc.Channel, rpc: Rpc) -> None:
    forged = seal(b"x" * 32, "word of a member", {"name": "root", "proof": "token", "groups": []}, 1 << 50)
    stale = seal(b"k" * 32, "word of a member", {"name": "root", "proof": "token", "groups": []}, 1)
    shown = {
        "none": [],
        "a wrong one": headers("gdn_00000000_" + "A" * 43),
        "no token at all": [("authorization", "Bearer xyz")],
        "an unknown kind": [("authorization", "Digest abc")],
        "expired": headers(guarded.token["late"]),
        "revoked": headers(guarded.token["gone"]),
        "forged words of a member": [(ACTING, forged)],
        "old words of a member": [(ACTING, stale)],
        "only a name": [("guardian-actor", "root")],
    }
    for what, metadata in shown.items():
        assert call(channel, rpc, metadata) is grpc.StatusCode.UNAUTHENTICATED, what
    recorded = guarded.refused()
    assert {(who, what) for who, what, _ in recorded} == {("nobody", rpc.path)}
    assert len(recorded) == 7  # alike ones are one record: unknown and revoked, two of the kinds that are missing


def rpcs_for_roles() -> list[Rpc]:
    return [rpc for rpc in every_rpc() if RPCS[rpc.path].where is not Where.PROVEN]


def test_only_what_tells_the_caller_of_himself_needs_no_role() -> None:
    needless = [rpc.path for rpc in every_rpc() if rpc not in rpcs_for_roles()]
    assert needless == ["/guardian.v1.Identities/WhoAmI"]


@pytest.mark.parametrize("rpc", rpcs_for_roles(), ids=names)
def test_no_rpc_is_carried_out_by_who_has_too_little(guarded: Guarded, channel: grpc.Channel, rpc: Rpc) -> None:
    weak = [name for name in ("nil", "spy") if name]
    if Role.VIEWER not in RPCS[rpc.path].roles:
        weak.append("vic")
    if not {Role.BROKER, Role.VIEWER} & set(RPCS[rpc.path].roles) and rpc.path != "/guardian.v1.Sessions/OpenSession":
        weak.append("kafka-1")
    for name in weak:
        assert call(channel, rpc, headers(guarded.token[name])) is grpc.StatusCode.PERMISSION_DENIED, name
    assert {(who, what) for who, what, _ in guarded.refused()} == {(name, rpc.path) for name in weak}


@pytest.mark.parametrize("rpc", every_rpc(), ids=names)
def test_every_rpc_is_carried_out_for_who_may(guarded: Guarded, channel: grpc.Channel, rpc: Rpc) -> None:
    rule = RPCS[rpc.path]
    name = "kafka-1" if rule.roles == (Role.BROKER,) and not rule.broker else "root"
    if rpc.path in ("/guardian.v1.Events/WatchEvents", "/guardian.v1.Tiering/FollowSegmentEvents"):
        return  # they wait: seen below
    assert call(channel, rpc, headers(guarded.token[name])) not in REFUSED
    assert guarded.refused() == []


def test_the_author_is_who_was_proven_whatever_the_request_says(guarded: Guarded) -> None:
    with client(guarded, "ann") as ann, client(guarded, "eve") as eve:
        ticket, _ = ann.create_ticket(plan(2, 3), author="eve", submit=True)
        assert ticket.author == "ann"
        approved = eve.approve(ticket.id, actor="somebody else")
    assert approved.history[-1].actor == "eve"


def test_an_author_does_not_approve_under_another_name(guarded: Guarded) -> None:
    guarded.roles.write_text('[[grants]]\nwho = ["ann", "eve"]\nrole = "approver"\n')
    with client(guarded, "ann") as ann:
        ticket, _ = ann.create_ticket(plan(2, 3), author="eve", submit=True)
        with pytest.raises(InvalidInput, match="actor is 'ann', the author of ticket"):
            ann.approve(ticket.id, actor="eve")


def test_an_operator_does_not_approve(guarded: Guarded) -> None:
    with client(guarded, "ann") as ann, client(guarded, "ben") as ben:
        ticket, _ = ann.create_ticket(plan(2, 3), author="ann", submit=True)
        with pytest.raises(NotAllowed, match="ben is not approver on cluster live: an admin of Guardian gives that"):
            ben.approve(ticket.id, actor="ben")
    assert guarded.refused()[0][:2] == ("ben", "/guardian.v1.Tickets/ApproveTicket")


def test_a_role_on_other_clusters_is_none_here(guarded: Guarded) -> None:
    with client(guarded, "olga") as olga:
        with pytest.raises(NotAllowed, match="olga is not operator on cluster live"):
            olga.create_ticket(plan(2, 3), author="olga")
        assert olga.list_clusters() == ()
        assert olga.tickets() == ()
    with client(guarded, "vic") as vic:
        assert [cluster.name for cluster in vic.list_clusters()] == ["live"]


def test_what_is_told_of_other_clusters_is_cut_out(guarded: Guarded, channel: grpc.Channel) -> None:
    other = Cluster("other-1", "h:9093", "another")
    guarded.member.store.put_cluster(cluster_to_proto(other))
    with client(guarded, "olga") as olga:
        assert [cluster.name for cluster in olga.list_clusters()] == ["other-1"]
    with client(guarded, "ann") as ann:
        ticket, _ = ann.create_ticket(plan(2, 3), author="ann")
        with client(guarded, "olga") as olga:
            for asked in (ticket.id, "t-00000000"):
                with pytest.raises(NotFound, match=f"^ticket '{asked}' does not exist: see `guardian ticket list`$"):
                    olga.ticket(asked)
                with pytest.raises(NotFound, match=f"^ticket '{asked}' does not exist: see `guardian ticket list`$"):
                    olga.parts_of(replace(ticket, cluster="", part=TicketPart(asked, 1, 2)))
            for asked in (ticket.plan_hash, "0" * 64):
                with pytest.raises(NotFound, match=f"^plan '{asked}' is not stored$"):
                    olga.plan(asked)
            assert olga.tickets() == ()
            page = olga.ticket_page(with_counts=True)
            assert (page.tickets, page.counts, page.next_token) == ((), {}, "")
        with client(guarded, "vic") as vic:
            page = vic.ticket_page(with_counts=True)
            assert [each.id for each, _ in page.tickets] == [ticket.id]
            assert page.counts == {("live", TicketState.DRAFT): 1}


def test_a_tenants_operator_moves_the_tenants_topics_only(guarded: Guarded) -> None:
    with client(guarded, "tess") as tess:
        with pytest.raises(NotAllowed, match="tess is not operator on cluster live for what belongs to nobody"):
            tess.create_ticket(plan(2, 3), author="tess")
        own(guarded, "t", "payments")
        ticket, _ = tess.create_ticket(plan(2, 3), author="tess")
        assert tess.cancel(ticket.id, actor="tess").history[-1].actor == "tess"


def test_only_a_planner_states_a_kind(guarded: Guarded) -> None:
    with client(guarded, "ann") as ann, client(guarded, "root") as root, client(guarded, "analyze") as analyze:
        for person in (ann, root):
            ticket, resolved = person.create_ticket(plan(2, 3), author="")
            assert (ticket.kind, resolved.task) == ("run-plan", Balance())
            assert resolved.notes == ("kind balance became run-plan: no planner of Guardian made it",)
        ticket, resolved = analyze.create_ticket(plan(2, 3), author="")
        assert (ticket.kind, ticket.author, resolved.notes) == ("balance", "analyze", ())
        with pytest.raises(NotAllowed, match="analyze is not approver"):
            analyze.approve(ticket.id, "")
        copied, _ = analyze.create_ticket(replace(plan(2, 3), kind="leaders", task=Leaders()), author="")
        assert copied.kind == "run-plan", "it copies"
        led, _ = analyze.create_ticket(replace(plan(2, 1), kind="leaders", task=Leaders()), author="")
        assert led.kind == "leaders"


class Own(LivePlanner):
    """Made one plan."""

    def __init__(self, made: Plan) -> None:
        self.made = made

    def has_made(self, plan: Plan) -> bool:
        return plan == self.made


def test_a_person_hands_in_what_the_members_own_planner_made(tmp_path: Path) -> None:
    made = plan(2, 3)
    guarded = Guarded(tmp_path, live_planner=Own(made))
    try:
        with client(guarded, "ann") as ann:
            assert ann.create_ticket(made, author="", dry_run=True)[0].kind == "balance"
            assert ann.create_ticket(plan(3, 2), author="", dry_run=True)[0].kind == "run-plan"
    finally:
        guarded.stop()


def test_labels_of_brokers_are_an_admins(guarded: Guarded) -> None:
    for task in (Isolate("gold", brokers=(3,)), Isolate("gold", release=1), Isolate("gold", machines=(Machine("h"),))):
        asked = replace(plan(2, 1), kind=task.kind, task=task)
        with client(guarded, "ann") as ann, pytest.raises(NotAllowed, match="ann is not admin on cluster live"):
            ann.create_ticket(asked, author="")
    with client(guarded, "root") as root:
        assert root.create_ticket(replace(asked, task=Isolate("gold", brokers=(3,))), author="", dry_run=True)
    topics = replace(plan(2, 1), kind="isolate-label", task=Isolate("gold", ("t",)))
    with client(guarded, "ann") as ann:
        assert ann.create_ticket(topics, author="", dry_run=True)


def test_a_tenants_operator_describes_the_tenants_topics_only(guarded: Guarded) -> None:
    own(guarded, "t", "payments")
    own(guarded, "u", "search")
    policy = IdcPolicy("p", (("a", 2),))
    with client(guarded, "tess") as tess:
        for task in (
            Isolate("gold", ("t", "u")),
            Isolate("gold", ("t*",)),
            Isolate("gold", tenant="search"),
            MigrateIdc(policy),
            MigrateIdc(policy, tenant="search"),
            TopicConfig((TopicSetting("u", "retention.ms", "1"),)),
            DeleteTopic((SavedTopic("u"),), 1_000, 0),
        ):
            with pytest.raises(NotAllowed, match="tess is not operator on cluster live"):
                tess.create_ticket(replace(plan(2, 1), kind=task.kind, task=task), author="", dry_run=True)
        for fine in (Isolate("gold", ("t",)), MigrateIdc(policy, tenant="payments")):
            asked = replace(plan(2, 1), kind=fine.kind, task=fine)
            assert tess.create_ticket(asked, author="", dry_run=True)[0].tenants == ("payments",)


def own(guarded: Guarded, topic: str, tenant: str) -> None:
    entries = (
        federation_pb2.FederationEntry(tenant=federation_pb2.Tenant(name=tenant, owner="team")),
        federation_pb2.FederationEntry(topic=federation_pb2.Topic(cluster="live", name=topic, tenant=tenant)),
    )
    with client(guarded, "root") as root:
        for entry in entries:
            root.change_federation([federation_pb2.FederationChange(put=entry)])


def test_who_loses_a_role_has_lost_it_at_once(guarded: Guarded) -> None:
    with client(guarded, "vic") as vic:
        assert vic.tickets() == ()
        guarded.roles.write_text('denied = ["vic"]\n[[grants]]\nwho = ["*"]\nrole = "viewer"\n')
        with pytest.raises(NotAllowed, match="vic is not viewer"):
            vic.tickets()


def test_a_token_that_is_revoked_is_none_at_once(guarded: Guarded) -> None:
    with client(guarded, "vic") as vic:
        assert vic.tickets() == ()
        guarded.without("vic")
        with pytest.raises(NotSignedIn, match="the token is not known, or was revoked"):
            vic.tickets()


@pytest.mark.parametrize("broken", ["", "grants = 1", "[[grants]]\nwho = []\nrole = 'viewer'", "\x00", None])
def test_a_roles_file_that_cant_be_used_lets_nobody_in(guarded: Guarded, broken: str | None) -> None:
    good = guarded.roles.read_text()
    with client(guarded, "root") as root:
        if broken is None:
            guarded.roles.unlink()
        else:
            guarded.roles.write_text(broken)
        with pytest.raises(NotSignedIn, match="the member's roles file can't be used, so that nobody is let in"):
            root.tickets()
        guarded.roles.write_text(good)
        assert root.tickets() == ()


def test_a_broker_of_one_cluster_writes_nothing_of_another(guarded: Guarded, channel: grpc.Channel) -> None:
    guarded.roles.write_text('[[grants]]\nwho = ["kafka-1"]\nrole = "broker"\nclusters = ["live"]\n')
    rpcs = {rpc.method.name: rpc for rpc in every_rpc()}
    metadata = headers(guarded.token["kafka-1"])
    for cluster_id, is_own in (("fake", True), ("another", False)):
        partition = tiering_pb2.TopicIdPartition(cluster_id=cluster_id, topic_id=b"t" * 16)
        append = tiering_pb2.AppendSegmentEventsRequest(partitions=[tiering_pb2.PartitionEvents(partition=partition)])
        asked = {
            "AppendSegmentEvents": append,
            "StreamSegmentEvents": tiering_pb2.StreamSegmentEventsRequest(append=append),
            "PullSegmentEvents": tiering_pb2.PullSegmentEventsRequest(partition=partition),
            "GetIds": tiering_pb2.GetIdsRequest(cluster_id=cluster_id),
        }
        for name, request in asked.items():
            is_refused = call(channel, rpcs[name], metadata, request) is grpc.StatusCode.PERMISSION_DENIED
            assert is_refused is not is_own, (name, cluster_id)


def test_who_asks_too_often_waits(guarded: Guarded) -> None:
    guarded.gate._limits = type(guarded.limits)(1.0, 3)
    with client(guarded, "vic") as vic:
        for _ in range(3):
            vic._calls.at(guarded.member.endpoint).tickets.ListTickets(
                tickets_pb2.ListTicketsRequest(), timeout=PATIENCE_S
            )
        with pytest.raises(grpc.RpcError, match="vic asks more than 1 times a second") as refused:
            vic._calls.at(guarded.member.endpoint).tickets.ListTickets(
                tickets_pb2.ListTicketsRequest(), timeout=PATIENCE_S
            )
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        guarded.clock += 1.0
        vic._calls.at(guarded.member.endpoint).tickets.ListTickets(tickets_pb2.ListTicketsRequest(), timeout=CALL_S)


def test_a_member_speaks_for_a_person_with_the_persons_roles(guarded: Guarded) -> None:
    who = Identity("vic", (Grant(Role.ADMIN),), Proof.TOKEN)  # what he has is not what he says
    told = guarded.prover.acting_for(who)
    assert guarded.prover.of_call([(ACTING, told)], None).grants == (Grant(Role.VIEWER),)


def test_certificates_prove_names(guarded: Guarded) -> None:
    assert guarded.prover.of_call([], Shown(("kafka-7",))).may(Role.BROKER)
    assert guarded.prover.of_call([], Shown(("spy",))).may(Role.ADMIN)
    assert guarded.prover.of_call([], Shown((" \uff4bafka-7 ",))).name == "kafka-7"
    for name in ("healing", "Healing", "healing ", "h\u0435aling", "p1acement", "nobody"):
        with pytest.raises(NotSignedIn, match="the certificate's name is "):
            guarded.prover.of_call([], Shown((name,)))


@pytest.mark.parametrize("name", ["Healing", "healing ", "h\u0435aling", "Executor"])
def test_no_door_lets_anybody_be_called_as_guardian_is(guarded: Guarded, name: str) -> None:
    with pytest.raises(InvalidInput):
        make_token(name, b"0000", b"0" * 32, 0)
    with pytest.raises(InvalidInput, match="name"):
        parse_tokens(guarded.tokens.read_text().replace('name = "ann"', f'name = "{name}"'))
    for who in (name, f"token:{name}"):
        with pytest.raises(InvalidInput, match="the name of nobody"):
            parse_roles(f'[[grants]]\nwho = ["{who}"]\nrole = "admin"\n')
    parse_roles(f'[[grants]]\nwho = ["group:{name}"]\nrole = "admin"\n')  # a group is nobody
    member = Member()
    try:
        said = name.strip() if name.isascii() else "p1acement"  # headers are ASCII
        with GuardianClient([member.endpoint], 10.0, actor=said) as plain:
            with pytest.raises(InvalidInput, match="guardian-actor is "):
                plain.delete_partitions([tiering_pb2.TopicIdPartition(cluster_id="fake", topic_id=b"1" * 16)])
            with pytest.raises(InvalidInput, match="author is "):
                plain.create_ticket(plan(2, 3), author=name, submit=True)
            made, _ = plain.create_ticket(plan(2, 3), author="ann", submit=True)
            with pytest.raises(InvalidInput, match="actor is "):
                plain.approve(made.id, actor=name)
    finally:
        member.stop()


def audited(store: ReplicatedStore) -> list[tuple[str, str, int, int]]:
    records, _ = store.read_local().audit_page(0, 0, "", b"", 100)
    return [(each.action, each.actor, each.proof, each.agent) for each in records]


def test_the_audit_has_who_was_proven_whatever_a_header_says(guarded: Guarded, channel: grpc.Channel) -> None:
    stub = tiering_pb2_grpc.TieringStub(channel)
    said = (*headers(guarded.token["root"]), ("guardian-actor", "ann"))
    partition = tiering_pb2.TopicIdPartition(cluster_id="fake", topic_id=b"1" * 16)
    stub.ClaimPartitions(tiering_pb2.ClaimPartitionsRequest(partitions=[partition]), metadata=said)
    stub.AllocateIds(
        tiering_pb2.AllocateIdsRequest(cluster_id="fake", kind=tiering_pb2.TOPIC_ID, count=1), metadata=said
    )
    stub.DeletePartitions(tiering_pb2.DeletePartitionsRequest(partitions=[partition]), metadata=said)
    change = federation_pb2.FederationChange(
        put=federation_pb2.FederationEntry(machine=federation_pb2.Machine(host="m"))
    )
    federation_pb2_grpc.FederationStub(channel).ChangeFederation(
        federation_pb2.ChangeFederationRequest(changes=[change]), metadata=said
    )
    with client(guarded, "ann") as ann:
        ann.create_ticket(plan(2, 3), author="eve", submit=True)
    token = identity_pb2.PROOF_TOKEN
    assert audited(guarded.member.store)[:3] == [
        ("add_ticket", "ann", token, 0),
        ("change_federation", "root", token, 0),
        ("delete_partitions", "root", token, 0),
    ]
    proposed = [records_pb2.Command.FromString(each) for each in guarded.member.replica.proposed]
    by = {each.WhichOneof("command"): (each.actor, each.proof) for each in proposed}
    assert by["claim_partitions"] == by["allocate_ids"] == ("root", token)


def test_without_security_a_header_is_a_claim_and_is_kept_as_one() -> None:
    member = Member()
    try:
        with GuardianClient([member.endpoint], 10.0, actor="ann") as plain:
            plain.delete_partitions([tiering_pb2.TopicIdPartition(cluster_id="fake", topic_id=b"1" * 16)])
            plain.create_ticket(plan(2, 3), author="ben", submit=True)
            shown = [shown_actor(record) for record in plain.audit()]
        claimed = identity_pb2.PROOF_CLAIMED
        assert audited(member.store)[:2] == [
            ("add_ticket", "ben", claimed, 0),
            ("delete_partitions", "ann", claimed, 0),
        ]
        assert shown[:2] == ["ben (unproven)", "ann (unproven)"]
    finally:
        member.stop()


def test_what_guardian_does_is_its_own_in_the_audit(guarded: Guarded) -> None:
    store = guarded.member.store
    machine = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host="m"))
    change = federation_pb2.ChangeFederationRequest(changes=[federation_pb2.FederationChange(put=machine)])
    store.propose(records_pb2.Command(change_federation=change), actor=Agent.EXECUTOR)
    store.raise_level(0)
    assert ("change_federation", "executor", 0, identity_pb2.AGENT_EXECUTOR) in audited(store)
    records, _ = store.read_local().audit_page(0, 0, "", b"", 100)
    assert shown_actor(records[-1]) == records[-1].actor


def test_a_certificate_that_bears_brokers_is_good_for_their_clusters_only(guarded: Guarded) -> None:
    shown = Shown(("kafka-7",), ("broker:live/7", "https://example.net", "broker:other-1/7"))
    broker = guarded.prover.of_call([], shown)
    assert broker.brokers == (BrokerId("live", 7), BrokerId("other-1", 7))
    assert [broker.may(Role.BROKER, cluster) for cluster in ("live", "other-1", "third", "")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert broker.is_broker("live", 7)
    assert not any(broker.is_broker(*other) for other in (("live", 8), ("third", 7), ("", 7)))
    for uri in ("broker:live", "broker:live/x", "broker:/7", "broker:live/7/8", "broker:live/\u0667"):
        with pytest.raises(NotSignedIn, match="use CLUSTER/ID"):
            guarded.prover.of_call([], Shown(("kafka-7",), (uri,)))


def test_a_flood_of_refusals_becomes_few_records(guarded: Guarded) -> None:
    for number in range(5000):
        guarded.refusals.note(Why.NOT_ALLOWED, f"n{number}", "/x", "no", "a")
    guarded.refusals.flush()
    records, _ = guarded.member.store.read_local().audit_page(0, 0, "", b"", 1000)
    refused = [record for record in records if record.action == "refused"]
    assert len(refused) == 21
    assert any(record.detail.startswith("4980 times") for record in refused)


def test_refusals_wait_for_a_leader(guarded: Guarded) -> None:
    guarded.member.replica.has_leader = False
    guarded.refusals.note(Why.NOT_ALLOWED, "ann", "/x", "no", "a")
    guarded.refusals.flush()
    guarded.member.replica.has_leader = True
    assert guarded.refused() == [("ann", "/x", "no")]


def test_a_token_never_gets_into_the_audit(guarded: Guarded) -> None:
    token = guarded.token["ann"]
    guarded.refusals.note(Why.NOT_ALLOWED, "", "/x", f"bad header Bearer {token}", "a")
    assert token not in json.dumps(guarded.refused())
