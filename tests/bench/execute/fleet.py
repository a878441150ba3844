"""10,000 moves on 20 simulated clusters, side by side: what they cost the leader.

One driver as a member runs it, 20 fake clusters of 10 brokers in two IDCs, a ticket of 500 moves on each. Rates adapt
at each tick to what all brokers at work count by then, and to a limit of the lines between the IDCs. The store is in
memory and nothing goes over a network, so the figures are those of reading, deciding and sending, without Raft's and
gRPC's. The clusters' own work happens in the same process, and is measured apart (CPU of the calling thread, in each
call) and left out.

`tick_ms`      a tick, 99 % of them: its wall time without the clusters' CPU, which shares its core. A tick comes to as
               many clusters as its time allows; one that waits longer than 2 s for its turn makes the figure void
`exec_cores`   CPU of the driver per second, at the pauses that the leader's loop makes between ticks
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from guardian.execution.loop.around import LiveSurroundings
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.fake import FakeKafka
from guardian.member.garbage import collect_rarely
from guardian.member.loop import pause_after
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.throttle.model import FETCH, PRODUCE, BrokerCounters, DiskCounters, NicCounters, RequestCounters
from guardian.throttle.rules.adapting import ThrottleSettings
from guardian.tickets.rules.validating import resolve
from tests.bench.report import BenchFailed, Figures
from tests.memory_execution import MemoryExecutionStore

_CLUSTERS = 20
_BROKERS = 10
_MOVES = 500
_BYTES = 20_000_000
_THROTTLE = 50_000_000
_IDCS = ("shanghai", "suzhou")
_LINE = 1e9  # bytes/s that moves may take of a line
_USE = 0.3  # of a disk and an interface, in clients' hands
_MS_PER_REQUEST = 2.0
_NIC_BITS_PER_S = 10_000_000_000
_INTERVAL_S = 1.0  # of the leader's loop
_TURN_S = 2.0  # a cluster's tickets are looked at as often
_MAX_TICKS = 1000
_READS = 5  # of a cluster in a tick: each lets the cluster's time pass, which it does between ticks here

Tell = Callable[[str], None]


def measured(tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Both figures. Raises BenchFailed when a ticket does not end as it should."""
    tell(f"{_CLUSTERS} clusters of {_BROKERS} brokers, {_MOVES} moves on each")
    store = MemoryExecutionStore()
    theirs = _Theirs()
    clusters = {f"live-{number}": _cluster(f"live-{number}", store, theirs) for number in range(_CLUSTERS)}
    now_ms = clusters["live-0"].kafka
    driver = Driver(
        DriverPorts(
            store,
            lambda name: clusters[name].admin,
            surroundings=LiveSurroundings(
                _registered, _Reporters(lambda: now_ms.now_ms), ThrottleSettings(), _lines, lambda: now_ms.now_ms
            ),
        ),
        DriverClocks(lambda: now_ms.now_ms, elapsed_s=lambda: time.perf_counter() - theirs.cpu_s),
        DriverSettings(tiered_warm_up_s=0.0),
    )
    collect_rarely()
    try:
        ticks = _run(driver, store, list(clusters.values()), theirs)
    finally:
        driver.close()
    _require_done(store, clusters)
    own_ms = sorted(tick.own_s * 1000 for tick in ticks)
    cores = sum(tick.cpu_s for tick in ticks) / sum(tick.period_s for tick in ticks)
    slowest = own_ms[min(len(own_ms) - 1, int(len(own_ms) * 0.99))]
    waited_s = max(_waits(ticks))
    tell(f"{len(ticks)} ticks: p99 {slowest:.0f} ms, {cores:.2f} cores; no cluster waited longer than {waited_s:.1f} s")
    fault = f"a cluster waited {waited_s:.1f} s for its turn" if waited_s > _TURN_S else ""
    how = f"{_CLUSTERS} clusters x {_MOVES} moves, {len(ticks)} ticks, each cluster's turn within {waited_s:.1f} s"
    details = {
        "ticks": [
            [round(t.wall_s, 4), round(t.own_s, 4), round(t.cpu_s, 4), round(t.period_s, 4), len(t.clusters)]
            for t in ticks
        ],
        "columns": ["wall s", "wall s without the clusters", "CPU s of the driver", "s until the next", "clusters"],
        "longest_wait_s": waited_s,
    }
    return {"tick_ms": Figures(slowest, None, how, fault), "exec_cores": Figures(cores, None, how, fault)}, details


@dataclass(frozen=True, slots=True)
class _Tick:
    """Seconds: the whole of it, without the clusters' work, CPU without theirs, and until the next one begins; the
    clusters that had their turn, and those that had tickets to drive."""

    wall_s: float
    own_s: float
    cpu_s: float
    period_s: float
    clusters: frozenset[str]
    driven: frozenset[str]


