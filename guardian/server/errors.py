"""Errors of guardian.errors become gRPC status codes here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeAlias

import grpc

from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound

_STATUS: dict[type[GuardianError], grpc.StatusCode] = {
    InvalidInput: grpc.StatusCode.INVALID_ARGUMENT,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Conflict: grpc.StatusCode.ABORTED,
    ClusterUnavailable: grpc.StatusCode.FAILED_PRECONDITION,
}

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
        except GuardianError as error:
            _abort(context, error)

    return guarded


def _guard_stream(
    method: Callable[[Any, grpc.ServicerContext], Iterator[Any]],
) -> Callable[[Any, grpc.ServicerContext], Iterator[Any]]:
    def guarded(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from method(request, context)
        except GuardianError as error:
            _abort(context, error)

    return guarded


def _abort(context: grpc.ServicerContext, error: GuardianError) -> NoReturn:
    context.abort(_STATUS.get(type(error), grpc.StatusCode.UNAVAILABLE), str(error))
