"""What clients may hold of a port: connections of an address and of all, silent, dripping, watching and not reading."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio
import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import StreamingResponse
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health_aio

from deploy.local import ports
from guardian.client import GuardianClient
from guardian.member.web import create_app
from guardian.security.certificates.authority import Wanted
from guardian.security.certificates.folder import CertificateFolder
from guardian.serving.accepting import LimitedListener
from guardian.serving.counting import PortCounters
from guardian.serving.grpc_server import GrpcLimits, GrpcServer, start_grpc
from guardian.serving.http import HttpLimits, HttpServer
from guardian.serving.rules.shares import PortShare
from guardian.web.parts import WebParts
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.slow

FLOOD = 300
ONE, OTHER = "127.0.0.1", "127.0.0.2"


def connect(port: int, address: str) -> socket.socket:
    return socket.create_connection((ONE, port), timeout=PATIENCE_S, source_address=(address, 0))


@contextmanager
def flood(port: int, count: int, address: str, first: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections that say `first` and then nothing; those that the server ends stay in the list."""
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            connection = stack.enter_context(connect(port, address))
            made.append(connection)
            try:
                connection.sendall(first)
            except OSError:
                continue
        yield made


def open_ones(connections: Sequence[socket.socket]) -> list[socket.socket]:
    """Those that the server has not ended."""
    readable = select.poll()
    for connection in connections:
        readable.register(connection, select.POLLIN | select.POLLRDHUP | select.POLLHUP)
    ended = {descriptor for descriptor, event in readable.poll(0) if event & ~select.POLLIN}
    return [connection for connection in connections if connection.fileno() not in ended]


def ask(port: int, path: str = "/healthz", address: str = ONE) -> bytes:
    """The whole answer; b"" when there is none."""
    try:
        with connect(port, address) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            return b"".join(iter(lambda: connection.recv(4096), b""))
    except OSError:
        return b""


@dataclass
class Site:
    """The web application of a member on a port with limits, and routes that hold."""

    limits: HttpLimits
    body_s: float = 60.0
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    counters: PortCounters = field(default_factory=PortCounters)

    def __post_init__(self) -> None:
        (self.port,) = ports.pick(1)
        router = APIRouter()

        @router.get("/events")
        async def events() -> StreamingResponse:
            async def run() -> AsyncIterator[str]:
                self.entered.release()
                while True:
                    yield ": here\n\n"
                    await asyncio.sleep(0.05)

            return StreamingResponse(run(), media_type="text/event-stream")

        @router.get("/endless")
        async def endless() -> StreamingResponse:
            async def run() -> AsyncIterator[bytes]:
                while True:
                    yield b"x" * (1 << 20)
                    await asyncio.sleep(0)

            return StreamingResponse(run())

        @router.post("/body")
        async def body(request: Request) -> int:
            return len(await request.body())

        client = GuardianClient(["127.0.0.1:1"])
        parts = WebParts("g1", lambda _: client, lambda: 0, body_s=self.body_s)
        self.server = HttpServer(
            f"{ONE}:{self.port}", create_app(parts, [router]), limits=self.limits, counters=self.counters
        )
        self._stack = ExitStack()
        self._stack.callback(client.close)
        self._stack.callback(self.server.stop)
        self.server.start()
        until(lambda: ask(self.port).endswith(b"alive\n"))

    def close(self) -> None:
        self._stack.close()


@contextmanager
def site(limits: HttpLimits, body_s: float = 60.0) -> Iterator[Site]:
    with closing(Site(limits, body_s)) as made:
        yield made


def test_an_address_holds_its_share_of_http_and_everybody_is_answered_meanwhile() -> None:
    with site(HttpLimits(PortShare(40, 8))) as served:
        with flood(served.port, FLOOD, ONE) as connections:
            until(lambda: len(open_ones(connections)) <= 8)
            assert ask(served.port, address=OTHER).endswith(b"alive\n")
            until(lambda: ask(served.port, address=ONE).endswith(b"alive\n"))
            assert len(open_ones(connections)) <= 8
            assert served.counters.refused >= FLOOD - 8
        until(lambda: served.counters.connections == 0)
        for address in (ONE, OTHER):
            assert ask(served.port, address=address).endswith(b"alive\n")


