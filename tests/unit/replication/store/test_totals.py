"""Totals are counted once in a while, whoever asks how often, and never by two threads at once."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast

from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.replication.store.totals import Moves, Recounted, Totals, count_moves, count_partitions
from metastore import segment_keys as sk
from metastore.keys import PartitionId
from metastore.memory import MemoryStore
from metastore.tables.partition_heads import Head
from metastore.views import Views
from tests.patience import PATIENCE_S


class Store:
    """Partitions, a clock, and how often they were counted."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.now = 100.0
        self.counts = 0
        self.may_count = threading.Event()
        self.may_count.set()
        self.totals = Recounted(lambda: count_partitions(self._read().snapshot), 60.0, lambda: self.now)

    def _read(self) -> Views:
        self.counts += 1
        assert self.may_count.wait(PATIENCE_S)
        return Views(self.store)

    def put(self, number: int, head: Head) -> None:
        key = sk.HEAD + sk.partition(PartitionId("c", b"T" * 16, number))
        self.store.write([(key, head.to_bytes())], self.store.applied_index + 1)


def test_what_is_stored_is_summed_up() -> None:
    store = Store()
    assert store.totals.read() == (Totals(), 0.0)
    store.now += 60
    store.put(0, Head(live_segments=2, live_bytes=50, swept_segments=1, swept_bytes=7))
    store.put(1, Head(live_segments=3, live_bytes=60))
    store.put(2, Head(is_deleted=True, swept_segments=4, swept_bytes=9))
    assert store.totals.read() == (Totals(2, 5, 110, 5, 16), 0.0)


def test_a_count_is_used_until_it_is_old() -> None:
    store = Store()
    store.totals.read()
    store.put(0, Head(live_segments=1))
    for age_s in (0.0, 30.0, 59.0):
        store.now = 100 + age_s
        assert store.totals.read() == (Totals(), age_s)
    assert store.counts == 1
    store.now = 160.0
    assert store.totals.read() == (Totals(1, 1), 0.0)
    assert store.counts == 2


def test_who_asks_while_another_thread_counts_gets_the_last_count() -> None:
    store = Store()
    store.totals.read()
    store.put(0, Head(live_segments=1))
    store.now += 70
    store.may_count.clear()
    counting = threading.Thread(target=store.totals.read)
    counting.start()
    while store.counts < 2:
        assert counting.is_alive()
    assert store.totals.read() == (Totals(), 70.0)
    store.may_count.set()
    counting.join(PATIENCE_S)
    assert store.totals.read() == (Totals(1, 1), 0.0)
    assert store.counts == 2


def test_moves_of_the_tickets_that_run_are_counted_with_the_bytes_that_they_still_copy() -> None:
    old, new = (ReplicaPlacement(1),), (ReplicaPlacement(2),)
    states = (TaskState.PENDING, TaskState.RUNNING, TaskState.DONE, TaskState.REVERTING)
    tasks = tuple(
        ExecutionTask(i, PartitionMove(TopicPartition("t", i), old, new, size_bytes=10), state)
        for i, state in enumerate(states)
    )
    executions = {"a": Execution("a", tasks), "not begun": None}
    tickets = [Ticket(name, "live", "balance", TicketState.RUNNING, "ann", "hash", 1, 1, 1) for name in executions]
    views = SimpleNamespace(driven_tickets=lambda: tickets, execution=executions.get)
    counted = count_moves(cast(Views, views), 5)
    assert counted == Moves(dict.fromkeys(states, 1), 20, counted.tickets)
    assert [found.ticket.id for found in counted.tickets] == ["a", "not begun"]
    assert counted.tickets[0].progress.copied_bytes == 10
