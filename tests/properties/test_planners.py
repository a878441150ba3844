"""Every planner against a naive twin or a lower bound, on small random clusters; every plan against the checker.

The examples are the same each time, so that none fails by chance; `make soak` looks for others.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.plan import Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Isolate,
    Leaders,
    LogDir,
    MigrateIdc,
    Relieve,
    Remove,
    ReplicationFactor,
    Task,
)
from guardian.model.topology import TopicPartition
from guardian.model.wire.plans import plan_to_bytes
from spark_analytics.checker import check
from spark_analytics.model.cluster_model import (
    Bools,
    BrokerFacts,
    ClusterModel,
    LogDirFacts,
    PartitionFacts,
    TopicFacts,
)
from spark_analytics.model.edits import with_changes, with_placement
from spark_analytics.model.load import load_now
from spark_analytics.model.resources import Resource
from spark_analytics.planners.choosing import cheapest, least_sum
from spark_analytics.planners.planning import explained, make, solve
from spark_analytics.planners.problem import Solution
from spark_analytics.planners.relieve import used_bytes
from tests.properties.planning import GB, SPLIT, Facts, FirstFit, apart, clusters, facts, roomy, suits

pytestmark = pytest.mark.slow

_SETTINGS = PlannerSettings()
_ROOMY = PlannerSettings(cpu_limit=1.0, network_limit=1.0, disk_limit=1.0, disk_reserve=0.0)
_SOAK = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), database=None)

_PROPERTIES: list[tuple[Callable[..., None], tuple[Any, ...]]] = []


def holds_for(*given_: Any, examples: int = 30) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A property, of the same examples each time here, and of others each time in the soak below."""
    same = settings(
        max_examples=examples, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        _PROPERTIES.append((test, given_))
        drawn: Any = given(*given_)
        tested: Callable[..., None] = same(drawn(test))
        return tested

    return decorated


def _with(model: ClusterModel, **changed: object) -> ClusterModel:
    return replace(model, **changed)  # type: ignore[arg-type]


def _sound(model: ClusterModel, task: Task, how: PlannerSettings = _SETTINGS) -> tuple[Solution, Plan]:
    """Solved and explained; the checker finds nothing wrong."""
    solution = solve(model, task, how)
    plan = explained(model, task, how, solution)
    assert check(model, plan, how, task) == ()
    return solution, plan


def _copied(solution: Solution) -> Bools:
    """[slots] of the edited model: replicas that are copied from one place to another."""
    model = solution.problem.model
    return np.asarray((model.slot_log_dir >= 0) & (solution.found.slot_log_dir != model.slot_log_dir))


def _bytes(model: ClusterModel, slots: Bools) -> float:
    return float(model.slot_load[slots, Resource.DISK].sum())


def _require(error: InvalidInput, words: str) -> None:
    """A refusal says why."""
    assert words in str(error)


def _some_brokers(draw: st.DataObject, model: ClusterModel, most: int) -> tuple[int, ...]:
    return tuple(
        draw.draw(st.lists(st.sampled_from(model.broker_ids.tolist()), min_size=1, max_size=most, unique=True))
    )


def _slots(model: ClusterModel, partition: int) -> range:
    return range(int(model.slot_start[partition]), int(model.slot_start[partition + 1]))


def _has_policy(model: ClusterModel, partition: int) -> bool:
    return bool(model.topic_policy[model.partition_topic[partition]] >= 0)


@holds_for(clusters(), st.data())
def test_a_removal_copies_what_the_brokers_hold_and_not_a_byte_more(model: ClusterModel, data: st.DataObject) -> None:
    asked = _some_brokers(data, model, model.brokers - 1)

    solution, _ = _sound(model, Remove(asked))

    stays = {broker for broker in asked if any(f"broker {broker} can't go" in each for each in solution.unmet)}
    leaving = np.isin(model.broker_ids, sorted(set(asked) - stays))[model.slot_broker]
    assert (_copied(solution) == leaving).all()
    assert solution.notes == (f"{len(asked) - len(stays)} of the {len(asked)} brokers asked for can go",)


@holds_for(clusters(least_brokers=5, excluded=False), st.data())
def test_a_broker_that_stays_is_one_that_can_not_go(model: ClusterModel, data: st.DataObject) -> None:
    """The naive twin: with room for everything everywhere, as many can go as leave each topic its brokers and racks."""
    asked = _some_brokers(data, model, model.brokers - 1)
    unseen = set(model.slot_broker[~model.whole[model.slot_partition]].tolist())

    solution, _ = _sound(roomy(model), Remove(asked))

    could_go = max(
        size
        for size in range(len(asked) + 1)
        for gone in combinations(asked, size)
        if not unseen & set(gone) and all(_is_left_well(model, gone, topic) for topic in range(len(model.topics)))
    )
    assert solution.notes == (f"{could_go} of the {len(asked)} brokers asked for can go",)


def _is_left_well(model: ClusterModel, gone: Sequence[int], topic: int) -> bool:
    """Whether a topic's replicas can still stand in as many racks, and where its policy wants them."""
    of_topic = (model.partition_topic == topic) & model.whole
    if not of_topic.any():
        return True
    left = [broker for broker in range(model.brokers) if suits(model, topic, broker) and broker not in gone]
    all_there = [broker for broker in range(model.brokers) if suits(model, topic, broker)]
    if model.topic_policy[topic] >= 0 and {model.idc_names[model.idc[broker]] for broker in left} != {"east", "west"}:
        return False
    factors = np.unique(np.diff(model.slot_start)[of_topic]).tolist()
    return all(_crowd(model, left, factor) <= _crowd(model, all_there, factor) < np.inf for factor in factors)


def _crowd(model: ClusterModel, brokers: Sequence[int], factor: int) -> float:
    """The least number of replicas that must share a rack; inf where there are too few brokers."""
    left = Counter(model.rack[brokers].tolist())
    shares = (share for share in range(1, factor + 1) if sum(min(share, n) for n in left.values()) >= factor)
    return next(shares, np.inf)


@holds_for(clusters(), st.floats(0.3, 0.95))
def test_relief_copies_no_more_than_the_largest_or_the_smallest_first(model: ClusterModel, limit: float) -> None:
    spares = [(label, idc, nth) for label in ("", "gold") for idc in ("east", "west") for nth in range(3)]
    model = with_changes(
        model,
        brokers=[
            BrokerFacts(100 + spare, f"spare{spare}", idc, label=label) for spare, (label, idc, _) in enumerate(spares)
        ],
        log_dirs=[LogDirFacts(100 + spare, "/a", 1e14, 1e14) for spare in range(len(spares))],
    )

    solution, _ = _sound(model, Relieve(limit))

    goes = _copied(solution)
    may_go = (model.movable & model.whole)[model.slot_partition]
    disk = model.log_dir_disk[model.slot_log_dir]
    excess = used_bytes(model) - limit * model.disk_total_bytes
    for full in range(len(model.disk_total_bytes)):
        on = np.flatnonzero((disk == full) & may_go)
        gone = _bytes(model, goes & (disk == full))
        sizes = model.slot_load[on, Resource.DISK]
        if excess[full] <= 0:
            assert gone == 0
            continue
        assert gone >= min(excess[full], sizes.sum()) * (1 - 1e-9)
        for order in (np.sort(sizes), np.sort(sizes)[::-1]):
            assert gone <= _until(order, excess[full]) * (1 + 1e-9)


def _until(sizes: Iterable[float], needed: float) -> float:
    taken = 0.0
    for size in sizes:
        if taken >= needed:
            break
        taken += size
    return taken


@holds_for(st.lists(st.integers(1, 60), max_size=9), st.integers(1, 200))
def test_the_least_sum_is_that_of_all_sums_to_within_the_step_of_its_table(sizes: list[int], needed: int) -> None:
    chosen = least_sum(np.array(sizes, dtype=np.float64), float(needed))

    sums = [sum(each) for size in range(len(sizes) + 1) for each in combinations(sizes, size)]
    best = min((total for total in sums if total >= needed), default=sum(sizes))
    assert sum(sizes[item] for item in chosen) <= best + len(sizes) * needed / 4000
    assert sum(sizes[item] for item in chosen) >= min(needed, sum(sizes))


@holds_for(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=8), st.data())
def test_the_cheapest_that_fit_are_those_of_all_sets(items: list[tuple[int, int]], data: st.DataObject) -> None:
    count, needed = data.draw(st.integers(0, len(items))), data.draw(st.integers(0, 40))

    def fits(chosen: Sequence[int]) -> bool:
        return sum(items[item][1] for item in chosen) >= needed

    chosen = cheapest([(float(cost),) for cost, _ in items], count, fits, range(len(items)))

    costs = [sum(items[item][0] for item in each) for each in combinations(range(len(items)), count) if fits(each)]
    assert (chosen is None) == (not costs)
    if chosen is not None:
        assert sum(items[item][0] for item in chosen) == min(costs)


