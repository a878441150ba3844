"""Is the cluster well, and would it be without some of its brokers?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from guardian.execution.operations.health import batch_of, lagging, trouble, why_no_majority, why_not_down
from guardian.execution.operations.world import OperationWorld
from guardian.model.cluster_state import BrokerNode, ClusterObservation, PartitionState, Reassignment
from guardian.model.operation import Quorum
from guardian.model.topology import BrokerState, TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def world(
    partitions: Mapping[TopicPartition, PartitionState],
    alive: tuple[int, ...] = (1, 2, 3, 4),
    min_isr: int = 2,
    reassignments: Mapping[TopicPartition, Reassignment] | None = None,
    away: tuple[int, ...] = (),
    racks: Mapping[int, str] | None = None,
) -> OperationWorld:
    nodes = {broker: BrokerNode(broker, "h", 1, (racks or {}).get(broker, "")) for broker in alive}
    observation = ClusterObservation(0, nodes, partitions, reassignments or {}, (), {})
    states = dict.fromkeys(away, BrokerState.MAINTENANCE)
    return OperationWorld(observation, frozenset({1, 2, 3, 4}), {"t": min_isr}, states=states)


def test_a_cluster_with_all_replicas_in_sync_is_well() -> None:
    assert trouble(world({T0: PartitionState(1, (1, 2, 3), (3, 2, 1))})) == ""


def test_what_lacks_a_replica_or_a_leader_is_named_and_counted() -> None:
    partitions = {T0: PartitionState(1, (1, 2, 3), (1, 2)), T1: PartitionState(-1, (1, 2), (1,))}
    assert trouble(world(partitions)) == "t-0 lacks broker 3 in its ISR (and 1 more partition)"
    assert trouble(world({T1: partitions[T1]})) == "t-1 has no leader"


def test_what_the_batch_itself_lacks_is_no_harm() -> None:
    partitions = {T0: PartitionState(1, (1, 2, 3), (1, 2))}
    assert trouble(world(partitions, alive=(1, 2, 4)), spared=[3]) == ""
    assert trouble(world(partitions, alive=(1, 2, 4))) == "broker 3 is down"


def test_a_broker_that_was_taken_offline_is_no_harm_either() -> None:
    partitions = {T0: PartitionState(1, (1, 2, 3), (1, 2))}
    assert trouble(world(partitions, alive=(1, 2, 4), away=(3,))) == ""


def test_what_only_the_spared_can_lead_again_is_no_harm() -> None:
    """The last replica in sync is on broker 3: the others are no leaders before it is back."""
    partitions = {T0: PartitionState(-1, (3, 1, 2), (3,))}
    assert trouble(world(partitions), spared=[3]) == ""
    assert trouble(world(partitions), spared=[2]) == "t-0 has no leader"


def test_the_trouble_of_a_partition_that_is_accepted_is_passed_over() -> None:
    partitions = {T0: PartitionState(-1, (1, 2, 3), (1,)), T1: PartitionState(1, (1, 2), (1,))}
    assert trouble(world(partitions), accepted=["t-0"]) == "t-1 lacks broker 2 in its ISR"
    assert trouble(world(partitions), accepted=["t-0", "t-1"]) == ""


def test_replicas_on_their_way_need_not_be_in_sync() -> None:
    moving = {T0: Reassignment((3, 1, 2), (3,), (2,))}
    assert trouble(world({T0: PartitionState(1, (3, 1, 2), (1, 2))}, reassignments=moving)) == ""


def test_lagging_names_the_partition_and_the_brokers() -> None:
    found = lagging(world({T0: PartitionState(1, (1, 2, 3), (1,))}), [2, 3])
    assert found == "t-0 waits for brokers 2, 3 to be in sync"


@pytest.mark.parametrize(
    ("nodes", "accept", "why"),
    [
        ([3], False, ""),
        ([4], False, ""),
        (
            [2, 3],
            False,
            "t-0 has 3 of 3 replicas in sync, would have 1 without brokers 2, 3, and needs 2",
        ),
        ([2, 3], True, "t-0 has 3 of 3 replicas in sync, would have 1 without brokers 2, 3, and needs 2"),
    ],
)
def test_brokers_may_be_down_together_where_the_isr_less_them_meets_min_isr(
    nodes: list[int], accept: bool, why: str
) -> None:
    whole = world({T0: PartitionState(1, (1, 2, 3), (1, 2, 3))})
    assert why_not_down(whole, nodes, accept_unavailable=accept) == why


def test_a_replica_that_is_out_of_sync_already_makes_the_next_one_too_many() -> None:
    partitions = {T0: PartitionState(1, (1, 2, 3), (1, 2))}
    assert why_not_down(world(partitions), [2]).endswith("would have 1 without broker 2, and needs 2")
    assert why_not_down(world(partitions), [3]) == ""


def test_one_that_others_have_taken_offline_counts_as_down() -> None:
    partitions = {T0: PartitionState(1, (1, 2, 3), (1, 2, 3))}
    assert why_not_down(world(partitions, away=(2,)), [3]).endswith("would have 1 without brokers 2, 3, and needs 2")


def test_a_partition_of_one_replica_is_spared_only_when_that_is_accepted() -> None:
    single = world({T0: PartitionState(1, (1,), (1,))}, min_isr=1)
    assert why_not_down(single, [1]) == "t-0 has 1 of 1 replicas in sync, would have 0 without broker 1, and needs 1"
    assert why_not_down(single, [1], accept_unavailable=True) == ""


def test_a_batch_is_of_the_first_rack_and_as_large_as_isr_and_limit_allow() -> None:
    racks = {1: "a", 2: "b", 3: "a", 4: "a"}
    apart = world(
        {T0: PartitionState(1, (1, 2), (1, 2)), T1: PartitionState(3, (3, 2), (3, 2))}, min_isr=1, racks=racks
    )
    assert batch_of([1, 2, 3, 4], apart, 9, accept_unavailable=False) == [1, 3, 4]
    assert batch_of([1, 2, 3, 4], apart, 2, accept_unavailable=False) == [1, 3]
    together = world({T0: PartitionState(1, (1, 3), (1, 3))}, min_isr=1, racks=racks)
    assert batch_of([1, 3, 4], together, 9, accept_unavailable=False) == [1, 4]


ALL = frozenset({7, 8, 9})


@pytest.mark.parametrize(
    ("caught_up", "in_hand", "why"),
    [
        (ALL, {}, ""),
        (
            frozenset({7, 8}),
            {},
            "without controller 8, 1 of the quorum's 3 voters would be caught up, and 2 are its majority",
        ),
        (
            ALL,
            {9: "t-2"},
            "without controller 8 and node 9, away or about to go, 1 of the quorum's 3 voters would be caught up, and "
            "2 are its majority",
        ),
        (frozenset({7}), {}, "without controller 8, 1 of"),
    ],
)
def test_a_controller_goes_only_with_a_majority_to_spare(
    caught_up: frozenset[int], in_hand: Mapping[int, str], why: str
) -> None:
    now = replace(world({}), quorum=Quorum(7, ALL, caught_up), in_hand=in_hand)
    found = why_no_majority(now, [8], "controller")
    assert found.startswith(why) if why else found == ""
    assert why_no_majority(now, [1, 2]) == ""


def test_a_combined_node_in_maintenance_is_no_part_of_the_majority() -> None:
    now = replace(world({}, away=(2,)), quorum=Quorum(1, frozenset({1, 2, 3}), frozenset({1, 2, 3})))
    assert why_no_majority(now, [3]).startswith("without broker 3 and node 2, away or about to go, 1 of")


def test_where_no_broker_of_the_first_rack_can_go_the_next_rack_has_its_turn() -> None:
    racks = {1: "a", 2: "b", 3: "c"}
    held_up = world({T0: PartitionState(1, (1, 3), (1,))}, min_isr=1, racks=racks)
    assert batch_of([1, 2], held_up, 9, accept_unavailable=False) == [2]
