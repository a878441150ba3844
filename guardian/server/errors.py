"""Errors of guardian.errors become gRPC answers here, and nowhere else: a code (guardian.wire.status), a sentence, and
two trailers: guardian-error, the class, which says more than the code, and with Overloaded retry-after-ms.

A StoreError (a member that is stopping, or whose disk fails) is Unavailable as well: another member can answer.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import grpc
import grpc.aio

from guardian.errors import GuardianError, Overloaded, Unavailable
from guardian.wire import metadata
from guardian.wire.status import sentence_of, status_of
from metastore.store import StoreError

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_ANSWERED = (GuardianError, StoreError)


def trailers_of(error: Exception) -> tuple[tuple[str, str], ...]:
    """What goes with the code."""
    kind = type(error) if isinstance(error, GuardianError) else Unavailable
    trailers = [(metadata.ERROR, kind.__name__)]
    if isinstance(error, Overloaded):
        trailers.append((metadata.RETRY_AFTER_MS, str(error.retry_after_ms)))
    return tuple(trailers)


class AsyncErrorInterceptor(grpc.aio.ServerInterceptor):
    """Answers a GuardianError with its sentence and the status code that tells the client what to do.

    For asynchronous methods and for those that run in the server's threads. An asynchronous unary call ends after
    `unary_timeout_s` at the latest, whether or not the client gave a deadline.
    """

    def __init__(self, unary_timeout_s: float) -> None:
        self._unary_timeout_s = unary_timeout_s

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None  # gRPC answers UNIMPLEMENTED
        for kind, make in _KINDS.items():
            method = getattr(handler, kind)
            if method is not None:
                timeout_s = self._unary_timeout_s if kind == "unary_unary" else None
                guarded = _guarded(method, timeout_s)
                return make(guarded, handler.request_deserializer, handler.response_serializer)
        return handler


_KINDS: dict[str, Callable[..., _Handler]] = {
    "unary_unary": grpc.unary_unary_rpc_method_handler,
    "unary_stream": grpc.unary_stream_rpc_method_handler,
    "stream_unary": grpc.stream_unary_rpc_method_handler,
    "stream_stream": grpc.stream_stream_rpc_method_handler,
}


def _guarded(method: Callable[..., Any], timeout_s: float | None) -> Callable[..., Any]:
    """The same kind of function: gRPC looks at it to know how to call it."""
    if inspect.isasyncgenfunction(method):
        return _guarded_stream(method)
    if inspect.iscoroutinefunction(method):
        return _guarded_coroutine(method, timeout_s)
    if inspect.isgeneratorfunction(method):
        return _guarded_sync_stream(method)
    return _guarded_sync(method)


def _guarded_coroutine(method: Callable[..., Awaitable[Any]], timeout_s: float | None) -> Callable[..., Any]:
    async def guarded(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                return await method(request, context)
        except TimeoutError:
            if not limit.expired():
                raise
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, f"the call took longer than {timeout_s} s: retry")
        except _ANSWERED as error:
            await context.abort(status_of(error), sentence_of(error), trailers_of(error))

    return guarded


def _guarded_stream(method: Callable[..., AsyncIterator[Any]]) -> Callable[..., Any]:
    async def guarded(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
        try:
            async for reply in method(request, context):
                yield reply
        except _ANSWERED as error:
            await context.abort(status_of(error), sentence_of(error), trailers_of(error))

    return guarded


def _guarded_sync(method: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(request, context)
        except _ANSWERED as error:
            context.set_trailing_metadata(trailers_of(error))
            context.abort(status_of(error), sentence_of(error))

    return guarded


def _guarded_sync_stream(method: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
    """Ends with the status instead of aborting: gRPC's loop may still be writing what the thread has yielded, and two
    operations at once on one call fail, so that the client would wait for ever."""

    def guarded(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from method(request, context)
        except _ANSWERED as error:
            context.set_trailing_metadata(trailers_of(error))
            context.set_code(status_of(error))
            context.set_details(sentence_of(error))

    return guarded