@holds_for(clusters(), st.integers(1, 2))
def test_new_brokers_take_and_no_other_does_and_no_more_than_their_share(model: ClusterModel, new: int) -> None:
    """The bound: what is their share of the least even load, and a replica more."""
    size = float(np.median(model.disk_total_bytes))
    ids = [100 + each for each in range(new)]
    grown = with_changes(
        model,
        brokers=[BrokerFacts(each, f"new{each}", "east", new=True) for each in ids],
        log_dirs=[LogDirFacts(each, "/a", size, size) for each in ids],
    )

    solution, plan = _sound(grown, Add(tuple(ids)))

    if model.movable[free := model.whole & (model.topic_label[model.partition_topic] < 0)].any() and not plan.unmet:
        assert _copied(solution).any() or not free.any()
    broker = grown.log_dir_broker[solution.found.slot_log_dir]
    assert np.isin(grown.broker_ids[broker[_copied(solution)]], ids).all()
    use = load_now(grown).broker / np.maximum(load_now(grown).broker.sum(axis=0), 1e-9)
    uneven = float((use.max(axis=0) * grown.brokers).max())
    disk = grown.slot_load[:, Resource.DISK]
    capacity = grown.capacity[:, Resource.DISK]
    for each in np.flatnonzero(np.isin(grown.broker_ids, ids)).tolist():
        fair = float(disk.sum() * max(capacity[each] / capacity.sum(), 1 / grown.brokers))
        assert _bytes(grown, _copied(solution) & (broker == each)) <= uneven * fair + disk.max()


