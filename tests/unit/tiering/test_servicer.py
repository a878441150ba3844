"""The Tiering servicer as the server runs it, over a real state machine: bad requests are refused, others stored."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest

from guardian.server.errors import ErrorInterceptor
from guardian.server.store import ReplicatedStore
from guardian.tiering import servicer
from guardian.tiering.servicer import TieringServicer
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2, tiering_pb2_grpc
from protos.guardian.v1 import tiering_pb2 as pb
from raft.errors import NoLeader
from raft.inmem import InMemoryReplica

NAME = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16, partition=3)
DEADLINE_S = 30


class Group(InMemoryReplica):
    """A group of one that counts what it is asked, and can be out of order."""

    def __init__(self) -> None:
        self.machine = MetastoreStateMachine(MemoryStore())
        self.proposed: list[records_pb2.Command] = []
        self.is_down = False
        super().__init__("g1", self.machine)

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        if self.is_down:
            raise NoLeader("nobody leads")
        self.proposed.append(records_pb2.Command.FromString(command))
        return super().propose(command, timeout_s)


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def stub(group: Group) -> Iterator[tiering_pb2_grpc.TieringStub]:
    server = grpc.server(futures.ThreadPoolExecutor(2), interceptors=[ErrorInterceptor()])
    store = ReplicatedStore(group, group.machine, lambda: 1234)
    tiering_pb2_grpc.add_TieringServicer_to_server(TieringServicer(store), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield tiering_pb2_grpc.TieringStub(channel)
    server.stop(None).wait()


def started(number: int, **fields: object) -> pb.SegmentEvent:
    known: dict[str, object] = {
        "segment_id": number.to_bytes(16, "big"),
        "state": pb.COPY_SEGMENT_STARTED,
        "end_offset": 5,
        "segment_leader_epochs": {1: 0},
    }
    return pb.SegmentEvent(**{**known, **fields})  # type: ignore[arg-type]


def append(*events: pb.SegmentEvent, name: pb.TopicIdPartition = NAME) -> pb.AppendSegmentEventsRequest:
    return pb.AppendSegmentEventsRequest(partitions=[pb.PartitionEvents(partition=name, events=events)])


def pull(first: int, limit: int = 0) -> pb.PullSegmentEventsRequest:
    return pb.PullSegmentEventsRequest(partition=NAME, from_event_id=first, max_events=limit)


def test_appended_events_are_pulled_and_listed(stub: tiering_pb2_grpc.TieringStub, group: Group) -> None:
    reply = stub.AppendSegmentEvents(append(started(1), started(2)), timeout=DEADLINE_S)
    assert [(result.next_event_id, result.error) for result in reply.results] == [(2, "")]
    assert group.proposed[0].proposed_at_ms == 1234
    pulled = stub.PullSegmentEvents(pull(0), timeout=DEADLINE_S)
    assert [(each.event_id, each.event) for each in pulled.events] == [(0, started(1)), (1, started(2))]
    live = stub.ListLiveSegments(pb.ListLiveSegmentsRequest(partition=NAME), timeout=DEADLINE_S)
    assert (list(live.segments), live.next_event_id) == ([started(1), started(2)], 2)


def test_pulling_goes_on_where_the_last_reply_ended(stub: tiering_pb2_grpc.TieringStub) -> None:
    stub.AppendSegmentEvents(append(*(started(number) for number in range(5))), timeout=DEADLINE_S)
    ids, first = [], 0
    for _ in range(4):
        reply = stub.PullSegmentEvents(pull(first, 2), timeout=DEADLINE_S)
        ids.append([each.event_id for each in reply.events])
        first = reply.next_event_id
    assert (ids, first) == ([[0, 1], [2, 3], [4], []], 5)


def test_a_reply_is_limited_in_size_but_never_empty(
    stub: tiering_pb2_grpc.TieringStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.AppendSegmentEvents(append(*(started(n, custom_metadata=bytes(900)) for n in range(5))), timeout=DEADLINE_S)
    monkeypatch.setattr(servicer, "MAX_PULL_BYTES", 2000)
    reply = stub.PullSegmentEvents(pull(1), timeout=DEADLINE_S)
    assert ([each.event_id for each in reply.events], reply.next_event_id) == ([1, 2], 3)
    monkeypatch.setattr(servicer, "MAX_PULL_BYTES", 10)
    reply = stub.PullSegmentEvents(pull(1), timeout=DEADLINE_S)
    assert ([each.event_id for each in reply.events], reply.next_event_id) == ([1], 2)


def test_pulling_from_beyond_the_end_is_out_of_range(stub: tiering_pb2_grpc.TieringStub) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        stub.PullSegmentEvents(pull(1), timeout=DEADLINE_S)
    assert refused.value.code() is grpc.StatusCode.OUT_OF_RANGE
    assert "next event gets id 0" in (refused.value.details() or "")


def test_a_partition_that_does_not_fit_answers_for_itself(stub: tiering_pb2_grpc.TieringStub) -> None:
    reply = stub.AppendSegmentEvents(
        append(pb.SegmentEvent(segment_id=bytes(16), state=pb.DELETE_SEGMENT_STARTED)), timeout=DEADLINE_S
    )
    assert "can't go from nothing to DELETE_SEGMENT_STARTED" in reply.results[0].error


BAD_NAME = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 15)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (pb.AppendSegmentEventsRequest(), "partitions is empty"),
        (append(), "events of partition 3 is empty"),
        (append(started(1), name=BAD_NAME), "topic_id has 15 bytes"),
        (append(started(1), name=pb.TopicIdPartition(topic_id=b"T" * 16)), "cluster_id has 0 characters"),
        (append(started(1), started(2, segment_id=b"short")), "segment_id has 5 bytes"),
        (append(started(1, state=9)), "is 9: use 1 to 4"),
        (append(*[started(1)] * 10_001), "10001 events in"),
        (append(*[started(n, custom_metadata=bytes(10_000)) for n in range(220)]), "220 events in"),
    ],
)
def test_a_malformed_append_is_refused_and_changes_nothing(
    stub: tiering_pb2_grpc.TieringStub, group: Group, request_: pb.AppendSegmentEventsRequest, message: str
) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        stub.AppendSegmentEvents(request_, timeout=DEADLINE_S)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert message in (refused.value.details() or "")
    assert group.proposed == []


def test_a_malformed_partition_is_refused_by_every_call(stub: tiering_pb2_grpc.TieringStub) -> None:
    for call in (
        lambda: stub.PullSegmentEvents(pb.PullSegmentEventsRequest(partition=BAD_NAME), timeout=DEADLINE_S),
        lambda: stub.ListLiveSegments(pb.ListLiveSegmentsRequest(partition=BAD_NAME), timeout=DEADLINE_S),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call()
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_group_without_leader_is_unavailable(stub: tiering_pb2_grpc.TieringStub, group: Group) -> None:
    group.is_down = True
    for call in (
        lambda: stub.AppendSegmentEvents(append(started(1)), timeout=DEADLINE_S),
        lambda: stub.PullSegmentEvents(pull(0), timeout=DEADLINE_S),
        lambda: stub.ListLiveSegments(pb.ListLiveSegmentsRequest(partition=NAME), timeout=DEADLINE_S),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call()
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert "has no leader" in (refused.value.details() or "")
