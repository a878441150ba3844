"""Files of Cruise Control and Confluent, in the shape that their documentation shows."""

from __future__ import annotations

from typing import Any

import pytest

from guardian.errors import InvalidInput
from guardian.interop import confluent_placement
from guardian.interop.broker_sets_json import sets_of
from guardian.interop.capacity_json import capacities_of
from guardian.model.federation import IdcPolicy
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import Broker, Cluster, TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts, TopicFacts
from spark_analytics.readers import broker_sets_json, capacity_json

KB, MB = 1024, 1024 * 1024
LIVE = Cluster(
    "live", "h:9092", brokers=(Broker(0, "a", "east"), Broker(1, "b", "west"), Broker(2, "c"), Broker(3, "d", "east"))
)


def model() -> ClusterModel:
    """Brokers 0 (two disks), 1 and 2; rack a is in east, b in west, c in none."""
    place = ReplicaPlacement
    return ClusterModel.of(
        "live",
        [
            BrokerFacts(0, "a", "east", capacity=(800, 1, 1, 9)),
            BrokerFacts(1, "b", "west"),
            BrokerFacts(2, "c"),
        ],
        [
            LogDirFacts(0, "/d1", 1000, 400),
            LogDirFacts(0, "/d2", 1000, 900),
            LogDirFacts(1, "any", 1000, 100),
            LogDirFacts(2, "any", 1000, 100),
        ],
        [
            PartitionFacts(TopicPartition("t", 0), (place(0, "/d1"), place(1)), size_bytes=50),
            PartitionFacts(TopicPartition("u", 0), (place(1), place(0, "/d2")), sizes=(10, 500)),
            PartitionFacts(TopicPartition("v", 0), (place(2),)),
        ],
        [TopicFacts("v", label="red")],
    )


def entry(broker: str, **capacity: object) -> dict[str, Any]:
    return {"brokerId": broker, "capacity": {"DISK": "100000", "CPU": "100", "NW_IN": "10", "NW_OUT": "20"} | capacity}


def capacities(*entries: dict[str, Any]) -> ClusterModel:
    return capacity_json.with_capacities(model(), capacities_of({"brokerCapacities": list(entries)}))


def test_capacities_are_those_of_the_broker_or_the_default() -> None:
    found = capacities(entry("-1"), entry("1", CPU={"num.cores": "16"}, NW_IN=7.5))
    assert found.capacity.tolist() == [
        [800, 10 * KB, 20 * KB, 100000 * MB],  # percent of the cores that it is known to have
        [1600, 7.5 * KB, 20 * KB, 100000 * MB],
        [100, 10 * KB, 20 * KB, 100000 * MB],
    ]
    assert found.disk_total_bytes[2:].tolist() == [100000 * MB] * 2
    assert found.disk_usable_bytes[2] == 100000 * MB - 900


def test_entries_of_brokers_to_come_do_not_count_and_are_told() -> None:
    given = capacities_of({"brokerCapacities": [entry("-1"), entry("9", NW_IN="77")]})
    assert capacity_json.with_capacities(model(), given).capacity.tolist() == capacities(entry("-1")).capacity.tolist()
    (remark,) = capacity_json.remarks(model(), given)
    assert remark.startswith("broker 9: not in cluster live; left out")
    assert capacity_json.remarks(model(), {-1: given[-1]}) == ()


