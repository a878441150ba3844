"""Any log of commands: the same replies and content on both stores, however often a part of it is replayed."""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.model.ticket import TicketState
from guardian.model.wire.tickets import ticket_from_proto
from metastore import keys
from metastore.appends import check
from metastore.commands import SessionUse, append_command
from metastore.keys import PartitionId, Table
from metastore.memory import MemoryStore
from metastore.rocksdb import RocksDbStore
from metastore.segment_views import SegmentViews
from metastore.state_machine import MetastoreStateMachine
from metastore.store import Store
from metastore.tables import plans, ticket_index
from protos.guardian.v1 import federation_pb2, tickets_pb2, tiering_pb2
from protos.guardian.v1 import records_pb2 as pb
from tests import appending

pytestmark = pytest.mark.slow

# Small pools, so that commands meet one another.
NAMES = st.sampled_from(["live", "bulk"])
IDS = st.sampled_from(["t1", "t2", ""])
STATES = st.sampled_from(tickets_pb2.TicketState.values()[1:8])
PLANS = [b"plan %d" % number * 20 for number in range(2)]
HASHES = [hashlib.sha256(plan).hexdigest() for plan in PLANS]
PARTITIONS = [PartitionId(cluster, b"T" * 16, number) for cluster in ("c", "d") for number in range(2)]
SEGMENTS = [letter * 16 for letter in (b"A", b"B")]


