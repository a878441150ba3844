"""Plans are checked at birth."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition

P0 = TopicPartition("t", 0)


def places(*brokers: int, log_dir: str = "any") -> tuple[ReplicaPlacement, ...]:
    return tuple(ReplicaPlacement(broker, log_dir) for broker in brokers)


def test_a_move_knows_what_it_copies() -> None:
    original = (ReplicaPlacement(1, "/a"), ReplicaPlacement(2, "/a"))
    target = (ReplicaPlacement(3, "/b"), ReplicaPlacement(2, "/b"))
    move = PartitionMove(P0, original, target, size_bytes=100)
    assert move.added_brokers == (3,)
    assert move.log_dir_moves == (ReplicaPlacement(2, "/b"),)
    assert move.bytes_to_copy == 200


def test_a_change_of_leader_copies_nothing() -> None:
    assert PartitionMove(P0, places(1, 2), places(2, 1), size_bytes=100).bytes_to_copy == 0


@pytest.mark.parametrize(
    ("original", "target", "message"),
    [
        ((), (), r"replicas of t-0 is empty"),
        ((), places(1, 1), r"replicas of t-0 names a broker twice: \[1, 1\]"),
        (places(1, 2), places(1), r"change the replication factor from 2 to 1: give 2 brokers"),
    ],
)
def test_a_move_that_makes_no_sense_is_refused(
    original: tuple[ReplicaPlacement, ...], target: tuple[ReplicaPlacement, ...], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        PartitionMove(P0, original, target)


def test_a_relative_log_dir_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"log_dir is 'd0': use an absolute path or 'any'"):
        ReplicaPlacement(1, "d0")


def test_a_partition_is_in_a_plan_once() -> None:
    move = PartitionMove(P0, (), places(1))
    with pytest.raises(InvalidInput, match=r"partition t-0 is in the plan twice"):
        Plan("live", "balance", (move, move))
