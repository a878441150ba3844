"""The Tiering service as the server runs it, over a real state machine: gRPC, event loop and all."""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import grpc
import grpc.aio
import pytest

from guardian.errors import ClusterUnavailable
from guardian.model.wire import metadata
from guardian.replication.store.async_store import AsyncStore, StoreLimits
from guardian.serving import requests as callers
from guardian.serving.grpc_server import GrpcLimits, GrpcServer, start_grpc
from guardian.tiering.service.counting import TieringCounters
from guardian.tiering.service.ports import LeaderEpochs, TieringLimits
from guardian.tiering.service.servicer import TieringServicer, add_tiering
from metastore.changes import Changes
from metastore.commands import append_in
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import records_pb2, sessions_pb2, tiering_pb2_grpc
from protos.guardian.v1 import tiering_pb2 as pb
from raft.errors import LowDisk, NoLeader, OutcomeUnknown, RaftError
from raft.inmem import InMemoryReplica
from raft.protocol import Outcome
from tests import appending
from tests.patience import PATIENCE_S, until

NAME = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16, partition=3)
OTHER = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16, partition=4)
BAD_NAME = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 15)
NOW_MS = 1234
Request = TypeVar("Request")


class Replica(InMemoryReplica):
    """A group of one that can be out of order, and can keep answers back until `release`."""

    def __init__(self) -> None:
        self.machine = MetastoreStateMachine(MemoryStore())
        self.proposed: list[bytes] = []
        self.failure: RaftError | None = None
        self.read_indexes = 0
        self.age_s: float | None = 0.0
        self.is_holding = False
        self._held: list[Callable[[], None]] = []
        self._order = threading.RLock()
        super().__init__("g1", self.machine)

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        self.proposed.append(command)
        return super().propose(command, timeout_s)

    def propose_async(self, command: bytes, timeout_s: float, done: Callable[[Outcome], None]) -> None:
        if isinstance(self.failure, LowDisk):
            raise self.failure
        if self.failure is not None:
            done(self.failure)
        else:
            with self._order:
                if self.is_holding:
                    self._held.append(lambda: done(self.propose(command, timeout_s)))
                    return
            super().propose_async(command, timeout_s, done)

    def read_index_async(self, timeout_s: float, done: Callable[[int | RaftError], None]) -> None:
        self.read_indexes += 1
        if self.failure is not None:
            done(self.failure)
        else:
            super().read_index_async(timeout_s, done)

    def staleness_s(self) -> float | None:
        return self.age_s

    @property
    def held(self) -> int:
        return len(self._held)

    def release(self) -> None:
        """From another thread, as the real one does. What is proposed meanwhile comes after what was held."""

        def answer_all() -> None:
            with self._order:
                self.is_holding = False
                held, self._held = self._held, []
                for answer in held:
                    answer()

        thread = threading.Thread(target=answer_all)
        thread.start()
        thread.join()


class Epochs:
    """Other brokers' answers."""

    def __init__(self, epochs: dict[int, int]) -> None:
        self.epochs = epochs
        self.asked: list[tuple[str, int]] = []
        self.times_s: list[float] = []

    async def verified(
        self, cluster_id: str, broker_id: int, partitions: Sequence[tuple[bytes, int]], timeout_s: float
    ) -> list[int]:
        self.times_s.append(timeout_s)
        self.asked.append((cluster_id, broker_id))
        if not self.epochs:
            raise ClusterUnavailable("no broker answers")
        return [self.epochs.get(partition, -1) for _, partition in partitions]


