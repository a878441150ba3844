"""10,000 moves on 20 simulated clusters, side by side: what they cost the leader.

One driver as a member runs it, 20 fake clusters of 10 brokers, a ticket of 500 moves on each; the store is in memory,
so the figures are those of reading, deciding and sending, without Raft's. The clusters' own work happens in the same
process, and is measured apart (CPU of the calling thread, in each call) and left out.

`tick_ms`      a tick over all clusters, 99 % of them: its wall time without the clusters' CPU, which shares its core
`exec_cores`   CPU of the driver per second, at the pauses that the leader's loop makes between ticks
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guardian.core.slots import ExecutionLimits
from guardian.core.validating import resolve
from guardian.executor.driver import Driver
from guardian.executor.memory import MemoryExecutionStore
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.fake import FakeKafka
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.server.loop import pause_after
from tests.bench.report import BenchFailed, Figures

_CLUSTERS = 20
_BROKERS = 10
_MOVES = 500
_BYTES = 20_000_000
_THROTTLE = 50_000_000
_INTERVAL_S = 1.0  # of the leader's loop
_MAX_TICKS = 400

Tell = Callable[[str], None]


def measured(tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Both figures. Raises BenchFailed when a ticket does not end as it should."""
    tell(f"{_CLUSTERS} clusters of {_BROKERS} brokers, {_MOVES} moves on each")
    store = MemoryExecutionStore()
    clusters = {f"live-{number}": _cluster(f"live-{number}", store) for number in range(_CLUSTERS)}
    now_ms = clusters["live-0"].kafka
    driver = Driver(
        store,
        lambda name: clusters[name].admin,
        ExecutionLimits(),
        now_ms=lambda: now_ms.now_ms,
        tiered_warm_up_s=0.0,
    )
    try:
        ticks = _run(driver, store, list(clusters.values()))
    finally:
        driver.close()
    _require_done(store, clusters)
    own_ms = sorted(tick.own_s * 1000 for tick in ticks)
    cores = sum(tick.cpu_s for tick in ticks) / sum(tick.period_s for tick in ticks)
    slowest = own_ms[min(len(own_ms) - 1, int(len(own_ms) * 0.99))]
    tell(f"{len(ticks)} ticks: p99 {slowest:.0f} ms, {cores:.2f} cores")
    how = f"{_CLUSTERS} clusters x {_MOVES} moves, {len(ticks)} ticks"
    details = {
        "ticks": [[round(t.wall_s, 4), round(t.own_s, 4), round(t.cpu_s, 4), round(t.period_s, 4)] for t in ticks],
        "columns": ["wall s", "wall s without the clusters", "CPU s of the driver", "s until the next tick"],
    }
    return {"tick_ms": Figures(slowest, None, how), "exec_cores": Figures(cores, None, how)}, details


@dataclass(frozen=True, slots=True)
class _Tick:
    """Seconds: the whole of it, without the clusters' work, CPU without theirs, and until the next one begins."""

    wall_s: float
    own_s: float
    cpu_s: float
    period_s: float


class _Metered:
    """A cluster's admin, which counts the CPU that the simulated cluster takes."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka
        self._lock = threading.Lock()
        self.cpu_s = 0.0

    def __getattr__(self, name: str) -> Callable[..., object]:
        function = getattr(self._kafka, name)

        def call(*args: object, **kwargs: object) -> object:
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                with self._lock:
                    self.cpu_s += time.thread_time() - began

        return call


@dataclass(frozen=True, slots=True)
class _Cluster:
    kafka: FakeKafka
    meter: _Metered

    @property
    def admin(self) -> KafkaAdmin:
        return self.meter  # type: ignore[return-value]  # it has what the cluster has


def _cluster(name: str, store: MemoryExecutionStore) -> _Cluster:
    """A cluster with its approved ticket: each partition's first replica goes three brokers on."""
    ids = range(1, _BROKERS + 1)
    log_dirs = {broker: (f"/b{broker}/d0", f"/b{broker}/d1") for broker in ids}
    kafka = FakeKafka({broker: f"rack{broker % 3}" for broker in ids}, log_dirs, cluster_id=name)
    placed = {number: [number % _BROKERS + 1, (number + 1) % _BROKERS + 1] for number in range(_MOVES)}
    kafka.create_topic("t", placed, _BYTES)
    moves = tuple(
        PartitionMove(
            TopicPartition("t", number),
            (),
            (ReplicaPlacement((number + 3) % _BROKERS + 1), ReplicaPlacement((number + 1) % _BROKERS + 1)),
        )
        for number in range(_MOVES)
    )
    now = kafka.peek()
    plan = resolve(Plan(name, "balance", moves), kafka.describe_cluster(), now.partitions, now.log_dirs, {})
    ticket_id = f"t-{name}"
    store.put(Ticket(ticket_id, name, "balance", TicketState.APPROVED, "ann", ticket_id, _THROTTLE, 0, 0), plan)
    return _Cluster(kafka, _Metered(kafka))


def _run(driver: Driver, store: MemoryExecutionStore, clusters: list[_Cluster]) -> list[_Tick]:
    ticks: list[_Tick] = []
    while store.driven_tickets():
        if len(ticks) == _MAX_TICKS:
            raise BenchFailed(f"the tickets were not over after {_MAX_TICKS} ticks: {driver.tick()[:1]}")
        theirs_s = sum(cluster.meter.cpu_s for cluster in clusters)
        began, began_cpu = time.perf_counter(), time.process_time()
        driver.tick()
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
        theirs_s = sum(cluster.meter.cpu_s for cluster in clusters) - theirs_s
        own_s = max(wall_s - theirs_s, 0.0)
        pause_s = pause_after(own_s, _INTERVAL_S, has_acted=driver.has_acted())
        ticks.append(_Tick(wall_s, own_s, max(cpu_s - theirs_s, 0.0), own_s + pause_s))
    return ticks


def _require_done(store: MemoryExecutionStore, clusters: dict[str, _Cluster]) -> None:
    for name, cluster in clusters.items():
        ticket = store.ticket(f"t-{name}")
        now = cluster.kafka.peek()
        left = [resource for resource, values in now.configs.items() if any("throttled" in key for key in values)]
        if ticket.state is not TicketState.SUCCEEDED or now.reassignments or left:
            raise BenchFailed(
                f"the ticket of {name} is {ticket.state.name} with {len(now.reassignments)} reassignments and "
                f"throttles on {left[:3]}: {ticket.history[-1].reason}"
            )
