"""Errors of guardian.errors become gRPC status codes here, and nowhere else.

A StoreError (a member that is stopping, or whose disk fails) is UNAVAILABLE as well: another member can answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeAlias

import grpc

from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound
from metastore.store import StoreError

_STATUS: dict[type[GuardianError], grpc.StatusCode] = {
    InvalidInput: grpc.StatusCode.INVALID_ARGUMENT,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Conflict: grpc.StatusCode.ABORTED,
    ClusterUnavailable: grpc.StatusCode.FAILED_PRECONDITION,
}

# A status travels in a header, and gRPC drops the whole answer when its headers are over 8 KiB; percent-encoding makes
# up to three bytes of one.
_MAX_DETAIL_BYTES = 2000

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class ErrorInterceptor(grpc.ServerInterceptor):
    """Answers a GuardianError with its sentence and the status code that tells the client what to do."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], _Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(
                _guard_unary(handler.unary_unary), handler.request_deserializer, handler.response_serializer
            )
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(
                _guard_stream(handler.unary_stream), handler.request_deserializer, handler.response_serializer
            )
        return handler


def _guard_unary(
    method: Callable[[Any, grpc.ServicerContext], Any],
) -> Callable[[Any, grpc.ServicerContext], Any]:
    def guarded(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(request, context)
        except (GuardianError, StoreError) as error:
            _abort(context, error)

    return guarded


def _guard_stream(
    method: Callable[[Any, grpc.ServicerContext], Iterator[Any]],
) -> Callable[[Any, grpc.ServicerContext], Iterator[Any]]:
    def guarded(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from method(request, context)
        except (GuardianError, StoreError) as error:
            _abort(context, error)

    return guarded


def _abort(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), grpc.StatusCode.UNAVAILABLE)
    context.abort(status, _shortened(str(error)))


def _shortened(sentence: str) -> str:
    encoded = sentence.encode(errors="replace")
    if len(encoded) <= _MAX_DETAIL_BYTES:
        return sentence
    return encoded[:_MAX_DETAIL_BYTES].decode(errors="ignore") + "..."
