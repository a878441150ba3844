"""What a member's gRPC calls and its leader's loops came to, for its metrics. Any thread may count and read."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple

import grpc
import grpc.aio

# Upper bounds in seconds: a read takes a millisecond, a write some, and a call that waits has a minute.
CALL_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class Method(NamedTuple):
    """As gRPC names it: package and service, method."""

    service: str
    name: str

    @classmethod
    def of(cls, path: str) -> Method:
        """`path` is /service/method."""
        service, _, name = path.removeprefix("/").rpartition("/")
        return cls(service, name)


@dataclass(slots=True)
class Latency:
    """`within` counts, for each bound of CALL_BUCKETS_S, the calls that took longer than the one before it at most."""

    within: list[int] = field(default_factory=lambda: [0] * len(CALL_BUCKETS_S))
    calls: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.calls += 1
        self.seconds += seconds
        for i, bound in enumerate(CALL_BUCKETS_S):
            if seconds <= bound:
                self.within[i] += 1
                return

    def cumulative(self) -> list[tuple[float, int]]:
        """Return for each bound, in s, how many calls took at most as long."""
        total = 0
        return [(bound, total := total + count) for bound, count in zip(CALL_BUCKETS_S, self.within, strict=True)]


class CallCounters:
    """A stream may last for days: it has no latency, but is seen while it is under way."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ended: Counter[tuple[Method, str]] = Counter()
        self._under_way: Counter[Method] = Counter()
        self._latencies: dict[Method, Latency] = {}

    def one(self, method: Method, is_unary: bool, context: Any) -> CallUnderWay:
        """A call, from the `with` that this is used in to its end."""
        return CallUnderWay(self, method, is_unary, context)

    def begin(self, method: Method) -> float:
        with self._lock:
            self._under_way[method] += 1
        return self._clock()

    def end(self, method: Method, code: grpc.StatusCode, begun: float | None) -> None:
        """`begun` is None for a call whose time says nothing."""
        now = self._clock()
        with self._lock:
            self._under_way[method] -= 1
            self._ended[method, code.name] += 1
            if begun is not None:
                self._latencies.setdefault(method, Latency()).add(now - begun)

    def ended(self) -> Mapping[tuple[Method, str], int]:
        """Return how many calls ended, by method and status code."""
        with self._lock:
            return dict(self._ended)

    def under_way(self) -> Mapping[Method, int]:
        with self._lock:
            return dict(self._under_way)

    def latencies(self) -> Mapping[Method, Latency]:
        with self._lock:
            return {each: Latency(list(of.within), of.calls, of.seconds) for each, of in self._latencies.items()}


class CallUnderWay:
    """Set `code` before an answer that is an error; what else ends the call is understood by itself."""

    __slots__ = ("_begun", "_context", "_counters", "_is_unary", "_method", "code")

    def __init__(self, counters: CallCounters, method: Method, is_unary: bool, context: Any) -> None:
        self._counters = counters
        self._method = method
        self._is_unary = is_unary
        self._context = context
        self._begun = 0.0
        self.code: grpc.StatusCode | None = None

    def __enter__(self) -> CallUnderWay:
        self._begun = self._counters.begin(self._method)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = self.code or self._code_of(error)
        self._counters.end(self._method, code, self._begun if self._is_unary else None)

    def _code_of(self, error: BaseException | None) -> grpc.StatusCode:
        match error:
            case None:
                return grpc.StatusCode.OK
            case asyncio.CancelledError() | GeneratorExit():
                return grpc.StatusCode.CANCELLED
            case grpc.aio.AbortError():
                return _status(self._context.code())
        return grpc.StatusCode.UNKNOWN


def _status(code: Any) -> grpc.StatusCode:
    """A context gives back what it was given, or gRPC's number for it."""
    known = {each.value[0]: each for each in grpc.StatusCode}
    return code if isinstance(code, grpc.StatusCode) else known.get(code, grpc.StatusCode.UNKNOWN)


@dataclass(slots=True)
class PortCounters:
    """Of one port: the connections that there are, and how many were closed because there were too many."""

    connections: int = 0
    refused: int = 0


@dataclass(slots=True)
class LoopCounters:
    """Count one of the leader's loops: ticks, those that failed, and the time that all took. Keep the longest time from
    the end of one to the end of the next while the member led all the time.
    """

    ticks: int = 0
    failures: int = 0
    seconds: float = 0.0
    longest_pause_s: float = 0.0
    _ended_at: float | None = field(default=None, compare=False)

    @contextmanager
    def tick(self, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
        """Counts a tick; as failed when it raises, which goes on."""
        begun = clock()
        try:
            yield
        except Exception:
            self.failures += 1
            raise
        finally:
            ended = clock()
            self.seconds += ended - begun
            self.ticks += 1
            if self._ended_at is not None:
                self.longest_pause_s = max(self.longest_pause_s, ended - self._ended_at)
            self._ended_at = ended

    def rest(self) -> None:
        """Say that the member does not lead: the time until its next tick is no pause."""
        self._ended_at = None
