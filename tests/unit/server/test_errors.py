"""Errors become status codes, for unary calls and for streams, and their sentence arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound, Unavailable
from guardian.server.errors import ErrorInterceptor
from metastore.store import StoreError
from protos.guardian.v1 import tickets_pb2, tickets_pb2_grpc

DEADLINE_S = 30

Serve = Callable[[Exception], tickets_pb2_grpc.TicketsStub]


def failing(error: Exception) -> grpc.GenericRpcHandler:
    """GetTicket fails at once, WatchTicket after its first message."""

    def get(*_: object) -> tickets_pb2.TicketDetail:
        raise error

    def watch(*_: object) -> Iterator[tickets_pb2.TicketDetail]:
        yield tickets_pb2.TicketDetail()
        raise error

    read, write = tickets_pb2.GetTicketRequest.FromString, tickets_pb2.TicketDetail.SerializeToString
    return grpc.method_handlers_generic_handler(
        "guardian.v1.Tickets",
        {
            "GetTicket": grpc.unary_unary_rpc_method_handler(get, read, write),
            "WatchTicket": grpc.unary_stream_rpc_method_handler(watch, read, write),
        },
    )


@pytest.fixture
def serve() -> Iterator[Serve]:
    ends: list[Callable[[], object]] = []

    def start(error: Exception) -> tickets_pb2_grpc.TicketsStub:
        server = grpc.server(ThreadPoolExecutor(2), interceptors=[ErrorInterceptor()])
        server.add_generic_rpc_handlers((failing(error),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_http_proxy", 0)])
        ends.extend([channel.close, lambda: server.stop(None).wait()])
        return tickets_pb2_grpc.TicketsStub(channel)

    yield start
    for end in ends:
        end()


class Narrower(InvalidInput):
    pass


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("fix it"), grpc.StatusCode.INVALID_ARGUMENT),
        (Narrower("fix it"), grpc.StatusCode.INVALID_ARGUMENT),
        (NotFound("no such thing"), grpc.StatusCode.NOT_FOUND),
        (Conflict("too late"), grpc.StatusCode.ABORTED),
        (ClusterUnavailable("down"), grpc.StatusCode.FAILED_PRECONDITION),
        (Unavailable("no leader"), grpc.StatusCode.UNAVAILABLE),
        (GuardianError("something"), grpc.StatusCode.UNAVAILABLE),
        (StoreError("the store is closed"), grpc.StatusCode.UNAVAILABLE),
    ],
)
def test_each_error_has_its_code_and_its_sentence(serve: Serve, error: Exception, code: grpc.StatusCode) -> None:
    stub = serve(error)
    with pytest.raises(grpc.RpcError) as unary:
        stub.GetTicket(tickets_pb2.GetTicketRequest(), timeout=DEADLINE_S)
    assert (unary.value.code(), unary.value.details()) == (code, str(error))
    stream = stub.WatchTicket(tickets_pb2.GetTicketRequest(), timeout=DEADLINE_S)
    assert next(stream) == tickets_pb2.TicketDetail()
    with pytest.raises(grpc.RpcError) as streamed:
        next(stream)
    assert (streamed.value.code(), streamed.value.details()) == (code, str(error))


@pytest.mark.parametrize("letter", ["x", "é", "\N{KEYCAP TEN}", "\ud800"])
def test_a_sentence_that_repeats_a_huge_value_arrives_shortened(serve: Serve, letter: str) -> None:
    stub = serve(InvalidInput("the value is " + letter * 100_000))
    with pytest.raises(grpc.RpcError) as refused:
        stub.GetTicket(tickets_pb2.GetTicketRequest(), timeout=DEADLINE_S)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (refused.value.details() or "").startswith("the value is ")