def test_bodies_that_drip_take_no_more_than_their_address_has() -> None:
    begun = b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\na"
    with site(HttpLimits(PortShare(40, 8))) as served, flood(served.port, 60, ONE, begun) as dripping:
        until(lambda: len(open_ones(dripping)) <= 8)
        for _ in range(3):
            for connection in open_ones(dripping):
                connection.sendall(b"a")
            assert ask(served.port, address=OTHER).endswith(b"alive\n")
            until(lambda: ask(served.port, address=ONE).endswith(b"alive\n"))


def test_a_connection_that_made_room_may_still_get_its_answer() -> None:
    counters = PortCounters()
    with (
        LimitedListener(socket.create_server((ONE, 0)), PortShare(2, 1), counters) as listener,
        connect(listener.getsockname()[1], ONE),
    ):
        first, peer = listener.accept()

        def is_replaced() -> bool:
            with connect(listener.getsockname()[1], ONE), suppress(BlockingIOError):
                second, _ = listener.accept()
                second.close()
                return True
            return False

        listener.setblocking(False)
        until(is_replaced)
        listener.set_answered(peer, is_answered=True)
        listener.set_answered(peer, is_answered=False)
        first.close()
        assert counters.connections == 0


def test_a_port_that_many_addresses_fill_makes_room_for_one_more() -> None:
    with site(HttpLimits(PortShare(30, 10))) as served, ExitStack() as stack:
        for last in range(2, 8):
            stack.enter_context(flood(served.port, 40, f"127.0.0.{last}"))
        until(lambda: served.counters.connections <= 30)
        for last in range(2, 10):
            until(lambda address=f"127.0.0.{last}": ask(served.port, address=address).endswith(b"alive\n"))  # type: ignore[misc]


def test_what_is_being_answered_is_not_given_up_for_a_newcomer() -> None:
    with site(HttpLimits(PortShare(40, 4))) as served:
        asked = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with flood(served.port, 4, ONE, asked) as streams:
            for _ in streams:
                assert served.entered.acquire(timeout=PATIENCE_S)
            assert ask(served.port, address=ONE) == b""
            assert len(open_ones(streams)) == 4
            assert ask(served.port, address=OTHER).endswith(b"alive\n")
        until(lambda: ask(served.port, address=ONE).endswith(b"alive\n"))


def test_a_body_has_its_time_as_a_whole_however_steadily_it_drips() -> None:
    with site(HttpLimits(), body_s=0.3) as served, connect(served.port, ONE) as dripping:
        dripping.sendall(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
        answer = b""
        deadline = time.monotonic() + PATIENCE_S
        dripping.settimeout(0.02)
        while not answer.endswith(b"within 0.3 s\n"):
            assert time.monotonic() < deadline
            try:
                dripping.sendall(b"a")
                answer += dripping.recv(4096)
            except TimeoutError:
                continue
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in answer.lower()


def test_who_does_not_take_his_answer_is_hung_up_on() -> None:
    with site(HttpLimits(answer_s=0.3)) as served, connect(served.port, ONE) as lazy:
        lazy.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: served.counters.connections == 0)


def test_tls_that_is_not_shaken_hands_on_is_hung_up_on(tmp_path: Path) -> None:
    folder, now_ms = CertificateFolder(tmp_path / "ca"), int(time.time() * 1000)
    folder.init("authority", 1, now_ms)
    folder.issue(Wanted("g1", ("localhost",), 1), now_ms)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder.certificate("g1"), folder.key("g1"))
    (port,) = ports.pick(1)
    with closing_server(HttpServer(f"{ONE}:{port}", FastAPI(), context, HttpLimits(handshake_s=0.3))):
        until(lambda: _is_open(port))
        with connect(port, ONE) as silent:
            assert silent.recv(1) == b""


@contextmanager
def closing_server(server: HttpServer) -> Iterator[None]:
    server.start()
    try:
        yield
    finally:
        server.stop()


def _is_open(port: int) -> bool:
    try:
        connect(port, ONE).close()
    except OSError:
        return False
    return True


def health(server: grpc.aio.Server) -> None:
    servicer = health_aio.HealthServicer()
    asyncio.gather(servicer.set("", health_pb2.HealthCheckResponse.SERVING))
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)