class Member:
    """Serves until `stop`. Streams and channels that a test leaves open end with it."""

    def __init__(self, **settings: object) -> None:
        self.replica = Replica()
        self.machine = self.replica.machine
        self.epochs: LeaderEpochs | None = None
        self.limits = TieringLimits()
        self.store_limits = StoreLimits()
        self.grpc_limits = GrpcLimits(grace_s=0)
        for name, value in settings.items():
            setattr(self, name, value)
        self.changes: Changes
        self.counters = TieringCounters()
        self._server: GrpcServer = start_grpc("127.0.0.1:0", self._register, limits=self.grpc_limits)
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self._server.port}", options=[("grpc.enable_http_proxy", 0)])
        self.stub = tiering_pb2_grpc.TieringStub(self.channel)
        # A connection of its own, beside one that somebody does not read from.
        self.side_channel = grpc.insecure_channel(
            f"127.0.0.1:{self._server.port}",
            options=[("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)],
        )
        self.side_stub = tiering_pb2_grpc.TieringStub(self.side_channel)

    def _register(self, server: grpc.aio.Server) -> None:
        self.changes = Changes(self.machine)
        store = AsyncStore(self.replica, self.machine, self.store_limits)
        servicer = TieringServicer(
            store, self.changes, callers, lambda: NOW_MS, self.limits, self.epochs, self.counters
        )
        add_tiering(servicer, server)

    def stop(self) -> None:
        self.channel.close()
        self.side_channel.close()
        self._server.stop()


Start = Callable[..., Member]


@pytest.fixture
def start() -> Iterator[Start]:
    members: list[Member] = []

    def start(**settings: object) -> Member:
        members.append(Member(**settings))
        return members[-1]

    yield start
    for member in members:
        member.stop()


@pytest.fixture
def member(start: Start) -> Member:
    return start()


def started(number: int, **fields: object) -> pb.SegmentEvent:
    known: dict[str, object] = {
        "segment_id": number.to_bytes(16, "big"),
        "state": pb.COPY_SEGMENT_STARTED,
        "end_offset": 5,
        "segment_leader_epochs": {1: 0},
    }
    return pb.SegmentEvent(**{**known, **fields})  # type: ignore[arg-type]


def append(*events: pb.SegmentEvent, name: pb.TopicIdPartition = NAME, token: int = 0) -> pb.AppendSegmentEventsRequest:
    part = pb.PartitionEvents(partition=name, events=events, fencing_token=token)
    return pb.AppendSegmentEventsRequest(partitions=[part])


def pull(first: int, limit: int = 0) -> pb.PullSegmentEventsRequest:
    return pb.PullSegmentEventsRequest(partition=NAME, from_event_id=first, max_events=limit)


def events_in(groups: Sequence[pb.EventGroup]) -> list[tuple[int, pb.SegmentEvent]]:
    return [(n, event) for group in groups for n, event in enumerate(group.events, group.first_event_id)]


def trailers(error: grpc.RpcError) -> dict[str, str]:
    return {each.key: str(each.value) for each in error.trailing_metadata() or ()}


def refused(call: Callable[[], object], code: grpc.StatusCode, message: str) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    assert (caught.value.code(), message in (caught.value.details() or "")) == (code, True), caught.value
    return caught.value


class Requests(Generic[Request]):
    """A stream of requests that stays open until `end`."""

    def __init__(self, *first: Request) -> None:
        self._queue: queue.Queue[Request | None] = queue.Queue()
        for one in first:
            self.send(one)

    def send(self, request: Request) -> None:
        self._queue.put(request)

    def end(self) -> None:
        self._queue.put(None)

    def __iter__(self) -> Iterator[Request]:
        while (request := self._queue.get()) is not None:
            yield request


# Unary appends, pulls and lists


def test_appended_events_are_pulled_and_listed(member: Member) -> None:
    reply = member.stub.AppendSegmentEvents(append(started(1), started(2)), timeout=PATIENCE_S)
    assert [(r.partition, r.next_event_id, r.error) for r in reply.results] == [(NAME, 2, "")]
    command = append_in(member.replica.proposed[0])
    assert command is not None
    assert command.proposed_at_ms == NOW_MS
    pulled = member.stub.PullSegmentEvents(pull(0), timeout=PATIENCE_S)
    assert events_in(pulled.groups) == [(0, started(1)), (1, started(2))]
    assert pulled.next_event_id == 2
    pages = list(member.stub.ListLiveSegments(pb.ListLiveSegmentsRequest(partition=NAME), timeout=PATIENCE_S))
    assert [(list(page.segments), page.next_event_id) for page in pages] == [([started(1), started(2)], 2)]


def test_pulling_goes_on_where_the_last_reply_ended(start: Start) -> None:
    member = start(limits=TieringLimits(default_pull_events=2, pull_events=3))
    for number in range(5):
        member.stub.AppendSegmentEvents(append(started(number)), timeout=PATIENCE_S)
    for limit, expected in ((0, [2, 4, 5, 5]), (10_000, [3, 5, 5])):
        seen, first = [], 0
        for _ in expected:
            first = member.stub.PullSegmentEvents(pull(first, limit), timeout=PATIENCE_S).next_event_id
            seen.append(first)
        assert seen == expected


def test_a_large_pull_is_read_beside_the_loop_and_is_the_same(member: Member) -> None:
    for first in range(0, 3000, 1000):
        member.stub.AppendSegmentEvents(append(*map(started, range(first, first + 1000))), timeout=PATIENCE_S)
    reply = member.stub.PullSegmentEvents(pull(0, 10_000), timeout=PATIENCE_S)
    assert events_in(reply.groups) == [(number, started(number)) for number in range(3000)]


def test_live_segments_come_in_pages_of_one_moment(start: Start) -> None:
    member = start(limits=TieringLimits(page_segments=2))
    member.stub.AppendSegmentEvents(append(*map(started, range(5))), timeout=PATIENCE_S)
    pages = list(member.stub.ListLiveSegments(pb.ListLiveSegmentsRequest(partition=NAME), timeout=PATIENCE_S))
    assert [len(page.segments) for page in pages] == [2, 2, 1]
    assert {page.next_event_id for page in pages} == {5}


def test_pulling_from_beyond_the_end_or_below_the_beginning_is_out_of_range(member: Member) -> None:
    error = refused(
        lambda: member.stub.PullSegmentEvents(pull(1), timeout=PATIENCE_S),
        grpc.StatusCode.OUT_OF_RANGE,
        "from_event_id is 1, but kept are events 0 to below 0",
    )
    assert trailers(error)[metadata.ERROR] == "OutOfRange"
    for number in range(3):
        member.stub.AppendSegmentEvents(append(started(number)), timeout=PATIENCE_S)
    trim = records_pb2.TrimSegmentEvents(partition=NAME, below_event_id=2)
    member.replica.propose(records_pb2.Command(trim_segment_events=trim).SerializeToString(), 1)
    refused(
        lambda: member.stub.PullSegmentEvents(pull(1), timeout=PATIENCE_S),
        grpc.StatusCode.OUT_OF_RANGE,
        "kept are events 2 to below 3",
    )


def test_a_partition_that_does_not_fit_answers_for_itself(member: Member) -> None:
    wrong = pb.SegmentEvent(segment_id=bytes(16), state=pb.DELETE_SEGMENT_STARTED)
    reply = member.stub.AppendSegmentEvents(append(wrong), timeout=PATIENCE_S)
    assert "can't go from nothing to DELETE_SEGMENT_STARTED" in reply.results[0].error
    assert reply.results[0].error_kind == pb.INVALID_TRANSITION


def test_malformed_parts_answer_for_themselves_and_are_not_proposed(member: Member) -> None:
    request = pb.AppendSegmentEventsRequest()
    for one in (append(name=NAME), append(started(1, segment_id=b"short")), append(started(1), name=BAD_NAME)):
        request.partitions.extend(one.partitions)
    reply = member.stub.AppendSegmentEvents(request, timeout=PATIENCE_S)
    assert [result.error_kind for result in reply.results] == [pb.APPEND_INVALID] * 3
    assert [
        next(part for part in ("events is empty", "has 5 bytes", "has 15 bytes") if part in result.error)
        for result in reply.results
    ] == ["events is empty", "has 5 bytes", "has 15 bytes"]
    assert member.replica.proposed == []
    request.partitions.extend(append(started(7), name=OTHER).partitions)
    results = member.stub.AppendSegmentEvents(request, timeout=PATIENCE_S).results
    assert [(result.partition, result.next_event_id) for result in results][3] == (OTHER, 1)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "partitions is empty"),
        (b"\xff\xff", "is no serialised AppendSegmentEventsRequest"),
        (append(*[started(1)] * 10_001).SerializeToString(), "10001 events"),
        (append(*[started(n, custom_metadata=bytes(10_000)) for n in range(220)]).SerializeToString(), "send at most"),
    ],
)
def test_a_request_that_is_malformed_as_a_whole_is_refused(member: Member, raw: bytes, message: str) -> None:
    call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = member.channel.unary_unary(
        "/guardian.v1.Tiering/AppendSegmentEvents"
    )
    error = refused(lambda: call(raw, timeout=PATIENCE_S), grpc.StatusCode.INVALID_ARGUMENT, message)
    assert trailers(error)[metadata.ERROR] == "InvalidInput"
    assert member.replica.proposed == []


