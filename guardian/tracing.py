"""Traces of what happens to a ticket, in the words of OpenTelemetry: CLI, members and executor alike.

A ticket has a trace of its own, whose id is made of the ticket's id. So the command that approves it, the member that
records it and whichever leader carries it out, after however many crashes and days, write into the same trace. Nobody
has to store or hand over anything: `trace_id_of("t-1a2b3c4d")` is what to look up. What has another trace, as the
command that makes the ticket and does not know its id yet, links to it and carries it as `guardian.ticket`.

Off until `start` is called: then nothing is imported and nothing is sent, and a span costs a comparison.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from guardian import __version__
from guardian.errors import InvalidInput

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as RealSpan

TICKET = "guardian.ticket"
TRACEPARENT = "traceparent"  # W3C trace context, as a header of gRPC
_PATIENCE_S = 3.0

_provider: TracerProvider | None = None
_wanted = threading.local()


def trace_id_of(ticket_id: str) -> str:
    """The id of a ticket's trace: 32 hexadecimal digits."""
    return hashlib.sha256(b"guardian ticket " + ticket_id.encode()).hexdigest()[:32]


class Span:
    """What is under way. Without traces it takes everything and does nothing."""

    __slots__ = ("_span",)

    def __init__(self, span: RealSpan | None = None) -> None:
        self._span = span

    def set(self, **facts: str | int | float | bool) -> None:
        """Facts about it; underscores stand for dots."""
        if self._span is not None:
            for name, value in facts.items():
                self._span.set_attribute(name.replace("_", "."), value)

    def about(self, ticket_id: str) -> None:
        """It turned out to be about this ticket."""
        if self._span is not None and ticket_id:
            self._span.set_attribute(TICKET, ticket_id)
            link = _link_to(ticket_id)
            if link.trace_id != self._span.get_span_context().trace_id:
                self._span.add_link(link)

    def called(self, name: str) -> None:
        """Name the span anew, when it turns out only now what it is."""
        if self._span is not None:
            self._span.update_name(name)

    def failed(self, why: str) -> None:
        """It came to nothing, which no exception says."""
        if self._span is not None:
            from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415  only where traces are on

            self._span.set_status(Status(StatusCode.ERROR, why))


_NONE = Span()


def is_on() -> bool:
    return _provider is not None


def start(service: str, endpoint: str, **resource: str) -> Callable[[], None]:
    """Sends spans to the OTLP collector at `endpoint` (http://host:4317, gRPC) from now on; returns how to end it.

    The environment variables of OpenTelemetry (headers, certificate, sampler) hold as its documentation says. Raises
    InvalidInput when the packages are not installed.
    """
    global _provider  # noqa: PLW0603  a process has one
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"traces need the package {error.name}, which is not installed: pip install 'kafka-guardian[server]'"
        ) from None

    class Ids(RandomIdGenerator):
        """A root span about a ticket opens that ticket's trace."""

        def generate_trace_id(self) -> int:
            ticket_id = getattr(_wanted, "ticket_id", "")
            return int(trace_id_of(ticket_id), 16) if ticket_id else super().generate_trace_id()

    said = {"service.name": service, "service.version": __version__, **resource}
    provider = TracerProvider(resource=Resource.create(said), id_generator=Ids(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=_PATIENCE_S)))
    _provider = provider

    def stop() -> None:
        global _provider  # noqa: PLW0603
        if _provider is provider:
            _provider = None
        provider.shutdown()

    return stop


@contextmanager
def span(
    name: str,
    ticket: str = "",
    metadata: Iterable[Any] | None = None,
    is_current: bool = True,
    **facts: str | int | float | bool,
) -> Iterator[Span]:
    """Something that takes a while. Below the one under way in this thread or task, or below the caller's, whose gRPC
    `metadata` tell of it. Where there is neither, one about a ticket belongs to that ticket's trace.

    With `is_current` false what is done meanwhile is not below it: for a generator, which may change its thread.
    """
    if _provider is None:
        yield _NONE
        return
    from opentelemetry import trace  # noqa: PLC0415

    context = _context_in(metadata)
    parent = trace.get_current_span(context).get_span_context()
    _wanted.ticket_id = "" if parent.is_valid else ticket
    try:
        begun = _provider.get_tracer("guardian").start_span(name, context)
    finally:
        _wanted.ticket_id = ""
    found = Span(begun)
    found.about(ticket)
    found.set(**facts)
    if is_current:
        with trace.use_span(begun, end_on_exit=True):
            yield found
        return
    try:
        yield found
    except BaseException as error:
        begun.record_exception(error)
        found.failed(str(error))
        raise
    finally:
        begun.end()


def headers() -> tuple[tuple[str, str], ...]:
    """Return the headers for a call that belongs to what is under way here."""
    if _provider is None:
        return ()
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return tuple(carrier.items())


def ids() -> dict[str, str]:
    """Return the ids of the span under way, for log lines; empty where there is none."""
    if _provider is None:
        return {}
    from opentelemetry import trace  # noqa: PLC0415

    found = trace.get_current_span().get_span_context()
    return {"trace": f"{found.trace_id:032x}", "span": f"{found.span_id:016x}"} if found.is_valid else {}


def _context_in(metadata: Iterable[Any] | None) -> Any | None:
    """None: that of this thread or task."""
    found = {str(key): value for key, value in metadata or () if key == TRACEPARENT and isinstance(value, str)}
    if not found:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    return TraceContextTextMapPropagator().extract(found)


def _link_to(ticket_id: str) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags  # noqa: PLC0415

    trace_id = trace_id_of(ticket_id)
    return SpanContext(int(trace_id, 16), int(trace_id[:16], 16) or 1, is_remote=True, trace_flags=TraceFlags(1))
