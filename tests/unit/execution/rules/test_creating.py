"""Which requests create a topic's partitions, and when."""

from __future__ import annotations

from guardian.execution.rules import creating
from guardian.execution.rules.converging import Aim, Standing, look
from guardian.model.cluster_state import BrokerNode, ClusterObservation, LogDir, LogDirReplica, PartitionState
from guardian.model.effects import AlterReplicaLogDirs, CreatePartitions, CreateTopics, NewTopic
from guardian.model.execution import ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.topology import TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
REPLICA = LogDirReplica(0, 0, is_future=False)


def task(partition: TopicPartition, state: TaskState = TaskState.RUNNING, **more: object) -> ExecutionTask:
    move = PartitionMove(partition, (), (ReplicaPlacement(1, "/d1"), ReplicaPlacement(2)), is_new=True)
    return ExecutionTask(partition.partition + 1, move, state, **more)  # type: ignore[arg-type]


def seen(
    *there: TopicPartition, hosted: tuple[TopicPartition, ...] = (), alive: tuple[int, ...] = (1, 2)
) -> ClusterObservation:
    states = dict.fromkeys(there, PartitionState(1, (1, 2), (1, 2)))
    log_dirs = tuple(LogDir(broker, "/d0", replicas=dict.fromkeys(hosted, REPLICA)) for broker in alive)
    return ClusterObservation(0, {b: BrokerNode(b, "h", 1) for b in alive}, states, {}, log_dirs, {})


def test_a_topic_is_created_whole_with_its_configuration() -> None:
    tasks = (task(T0, topic_configs=(("retention.ms", "1"),)), task(T1))
    wanted = {T0: (1, 2), T1: (1, 2)}
    assert creating.requests(wanted, tasks, seen()) == (
        CreateTopics({"t": NewTopic({0: (1, 2), 1: (1, 2)}, {"retention.ms": "1"})}),
    )


def test_nothing_is_created_while_one_of_its_partitions_has_to_wait() -> None:
    assert creating.requests({T0: (1, 2)}, (task(T0), task(T1, TaskState.PENDING)), seen()) == ()


def test_a_topic_that_exists_gets_what_it_lacks() -> None:
    assert creating.requests({T1: (1, 2)}, (task(T1),), seen(T0)) == (CreatePartitions({T1: (1, 2)}),)


def test_a_topic_is_deleted_when_one_of_its_tasks_was_done_or_it_was_to_be_expanded() -> None:
    done = task(T0, TaskState.DONE)
    assert creating.deleted((done, task(T1)), seen()) == {2}
    assert creating.deleted((task(T1),), seen()) == {2}
    assert creating.deleted((task(T0), task(T1)), seen()) == frozenset()
    assert creating.deleted((done, task(T1)), seen(T0)) == frozenset()


def test_a_log_dir_that_has_it_still_speaks_against_its_being_deleted() -> None:
    assert creating.deleted((task(T0, TaskState.DONE), task(T1)), seen(hosted=(T0,))) == frozenset()


def test_a_partition_is_created_on_its_log_dirs_once_its_brokers_live() -> None:
    aim = Aim(task(T0).move)
    found = look(aim, seen())
    assert found.standing is Standing.ACT
    assert found.effects == (AlterReplicaLogDirs({(T0, 1): "/d1"}, ahead=True), CreatePartitions({T0: (1, 2)}))
    assert look(aim, seen(alive=(1,))).detail == "waits for broker 2, which is down"
    assert look(aim, seen(hosted=(T0,))).standing is Standing.WAIT


def test_what_was_created_stays_and_what_was_not_is_never_missed() -> None:
    back = Aim(task(T0).move, back=True)
    assert look(back, seen()).detail == "was never created"
    assert look(back, seen(T0)).detail == "was created and stays: Guardian deletes no partition"
    assert look(back, seen(T0)).standing is look(back, seen()).standing is Standing.REACHED
