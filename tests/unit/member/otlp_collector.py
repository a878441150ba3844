"""An OTLP collector in this process: keeps the spans that it is sent over gRPC."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


@dataclass(frozen=True, slots=True)
class Seen:
    """A span, as far as tests ask; ids are hexadecimal, `parent` may be empty."""

    service: str
    name: str
    trace: str
    span: str
    parent: str
    facts: dict[str, str]
    links: tuple[str, ...]
    is_error: bool


class OtlpCollector(trace_service_pb2_grpc.TraceServiceServicer):
    """Serves at `endpoint` until `stop`."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._spans: list[Seen] = []
        self._server = grpc.server(ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]
        self.endpoint = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002  as gRPC has it
        found = [
            _seen(resource, span)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        with self._arrived:
            self._spans += found
            self._arrived.notify_all()
        return trace_service_pb2.ExportTraceServiceResponse()

    def spans(self) -> list[Seen]:
        with self._arrived:
            return list(self._spans)

    def wait_for(self, is_there: Callable[[list[Seen]], bool], timeout_s: float = 60.0) -> list[Seen]:
        with self._arrived:
            assert self._arrived.wait_for(lambda: is_there(self._spans), timeout_s), [s.name for s in self._spans]
            return list(self._spans)

    def stop(self) -> None:
        self._server.stop(0).wait()


def _seen(resource: Any, span: Any) -> Seen:
    said = {each.key: each.value.string_value for each in resource.resource.attributes}
    return Seen(
        said["service.name"],
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        {each.key: each.value.string_value or str(each.value.int_value) for each in span.attributes},
        tuple(link.trace_id.hex() for link in span.links),
        span.status.code == 2,
    )
