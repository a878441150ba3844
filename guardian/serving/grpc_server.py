"""The gRPC server: one event loop on a thread of its own, and a pool of threads for methods that wait.

    asynchronous methods   on the loop: appends, reads of segments, streams that stay open; none of them holds a thread
    all others             in the pool, which queues what it can't take at once (guardian.serving.pool)

What a client can make a member hold is bounded. So is the size of a message, and the number of calls under way, in all
and of one address, those included that wait for a thread. Beyond it an asynchronous call is answered RESOURCE_EXHAUSTED
with a hint when to retry; at twice the number any call is, by gRPC and without a hint. Keepalive bounds the time for
which a client that is gone is thought to be there. What a call holds is bounded by its servicer, and by AsyncStore for
all together.

gRPC's C library accepts connections itself, and knows a limit for all of them, none for an address. Shedding looks a
few times a second who holds how many, and shuts down what is over a share (guardian.serving.shedding).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import grpc
import grpc.aio

from guardian.errors import InvalidInput
from guardian.serving.counting import CallCounters, PortCounters
from guardian.serving.errors import AsyncErrorInterceptor
from guardian.serving.pool import CallPool
from guardian.serving.rules.shares import GRPC_OVERSHOOT, GRPC_SHARE, PortShare
from guardian.serving.shedding import Shedding
from guardian.serving.texts import TextInterceptor

_START_S = 30.0


@dataclass(frozen=True, slots=True)
class GrpcLimits:
    """`unary_timeout_s` bounds asynchronous unary calls, also those whose client gave no deadline. A client that does
    not answer a ping, sent after `keepalive_s` without traffic, within `keepalive_timeout_s` is gone; clients may ping
    every `min_client_ping_s`. A stream that is one too many is refused after `refuse_streams_after_s`. Connections are
    renewed after `connection_age_s`, with `connection_grace_s` for what is under way: so what a client holds and never
    takes ends at last, and clients spread over members again. A connection that has not begun HTTP/2 within
    `handshake_s`, or has no call for `idle_s`, is closed."""

    message_bytes: int = 64 << 20
    concurrent_calls: int = 4096
    calls_per_address: int = 1024
    refuse_streams_after_s: float = 10.0
    share: PortShare = GRPC_SHARE
    handshake_s: float = 10.0
    idle_s: float = 300.0
    threads: int = 32
    unary_timeout_s: float = 60.0
    keepalive_s: float = 20.0
    keepalive_timeout_s: float = 10.0
    min_client_ping_s: float = 5.0
    connection_age_s: float = 6 * 3600.0
    connection_grace_s: float = 60.0
    grace_s: float = 2.0


class GrpcServer:
    """What `start_grpc` returns. Any thread may use it."""

    def __init__(
        self, port: int, loop: asyncio.AbstractEventLoop, thread: threading.Thread, stopping: asyncio.Event
    ) -> None:
        self.port = port
        self._shedding: Shedding | None = None
        self._loop = loop
        self._thread = thread
        self._stopping = stopping

    def shed(self, share: PortShare, counters: PortCounters) -> None:
        """Keep the connections of each address to its share from now on."""
        self._shedding = Shedding(self.port, share, counters)
        self._shedding.start()

    def stop(self) -> None:
        """Takes no more calls, gives those under way some time, then ends them. A second call does nothing."""
        if self._shedding is not None:
            self._shedding.stop()
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()


def start_grpc(
    endpoint: str,
    register: Callable[[grpc.aio.Server], None],
    *,
    credentials: grpc.ServerCredentials | None = None,
    limits: GrpcLimits | None = None,
    counters: CallCounters | None = None,
    port_counters: PortCounters | None = None,
    interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
) -> GrpcServer:
    """Serves on `endpoint` (host:port; port 0: a free one) what `register` adds to the server; counts the calls and the
    connections.

    `interceptors` see each call in their order, and may raise errors of guardian.errors. `register` runs on the
    server's event loop. Raises InvalidInput when the endpoint can't be listened on, and what `register` raises.
    """
    started: Future[GrpcServer] = Future()
    limits, counters = limits or GrpcLimits(), counters or CallCounters()
    thread = threading.Thread(
        target=lambda: asyncio.run(_serve(endpoint, register, credentials, limits, counters, interceptors, started)),
        name="grpc",
        daemon=True,
    )
    thread.start()
    server = started.result(_START_S)
    server.shed(limits.share, port_counters or PortCounters())
    return server


async def _serve(
    endpoint: str,
    register: Callable[[grpc.aio.Server], None],
    credentials: grpc.ServerCredentials | None,
    limits: GrpcLimits,
    counters: CallCounters,
    interceptors: Sequence[grpc.aio.ServerInterceptor],
    started: Future[GrpcServer],
) -> None:
    errors = AsyncErrorInterceptor(
        limits.unary_timeout_s,
        limits.concurrent_calls,
        counters,
        calls_per_address=limits.calls_per_address,
        refuse_streams_after_s=limits.refuse_streams_after_s,
    )
    pool = CallPool(limits.threads, errors.queued)
    try:
        server, port = await _start(endpoint, register, credentials, limits, [errors, *interceptors], pool)
        stopping = asyncio.Event()
        started.set_result(GrpcServer(port, asyncio.get_running_loop(), threading.current_thread(), stopping))
        await stopping.wait()
        await server.stop(limits.grace_s)
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)  # it is raised where the caller waits
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


async def _start(
    endpoint: str,
    register: Callable[[grpc.aio.Server], None],
    credentials: grpc.ServerCredentials | None,
    limits: GrpcLimits,
    interceptors: Sequence[grpc.aio.ServerInterceptor],
    pool: CallPool,
) -> tuple[grpc.aio.Server, int]:
    server = grpc.aio.server(
        migration_thread_pool=pool,
        interceptors=[*interceptors, TextInterceptor()],
        options=_options(limits),
        maximum_concurrent_rpcs=2 * limits.concurrent_calls,
    )
    register(server)
    try:
        if credentials is None:
            port = server.add_insecure_port(endpoint)
        else:
            port = server.add_secure_port(endpoint, credentials)
    except RuntimeError:
        raise InvalidInput(f"grpc is {endpoint!r}, which can't be listened on: is another member running?") from None
    await server.start()
    return server, port


def _options(limits: GrpcLimits) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", limits.message_bytes),
        ("grpc.max_send_message_length", limits.message_bytes),
        ("grpc.so_reuseport", 0),
        ("grpc.keepalive_time_ms", int(limits.keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", int(limits.keepalive_timeout_s * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", int(limits.min_client_ping_s * 1000)),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.max_allowed_incoming_connections", limits.share.connections + GRPC_OVERSHOOT),
        ("grpc.server_handshake_timeout_ms", int(limits.handshake_s * 1000)),
        ("grpc.max_connection_idle_ms", int(limits.idle_s * 1000)),
        ("grpc.max_concurrent_streams", 2 * limits.calls_per_address),
        ("grpc.max_connection_age_ms", int(limits.connection_age_s * 1000)),
        ("grpc.max_connection_age_grace_ms", int(limits.connection_grace_s * 1000)),
    ]
