"""Segment events against a twin in plain dicts: the same results, events and live segments, whatever comes."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.errors import Conflict, NotFound
from metastore.keys import PartitionId
from metastore.memory import MemoryStore
from metastore.segment_views import SegmentViews
from metastore.tables import claims, segment_retention
from metastore.tables.proposal import Proposal
from protos.guardian.v1 import records_pb2 as records
from protos.guardian.v1 import tiering_pb2 as pb
from tests import appending

# Small pools, so that commands meet one another. The third has a topic id that is the first cluster's.
PARTITIONS = [
    PartitionId("c", b"T" * 16, 0),
    PartitionId("c", b"T" * 16, 1),
    PartitionId("d", b"T" * 16, 0),
    PartitionId("d", b"U" * 16, 0),
]
SEGMENTS = [letter * 16 for letter in (b"A", b"B", b"C")]
PROPOSAL = Proposal(1, 1234)
NEXT = {
    0: {pb.COPY_SEGMENT_STARTED},
    pb.COPY_SEGMENT_STARTED: {pb.COPY_SEGMENT_FINISHED, pb.DELETE_SEGMENT_STARTED},
    pb.COPY_SEGMENT_FINISHED: {pb.DELETE_SEGMENT_STARTED},
    pb.DELETE_SEGMENT_STARTED: {pb.DELETE_SEGMENT_FINISHED},
    pb.DELETE_SEGMENT_FINISHED: set(),
}


@dataclass
class Partition:
    """`events` are all that there ever were; `groups` the sizes of those that are kept."""

    events: list[pb.SegmentEvent] = field(default_factory=list)
    first: int = 0
    groups: list[int] = field(default_factory=list)
    token: int = 0
    epoch: tuple[int, int] | None = None  # leader epoch, broker
    claim: pb.PartitionClaim | None = None
    is_deleted: bool = False


@dataclass
class Twin:
    """Slow and obvious."""

    partitions: dict[PartitionId, Partition] = field(default_factory=dict)
    topics: dict[bytes, str] = field(default_factory=dict)
    segments: dict[bytes, tuple[PartitionId, list[int]]] = field(default_factory=dict)  # owner, states seen

    def token(self, name: PartitionId) -> int:
        return self.partitions.get(name, Partition()).token

    def append(self, name: PartitionId, events: list[pb.SegmentEvent], token: int) -> tuple[int, int]:
        """The error kind (0: none) and the next event id."""
        partition = self.partitions.get(name, Partition())
        next_id = len(partition.events)
        if name not in self.partitions and self.topics.get(name.topic_id, name.cluster_id) != name.cluster_id:
            return pb.BELONGS_ELSEWHERE, 0
        if partition.is_deleted:
            return pb.PARTITION_DELETED, next_id
        if token != partition.token:
            return (pb.FENCED_LEADER_EPOCH if token < partition.token else pb.APPEND_INVALID), next_id
        segments = {segment: (owner, list(seen)) for segment, (owner, seen) in self.segments.items()}
        added = []
        for event in events:
            owner, seen = segments.setdefault(event.segment_id, (name, []))
            if owner != name:
                return pb.BELONGS_ELSEWHERE, next_id
            if event.state in seen:
                continue
            if event.state not in NEXT[seen[-1] if seen else 0]:
                return pb.INVALID_TRANSITION, next_id
            seen.append(event.state)
            added.append(event)
        if added:
            self.segments = segments
            self.topics[name.topic_id] = name.cluster_id
            self.partitions[name] = partition
            partition.events += added
            partition.groups.append(len(added))
        return 0, len(partition.events)

    def claim(self, name: PartitionId, broker: int, epoch: int | None) -> tuple[int, int]:
        """The error kind and the token."""
        partition = self.partitions.get(name, Partition())
        if partition.is_deleted:
            return pb.PARTITION_DELETED, 0
        if name not in self.partitions and self.topics.get(name.topic_id, name.cluster_id) != name.cluster_id:
            return pb.BELONGS_ELSEWHERE, 0
        if epoch is None:
            if partition.epoch is not None:
                return pb.FENCED_LEADER_EPOCH, 0
            partition.token += 1
        elif epoch < 0:
            return pb.NOT_VERIFIED, 0
        elif partition.epoch != (epoch, broker):
            if partition.epoch is not None and epoch <= partition.epoch[0]:
                return pb.FENCED_LEADER_EPOCH, 0
            partition.epoch = (epoch, broker)
            partition.token = max(partition.token, epoch) + 1
        if partition.claim is None or partition.claim.fencing_token != partition.token:
            partition.claim = pb.PartitionClaim(fencing_token=partition.token, broker_id=broker, leader_epoch=epoch)
            partition.claim.topic, partition.claim.claimed_at_ms = f"t{partition.token}", PROPOSAL.at_ms
        self.partitions[name] = partition
        self.topics[name.topic_id] = name.cluster_id
        return 0, partition.token

    def trim(self, name: PartitionId, below: int) -> None:
        partition = self.partitions.get(name)
        if partition is None or partition.is_deleted:
            return
        while partition.groups and partition.first + partition.groups[0] <= below:
            end = partition.first + partition.groups.pop(0)
            for event in partition.events[partition.first : end]:
                if event.state == pb.DELETE_SEGMENT_FINISHED:
                    del self.segments[event.segment_id]
            partition.first = end

    def delete(self, name: PartitionId) -> None:
        if name not in self.partitions and self.topics.get(name.topic_id, name.cluster_id) != name.cluster_id:
            return
        self.topics[name.topic_id] = name.cluster_id
        self.partitions.setdefault(name, Partition()).is_deleted = True

    def sweep(self) -> None:
        gone = {name for name, partition in self.partitions.items() if partition.is_deleted}
        for name in gone:
            self.partitions[name].claim = None
        self.segments = {segment: known for segment, known in self.segments.items() if known[0] not in gone}

    def live(self, name: PartitionId) -> dict[bytes, pb.SegmentEvent]:
        found: dict[bytes, pb.SegmentEvent] = {}
        for event in self.partitions.get(name, Partition()).events:
            if event.state == pb.COPY_SEGMENT_STARTED:
                found[event.segment_id] = pb.SegmentEvent.FromString(event.SerializeToString())
            elif event.state == pb.DELETE_SEGMENT_FINISHED:
                del found[event.segment_id]
            else:
                newest = found[event.segment_id]
                newest.state, newest.broker_id = event.state, event.broker_id
                newest.event_timestamp_ms = event.event_timestamp_ms
                if event.custom_metadata:
                    newest.custom_metadata = event.custom_metadata
        return found

    def gone(self, name: PartitionId) -> dict[int, int]:
        """By leader epoch the highest offset of finished copies whose deletion has begun."""
        begun: dict[bytes, pb.SegmentEvent] = {}
        finished: set[bytes] = set()
        highest: dict[int, int] = {}
        for event in self.partitions.get(name, Partition()).events:
            if event.state == pb.COPY_SEGMENT_STARTED:
                begun[event.segment_id] = event
                finished.discard(event.segment_id)
            elif event.state == pb.COPY_SEGMENT_FINISHED:
                finished.add(event.segment_id)
            elif event.state == pb.DELETE_SEGMENT_STARTED and event.segment_id in finished:
                segment = begun[event.segment_id]
                for epoch in segment.segment_leader_epochs:
                    later = [e for e in segment.segment_leader_epochs if e > epoch]
                    end = segment.segment_leader_epochs[min(later)] - 1 if later else segment.end_offset
                    highest[epoch] = max(highest.get(epoch, end), end)
        return highest

    def swept(self, name: PartitionId) -> tuple[int, int]:
        """Segments that are gone and were never finished, and their bytes."""
        seen: dict[bytes, list[int]] = {}
        sizes: dict[bytes, int] = {}
        swept: list[int] = []
        for event in self.partitions.get(name, Partition()).events:
            if event.state == pb.COPY_SEGMENT_STARTED:
                seen[event.segment_id], sizes[event.segment_id] = [], event.segment_size_bytes
            seen[event.segment_id].append(event.state)
            if event.state == pb.DELETE_SEGMENT_FINISHED and pb.COPY_SEGMENT_FINISHED not in seen[event.segment_id]:
                swept.append(sizes[event.segment_id])
        return len(swept), sum(swept)


def event(segment: bytes, state: int, broker: int, size: int, custom: bytes) -> pb.SegmentEvent:
    made = pb.SegmentEvent(
        segment_id=segment,
        state=state,  # type: ignore[arg-type]
        broker_id=broker,
        event_timestamp_ms=size,
        custom_metadata=custom if state <= pb.COPY_SEGMENT_FINISHED else b"",
    )
    if state == pb.COPY_SEGMENT_STARTED:
        made.end_offset, made.segment_size_bytes = 5 + size, size
        made.segment_leader_epochs[broker], made.segment_leader_epochs[broker + 2] = 0, size
    return made


def named(partition: PartitionId) -> pb.TopicIdPartition:
    return pb.TopicIdPartition(
        cluster_id=partition.cluster_id, topic_id=partition.topic_id, partition=partition.partition
    )


events = st.builds(
    event,
    st.sampled_from(SEGMENTS),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(0, 5),
    st.sampled_from([b"", b"m", b"n"]),
)
# Mostly one partition and whole lives, so that trims find something; tokens mostly the good one (0: off by nothing).
partitions = st.sampled_from([*[PARTITIONS[0]] * 5, *PARTITIONS])
lives = st.builds(
    lambda segment, states, size: [event(segment, state, 1, size, b"m" if state == 2 else b"") for state in states],
    st.sampled_from(SEGMENTS),
    st.sampled_from([(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 3, 4), (2,), (2, 3), (3,), (3, 4), (4,)]),
    st.integers(1, 5),
)
parts = st.tuples(partitions, lives | st.lists(events, min_size=1, max_size=5), st.sampled_from([*[0] * 8, -1, 1, -9]))
appends = st.tuples(st.just("append"), st.lists(parts, min_size=1, max_size=3))
good_appends = st.tuples(st.just("append"), st.lists(st.tuples(st.just(PARTITIONS[0]), lives, st.just(0)), min_size=1))
trims = st.tuples(st.just("trim"), partitions, st.integers(0, 20))
steps = st.one_of(
    appends,
    appends,
    good_appends,
    good_appends,
    trims,
    trims,
    st.tuples(st.just("claim"), partitions, st.integers(1, 2), st.none() | st.integers(-1, 4)),
    st.tuples(st.just("delete"), st.sampled_from(PARTITIONS)),
    st.tuples(st.just("sweep"), st.integers(1, 3)),
    st.tuples(st.just("repeat")),
)


class Table:
    """The real one."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    def write(self, written: list[tuple[bytes, bytes | None]]) -> None:
        self.store.write(written, self.store.applied_index + 1)

    def append(self, parts: list[tuple[PartitionId, list[pb.SegmentEvent], int]]) -> list[tuple[int, int]]:
        request = pb.AppendSegmentEventsRequest(
            partitions=[
                pb.PartitionEvents(partition=named(name), events=events, fencing_token=token)
                for name, events, token in parts
            ]
        )
        written, reply = appending.decide(request.SerializeToString(), self.store, PROPOSAL)
        self.write(written)
        results = reply.results
        assert [result.partition for result in results] == [named(name) for name, _, _ in parts]
        assert all(bool(result.error) == bool(result.error_kind) for result in results)
        return [(result.error_kind, result.next_event_id) for result in results]

    def claim(self, name: PartitionId, broker: int, epoch: int | None) -> tuple[int, int]:
        mode = pb.CLAIM_ORDER if epoch is None else pb.VERIFIED
        # The topic is called after the token that the claim would get.
        token = SegmentViews(self.store).head(name).fencing_token
        topic = f"t{max(token, epoch or 0) + 1}"
        request = pb.ClaimPartitionsRequest(partitions=[named(name)], broker_id=broker, mode=mode, topics=[topic])
        command = records.ClaimPartitions(request=request, leader_epochs=[] if epoch is None else [epoch])
        written, reply = claims.claim(command, self.store, PROPOSAL)
        self.write(written)
        [answer] = reply.claims.claims
        return answer.error_kind, answer.fencing_token

    def try_(self, handler: object, command: object) -> int:
        try:
            written, reply = handler(command, self.store, PROPOSAL)  # type: ignore[operator]
        except (NotFound, Conflict):
            return 0
        self.write(written)
        return int(reply.swept)


