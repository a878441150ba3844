"""Plans are checked at birth."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import LoadResource, LoadSummary, PartitionMove, Plan, ReplicaPlacement, spreads
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
    ],
)
def test_a_move_that_makes_no_sense_is_refused(
    original: tuple[ReplicaPlacement, ...], target: tuple[ReplicaPlacement, ...], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        PartitionMove(P0, original, target)


def test_a_higher_replication_factor_copies_what_is_added_and_a_lower_one_nothing() -> None:
    raised = PartitionMove(P0, places(1, 2), places(1, 2, 3, 4), size_bytes=100)
    lowered = PartitionMove(P0, places(1, 2), places(2), size_bytes=100)
    assert raised.changes_replication_factor
    assert lowered.changes_replication_factor
    assert (raised.bytes_to_copy, lowered.bytes_to_copy) == (200, 0)


def test_a_partition_to_be_created_copies_nothing_and_has_no_original() -> None:
    move = PartitionMove(P0, (), places(1, 2), size_bytes=100, is_new=True)
    assert (move.bytes_to_copy, move.changes_replication_factor) == (0, False)
    with pytest.raises(InvalidInput, match=r"original of t-0 is \[1\], yet it is to be created: leave it out"):
        PartitionMove(P0, places(1), places(2), is_new=True)


def test_spreads_are_told_by_place_and_resource_relative_to_capacity_without_what_leaves() -> None:
    rows = (
        LoadSummary(1, "", 10.0, 10.0),
        LoadSummary(2, "", 30.0, 10.0),
        LoadSummary(1, "", 80.0, 60.0, LoadResource.DISK, capacity=100.0),
        LoadSummary(2, "", 40.0, 120.0, LoadResource.DISK, capacity=200.0),
        LoadSummary(3, "", 60.0, 0.0, LoadResource.DISK, capacity=200.0, is_leaving=True),
        LoadSummary(1, "/a", 5.0, 5.0, LoadResource.DISK_IO),
    )
    assert spreads(rows) == {
        "broker": (0.5, 0.0),
        "broker disk": (pytest.approx(0.6), 0.0),
        "log dir disk_io": (0.0, 0.0),
    }


def test_the_order_of_a_plan_is_meant_where_its_moves_say_what_they_serve() -> None:
    assert not Plan("live", "balance", (PartitionMove(P0, (), places(1)),)).is_ordered
    assert Plan("live", "balance", (PartitionMove(P0, (), places(1), goal="disk-spread"),)).is_ordered


def test_a_relative_log_dir_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"log_dir is 'd0': use an absolute path or 'any'"):
        ReplicaPlacement(1, "d0")


def test_a_partition_is_in_a_plan_once() -> None:
    move = PartitionMove(P0, (), places(1))
    with pytest.raises(InvalidInput, match=r"partition t-0 is in the plan twice"):
        Plan("live", "balance", (move, move))
