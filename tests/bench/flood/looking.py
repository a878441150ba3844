"""What is looked at while a member is flooded: its probe, writes, memory, term and the ticks of its executor.

Each look runs in a thread of its own and never stops for another; `Look` holds what they saw between two moments.
"""

from __future__ import annotations

import http.client
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import grpc
import psutil
from prometheus_client.parser import text_string_to_metric_families

from protos.guardian.v1 import federation_pb2, federation_pb2_grpc

_PROBE_EVERY_S = 0.1
_PROBE_TIMEOUT_S = 10.0
_WRITE_EVERY_S = 0.05
_WRITE_TIMEOUT_S = 10.0
_LOOK_EVERY_S = 0.5
_TICKS = "guardian_leader_tick_seconds_count"
_PAUSE = "guardian_leader_longest_pause_seconds"


@dataclass(slots=True)
class Look:
    """Times in seconds; one of an attempt that failed is its time as well, and counted in `failures`."""

    probes_s: list[float] = field(default_factory=list)
    writes_s: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    terms: list[int] = field(default_factory=list)
    ticks: list[tuple[float, float]] = field(default_factory=list)
    """When the executor's ticks were seen to have gone on, and to which number."""
    probe_failures: int = 0
    write_failures: int = 0
    told_pause_s: float | None = None
    """The longest pause between ticks that a member tells of itself, since it started."""

    @property
    def longest_pause_s(self) -> float | None:
        """Return a bound of the longest pause between ticks; None: ticks were never seen.

        It is the longest time for which no further tick was seen, which a slow answer of `/metrics` makes longer; or
        what the member tells, which is none of this time alone, and nothing of the time without a leader.
        """
        seen = [at for at, _ in self.ticks]
        longest = max((later - earlier for earlier, later in pairwise(seen)), default=None)
        if longest is None or self.told_pause_s is None or len(set(self.terms)) > 1:
            return longest
        return min(longest, self.told_pause_s)


def p99(values: list[float]) -> float | None:
    """Return the 99th percentile; of few, the greatest."""
    if len(values) < 2:
        return values[0] if values else None
    return statistics.quantiles(values, n=100, method="inclusive")[98]


class Looking:
    """Look at the member whose HTTP and gRPC are on these ports, as process `pid`, from an address of its own; and at
    the `others`' HTTP ports for ticks and terms, since another one may come to lead."""

    def __init__(self, http_port: int, grpc_port: int, pid: int, address: str, others: Sequence[int]) -> None:
        self._http_port = http_port
        self._ticks: dict[int, float] = {}  # by HTTP port, the last that were told
        self._address = (address, 0)
        self._process = psutil.Process(pid)
        self._channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}", options=[("grpc.enable_http_proxy", 0)])
        self._look = Look()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._again, args=(once, every_s), daemon=True)
            for once, every_s in (
                (self._probe, _PROBE_EVERY_S),
                (self._write, _WRITE_EVERY_S),
                (self._measure, _LOOK_EVERY_S),
                *((partial(self._count_ticks, port), _LOOK_EVERY_S) for port in (http_port, *others)),
            )
        ]

    def __enter__(self) -> Looking:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._channel.close()

    def during(self, seconds: float, enough: threading.Event | None = None) -> Look:
        """Return what is seen from now on, for so long, or until it is `enough`."""
        self._look = look = Look()
        (enough or threading.Event()).wait(seconds)
        self._look = Look()
        return look

    def _again(self, once: Callable[[Look], None], every_s: float) -> None:
        while not self._ended.wait(every_s):
            once(self._look)

    def _probe(self, look: Look) -> None:
        began = time.monotonic()
        try:
            if self._get(self._http_port, "/healthz") != b"alive\n":
                look.probe_failures += 1
        except (OSError, http.client.HTTPException):
            look.probe_failures += 1
        look.probes_s.append(time.monotonic() - began)

    def _write(self, look: Look) -> None:
        tenant = federation_pb2.Tenant(name="flood", owner="bench", description=str(time.monotonic_ns()))
        change = federation_pb2.FederationChange(put=federation_pb2.FederationEntry(tenant=tenant))
        began = time.monotonic()
        try:
            federation_pb2_grpc.FederationStub(self._channel).ChangeFederation(
                federation_pb2.ChangeFederationRequest(changes=[change]), timeout=_WRITE_TIMEOUT_S
            )
        except grpc.RpcError:
            look.write_failures += 1
        look.writes_s.append(time.monotonic() - began)

    def _measure(self, look: Look) -> None:
        look.rss_mb.append(self._process.memory_info().rss / 1e6)

    def _count_ticks(self, port: int, look: Look) -> None:
        try:
            page = self._get(port, "/metrics").decode()
        except (OSError, http.client.HTTPException):
            return
        values = {
            sample.name: sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.labels.get("loop", "executor") == "executor"
        }
        if "guardian_raft_term" in values:
            look.terms.append(int(values["guardian_raft_term"]))
        if _TICKS not in values:
            return
        with self._lock:
            self._ticks[port] = values[_TICKS]
            look.told_pause_s = max(look.told_pause_s or 0.0, values[_PAUSE])
            ticks = sum(self._ticks.values())
            if not look.ticks or look.ticks[-1][1] != ticks:
                look.ticks.append((time.monotonic(), ticks))

    def _get(self, port: int, path: str) -> bytes:
        with ExitStack() as stack:
            connection = http.client.HTTPConnection(
                "127.0.0.1", port, timeout=_PROBE_TIMEOUT_S, source_address=self._address
            )
            stack.callback(connection.close)
            connection.request("GET", path, headers={"Connection": "close"})
            return connection.getresponse().read()
