"""Errors become status codes and trailers, for methods of all kinds, and their sentence arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import grpc
import grpc.aio
import pytest

from guardian.errors import (
    ClusterUnavailable,
    Conflict,
    GuardianError,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    OutOfRange,
    Overloaded,
    SessionExpired,
    Unavailable,
)
from guardian.serving.grpc_server import GrpcLimits, GrpcServer, start_grpc
from metastore.store import StoreError
from protos.guardian.v1 import tickets_pb2
from tests.patience import PATIENCE_S

DETAIL = tickets_pb2.TicketDetail()


def failing(error: Exception) -> grpc.GenericRpcHandler:
    """Unary methods fail at once, streams after their first message."""

    def get(*_: object) -> tickets_pb2.TicketDetail:
        raise error

    async def get_async(*_: object) -> tickets_pb2.TicketDetail:
        raise error

    async def watch_async(*_: object) -> AsyncIterator[tickets_pb2.TicketDetail]:
        yield DETAIL
        raise error

    async def write_async(_: object, context: grpc.aio.ServicerContext[object, object]) -> None:
        await context.write(DETAIL)
        raise error

    read, write = tickets_pb2.GetTicketRequest.FromString, tickets_pb2.TicketDetail.SerializeToString
    unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
    both = grpc.stream_stream_rpc_method_handler
    return grpc.method_handlers_generic_handler(
        "test",
        {
            "sync": unary(get, read, write),
            "async": unary(get_async, read, write),
            "async-stream": stream(watch_async, read, write),
            "writing-stream": both(write_async, read, write),
        },
    )


class Client:
    def __init__(self, port: int) -> None:
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_http_proxy", 0)])

    def unary(self, kind: str) -> grpc.RpcError:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self.channel.unary_unary(f"/test/{kind}")
        with pytest.raises(grpc.RpcError) as refused:
            call(b"", timeout=PATIENCE_S)
        return refused.value

    def stream(self, kind: str) -> grpc.RpcError:
        call: grpc.StreamStreamMultiCallable[bytes, bytes] = self.channel.stream_stream(f"/test/{kind}-stream")
        replies = call(iter([b""]), timeout=PATIENCE_S)
        assert next(replies) == b""
        with pytest.raises(grpc.RpcError) as refused:
            next(replies)
        return refused.value


Serve = Callable[[Exception], Client]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[GrpcServer] = []
    clients: list[Client] = []

    def start(error: Exception) -> Client:
        servers.append(
            start_grpc(
                "127.0.0.1:0",
                lambda server: server.add_generic_rpc_handlers((failing(error),)),
                limits=GrpcLimits(grace_s=0),
            )
        )
        clients.append(Client(servers[-1].port))
        return clients[-1]

    yield start
    for client in clients:
        client.channel.close()
    for server in servers:
        server.stop()


class Narrower(InvalidInput):
    pass


def trailers(error: grpc.RpcError) -> dict[str, str | bytes]:
    return {each.key: each.value for each in error.trailing_metadata() or ()}


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (InvalidInput("fix it"), grpc.StatusCode.INVALID_ARGUMENT, "InvalidInput"),
        (Narrower("fix it"), grpc.StatusCode.INVALID_ARGUMENT, "Narrower"),
        (NotFound("no such thing"), grpc.StatusCode.NOT_FOUND, "NotFound"),
        (Conflict("too late"), grpc.StatusCode.ABORTED, "Conflict"),
        (ClusterUnavailable("down"), grpc.StatusCode.FAILED_PRECONDITION, "ClusterUnavailable"),
        (OutOfRange("gone"), grpc.StatusCode.OUT_OF_RANGE, "OutOfRange"),
        (Overloaded("too much", 250), grpc.StatusCode.RESOURCE_EXHAUSTED, "Overloaded"),
        (SessionExpired("forgotten"), grpc.StatusCode.DATA_LOSS, "SessionExpired"),
        (Unavailable("no leader"), grpc.StatusCode.UNAVAILABLE, "Unavailable"),
        (OutcomeUnknown("who knows"), grpc.StatusCode.UNAVAILABLE, "OutcomeUnknown"),
        (GuardianError("something"), grpc.StatusCode.UNAVAILABLE, "GuardianError"),
        (StoreError("the store is closed"), grpc.StatusCode.UNAVAILABLE, "Unavailable"),
    ],
)
def test_each_error_has_its_code_its_sentence_and_its_class(
    serve: Serve, error: Exception, code: grpc.StatusCode, kind: str
) -> None:
    client = serve(error)
    seen = [client.unary(each) for each in ("sync", "async")]
    seen += [client.stream(each) for each in ("async", "writing")]
    assert {(each.code(), each.details(), trailers(each)["guardian-error"]) for each in seen} == {
        (code, str(error), kind)
    }


def test_an_overload_says_when_to_come_again(serve: Serve) -> None:
    client = serve(Overloaded("too much", 250))
    for error in (client.unary("sync"), client.unary("async"), client.stream("async")):
        assert trailers(error)["retry-after-ms"] == "250"


@pytest.mark.parametrize("letter", ["x", "é", "\N{KEYCAP TEN}", "\ud800"])
def test_a_sentence_that_repeats_a_huge_value_arrives_shortened(serve: Serve, letter: str) -> None:
    client = serve(InvalidInput("the value is " + letter * 100_000))
    for error in (client.unary("sync"), client.unary("async")):
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert (error.details() or "").startswith("the value is ")


def test_a_bug_is_no_errors_of_guardian(serve: Serve) -> None:
    client = serve(TimeoutError("some library's"))
    for error in (client.unary("sync"), client.unary("async"), client.stream("async")):
        assert error.code() is grpc.StatusCode.UNKNOWN
        assert "guardian-error" not in trailers(error)
