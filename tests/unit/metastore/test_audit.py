"""The audit: who changed what, also what was refused; not what keeps Guardian going."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from metastore.tables import audit
from protos.guardian.v1 import federation_pb2, identity_pb2, tickets_pb2, tiering_pb2
from protos.guardian.v1 import records_pb2 as pb
from tests import appending
from tests.unit.metastore.proposing import Group


@pytest.fixture
def group() -> Group:
    return Group()


def put_machine(host: str, dry_run: bool = False) -> federation_pb2.ChangeFederationRequest:
    entry = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host=host))
    return federation_pb2.ChangeFederationRequest(changes=[federation_pb2.FederationChange(put=entry)], dry_run=dry_run)


def records(group: Group, actor: str = "", from_ms: int = 0, until_ms: int = 0) -> list[federation_pb2.AuditRecord]:
    return group.machine.read().audit_page(from_ms, until_ms, actor, b"", 100)[0]


def test_a_change_is_recorded_with_who_what_and_when(group: Group) -> None:
    group.propose(actor="ann", change_federation=put_machine("m1"))
    (record,) = records(group)
    assert record == federation_pb2.AuditRecord(
        at_ms=1000,
        index=1,
        actor="ann",
        action="change_federation",
        subject="put machine m1",
        detail="1 changes",
    )


def test_a_refused_change_is_recorded_with_its_error(group: Group) -> None:
    reply = group.propose(actor="bob", drop_cluster=pb.DropCluster(name="live"))
    (record,) = records(group)
    assert (record.subject, record.error) == ("cluster live", reply.error)


def test_what_changed_nothing_and_dry_runs_are_not_recorded(group: Group) -> None:
    group.propose(change_federation=put_machine("m1", dry_run=True))
    group.propose(change_federation=put_machine("m1"))
    group.propose(change_federation=put_machine("m1"))
    assert [record.index for record in records(group)] == [2]


def test_a_command_without_an_actor_is_guardians_own_and_an_agent_is_told_from_a_name(group: Group) -> None:
    group.propose(
        put_cluster=pb.PutCluster(cluster=federation_pb2.Cluster(name="live", cluster_id="c", bootstrap="b:1"))
    )
    group.propose(
        actor="cyd", add_ticket=pb.AddTicket(ticket=tickets_pb2.Ticket(id="t1", cluster="live", author="cyd"))
    )
    moved = tickets_pb2.TicketTransition(state=tickets_pb2.APPROVED, actor="policy", reason="fine")
    group.propose(
        actor="policy",
        agent=identity_pb2.AGENT_POLICY,
        advance_ticket=pb.AdvanceTicket(ticket_id="t1", transition=moved),
    )
    assert [(record.actor, record.agent, record.subject) for record in records(group)] == [
        ("policy", identity_pb2.AGENT_POLICY, "ticket t1"),
        ("cyd", 0, "ticket t1"),
        ("guardian", identity_pb2.AGENT_GUARDIAN, "cluster live"),
    ]
    assert records(group)[0].detail == "APPROVED: fine"


@pytest.mark.parametrize(
    "command",
    [
        {"open_session": pb.OpenSession(window=1)},
        {"expire_sessions": pb.ExpireSessions(idle_ms=5000)},
        {"allocate_ids": tiering_pb2.AllocateIdsRequest(cluster_id="c", kind=tiering_pb2.TOPIC_ID, count=1)},
        {"put_plan_chunk": pb.PutPlanChunk()},
        {"trim_audit": pb.TrimAudit()},
        {"sweep_partitions": pb.SweepPartitions(max_keys=1)},
        {"advance_ticket": pb.AdvanceTicket(ticket_id="t", execution=tickets_pb2.Execution(ticket_id="t"))},
    ],
    ids=lambda command: next(iter(command)),
)
def test_what_brokers_and_guardian_do_all_day_is_not_audited(group: Group, command: dict[str, object]) -> None:
    group.open_session()
    group.propose(**command)
    assert records(group) == []


def test_appends_of_segment_events_are_not_audited(group: Group) -> None:
    partition = tiering_pb2.TopicIdPartition(cluster_id="id-1", topic_id=b"t" * 16)
    event = tiering_pb2.SegmentEvent(segment_id=b"s" * 16, state=1, segment_leader_epochs={0: 0})  # type: ignore[arg-type]
    part = tiering_pb2.PartitionEvents(partition=partition, events=[event])
    reply = appending.apply(group.machine, tiering_pb2.AppendSegmentEventsRequest(partitions=[part]))
    assert not reply.results[0].error
    assert records(group) == []


def test_long_texts_are_cut(group: Group) -> None:
    group.propose(actor="a" * 9999, drop_cluster=pb.DropCluster(name="x" * 9999))
    (record,) = records(group)
    assert max(len(record.actor), len(record.subject), len(record.error)) == 500


def fill(group: Group, count: int) -> None:
    for number in range(count):
        group.now_ms = 1000 + number // 2  # two at the same time
        group.propose(actor=f"p{number % 3}", change_federation=put_machine(f"m{number}"))


def test_pages_go_back_in_time_and_meet_everything_once(group: Group) -> None:
    fill(group, 11)
    views = group.machine.read()
    found, token = views.audit_page(0, 0, "", b"", 4)
    while token:
        fill(group, 1)  # newer ones do not disturb
        page, token = group.machine.read().audit_page(0, 0, "", token, 4)
        found += page
    assert [record.index for record in found] == list(range(11, 0, -1))


def test_a_time_and_an_actor_choose(group: Group) -> None:
    fill(group, 10)
    assert [record.index for record in records(group, from_ms=1001, until_ms=1003)] == [6, 5, 4, 3]
    assert [record.index for record in records(group, actor="p1")] == [8, 5, 2]


def test_a_page_of_one_actor_looks_at_a_bounded_number(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_SCANNED", 4)
    fill(group, 10)
    found, token = group.machine.read().audit_page(0, 0, "nobody", b"", 3)
    assert found == []
    pages = 1
    while token:
        page, token = group.machine.read().audit_page(0, 0, "nobody", token, 3)
        assert page == []
        pages += 1
    assert pages == 3


def test_another_lists_token_is_refused(group: Group) -> None:
    with pytest.raises(InvalidInput, match="page_token"):
        group.machine.read().audit_page(0, 0, "", b"\x01", 3)


def test_trimming_forgets_what_is_older_in_bounded_portions(group: Group) -> None:
    fill(group, 10)
    assert group.propose(trim_audit=pb.TrimAudit(keep_ms=0)).swept == 0, "the group has no clock yet"
    group.propose(advance_clock=pb.AdvanceClock(clocks_ms=[2003]))
    before = [group.propose(trim_audit=pb.TrimAudit(keep_ms=1000, max_records=4)).swept for _ in range(3)]
    assert before == [4, 2, 0]
    assert [record.index for record in records(group)] == [10, 9, 8, 7]
