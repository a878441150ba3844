"""The server's thread: it starts and stops, runs waiting methods beside the loop, and bounds what clients may do."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import grpc
import grpc.aio
import pytest

from guardian.errors import InvalidInput
from guardian.serving.counting import CallCounters, Method
from guardian.serving.grpc_server import GrpcLimits, GrpcServer, start_grpc
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.slow


class Service:
    """`wait` holds a thread until `released`, `stay` none; `where` tells the thread that it runs on.

    A `wait` that was `read` is in the queue for threads. `hold_the_loop` sets `released` when its deadline has passed,
    and holds the loop on until `loop_released`.
    """

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.read = threading.Semaphore(0)
        self.released = threading.Event()
        self.loop_released = threading.Event()

    def register(self, server: grpc.aio.Server) -> None:
        handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "wait": grpc.unary_unary_rpc_method_handler(self.wait, request_deserializer=self.reading),
            "where": grpc.unary_unary_rpc_method_handler(self.where),
            "stay": grpc.unary_unary_rpc_method_handler(self.stay),
            "hold_the_loop": grpc.unary_unary_rpc_method_handler(self.hold_the_loop),
            "echo": grpc.unary_unary_rpc_method_handler(self.echo),
        }
        health = {"Check": handlers["echo"], "Watch": handlers["echo"]}
        server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler("test", handlers),
                grpc.method_handlers_generic_handler("grpc.health.v1.Health", health),
            )
        )

    def reading(self, request: bytes) -> bytes:
        self.read.release()
        return request

    def wait(self, _request: bytes, _context: grpc.ServicerContext) -> bytes:
        self.entered.release()
        self.released.wait(PATIENCE_S)
        return threading.current_thread().name.encode()

    async def stay(self, _request: bytes, _context: object) -> bytes:
        self.entered.release()
        while not self.released.is_set():
            await asyncio.sleep(0.01)
        return b""

    async def hold_the_loop(self, _request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        while context.time_remaining():
            time.sleep(0.01)
        self.released.set()
        self.loop_released.wait(PATIENCE_S)
        return b""

    async def where(self, _request: bytes, _context: object) -> bytes:
        return threading.current_thread().name.encode()

    async def echo(self, request: bytes, _context: object) -> bytes:
        return request


class Client:
    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        options = [("grpc.enable_http_proxy", 0), ("grpc.max_send_message_length", -1)]
        self.channel = grpc.insecure_channel(f"{host}:{port}", options=options)

    def call(self, name: str) -> grpc.UnaryUnaryMultiCallable[bytes, bytes]:
        return self.channel.unary_unary(f"/test/{name}")

    def health(self, name: str) -> grpc.UnaryUnaryMultiCallable[bytes, bytes]:
        return self.channel.unary_unary(f"/grpc.health.v1.Health/{name}")


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.released.set()
    service.loop_released.set()


def serve(service: Service, limits: GrpcLimits, counters: CallCounters | None = None) -> tuple[GrpcServer, Client]:
    server = start_grpc("127.0.0.1:0", service.register, limits=limits, counters=counters)
    return server, Client(server.port)


def test_methods_that_wait_hold_nobody_else_up(service: Service) -> None:
    server, client = serve(service, GrpcLimits(threads=2, grace_s=0))
    waiting = [client.call("wait").future(b"", timeout=PATIENCE_S) for _ in range(3)]
    for _ in range(2):
        assert service.entered.acquire(timeout=PATIENCE_S)
    assert client.call("where")(b"", timeout=PATIENCE_S) == b"grpc"
    assert not service.entered.acquire(blocking=False), "the third waits for a thread"
    service.released.set()
    assert {call.result()[:3] for call in waiting} == {b"rpc"}
    client.channel.close()
    server.stop()


def test_calls_beyond_the_limit_are_refused(service: Service) -> None:
    server, client = serve(service, GrpcLimits(concurrent_calls=1, grace_s=0))
    waiting = [client.call("stay").future(b"", timeout=PATIENCE_S)]
    assert service.entered.acquire(timeout=PATIENCE_S)
    with pytest.raises(grpc.RpcError) as refused:
        client.call("where")(b"", timeout=PATIENCE_S)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    trailers = {each.key: str(each.value) for each in refused.value.trailing_metadata() or ()}
    assert (trailers["guardian-error"], trailers["retry-after-ms"]) == ("Overloaded", "100")
    waiting.append(client.call("wait").future(b"", timeout=PATIENCE_S))
    assert service.entered.acquire(timeout=PATIENCE_S)
    with pytest.raises(grpc.RpcError) as refused:
        client.call("wait")(b"", timeout=PATIENCE_S)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, "calls of all kinds are bounded, too"
    service.released.set()
    for call in waiting:
        call.result()
    assert client.call("where")(b"", timeout=PATIENCE_S) == b"grpc"
    client.channel.close()
    server.stop()


@pytest.mark.slow
def test_a_probe_is_answered_while_all_threads_and_calls_are_taken(service: Service) -> None:
    server, client = serve(service, GrpcLimits(threads=1, concurrent_calls=2, grace_s=0))
    waiting = [client.call(name).future(b"", timeout=PATIENCE_S) for name in ("stay", "stay", "wait")]
    for _ in waiting:
        assert service.entered.acquire(timeout=PATIENCE_S)
    with pytest.raises(grpc.RpcError) as refused:
        client.health("Watch")(b"", timeout=PATIENCE_S)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    for _ in range(5):
        assert client.health("Check")(b"up?", timeout=PATIENCE_S) == b"up?"
    service.released.set()
    for call in waiting:
        call.result()
    client.channel.close()
    server.stop()


def test_what_waited_for_a_thread_until_its_deadline_is_not_begun_though_the_loop_is_late(service: Service) -> None:
    counters = CallCounters()
    server, client = serve(service, GrpcLimits(threads=1, grace_s=0), counters)
    waiting = client.call("wait").future(b"", timeout=PATIENCE_S)
    assert service.entered.acquire(timeout=PATIENCE_S)
    impatient = client.call("wait").future(b"", timeout=5)
    for _ in (waiting, impatient):
        assert service.read.acquire(timeout=PATIENCE_S)
    for call in (client.call("hold_the_loop").future(b"", timeout=5), impatient):
        with pytest.raises(grpc.RpcError):
            call.result()
    wait = Method("test", "wait")
    until(lambda: (wait, "OK") in counters.ended() and counters.under_way()[wait] == 1)
    service.loop_released.set()
    waiting.result()
    until(lambda: (wait, "UNAVAILABLE") in counters.ended())
    assert not service.entered.acquire(blocking=False)
    client.channel.close()
    server.stop()


def test_a_message_over_the_limit_is_refused(service: Service) -> None:
    server, client = serve(service, GrpcLimits(message_bytes=1000, grace_s=0))
    assert client.call("echo")(bytes(900), timeout=PATIENCE_S) == bytes(900)
    with pytest.raises(grpc.RpcError) as refused:
        client.call("echo")(bytes(1001), timeout=PATIENCE_S)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    client.channel.close()
    server.stop()


def test_an_endpoint_that_is_taken_is_said_to_be(service: Service) -> None:
    server, client = serve(service, GrpcLimits(grace_s=0))
    with pytest.raises(InvalidInput, match="can't be listened on: is another member running"):
        start_grpc(f"127.0.0.1:{server.port}", service.register)
    with pytest.raises(InvalidInput, match="grpc is 'nowhere:x'"):
        start_grpc("nowhere:x", service.register)
    client.channel.close()
    server.stop()


def test_what_registering_raises_is_raised_to_the_caller() -> None:
    def register(_server: grpc.aio.Server) -> None:
        raise InvalidInput("no such service")

    threads = threading.active_count()
    with pytest.raises(InvalidInput, match="no such service"):
        start_grpc("127.0.0.1:0", register)
    assert threading.active_count() <= threads + 1


def test_stopping_ends_what_is_under_way_and_may_be_asked_for_twice(service: Service) -> None:
    server, client = serve(service, GrpcLimits(grace_s=0))
    waiting = client.call("wait").future(b"", timeout=PATIENCE_S)
    assert service.entered.acquire(timeout=PATIENCE_S)
    server.stop()
    server.stop()
    with pytest.raises(grpc.RpcError):
        waiting.result()
    with pytest.raises(grpc.RpcError) as refused:
        client.call("where")(b"", timeout=PATIENCE_S)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    client.channel.close()


def test_calls_that_wait_for_a_thread_count_against_their_address(service: Service) -> None:
    counters = CallCounters()
    server = start_grpc(
        "[::]:0", service.register, limits=GrpcLimits(threads=1, calls_per_address=3), counters=counters
    )
    client, other = Client(server.port), Client(server.port, "[::1]")
    waiting = [client.call("wait").future(b"", timeout=PATIENCE_S)]
    assert service.entered.acquire(timeout=PATIENCE_S)  # it has the only thread
    waiting += [client.call("wait").future(b"", timeout=PATIENCE_S) for _ in range(2)]
    for _ in waiting:
        assert service.read.acquire(timeout=PATIENCE_S)
    with pytest.raises(grpc.RpcError) as refused:
        client.call("wait")(b"", timeout=PATIENCE_S)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "3 calls from 127.0.0.1 are under way" in str(refused.value.details())
    trailers = {each.key: str(each.value) for each in refused.value.trailing_metadata() or ()}
    assert (trailers["guardian-error"], trailers["retry-after-ms"]) == ("Overloaded", "100")
    method = Method("test", "wait")
    assert counters.ended()[method, "RESOURCE_EXHAUSTED"] == 1
    waiting.append(other.call("wait").future(b"", timeout=PATIENCE_S))
    for _ in range(2):  # the fourth of the first address, and the first of the other one
        assert service.read.acquire(timeout=PATIENCE_S)
    waiting.pop(1).cancel()  # it gives its place back without having had a thread

    def is_taken() -> bool:
        before = counters.ended()[method, "RESOURCE_EXHAUSTED"]
        call = client.call("wait").future(b"", timeout=PATIENCE_S)
        assert service.read.acquire(timeout=PATIENCE_S)
        other.call("where")(b"", timeout=PATIENCE_S)  # by now the loop has taken the call before it, or refused it
        if counters.ended()[method, "RESOURCE_EXHAUSTED"] > before:
            return False
        waiting.append(call)
        return True

    until(is_taken)
    service.released.set()
    assert {call.result()[:3] for call in waiting} == {b"rpc"}
    assert client.call("wait")(b"", timeout=PATIENCE_S)[:3] == b"rpc"
    for each in (client, other):
        each.channel.close()
    server.stop()
