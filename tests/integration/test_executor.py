"""The executor on real brokers: what the fake promises is true of Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from deploy.local.kafka_cluster import KafkaCluster
from guardian.core.ticketing import cancel
from guardian.core.validating import resolve
from guardian.executor.driver import Driver
from guardian.executor.memory import MemoryExecutionStore
from guardian.kafka import data
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.control import KafkaControl
from guardian.model.cluster_state import LogDir
from guardian.model.execution import TaskState
from guardian.model.plan import ANY_LOG_DIR, PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

pytestmark = pytest.mark.integration

DEADLINE_S = 120.0
TICK_S = 0.2
SIZE_BYTES = 12_000_000
# Kafka averages over ten seconds, so the first 10 x rate bytes pass at once: the rest must last for some ticks.
THROTTLE = 500_000
BROKERS = (1, 2, 3)


class Bench:
    """A real cluster, a store in memory, and a driver that is ticked by the test."""

    def __init__(self, kafka: KafkaCluster, control: KafkaControl, topic: str) -> None:
        self.cluster = kafka.to_cluster()
        self.control = control
        self.topic = topic
        self.store = MemoryExecutionStore()
        self.driver = Driver(self.store, lambda _: control, now_ms=lambda: time.time_ns() // 1_000_000)
        self.said: list[str] = []

    def create_topic(self, *replicas: tuple[int, ...]) -> None:
        """With so many bytes in each partition that a throttled copy lasts for some ticks."""
        data.create_topics(self.cluster, {self.topic: dict(enumerate(replicas))}, {})
        producer = data.producer(self.cluster, acks="all", linger_ms=50)
        for number in range(len(replicas)):
            for _ in range(SIZE_BYTES // 10_000):
                producer.produce(self.topic, bytes(10_000), partition=number)
                producer.poll(0)
        assert producer.flush(DEADLINE_S) == 0

    def partition(self, number: int) -> TopicPartition:
        return TopicPartition(self.topic, number)

    def move(self, number: int, *target: ReplicaPlacement, write_rate: float = 0.0) -> PartitionMove:
        return PartitionMove(self.partition(number), (), target, write_rate=write_rate)

    def log_dirs(self) -> tuple[LogDir, ...]:
        return self.control.describe_log_dirs(BROKERS)

    def log_dir_of(self, number: int, broker: int) -> str:
        partition = self.partition(number)
        return next(d.path for d in self.log_dirs() if d.broker == broker and partition in d.replicas)

    def other_log_dir(self, number: int, broker: int) -> str:
        partition = self.partition(number)
        return next(d.path for d in self.log_dirs() if d.broker == broker and partition not in d.replicas)

    def ticket(self, *moves: PartitionMove) -> None:
        plan = resolve(
            Plan("shared", "balance", moves),
            self.control.describe_cluster(),
            self.control.describe_partitions([self.topic]),
            self.log_dirs(),
            self.control.list_reassignments(),
        )
        self.store.put(Ticket("t-1", "shared", "balance", TicketState.APPROVED, "ann", "h", THROTTLE, 0, 0), plan)

    def tick_until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, self.said
            said = self.driver.tick()
            if said != self.said:
                self.said = said
                print(*said, sep="\n")  # noqa: T201  (the story of a failure)
            time.sleep(TICK_S)

    def state(self) -> TicketState:
        return self.store.ticket("t-1").state

    def cancel(self) -> None:
        ticket, execution = self.store.ticket("t-1"), self.store.execution("t-1")
        assert execution is not None
        self.store.advance("t-1", ticket.state, cancel(ticket, "ann", "", 0), None, execution.revision)

    def configs(self) -> dict[str, dict[str, str]]:
        resources = [(TOPIC, self.topic), *((BROKER, str(broker)) for broker in BROKERS)]
        configs = self.control.describe_configs(resources)
        return {
            name: {key: value for key, value in values.items() if "throttled" in key or "alter.log.dirs" in key}
            for (_, name), values in configs.items()
        }

    def is_at(self, number: int, placements: tuple[ReplicaPlacement, ...]) -> bool:
        state = self.control.describe_partitions([self.topic])[self.partition(number)]
        brokers = tuple(placement.broker for placement in placements)
        return (
            (state.leader, state.replicas) == (brokers[0], brokers)
            and set(state.isr) == set(brokers)
            and all(p.log_dir in (ANY_LOG_DIR, self.log_dir_of(number, p.broker)) for p in placements)
        )

    def leaves_nothing(self) -> None:
        assert not any(self.configs().values())
        assert not self.control.list_reassignments()
        assert not any(log_dir.future_replicas for log_dir in self.log_dirs())


@pytest.fixture
def bench(kafka_cluster: KafkaCluster, new_topic: Callable[[], str]) -> Iterator[Bench]:
    with closing(KafkaControl(kafka_cluster.to_cluster())) as control:
        bench = Bench(kafka_cluster, control, new_topic())
        yield bench
        bench.driver.close()
        data.delete_topics(bench.cluster, [bench.topic])


def test_a_plan_of_all_kinds_of_moves_is_carried_out_under_its_throttle(bench: Bench) -> None:
    bench.create_topic((1, 2), (2, 3), (1, 3), (1, 2))
    there = bench.other_log_dir(1, 2)
    chosen = bench.log_dirs()[-1].path
    bench.ticket(
        bench.move(0, ReplicaPlacement(3, chosen), ReplicaPlacement(2), write_rate=600_000),
        bench.move(1, ReplicaPlacement(2, there), ReplicaPlacement(3)),
        bench.move(2, ReplicaPlacement(3), ReplicaPlacement(1)),
    )
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    during = bench.configs()
    assert during[bench.topic] == {
        "leader.replication.throttled.replicas": "0:1,0:2",
        "follower.replication.throttled.replicas": "0:3",
    }
    assert during["3"] == {"follower.replication.throttled.rate": "900000"}
    assert during["2"]["replica.alter.log.dirs.io.max.bytes.per.second"] == str(THROTTLE)
    bench.tick_until(lambda: bench.state().is_over)
    assert bench.state() is TicketState.SUCCEEDED, bench.said
    execution = bench.store.execution("t-1")
    assert execution is not None
    assert {task.state for task in execution.tasks} == {TaskState.DONE}
    assert all(bench.is_at(task.move.partition.partition, task.move.target) for task in execution.tasks)
    assert bench.log_dir_of(0, 3) == chosen
    assert bench.log_dir_of(1, 2) == there
    bench.leaves_nothing()


def test_cancelling_in_the_middle_restores_the_original_order_and_leaves_nothing(bench: Bench) -> None:
    bench.create_topic((1, 2), (2, 3), (1, 3))
    bench.ticket(
        bench.move(0, ReplicaPlacement(3), ReplicaPlacement(2)),
        bench.move(1, ReplicaPlacement(2, bench.other_log_dir(1, 2)), ReplicaPlacement(3)),
        bench.move(2, ReplicaPlacement(3), ReplicaPlacement(1)),
    )

    def all_under_way() -> bool:
        copying = any(bench.partition(1) in log_dir.future_replicas for log_dir in bench.log_dirs())
        return copying and bench.partition(0) in bench.control.list_reassignments()

    bench.tick_until(all_under_way)
    bench.cancel()
    bench.tick_until(lambda: bench.state().is_over)
    assert bench.state() is TicketState.CANCELLED
    execution = bench.store.execution("t-1")
    assert execution is not None
    states = {task.move.partition.partition: task.state for task in execution.tasks}
    assert states[0] is states[1] is TaskState.REVERTED
    for task in execution.tasks:
        where = task.move.target if task.state is TaskState.DONE else task.move.original
        assert bench.is_at(task.move.partition.partition, where)
    bench.leaves_nothing()


def test_a_topic_that_is_deleted_in_the_middle_fails_its_task_and_leaves_no_throttle(bench: Bench) -> None:
    bench.create_topic((1, 2))
    bench.ticket(bench.move(0, ReplicaPlacement(3), ReplicaPlacement(2)))
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    data.delete_topics(bench.cluster, [bench.topic])
    bench.tick_until(lambda: bench.state().is_over)
    assert bench.state() is TicketState.FAILED
    assert "was deleted" in bench.store.ticket("t-1").history[-1].reason
    bench.leaves_nothing()


def test_a_new_driver_goes_on_where_another_one_stopped(bench: Bench) -> None:
    bench.create_topic((1, 2))
    bench.ticket(bench.move(0, ReplicaPlacement(3), ReplicaPlacement(1)))
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    bench.driver.close()
    bench.driver = Driver(bench.store, lambda _: bench.control, now_ms=lambda: time.time_ns() // 1_000_000)
    bench.tick_until(lambda: bench.state().is_over)
    assert bench.state() is TicketState.SUCCEEDED
    bench.leaves_nothing()