@contextmanager
def grpc_port(
    limits: GrpcLimits, endpoint: str = f"{ONE}:0", counters: PortCounters | None = None
) -> Iterator[GrpcServer]:
    server = start_grpc(endpoint, health, limits=limits, port_counters=counters)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def asking(port: int, host: str = ONE) -> Iterator[health_pb2_grpc.HealthStub]:
    """Over a connection of its own."""
    options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"{host}:{port}", options=options) as channel:
        yield health_pb2_grpc.HealthStub(channel)


def check(stub: health_pb2_grpc.HealthStub) -> None:
    request = health_pb2.HealthCheckRequest()
    assert stub.Check(request, timeout=PATIENCE_S, wait_for_ready=True).status == health_pb2.HealthCheckResponse.SERVING


def test_an_address_holds_its_share_of_grpc_and_everybody_is_answered_meanwhile() -> None:
    counters = PortCounters()
    limits = GrpcLimits(share=PortShare(40, 8))
    with grpc_port(limits, counters=counters) as server, asking(server.port) as known:
        check(known)
        with flood(server.port, FLOOD, OTHER) as connections:
            until(lambda: len(open_ones(connections)) <= 8)
            check(known)
            with asking(server.port) as new:
                check(new)
            assert len(open_ones(connections)) <= 8
        with flood(server.port, FLOOD, ONE) as connections:
            until(lambda: len(open_ones(connections)) <= 8)
            check(known)
            with asking(server.port) as new:
                check(new)
        until(lambda: counters.connections <= 1)
        assert counters.refused > FLOOD
        with asking(server.port) as new:
            check(new)


def test_a_connection_that_does_not_begin_http2_is_closed() -> None:
    with grpc_port(GrpcLimits(handshake_s=0.3)) as server, connect(server.port, ONE) as silent:
        while silent.recv(4096):
            pass  # the server's own settings come first


def test_streams_too_many_wait_for_their_refusal_but_not_all_of_them() -> None:
    limits = GrpcLimits(calls_per_address=1, refuse_streams_after_s=PATIENCE_S)
    with grpc_port(limits) as server, ExitStack() as stack:
        request = health_pb2.HealthCheckRequest()
        one = stack.enter_context(asking(server.port))
        watching = one.Watch(request)
        assert next(watching).status == health_pb2.HealthCheckResponse.SERVING
        more = [stack.enter_context(asking(server.port)).Watch(request) for _ in range(4)]
        until(lambda: [stream.is_active() for stream in more].count(False) == 1)
        (refused,) = (stream for stream in more if not stream.is_active())
        assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        check(one)
        for stream in (watching, *more):
            stream.cancel()


def test_a_stream_too_many_is_refused_after_a_while() -> None:
    limits = GrpcLimits(calls_per_address=1, refuse_streams_after_s=0.5)
    with grpc_port(limits) as server, asking(server.port) as one:
        request = health_pb2.HealthCheckRequest()
        watching = one.Watch(request)
        next(watching)
        began_s = time.monotonic()
        with pytest.raises(grpc.RpcError) as refused:
            next(one.Watch(request, timeout=PATIENCE_S))
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert time.monotonic() - began_s >= limits.refuse_streams_after_s
        watching.cancel()


def test_whoever_watches_health_counts_against_his_address() -> None:
    limits = GrpcLimits(calls_per_address=5, refuse_streams_after_s=0.0)
    with grpc_port(limits, "[::]:0") as server, ExitStack() as stack:
        one, other = stack.enter_context(asking(server.port)), stack.enter_context(asking(server.port, "[::1]"))
        request = health_pb2.HealthCheckRequest()
        watching = [one.Watch(request) for _ in range(5)]
        assert [next(stream).status for stream in watching] == [health_pb2.HealthCheckResponse.SERVING] * 5
        sixth = stack.enter_context(asking(server.port)).Watch(request, timeout=PATIENCE_S)
        with pytest.raises(grpc.RpcError) as refused:
            next(sixth)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "5 calls from 127.0.0.1 are under way" in str(refused.value.details())
        check(one)
        assert next(other.Watch(request)).status == health_pb2.HealthCheckResponse.SERVING
        watching[0].cancel()

        def is_served() -> bool:
            with asking(server.port) as fresh:
                stream = fresh.Watch(request, timeout=PATIENCE_S)
                try:
                    return bool(next(stream).status == health_pb2.HealthCheckResponse.SERVING)
                except grpc.RpcError:
                    return False
                finally:
                    stream.cancel()

        until(is_served)
