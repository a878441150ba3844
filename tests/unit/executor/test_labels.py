"""Brokers have their label before a ticket that isolates it has succeeded, whatever fails meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from guardian.core.labelling import ISOLATE_LABEL
from guardian.errors import Unavailable
from guardian.executor.driver import Driver
from guardian.executor.memory import MemoryExecutionStore
from guardian.kafka.fake import FakeKafka
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

T0 = TopicPartition("t", 0)


class Labels:
    """The federation's labels of brokers; the first call may fail."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.put: list[tuple[str, Mapping[int, str]]] = []

    def __call__(self, cluster: str, labels: Mapping[int, str]) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("no leader")
        self.put.append((cluster, labels))


def run(labels: Labels, settings: tuple[tuple[str, str], ...], kind: str = ISOLATE_LABEL) -> TicketState:
    kafka = FakeKafka(dict.fromkeys((1, 2, 7), "rack"), {b: (f"/b{b}",) for b in (1, 2, 7)})
    kafka.create_topic("t", {0: [1, 2]}, 1000)
    move = PartitionMove(T0, tuple(map(ReplicaPlacement, (1, 2))), tuple(map(ReplicaPlacement, (7, 2))))
    store = MemoryExecutionStore()
    ticket = Ticket("t-1", "live", kind, TicketState.APPROVED, "ann", "h", 0, 0, 0)
    store.put(ticket, Plan("live", kind, (move,), settings=settings))
    driver = Driver(store, lambda _: kafka, now_ms=lambda: kafka.now_ms, put_labels=labels)
    for _ in range(30):
        driver.tick()
        if store.ticket("t-1").state is TicketState.SUCCEEDED:
            break
        assert not labels.put or labels.failures == 0
    driver.close()
    return store.ticket("t-1").state


def test_a_broker_that_was_offered_and_is_used_gets_the_label() -> None:
    labels = Labels()
    assert run(labels, (("label", "gold"), ("brokers", "7, 8"))) is TicketState.SUCCEEDED
    assert labels.put == [("live", {7: "gold"})]


def test_a_broker_that_is_empty_by_now_loses_it() -> None:
    labels = Labels()
    assert run(labels, (("label", "gold"), ("release", "1"))) is TicketState.SUCCEEDED
    assert labels.put == [("live", {1: ""})]


def test_the_ticket_has_not_succeeded_before_the_labels_are_put() -> None:
    labels = Labels(failures=2)
    assert run(labels, (("label", "gold"), ("brokers", "7"))) is TicketState.SUCCEEDED
    assert labels.failures == 0
    assert labels.put == [("live", {7: "gold"})]


@pytest.mark.parametrize("kind", ["balance", "run-plan"])
def test_other_kinds_change_no_label(kind: str) -> None:
    labels = Labels()
    assert run(labels, (("label", "gold"), ("brokers", "7")), kind) is TicketState.SUCCEEDED
    assert labels.put == []
