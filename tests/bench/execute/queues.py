"""A fleet of queues, seeded: what clients feel while replicas are copied at the rates that somebody sets.

    clients ──Poisson──▶ ┐
    copies read here ──▶ ├─ one FIFO server a broker: its disk ─▶ latency of each client request
    copies written here ▶ ┘
    a line between two IDCs: clients' share first, the copies get what is left

A copy is a stream of chunks. Latencies are exact for the queue (Lindley's recursion over all arrivals of a second), not
of a formula: they grow as 1 / (1 - load), and noise is that of random arrivals. Arrivals and service times of clients
come from the seed alone, so that two runs differ in the copies and in nothing else.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SERVICE_S = 0.004  # a client's request: a seek and a little reading
BYTES_PER_S = 150e6  # what a disk copies when it does nothing else
CHUNK_BYTES = 500_000
P99_MEMORY_S = 60  # Kafka's p99 remembers some minutes


@dataclass(frozen=True, slots=True)
class Load:
    """A broker's clients: the share of its disk that they take, and what it becomes from second `rises_at` on."""

    share: float
    rises_at: int = 1 << 30
    risen: float = 0.0

    def at(self, second: int) -> float:
        return self.risen if second >= self.rises_at else self.share


@dataclass(slots=True)
class Move:
    """A replica on its way."""

    number: int
    source: int
    destination: int
    left: float
    size: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """`lines` are (IDC, IDC) to bytes/s that clients leave free, by second."""

    loads: Sequence[Load]
    idcs: Sequence[str]
    seed: int
    lines: Mapping[tuple[str, str], Callable[[int], float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Second:
    """Of one broker: latencies of its clients' requests (ms), the share of time that its disk was busy, the mean time
    of any request at the disk (ms), and the bytes copied in and out."""

    latencies: Floats
    busy: float
    await_ms: float
    operations: int
    copied: float


Rates = Mapping[int, tuple[float, float]]  # by broker, bytes/s out and in


class Simulation:
    """Second by second: the rates of the moves, then what each disk does."""

    def __init__(self, fleet: Fleet, moves: Sequence[Move] = (), begin: int = 0) -> None:
        self.fleet = fleet
        self.moves = [Move(m.number, m.source, m.destination, m.size, m.size) for m in moves]
        self.second = begin
        self._rngs = [np.random.default_rng((fleet.seed, broker)) for broker in range(len(fleet.loads))]
        self._chunks = np.random.default_rng((fleet.seed, 1 << 20))
        self._free_at = np.full(len(fleet.loads), float(begin))
        self.over_line: dict[tuple[str, str], float] = {}

    def step(self, active: Sequence[Move], rates: Rates | None) -> list[Second]:
        """One second. Without rates moves go as fast as disks let them."""
        flows = self._flows(active, rates)
        read, written = np.zeros(len(self._rngs)), np.zeros(len(self._rngs))
        for move in active:
            moved = min(move.left, flows[move.number])
            move.left -= moved
            read[move.source] += moved
            written[move.destination] += moved
        seconds = [self._disk(broker, read[broker] + written[broker]) for broker in range(len(self._rngs))]
        self.second += 1
        return seconds

    def _flows(self, active: Sequence[Move], rates: Rates | None) -> dict[int, float]:
        """Each broker's rate is divided among its moves; what a disk can't take, and a line, holds back as well."""
        leaving: dict[int, int] = {}
        entering: dict[int, int] = {}
        crossing: dict[tuple[str, str], list[int]] = {}
        for move in active:
            leaving[move.source] = leaving.get(move.source, 0) + 1
            entering[move.destination] = entering.get(move.destination, 0) + 1
            ends = self.fleet.idcs[move.source], self.fleet.idcs[move.destination]
            if ends[0] != ends[1]:
                crossing.setdefault(ends, []).append(move.number)
        flows: dict[int, float] = {}
        for move in active:
            out, into = (
                (rates or {}).get(move.source, (BYTES_PER_S, 0.0))[0],
                (rates or {}).get(move.destination, (0.0, BYTES_PER_S))[1],
            )
            room = [
                max(0.02, 1 - self.fleet.loads[broker].at(self.second)) * BYTES_PER_S
                for broker in (move.source, move.destination)
            ]
            shares = leaving[move.source], entering[move.destination]
            working = [leaving.get(broker, 0) + entering.get(broker, 0) for broker in (move.source, move.destination)]
            flows[move.number] = min(
                out / shares[0], into / shares[1], room[0] / max(1, working[0]), room[1] / max(1, working[1])
            )
        self.over_line = {}
        for ends, numbers in crossing.items():
            asked = sum(flows[number] for number in numbers)
            left = self.fleet.lines[ends](self.second) if ends in self.fleet.lines else asked
            for number in numbers:
                flows[number] *= min(1.0, left / asked) if asked else 1.0
            self.over_line[ends] = sum(flows[number] for number in numbers)
        return flows

    def _disk(self, broker: int, copied: float) -> Second:
        rng = self._rngs[broker]
        count = rng.poisson(self.fleet.loads[broker].at(self.second) / SERVICE_S)
        arrivals = np.sort(rng.random(count)) + self.second
        services = rng.exponential(SERVICE_S, count)
        chunks = math.ceil(copied / CHUNK_BYTES)
        if chunks:
            arrivals = np.concatenate([arrivals, np.sort(self._chunks.random(chunks)) + self.second])
            services = np.concatenate([services, np.full(chunks, copied / chunks / BYTES_PER_S)])
        if not len(arrivals):
            return Second(np.zeros(0), 0.0, 0.0, 0, 0.0)
        order = np.argsort(arrivals, kind="stable")
        arrived, served = arrivals[order], services[order]
        total = np.cumsum(served)
        # Completion of the n-th: max over k <= n of (start of the k-th) + what is served from there on.
        starts = np.maximum.accumulate(np.maximum(arrived, self._free_at[broker]) - (total - served))
        ends = starts + total
        self._free_at[broker] = ends[-1]
        sojourns = (ends - arrived) * 1000
        clients = np.empty(len(arrivals), bool)
        clients[:] = order < count
        busy = min(1.0, float(served.sum()))
        return Second(sojourns[clients], busy, float(sojourns.mean()), len(arrivals), copied)


class Watched:
    """What a reporter would count of a broker: totals, and a p99 that remembers."""

    def __init__(self) -> None:
        self.busy_ms = 0.0
        self.operations = 0
        self.operation_ms = 0.0
        self.requests = 0
        self.request_ms = 0.0
        self.copied = 0.0
        self._recent: deque[Floats] = deque(maxlen=P99_MEMORY_S)

    def count(self, second: Second) -> None:
        self.busy_ms += second.busy * 1000
        self.operations += second.operations
        self.operation_ms += second.await_ms * second.operations
        self.requests += len(second.latencies)
        self.request_ms += float(second.latencies.sum())
        self.copied += second.copied
        self._recent.append(second.latencies)

    @property
    def p99_ms(self) -> float:
        recent = np.concatenate(self._recent) if self._recent else np.zeros(0)
        return float(np.percentile(recent, 99)) if len(recent) else 0.0
