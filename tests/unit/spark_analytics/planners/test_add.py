"""New brokers take their share from the others."""

from __future__ import annotations

from guardian.model.federation import IdcPolicy
from guardian.model.tasks import Add
from spark_analytics.model.cluster_model import TopicFacts
from tests.unit.spark_analytics.planners.small import brokers, cluster, planned


def test_a_leader_that_goes_to_a_new_broker_outside_the_preferred_data_centre_hands_over() -> None:
    """What leads from the wrong data centre and stays where it is goes on leading there: to add is not to mend."""
    racks = {"b1": {"rack": "west-1", "idc": "west"}, "b2": {"rack": "east-1", "idc": "east"}}
    on = brokers(3, **racks, b3={"rack": "west-2", "idc": "west"})
    policy = IdcPolicy("split", (("east", 1), ("west", 1)), "east")
    model = cluster(
        on,
        {f"t-{each}": ((1, 2), 10) for each in range(8)},
        topics=[TopicFacts("t", policy="split")],
        policies=[policy],
    )

    plan = planned(model, Add((3,)))

    moved = [move for move in plan.moves if 3 in move.target_brokers]
    assert moved
    assert {move.target_brokers for move in moved} == {(2, 3)}