@holds_for(clusters(), st.data())
def test_healing_copies_what_dead_brokers_and_broken_disks_hold(model: ClusterModel, data: st.DataObject) -> None:
    dead = data.draw(st.integers(0, model.brokers - 1))
    broken = data.draw(st.integers(0, len(model.log_dirs) - 1))
    harmed = _with(
        model,
        alive=np.arange(model.brokers) != dead,
        log_dir_offline=np.arange(len(model.log_dirs)) == broken,
    )

    solution, _ = _sound(harmed, Heal())

    lost = (harmed.slot_broker == dead) | (harmed.slot_log_dir == broken)
    lives = np.bincount(model.slot_partition[~lost], minlength=model.partitions) > 0
    lost &= (lives & model.whole)[model.slot_partition]
    stuck = {each.slot for each in solution.found.stuck}
    moved = set(np.flatnonzero(_copied(solution)).tolist())
    assert moved >= set(np.flatnonzero(lost).tolist()) - stuck
    for slot in stuck & set(np.flatnonzero(lost).tolist()):
        assert _has_policy(model, int(model.slot_partition[slot])) or not _fits_somewhere(harmed, solution, slot)
    # Without the dead broker a rack may have to take two, or a label has too few: only then does more than that move.
    if len(set(model.rack[harmed.alive & ~harmed.excluded].tolist())) == len(model.rack_names) and not stuck:
        assert all(slot in np.flatnonzero(lost) or _is_near(harmed, slot, moved) for slot in moved)


def _is_near(model: ClusterModel, slot: int, moved: Iterable[int]) -> bool:
    """A topic of a label, a tenant or a policy has fewer racks than the cluster."""
    topic = int(model.partition_topic[model.slot_partition[slot]])
    racks = {int(model.rack[broker]) for broker in range(model.brokers) if suits(model, topic, broker)}
    living = {
        int(model.rack[broker])
        for broker in range(model.brokers)
        if suits(model, topic, broker) and model.alive[broker] and not model.excluded[broker]
    }
    return racks != living or _has_policy(model, int(model.slot_partition[slot]))


def _fits_somewhere(model: ClusterModel, solution: Solution, slot: int) -> bool:
    """Beside all that the plan copies, in a rack of its own."""
    partition = int(model.slot_partition[slot])
    others = FirstFit(model, _SETTINGS)
    for moved in np.flatnonzero(_copied(solution)).tolist():
        others.spend(int(solution.found.slot_log_dir[moved]), model.slot_load[moved])
    after = model.log_dir_broker[solution.found.slot_log_dir[list(_slots(model, partition))]].tolist()
    load = model.slot_load[slot] + model.leader_load[partition]
    racks = model.rack[after].tolist()
    return others.place(int(model.partition_topic[partition]), load.tolist(), after, racks) is not None


@holds_for(clusters(paths=[("/a", "/b"), ("/a", "/b", "/c")]), st.data())
def test_emptying_a_disk_copies_what_is_on_it_within_its_broker_while_there_is_room(
    model: ClusterModel, data: st.DataObject
) -> None:
    log_dir = data.draw(st.integers(0, len(model.log_dirs) - 1))
    at = model.placement(log_dir)

    solution, _ = _sound(model, EmptyDisk((LogDir(at.broker, at.log_dir),)))

    on = (model.slot_log_dir == log_dir) & model.whole[model.slot_partition]
    stuck = {each.slot for each in solution.found.stuck}
    assert set(np.flatnonzero(_copied(solution)).tolist()) == set(np.flatnonzero(on).tolist()) - stuck
    beside = (model.log_dir_broker == model.log_dir_broker[log_dir]) & (np.arange(len(model.log_dirs)) != log_dir)
    disk = model.log_dir_disk[beside]
    total = model.disk_total_bytes
    grows = float(model.growth_bytes_per_s.sum()) * _SETTINGS.growth_days * 86_400
    room = np.minimum(0.8 * total - used_bytes(model), model.disk_usable_bytes - 0.05 * total)[disk]
    if room.max() >= _bytes(model, on) + grows:
        assert (model.log_dir_broker[solution.found.slot_log_dir[on]] == model.log_dir_broker[log_dir]).all()