class _Theirs:
    """CPU that the simulated clusters took, and which of them were asked in this tick."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.cpu_s = 0.0
        self.asked: set[str] = set()

    def add(self, cluster: str, cpu_s: float) -> None:
        with self._lock:
            self.cpu_s += cpu_s
            self.asked.add(cluster)


class _Still(FakeKafka):
    """A cluster whose time passes between two ticks, not while it is read."""

    def advance(self) -> None:
        pass

    def live(self) -> None:
        for _ in range(_READS):
            super().advance()


class _Metered:
    """A cluster's admin, which counts the CPU that the simulated cluster takes."""

    def __init__(self, kafka: FakeKafka, theirs: _Theirs) -> None:
        self._kafka = kafka
        self._theirs = theirs

    def __getattr__(self, name: str) -> Callable[..., object]:
        function = getattr(self._kafka, name)

        def call(*args: object, **kwargs: object) -> object:
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self._theirs.add(self._kafka.cluster_id, time.thread_time() - began)

        return call


@dataclass(frozen=True, slots=True)
class _Cluster:
    kafka: _Still
    meter: _Metered

    @property
    def admin(self) -> KafkaAdmin:
        return self.meter  # type: ignore[return-value]  # it has what the cluster has


class _Reporters:
    """Every broker is as busy at any time: the figures are what adapting costs, not where rates end."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms

    def ask(self, brokers: Sequence[Broker]) -> Callable[[], list[BrokerCounters]]:
        return lambda: [_counted(broker.id, self._now_ms()) for broker in brokers]


def _counted(broker: int, now_ms: int) -> BrokerCounters:
    carried = round(_USE * _NIC_BITS_PER_S / 8 * now_ms / 1000)
    requests = RequestCounters(now_ms, _MS_PER_REQUEST, 5 * _MS_PER_REQUEST)
    return BrokerCounters(
        broker,
        now_ms,
        started_at_ms=1,
        disks={disk: DiskCounters(round(_USE * now_ms), now_ms, now_ms) for disk in ("sda", "sdb")},
        nics={"eth0": NicCounters(carried, carried, _NIC_BITS_PER_S)},
        requests=dict.fromkeys((PRODUCE, FETCH), requests),
    )


def _registered(name: str) -> Cluster:
    brokers = tuple(Broker(n, idc=_IDCS[n % 2], reporter=f"127.0.0.1:{n}") for n in range(1, _BROKERS + 1))
    return Cluster(name, "127.0.0.1:9092", brokers=brokers)


def _lines() -> dict[tuple[str, str], float]:
    return {_IDCS: _LINE, _IDCS[::-1]: _LINE}


def _cluster(name: str, store: MemoryExecutionStore, theirs: _Theirs) -> _Cluster:
    """A cluster with its approved ticket: each partition's first replica goes three brokers on."""
    ids = range(1, _BROKERS + 1)
    log_dirs = {broker: (f"/b{broker}/d0", f"/b{broker}/d1") for broker in ids}
    kafka = _Still({broker: f"rack{broker % 3}" for broker in ids}, log_dirs, cluster_id=name)
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
    return _Cluster(kafka, _Metered(kafka, theirs))


def _run(driver: Driver, store: MemoryExecutionStore, clusters: list[_Cluster], theirs: _Theirs) -> list[_Tick]:
    ticks: list[_Tick] = []
    while driven := store.driven_tickets():
        if len(ticks) == _MAX_TICKS:
            raise BenchFailed(f"the tickets were not over after {_MAX_TICKS} ticks: {driver.tick()[:1]}")
        for cluster in clusters:
            cluster.kafka.live()
        theirs.asked.clear()
        theirs_s = theirs.cpu_s
        began, began_cpu = time.perf_counter(), time.process_time()
        driver.tick()
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
        theirs_s = theirs.cpu_s - theirs_s
        own_s = max(wall_s - theirs_s, 0.0)
        pause_s = pause_after(own_s, _INTERVAL_S, has_more=driver.has_more())
        cpu_s = max(cpu_s - theirs_s, 0.0)
        waiting = frozenset(ticket.cluster for ticket in driven)
        ticks.append(_Tick(wall_s, own_s, cpu_s, own_s + pause_s, frozenset(theirs.asked), waiting))
    return ticks


def _waits(ticks: list[_Tick]) -> list[float]:
    """Seconds from one turn of a cluster to its next, of all clusters as long as they have tickets."""
    now_s, waits = 0.0, []
    last_s: dict[str, float] = {}
    for tick in ticks:
        for cluster in tick.clusters & tick.driven:
            waits.append(now_s - last_s.get(cluster, 0.0))
            last_s[cluster] = now_s
        now_s += tick.period_s
    return waits


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
