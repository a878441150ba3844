"""The executor on real brokers: what the fake promises is true of Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from deploy.local.kafka_cluster import KafkaCluster
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.execution import TaskState
from guardian.model.plan import ReplicaPlacement
from guardian.model.ticket import TicketState
from tests.integration.bench import SIZE_BYTES, THROTTLE, Bench
from tests.patience import CONTROL_S, PATIENCE_S

pytestmark = pytest.mark.integration


@pytest.fixture
def bench(kafka_cluster: KafkaCluster, new_topic: Callable[[], str]) -> Iterator[Bench]:
    with closing(KafkaControl(kafka_cluster.to_cluster(), CONTROL_S)) as control:
        bench = Bench(kafka_cluster.to_cluster(), control, new_topic())
        yield bench
        bench.driver.close()
        data.delete_topics(bench.cluster, [bench.topic], PATIENCE_S)


def test_a_plan_of_all_kinds_of_moves_is_carried_out_under_its_throttle(bench: Bench) -> None:
    bench.create_topic((1, 2), (2, 3), (1, 3), (1, 2), size_bytes=SIZE_BYTES)
    there = bench.other_log_dir(1, 2)
    chosen = bench.log_dirs()[-1].path
    bench.ticket(
        "balance",
        bench.move(0, ReplicaPlacement(3, chosen), ReplicaPlacement(2), write_rate=400_000),
        bench.move(1, ReplicaPlacement(2, there), ReplicaPlacement(3)),
        bench.move(2, ReplicaPlacement(3), ReplicaPlacement(1)),
    )
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    during = bench.throttles()
    assert during[bench.topic] == {
        "leader.replication.throttled.replicas": "0:1,0:2",
        "follower.replication.throttled.replicas": "0:3",
    }
    assert during["3"] == {"follower.replication.throttled.rate": "600000"}
    assert during["2"]["replica.alter.log.dirs.io.max.bytes.per.second"] == str(THROTTLE)
    assert bench.run() is TicketState.SUCCEEDED, bench.said
    execution = bench.execution()
    assert {task.state for task in execution.tasks} == {TaskState.DONE}
    assert all(bench.ends_at(task.move.partition.partition, task.move.target) for task in execution.tasks)
    assert bench.log_dir_of(0, 3) == chosen
    assert bench.log_dir_of(1, 2) == there
    bench.leaves_nothing()


def test_cancelling_in_the_middle_restores_the_original_order_and_leaves_nothing(bench: Bench) -> None:
    bench.create_topic((1, 2), (2, 3), (1, 3), size_bytes=SIZE_BYTES)
    bench.ticket(
        "balance",
        bench.move(0, ReplicaPlacement(3), ReplicaPlacement(2)),
        bench.move(1, ReplicaPlacement(2, bench.other_log_dir(1, 2)), ReplicaPlacement(3)),
        bench.move(2, ReplicaPlacement(3), ReplicaPlacement(1)),
    )

    def all_under_way() -> bool:
        copying = any(bench.partition(1) in log_dir.future_replicas for log_dir in bench.log_dirs())
        return copying and bench.partition(0) in bench.control.list_reassignments()

    bench.tick_until(all_under_way)
    bench.cancel()
    assert bench.run() is TicketState.CANCELLED
    execution = bench.execution()
    states = {task.move.partition.partition: task.state for task in execution.tasks}
    assert states[0] is states[1] is TaskState.REVERTED
    for task in execution.tasks:
        where = task.move.target if task.state is TaskState.DONE else task.move.original
        assert bench.ends_at(task.move.partition.partition, where)
    bench.leaves_nothing()


def test_a_topic_that_is_deleted_in_the_middle_is_no_failure_and_leaves_no_throttle(bench: Bench) -> None:
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    bench.ticket("balance", bench.move(0, ReplicaPlacement(3), ReplicaPlacement(2)))
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    data.delete_topics(bench.cluster, [bench.topic], PATIENCE_S)
    assert bench.run() is TicketState.SUCCEEDED
    assert bench.reason() == "all 0 moves were seen in Kafka, 1 gone with their topics"
    bench.leaves_nothing()


def test_a_new_driver_goes_on_where_another_one_stopped(bench: Bench) -> None:
    bench.create_topic((1, 2), size_bytes=SIZE_BYTES)
    bench.ticket("balance", bench.move(0, ReplicaPlacement(3), ReplicaPlacement(1)))
    bench.tick_until(lambda: bench.partition(0) in bench.control.list_reassignments())
    bench.driver.close()
    bench.new_driver()
    assert bench.run() is TicketState.SUCCEEDED
    bench.leaves_nothing()
