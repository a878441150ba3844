"""What is explained adds up, and no moment of a plan's execution breaks a limit, whatever the cluster and the moves."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.explaining.measure import places_of
from spark_analytics.explaining.ordering import NEVER, Demand, staged
from spark_analytics.explaining.plan import plan_of
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.model.resources import Resource
from spark_analytics.search.found import Found
from tests.unit.spark_analytics.explaining.placing import ASKED, GB, as_found, free_rules

_LIMIT = 0.8
_EDGE = 1 + 1e-6


@st.composite
def clusters(draw: st.DrawFn) -> ClusterModel:
    """A few brokers with small disks, so that room is scarce."""
    count = draw(st.integers(2, 6))
    paths = draw(st.sampled_from([("/a",), ("/a", "/b")]))
    capacity = (draw(st.sampled_from([40.0, 200.0])), 40e6, 80e6, float("inf"))
    brokers = [
        BrokerFacts(each, f"r{each % 3}", alive=each > 0 or draw(st.booleans()), capacity=capacity)
        for each in range(count)
    ]
    spots = [(broker, path) for broker in range(count) for path in paths]
    partitions = []
    for number in range(draw(st.integers(1, 14))):
        factor = draw(st.integers(1, min(3, count)))
        on = draw(st.permutations(list(range(count))))[:factor]
        at = tuple(ReplicaPlacement(broker, draw(st.sampled_from(paths))) for broker in on)
        size = draw(st.integers(1, 30))
        rates = (draw(st.floats(0, 6e6)), draw(st.floats(0, 9e6)))
        partitions.append(
            PartitionFacts(TopicPartition(f"t{number % 3}", number), at, *rates, size * GB, cpu=3.0, leader_cpu=2.0)
        )
    held: dict[tuple[int, str], int] = defaultdict(int)
    for facts in partitions:
        for place in facts.replicas:
            held[(place.broker, place.log_dir)] += facts.size_bytes
    log_dirs = []
    for broker, path in spots:
        total = max(held[(broker, path)], 10 * GB) + draw(st.integers(0, 60)) * GB
        log_dirs.append(LogDirFacts(broker, path, total, total - held[(broker, path)]))
    return ClusterModel.of("live", brokers, log_dirs, partitions)


@st.composite
def problems(draw: st.DrawFn) -> tuple[ClusterModel, Found]:
    """The cluster, and any other placement with the replicas of a partition on brokers of their own."""
    model = draw(clusters())
    dirs = {broker: np.flatnonzero(model.log_dir_broker == broker).tolist() for broker in range(model.brokers)}
    slots, leaders = model.slot_log_dir.copy(), model.leader_slot.copy()
    for partition in range(model.partitions):
        own = range(model.slot_start[partition], model.slot_start[partition + 1])
        homes = [int(model.slot_broker[slot]) for slot in own]
        others = [each for each in draw(st.permutations(list(range(model.brokers)))) if each not in homes]
        for slot, home in zip(own, homes, strict=True):
            if draw(st.booleans()):
                leaves = draw(st.booleans())
                broker = others.pop() if leaves and others else home
                slots[slot] = draw(st.sampled_from(dirs[broker]))
        leaders[partition] = draw(st.sampled_from(list(own)))
    forced = (slots != model.slot_log_dir) & ~model.alive[model.slot_broker]
    return model, as_found(model, slots, leaders, forced)


def made(problem: tuple[ClusterModel, Found]) -> Plan:
    model, what = problem
    return plan_of(model, model, free_rules(model), what, ASKED, "balance")


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_each_change_is_in_the_plan_as_it_was_found_or_is_left_out_with_a_sentence(
    problem: tuple[ClusterModel, Found],
) -> None:
    model, what = problem
    plan = made(problem)
    by_name = {move.partition: move for move in plan.moves}
    left_out = 0
    for index in range(model.partitions):
        own = range(model.slot_start[index], model.slot_start[index + 1])
        order = sorted(own, key=lambda slot: slot != what.leader_slot[index])
        target = tuple(model.placement(int(what.slot_log_dir[slot])) for slot in order)
        move = by_name.get(model.partition(index))
        if move is None:
            left_out += target[0] != model.replicas(index)[0] or set(target) != set(model.replicas(index))
        else:
            assert set(move.target) == set(target)
            assert move.target[0] == target[0]
            assert move.original == model.replicas(index)
            assert move.goal
            assert move.reason
    assert any("left out" in sentence for sentence in plan.unmet) == (left_out > 0)


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_no_disk_is_overfull_and_no_broker_overloaded_at_any_moment_of_the_execution(
    problem: tuple[ClusterModel, Found],
) -> None:
    """A naive twin walks the stages with dictionaries; at its worst all of a stage has begun and nothing has ended."""
    model, _ = problem
    plan = made(problem)
    now = {model.partition(index): model.replicas(index) for index in range(model.partitions)}
    total = {model.placement(at): model.disk_total_bytes[model.log_dir_disk[at]] for at in range(len(model.log_dirs))}
    size = {model.partition(index): _size(model, index) for index in range(model.partitions)}
    for stage in range(max((move.stage for move in plan.moves), default=0) + 1):
        disk: dict[ReplicaPlacement, float] = defaultdict(float)
        for partition, replicas in now.items():
            for place in replicas:
                disk[place] += size[partition]
        use = _broker_use(model, now)
        entered, loaded = set(), set()
        for move in (move for move in plan.moves if move.stage == stage):
            for place in set(move.target) - set(move.original):
                disk[place] += size[move.partition]
                entered.add(place)
            changed = (
                _broker_use(model, {move.partition: move.target}),
                _broker_use(model, {move.partition: move.original}),
            )
            for key, load in changed[0].items():
                more = load - changed[1].get(key, 0.0)
                if more > 1e-3:
                    use[key] += more
                    loaded.add(key)
            now[move.partition] = move.target
        for place in entered:
            assert disk[place] <= _LIMIT * total[place] * _EDGE
        for broker, resource in loaded:
            limit = 0.7 if resource == Resource.CPU else 0.8
            index = model.broker_index(broker)
            assert use[(broker, resource)] <= limit * model.capacity[index, resource] * _EDGE


def _size(model: ClusterModel, partition: int) -> float:
    return float(model.slot_load[model.slot_start[partition], Resource.DISK])


def _broker_use(
    model: ClusterModel, where: dict[TopicPartition, tuple[ReplicaPlacement, ...]]
) -> dict[tuple[int, Resource], float]:
    """CPU and traffic by broker; the first replica leads. All replicas of a partition cost the same here."""
    use: dict[tuple[int, Resource], float] = defaultdict(float)
    for partition, replicas in where.items():
        index = model.partition_index(partition)
        for nth, place in enumerate(replicas):
            for resource in (Resource.CPU, Resource.NW_IN, Resource.NW_OUT):
                load = model.slot_load[model.slot_start[index], resource]
                use[(place.broker, resource)] += load + (nth == 0) * model.leader_load[index, resource]
    return use


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_what_had_to_move_goes_first_and_then_the_most_relief_per_byte(problem: tuple[ClusterModel, Found]) -> None:
    plan = made(problem)
    stages = [move.stage for move in plan.moves]
    assert stages == sorted(stages)

    def key(move: PartitionMove) -> tuple[int, bool, float]:
        had_to = move.goal in ("dead-broker", "leader-place")
        return move.stage, not had_to, -move.relief / max(move.bytes_to_copy, 1)

    for first, second in zip(plan.moves, plan.moves[1:], strict=False):
        if first.stage == second.stage:
            assert key(first)[:2] <= key(second)[:2]
            if key(first)[:2] == key(second)[:2]:
                assert key(first)[2] <= key(second)[2] + 1e-9


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_a_naive_twin_adds_up_the_same_loads_and_copies(problem: tuple[ClusterModel, Found]) -> None:
    model, _ = problem
    plan = made(problem)
    after = {model.partition(index): model.replicas(index) for index in range(model.partitions)}
    after |= {move.partition: move.target for move in plan.moves}
    use = _broker_use(model, after)
    disk: dict[tuple[int, str], float] = defaultdict(float)
    for partition, replicas in after.items():
        for place in replicas:
            size = _size(model, model.partition_index(partition))
            disk[(place.broker, place.log_dir)] += size
            disk[(place.broker, "")] += size
    for row in plan.loads:
        if row.resource == "disk":
            assert row.after == pytest.approx(disk[(row.broker, row.log_dir)], abs=1)
        elif row.resource in ("cpu", "nw_in", "nw_out"):
            expected = use[(row.broker, Resource[row.resource.upper()])]
            assert row.after == pytest.approx(expected, rel=1e-6, abs=1e-2)
    inside = sum(each.bytes_inside for each in plan.transfers)
    assert sum(each.bytes_in for each in plan.transfers) + inside == plan.bytes_to_copy
    slowest = max((each.seconds for each in plan.transfers), default=0.0)
    assert slowest <= plan.seconds * _EDGE


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(1, 100), st.floats(1, 100)), min_size=2, max_size=6), st.data())
def test_the_reliefs_of_moves_add_up_to_the_fall_of_squared_deviations(
    loads: list[tuple[float, float]], data: st.DataObject
) -> None:
    """Each part is 2 x share x the deviation half way, as credit.py has it."""
    amounts = np.array([load for load, _ in loads])
    before = amounts[:, None].copy()
    moves = []
    after = before.copy()
    for _ in range(data.draw(st.integers(1, 5))):
        source, sink = data.draw(st.permutations(range(len(loads))))[:2]
        share = data.draw(st.floats(0, float(after[source, 0])))
        after[source] -= share
        after[sink] += share
        moves.append((source, sink, share))
    capacity = np.array([[size] for _, size in loads])
    every = np.ones(len(loads), dtype=np.bool_)
    places = places_of(before, after, capacity, capacity, every, np.zeros(len(loads), dtype=np.int64), whole=True)
    half = places.half_way[:, 0] / places.unit[:, 0]
    parts = sum(2 * share * (half[source] - half[sink]) for source, sink, share in moves)
    fall = (places.deviation_before**2).sum() - (places.deviation_after**2).sum()
    assert parts == pytest.approx(fall, rel=1e-6, abs=1e-6)


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)), max_size=3), max_size=8),
    st.lists(st.integers(-3, 12), min_size=4, max_size=4),
)
def test_stages_are_safe_and_leave_out_only_what_is_stuck(
    items: list[list[tuple[int, int, int]]], room: list[int]
) -> None:
    entries: dict[tuple[int, int], tuple[int, int]] = {}
    for item, wants in enumerate(items):
        for place, takes, frees in wants:
            entries[(item, place)] = (takes, frees)
    demand = Demand(
        np.array([item for item, _ in entries], dtype=np.int64),
        np.array([place for _, place in entries], dtype=np.int64),
        np.array([takes for takes, _ in entries.values()], dtype=np.float64),
        np.array([frees for _, frees in entries.values()], dtype=np.float64),
    )
    stages = staged(demand, np.array(room, dtype=np.float64), np.arange(len(items)))
    left = dict(enumerate(room))
    for stage in range(int(stages.max(initial=0)) + 1):
        chosen = [(key, entry) for key, entry in entries.items() if stages[key[0]] == stage]
        taken = dict(left)
        for (_, place), (takes, _) in chosen:
            taken[place] -= takes
        assert all(taken[place] >= -1e-6 for (_, place), (takes, _) in chosen if takes > 0)
        for (_, place), (takes, frees) in chosen:
            left[place] += frees - takes
    for item in np.flatnonzero(stages == NEVER).tolist():
        needs = [(place, takes) for (of, place), (takes, _) in entries.items() if of == item]
        assert any(takes > left[place] for place, takes in needs), "it would have fit at the end"
