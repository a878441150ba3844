"""The least data that brings a full disk below the limit."""

from __future__ import annotations

from guardian.model.plan import ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import LogDir, Relieve
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.planners.relieve import used_bytes
from tests.unit.spark_analytics.planners.small import GB, brokers, cluster, planned, targets

FULL = {"t-0": ((1,), 500), "t-1": ((1,), 300), "t-2": ((1,), 110), "t-3": ((2,), 100)}


def test_the_replica_that_is_barely_large_enough_leaves() -> None:
    """910 GB of 1000 are used and 800 may be: 110 GB must go."""
    assert set(targets(planned(cluster(brokers(3), FULL), Relieve(0.8)))) == {"t-2"}


def test_a_disk_below_the_limit_is_left_alone_and_so_is_one_that_was_not_asked_for() -> None:
    model = cluster(brokers(3), FULL)

    assert planned(model, Relieve(0.95)).moves == ()
    assert planned(model, Relieve(0.8, brokers=(2,))).moves == ()
    assert set(targets(planned(model, Relieve(0.8, log_dirs=(LogDir(1, "/d"),))))) == {"t-2"}


def test_no_copy_makes_another_disk_too_full() -> None:
    model = cluster(brokers(3), FULL | {"t-4": ((2,), 690), "t-5": ((3,), 100)})

    assert targets(planned(model, Relieve(0.8))) == {"t-2": [3]}


def test_what_can_not_be_relieved_is_told_with_how_much_is_left() -> None:
    model = cluster(brokers(2), FULL | {"t-4": ((2,), 690)})

    plan = planned(model, Relieve(0.8))

    assert plan.moves == ()
    assert (
        "log dir /d of broker 1 stays 110.0 GB above the limit: "
        "no other disk was found with room for more of what it holds"
    ) in plan.unmet


def test_excluded_topics_and_what_was_not_seen_whole_stay() -> None:
    """These two and t-2 are 140 GB, just what must go; without them t-1 is the least that is enough."""
    on = FULL | {"keep-0": ((1,), 20), "half-0": ((1,), 10)}
    model = cluster(brokers(3), on, unseen=["half-0"])

    moved = set(targets(planned(model, Relieve(0.8), PlannerSettings(excluded_topics=("keep",)))))

    assert moved == {"t-1"}
    assert set(targets(planned(cluster(brokers(3), on), Relieve(0.8)))) == {"t-2", "keep-0", "half-0"}


def test_another_disk_of_the_same_broker_takes_as_well() -> None:
    model = ClusterModel.of(
        "live",
        [BrokerFacts(1)],
        [LogDirFacts(1, "/a", 1000 * GB, 100 * GB), LogDirFacts(1, "/b", 1000 * GB, 1000 * GB)],
        [PartitionFacts(TopicPartition("t", n), (ReplicaPlacement(1, "/a"),), size_bytes=300 * GB) for n in range(3)],
    )

    (move,) = planned(model, Relieve(0.8)).moves

    assert move.target == (ReplicaPlacement(1, "/b"),)


def test_a_disk_is_as_full_as_it_says_or_as_its_replicas_make_it_whichever_is_more() -> None:
    model = ClusterModel.of(
        "live",
        [BrokerFacts(1), BrokerFacts(2)],
        [LogDirFacts(1, "/a", 1000, 400), LogDirFacts(2, "/a", 1000, 990)],
        [PartitionFacts(TopicPartition("t", 0), (ReplicaPlacement(2, "/a"), ReplicaPlacement(1, "/a")), size_bytes=70)],
    )

    assert used_bytes(model).tolist() == [600, 70]


def test_where_the_first_choice_finds_no_place_the_next_one_goes() -> None:
    """115 GB must go and one replica is just that; the other disks take 75 GB each."""
    crowded = {"t-0": ((1,), 680), "t-1": ((1,), 115), "t-2": ((1,), 70), "t-3": ((1,), 50)}
    model = cluster(brokers(3), crowded | {"t-4": ((2,), 725), "t-5": ((3,), 725)}, total={1: 1000, 2: 1000, 3: 1000})

    plan = planned(model, Relieve(0.8))

    assert set(targets(plan)) == {"t-2", "t-3"}


def test_what_must_not_be_moved_is_made_up_for_by_what_may() -> None:
    model = cluster(brokers(2), {"t-0": ((1,), 150), "t-1": ((1,), 500), "t-2": ((1,), 200)}, unseen=["t-0"])

    plan = planned(model, Relieve(0.75))

    assert set(targets(plan)) == {"t-2"}
    assert not any("stays" in each and "above the limit" in each for each in plan.unmet)


def test_the_limit_is_each_disk_s_and_not_its_broker_s() -> None:
    """Broker 2 is above it as a whole, and its second disk has room."""
    model = ClusterModel.of(
        "live",
        brokers(2),
        [
            LogDirFacts(1, "/a", 1000 * GB, 100 * GB),
            LogDirFacts(2, "/a", 2000 * GB, 350 * GB),
            LogDirFacts(2, "/b", 300 * GB, 300 * GB),
        ],
        [
            PartitionFacts(TopicPartition("t", 0), (ReplicaPlacement(1, "/a"),), size_bytes=740 * GB),
            PartitionFacts(TopicPartition("t", 1), (ReplicaPlacement(1, "/a"),), size_bytes=160 * GB),
            PartitionFacts(TopicPartition("u", 0), (ReplicaPlacement(2, "/a"),), size_bytes=1650 * GB),
        ],
    )

    plan = planned(model, Relieve(0.75, brokers=(1,)))

    assert [move.target for move in plan.moves] == [(ReplicaPlacement(2, "/b"),)]