def test_a_malformed_partition_is_refused_by_every_call(member: Member) -> None:
    stub = member.stub
    follow = pb.FollowSegmentEventsRequest(add=[pb.FollowPartition(partition=BAD_NAME)])
    for call in (
        lambda: stub.PullSegmentEvents(pb.PullSegmentEventsRequest(partition=BAD_NAME), timeout=PATIENCE_S),
        lambda: list(stub.ListLiveSegments(pb.ListLiveSegmentsRequest(partition=BAD_NAME), timeout=PATIENCE_S)),
        lambda: stub.DeletePartitions(pb.DeletePartitionsRequest(partitions=[BAD_NAME]), timeout=PATIENCE_S),
        lambda: list(stub.FollowSegmentEvents(iter([follow]), timeout=PATIENCE_S)),
    ):
        refused(call, grpc.StatusCode.INVALID_ARGUMENT, "topic_id has 15 bytes")


@pytest.mark.parametrize(
    ("failure", "kind"), [(NoLeader("nobody leads"), "Unavailable"), (OutcomeUnknown("who knows"), "OutcomeUnknown")]
)
def test_a_group_that_does_not_answer_is_unavailable(member: Member, failure: RaftError, kind: str) -> None:
    member.replica.failure = failure
    stub = member.stub
    follow = pb.FollowSegmentEventsRequest(add=[pb.FollowPartition(partition=NAME)])
    for call in (
        lambda: stub.AppendSegmentEvents(append(started(1)), timeout=PATIENCE_S),
        lambda: stub.PullSegmentEvents(pull(0), timeout=PATIENCE_S),
        lambda: list(stub.ListLiveSegments(pb.ListLiveSegmentsRequest(partition=NAME), timeout=PATIENCE_S)),
        lambda: list(stub.FollowSegmentEvents(iter([follow]), timeout=PATIENCE_S)),
    ):
        error = refused(call, grpc.StatusCode.UNAVAILABLE, "")
        assert trailers(error)[metadata.ERROR] == kind


# Claims, deletes, ids, sessions, staleness


def test_a_claim_fences_the_writers_before(member: Member) -> None:
    def claim() -> int:
        request = pb.ClaimPartitionsRequest(partitions=[NAME], broker_id=1, writer="w")
        [answer] = member.stub.ClaimPartitions(request, timeout=PATIENCE_S).claims
        assert (answer.partition, answer.error) == (NAME, "")
        return answer.fencing_token

    first, second = claim(), claim()
    assert (first, second) == (1, 2)
    [fenced] = member.stub.AppendSegmentEvents(append(started(1), token=first), timeout=PATIENCE_S).results
    assert (fenced.error_kind, fenced.fencing_token) == (pb.FENCED_LEADER_EPOCH, second)
    [done] = member.stub.AppendSegmentEvents(append(started(1), token=second), timeout=PATIENCE_S).results
    assert (done.error, done.next_event_id) == ("", 1)


VERIFIED = pb.ClaimPartitionsRequest(partitions=[NAME, OTHER], broker_id=7, mode=pb.VERIFIED)


def test_a_verified_claim_is_refused_where_nobody_can_be_asked(member: Member) -> None:
    refused(
        lambda: member.stub.ClaimPartitions(VERIFIED, timeout=PATIENCE_S),
        grpc.StatusCode.INVALID_ARGUMENT,
        "this Guardian can't ask the cluster's brokers who leads: use CLAIM_ORDER",
    )
    assert member.replica.proposed == []


