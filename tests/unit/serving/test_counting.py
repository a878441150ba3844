"""Calls are counted with the code that answered them, whatever kind of method it is and however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import grpc
import grpc.aio
import pytest

from guardian.errors import NotFound
from guardian.serving.counting import CallCounters, LoopCounters, Method
from guardian.serving.grpc_server import GrpcLimits, start_grpc
from tests.patience import PATIENCE_S, until


class Service:
    """Methods that do what the request says."""

    def unary(self, request: bytes, _context: grpc.ServicerContext) -> bytes:
        return _answer(request)

    async def unary_async(self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        if request == b"abort":
            await context.abort(grpc.StatusCode.DATA_LOSS, "it said so")
        if request == b"stay":
            await asyncio.sleep(PATIENCE_S)
        return _answer(request)

    async def stream(self, request: bytes, _context: object) -> AsyncIterator[bytes]:
        yield b"first"
        if request == b"stay":
            await asyncio.sleep(PATIENCE_S)
        yield _answer(request)

    def register(self, server: grpc.aio.Server) -> None:
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "unary": unary(self.unary),
            "unary_async": unary(self.unary_async),
            "stream": stream(self.stream),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", handlers),))


def _answer(request: bytes) -> bytes:
    if request == b"not found":
        raise NotFound("there is none")
    if request == b"bug":
        raise KeyError(request)
    return request


class Site:
    def __init__(self) -> None:
        self.counters = CallCounters()
        limits = GrpcLimits(unary_timeout_s=PATIENCE_S, grace_s=0.0)
        self.server = start_grpc("127.0.0.1:0", Service().register, limits=limits, counters=self.counters)
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.server.port}", [("grpc.enable_http_proxy", 0)])

    def call(self, method: str, request: bytes) -> None:
        with suppress(grpc.RpcError):
            if method.startswith("unary"):
                self.unary(method)(request, timeout=PATIENCE_S)
            else:
                list(self.stream(method)(request, timeout=PATIENCE_S))

    def unary(self, method: str) -> grpc.UnaryUnaryMultiCallable[bytes, bytes]:
        return self.channel.unary_unary(f"/test/{method}")

    def stream(self, method: str) -> grpc.UnaryStreamMultiCallable[bytes, bytes]:
        return self.channel.unary_stream(f"/test/{method}")

    def ended(self, count: int = 1) -> dict[tuple[str, str], int]:
        """By method's name and code, when so many have ended: the client may know of it before the counters do."""
        until(lambda: sum(self.counters.ended().values()) == count)
        return {(method.name, code): number for (method, code), number in self.counters.ended().items()}


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.channel.close()
    site.server.stop()


@pytest.mark.parametrize("method", ["unary", "unary_async", "stream"])
@pytest.mark.parametrize(("request_", "code"), [(b"fine", "OK"), (b"not found", "NOT_FOUND"), (b"bug", "UNKNOWN")])
def test_a_call_is_counted_with_its_code(site: Site, method: str, request_: bytes, code: str) -> None:
    site.call(method, request_)
    assert site.ended() == {(method, code): 1}
    assert site.counters.under_way() == {Method("test", method): 0}
    latencies = site.counters.latencies()
    assert [each.calls for each in latencies.values()] == ([1] if method.startswith("unary") else [])


def test_the_code_that_a_method_itself_answers_is_counted(site: Site) -> None:
    site.call("unary_async", b"abort")
    assert site.ended() == {("unary_async", "DATA_LOSS"): 1}


@pytest.mark.parametrize("method", ["unary_async", "stream"])
def test_a_call_is_under_way_until_its_client_goes_and_is_cancelled_then(site: Site, method: str) -> None:
    begin = site.unary(method).future if method.startswith("unary") else site.stream(method)
    under_way = begin(b"stay")
    until(lambda: site.counters.under_way().get(Method("test", method)) == 1)
    under_way.cancel()
    assert site.ended() == {(method, "CANCELLED"): 1}


def test_a_method_that_nobody_has_is_not_counted(site: Site) -> None:
    """Else anybody could make a member's metrics grow."""
    site.call("unary_that_is_none", b"")
    site.call("unary", b"fine")
    assert site.ended() == {("unary", "OK"): 1}


def test_a_tick_that_fails_is_one_all_the_same() -> None:
    counters, now = LoopCounters(), iter([1.0, 2.0, 5.0, 5.5])
    with counters.tick(lambda: next(now)):
        pass
    with pytest.raises(KeyError), counters.tick(lambda: next(now)):
        raise KeyError
    assert counters == LoopCounters(ticks=2, failures=1, seconds=1.5, longest_pause_s=3.5)


def test_the_time_in_which_a_member_does_not_lead_is_no_pause_between_ticks() -> None:
    counters, now = LoopCounters(), iter([1.0, 2.0, 50.0, 51.0, 53.0, 54.0])
    for _ in range(3):
        with counters.tick(lambda: next(now)):
            pass
        if counters.ticks == 1:
            counters.rest()
    assert counters.longest_pause_s == 3.0