def summary(twin: Twin, name: PartitionId) -> pb.PartitionSummary:
    partition = twin.partitions[name]
    live = {} if partition.is_deleted else twin.live(name)
    segments, size = twin.swept(name)
    return pb.PartitionSummary(
        partition=named(name),
        first_event_id=partition.first,
        next_event_id=len(partition.events),
        live_segments=len(live),
        live_bytes=sum(each.segment_size_bytes for each in live.values()),
        deleted=partition.is_deleted,
        swept_segments=segments,
        swept_bytes=size,
        claim=partition.claim,
    )


def check(table: Table, twin: Twin) -> None:
    views = SegmentViews(table.store)
    pages = [pb.ListPartitionsReply.FromString(page) for page in views.partition_pages("", b"", 2)]
    assert [each for page in pages for each in page.partitions] == [
        summary(twin, name) for name in sorted(twin.partitions)
    ]
    for name in PARTITIONS:
        expected, head = twin.partitions.get(name, Partition()), views.head(name)
        assert head.next_event_id == len(expected.events)
        assert (head.fencing_token, head.is_deleted) == (expected.token, expected.is_deleted)
        assert (head.swept_segments, head.swept_bytes) == twin.swept(name)
        if expected.is_deleted:
            continue
        assert head.first_event_id == expected.first
        pulled = pb.PullSegmentEventsReply.FromString(views.pull(name, expected.first, 1000, 1 << 20))
        ids = [group.first_event_id + n for group in pulled.groups for n in range(len(group.events))]
        assert ids == list(range(expected.first, len(expected.events)))
        assert [each for group in pulled.groups for each in group.events] == expected.events[expected.first :]
        live = twin.live(name)
        live_pages = [pb.ListLiveSegmentsReply.FromString(page) for page in views.live_pages(name, 2, 1 << 20)]
        found = [each for page in live_pages for each in page.segments]
        assert len(found) == len(live)
        assert {each.segment_id: each for each in found} == live
        assert head.live_segments == len(live)
        assert dict(live_pages[0].gone_highest_offsets) == twin.gone(name)
        assert not any(page.gone_highest_offsets for page in live_pages[1:])
        assert head.live_bytes == sum(each.segment_size_bytes for each in live.values())


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(steps, max_size=30))
def test_the_table_does_what_its_twin_does(log: list[tuple[object, ...]]) -> None:
    table, twin = Table(), Twin()
    last: list[tuple[PartitionId, list[pb.SegmentEvent], int]] = []
    for kind, *arguments in log:
        if kind == "append":
            last = [(name, events, max(0, twin.token(name) + off)) for name, events, off in arguments[0]]  # type: ignore[attr-defined]
            assert table.append(last) == [twin.append(*part) for part in last]
        elif kind == "repeat" and last:
            assert table.append(last) == [twin.append(*part) for part in last]
        elif kind == "claim":
            assert table.claim(*arguments) == twin.claim(*arguments)  # type: ignore[arg-type]
        elif kind == "trim":
            name, below = arguments
            command = records.TrimSegmentEvents(partition=named(name), below_event_id=below)  # type: ignore[arg-type]
            table.try_(segment_retention.trim, command)
            twin.trim(name, below)  # type: ignore[arg-type]
        elif kind == "delete":
            table.try_(segment_retention.delete, pb.DeletePartitionsRequest(partitions=[named(arguments[0])]))  # type: ignore[arg-type]
            twin.delete(arguments[0])  # type: ignore[arg-type]
        elif kind == "sweep":
            while table.try_(segment_retention.sweep, records.SweepPartitions(max_keys=arguments[0])):  # type: ignore[arg-type]
                pass
            twin.sweep()
        check(table, twin)