def chunk(content: bytes, number: int, count: int) -> pb.PutPlanChunk:
    packed = zlib.compress(content)
    size = -(-len(packed) // count)
    return pb.PutPlanChunk(
        plan_hash=hashlib.sha256(content).hexdigest(),
        chunk=number,
        chunks=count,
        data=packed[number * size : (number + 1) * size],
    )


def event(segment: bytes, state: int) -> tiering_pb2.SegmentEvent:
    is_start = state == tiering_pb2.COPY_SEGMENT_STARTED
    return tiering_pb2.SegmentEvent(
        segment_id=segment,
        state=state,  # type: ignore[arg-type]
        segment_leader_epochs={1: 0, 7: 5, 300: 6} if is_start else {},
    )


def part(partition: PartitionId, events: list[tiering_pb2.SegmentEvent]) -> tiering_pb2.PartitionEvents:
    name = tiering_pb2.TopicIdPartition(
        cluster_id=partition.cluster_id, topic_id=partition.topic_id, partition=partition.partition
    )
    return tiering_pb2.PartitionEvents(partition=name, events=events)


clusters = st.builds(
    federation_pb2.Cluster, name=NAMES, cluster_id=st.sampled_from(["c", "d", ""]), bootstrap=st.just("b:1")
)
new_tickets = st.builds(
    tickets_pb2.Ticket,
    id=IDS,
    cluster=NAMES,
    state=STATES,
    plan_hash=st.sampled_from(HASHES),
    idempotency_key=st.sampled_from(["", "k1", "k2"]),
    created_at_ms=st.integers(0, 5),
)
transitions = st.builds(tickets_pb2.TicketTransition, state=STATES, actor=st.sampled_from(["", "ann"]))
executions = st.builds(tickets_pb2.Execution, ticket_id=IDS, note=st.text(max_size=5))
advances = st.builds(
    pb.AdvanceTicket,
    ticket_id=IDS,
    expected_state=STATES,
    transition=st.none() | transitions,
    execution=st.none() | executions,
    expected_execution_revision=st.integers(0, 2),
)
events = st.builds(event, st.sampled_from(SEGMENTS), st.integers(1, 4))
appends = st.builds(
    tiering_pb2.AppendSegmentEventsRequest,
    partitions=st.lists(st.builds(part, st.sampled_from(PARTITIONS), st.lists(events, max_size=4)), max_size=3),
)
machines = st.builds(federation_pb2.Machine, host=st.sampled_from(["m1", "m2", ""]), cluster=NAMES | st.just(""))
federation_changes = st.builds(
    federation_pb2.ChangeFederationRequest,
    changes=st.lists(
        st.builds(
            federation_pb2.FederationChange,
            put=st.builds(federation_pb2.FederationEntry, machine=machines),
            expected_revision=st.none() | st.integers(0, 5),
        ),
        max_size=3,
    ),
)
sessions = st.builds(
    SessionUse,
    st.integers(0, 5),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from([b"", b"ann"]),
    st.sampled_from([b"a" * 16, b"b" * 16]),
)


def in_session(command: pb.Command, session: SessionUse | None, proposed_at_ms: int) -> bytes:
    if session is not None:
        command.session.CopyFrom(session.to_message())
    command.proposed_at_ms = proposed_at_ms
    return command.SerializeToString()


plain_commands = st.one_of(
    st.builds(
        pb.Command, open_session=st.builds(pb.OpenSession, session_id=st.integers(0, 5), window=st.integers(0, 2))
    ),
    st.builds(pb.Command, expire_sessions=st.builds(pb.ExpireSessions, max_sessions=st.integers(0, 2))),
    st.builds(pb.Command, change_federation=federation_changes),
    st.builds(
        pb.Command,
        trim_tickets=st.builds(
            pb.TrimTickets,
            keep_ms=st.integers(-1, 2),
            ticket_ids=st.lists(IDS, max_size=2),
            plan_hashes=st.lists(st.sampled_from(HASHES), max_size=2),
        ),
    ),
    st.builds(pb.Command, trim_audit=st.builds(pb.TrimAudit, keep_ms=st.integers(0, 2))),
    st.builds(
        pb.Command, advance_clock=st.builds(pb.AdvanceClock, clocks_ms=st.lists(st.integers(1, 100_000), max_size=4))
    ),
    st.builds(pb.Command, put_cluster=st.builds(pb.PutCluster, cluster=clusters)),
    st.builds(pb.Command, drop_cluster=st.builds(pb.DropCluster, name=NAMES)),
    st.builds(
        pb.Command,
        put_plan_chunk=st.builds(chunk, st.sampled_from(PLANS), st.integers(0, 2), st.integers(1, 2)),
    ),
    st.builds(pb.Command, add_ticket=st.builds(pb.AddTicket, ticket=new_tickets)),
    st.builds(pb.Command, advance_ticket=advances),
)
raw_appends = st.builds(
    append_command,
    appends.filter(lambda request: request.partitions).map(lambda request: check(request.SerializeToString()).command),
    st.integers(0, 3),
    sessions,
)
commands = st.one_of(
    st.builds(in_session, plain_commands, st.none() | sessions, st.integers(0, 3)), raw_appends, st.binary(max_size=5)
)
# Half of the logs start with what tickets need, since they rarely would by chance.
GROUNDWORK = [
    pb.Command(
        put_cluster=pb.PutCluster(cluster=federation_pb2.Cluster(name="live", cluster_id="c", bootstrap="b:1"))
    ).SerializeToString(),
    *(pb.Command(put_plan_chunk=chunk(content, 0, 1)).SerializeToString() for content in PLANS),
]
logs = st.builds(list.__add__, st.sampled_from([[], GROUNDWORK]), st.lists(commands, max_size=25))


@contextmanager
def rocksdb() -> Iterator[RocksDbStore]:
    with tempfile.TemporaryDirectory() as directory:
        store = RocksDbStore(Path(directory))
        yield store
        store.close()


def replayed(machine: MetastoreStateMachine, log: list[bytes]) -> list[bytes]:
    return [machine.apply(index, command) for index, command in enumerate(log, start=1)]


def content(store: Store) -> list[tuple[bytes, bytes]]:
    return [(key, value) for key, value in store.scan(b"") if key[:1] != b"\x00"]


def without_the_refusals(store: Store) -> list[tuple[bytes, bytes]]:
    kept = (Table.AUDIT, Table.SESSION, Table.SESSION_BY_USE, Table.SESSION_REPLY)
    return [(key, value) for key, value in content(store) if key[0] not in kept]


@settings(max_examples=60)
@given(logs)
def test_both_stores_answer_and_hold_the_same(log: list[bytes]) -> None:
    memory = MemoryStore()
    replies = replayed(MetastoreStateMachine(memory), log)
    with rocksdb() as store:
        assert replayed(MetastoreStateMachine(store), log) == replies
        assert content(store) == content(memory)
        assert store.applied_index == memory.applied_index == len(log)


@settings(max_examples=100)
@given(logs, st.data())
def test_replaying_a_part_of_the_log_changes_nothing(log: list[bytes], data: st.DataObject) -> None:
    straight, again = MemoryStore(), MemoryStore()
    replies = replayed(MetastoreStateMachine(straight), log)
    machine = MetastoreStateMachine(again)
    crash = data.draw(st.integers(0, len(log)), label="commands before the restart")
    replayed(machine, log[:crash])
    after_restart = replayed(machine, log)
    assert after_restart == [b""] * crash + replies[crash:]
    assert content(again) == content(straight)


@settings(max_examples=100)
@given(logs)
def test_what_is_refused_changes_nothing_but_the_audit_and_its_session(log: list[bytes]) -> None:
    store = MemoryStore()
    machine = MetastoreStateMachine(store)
    for index, command in enumerate(log, start=1):
        before = without_the_refusals(store)
        reply = pb.CommandReply.FromString(machine.apply(index, command))
        assert (reply.error_kind == 0) == (reply.error == "")
        assert "bug" not in reply.error
        if reply.error and "send all of them again" not in reply.error:
            assert without_the_refusals(store) == before


@settings(max_examples=100)
@given(logs)
def test_indices_name_the_tickets_that_are_stored(log: list[bytes]) -> None:
    machine = MetastoreStateMachine(MemoryStore())
    for index, entry in enumerate(log, start=1):
        machine.apply(index, entry)
    views = machine.read()
    tickets = [
        ticket_from_proto(tickets_pb2.Ticket.FromString(value))
        for _, value in views.snapshot.scan(keys.Table.TICKET.prefix)
    ]
    for cluster in ("live", "bulk"):
        open_ones = [ticket.id for ticket in tickets if ticket.cluster == cluster and not ticket.state.is_over]
        assert sorted(ticket_index.open_ids(views.snapshot, cluster)) == sorted(open_ones)
        for state in TicketState:
            of_state = [each.id for each in tickets if (each.cluster, each.state) == (cluster, state)]
            assert sorted(ticket_index.open_ids(views.snapshot, cluster, [state])) == (
                [] if state.is_over else sorted(of_state)
            )
        counts = views.ticket_counts(cluster).get(cluster, Counter())
        assert counts == Counter(ticket.state for ticket in tickets if ticket.cluster == cluster)
    stored = views.snapshot.scan(keys.Table.TICKET_INDEX.prefix)
    assert len(stored) == len({ticket.cluster for ticket in tickets}), "none is left of a cluster without tickets"
    drafts = [ticket for ticket in tickets if ticket.state is TicketState.DRAFT]
    assert len(views.snapshot.scan(keys.Table.TICKET_DRAFTS.prefix)) <= len(drafts), "no bucket without drafts is left"
    for plan_hash in filter(views.has_plan, HASHES):
        is_used = any(ticket.plan_hash == plan_hash for ticket in tickets)
        assert plans.may_go(views.snapshot, plan_hash, before_ms=1 << 60) is not is_used


@settings(max_examples=100)
@given(st.lists(appends.filter(lambda request: request.partitions), max_size=10))
def test_event_ids_have_no_gaps_and_live_segments_follow_from_the_events(
    requests: list[tiering_pb2.AppendSegmentEventsRequest],
) -> None:
    machine = MetastoreStateMachine(MemoryStore())
    for request in requests:
        appending.apply(machine, request)
    views = SegmentViews(machine.read().snapshot)
    for partition in PARTITIONS:
        pulled = tiering_pb2.PullSegmentEventsReply.FromString(views.pull(partition, 0, 1000, 1 << 20))
        ids = [group.first_event_id + number for group in pulled.groups for number in range(len(group.events))]
        assert ids == list(range(pulled.next_event_id))
        assert pulled.next_event_id == views.head(partition).next_event_id
        newest = {each.segment_id: each.state for group in pulled.groups for each in group.events}
        expected = {segment: state for segment, state in newest.items() if state != tiering_pb2.DELETE_SEGMENT_FINISHED}
        pages = [tiering_pb2.ListLiveSegmentsReply.FromString(page) for page in views.live_pages(partition, 2, 1 << 20)]
        assert {each.segment_id for page in pages for each in page.segments} == expected.keys()
