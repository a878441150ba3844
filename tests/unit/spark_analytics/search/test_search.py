"""The search on clusters of some size: does it reach what is asked, for how much, and what does it do when it can't?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from guardian.model.planner_settings import PlannerSettings
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.planners.rules import Scope, compiled
from spark_analytics.search.found import Found, Why
from spark_analytics.search.goal import Budget, Targets
from spark_analytics.search.rules import Rules
from spark_analytics.search.search import find, leaders
from tests.bench.planner.blind import least_bytes
from tests.bench.planner.fresh import Shape, model_of
from tests.bench.planner.shared import moved_bytes
from tests.unit.spark_analytics.planners.small import brokers, cluster

pytestmark = pytest.mark.slow

SMALL = Shape(11, 30, 3_000, 6, 3)


def rules_of(model: ClusterModel) -> Rules:
    return compiled(model, PlannerSettings())[0]


def found_of(shape: Shape, targets: Targets | None = None, budget: Budget | None = None) -> tuple[ClusterModel, Found]:
    model = model_of(shape)
    return model, find(model, rules_of(model), targets or Targets.default(), budget)


def test_a_skewed_cluster_meets_every_target_for_little_more_than_disk_alone_takes() -> None:
    model, found = found_of(SMALL)
    assert found.met.all()
    assert moved_bytes(model, found) < 1.5 * least_bytes(model, found)


def test_a_cluster_that_is_even_enough_is_left_alone() -> None:
    model = model_of(SMALL)
    rules = replace(rules_of(model), capacity_limit=np.full(4, np.inf))
    found = find(model, rules, Targets(np.full(6, 9.0), np.full(6, 99.0), disk_level=99.0))
    assert found.slot_log_dir.tolist() == model.slot_log_dir.tolist()
    assert found.leader_slot.tolist() == model.leader_slot.tolist()


def test_planning_what_was_planned_moves_next_to_nothing() -> None:
    model, first = found_of(SMALL)
    start = model.slot_start[:-1]
    settled = replace(model, slot_log_dir=first.slot_log_dir)
    if (first.leader_slot != start).any():
        # the model wants the leader first: exchange it with the first slot of its partition
        log_dir, load = first.slot_log_dir.copy(), model.slot_load.copy()
        moved = np.flatnonzero(first.leader_slot != start)
        a, b = start[moved], first.leader_slot[moved]
        log_dir[a], log_dir[b] = first.slot_log_dir[b], first.slot_log_dir[a]
        load[a], load[b] = model.slot_load[b], model.slot_load[a]
        settled = replace(model, slot_log_dir=log_dir, slot_load=load)
    second = find(settled, rules_of(settled), Targets.default())
    assert moved_bytes(settled, second) < 0.02 * moved_bytes(model, first)


def test_more_is_moved_the_more_is_asked() -> None:
    moved = [moved_bytes(*found_of(SMALL, Targets.of_spread(spread))) for spread in (0.6, 0.3, 0.1)]
    assert moved == sorted(moved)
    assert moved[0] < moved[-1]


def test_a_larger_budget_of_bytes_is_kept_and_makes_the_cluster_no_less_even() -> None:
    model, free = found_of(SMALL)
    whole = moved_bytes(model, free)
    cvs = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        found = find(model, rules_of(model), Targets.default(), Budget(bytes=share * whole))
        assert moved_bytes(model, found) <= share * whole * (1 + 1e-9)
        cvs.append(float(found.cv[3]))
    assert cvs == sorted(cvs, reverse=True)
    assert cvs[-1] < 0.6 * cvs[0]


@pytest.mark.slow
def test_no_leader_moves_when_none_may() -> None:
    _, found = found_of(SMALL, budget=Budget(leader_moves=0))
    model = model_of(SMALL)
    led_before = model.slot_broker[model.leader_slot]
    led = model.log_dir_broker[found.slot_log_dir][found.leader_slot]
    assert (led == led_before).all()


@pytest.mark.slow
def test_a_brokers_share_of_the_bytes_is_kept() -> None:
    most = 50e9
    model, found = found_of(SMALL, budget=Budget(broker_bytes=most))
    now = model.log_dir_broker[found.slot_log_dir]
    moved = now != model.slot_broker
    size = model.slot_load[:, 3]
    assert np.bincount(now[moved], size[moved], model.brokers).max() <= most * (1 + 1e-9)
    source = model.slot_broker[model.leader_slot][model.slot_partition]
    assert np.bincount(source[moved], size[moved], model.brokers).max() <= most * (1 + 1e-9)


def test_everything_leaves_dead_brokers_and_nothing_else_when_nothing_else_is_asked() -> None:
    model, found = found_of(replace(SMALL, dead_brokers=0.1), Targets.none())
    now = model.log_dir_broker[found.slot_log_dir]
    assert model.alive[now].all()
    assert ((now != model.slot_broker) == ~model.alive[model.slot_broker]).all()
    assert found.stuck == ()


def test_a_replica_that_no_broker_may_take_stays_and_is_named() -> None:
    model = model_of(SMALL)
    rules = rules_of(model)
    may_stay = rules.may_stay.copy()
    may_stay[:, 3] = False
    found = find(model, replace(rules, may_stay=may_stay, may_take=np.zeros_like(may_stay)), Targets.none())
    on = np.flatnonzero(model.slot_broker == 3)
    assert [item.slot for item in found.stuck] == on.tolist()
    assert {item.why for item in found.stuck} == {Why.NOT_ALLOWED}
    assert found.slot_log_dir.tolist() == model.slot_log_dir.tolist()


def test_a_replica_finds_no_broker_when_none_has_the_room() -> None:
    model = model_of(SMALL)
    rules = replace(rules_of(model), disk_limit=0.01)
    must_leave = np.zeros(model.slots, dtype=np.bool_)
    must_leave[int(model.slot_load[:, 3].argmax())] = True
    found = find(model, replace(rules, must_leave=must_leave), Targets.none())
    assert [item.why for item in found.stuck] == [Why.DISK_ROOM]


def test_a_partition_larger_than_a_broker_should_hold_is_proven_out_of_reach_and_all_else_is_met() -> None:
    _, found = found_of(Shape(12, 40, 6_000, 8, 2, heavy=1.2))
    assert not found.met[3]
    assert found.least_max[3] > Targets.default().max_over_mean[3]
    assert np.delete(found.met, 3).all()


def test_topics_are_spread_no_worse_than_before() -> None:
    model, found = found_of(SMALL)
    topic = model.partition_topic[model.slot_partition]

    def most(broker: np.ndarray) -> np.ndarray:
        count = np.zeros((len(model.topics), model.brokers), dtype=np.int64)
        np.add.at(count, (topic, broker), 1)
        return np.asarray(count.max(axis=1))

    even = -(-np.bincount(topic) // model.brokers)
    assert (most(model.log_dir_broker[found.slot_log_dir]) <= np.maximum(most(model.slot_broker), even)).all()


def test_leaders_alone_even_out_what_leading_costs() -> None:
    model = model_of(SMALL)
    found = leaders(model, rules_of(model), Targets.default())
    before = np.bincount(model.slot_broker[model.leader_slot], minlength=model.brokers)
    after = np.bincount(model.slot_broker[found.leader_slot], minlength=model.brokers)
    assert after.std() < 0.5 * before.std()


@pytest.mark.parametrize("rf", [2, 3])
def test_log_dirs_of_a_broker_are_level_afterwards_unless_one_replica_is_too_large(rf: int) -> None:
    model, found = found_of(Shape(13, 12, 6_000, 4, rf, disks=4))
    broker = model.log_dir_broker[found.slot_log_dir]
    for amount in (model.slot_load[:, 3], model.slot_io):
        held = np.bincount(found.slot_log_dir, amount, len(model.log_dirs)).reshape(-1, 4)
        largest = np.zeros(model.brokers)
        np.maximum.at(largest, broker, amount)
        mean = held.mean(axis=1)
        assert (held.max(axis=1) <= np.maximum(1.1 * mean, 1.05 * largest) * (1 + 1e-9)).all()


def test_no_bytes_move_inside_a_broker_whose_log_dirs_are_level() -> None:
    model, found = found_of(Shape(13, 12, 3_000, 4, 2, disks=4), Targets.none(disk_level=99.0))
    assert found.slot_log_dir.tolist() == model.slot_log_dir.tolist()


def test_a_spent_budget_copies_nothing_inside_brokers_either() -> None:
    model, found = found_of(Shape(13, 12, 3_000, 4, 2, disks=4), budget=Budget(bytes=0))
    assert found.slot_log_dir.tolist() == model.slot_log_dir.tolist()


def test_a_broker_holds_no_more_replicas_than_it_may_and_gives_the_smallest_away() -> None:
    model = model_of(SMALL)
    held = np.bincount(model.slot_broker, minlength=model.brokers)
    most = np.full(model.brokers, int(held.max()) - 10)
    found = find(model, replace(rules_of(model), most_replicas=most), Targets.none())
    now = model.log_dir_broker[found.slot_log_dir]
    assert (np.bincount(now, minlength=model.brokers) <= most).all()
    moved = now != model.slot_broker
    assert (moved == found.forced).all()
    assert int(moved.sum()) == int(np.maximum(held - most, 0).sum())
    assert model.slot_load[moved, 3].max() < np.median(model.slot_load[:, 3])


def test_a_task_that_does_not_mend_leaves_a_broker_with_too_many_replicas_as_it_is() -> None:
    model = model_of(SMALL)
    rules = replace(rules_of(model), most_replicas=np.full(model.brokers, 10), mends=False)
    found = find(model, rules, Targets.none())
    assert found.slot_log_dir.tolist() == model.slot_log_dir.tolist()


def test_every_broker_leads_as_many_of_a_topic_as_it_must() -> None:
    model = model_of(SMALL)
    partitions = np.bincount(model.partition_topic)
    topic = int(partitions.argmax())
    least = np.zeros(len(model.topics), dtype=np.int64)
    least[topic] = 2
    assert partitions[topic] > 2 * model.brokers
    for targets in (Targets.none(), Targets.default()):
        found = find(model, replace(rules_of(model), least_leaders=least), targets)
        leads = model.log_dir_broker[found.slot_log_dir][found.leader_slot][model.partition_topic == topic]
        assert np.bincount(leads, minlength=model.brokers).min() >= 2


def test_leaders_that_may_not_lead_where_they_are_hand_over_though_nothing_else_is_forced() -> None:
    model = model_of(SMALL)
    rules = rules_of(model)
    may_lead = rules.may_lead.copy()
    may_lead[:, 3] = False
    led = model.slot_broker[model.leader_slot] == 3
    for mends in (True, False):
        found = find(model, replace(rules, may_lead=may_lead, mends=mends), Targets.none())
        now = model.log_dir_broker[found.slot_log_dir][found.leader_slot] == 3
        assert now.sum() == (0 if mends else led.sum())


def test_brokers_above_a_limit_come_below_it_where_the_others_have_the_capacity() -> None:
    model = model_of(SMALL)
    disk = np.bincount(model.slot_broker, model.slot_load[:, 3], model.brokers) / model.capacity[:, 3]
    limit = 1.03 * float(disk.mean())
    rules = replace(rules_of(model), capacity_limit=np.array([1.0, 1.0, 1.0, limit]), disk_limit=1.0)
    found = find(model, rules, Targets.of_spread(0.3))
    now = model.log_dir_broker[found.slot_log_dir]
    assert (np.bincount(now, model.slot_load[:, 3], model.brokers) <= limit * model.capacity[:, 3]).all()


@pytest.mark.slow
def test_new_brokers_take_from_those_that_give() -> None:
    model = model_of(replace(SMALL, fresh_brokers=0.1))
    rules = rules_of(model)
    fresh = np.bincount(model.slot_broker, minlength=model.brokers) == 0
    rules = replace(rules, may_take=rules.may_take & fresh, compared=rules.may_take, mends=False)
    found = find(model, rules, Targets.default())
    now = model.log_dir_broker[found.slot_log_dir]
    moved = now != model.slot_broker
    assert fresh[now[moved]].all()
    assert (
        np.bincount(now, model.slot_load[:, 3], model.brokers)[fresh] > 0.5 * model.slot_load[:, 3].sum() / 30
    ).all()


@pytest.mark.slow
def test_what_grows_and_what_io_allows_keep_copies_out() -> None:
    model = model_of(Shape(13, 12, 3_000, 4, 2, disks=4))
    model = replace(model, disk_io_capacity=np.full(len(model.disk_total_bytes), 1e7))
    rules = rules_of(model)
    for closed in (replace(rules, disk_spare=model.disk_total_bytes.copy()), replace(rules, disk_io_limit=1e-9)):
        found = find(model, closed, Targets.default())
        assert found.slot_log_dir.tolist() == model.slot_log_dir.tolist()


def test_load_outside_a_task_is_a_part_of_what_is_proven() -> None:
    """Racks of 1, 4 and 4 brokers: only one topic's partitions move, and all others lie where they lie."""
    model = model_of(Shape(5, 9, 900, 3, 3))
    rack = np.array([0, 1, 1, 1, 1, 2, 2, 2, 2])
    model = replace(model, rack=rack)
    rules = compiled(model, PlannerSettings(), Scope(partitions=model.partition_topic == 0))[0]
    found = find(model, rules, Targets.default())
    assert (found.least_max <= found.max_over_mean).all()
    assert (found.least_cv <= found.cv).all()


def test_what_little_a_task_may_move_moves_though_all_else_keeps_the_target_out_of_reach() -> None:
    """Of 23 partitions only t-0 may move, from the broker with 19: 1.57 is proven of what is 1.65, not much more."""
    others = {f"other-{number}": ((1 if number < 18 else 2,), 10) for number in range(22)}
    model = cluster(brokers(2), others | {"t-0": ((1,), 10)}, rate=1e6)
    is_asked = np.array([model.topics[topic] == "t" for topic in model.partition_topic])
    found = find(model, compiled(model, PlannerSettings(), Scope(partitions=is_asked))[0], Targets.default())
    moved = found.slot_log_dir != model.slot_log_dir
    assert moved.tolist() == is_asked.tolist()
    assert found.max_over_mean[3] == pytest.approx(found.least_max[3])