@holds_for(clusters(excluded=False), st.integers(1, 4))
def test_a_replication_factor_costs_a_copy_for_each_replica_more_and_nothing_for_one_less(
    model: ClusterModel, factor: int
) -> None:
    topics = range(len(model.topics))
    homes = min(sum(suits(model, topic, broker) for broker in range(model.brokers)) for topic in topics)
    if homes < factor:
        with pytest.raises(InvalidInput, match=f"replication_factor is {factor}, and only {homes} brokers may hold"):
            solve(roomy(model), ReplicationFactor(("*",), factor), _ROOMY)
        return

    solution, plan = _sound(roomy(model), ReplicationFactor(("*",), factor), _ROOMY)

    assert not _copied(solution).any()
    edited = solution.problem.model
    assert all(_has_policy(edited, int(edited.slot_partition[each.slot])) for each in solution.found.stuck)
    more = np.bincount(
        edited.slot_partition[(edited.slot_log_dir < 0) & (solution.found.slot_log_dir >= 0)],
        minlength=model.partitions,
    )
    size = model.slot_load[model.leader_slot, Resource.DISK]
    assert plan.bytes_to_copy == pytest.approx(float((more * size).sum()))
    for partition in range(model.partitions):
        now, then = len(_slots(model, partition)), len(_slots(edited, partition))
        assert then == (factor if model.whole[partition] else now)
        assert more[partition] == max(then - now, 0) or _has_policy(model, partition)
        assert model.replicas(partition)[0] in edited.replicas(partition)


@holds_for(clusters(excluded=False), st.integers(1, 2))
def test_fewer_replicas_keep_as_many_racks_as_any_choice_could(model: ClusterModel, factor: int) -> None:
    solution, _ = _sound(roomy(model), ReplicationFactor(("*",), factor), _ROOMY)

    for partition in np.flatnonzero(model.whole).tolist():
        before = [at.broker for at in model.replicas(partition)]
        if len(before) <= factor or _has_policy(model, partition):
            continue
        after = [at.broker for at in solution.problem.model.replicas(partition)]
        best = max(len({model.rack[broker] for broker in kept}) for kept in combinations(before, factor))
        assert len({model.rack[broker] for broker in after}) == best


@holds_for(clusters(excluded=False), st.data())
def test_a_migration_copies_only_what_the_policy_lacks(model: ClusterModel, data: st.DataObject) -> None:
    topic = data.draw(st.integers(0, len(model.topics) - 1))
    mine = model.partition_topic == topic
    replicas = int(np.diff(model.slot_start)[mine][0])
    homes = [broker for broker in range(model.brokers) if suits(model, topic, broker)]
    there = Counter(model.idc_names[model.idc[broker]] for broker in homes)
    splits = [(east, replicas - east) for east in range(replicas + 1)]
    splits = [(east, west) for east, west in splits if east <= there["east"] and west <= there["west"]]
    east, west = data.draw(st.sampled_from(splits))
    wanted = {idc: count for idc, count in (("east", east), ("west", west)) if count}
    policy = IdcPolicy("p", tuple(wanted.items()), data.draw(st.sampled_from(sorted(wanted))))

    solution, _ = _sound(roomy(model), MigrateIdc(policy, (model.topics[topic],)), _ROOMY)

    found = solution.found
    assert found.stuck == ()
    for partition in np.flatnonzero(mine & model.whole).tolist():
        slots = _slots(model, partition)
        before = [model.idc_names[model.idc[model.slot_broker[slot]]] for slot in slots]
        brokers = [int(model.log_dir_broker[found.slot_log_dir[slot]]) for slot in slots]
        after = [model.idc_names[model.idc[broker]] for broker in brokers]
        assert {idc: after.count(idc) for idc in after} == wanted
        leader = int(model.log_dir_broker[found.slot_log_dir[found.leader_slot[partition]]])
        assert model.idc_names[model.idc[leader]] == policy.preferred_leader_idc
        lacks = sum(max(0, count - before.count(idc)) for idc, count in wanted.items())
        moved = int(_copied(solution)[list(slots)].sum())
        assert moved >= lacks
        if _racks_allow(model, homes, before, wanted):
            assert moved == lacks
    assert not _copied(solution)[~(mine & model.whole)[model.slot_partition]].any()


