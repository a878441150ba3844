from __future__ import annotations

import pytest

from guardian.health.model.finding import FindingKind
from guardian.links.model import IDC_AWARE, RACK_AWARE, RackMapping, ReplicaSelector
from guardian.links.rules.near_reads import NearReads, left_behind, near_reads, notes, sightings
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.topology import Broker, TopicPartition

BROKERS = (Broker(1, "shanghai-a", "shanghai"), Broker(2, "suzhou-a", "suzhou"), Broker(3, "r9", "suzhou"))
ALL = RackMapping("-", {"r9": "suzhou"})
GOOD = ReplicaSelector(IDC_AWARE, ALL)


@pytest.mark.parametrize(
    ("rack", "idc"),
    [("r9", "suzhou"), ("shanghai-a", "shanghai"), ("a-b-c", "a-b"), ("shanghai", "shanghai"), ("-a", "")],
)
def test_a_racks_idc_is_the_one_named_else_what_stands_before_the_last_separator(rack: str, idc: str) -> None:
    assert ALL.idc(rack) == idc


def test_brokers_that_know_all_racks_as_the_federation_does_have_nothing_to_be_told() -> None:
    reads = near_reads(BROKERS, dict.fromkeys((1, 2, 3), GOOD))
    assert reads == NearReads()
    assert notes(reads) == ()


def test_without_a_selector_consumers_read_from_the_leader() -> None:
    reads = near_reads(BROKERS, {1: GOOD, 2: ReplicaSelector(), 3: GOOD})
    assert reads == NearReads(without=(2,))
    (sighting,) = sightings("live", reads)
    assert sighting.subject == (FindingKind.READS_LEAVE_IDC, "live", "brokers without a replica selector")
    assert sighting.brokers == (2,)
    assert sighting.evidence == (
        "broker 2 has no replica.selector.class: what is led there is read there, from whichever data centre consumers "
        "are in. Set it to guardian.kafka.IdcAwareReplicaSelector there and restart it"
    )


def test_a_selector_that_knows_racks_alone_is_good_where_each_data_centre_is_one_rack() -> None:
    reads = near_reads(BROKERS, dict.fromkeys((1, 2), ReplicaSelector(RACK_AWARE)) | {3: GOOD})
    assert reads == NearReads(by_rack=(1, 2), of_racks=("suzhou",))
    (sighting,) = sightings("live", reads)
    assert (sighting.subject.name, sighting.brokers) == ("brokers whose replica selector knows racks alone", (1, 2))
    assert sighting.evidence == (
        "brokers 1, 2 have Kafka's RackAwareReplicaSelector, which compares whole racks, and there are several in "
        "suzhou: where no replica is in a consumer's own rack it reads from the leader, in whichever data centre that "
        "is. Set replica.selector.class to guardian.kafka.IdcAwareReplicaSelector there and restart them"
    )
    assert notes(reads) == (sighting.evidence,)
    assert near_reads(BROKERS[:2], dict.fromkeys((1, 2), ReplicaSelector(RACK_AWARE))) == NearReads()


def test_a_broker_without_a_rack_is_near_to_nobody() -> None:
    brokers = (*BROKERS, Broker(4, "", "suzhou"), Broker(5))
    reads = near_reads(brokers, dict.fromkeys(range(1, 6), GOOD))
    assert reads == NearReads(rackless=(4,))
    (sighting,) = sightings("live", reads)
    assert (sighting.subject.name, sighting.brokers) == ("brokers without a rack", (4,))
    assert sighting.evidence == (
        "broker 4 has a data centre in the federation, and no rack: no replica selector takes what is there for near, "
        "and consumers of that data centre read elsewhere. Set broker.rack there and restart it"
    )
    assert notes(reads) == (sighting.evidence,)
    assert near_reads(brokers, {1: GOOD}, of={1}) == NearReads()


def test_a_rack_that_any_leader_places_elsewhere_is_told_with_the_fix() -> None:
    """Broker 3 knows its own rack well; the leaders beside it do not."""
    unaware = ReplicaSelector(IDC_AWARE, RackMapping("-"))
    reads = near_reads(BROKERS, {1: unaware, 2: unaware, 3: GOOD})
    (sighting,) = sightings("live", reads)
    assert sighting.subject.name == "rack r9, r9 for suzhou"
    assert sighting.evidence == (
        "rack r9 is in suzhou by the federation and in r9 by the replica selector of brokers 1, 2: clients there are "
        "served from elsewhere. Give r9:suzhou in guardian.replica.idc.of.rack on all brokers, or correct the "
        "federation (guardian cluster add --idc r9=r9)"
    )
    assert notes(reads) == (sighting.evidence,)


def test_what_nobody_tells_is_said_as_unknown_and_is_no_sighting() -> None:
    told = {1: ReplicaSelector(IDC_AWARE), 2: ReplicaSelector("org.example.Ours")}
    reads = near_reads(BROKERS, told)
    assert reads == NearReads(unknown=(1, 2, 3))
    assert list(sightings("live", reads)) == []
    assert notes(reads) == (
        "whether consumers read in their own data centre is not known of brokers 1, 2, 3: nobody tells the replica "
        "selector there, or it is not one of Guardian's",
    )


def test_only_the_brokers_that_were_asked_about_are_judged() -> None:
    assert near_reads(BROKERS, {2: ReplicaSelector()}, of={2}) == NearReads(without=(2,))


def test_a_cluster_in_one_data_centre_has_nothing_to_check() -> None:
    assert near_reads(BROKERS[1:], {2: ReplicaSelector()}) == NearReads()
    assert near_reads((Broker(1, "a"), Broker(2, "b")), {}) == NearReads()


def test_of_many_brokers_some_are_named() -> None:
    brokers = tuple(Broker(number, f"idc{number % 2}-a", f"idc{number % 2}") for number in range(7))
    reads = near_reads(brokers, dict.fromkeys(range(7), ReplicaSelector()))
    assert "brokers 0, 1, 2, 3, 4 and 2 more have no replica.selector.class" in reads.without_sentence


@pytest.mark.parametrize(
    ("original", "target"),
    [
        ((1, 2), (2, 1)),  # it serves on, from another data centre
        ((2, 3), (3, 1)),  # nobody serves there
    ],
)
def test_clients_that_may_stay_with_the_leader_of_before_are_told_of(
    original: tuple[int, ...], target: tuple[int, ...]
) -> None:
    (note,) = left_behind([moved(original, target), moved((1, 2), (1, 3))], BROKERS)
    assert note.startswith("a follower becomes the leader of 1 partition: consumers with librdkafka (2.16.1)")
    (note,) = left_behind([moved(original, target)] * 2, BROKERS)
    assert "of 2 partitions" in note


@pytest.mark.parametrize(
    ("original", "target"),
    [
        ((1, 2), (1, 3)),  # the leader stays
        ((1, 2), (3, 2)),  # from a new replica nobody reads
        ((2, 3), (3, 2)),  # in one data centre
        ((), (3, 2)),
    ],
)
def test_nothing_is_told_where_consumers_go_on_at_home(original: tuple[int, ...], target: tuple[int, ...]) -> None:
    assert left_behind([moved(original, target)], BROKERS) == ()


def moved(original: tuple[int, ...], target: tuple[int, ...]) -> PartitionMove:
    return PartitionMove(
        TopicPartition("orders", 0), tuple(map(ReplicaPlacement, original)), tuple(map(ReplicaPlacement, target))
    )
