"""Errors of guardian.errors become gRPC answers here, and nowhere else: a code (guardian.model.wire.status), a
sentence, and two trailers. These are guardian-error, the class, which says more than the code, and with Overloaded
retry-after-ms.

A StoreError (a member that is stopping, or whose disk fails) is Unavailable as well: another member can answer.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from guardian.errors import GuardianError, InvalidInput, Overloaded, Unavailable
from guardian.model.wire import metadata
from guardian.model.wire.status import sentence_of, status_of
from guardian.replication.store.state import StoreError
from guardian.serving.counting import CallCounters, CallUnderWay, Method
from guardian.serving.rules.shares import address_of_peer, holder_of

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Counted: TypeAlias = Callable[[Any], CallUnderWay]
_Deserialize: TypeAlias = Callable[[bytes], Any]
_RETRY_CALL_MS = 100
_LATE_PER_SHARE = 3  # streams that wait for their refusal, to those that an address may have
_PROBE = "/grpc.health.v1.Health/Check"
_ANSWERED = (GuardianError, StoreError)


def trailers_of(error: Exception) -> tuple[tuple[str, str], ...]:
    """Return the trailers that go with the code."""
    kind = type(error) if isinstance(error, GuardianError) else Unavailable
    trailers = [(metadata.ERROR, kind.__name__)]
    if isinstance(error, Overloaded):
        trailers.append((metadata.RETRY_AFTER_MS, str(error.retry_after_ms)))
    return tuple(trailers)


_HANDLER_KINDS: dict[str, Callable[..., _Handler]] = {
    "unary_unary": grpc.unary_unary_rpc_method_handler,
    "unary_stream": grpc.unary_stream_rpc_method_handler,
    "stream_unary": grpc.stream_unary_rpc_method_handler,
    "stream_stream": grpc.stream_stream_rpc_method_handler,
}


class MethodInterceptor(grpc.aio.ServerInterceptor):
    """Puts a function of the same kind in place of each method that is called."""

    def is_let_through(self, _call: grpc.HandlerCallDetails) -> bool:
        """Return whether the method stays as it is."""
        return False

    @abstractmethod
    def wrap(self, call: grpc.HandlerCallDetails, kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return what to call in place of the method; `kind` is its name in a handler."""

    def read(self, _kind: str, deserialize: _Deserialize | None) -> _Deserialize | None:
        """Return how to read the bytes of a request."""
        return deserialize

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        handler = await continuation(handler_call_details)
        if handler is None or self.is_let_through(handler_call_details):
            return handler  # where there is none, gRPC answers UNIMPLEMENTED
        for kind, make in _HANDLER_KINDS.items():
            method = getattr(handler, kind)
            if method is not None:
                wrapped = self.wrap(handler_call_details, kind, method)
                return make(wrapped, self.read(kind, handler.request_deserializer), handler.response_serializer)
        return handler