def _racks_allow(model: ClusterModel, homes: Sequence[int], before: Sequence[str], wanted: Mapping[str, int]) -> bool:
    """No rack must be shared, before or after, so that nothing else moves."""
    racks = {
        idc: len({int(model.rack[broker]) for broker in homes if model.idc_names[model.idc[broker]] == idc})
        for idc in model.idc_names
    }
    return all(count <= racks[idc] for idc, count in wanted.items()) and len(before) <= sum(racks.values())


@holds_for(clusters(), st.integers(1, 12), st.integers(1, 3), st.integers(1, 30), st.integers(1, 30))
def test_a_new_topic_makes_the_fullest_disk_no_fuller_than_round_robin_does(
    model: ClusterModel, partitions: int, replicas: int, size: int, rate: int
) -> None:
    topic = Topic("live", "new", expected_bytes_in_per_s=rate * 10**6 * partitions)
    task = CreateTopic(topic, partitions, replicas, size * GB)
    huge = _with(
        model,
        disk_total_bytes=np.full_like(model.disk_total_bytes, 1e13),
        disk_usable_bytes=np.full_like(model.disk_usable_bytes, 9e12),
        capacity=np.tile([np.inf, np.inf, np.inf, 1e13], (model.brokers, 1)),
    )
    homes = np.flatnonzero((model.broker_label < 0) & ~model.excluded).tolist()
    if len(homes) < replicas:
        with pytest.raises(InvalidInput, match="finds no place"):
            solve(huge, task, _SETTINGS)
        return

    solution, plan = _sound(huge, task)

    edited = solution.problem.model
    assert not _copied(solution).any()
    assert plan.bytes_to_copy == 0
    new = edited.partition_topic == edited.topic_index("new")
    assert edited.slot_load[new[edited.slot_partition], Resource.DISK].tolist() == [size * GB] * partitions * replicas
    placed = edited.log_dir_broker[solution.found.slot_log_dir[new[edited.slot_partition]]]
    held = load_now(huge).broker[:, Resource.DISK]
    naive = held.copy()
    for number in range(partitions):
        order = [homes[(number + step) % len(homes)] for step in range(len(homes))]
        naive[apart(order, len(model.rack_names), replicas)] += size * GB
    ours = held + size * GB * np.bincount(placed, minlength=model.brokers)
    # Disk is one of several resources that it evens out, so a replica more may stand there than by disk alone.
    assert ours.max() <= max(naive.max(), held.max()) + 2 * size * GB * (1 + 1e-9)


@holds_for(clusters(), st.integers(1, 8))
def test_an_expanded_topic_keeps_what_it_has_where_it_is(model: ClusterModel, more: int) -> None:
    now = int((model.partition_topic == 0).sum())

    try:
        solution, plan = _sound(model, ExpandTopic("t0", now + more), _ROOMY)
    except InvalidInput as error:
        _require(error, "finds no place")
        assert not _could_expand(model, more)
        return

    assert len(plan.moves) == more
    assert all(move.is_new for move in plan.moves)
    assert not _copied(solution).any()


def _could_expand(model: ClusterModel, more: int) -> bool:
    """Each new partition as heavy as the heaviest, in racks of their own."""
    mine = model.partition_topic == 0
    replicas = int(np.diff(model.slot_start)[mine].max())
    of_topic = mine[model.slot_partition]
    load = (model.slot_load[of_topic].max(axis=0) + model.leader_load[mine].max(axis=0)).tolist()
    fit = FirstFit(model, _ROOMY)
    for _ in range(more):
        on: list[int] = []
        for _ in range(replicas):
            broker = fit.place(0, load, on, model.rack[on].tolist())
            if broker is None or _has_policy(model, 0):
                return False
            on.append(broker)
    return True


@holds_for(clusters(least_brokers=4), st.lists(st.integers(50, 900), min_size=1, max_size=5), st.data())
def test_a_label_takes_no_more_machines_than_any_choice_that_has_room(
    model: ClusterModel, disks: list[int], data: st.DataObject
) -> None:
    """The lower bound: room for the sum of the disk, and as many machines as a partition has replicas."""
    free = [topic for topic in range(len(model.topics)) if model.topic_policy[topic] < 0]
    assume(free)
    topic = data.draw(st.sampled_from(free))
    mine = (model.partition_topic == topic) & model.whole
    assume(mine.any())
    replicas = int(np.diff(model.slot_start)[mine].max())
    needed = _bytes(model, mine[model.slot_partition])
    machines = tuple(Machine(f"m{number}", "east", f"n{number}", disk * GB) for number, disk in enumerate(disks))
    enough = [
        len(each)
        for size in range(replicas, len(machines) + 1)
        for each in combinations(disks, size)
        if 0.8 * sum(each) * GB >= needed
    ]
    task = Isolate("own", (model.topics[topic],), machines=machines, first_id=500)

    try:
        solution, plan = _sound(model, task)
    except InvalidInput as error:
        _require(error, "too few machines")
        assert not enough or not _could_isolate(model, topic, mine, machines)
        return

    assert enough
    assert len(solution.notes) >= min(enough)
    joined = set(solution.problem.model.broker_ids.tolist()) - set(model.broker_ids.tolist())
    assert joined == set(range(500, 500 + len(solution.notes))) == {broker for broker, _ in plan.joins}
    assert {move.partition.topic for move in plan.moves} == {model.topics[topic]}
    assert all(set(move.target_brokers) <= joined for move in plan.moves)