def test_a_verified_claim_records_what_other_brokers_say(start: Start) -> None:
    epochs = Epochs({3: 12})
    member = start(epochs=epochs)
    first, second = member.stub.ClaimPartitions(VERIFIED, timeout=PATIENCE_S).claims
    assert (first.fencing_token, second.error_kind) == (13, pb.NOT_VERIFIED)
    assert epochs.asked == [("c", 7)]
    epochs.epochs = {}
    refused(
        lambda: member.stub.ClaimPartitions(VERIFIED, timeout=PATIENCE_S),
        grpc.StatusCode.FAILED_PRECONDITION,
        "no broker answers",
    )
    mixed = pb.ClaimPartitionsRequest(
        partitions=[NAME, pb.TopicIdPartition(cluster_id="d", topic_id=b"U" * 16)], mode=pb.VERIFIED
    )
    refused(
        lambda: member.stub.ClaimPartitions(mixed, timeout=PATIENCE_S),
        grpc.StatusCode.INVALID_ARGUMENT,
        "of 2 clusters",
    )


def test_a_verified_claim_leaves_time_for_the_log(start: Start) -> None:
    epochs = Epochs({3: 12, 4: 12})
    member = start(epochs=epochs, limits=TieringLimits(verify_s=4.0))
    for timeout_s in (PATIENCE_S, 3.0):
        member.stub.ClaimPartitions(VERIFIED, timeout=timeout_s)
    assert epochs.times_s[0] == 4.0
    assert epochs.times_s[1] < 2.5


def test_partitions_are_listed_in_pages_with_their_claims(start: Start) -> None:
    member = start(limits=TieringLimits(page_partitions=1))
    claim = pb.ClaimPartitionsRequest(partitions=[OTHER], broker_id=7, writer="w", topics=["orders"])
    member.stub.ClaimPartitions(claim, timeout=PATIENCE_S)
    member.stub.AppendSegmentEvents(append(started(1, segment_size_bytes=11)), timeout=PATIENCE_S)
    pages = list(member.stub.ListPartitions(pb.ListPartitionsRequest(), timeout=PATIENCE_S))
    assert [list(page.partitions) for page in pages] == [
        [pb.PartitionSummary(partition=NAME, next_event_id=1, live_segments=1, live_bytes=11)],
        [
            pb.PartitionSummary(
                partition=OTHER,
                claim=pb.PartitionClaim(fencing_token=1, broker_id=7, writer="w", claimed_at_ms=NOW_MS, topic="orders"),
            )
        ],
    ]
    assert member.replica.read_indexes == 1
    stale = ((metadata.MAX_STALENESS_MS, "1000"),)
    assert len(list(member.stub.ListPartitions(pb.ListPartitionsRequest(), timeout=PATIENCE_S, metadata=stale))) == 2
    assert member.replica.read_indexes == 1
    refused(
        lambda: list(member.stub.ListPartitions(pb.ListPartitionsRequest(topic_id=b"T"), timeout=PATIENCE_S)),
        grpc.StatusCode.INVALID_ARGUMENT,
        "topic_id has 1 bytes",
    )


def test_what_a_member_did_and_has_open_is_counted(member: Member) -> None:
    counters, stub = member.counters, member.stub
    for broker in (1, 2):
        stub.ClaimPartitions(pb.ClaimPartitionsRequest(partitions=[NAME], broker_id=broker), timeout=PATIENCE_S)
    stub.ClaimPartitions(pb.ClaimPartitionsRequest(partitions=[BAD_NAME], broker_id=1), timeout=PATIENCE_S)
    assert counters.claims == {"GRANTED": 2, "APPEND_INVALID": 1}
    stub.AppendSegmentEvents(append(started(1), token=1), timeout=PATIENCE_S)
    stub.AppendSegmentEvents(append(started(1), token=2), timeout=PATIENCE_S)
    stub.AppendSegmentEvents(append(name=NAME), timeout=PATIENCE_S)
    appends = Requests(pb.StreamSegmentEventsRequest(append=append(started(2), token=1)))
    appending = stub.StreamSegmentEvents(iter(appends), timeout=PATIENCE_S)
    next(appending)
    assert counters.refused_appends == {pb.FENCED_LEADER_EPOCH: 2, pb.APPEND_INVALID: 1}
    following = stub.FollowSegmentEvents(iter(Requests(follow((NAME, 0), (OTHER, 0)))), timeout=PATIENCE_S)
    for _ in range(2):
        next(following)
    assert (counters.append_streams, [follower.followed for follower in counters.followers]) == (1, [2])
    until(lambda: [follower.waiting for follower in counters.followers] == [0])
    appends.end()
    assert list(appending) == []
    following.cancel()
    until(lambda: (counters.append_streams, len(counters.followers)) == (0, 0))


def test_a_deleted_partition_is_gone(member: Member) -> None:
    member.stub.AppendSegmentEvents(append(started(1)), timeout=PATIENCE_S)
    member.stub.DeletePartitions(pb.DeletePartitionsRequest(partitions=[NAME]), timeout=PATIENCE_S)
    refused(lambda: member.stub.PullSegmentEvents(pull(0), timeout=PATIENCE_S), grpc.StatusCode.NOT_FOUND, "is deleted")
    [result] = member.stub.AppendSegmentEvents(append(started(2)), timeout=PATIENCE_S).results
    assert result.error_kind == pb.PARTITION_DELETED


