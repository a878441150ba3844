"""The pipeline of appends: answered in any trouble, each carried out once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import grpc
import pytest

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, OutcomeUnknown, Unavailable
from protos.guardian.v1 import sessions_pb2, sessions_pb2_grpc, tiering_pb2
from tests.patience import CALL_S, PATIENCE_S

pytestmark = pytest.mark.slow

Reply = tiering_pb2.StreamSegmentEventsReply
# What a member does with a request, by the number of requests that came before it: None carries it out.
Trouble = Callable[[int, tiering_pb2.StreamSegmentEventsRequest], "Reply | None"]


class Broken(Exception):
    """Ends the stream without an answer, after the request was carried out."""


class Group:
    """What members share: sessions, and which appends were carried out, in order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sessions = 0
        self.forgotten: set[int] = set()
        self.done: dict[tuple[int, int], int] = {}
        self.carried_out: list[int] = []
        self.requests = 0
        self.trouble: Trouble = lambda _number, _request: None

    def handle(self, request: tiering_pb2.StreamSegmentEventsRequest) -> Reply:
        with self.lock:
            number = self.requests
            self.requests += 1
            if request.session.id in self.forgotten:
                return Reply(code=grpc.StatusCode.DATA_LOSS.value[0], error="forgotten")
            trouble = self.trouble(number, request)
            if trouble is not None:
                return trouble
            return self.carry_out(request)

    def carry_out(self, request: tiering_pb2.StreamSegmentEventsRequest) -> Reply:
        key = (request.session.id, request.session.sequence)
        value = request.append.partitions[0].events[0].start_offset
        if key not in self.done:
            self.carried_out.append(value)
            self.done[key] = len(self.carried_out)
        result = tiering_pb2.PartitionAppendResult(next_event_id=value)
        return Reply(append=tiering_pb2.AppendSegmentEventsReply(results=[result]))


class Sessions(sessions_pb2_grpc.SessionsServicer):
    def __init__(self, group: Group) -> None:
        self._group = group

    def OpenSession(  # noqa: N802
        self,
        request: sessions_pb2.OpenSessionRequest,
        context: grpc.ServicerContext,  # noqa: ARG002
    ) -> sessions_pb2.OpenSessionReply:
        with self._group.lock:
            self._group.sessions += 1
            return sessions_pb2.OpenSessionReply(session_id=self._group.sessions, window=request.window)


class Member:
    def __init__(self, group: Group) -> None:
        self._server = grpc.server(ThreadPoolExecutor(8))
        handler = grpc.stream_stream_rpc_method_handler(
            self._stream,
            tiering_pb2.StreamSegmentEventsRequest.FromString,
            Reply.SerializeToString,
        )
        method = {"StreamSegmentEvents": handler}
        generic = grpc.method_handlers_generic_handler("guardian.v1.Tiering", method)
        self._server.add_generic_rpc_handlers((generic,))
        sessions_pb2_grpc.add_SessionsServicer_to_server(Sessions(group), self._server)
        self._group = group
        self.endpoint = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()

    def _stream(
        self, requests: Iterator[tiering_pb2.StreamSegmentEventsRequest], context: grpc.ServicerContext
    ) -> Iterator[Reply]:
        for request in requests:
            try:
                yield self._group.handle(request)
            except Broken:
                context.abort(grpc.StatusCode.UNAVAILABLE, "the member dies")


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def members(group: Group) -> Iterator[list[Member]]:
    members = [Member(group), Member(group)]
    yield members
    for member in members:
        member.stop()


@pytest.fixture
def client(members: list[Member]) -> Iterator[GuardianClient]:
    with GuardianClient([member.endpoint for member in members], timeout_s=CALL_S) as client:
        yield client


def append(value: int) -> tiering_pb2.AppendSegmentEventsRequest:
    events = [tiering_pb2.SegmentEvent(start_offset=value)]
    return tiering_pb2.AppendSegmentEventsRequest(partitions=[tiering_pb2.PartitionEvents(events=events)])


def answers(futures: list[Future[tiering_pb2.AppendSegmentEventsReply]]) -> list[int]:
    return [future.result(PATIENCE_S).results[0].next_event_id for future in futures]


def test_appends_are_answered_in_order_and_carried_out_in_order(group: Group, client: GuardianClient) -> None:
    with client.segment_event_stream(window=16) as stream:
        futures = [stream.append(append(number)) for number in range(300)]
        assert answers(futures) == list(range(300))
    assert group.carried_out == list(range(300))


