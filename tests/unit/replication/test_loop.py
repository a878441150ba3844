"""Housekeeping: what is due is proposed, in portions, and nothing else."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from guardian.config import LimitsConfig
from guardian.model.actor import Actor
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster
from guardian.model.wire.federation import cluster_to_proto
from guardian.model.wire.tickets import ticket_to_proto
from guardian.replication.loop import Findings, Housekeeper, PartitionSize, decide
from guardian.replication.store.store import ReplicatedStore
from guardian.tickets.store import append_lines
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import federation_pb2, records_pb2, tiering_pb2
from raft.inmem import InMemoryReplica
from tests import appending

DAY_MS = 86_400_000
LIMITS = LimitsConfig(session_idle_s=100, sessions=500, audit_days=1, events_per_partition=1000)
PARTITION = tiering_pb2.TopicIdPartition(cluster_id="c", topic_id=bytes(16), partition=3)


def size(first: int, following: int) -> Findings:
    return Findings(partitions=[PartitionSize(PARTITION, first, following)])


def test_where_nothing_is_due_nothing_is_proposed() -> None:
    assert decide(LIMITS, Findings()) == []
    assert decide(LIMITS, size(0, 1100)) == [], "a little more than what is kept is left alone"


def test_what_is_due_is_proposed_with_its_limits() -> None:
    expire, trim, sweep = decide(LIMITS, Findings(1, has_old_audit=True, has_deleted_partitions=True))
    assert expire.expire_sessions.idle_ms == 100_000
    assert expire.expire_sessions.max_sessions == 500
    assert trim.trim_audit.keep_ms == 86_400_000
    assert sweep.sweep_partitions.max_keys > 0


def test_a_partition_keeps_its_newest_events() -> None:
    (trim,) = decide(LIMITS, size(50, 5000))
    assert trim.trim_segment_events == records_pb2.TrimSegmentEvents(partition=PARTITION, below_event_id=4000)


class Group:
    """A store of one whose clock is set by hand."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.machine = MetastoreStateMachine(MemoryStore())
        self.store = ReplicatedStore(InMemoryReplica("g1", self.machine), self.machine, lambda: self.now_ms)
        self.housekeeper = Housekeeper(self.store, LIMITS)


@pytest.fixture
def group() -> Group:
    return Group()


def test_a_store_in_order_is_left_alone(group: Group) -> None:
    before = group.machine.applied_index
    assert group.housekeeper.tick() == []
    assert group.machine.applied_index == before


def test_sessions_that_nobody_uses_go(group: Group) -> None:
    group.store.propose(records_pb2.Command(open_session=records_pb2.OpenSession(window=1, session_id=1)))
    assert group.housekeeper.tick() == []
    for _ in range(5):
        group.now_ms += 10_000
        assert group.housekeeper.tick() == []
    open_session = records_pb2.Command(open_session=records_pb2.OpenSession(window=1, session_id=2))
    used = group.store.propose(open_session).session_id
    for _ in range(5):
        group.now_ms += 10_000
        assert group.housekeeper.tick() == []
    group.now_ms += 10_000
    assert group.housekeeper.tick() == ["housekeeping: expire_sessions removed 1"]
    assert group.machine.read().sessions() == 1
    assert group.machine.read().session(used) is not None


def test_old_audit_records_go(group: Group) -> None:
    machine = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host="m"))
    change = federation_pb2.ChangeFederationRequest(changes=[federation_pb2.FederationChange(put=machine)])
    group.store.propose(records_pb2.Command(change_federation=change), actor=Actor("ann"))
    assert group.machine.read().audit_page(0, 0, "", b"", 10)[0]
    group.now_ms += 200 * 86_400_000
    assert group.housekeeper.tick() == [], "the proposer's clock alone makes nothing old"
    clocks = records_pb2.AdvanceClock(clocks_ms=[group.now_ms])
    group.store.propose(records_pb2.Command(advance_clock=clocks))
    assert group.housekeeper.tick() == ["housekeeping: trim_audit removed 1"]
    assert not group.machine.read().audit_page(0, 0, "", b"", 10)[0]


def append(group: Group, first: int, count: int) -> None:
    events = [
        tiering_pb2.SegmentEvent(
            segment_id=number.to_bytes(16, "big"),
            state=tiering_pb2.COPY_SEGMENT_STARTED,
            start_offset=number * 10,
            end_offset=number * 10 + 9,
            segment_size_bytes=1,
            segment_leader_epochs={1: 0},
        )
        for number in range(first, first + count)
    ]
    part = tiering_pb2.PartitionEvents(partition=PARTITION, events=events)
    request = tiering_pb2.AppendSegmentEventsRequest(partitions=[part])
    result = appending.apply(group.machine, request).results[0]
    assert not result.error


def kept(group: Group) -> int:
    """Events of the partition that are still there."""
    (size,) = group.housekeeper._look(group.machine.read()).partitions
    assert size.partition == PARTITION
    return size.next_event_id - size.first_event_id


def test_a_partition_with_too_many_events_keeps_its_newest(group: Group) -> None:
    append(group, 0, 600)
    append(group, 600, 450)
    assert group.housekeeper.tick() == []
    append(group, 1050, 600)
    (sentence,) = group.housekeeper.tick()
    assert sentence.startswith("housekeeping: trim_segment_events removed")
    assert 1000 <= kept(group) <= 1100
    assert group.housekeeper.tick() == []