def _could_isolate(model: ClusterModel, topic: int, mine: Bools, machines: Sequence[Machine]) -> bool:
    """The largest first, on any of the machines."""
    label = model.label_names[model.topic_label[topic]] if model.topic_label[topic] >= 0 else "gold"
    grown = with_changes(
        model,
        brokers=[BrokerFacts(500 + nth, each.rack, each.idc, label=label) for nth, each in enumerate(machines)],
        log_dirs=[LogDirFacts(500 + nth, "/a", each.disk_bytes, each.disk_bytes) for nth, each in enumerate(machines)],
    )
    excluded = grown.broker_ids < 500
    labelled = grown.topic_label.copy()
    labelled[topic] = grown.label_names.index(label)
    fit = FirstFit(_with(grown, excluded=excluded, topic_label=labelled), _SETTINGS)
    for partition in sorted(
        np.flatnonzero(mine).tolist(), key=lambda each: -model.slot_load[model.slot_start[each], 3]
    ):
        on: list[int] = []
        for slot in _slots(model, partition):
            load = (model.slot_load[slot] + model.leader_load[partition]).tolist()
            broker = fit.place(topic, load, on)
            if broker is None:
                return False
            on.append(broker)
    return True


@holds_for(clusters(least_brokers=4, plain=True), st.data())
def test_a_label_gives_back_the_machines_that_hold_least(model: ClusterModel, data: st.DataObject) -> None:
    """The naive twin: of all sets of that size with room, none holds less."""
    all_gold = with_changes(
        model,
        brokers=[
            BrokerFacts(each, model.rack_names[model.rack[each]], model.idc_names[model.idc[each]], label="gold")
            for each in range(model.brokers)
        ],
        topics=[TopicFacts(name, label="gold") for name in model.topics],
    )
    asked = data.draw(st.integers(1, model.brokers))
    try:
        solution, _ = _sound(all_gold, Isolate("gold", release=asked), _ROOMY)
    except InvalidInput as error:
        _require(error, "can spare none")
        assert not any(_could_go(all_gold, broker) for broker in range(model.brokers))
        return

    held = np.bincount(model.slot_broker, model.slot_load[:, Resource.DISK], model.brokers)
    given_back = np.unique(model.slot_broker[_copied(solution)])
    size = len(solution.notes)
    assert len(given_back) <= size
    assert _bytes(model, _copied(solution)) >= np.sort(held)[:size].sum() * (1 - 1e-9)


def _could_go(model: ClusterModel, broker: int) -> bool:
    """All that it holds finds places in racks without the same partition."""
    fit = FirstFit(_with(model, alive=np.arange(model.brokers) != broker), _ROOMY)
    for slot in np.flatnonzero(model.slot_broker == broker).tolist():
        partition = int(model.slot_partition[slot])
        others = [each for each in model.slot_broker[list(_slots(model, partition))].tolist() if each != broker]
        load = (model.slot_load[slot] + model.leader_load[partition]).tolist()
        if fit.place(int(model.partition_topic[partition]), load, others, model.rack[others].tolist()) is None:
            return False
    return True


@holds_for(clusters(), st.data())
def test_leaders_move_without_a_byte_and_away_from_where_they_are_not_wanted(
    model: ClusterModel, data: st.DataObject
) -> None:
    away = data.draw(st.integers(0, model.brokers - 1))

    solution, plan = _sound(model, Leaders(away_from=(away,)))

    assert plan.bytes_to_copy == 0
    for partition, leader in enumerate(solution.found.leader_slot.tolist()):
        elsewhere = [at.broker for at in model.replicas(partition) if at.broker != away]
        if model.whole[partition] and not _has_policy(model, partition) and elsewhere:
            assert model.slot_broker[leader] != away


