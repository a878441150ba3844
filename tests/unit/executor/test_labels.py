"""Brokers have their label before a ticket that isolates it has succeeded, whatever fails meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from guardian.core.labelling import ISOLATE_LABEL
from guardian.errors import Unavailable
from guardian.executor.driver import Driver
from guardian.executor.memory import MemoryExecutionStore
from guardian.kafka.fake import FakeKafka
from guardian.model.federation import Topic
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition

T0 = TopicPartition("t", 0)


class Labels:
    """The federation's labels; the first change may fail."""

    def __init__(self, failures: int = 0, topics: tuple[Topic, ...] = ()) -> None:
        self.failures = failures
        self.of_brokers = {1: "", 2: "", 7: ""}
        self.of_topics = {topic.name: topic for topic in topics}
        self.put: list[tuple[str, Mapping[int, str]]] = []

    def broker_labels(self, _cluster: str) -> Mapping[int, str]:
        return self.of_brokers

    def topics(self, _cluster: str) -> Sequence[Topic]:
        return tuple(self.of_topics.values())

    def set_broker_labels(self, cluster: str, labels: Mapping[int, str]) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("no leader")
        self.put.append((cluster, labels))
        self.of_brokers |= labels

    def set_topic_labels(self, cluster: str, labels: Mapping[str, str]) -> None:
        for name, label in labels.items():
            self.of_topics[name] = replace(self.of_topics.get(name, Topic(cluster, name)), label=label)


def run(
    labels: Labels, settings: tuple[tuple[str, str], ...], kind: str = ISOLATE_LABEL, *, and_back: bool = False
) -> TicketState:
    kafka = FakeKafka(dict.fromkeys((1, 2, 7), "rack"), {b: (f"/b{b}",) for b in (1, 2, 7)})
    kafka.create_topic("t", {0: [1, 2]}, 1000)
    kafka.create_topic("other", {0: [2]}, 1000)
    move = PartitionMove(T0, tuple(map(ReplicaPlacement, (1, 2))), tuple(map(ReplicaPlacement, (7, 2))))
    store = MemoryExecutionStore()
    ticket = Ticket("t-1", "live", kind, TicketState.APPROVED, "ann", "h", 0, 0, 0)
    store.put(ticket, Plan("live", kind, (move,), settings=settings))
    driver = Driver(store, lambda _: kafka, now_ms=lambda: kafka.now_ms, labels=labels)

    def ticked_until(end: TicketState) -> None:
        for _ in range(30):
            driver.tick()
            if store.ticket("t-1").state is end:
                break
            assert not labels.put or labels.failures == 0

    ticked_until(TicketState.SUCCEEDED)
    if and_back:
        execution = store.execution("t-1")
        assert execution is not None
        back = TicketTransition(TicketState.ROLLING_BACK, 0, "ann", "")
        store.advance("t-1", TicketState.SUCCEEDED, back, execution, execution.revision)
        ticked_until(TicketState.ROLLED_BACK)
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


def test_the_topics_that_a_plan_names_get_the_label_and_others_keep_theirs() -> None:
    labels = Labels(topics=(Topic("live", "t", owner="ann"), Topic("live", "other", label="green")))
    assert run(labels, (("label", "gold"), ("brokers", "7"), ("topics", "t"))) is TicketState.SUCCEEDED
    assert labels.of_topics["t"] == Topic("live", "t", owner="ann", label="gold")
    assert labels.of_topics["other"].label == "green"


@pytest.mark.parametrize(
    "settings",
    [(("label", "gold"), ("brokers", "7"), ("topics", "t")), (("label", "gold"), ("release", "1"), ("topics", "t"))],
)
def test_rolled_back_all_labels_are_as_before(settings: tuple[tuple[str, str], ...]) -> None:
    labels = Labels()
    labels.of_brokers[1] = "gold" if ("release", "1") in settings else ""
    before = dict(labels.of_brokers)
    assert run(labels, settings, and_back=True) is TicketState.ROLLED_BACK
    assert len(labels.put) == 2
    assert labels.of_brokers == before
    assert labels.of_topics["t"].label == ""