def test_what_deleted_partitions_leave_is_swept(group: Group) -> None:
    append(group, 0, 10)
    delete = tiering_pb2.DeletePartitionsRequest(partitions=[PARTITION])
    group.store.propose(records_pb2.Command(delete_partitions=delete))
    (sentence,) = group.housekeeper.tick()
    assert sentence.startswith("housekeeping: sweep_partitions removed")
    assert group.housekeeper.tick() == []


def test_what_can_not_be_carried_out_keeps_nothing_else_from_it(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    append(group, 0, 10)
    group.store.propose(
        records_pb2.Command(delete_partitions=tiering_pb2.DeletePartitionsRequest(partitions=[PARTITION]))
    )
    unknown = PartitionSize(tiering_pb2.TopicIdPartition(cluster_id="c", topic_id=b"x" * 16), 0, 5000)
    look = group.housekeeper._look
    monkeypatch.setattr(group.housekeeper, "_look", lambda *views: replace(look(*views), partitions=[unknown]))
    monkeypatch.setattr("guardian.replication.loop.decide", lambda *found: decide(*found)[::-1])
    swept, refused = group.housekeeper.tick()
    assert swept.startswith("housekeeping: sweep_partitions removed")
    assert refused.startswith("housekeeping: trim_segment_events was refused: partition 0 of topic")


class Tickets:
    """Tickets of a cluster in a group's store, made and ended one after another."""

    def __init__(self, group: Group) -> None:
        self.group = group
        cluster = cluster_to_proto(Cluster("live", "b:1", "id-1"))
        group.store.propose(records_pb2.Command(put_cluster=records_pb2.PutCluster(cluster=cluster)))

    def ended(self, ticket_id: str) -> None:
        ask = Ask(AskKind.OFFLINE, (1,))
        now_ms = self.group.now_ms
        ticket = Ticket(ticket_id, "live", ask.kind, TicketState.PENDING, "ann", "", 1, now_ms, now_ms, (), ask=ask)
        self.group.store.propose(records_pb2.Command(add_ticket=records_pb2.AddTicket(ticket=ticket_to_proto(ticket))))
        rejected = TicketTransition(TicketState.REJECTED, now_ms, "bob", "no")
        self.group.store.advance(ticket_id, TicketState.PENDING, rejected, None, 0)

    def kept(self) -> set[str]:
        return {ticket.id for ticket in self.group.machine.read().walk_tickets()}


def advance_clock(group: Group, by_ms: int) -> None:
    group.now_ms += by_ms
    clocks = records_pb2.AdvanceClock(clocks_ms=[group.now_ms])
    while group.machine.read().clock_ms < group.now_ms:
        group.store.propose(records_pb2.Command(advance_clock=clocks))


def test_tickets_that_ended_long_ago_go_and_others_stay(group: Group) -> None:
    tickets = Tickets(group)
    group.housekeeper = Housekeeper(group.store, replace(LIMITS, ticket_days=1, audit_days=30))
    advance_clock(group, 1)
    for number in range(150):
        tickets.ended(f"old-{number}")
    advance_clock(group, DAY_MS - 10_000)
    tickets.ended("young")
    assert group.housekeeper.tick() == []
    advance_clock(group, 10_001)
    assert group.housekeeper.tick() == ["housekeeping: trim_tickets removed 150"]
    assert tickets.kept() == {"young"}
    assert group.housekeeper.tick() == []


def test_a_ticket_is_exported_before_it_goes(group: Group, tmp_path: Path) -> None:
    tickets = Tickets(group)
    limits = replace(LIMITS, ticket_days=1, audit_days=30, ticket_export=tmp_path / "missing" / "tickets.jsonl")
    group.housekeeper = Housekeeper(group.store, limits)
    advance_clock(group, 1)
    for ticket_id in ("t-1", "t-2"):
        tickets.ended(ticket_id)
    advance_clock(group, DAY_MS + 1)
    [refused] = group.housekeeper.tick()
    assert "limits.ticket_export" in refused
    assert "No such file" in refused
    assert tickets.kept() == {"t-1", "t-2"}, "what can't be exported stays"
    (tmp_path / "missing").mkdir()
    assert group.housekeeper.tick() == ["housekeeping: trim_tickets removed 2"]
    lines = [json.loads(line) for line in limits.ticket_export.read_text().splitlines()]  # type: ignore[union-attr]
    assert [line["ticket"]["id"] for line in lines] == ["t-1", "t-2"]
    assert [each["state"] for each in lines[0]["ticket"]["history"]] == ["REJECTED"]


def test_lines_are_appended_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tickets.jsonl"
    append_lines(path, ["a"])
    write = os.write

    def fill(file: int, content: bytes) -> int:
        if len(content) < 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, content[:3])

    monkeypatch.setattr(os, "write", fill)
    with pytest.raises(OSError, match="No space"):
        append_lines(path, ["bcd"])
    assert path.read_text() == "a\n"


def test_half_a_line_that_a_crash_left_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "tickets.jsonl"
    path.write_text('{"ticket": {"id"')
    append_lines(path, ["{}"])
    assert path.read_text().splitlines()[1:] == ["{}"]