def test_ids_are_allocated_once(member: Member) -> None:
    request = pb.AllocateIdsRequest(cluster_id="c", kind=pb.SEGMENT_ID, count=3)
    first = member.stub.AllocateIds(request, timeout=PATIENCE_S)
    second = member.stub.AllocateIds(request, timeout=PATIENCE_S)
    assert (first.first, second.first, len({*first.ids, *second.ids})) == (1, 4, 6)
    highest = member.stub.GetIds(pb.GetIdsRequest(cluster_id="c", kind=pb.SEGMENT_ID), timeout=PATIENCE_S)
    assert highest.highest == 6
    for count in (0, 10_001):
        refused(
            lambda count=count: member.stub.AllocateIds(  # type: ignore[misc]
                pb.AllocateIdsRequest(cluster_id="c", kind=pb.SEGMENT_ID, count=count), timeout=PATIENCE_S
            ),
            grpc.StatusCode.INVALID_ARGUMENT,
            f"count is {count}",
        )


def open_session(member: Member) -> int:
    opening = records_pb2.OpenSession(window=8, session_id=secrets.randbits(64), user=b"local")
    command = records_pb2.Command(open_session=opening, proposed_at_ms=NOW_MS)
    reply = records_pb2.CommandReply.FromString(member.replica.propose(command.SerializeToString(), 1))
    return reply.session_id


def test_a_repeated_change_of_a_session_is_answered_as_the_first_time(member: Member) -> None:
    session = sessions_pb2.SessionRef(id=open_session(member), sequence=1)
    headers = ((metadata.SESSION, session.SerializeToString()),)
    request = pb.AllocateIdsRequest(cluster_id="c", kind=pb.SEGMENT_ID, count=3)
    answers = [member.stub.AllocateIds(request, timeout=PATIENCE_S, metadata=headers) for _ in range(2)]
    assert answers[0] == answers[1]
    session.sequence = 2
    headers = ((metadata.SESSION, session.SerializeToString()),)
    first = member.stub.AppendSegmentEvents(append(started(1)), timeout=PATIENCE_S, metadata=headers)
    member.stub.AppendSegmentEvents(append(started(2)), timeout=PATIENCE_S)
    again = member.stub.AppendSegmentEvents(append(started(1)), timeout=PATIENCE_S, metadata=headers)
    assert first == again


def test_an_unknown_session_has_a_code_of_its_own(member: Member) -> None:
    headers = ((metadata.SESSION, sessions_pb2.SessionRef(id=99, sequence=1).SerializeToString()),)
    error = refused(
        lambda: member.stub.AppendSegmentEvents(append(started(1)), timeout=PATIENCE_S, metadata=headers),
        grpc.StatusCode.DATA_LOSS,
        "99",
    )
    assert trailers(error)[metadata.ERROR] == "SessionExpired"


@pytest.mark.parametrize(("age_s", "allowed", "is_local"), [(0.4, 500, True), (0.6, 500, False), (None, 500, False)])
def test_a_read_may_be_as_old_as_its_client_allows_and_is_told_how_old(
    member: Member, age_s: float | None, allowed: int, is_local: bool
) -> None:
    member.replica.age_s = age_s
    _, call = member.stub.PullSegmentEvents.with_call(
        pull(0), timeout=PATIENCE_S, metadata=((metadata.MAX_STALENESS_MS, str(allowed)),)
    )
    staleness_ms = dict(call.trailing_metadata())[metadata.STALENESS_MS]
    assert (member.replica.read_indexes, staleness_ms) == ((0, "400") if is_local else (1, "0"))


# Overload and deadlines


def test_a_member_with_too_much_under_way_says_when_to_come_again(start: Start) -> None:
    member = start(store_limits=StoreLimits(proposals=2))
    member.replica.is_holding = True
    waiting = [member.stub.AppendSegmentEvents.future(append(started(n)), timeout=PATIENCE_S) for n in range(2)]
    until(lambda: member.replica.held == 2)
    error = refused(
        lambda: member.stub.AppendSegmentEvents(append(started(9)), timeout=PATIENCE_S),
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "2 changes of",
    )
    assert int(trailers(error)[metadata.RETRY_AFTER_MS]) > 0
    assert trailers(error)[metadata.ERROR] == "Overloaded"
    member.replica.release()
    assert {call.result().results[0].next_event_id for call in waiting} == {1, 2}
    assert not member.stub.AppendSegmentEvents(append(started(9)), timeout=PATIENCE_S).results[0].error


def test_bytes_under_way_are_bounded_too(start: Start) -> None:
    member = start(store_limits=StoreLimits(proposal_bytes=3000))
    member.replica.is_holding = True
    first = member.stub.AppendSegmentEvents.future(append(started(1, custom_metadata=bytes(2000))), timeout=PATIENCE_S)
    until(lambda: member.replica.held == 1)
    refused(
        lambda: member.stub.AppendSegmentEvents(append(started(2, custom_metadata=bytes(2000))), timeout=PATIENCE_S),
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "1 changes of",
    )
    member.replica.release()
    assert first.result().results[0].next_event_id == 1


def test_a_full_disk_is_an_overload_with_a_hint(member: Member) -> None:
    member.replica.failure = LowDisk("1 MiB is left")
    error = refused(
        lambda: member.stub.AppendSegmentEvents(append(started(1)), timeout=PATIENCE_S),
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "1 MiB is left",
    )
    assert int(trailers(error)[metadata.RETRY_AFTER_MS]) > 0


