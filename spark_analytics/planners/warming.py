"""The search compiled before anybody waits for it: every kernel is called once, with nothing to do.

numba keeps what it compiles on disk, so only the first process after a change of the search takes long.
"""

from __future__ import annotations

import numpy as np

from guardian.model.plan import ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.model.resources import RESOURCES
from spark_analytics.planners.rules import compiled
from spark_analytics.search import brokers, disks, forced, kernels, preparing
from spark_analytics.search.bounds import least
from spark_analytics.search.goal import Budget, Targets


def warm() -> None:
    """Seconds of CPU the first time, then a fraction of one."""
    model = _smallest()
    rules, _ = compiled(model, PlannerSettings(), goals=())
    targets = Targets.default()
    room = disks.room_of(model, rules)
    must_leave, away = disks.leaving(model, rules, room)
    evicted = forced.forced_of(model, rules, away, np.ones(RESOURCES))
    total, largest = disks.room_by_broker(model, rules, room)
    state = preparing.state_of(model, rules, targets, Budget(), evicted, total, largest)
    where = preparing.pools_of_slots(model, rules, state.pool, evicted)
    nothing = np.zeros(model.partitions, dtype=np.bool_)
    aim = brokers.aim_of(state, targets, np.ones(RESOURCES), least(state, where, ~state.free, nothing, targets))
    none = np.empty(0, dtype=np.int64)
    kernels.put_all(state, none, none)
    kernels.sweep(state, none, 1, 1, 1, aim.weights, aim.margin, 1.0)
    kernels.exchange(state, none, 1, 1, aim.weights, aim.margin, 1.0)
    kernels.restore(state, state.broker.copy(), state.leader.copy())
    kernels.go_towards(state, none, none)
    kernels.leader_pass(state, aim.weights, aim.margin, 1e9)
    kernels.give_back(state, none, 1, aim.cv, aim.max_over_mean)
    kernels.give_leaders_back(state, none, 1, aim.cv, aim.max_over_mean)
    kernels.place_forced(state, none, 1, 1, 1, aim.weights, aim.margin, none)
    kernels.find_crowding(state, evicted, none, none)
    kernels.settle_leaders(state, nothing, aim.weights, aim.margin)
    kernels.lead_as_many_as_must(state, True, aim.weights, aim.margin, evicted)
    disks.level(model, rules, targets, state.broker, must_leave, np.zeros(model.brokers + 1))


def _smallest() -> ClusterModel:
    places = [LogDirFacts(1, "/a", 10.0, 5.0), LogDirFacts(1, "/b", 10.0, 5.0)]
    partition = PartitionFacts(TopicPartition("t", 0), (ReplicaPlacement(1, "/a"),), 1.0)
    return ClusterModel.of("", [BrokerFacts(1)], places, [partition])
