"""What of a restart is told as a fault is decided here; the restarts are real ones."""

from collections import Counter

from guardian.model.cluster_state import PartitionState
from guardian.model.topology import TopicPartition
from tests.bench.execute.restarting import RACKS, Restarted, elsewhere, faults, placements

_ORDERS, _INVOICES = TopicPartition("orders", 0), TopicPartition("invoices", 0)


def test_each_partition_has_a_replica_in_each_rack_and_brokers_hold_and_lead_as_much_as_one_another() -> None:
    found = placements().values()
    assert all(sorted(sum(broker in rack for broker in replicas) for rack in RACKS) == [1, 1, 1] for replicas in found)
    assert Counter(replicas[0] for replicas in found) == dict.fromkeys(range(1, 7), 4)
    assert Counter(broker for replicas in found for broker in replicas) == dict.fromkeys(range(1, 7), 12)


def test_another_leader_another_order_and_a_missing_partition_are_not_as_before() -> None:
    before = {_ORDERS: PartitionState(1, (1, 2, 3), (1, 2, 3)), _INVOICES: PartitionState(4, (4, 5, 6), (4, 5, 6))}
    assert elsewhere(before, before) == []
    assert elsewhere(before, {**before, _ORDERS: PartitionState(1, (1, 2, 3), (3, 1, 2))}) == []
    assert elsewhere(before, {**before, _ORDERS: PartitionState(2, (1, 2, 3), (1, 2, 3))}) == [_ORDERS]
    assert elsewhere(before, {**before, _INVOICES: PartitionState(4, (4, 6, 5), (4, 5, 6))}) == [_INVOICES]
    assert elsewhere(before, {_ORDERS: before[_ORDERS]}) == [_INVOICES]


def test_each_kind_of_fault_is_told_with_its_number() -> None:
    good = Restarted(60.0, acked=1000, looks=500)
    assert faults([good, good]) == ""
    bad = Restarted(60.0, acked=1000, failed=2, lost=3, moments=4, looks=500, elsewhere=5)
    assert faults([good, bad]) == (
        "2 failed produces beside 2000 that did not; 3 acknowledged records are not there; "
        "4 of 1000 looks showed a partition under its min ISR; 5 of 48 partitions not led as before"
    )
