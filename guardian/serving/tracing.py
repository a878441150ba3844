"""Spans of a member's calls: of those about tickets, and of those whose caller traces.

Brokers append and ask thousands of times a second; what nobody looks at is not written down.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import grpc
import grpc.aio

from guardian import tracing
from guardian.serving.errors import MethodInterceptor

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_TICKETS = "/guardian.v1.Tickets/"


class TracingInterceptor(MethodInterceptor):
    """For asynchronous methods and for those that run in the server's threads. First of all, it sees refusals too."""

    def is_let_through(self, call: grpc.HandlerCallDetails) -> bool:
        is_traced = any(key == tracing.TRACEPARENT for key, _ in call.invocation_metadata or ())
        return not (is_traced or call.method.startswith(_TICKETS))

    def wrap(self, call: grpc.HandlerCallDetails, _kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        return _traced(method, call.method.removeprefix("/"))


def _traced(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The same kind of function: gRPC looks at it to know how to call it."""
    if inspect.isasyncgenfunction(method):

        async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
            with tracing.span(name, _ticket_in(request), context.invocation_metadata(), is_current=False):
                async for reply in method(request, context):
                    yield reply

        return stream
    if inspect.iscoroutinefunction(method):

        async def coroutine(request: Any, context: Any) -> Any:
            with tracing.span(name, _ticket_in(request), context.invocation_metadata()) as span:
                return _noted(span, await method(request, context))

        return coroutine

    def plain(request: Any, context: Any) -> Any:
        with tracing.span(name, _ticket_in(request), context.invocation_metadata()) as span:
            return _noted(span, method(request, context))

    return plain


def _ticket_in(request: Any) -> str:
    return str(getattr(request, "ticket_id", ""))


def _noted(span: tracing.Span, reply: Any) -> Any:
    """A ticket that was made has its id only now."""
    made = getattr(reply, "ticket", None)
    span.about(str(getattr(made, "id", "")))
    return reply