def test_log_dirs_get_sizes_of_their_own() -> None:
    found = capacities(entry("-1"), entry("0", DISK={"/d1": "5", "/d2": "7"}))
    assert found.capacity[0, 3] == 12 * MB
    assert found.disk_total_bytes[:2].tolist() == [5 * MB, 7 * MB]
    assert found.disk_usable_bytes[:2].tolist() == [5 * MB - 600, 7 * MB - 100]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"capacity": {}}], r"brokerCapacities\[0\].brokerId is missing: use a whole number from -1"),
        ([entry("x")], r"brokerCapacities\[0\].brokerId is 'x'"),
        ([entry("-1"), entry("-1")], r"brokerCapacities\[1\].brokerId is -1, which was given before"),
        ([entry("0", DISK="-1")], r"brokerCapacities\[0\].capacity.DISK is -1.0: use a number from 0"),
        ([entry("0", CPU={"cores": 3})], r"capacity.CPU.num.cores is missing"),
        ([entry("0", NW_IN=0)], r"capacity.NW_IN is 0: use a number above 0"),
        ([entry("0")], "brokerId 1 is missing: give its capacity, or one for brokerId -1"),
        ([entry("-1"), entry("0", DISK={"/d9": 1})], "DISK has /d9, which is no log dir of broker 0: use .* /d1, /d2"),
    ],
)
def test_a_bad_capacity_file_is_told_in_a_sentence(entries: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        capacities(*entries)


def broker_sets(*sets: tuple[str, list[int]]) -> ClusterModel:
    document = {"brokerSets": [{"brokerSetId": name, "brokerIds": ids} for name, ids in sets]}
    return broker_sets_json.with_broker_sets(model(), sets_of(document))


def test_broker_sets_are_labels_and_topics_belong_where_most_of_their_bytes_are() -> None:
    found = broker_sets(("blue", [0]), ("green", [1, 2]))
    assert [found.label_names[code] for code in found.broker_label] == ["blue", "green", "green"]
    assert [found.label_names[code] for code in found.topic_label] == ["blue", "blue", "red"]


def test_sets_of_brokers_to_come_do_not_count_and_are_told() -> None:
    found = broker_sets(("blue", [0, 7]), ("green", [1, 2]), ("black", [8]))
    assert [found.label_names[code] for code in found.broker_label] == ["blue", "green", "green"]
    assert [found.label_names[code] for code in found.topic_label] == ["blue", "blue", "red"]
    (remark,) = broker_sets_json.remarks(model(), {0: "blue", 1: "green", 2: "green", 7: "blue", 8: "black"})
    assert remark.startswith("broker 7, 8: not in cluster live; left out.")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([("blue", [0, 1])], "broker 2 of cluster live is in no broker set"),
        ([("blue", [3])], r"broker sets file has no broker of cluster live \(got 3\)"),
        ([("blue", [0, 1]), ("green", [1, 2])], r"brokerSets\[1\].brokerIds has 1, which is in blue too"),
        ([("", [0])], r"brokerSets\[0\] is ''"),
        ([("a b", [0])], "label is 'a b'"),
    ],
)
def test_a_bad_broker_sets_file_is_told_in_a_sentence(sets: list[tuple[str, list[int]]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        broker_sets(*sets)


def constraints(**other: Any) -> dict[str, Any]:
    return {"version": 1, "replicas": [{"count": 2, "constraints": {"rack": "east"}}]} | other


def test_replicas_by_rack_are_an_idc_policy() -> None:
    found = confluent_placement.policy_of(
        constraints(
            replicas=[{"count": 2, "constraints": {"rack": "east"}}, {"count": 1, "constraints": {"rack": "west"}}]
        ),
        "p",
    )
    assert found.policy == IdcPolicy("p", (("east", 2), ("west", 1)))
    assert found.remarks == ()


def test_observers_become_replicas_and_that_is_said() -> None:
    observers = [{"count": 1, "constraints": {"rack": "west"}}]
    found = confluent_placement.policy_of(
        constraints(version=2, observers=observers, observerPromotionPolicy="under-min-isr"), "p", LIVE
    )
    assert found.policy == IdcPolicy("p", (("east", 2), ("west", 1)), "east")
    assert [remark.split(" ", 1)[0] for remark in found.remarks] == ["observers", "leaders", "observerPromotionPolicy"]


def test_a_rack_counts_as_the_data_centre_that_it_stands_in() -> None:
    document = constraints(
        replicas=[{"count": 1, "constraints": {"rack": "a"}}, {"count": 1, "constraints": {"rack": "b"}}]
    )
    assert confluent_placement.policy_of(document, "p", LIVE).policy.replicas == (("east", 1), ("west", 1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"version": 3}, "version is 3: use 1 or 2"),
        ({"leaders": []}, "leaders is not known: use observerPromotionPolicy, observers, replicas, version"),
        ({"replicas": []}, "replicas is empty"),
        ({"replicas": None}, "replicas is missing"),
        ({"replicas": [{"count": 0, "constraints": {"rack": "a"}}]}, r"replicas\[0\].count is 0"),
        (
            {"replicas": [{"count": 1, "constraints": {"zone": "a"}}]},
            "constraints.zone is not supported",
        ),
        ({"replicas": [{"count": 1, "constraints": {}}]}, r"replicas\[0\].constraints.rack is missing"),
        ({"replicas": [{"count": 1, "constraints": {"rack": "z"}}]}, r"constraints.rack is 'z': use an IDC or a rack"),
        ({"replicas": [{"count": 1, "constraints": {"rack": "c"}}]}, "whose brokers are not all in one IDC"),
    ],
)
def test_bad_constraints_are_told_in_a_sentence(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        confluent_placement.policy_of(constraints(**wrong), "p", LIVE)