def test_what_a_client_gave_up_no_longer_counts_once_it_is_answered(start: Start) -> None:
    member = start(store_limits=StoreLimits(proposals=1))
    member.replica.is_holding = True
    given_up = member.stub.AppendSegmentEvents.future(append(started(1)), timeout=PATIENCE_S)
    until(lambda: member.replica.held == 1)
    given_up.cancel()
    member.replica.release()
    until(lambda: not member.stub.AppendSegmentEvents(append(started(2)), timeout=PATIENCE_S).results[0].error)


def test_a_call_without_deadline_ends_all_the_same(start: Start) -> None:
    member = start(grpc_limits=GrpcLimits(grace_s=0, unary_timeout_s=0.2))
    member.replica.is_holding = True
    refused(
        lambda: member.stub.AppendSegmentEvents(append(started(1))),
        grpc.StatusCode.DEADLINE_EXCEEDED,
        "the call took longer than 0.2 s",
    )


def test_streams_are_limited_in_number(start: Start) -> None:
    member = start(limits=TieringLimits(streams=1))
    requests = Requests(pb.FollowSegmentEventsRequest(add=[pb.FollowPartition(partition=NAME)]))
    open_stream = member.stub.FollowSegmentEvents(iter(requests), timeout=PATIENCE_S)
    next(open_stream)
    error = refused(
        lambda: next(member.stub.StreamSegmentEvents(iter([]), timeout=PATIENCE_S)),
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "1 streams are open",
    )
    assert int(trailers(error)[metadata.RETRY_AFTER_MS]) > 0
    open_stream.cancel()

    def is_free() -> bool:
        try:
            return list(member.stub.StreamSegmentEvents(iter([]), timeout=PATIENCE_S)) == []
        except grpc.RpcError:
            return False

    until(is_free)


# The append stream


def stream_request(
    *events: pb.SegmentEvent, session: sessions_pb2.SessionRef | None = None
) -> pb.StreamSegmentEventsRequest:
    return pb.StreamSegmentEventsRequest(append=append(*events), session=session)


def test_a_stream_answers_in_the_order_of_its_requests(member: Member) -> None:
    requests = [stream_request(started(number)) for number in range(200)]
    replies = list(member.stub.StreamSegmentEvents(iter(requests), timeout=PATIENCE_S))
    assert [reply.append.results[0].next_event_id for reply in replies] == list(range(1, 201))
    assert {(reply.code, reply.error) for reply in replies} == {(0, "")}


def test_a_request_that_is_refused_does_not_end_the_stream(member: Member) -> None:
    call: grpc.StreamStreamMultiCallable[bytes, bytes] = member.channel.stream_stream(
        "/guardian.v1.Tiering/StreamSegmentEvents"
    )
    raw = [
        stream_request(started(1)).SerializeToString(),
        b"\xff\xff",
        b"",
        stream_request(started(2)).SerializeToString(),
        stream_request(started(3), session=sessions_pb2.SessionRef(id=99, sequence=1)).SerializeToString(),
        stream_request(started(4, segment_id=b"bad")).SerializeToString(),
    ]
    replies = [pb.StreamSegmentEventsReply.FromString(one) for one in call(iter(raw), timeout=PATIENCE_S)]
    invalid = grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert [reply.code for reply in replies] == [0, invalid, invalid, 0, grpc.StatusCode.DATA_LOSS.value[0], 0]
    assert "no serialised StreamSegmentEventsRequest" in replies[1].error
    assert "partitions is empty" in replies[2].error
    assert replies[3].append.results[0].next_event_id == 2
    assert replies[5].append.results[0].error_kind == pb.APPEND_INVALID
    assert not replies[1].HasField("append")


def test_an_overload_is_a_requests_own_answer_with_a_hint(start: Start) -> None:
    member = start(store_limits=StoreLimits(proposals=2))
    member.replica.is_holding = True
    requests = Requests(*(stream_request(started(number)) for number in range(3)))
    stream = member.stub.StreamSegmentEvents(iter(requests), timeout=PATIENCE_S)
    until(lambda: member.replica.held == 2)
    time.sleep(0.05)  # the third request is refused meanwhile; if it is not read yet, it is refused no more
    member.replica.release()
    replies = [next(stream) for _ in range(3)]
    assert [reply.code for reply in replies[:2]] == [0, 0]
    if replies[2].code:
        assert replies[2].code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        assert replies[2].retry_after_ms > 0
    requests.send(stream_request(started(9)))
    assert next(stream).append.results[0].error == ""
    requests.end()
    assert list(stream) == []


def test_a_stream_is_not_read_further_than_its_window(start: Start) -> None:
    member = start(limits=TieringLimits(stream_requests=4))
    member.replica.is_holding = True
    requests = Requests(*(stream_request(started(number)) for number in range(50)))
    stream = member.stub.StreamSegmentEvents(iter(requests), timeout=PATIENCE_S)
    until(lambda: member.replica.held >= 4)
    time.sleep(0.2)
    assert member.replica.held <= 6
    member.replica.release()
    assert [next(stream).append.results[0].next_event_id for _ in range(50)] == list(range(1, 51))


