"""What lies on dead brokers and broken disks finds a place; nothing else moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from guardian.model.federation import IdcPolicy
from guardian.model.tasks import EmptyDisk, Heal, LogDir, Remove, ReplicationFactor
from spark_analytics.model.cluster_model import ClusterModel, LogDirFacts, TopicFacts
from spark_analytics.model.edits import with_changes
from tests.unit.spark_analytics.planners.small import GB, brokers, cluster, planned, targets

GOLD = {"label": "gold"}
SEEN = "its leader knows of more replicas than were sampled, or nobody leads"


def test_replicas_of_dead_brokers_and_broken_disks_are_made_anew() -> None:
    model = cluster(brokers(5, b1={"alive": False}), {"t-0": ((1, 2), 10), "t-1": ((3, 4), 10), "t-2": ((4, 5), 10)})
    model = replace(model, log_dir_offline=np.array([False, False, True, False, False]))

    plan = planned(model, Heal())

    assert set(targets(plan)) == {"t-0", "t-1"}
    assert not {broker for at in targets(plan).values() for broker in at} & {1, 3}
    assert plan.unmet == ()


def test_racks_that_are_shared_are_parted_from_the_fuller_broker() -> None:
    model = cluster(brokers(3, b1={"rack": "r2"}), {"t-0": ((1, 2), 10), "t-1": ((1, 3), 10)})

    assert targets(planned(model, Heal())) == {"t-0": [2, 3]}


def test_what_has_no_living_replica_is_told() -> None:
    model = cluster(brokers(3, b1={"alive": False}), {"t-0": ((1,), 10), "t-1": ((2,), 10)})

    plan = planned(model, Heal())

    assert plan.moves == ()
    assert plan.unmet == (
        "t-0 stays as it is, having no living replica to copy from: bring back a disk or broker of 1",
    )


def test_partitions_with_replicas_that_nobody_has_seen_stay_and_are_named_with_what_is_gone() -> None:
    """Of what was on broker 3's disk, which was offline all the while, there are no rows."""
    on = {f"t-{number}": ((1, 2), 10) for number in range(5)}
    model = cluster(brokers(5, b1={"alive": False}, b5={"alive": False}), on, unseen=["t-0", "t-1", "t-2", "t-3"])
    model = replace(model, log_dir_offline=np.array([False, False, True, False, False]))

    plan = planned(model, Heal())

    assert targets(plan) == {"t-4": [2, 4]}
    assert plan.unmet == (
        "t-0, t-1, t-2 and 1 more stay as they are: their leaders know of more replicas than were sampled, or nobody "
        "leads: bring back 3:/d, broker 5, or take a window that begins before that was lost",
    )


def test_where_nothing_is_known_to_be_gone_the_sentence_says_where_to_look() -> None:
    model = cluster(brokers(3, b1={"rack": "r2"}), {"t-0": ((1, 2), 10)}, unseen=["t-0"])

    assert planned(model, Heal()).unmet == (
        f"t-0 stays as it is: {SEEN}: take a later window, or see guardian durability",
    )


def test_other_tasks_leave_them_as_well_and_tell_of_those_that_they_were_to_move() -> None:
    model = cluster(brokers(4), {"t-0": ((1, 2), 10), "t-1": ((2, 3), 10)}, unseen=["t-0"])

    factor = planned(model, ReplicationFactor(("t",), 3))
    emptied = planned(model, EmptyDisk((LogDir(2, "/d"),)))
    unconcerned = planned(model, EmptyDisk((LogDir(3, "/d"),)))

    assert set(targets(factor)) == set(targets(emptied)) == set(targets(unconcerned)) == {"t-1"}
    assert set(targets(planned(model, ReplicationFactor(("t",), 1)))) == {"t-1"}
    for told in (factor, emptied):
        assert any(sentence.startswith(f"t-0 stays as it is: {SEEN}") for sentence in told.unmet)
    assert unconcerned.unmet == ()


def test_what_has_no_living_replica_is_not_moved_within_its_broker_nor_thinned_out() -> None:
    """Broker 1 has a second disk; t-0 is on the first, which is broken, and on broker 2, which is dead."""
    on = [each if each.id != 2 else replace(each, alive=False) for each in brokers(4)]
    model = with_changes(
        cluster(on, {"t-0": ((1, 2), 10), "t-1": ((3, 4), 10)}),
        log_dirs=[
            LogDirFacts(1, "/d", 1000 * GB, 900 * GB, offline=True),
            LogDirFacts(1, "/e", 1000 * GB, 1000 * GB),
        ],
    )
    lost = "t-0 stays as it is, having no living replica to copy from: bring back a disk or broker of 1, 2"

    assert planned(model, Heal()).unmet == (lost,)
    emptied = planned(model, EmptyDisk((LogDir(1, "/d"),)))
    assert (emptied.moves, emptied.unmet) == ((), (lost,))
    fewer = planned(model, ReplicationFactor(("t",), 1))
    assert set(targets(fewer)) == {"t-1"}
    assert lost in fewer.unmet
    assert planned(model, Remove((1,))).unmet == (
        lost,
        "broker 1 can't go: t-0 must not be moved, as none of its replicas lives",
    )


def test_what_goes_back_home_shares_no_rack_with_another_that_went_there_meanwhile() -> None:
    """t-0 is to leave 1 and 2. Only 3 has room, in the rack of 2: what is on 2 goes there, and nothing from 1."""
    places = {"b1": GOLD, "b2": GOLD | {"rack": "b"}, "b3": {"rack": "b"}}
    plan = planned(full_but_for_3(**places), Heal())

    assert targets(plan) == {"t-0": [1, 3]}
    assert [sentence.partition(":")[0] for sentence in plan.unmet] == ["1 replica stays on broker 1 (t-0)"]


def test_what_goes_back_home_shares_no_data_centre_either() -> None:
    idcs = {"b1": GOLD | {"idc": "west"}, "b2": GOLD | {"idc": "east"}, "b3": {"idc": "east"}, "b4": {"idc": "west"}}
    split = IdcPolicy("split", (("east", 1), ("west", 1)), "")
    told = {"topics": [TopicFacts("full"), TopicFacts("t", policy="split")], "policies": [split]}
    plan = planned(full_but_for_3(told, **idcs), Heal())

    assert targets(plan) == {"t-0": [1, 3]}
    assert len(plan.unmet) == 1


def test_nor_when_it_was_a_log_dir_that_had_no_room_for_it() -> None:
    """24 GB fit on broker 4, but 8 GB only once on each of its disks."""
    on = brokers(4, b1=GOLD | {"rack": "a"}, b2=GOLD | {"rack": "b"}, b3={"rack": "b"})
    model = with_changes(
        cluster(on, {f"t-{number}": ((1, 2), 8) for number in range(3)}),
        log_dirs=[LogDirFacts(4, path, 15 * GB, 15 * GB) for path in ("/d", "/e")],
    )
    plan = planned(model, Heal())

    assert sorted(targets(plan).values()) == [[1, 3], [3, 4], [3, 4]]
    assert len(plan.unmet) == 1


def full_but_for_3(told: Mapping[str, Any] | None = None, **places: Mapping[str, Any]) -> ClusterModel:
    """t-0 has no label, and is on brokers 1 and 2, which have one."""
    return cluster(brokers(4, **places), {"full-0": ((4,), 795), "t-0": ((1, 2), 10)}, **told or {})
