"""A label's topics on machines of their own."""

from __future__ import annotations

from typing import Any

import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import Machine
from guardian.model.tasks import Isolate
from spark_analytics.model.cluster_model import ClusterModel, TopicFacts
from tests.unit.spark_analytics.planners.small import GB, brokers, cluster, planned, targets

GOLD = {"label": "gold"}


def machine(name: str, disk: int = 1000, **other: Any) -> Machine:
    return Machine(name, disk_bytes=disk * GB, **{"idc": "", "rack": f"m-{name}"} | other)


def gold(on: dict[str, tuple[tuple[int, ...], int]], count: int, labelled: int, **other: Any) -> ClusterModel:
    """Brokers 1 to `labelled` have the label, and so has topic g."""
    labels = {f"b{each}": GOLD for each in range(1, labelled + 1)}
    return cluster(brokers(count, **labels), on, topics=[TopicFacts("g", label="gold")], **other)


def test_a_topic_gets_brokers_of_its_own_and_who_was_there_leaves() -> None:
    model = cluster(brokers(4), {"g-0": ((1, 2), 10), "t-0": ((3, 2), 10), "t-1": ((1, 2), 10)})

    plan = planned(model, Isolate("gold", ("g",), brokers=(3, 4)))

    assert targets(plan) == {"g-0": [3, 4], "t-0": [1, 2]}
    assert plan.notes == ("broker 3 gets the label", "broker 4 gets the label")


def test_no_more_machines_are_taken_than_there_must_be() -> None:
    model = cluster(brokers(3), {f"g-{number}": ((1, 2), 300) for number in range(2)})
    offered = tuple(machine(name) for name in "abcd")

    plan = planned(model, Isolate("gold", ("g",), machines=offered))

    assert len(plan.notes) == 2
    assert all(set(at) <= {4, 5} for at in targets(plan).values())
    more = planned(model, Isolate("gold", ("g",), machines=offered, headroom=0.5))
    assert len(more.notes) == 3


def test_of_brokers_that_are_offered_the_one_with_least_on_it_is_emptied() -> None:
    model = cluster(brokers(4), {"g-0": ((1,), 10), "t-0": ((2,), 90), "t-1": ((3,), 20), "t-2": ((4,), 50)})

    plan = planned(model, Isolate("gold", ("g",), brokers=(2, 3, 4)))

    assert plan.notes == ("broker 3 gets the label",)
    assert set(targets(plan)) == {"g-0", "t-1"}


def test_a_label_with_room_takes_nothing() -> None:
    plan = planned(gold({"g-0": ((1,), 10), "t-0": ((3,), 10)}, 3, 2), Isolate("gold", machines=(machine("a"),)))

    assert (plan.moves, plan.notes) == ((), ())


def test_too_few_machines_are_refused_with_the_sum() -> None:
    model = cluster(brokers(3), {"g-0": ((1, 2), 900)})

    with pytest.raises(InvalidInput, match=r"label gold has too few machines, with all 1 offered .*factor 2"):
        planned(model, Isolate("gold", ("g",), machines=(machine("a"),)))
    with pytest.raises(InvalidInput, match="1 machines stand in data centres without a broker of cluster live"):
        planned(model, Isolate("gold", ("g",), machines=(machine("a"), machine("b", idc="mars"))))
    with pytest.raises(InvalidInput, match="disk_bytes of machine a is 0"):
        planned(model, Isolate("gold", ("g",), machines=(machine("a", disk=0),)))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (GOLD, "brokers has 3, which has label gold: name brokers without a label"),
        ({"alive": False}, "brokers has 3, which is down: name another"),
        ({"excluded": True}, "brokers has 3, which is excluded from new replicas: name another"),
    ],
)
def test_a_broker_that_can_not_be_taken_is_refused(changed: dict[str, Any], sentence: str) -> None:
    model = cluster(brokers(3, b3=changed), {"g-0": ((1,), 10)})

    with pytest.raises(InvalidInput, match=sentence):
        planned(model, Isolate("gold", ("g",), brokers=(3,)))


def test_a_label_that_no_topic_has_is_refused() -> None:
    with pytest.raises(InvalidInput, match="label is 'silver', which no topic of cluster live has"):
        planned(cluster(brokers(2), {"t-0": ((1,), 1)}), Isolate("silver"))


def test_the_machine_with_least_on_it_goes_back() -> None:
    model = gold({"g-0": ((1,), 90), "g-1": ((2,), 30), "g-2": ((3,), 60), "t-0": ((4,), 1)}, 4, 3)

    plan = planned(model, Isolate("gold", release=1))

    assert set(targets(plan)) == {"g-1"}
    assert plan.notes == (
        "broker 2 becomes empty and loses its label: without it, it serves any topic that has no label, and its "
        "machine is free for other clusters once it is removed (guardian broker remove 2 --cluster live)",
    )


def test_as_many_go_back_as_can() -> None:
    model = gold({"g-0": ((1, 2), 30), "t-0": ((4,), 1)}, 4, 3)

    plan = planned(model, Isolate("gold", release=2))

    (note,) = plan.notes
    assert note.startswith("broker 3 is empty already: take its label off (guardian cluster add --label 3=); ")
    assert plan.unmet == ("1 of the 2 machines asked back can go",)
    with pytest.raises(InvalidInput, match="release is 1, and label gold can spare none of its 2 machines"):
        planned(gold({"g-0": ((1, 2), 30)}, 3, 2), Isolate("gold", release=1))


def test_a_machine_with_a_partition_that_was_not_seen_whole_does_not_go_back() -> None:
    """Broker 2 holds least."""
    model = gold({"g-0": ((1,), 90), "g-1": ((2,), 30), "g-2": ((3,), 60)}, 4, 3, unseen=["g-1"])

    plan = planned(model, Isolate("gold", release=1))

    (note,) = plan.notes
    assert note.startswith("broker 3 becomes empty and loses its label: ")


def test_a_partition_that_was_not_seen_whole_stays_and_the_others_get_their_machines() -> None:
    model = cluster(brokers(5), {"g-0": ((1, 2), 10), "g-1": ((1, 2), 10)}, unseen=["g-1"])

    plan = planned(model, Isolate("gold", ("g",), brokers=(3, 4, 5)))

    assert set(targets(plan)) == {"g-0"}
    assert len(plan.notes) == 2
    assert any(sentence.startswith("g-1 stays as it is") for sentence in plan.unmet)
