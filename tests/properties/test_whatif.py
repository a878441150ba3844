"""The arrays say of brokers that are gone what their partitions say one by one; as many can go as are told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.model.cluster_state import PartitionState
from guardian.model.durability import BrokerPlace, TopicFacts, TopicSettings
from guardian.model.plan import ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Remove
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.model.resources import Resource
from spark_analytics.planners.planning import make
from spark_analytics.whatif.shrinking import shrinking
from spark_analytics.whatif.taking_over import after_loss, moved_leaders

pytestmark = pytest.mark.slow

World = tuple[ClusterModel, dict[str, TopicFacts], dict[int, BrokerPlace]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """The same cluster as a model and as Kafka tells it; leaders live, dead brokers are out of the ISR."""
    count = draw(st.integers(1, 6))
    places = {
        each: BrokerPlace(
            f"r{draw(st.integers(0, 2))}", f"i{draw(st.integers(0, 1))}", each == 0 or draw(st.booleans())
        )
        for each in range(count)
    }
    topics: dict[str, TopicFacts] = {}
    facts = []
    for name in ("a", "b"):
        chosen = TopicSettings(draw(st.integers(1, 3)), draw(st.booleans()))
        partitions = {}
        for number in range(draw(st.integers(1, 4))):
            replicas = tuple(draw(st.permutations(list(range(count))))[: draw(st.integers(1, min(3, count)))])
            alive = tuple(broker for broker in replicas if places[broker].is_alive)
            if not alive:
                continue  # a model knows no leader of it
            partitions[number] = PartitionState(alive[0], replicas, alive)
            on = (alive[0], *(broker for broker in replicas if broker != alive[0]))
            at = tuple(ReplicaPlacement(broker, "/d") for broker in on)
            facts.append(PartitionFacts(TopicPartition(name, number), at, 1e6, 1e6, 1000))
        topics[name] = TopicFacts(chosen, partitions)
    model = ClusterModel.of(
        "live",
        [BrokerFacts(each, at.rack, at.idc, alive=at.is_alive) for each, at in places.items()],
        [LogDirFacts(each, "/d", 10_000, 10_000) for each in places],
        facts,
    )
    return model, topics, places


@settings(max_examples=100)
@given(worlds(), st.sets(st.integers(0, 5)))
def test_leaders_that_move_and_what_is_written_then_are_those_of_each_partition(world: World, gone: set[int]) -> None:
    model, topics, _ = world
    inside = np.isin(model.broker_ids, list(gone))
    moved, written = 0, 0.0
    for facts in topics.values():
        for partition in facts.partitions.values():
            left = set(partition.isr) - gone
            moved += partition.leader in gone and bool(left)
            written += 1e6 * len(left)
    assert moved_leaders(model, inside) == moved
    assert after_loss(model, inside)[:, Resource.NW_IN].sum() == pytest.approx(written)


@st.composite
def shrinkable(draw: st.DrawFn) -> ClusterModel:
    """Brokers of several sizes in a few racks, all alive, some full, some empty; two replicas of most partitions."""
    count = draw(st.integers(2, 7))
    sizes = [draw(st.sampled_from([100, 100, 200])) for _ in range(count)]
    facts = []
    for number in range(draw(st.integers(0, 14))):
        on = draw(st.permutations(list(range(count))))[: draw(st.integers(1, min(3, count)))]
        at = tuple(ReplicaPlacement(broker, "/d") for broker in on)
        facts.append(PartitionFacts(TopicPartition("t", number), at, 1.0, 1.0, draw(st.integers(1, 30))))
    held = {
        each: sum(one.size_bytes for one in facts if each in {at.broker for at in one.replicas})
        for each in range(count)
    }
    return ClusterModel.of(
        "live",
        [BrokerFacts(each, f"r{draw(st.integers(0, 3))}") for each in range(count)],
        [
            LogDirFacts(each, "/d", max(size, held[each]), max(size, held[each]) - held[each])
            for each, size in enumerate(sizes)
        ],
        facts,
    )


def removed(model: ClusterModel, brokers: tuple[int, ...]) -> int:
    """How many of these a plan of their removal empties."""
    plan = make(model, Remove(brokers)) if brokers else None
    where = {model.partition(index): model.replicas(index) for index in range(model.partitions)}
    where |= {move.partition: move.target for move in (plan.moves if plan else ())}
    return len(set(brokers) - {place.broker for places in where.values() for place in places})


@settings(max_examples=60, derandomize=True)  # it plans: the same clusters each time
@given(shrinkable())
def test_as_many_brokers_can_be_removed_as_are_told_and_no_other_one_besides(model: ClusterModel) -> None:
    found = shrinking(model, PlannerSettings(), model.alive)
    assert removed(model, found.could_go) == len(found.could_go) <= found.at_most
    replicas = int(np.diff(model.slot_start).max(initial=1))
    assert len(found.could_go) <= model.brokers - replicas
    for other in set(model.broker_ids.tolist()) - set(found.could_go):
        together = (*found.could_go, other)
        if len(together) < model.brokers:
            assert removed(model, together) <= len(found.could_go)


@settings(max_examples=60)
@given(worlds())
def test_with_dead_brokers_only_living_ones_go(world: World) -> None:
    model, _, _ = world
    found = shrinking(model, PlannerSettings(), model.alive)
    assert len(found.could_go) <= found.at_most
    assert set(found.could_go) <= set(model.broker_ids[model.alive].tolist())
