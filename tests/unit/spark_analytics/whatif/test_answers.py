"""What-if questions about small clusters whose answers can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.whatif.answering import Answer, answer
from spark_analytics.whatif.questions import Carry, Grow, Question, Shrink, Upgrade

GB = 10**9


def cluster(
    partitions: Mapping[tuple[str, int], Sequence[int]],
    brokers: int = 4,
    racks: int = 4,
    write: float = 10e6,
    gb: int = 10,
) -> ClusterModel:
    """Brokers 1, 2, ... of 100 MB/s and 100 GB, in racks r1, r2, ... and two IDCs in turn; replicas of 10 GB."""
    return ClusterModel.of(
        "live",
        [
            BrokerFacts(
                each, f"r{1 + (each - 1) % racks}", ("north", "south")[each % 2], capacity=(400, 100e6, 1e9, 100 * GB)
            )
            for each in range(1, brokers + 1)
        ],
        [LogDirFacts(each, "/d", 100 * GB, 100 * GB) for each in range(1, brokers + 1)],
        [
            PartitionFacts(
                TopicPartition(*name),
                tuple(ReplicaPlacement(broker, "/d") for broker in on),
                write_rate=write,
                size_bytes=gb * GB,
                cpu=10,
                leader_cpu=20,
            )
            for name, on in partitions.items()
        ],
    )


def asked(model: ClusterModel, question: Question) -> Answer:
    return answer(model, question)


THREE = {("t", 0): (1, 2, 3), ("t", 1): (2, 3, 4), ("u", 0): (3, 4), ("v", 0): (4,)}


def test_who_is_gone_is_told_with_how_many_leaders_move() -> None:
    """Broker 4 leads v alone, which nobody else has; 3 leads u, which 4 has too."""
    assert asked(cluster(THREE), Carry(brokers=(4,))).leaders == 0
    found = asked(cluster(THREE), Carry(brokers=(3,)))
    assert (found.leaders, found.question, found.is_safe) == (1, "broker 3 lost", True)
    assert found.sentences[0] == "1 of 4 partitions get another leader"


def test_brokers_racks_and_idcs_can_be_gone_together() -> None:
    model = cluster(THREE)
    found = asked(model, Carry(brokers=(1,), racks=("r2",), idcs=("north",)))
    assert found.question == "broker 1, rack r2, IDC north lost"
    assert found.leaders == 2  # of 1, 2 and 4: t-0 and t-1 go to 3, and v is with nobody
    with pytest.raises(InvalidInput, match=r"rack is 'r9': use one of r1, r2, r3, r4"):
        asked(model, Carry(racks=("r9",)))


def test_leaders_that_move_load_those_who_take_over() -> None:
    """Broker 1 leads 6 partitions: their cpu, 20 % of a core each, comes to broker 2 on top of 60."""
    model = cluster({("t", n): (1, 2) for n in range(6)}, brokers=2, write=1e6)
    hurt = asked(model, Carry(brokers=(1,)))
    assert hurt.over == ()
    tight = cluster({("t", n): (1, 2) for n in range(10)}, brokers=2, write=1e6)
    over = asked(tight, Carry(brokers=(1,))).over
    assert [(use.broker, use.resource, use.before, use.after, use.limit) for use in over] == [
        (2, "cpu", 0.25, 0.75, 0.7)
    ]


def test_whether_the_others_could_rebuild_what_was_lost_is_told() -> None:
    assert (
        asked(cluster(THREE), Carry(brokers=(1,))).sentences[-1]
        == "the brokers left have room to rebuild what was lost"
    )
    full = cluster({("t", n): (1 + n % 3, 1 + (n + 1) % 3) for n in range(10)}, brokers=3, write=1.0)
    told = asked(full, Carry(brokers=(1,))).sentences[-1]
    assert told.startswith("the brokers left have no room to rebuild what was lost: ")


def test_growth_names_who_is_over_and_how_much_there_is_left() -> None:
    """Broker 1 leads two partitions and follows one: 30 MB/s in of 100, limit 80; 30 GB of 100."""
    model = cluster({("t", 0): (1,), ("t", 1): (1,), ("u", 0): (2, 1)}, brokers=2)
    grown = asked(model, Grow(3))
    assert {(use.broker, use.resource) for use in grown.over} == {(1, "nw_in"), (1, "disk")}
    assert [(use.broker, use.log_dir, round(use.after, 6)) for use in grown.full] == [(1, "/d", 0.9)]
    assert (
        "as it is placed, the cluster carries 2.67x today's load: then broker 1 nw_in is at its limit"
        in grown.sentences
    )
    assert "perfectly balanced, its brokers would carry it" in grown.sentences
    assert asked(model, Grow(2)).is_safe
    assert "no placement carries it: all brokers together have 80% of what is needed" in asked(model, Grow(5)).sentences


def test_a_topic_that_triples_leaves_the_others_as_they_are() -> None:
    model = cluster({("t", 0): (1,), ("t", 1): (1,), ("u", 0): (2, 1)}, brokers=2)
    assert asked(model, Grow(3, topics=("u",))).is_safe
    assert not asked(model, Grow(4, topics=("t",))).is_safe
    assert asked(model, Grow(4, topics=("t",), stored=False)).full == ()
    with pytest.raises(InvalidInput, match="topic x is not in the model"):
        asked(model, Grow(3, topics=("x",)))


def test_a_bigger_machine_takes_a_broker_below_its_limit() -> None:
    model = cluster({("t", n): (1,) for n in range(9)}, brokers=2)
    bigger = asked(model, Upgrade(brokers=(1,), network=2, disk=2))
    assert bigger.is_safe
    assert bigger.sentences[0] == "2 uses are over a limit now, 0 then"
    assert "fullest broker's disk: 90% now, 45% then" in bigger.sentences
    assert not asked(model, Upgrade(brokers=(2,), network=2, disk=2)).is_safe


@pytest.mark.parametrize("question", [lambda: Grow(0), lambda: Upgrade(cpu=-1), Carry])
def test_a_question_that_makes_no_sense_is_refused(question: Callable[[], Question]) -> None:
    with pytest.raises(InvalidInput, match=r"use |name "):
        question()


def test_of_the_followers_left_each_takes_an_equal_part_of_the_leaders() -> None:
    """The order of a replica list is not known: brokers 2 and 3 lead 5 of 10 partitions each, whatever their ids."""
    model = cluster({("t", n): (1, 2, 3) for n in range(10)}, brokers=3, racks=3, write=1e6)
    over = answer(model, Carry(brokers=(1,)), settings=PlannerSettings(cpu_limit=0.4)).over
    assert [(use.broker, use.after) for use in over] == [(2, 0.5), (3, 0.5)]


@pytest.mark.parametrize("question", [Grow(2), Upgrade(cpu=2)])
def test_what_moves_no_replica_leaves_durability_as_it_is(question: Question) -> None:
    assert asked(cluster(THREE), question).sentences[-1] == "durability is as it is now: no replica moves"


# How many could go.


def test_brokers_may_go_while_capacity_racks_and_replication_factor_allow() -> None:
    """8 brokers hold 16 x 2 x 10 GB: 320 GB need 4 brokers of 80."""
    model = cluster({("t", n): (1 + n % 8, 1 + (n + 1) % 8) for n in range(16)}, brokers=8, racks=8, write=1.0)
    found = asked(model, Shrink()).shrinking
    assert found is not None
    assert (len(found.could_go), found.at_most) == (4, 4)
    assert found.proof == "4 of 8 brokers must stay: the disk of all is below the limit on 4 brokers at least"


def test_the_replication_factor_keeps_as_many_brokers() -> None:
    found = asked(cluster({("t", 0): (1, 2, 3)}, gb=1, write=1.0), Shrink())
    assert found.shrinking is not None
    assert (len(found.shrinking.could_go), found.shrinking.at_most) == (1, 1)
    assert found.sentences[-1] == "no more than that whatever is tried: 3 of 4 brokers must stay: replication factor 3"


def test_only_brokers_of_the_label_go() -> None:
    with pytest.raises(InvalidInput, match="label is 'gold': use one of none"):
        asked(cluster(THREE), Shrink("gold"))


def test_the_answer_is_the_same_each_time() -> None:
    model = cluster(THREE)
    for question in (Carry(brokers=(4,)), Grow(2), Shrink()):
        assert asked(model, question) == asked(model, question)
    assert np.isfinite(model.capacity).all()


def test_of_machines_of_several_sizes_the_largest_are_taken_to_stay() -> None:
    """300 GB on disks of 100, 100, 400 and 400 GB: one of the large ones carries 320."""
    sizes = {1: 100, 2: 100, 3: 400, 4: 400}
    model = ClusterModel.of(
        "live",
        [BrokerFacts(each) for each in sizes],
        [LogDirFacts(each, "/d", size * GB, size * GB) for each, size in sizes.items()],
        [
            PartitionFacts(TopicPartition("t", n), (ReplicaPlacement(3 + n % 2, "/d"),), size_bytes=10 * GB)
            for n in range(30)
        ],
    )
    found = asked(model, Shrink()).shrinking
    assert found is not None
    assert found.at_most == 3
    assert found.could_go == (1, 2, 3)


@pytest.mark.parametrize("question", [Carry(brokers=(1,)), Grow(2), Upgrade(cpu=2), Shrink()])
def test_a_cluster_without_partitions_has_an_answer_to_everything(question: Question) -> None:
    empty = asked(cluster({}), question)
    assert empty.is_safe
    assert empty.sentences