@holds_for(clusters(plain=True))
def test_leaders_are_as_even_as_by_handing_over_from_the_most_to_the_least(model: ClusterModel) -> None:
    solution, _ = _sound(model, Leaders(), PlannerSettings(goals=("leader-spread",)))

    ours = np.bincount(model.slot_broker[solution.found.leader_slot], minlength=model.brokers)
    naive = model.leader_slot.copy()
    while (step := _hand_over(model, naive)) is not None:
        naive[step[0]] = step[1]
    least = np.bincount(model.slot_broker[naive], minlength=model.brokers).max()
    assert ours.max() <= max(least, np.ceil(1.17 * model.partitions / model.brokers))


def _hand_over(model: ClusterModel, leads: np.ndarray) -> tuple[int, int] | None:
    """(partition, slot) from a broker that leads two more than another holder, the most first."""
    count = np.bincount(model.slot_broker[leads], minlength=model.brokers)
    best = None
    for partition, leader in enumerate(leads.tolist()):
        for slot in _slots(model, partition):
            gain = int(count[model.slot_broker[leader]] - count[model.slot_broker[slot]])
            if gain > 1 and (best is None or gain > best[0]):
                best = gain, partition, slot
    return None if best is None else best[1:]


@holds_for(st.lists(st.integers(0, 20), min_size=3, max_size=7).filter(lambda held: sum(held) >= 4 * len(held)))
def test_a_balance_of_equal_replicas_copies_as_few_as_reach_the_target(held: list[int]) -> None:
    """The naive twin: one from the fullest to the emptiest broker, until all are within the target."""
    model = _of_equal_replicas(held)
    how = PlannerSettings(goals=("disk-spread",), target_spread=0.5, topic_spread=False, disk_limit=1.0, disk_reserve=0)

    solution, plan = _sound(model, Balance(), how)

    counts, moves = np.array(held), 0
    while counts.max() > 1.5 * counts.mean() or counts.std() > 0.3 * counts.mean():
        counts[counts.argmax()] -= 1
        counts[counts.argmin()] += 1
        moves += 1
    ours = np.bincount(model.log_dir_broker[solution.found.slot_log_dir], minlength=len(held))
    assert ours.max() <= 1.5 * ours.mean()
    assert ours.std() <= 0.33 * ours.mean()
    assert _copied(solution).sum() <= moves + 1
    assert plan.bytes_to_copy == 10 * GB * _copied(solution).sum()


def _of_equal_replicas(held: Sequence[int]) -> ClusterModel:
    names = iter(range(sum(held)))
    return ClusterModel.of(
        "live",
        [BrokerFacts(each, f"r{each}") for each in range(len(held))],
        [LogDirFacts(each, "/a", 1000 * GB, 500 * GB) for each in range(len(held))],
        [
            PartitionFacts(TopicPartition("t", next(names)), (ReplicaPlacement(each, "/a"),), size_bytes=10 * GB)
            for each, count in enumerate(held)
            for _ in range(count)
        ],
    )


_KINDS: list[Task] = [
    Balance(),
    Leaders(),
    Remove((0,)),
    Remove((1, 2), balance=True),
    Relieve(0.5),
    ReplicationFactor(("t0",), 2),
    CreateTopic(Topic("live", "new"), 3, 1),
    ExpandTopic("t0", 20),
    EmptyDisk((LogDir(0, "/a"),)),
    MigrateIdc(SPLIT, ("t0",)),
    Isolate("own", ("t0",), machines=tuple(Machine(f"m{each}", "east", f"n{each}", 900 * GB) for each in range(4))),
    Heal(),
    Add((0,)),
]


def _answer(model: ClusterModel, task: Task, how: PlannerSettings = _SETTINGS) -> Plan | str:
    try:
        plan = make(model, task, how)
    except InvalidInput as error:
        return str(error)
    assert check(model, plan, how, task) == ()
    return plan


@holds_for(clusters(), st.sampled_from(_KINDS), st.integers(0, 200), st.integers(0, 4000), examples=60)
def test_a_plan_stays_within_its_bytes_and_its_time_or_says_by_how_much_it_is_too_much(
    model: ClusterModel, task: Task, budget: int, seconds: int
) -> None:
    plan = _answer(model, task, PlannerSettings(max_bytes=float(budget * GB), max_seconds=float(seconds)))

    if isinstance(plan, str):
        assert plan == _answer(model, task)
        return
    told = [each for each in plan.unmet if "nothing of it can be left out" in each]
    over = [plan.bytes_to_copy > budget * GB, plan.seconds > seconds]
    assert len(told) == sum(over)
    if told:  # only what a rule forces, or can't be done in parts
        assert isinstance(task, Isolate | Balance | Add | Remove)
        least = _answer(model, task, PlannerSettings(max_bytes=0.0, max_seconds=float(seconds)))
        assert isinstance(least, Plan)
        assert plan.bytes_to_copy <= max(least.bytes_to_copy, budget * GB)