def test_a_stream_that_breaks_is_opened_again_and_nothing_is_carried_out_twice(
    group: Group, client: GuardianClient
) -> None:
    def break_now_and_then(number: int, request: tiering_pb2.StreamSegmentEventsRequest) -> Reply | None:
        if number % 23 == 20:
            group.carry_out(request)
            raise Broken
        return None

    group.trouble = break_now_and_then
    with client.segment_event_stream(window=16) as stream:
        assert answers([stream.append(append(number)) for number in range(200)]) == list(range(200))
    assert group.carried_out == list(range(200))
    assert group.requests > 200


def test_a_member_that_dies_is_replaced_by_another(group: Group, members: list[Member], client: GuardianClient) -> None:
    with client.segment_event_stream(window=4) as stream:
        futures = [stream.append(append(number)) for number in range(50)]
        members[0].stop()
        futures += [stream.append(append(number)) for number in range(50, 100)]
        assert answers(futures) == list(range(100))
    assert sorted(group.carried_out) == list(range(100))


def test_an_overloaded_member_gets_the_rest_after_the_time_that_it_names(group: Group, client: GuardianClient) -> None:
    refused_at: list[float] = []

    def overloaded(number: int, request: tiering_pb2.StreamSegmentEventsRequest) -> Reply | None:
        if number == 5:
            refused_at.append(time.monotonic())
            code = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
            return Reply(code=code, error="too much", retry_after_ms=300)
        return None

    group.trouble = overloaded
    with client.segment_event_stream(window=2) as stream:
        assert answers([stream.append(append(number)) for number in range(20)]) == list(range(20))
    assert time.monotonic() - refused_at[0] >= 0.3
    assert sorted(group.carried_out) == list(range(20))


def test_a_forgotten_session_is_replaced_by_a_new_one(group: Group, client: GuardianClient) -> None:
    with client.segment_event_stream(window=4) as stream:
        assert answers([stream.append(append(number)) for number in range(10)]) == list(range(10))
        group.forgotten.add(1)
        assert answers([stream.append(append(number)) for number in range(10, 20)]) == list(range(10, 20))
    assert group.carried_out == list(range(20))
    assert group.sessions == 2


def test_a_request_that_is_wrong_fails_and_the_others_go_on(group: Group, client: GuardianClient) -> None:
    def refuse(_number: int, request: tiering_pb2.StreamSegmentEventsRequest) -> Reply | None:
        if request.append.partitions[0].events[0].start_offset == 3:
            return Reply(code=grpc.StatusCode.INVALID_ARGUMENT.value[0], error="three is wrong")
        return None

    group.trouble = refuse
    with client.segment_event_stream() as stream:
        futures = [stream.append(append(number)) for number in range(6)]
        with pytest.raises(InvalidInput, match="three is wrong"):
            futures[3].result(PATIENCE_S)
        assert answers(futures[:3] + futures[4:]) == [0, 1, 2, 4, 5]


@pytest.mark.slow
def test_an_answer_that_never_comes_is_a_mystery_and_the_window_is_free_again(
    group: Group, members: list[Member]
) -> None:
    def break_always(_number: int, _request: tiering_pb2.StreamSegmentEventsRequest) -> Reply | None:
        raise Broken

    group.trouble = break_always
    with (
        GuardianClient([members[0].endpoint], timeout_s=1.0) as client,
        client.segment_event_stream(window=2) as stream,
    ):
        futures = [stream.append(append(number)) for number in range(2)]
        for future in futures:
            with pytest.raises(Unavailable):
                future.result(PATIENCE_S)
        assert isinstance(futures[0].exception(), OutcomeUnknown)
        group.trouble = lambda _number, _request: None
        assert stream.append(append(9)).result(PATIENCE_S).results[0].next_event_id == 9


@pytest.mark.slow
def test_a_member_that_hangs_costs_a_part_of_the_time(group: Group, members: list[Member]) -> None:
    is_over = threading.Event()
    original = members[0]._stream

    def hang(requests: Iterator[tiering_pb2.StreamSegmentEventsRequest], _context: object) -> Iterator[Reply]:
        is_over.wait(PATIENCE_S)
        yield from original(requests, _context)  # type: ignore[arg-type]

    hanging = Member.__new__(Member)
    hanging._stream = hang  # type: ignore[method-assign, assignment]
    hanging.__init__(group)  # type: ignore[misc]
    try:
        with (
            GuardianClient([hanging.endpoint, members[1].endpoint], timeout_s=12.0) as client,
            client.segment_event_stream(window=2) as stream,
        ):
            client._calls._members.leader = hanging.endpoint
            for number in range(6):
                assert stream.append(append(number)).result(PATIENCE_S).results[0].next_event_id == number
        assert group.carried_out == list(range(6))
    finally:
        is_over.set()
        hanging.stop()


def test_a_closed_stream_takes_nothing(client: GuardianClient) -> None:
    stream = client.segment_event_stream()
    stream.close()
    with pytest.raises(Unavailable, match="the stream is closed"):
        stream.append(append(1))