def test_a_stream_is_not_read_further_than_its_bytes(start: Start) -> None:
    member = start(limits=TieringLimits(stream_bytes=10_000))
    member.replica.is_holding = True
    requests = Requests(*(stream_request(started(number, custom_metadata=bytes(4000))) for number in range(20)))
    stream = member.stub.StreamSegmentEvents(iter(requests), timeout=PATIENCE_S)
    until(lambda: member.replica.held >= 3)
    time.sleep(0.2)
    assert member.replica.held == 3
    member.replica.release()
    assert [next(stream).append.results[0].next_event_id for _ in range(20)] == list(range(1, 21))


def test_a_stream_that_is_given_up_leaves_nothing_under_way(start: Start) -> None:
    member = start(store_limits=StoreLimits(proposals=3), limits=TieringLimits(streams=1))
    member.replica.is_holding = True
    requests = Requests(*(stream_request(started(number)) for number in range(3)))
    stream = member.stub.StreamSegmentEvents(iter(requests), timeout=PATIENCE_S)
    until(lambda: member.replica.held == 3)
    stream.cancel()
    member.replica.release()
    until(lambda: _is_served(member))


def _is_served(member: Member) -> bool:
    try:
        [reply] = member.side_stub.StreamSegmentEvents(iter([stream_request(started(1))]), timeout=PATIENCE_S)
    except grpc.RpcError:
        return False
    return not reply.code


def test_a_streams_requests_are_exactly_once_in_a_session(member: Member) -> None:
    session = open_session(member)
    requests = [
        stream_request(started(n), session=sessions_pb2.SessionRef(id=session, sequence=n)) for n in (1, 2, 1, 3)
    ]
    replies = list(member.stub.StreamSegmentEvents(iter(requests), timeout=PATIENCE_S))
    assert [reply.append.results[0].next_event_id for reply in replies] == [1, 2, 1, 3]


# Following


def follow(*positions: tuple[pb.TopicIdPartition, int], until_caught_up: bool = False) -> pb.FollowSegmentEventsRequest:
    add = [pb.FollowPartition(partition=name, from_event_id=event_id) for name, event_id in positions]
    return pb.FollowSegmentEventsRequest(add=add, until_caught_up=until_caught_up)


def test_a_follower_gets_what_is_stored_then_what_comes(member: Member) -> None:
    member.stub.AppendSegmentEvents(append(started(0), started(1)), timeout=PATIENCE_S)
    requests = Requests(follow((NAME, 0), (OTHER, 0)))
    stream = member.stub.FollowSegmentEvents(iter(requests), timeout=PATIENCE_S)
    first, second = next(stream), next(stream)
    assert (first.partition, first.caught_up, first.next_event_id) == (NAME, True, 2)
    assert events_in(first.groups) == [(0, started(0)), (1, started(1))]
    assert (second.partition, second.caught_up, list(second.groups)) == (OTHER, True, [])
    member.stub.AppendSegmentEvents(append(started(2), name=OTHER), timeout=PATIENCE_S)
    third = next(stream)
    assert (third.partition, events_in(third.groups)) == (OTHER, [(0, started(2))])
    member.stub.AppendSegmentEvents(append(started(3)), timeout=PATIENCE_S)
    fourth = next(stream)
    assert (fourth.partition, events_in(fourth.groups)) == (NAME, [(2, started(3))])


def test_a_follower_hears_of_its_own_partitions_only(member: Member) -> None:
    stranger = pb.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16, partition=9)
    stream = member.stub.FollowSegmentEvents(iter(Requests(follow((NAME, 0)))), timeout=PATIENCE_S)
    next(stream)
    member.stub.AppendSegmentEvents(append(started(1), name=stranger), timeout=PATIENCE_S)
    member.stub.AppendSegmentEvents(append(started(2)), timeout=PATIENCE_S)
    assert events_in(next(stream).groups) == [(0, started(2))]


def test_partitions_are_added_and_dropped_while_the_stream_is_open(member: Member) -> None:
    requests = Requests(follow((NAME, 0)))
    stream = member.stub.FollowSegmentEvents(iter(requests), timeout=PATIENCE_S)
    next(stream)
    requests.send(pb.FollowSegmentEventsRequest(drop=[NAME], add=[pb.FollowPartition(partition=OTHER)]))
    assert next(stream).partition == OTHER
    member.stub.AppendSegmentEvents(append(started(1)), timeout=PATIENCE_S)
    member.stub.AppendSegmentEvents(append(started(2), name=OTHER), timeout=PATIENCE_S)
    assert events_in(next(stream).groups) == [(0, started(2))]
    requests.send(follow((OTHER, 0)))
    assert events_in(next(stream).groups) == [(0, started(2))], "it starts again from this id"
    requests.send(follow((NAME, 1)))
    reply = next(stream)
    assert (reply.partition, reply.next_event_id, list(reply.groups)) == (NAME, 1, [])


def test_a_follower_may_end_when_it_has_caught_up(start: Start) -> None:
    member = start(limits=TieringLimits(follow_events=2))
    for number in range(5):
        member.stub.AppendSegmentEvents(append(started(number)), timeout=PATIENCE_S)
    member.stub.AppendSegmentEvents(append(started(9), name=OTHER), timeout=PATIENCE_S)
    request = follow((NAME, 0), (OTHER, 0), until_caught_up=True)
    replies = list(member.stub.FollowSegmentEvents(iter(Requests(request)), timeout=PATIENCE_S))
    assert [(r.partition.partition, r.next_event_id, r.caught_up) for r in replies] == [
        (3, 2, False),
        (4, 1, True),
        (3, 4, False),
        (3, 5, True),
    ]