@holds_for(clusters(), st.sampled_from(_KINDS), st.integers(1, 30), examples=60)
def test_no_plan_breaks_a_hard_goal_that_was_kept(model: ClusterModel, task: Task, most: int) -> None:
    plan = _answer(model, task, PlannerSettings(max_replicas=most))

    if isinstance(plan, Plan) and not isinstance(task, Remove | Isolate | MigrateIdc | ReplicationFactor):
        assert [goal.goal for goal in plan.goals if goal.is_hard and goal.after > goal.before] == []


_LED = st.lists(st.permutations(range(4)), min_size=8, max_size=16)


@holds_for(_LED, st.integers(1, 2), st.sampled_from([Balance(), Leaders(), Heal()]))
def test_each_broker_leads_what_min_leaders_asks_where_there_is_enough(
    on: list[list[int]], least: int, task: Task
) -> None:
    """Four brokers and at least twice as many partitions of three replicas: each can lead two."""
    model = ClusterModel.of(
        "live",
        [BrokerFacts(each, f"r{each}") for each in range(4)],
        [LogDirFacts(each, "/a", 1000 * GB, 500 * GB) for each in range(4)],
        [
            PartitionFacts(
                TopicPartition("t", number), tuple(ReplicaPlacement(at, "/a") for at in order[:3]), size_bytes=GB
            )
            for number, order in enumerate(on)
        ],
    )

    solution, plan = _sound(model, task, PlannerSettings(min_leaders=(("t", least),)))

    led = np.bincount(model.log_dir_broker[solution.found.slot_log_dir[solution.found.leader_slot]], minlength=4)
    assert led.min() >= least
    assert {goal.goal: goal.is_met for goal in plan.goals}["min-leaders"]


@holds_for(clusters(), st.sampled_from(_KINDS))
def test_the_same_input_gives_the_same_plan(model: ClusterModel, task: Task) -> None:
    assert _answer(model, task) == _answer(model, task)


@holds_for(facts(), st.sampled_from(_KINDS), st.randoms(use_true_random=False))
def test_the_order_of_the_facts_does_not_matter(given_: Facts, task: Task, order: random.Random) -> None:
    shuffled = Facts(
        order.sample(given_.brokers, len(given_.brokers)),
        order.sample(given_.log_dirs, len(given_.log_dirs)),
        order.sample(given_.partitions, len(given_.partitions)),
        order.sample(given_.topics, len(given_.topics)),
    )

    answers = [_answer(each.model(), task) for each in (given_, shuffled)]

    assert answers[0] == answers[1]
    if isinstance(answers[0], Plan) and isinstance(answers[1], Plan):
        assert plan_to_bytes(answers[0]) == plan_to_bytes(answers[1])


@holds_for(st.lists(st.integers(0, 40), min_size=3, max_size=6).filter(lambda held: sum(held) >= 12 * len(held)))
def test_a_plan_of_the_planned_cluster_moves_nothing_where_all_was_reached(held: list[int]) -> None:
    model = _of_equal_replicas(held)
    solution, first = _sound(model, Balance())
    planned = with_placement(model, solution.found.slot_log_dir, solution.found.leader_slot)

    second = make(planned, Balance())

    ours = np.bincount(model.log_dir_broker[solution.found.slot_log_dir], minlength=len(held))
    assert ours.max() <= 1.1 * ours.mean()
    assert second.moves == () or first.unmet


@holds_for(st.integers(2, 5), st.integers(6, 9))
def test_two_replicas_change_places_when_no_single_move_helps(small: int, large: int) -> None:
    """Two brokers with as many replicas and leaders each: any one that goes makes one hold more than the other."""
    model = ClusterModel.of(
        "live",
        [BrokerFacts(each, f"r{each}") for each in range(2)],
        [LogDirFacts(each, "/a", 1000 * GB, 900 * GB) for each in range(2)],
        [
            PartitionFacts(TopicPartition("t", number), (ReplicaPlacement(number % 2, "/a"),), size_bytes=size * GB)
            for number, size in enumerate([large, small, large, small])
        ],
    )

    solution, plan = _sound(model, Balance())

    after = with_placement(model, solution.found.slot_log_dir, solution.found.leader_slot)
    assert plan.bytes_to_copy == (small + large) * GB
    assert load_now(after).broker[:, Resource.DISK].tolist() == [(small + large) * GB] * 2


@pytest.mark.soak
@pytest.mark.parametrize(("test", "given_"), _PROPERTIES, ids=[test.__name__ for test, _ in _PROPERTIES])
def test_it_holds_for_other_examples_each_time(test: Callable[..., None], given_: tuple[Any, ...]) -> None:
    drawn: Any = given(*given_)
    _SOAK(drawn(test))()