class AsyncErrorInterceptor(MethodInterceptor):
    """Answers a GuardianError with its sentence and the status code that tells the client what to do.

    For asynchronous methods and for those that run in the server's threads. An asynchronous unary call ends after
    `unary_timeout_s` at the latest, whether or not the client gave a deadline. With `concurrent_calls` asynchronous
    ones under way, or `calls_per_address` of one address, more are answered Overloaded. So are streams, and who watches
    the member's health, but after `refuse_streams_after_s`. Probes have as many of their own, so that others' calls
    take none away. One that runs in a thread is not begun when its client waits no longer. How many there may be,
    waiting ones included, is counted apart, in `queued`, by the pool that they are handed to (guardian.serving.pool).
    Each call is counted in `counters` with the code that answers it.
    """

    def __init__(
        self,
        unary_timeout_s: float,
        concurrent_calls: int,
        counters: CallCounters,
        calls_per_address: int | None = None,
        refuse_streams_after_s: float = 0.0,
    ) -> None:
        per_address = concurrent_calls if calls_per_address is None else calls_per_address
        self._unary_timeout_s = unary_timeout_s
        self._counters = counters
        self._calls = Calls(concurrent_calls, per_address, refuse_streams_after_s)
        self._probes = Calls(concurrent_calls, per_address)
        self.queued = Calls(concurrent_calls, per_address)

    def wrap(self, call: grpc.HandlerCallDetails, kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        is_unary = kind == "unary_unary"
        counted = partial(self._counters.one, Method.of(call.method), is_unary)
        calls = self._probes if call.method == _PROBE else self._calls
        return _guarded(method, self._unary_timeout_s if is_unary else None, calls, counted)

    def read(self, kind: str, deserialize: _Deserialize | None) -> _Deserialize | None:
        return deserialize if kind.startswith("stream") else _reading(deserialize)


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """In place of a request whose bytes are no such message: gRPC would answer as of a bug of ours, and log a traceback
    for everybody who sends nonsense."""


def _reading(deserialize: _Deserialize | None) -> _Deserialize | None:
    if deserialize is None:
        return None

    def read(raw: bytes) -> Any:
        try:
            return deserialize(raw)
        except DecodeError:
            return _Unreadable()

    return read


def _require_readable(request: Any) -> None:
    if isinstance(request, _Unreadable):
        raise InvalidInput("the request is no message of this method: use a client of this version of the API")


class Calls:
    """Calls under way, of all and of one address. Any thread may use it."""

    def __init__(self, most: int, per_address: int, late_s: float = 0.0) -> None:
        """`late_s` is how long a stream that is one too many waits for its refusal."""
        self._late_s = late_s
        self._most = most
        self._per_address = per_address
        self._lock = threading.Lock()
        self._under_way = 0
        self._of: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()  # for their refusal

    @contextmanager
    def _late(self, peer: str) -> Iterator[bool]:
        """Tell whether a call that is refused may wait for its refusal: not all may, since that costs memory."""
        holder = holder_of(address_of_peer(peer))
        with self._lock:
            room = min(_LATE_PER_SHARE * self._per_address - self._waiting[holder], self._most - self._waiting.total())
            self._waiting[holder] += room > 0
        try:
            yield room > 0
        finally:
            with self._lock:
                self._waiting[holder] -= room > 0
                if not self._waiting[holder]:
                    del self._waiting[holder]

    @asynccontextmanager
    async def one(self, peer: str, *, is_stream: bool) -> AsyncIterator[None]:
        """Raises Overloaded when it would be one too many, of all or of the peer's address. It raises it of a stream
        after a while, since whoever is refused at once asks again at once.
        """
        try:
            end = self.begin(peer)
        except Overloaded:
            if is_stream:
                with self._late(peer) as may_wait:
                    await asyncio.sleep(self._late_s if may_wait else 0.0)
            raise
        try:
            yield
        finally:
            end()

    def begin(self, peer: str) -> Callable[[], None]:
        """Return what is to be called once, at its end. Raises Overloaded as `one` does."""
        holder = holder_of(address_of_peer(peer))
        with self._lock:
            if self._under_way >= self._most:
                raise Overloaded(f"{self._under_way} calls are under way on this member: retry later", _RETRY_CALL_MS)
            if self._of[holder] >= self._per_address:
                raise Overloaded(
                    f"{self._of[holder]} calls from {holder} are under way on this member: end some, or retry later",
                    _RETRY_CALL_MS,
                )
            self._under_way += 1
            self._of[holder] += 1
        return partial(self._end, holder)

    def _end(self, holder: str) -> None:
        with self._lock:
            self._under_way -= 1
            self._of[holder] -= 1
            if not self._of[holder]:
                del self._of[holder]


def _guarded(
    method: Callable[..., Any], timeout_s: float | None, calls: Calls, counted: _Counted
) -> Callable[..., Any]:
    """The same kind of function: gRPC looks at it to know how to call it."""
    if inspect.isasyncgenfunction(method):
        return _guarded_stream(method, calls, counted)
    if inspect.iscoroutinefunction(method):
        return _guarded_coroutine(method, timeout_s, calls, counted)
    if inspect.isgeneratorfunction(method):
        raise TypeError(f"{method} is a generator: gRPC never frees its thread when a client breaks the call off")
    return InThread(method, counted)


def _guarded_coroutine(
    method: Callable[..., Awaitable[Any]], timeout_s: float | None, calls: Calls, counted: _Counted
) -> Callable[..., Any]:
    async def guarded(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        limit = asyncio.timeout(timeout_s)
        with counted(context) as call:
            try:
                _require_readable(request)
                is_stream = timeout_s is None  # which the method writes by itself
                async with calls.one(context.peer(), is_stream=is_stream), limit:
                    return await method(request, context)
            except TimeoutError:
                if not limit.expired():
                    raise
                call.code = grpc.StatusCode.DEADLINE_EXCEEDED
                await context.abort(call.code, f"the call took longer than {timeout_s} s: retry")
            except _ANSWERED as error:
                call.code = status_of(error)
                await context.abort(call.code, sentence_of(error), trailers_of(error))

    return guarded


def _guarded_stream(method: Callable[..., AsyncIterator[Any]], calls: Calls, counted: _Counted) -> Callable[..., Any]:
    async def guarded(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
        with counted(context) as call:
            try:
                _require_readable(request)
                async with calls.one(context.peer(), is_stream=True):
                    async for reply in method(request, context):
                        yield reply
            except _ANSWERED as error:
                call.code = status_of(error)
                await context.abort(call.code, sentence_of(error), trailers_of(error))

    return guarded


@dataclass(frozen=True, slots=True)
class InThread:
    """A method that runs in a thread of the server, as gRPC calls it there."""

    method: Callable[..., Any]
    counted: _Counted

    def __call__(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Answer the call."""
        with self.counted(context) as call:
            try:
                _require_time(context)
                _require_readable(request)
                return self.method(request, context)
            except _ANSWERED as error:
                call.code = status_of(error)
                context.set_trailing_metadata(trailers_of(error))
                context.abort(call.code, sentence_of(error))

    def refuse(self, context: grpc.ServicerContext, error: GuardianError) -> None:
        """Answer `error` on the event loop, where a context can't be aborted: gRPC sends no message with its code."""
        with self.counted(context) as call:
            call.code = status_of(error)
            context.set_trailing_metadata(trailers_of(error))
            context.set_details(sentence_of(error))
            context.set_code(call.code)


def _require_time(context: grpc.ServicerContext) -> None:
    """A call may have waited for a thread until its client gave up: what nobody waits for is not begun."""
    remaining_s = context.time_remaining()
    if remaining_s is not None and remaining_s <= 0:
        raise Unavailable("the call waited for its turn until its deadline had passed: nothing was done")