def test_a_partition_that_can_not_be_followed_is_said_to_be_and_no_longer_is(member: Member) -> None:
    member.stub.AppendSegmentEvents(append(started(1)), timeout=PATIENCE_S)
    requests = Requests(follow((NAME, 5), (OTHER, 0)))
    stream = member.stub.FollowSegmentEvents(iter(requests), timeout=PATIENCE_S)
    first, second = next(stream), next(stream)
    assert (first.partition, first.out_of_range, first.deleted) == (NAME, True, False)
    assert second.partition == OTHER
    member.stub.DeletePartitions(pb.DeletePartitionsRequest(partitions=[OTHER]), timeout=PATIENCE_S)
    third = next(stream)
    assert (third.partition, third.deleted, third.out_of_range) == (OTHER, True, False)
    member.stub.AppendSegmentEvents(append(started(2)), timeout=PATIENCE_S)
    requests.send(follow((NAME, 1)))
    assert events_in(next(stream).groups) == [(1, started(2))], "not followed until it is added"


def test_a_follower_whose_events_are_trimmed_is_out_of_range(member: Member) -> None:
    stream = member.stub.FollowSegmentEvents(iter(Requests(follow((NAME, 0), (OTHER, 0)))), timeout=PATIENCE_S)
    assert [next(stream).partition for _ in range(2)] == [NAME, OTHER]
    trim = records_pb2.TrimSegmentEvents(partition=NAME, below_event_id=9)
    member.machine.remove_listener(member.changes.note)  # as if the stream had not kept up
    appending.apply(member.machine, append(started(1)))
    member.replica.propose(records_pb2.Command(trim_segment_events=trim).SerializeToString(), 1)
    member.machine.add_listener(member.changes.note)
    member.changes.note(0, None)
    reply = next(stream)
    assert (reply.partition, reply.out_of_range) == (NAME, True)


def test_a_reader_that_is_slow_is_not_sent_more_than_it_takes(start: Start) -> None:
    """What it has not read is in the store, and not in the server's memory."""
    member = start(limits=replace(TieringLimits(), follow_bytes=64 << 10))
    content = bytes(10_000)
    for number in range(0, 2000, 100):
        events = [started(each, custom_metadata=content) for each in range(number, number + 100)]
        member.stub.AppendSegmentEvents(append(*events), timeout=PATIENCE_S)
    reads = member.machine.read
    taken: list[int] = []

    def counted() -> object:
        taken.append(1)
        return reads()

    member.machine.read = counted  # type: ignore[method-assign,assignment]
    stream = member.stub.FollowSegmentEvents(iter(Requests(follow((NAME, 0)))), timeout=PATIENCE_S)
    first = next(stream)
    before = -1
    while before != len(taken):
        before = len(taken)
        time.sleep(0.3)
    assert len(taken) < 15, "20 MB in 20 groups: it has stopped long before the end"
    received = events_in(first.groups)
    while len(received) < 2000:
        received += events_in(next(stream).groups)
    assert [event_id for event_id, _ in received] == list(range(2000))


def test_a_reader_that_has_stopped_loses_its_stream(start: Start) -> None:
    member = start(limits=replace(TieringLimits(), follow_bytes=64 << 10, stall_s=0.3, streams=1))
    for number in range(0, 2000, 100):
        events = [started(each, custom_metadata=bytes(10_000)) for each in range(number, number + 100)]
        member.stub.AppendSegmentEvents(append(*events), timeout=PATIENCE_S)
    stream = member.stub.FollowSegmentEvents(iter(Requests(follow((NAME, 0)))), timeout=PATIENCE_S)
    next(stream)
    until(lambda: _is_served(member))
    refused(lambda: list(stream), grpc.StatusCode.DEADLINE_EXCEEDED, "the client has read nothing for 0.3 s")


def test_a_stream_follows_a_limited_number_of_partitions(start: Start) -> None:
    member = start(limits=TieringLimits(followed_partitions=1))
    refused(
        lambda: list(member.stub.FollowSegmentEvents(iter([follow((NAME, 0), (OTHER, 0))]), timeout=PATIENCE_S)),
        grpc.StatusCode.INVALID_ARGUMENT,
        "the stream follows 2 partitions",
    )


def test_a_follower_that_asks_for_nothing_more_and_follows_nothing_ends(member: Member) -> None:
    assert list(member.stub.FollowSegmentEvents(iter([]), timeout=PATIENCE_S)) == []
    [reply] = member.stub.FollowSegmentEvents(iter([follow((NAME, 9))]), timeout=PATIENCE_S)
    assert reply.out_of_range


def test_many_followers_get_every_event_once_in_order(member: Member) -> None:
    streams = [
        member.stub.FollowSegmentEvents(iter(Requests(follow((NAME, 0), (OTHER, 0)))), timeout=PATIENCE_S)
        for _ in range(5)
    ]
    writer = threading.Thread(
        target=lambda: [
            member.stub.AppendSegmentEvents(append(started(n), name=(NAME, OTHER)[n % 2]), timeout=PATIENCE_S)
            for n in range(100)
        ]
    )
    writer.start()
    for stream in streams:
        seen: dict[int, list[tuple[int, pb.SegmentEvent]]] = {3: [], 4: []}
        while sum(map(len, seen.values())) < 100:
            reply = next(stream)
            seen[reply.partition.partition] += events_in(reply.groups)
        for partition, offset in ((3, 0), (4, 1)):
            assert seen[partition] == [(n, started(2 * n + offset)) for n in range(50)]
    writer.join()
