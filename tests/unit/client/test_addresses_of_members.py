"""A member's name with several addresses, the first of which swallows packets: gRPC tries the next beside it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent import futures
from contextlib import ExitStack, closing, suppress

import grpc
import pytest

from guardian.client.stubs import Stubs
from protos.guardian.v1 import federation_pb2

pytestmark = pytest.mark.slow

# Less than one attempt at one address may take (grpc.min_reconnect_backoff_ms).
TIMEOUT_S = 4.5


class Answering(grpc.GenericRpcHandler):
    """Answers every call with an empty message."""

    def service(self, _details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"")


@pytest.fixture
def port() -> Iterator[int]:
    """Of a member at 127.0.0.1, and of a listener whose queue is full at 127.0.0.2."""
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Answering()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with ExitStack() as stack:
        stack.callback(lambda: server.stop(None).wait())
        hole = stack.enter_context(socket.socket())
        hole.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        hole.bind(("127.0.0.2", port))
        hole.listen(0)
        for _ in range(8):
            caller = stack.enter_context(socket.socket())
            caller.setblocking(False)
            with suppress(BlockingIOError):
                caller.connect(("127.0.0.2", port))
        with pytest.raises(TimeoutError):
            socket.create_connection(("127.0.0.2", port), timeout=0.5)
        yield port


def test_a_member_behind_an_address_that_swallows_packets_is_reached(port: int) -> None:
    with closing(Stubs(f"ipv4:127.0.0.2:{port},127.0.0.1:{port}")) as stubs:
        answer = stubs.federation.ListClusters(federation_pb2.ListClustersRequest(), timeout=TIMEOUT_S)
    assert answer == federation_pb2.ListClustersReply()
