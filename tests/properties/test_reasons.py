"""Where a plan says that a replica, a rack, an IDC or what may not move keeps it from a target, nothing reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.explaining.asked import Asked
from spark_analytics.explaining.measure import brokers_measured
from spark_analytics.explaining.reasons import Spent, reason
from spark_analytics.explaining.unmet import missed_targets
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, Floats, LogDirFacts, PartitionFacts
from spark_analytics.model.load import load_now
from spark_analytics.model.resources import RESOURCES, Resource
from spark_analytics.search.goal import Targets
from spark_analytics.search.rules import Rules
from tests.unit.spark_analytics.explaining.placing import as_found, free_rules

_FACTS = ("one replica of", "rack r", "IDC ", "what may not move")


@st.composite
def problems(draw: st.DrawFn) -> tuple[ClusterModel, Rules]:
    """Four brokers alike in two or three racks and two data centres, few partitions, some of which may not move."""
    racks = draw(st.permutations([0, 0, 1, draw(st.integers(1, 2))]))
    brokers = [BrokerFacts(each, f"r{rack}", "north" if rack == 0 else "south") for each, rack in enumerate(racks)]
    partitions = []
    for number in range(draw(st.integers(1, 5))):
        order = draw(st.permutations(range(4)))
        on = list({racks[broker]: broker for broker in order}.values())[: draw(st.integers(1, 2))]
        at = tuple(ReplicaPlacement(broker, "/d") for broker in on)
        size, read = draw(st.sampled_from([1, 1, 1, 2, 9])), draw(st.sampled_from([1, 1, 5]))
        partitions.append(PartitionFacts(TopicPartition("t", number), at, 1.0, float(read), size))
    model = ClusterModel.of("live", brokers, [LogDirFacts(each, "/d", 1e9, 1e9) for each in range(4)], partitions)
    pinned = np.repeat([draw(st.integers(0, 4)) == 0 for _ in partitions], np.diff(model.slot_start))
    north = draw(st.sampled_from([0, 1, 1000]))
    limits = np.array([[max(north, int(model.slots > model.partitions)), 1000]])  # two replicas need both
    assume((_in_north(model) <= limits[0, 0]).all())
    rules = replace(free_rules(model), rack_max=np.ones(1, dtype=np.int64), idc_max=limits, free_to_move=~pinned)
    return model, rules


def _in_north(model: ClusterModel) -> Floats:
    north = np.array([name == "north" for name in model.idc_names])[model.idc]
    return np.bincount(model.slot_partition, north[model.slot_broker], model.partitions).astype(np.float64)


def placements(model: ClusterModel, rules: Rules, ordered: bool) -> Iterator[Floats]:
    """[brokers, RESOURCES] what brokers carry in every placement that keeps the rules; `ordered`: whoever leads."""
    each = []
    north = model.idc_names.index("north")
    for partition in range(model.partitions):
        slots = range(model.slot_start[partition], model.slot_start[partition + 1])
        now = tuple(model.slot_broker[slots].tolist())
        ways = [
            on
            for on in (permutations if ordered else combinations)(range(model.brokers), len(slots))
            if len({int(model.rack[broker]) for broker in on}) == len(on)
            and sum(model.idc[broker] == north for broker in on) <= rules.idc_max[0, north]
            and (rules.free_to_move[slots[0]] or on == now or (not ordered and set(on) == set(now)))
        ]
        loads = []
        for on in ways:
            load = np.zeros((model.brokers, RESOURCES))
            for slot, broker in zip(slots, on, strict=True):
                load[broker] += model.slot_load[slot]
            load[on[0]] += model.leader_load[partition]
            loads.append(load)
        each.append(loads)
    for chosen in product(*each):
        yield np.sum(chosen, axis=0)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(problems(), st.sampled_from([Resource.DISK, Resource.NW_OUT]), st.floats(0.01, 1.0))
def test_no_placement_reaches_a_target_that_a_fact_is_said_to_keep_it_from(
    problem: tuple[ClusterModel, Rules], resource: Resource, spread: float
) -> None:
    model, rules = problem
    leads = resource is Resource.NW_OUT
    assume(not leads or model.partitions <= 3)
    targets = Targets.none()
    targets.cv[resource], targets.max_over_mean[resource] = spread, 1 + 2 * spread
    now = load_now(model).broker
    asked, nothing = Asked(targets), as_found(model, model.slot_log_dir, model.leader_slot)
    for _, missed in missed_targets(model, rules, asked, brokers_measured(model, rules, now, now)):
        told = reason(missed, nothing, asked, Spent(0.0, 0))
        if told.startswith(_FACTS):
            for loads in placements(model, rules, leads):
                use = loads[:, resource]
                is_met = use.max() <= (1 + 2 * spread) * use.mean()
                assert not is_met, told
