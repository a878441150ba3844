"""What tickets side by side keep from each other."""

from __future__ import annotations

from guardian.execution.rules.holding import Beside, Hold, beside, claimed, held
from guardian.model.effects import ConfigKey
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.throttle import FOLLOWER_RATE
from guardian.model.topology import TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
RATE = OwnedSetting("BROKER", "7", FOLLOWER_RATE, ("1000",), None)


def move(name: TopicPartition, original: tuple[int, ...], target: tuple[int, ...]) -> PartitionMove:
    return PartitionMove(name, tuple(map(ReplicaPlacement, original)), tuple(map(ReplicaPlacement, target)))


def execution(state: TaskState) -> Execution:
    leads = ExecutionTask(2, move(T1, (5, 6), (6, 5)), state)
    done = ExecutionTask(3, move(T2, (8, 9), (8, 1)), TaskState.DONE)
    return Execution("t-1", (ExecutionTask(1, move(T0, (1, 2), (1, 3)), state), leads, done), (RATE,))


def test_what_is_under_way_and_set_is_held_and_what_waits_is_only_claimed() -> None:
    rates = frozenset({ConfigKey.of(RATE)})
    for active in (TaskState.RUNNING, TaskState.REVERTING):
        assert held(execution(active)) == Hold(frozenset({1, 2, 3, 7}), frozenset({T0, T1}), rates)
    assert held(execution(TaskState.PENDING)) == Hold(frozenset({7}), frozenset(), rates)
    assert claimed(execution(TaskState.PENDING)) == Hold(frozenset({1, 2, 3}), frozenset({T0, T1}))


def test_a_move_waits_for_its_partition_and_a_copy_for_brokers_that_live() -> None:
    others = beside([("t-9", Hold(frozenset({3}), frozenset({T1})))])
    copies, leads = move(T0, (1, 3), (1, 4)), move(T0, (1, 3), (3, 1))
    assert others.why_not(copies, {1, 3, 4}) == "waits for t-9, on the same brokers"
    assert others.why_not(copies, {1, 4}) == ""
    assert others.why_not(leads, {1, 3}) == ""
    assert others.why_not(move(T1, (1, 2), (2, 1)), {1, 2}) == "waits for t-9, which moves it"
    assert Beside().why_not(copies, {1, 3, 4}) == ""


def test_a_topic_that_grows_is_not_moved_and_does_not_grow_while_it_is() -> None:
    others = Beside(expanding={"t": "t-2"}, moving={"t": "t-3"})
    new = PartitionMove(T2, (), (ReplicaPlacement(1),), is_new=True)
    assert others.why_not(move(T0, (1, 3), (1, 4)), {1}) == "waits for t-2, which expands topic t"
    assert others.why_not(move(T0, (1, 3), (3, 1)), {1}) == "", "a new order is Kafka's at once"
    assert others.why_not(new, {1}) == "waits for t-3, which moves partitions of topic t"
