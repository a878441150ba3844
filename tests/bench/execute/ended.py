"""An executor's tick beside 50,000 tickets that have ended, over one with none of them.

Two stores as a member has them (RocksDB, the state machine, Raft in memory), each with one ticket under way on a fake
cluster of its own; one has the ended tickets besides, each of which went the usual way with a plan and an execution.
The two drivers tick in turn, so that both meet the same machine. Guardian itself would have trimmed most of them: the
figure shows that the executor's work does not grow with what is kept.

`tick_50k_ms`  the median of the ticks, ours with the ended tickets, the peer's without
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.kafka.fake import FakeKafka
from guardian.member.garbage import collect_rarely
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from raft.inmem import InMemoryReplica
from tests.bench.report import BenchFailed, Figures

ENDED = 50_000
_TICKS = 200
_WARM_UP = 20
_MOVES = 300
_BROKERS = 10
_SIZE_BYTES = 500_000_000
_THROTTLE = 1_000_000
_CLUSTER = "live"

Tell = Callable[[str], None]


def measured(tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Return the figure. Raises BenchFailed where the ticket under way is over before all is measured."""
    collect_rarely()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        tell(f"{ENDED:,} tickets are made and ended")
        beside = stack.enter_context(_member(Path(folder) / "beside", ENDED))
        alone = stack.enter_context(_member(Path(folder) / "alone", 0))
        tell(f"{_TICKS} ticks of each in turn")
        for _ in range(_WARM_UP):
            beside.tick_ms()
            alone.tick_ms()
        pairs = [(beside.tick_ms(), alone.tick_ms()) for _ in range(_TICKS)]
        for each in (beside, alone):
            each.require_under_way()
    ours, peer = (statistics.median(column) for column in zip(*pairs, strict=True))
    tell(f"median tick: {ours:.2f} ms beside {ENDED:,} ended tickets, {peer:.2f} ms without")
    how = f"medians of {_TICKS} ticks in turn, {_MOVES} moves under way, {ENDED:,} ended tickets in RocksDB"
    return {"tick_50k_ms": Figures(ours, peer, how)}, {"ticks_ms": pairs}


@dataclass(frozen=True, slots=True)
class _Member:
    driver: Driver
    kafka: FakeKafka
    store: ReplicatedStore

    def tick_ms(self) -> float:
        self.kafka.advance()
        began = time.perf_counter()
        self.driver.tick()
        return (time.perf_counter() - began) * 1000

    def require_under_way(self) -> None:
        driven = self.store.read().driven_tickets()
        execution = self.store.read().execution(driven[0].id) if driven else None
        if execution is None or all(task.state is not TaskState.RUNNING for task in execution.tasks):
            raise BenchFailed("the ticket is not under way at the end: the ticks are not those of one that moves")


@contextmanager
def _member(path: Path, ended: int) -> Iterator[_Member]:
    kafka = _kafka()
    with closing(RocksDbStore(path)) as rocksdb:
        machine = MetastoreStateMachine(rocksdb)
        store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: kafka.now_ms)
        store.put_cluster(cluster_to_proto(Cluster(_CLUSTER, "127.0.0.1:9092", kafka.cluster_id)))
        for number in range(ended):
            _end(store, number)
        _approve(store, _plan(0, _MOVES), "t-under-way")
        driver = Driver(
            DriverPorts(ReplicatedExecutionStore(store), lambda _: kafka),
            DriverClocks(lambda: kafka.now_ms),
            DriverSettings(tiered_warm_up_s=0.0),
        )
        try:
            yield _Member(driver, kafka, store)
        finally:
            driver.close()


def _kafka() -> FakeKafka:
    ids = range(1, _BROKERS + 1)
    kafka = FakeKafka({broker: f"rack{broker % 3}" for broker in ids}, dict.fromkeys(ids, ("/d0",)))
    kafka.create_topic("t", {number: _replicas(number) for number in range(_MOVES)}, _SIZE_BYTES)
    return kafka


def _replicas(number: int) -> list[int]:
    return [number % _BROKERS + 1, (number + 1) % _BROKERS + 1]


def _plan(first: int, moves: int) -> Plan:
    return Plan(_CLUSTER, "run-plan", tuple(_move(number) for number in range(first, first + moves)))


def _move(number: int) -> PartitionMove:
    first, second = _replicas(number)
    target = (number + 3) % _BROKERS + 1
    return PartitionMove(
        TopicPartition("t", number),
        (ReplicaPlacement(first, "/d0"), ReplicaPlacement(second, "/d0")),
        (ReplicaPlacement(target), ReplicaPlacement(second, "/d0")),
        _SIZE_BYTES,
    )


def _approve(store: ReplicatedStore, plan: Plan, ticket_id: str) -> None:
    digest = store.put_plan(plan)
    now_ms = store.now_ms()
    store.add_ticket(
        Ticket(ticket_id, _CLUSTER, plan.kind, TicketState.PENDING, "ann", digest, _THROTTLE, now_ms, now_ms, ())
    )
    _advance(store, ticket_id, TicketState.PENDING, TicketState.APPROVED)


def _end(store: ReplicatedStore, number: int) -> None:
    ticket_id = f"t-ended-{number}"
    plan = _plan(_MOVES + number, 1)
    _approve(store, plan, ticket_id)
    execution = Execution(ticket_id, (ExecutionTask(1, plan.moves[0], TaskState.DONE),))
    _advance(store, ticket_id, TicketState.APPROVED, TicketState.RUNNING, execution)
    _advance(store, ticket_id, TicketState.RUNNING, TicketState.SUCCEEDED)


def _advance(
    store: ReplicatedStore, ticket_id: str, before: TicketState, after: TicketState, execution: Execution | None = None
) -> None:
    transition = TicketTransition(after, store.now_ms(), "ann", "as usual")
    store.advance(ticket_id, before, transition, execution, 0)
