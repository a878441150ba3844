"""From model, rules and targets to the state that kernels work on: pools, means, prices, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.resources import RESOURCES, WITH_CAPACITY, Resource
from spark_analytics.search.compiled import plain
from spark_analytics.search.goal import Budget, Targets
from spark_analytics.search.kernels import State
from spark_analytics.search.pools import pools_of
from spark_analytics.search.rules import Rules

# A topic with more slots has its counts by broker kept; those of smaller ones are counted when asked for.
_FEW_SLOTS = 32
# A move of a replica without bytes is still a move: this share of a mean broker's replicas at disk's price.
_LEAST_PRICE = 1e-7
# A broker's mean load below this is none: of percents, bytes, or bytes/s.
_NOTHING = 1e-6
# Sums of floats differ by less.
_PART_OF_A_REPLICA = 1e-3
# What a hand-over costs, as a share of a mean broker's leaders.
_LEADER_PRICE = 0.012


def use_capacity(model: ClusterModel) -> Floats:
    """[brokers, RESOURCES] by which use is divided: where a capacity is not known, what brokers have in the middle."""
    capacity = np.ones((model.brokers, RESOURCES))
    for resource in WITH_CAPACITY:
        given = model.capacity[:, resource]
        known = np.isfinite(given) & (given > 0)
        middle = float(np.median(given[known])) if known.any() else 1.0
        capacity[:, resource] = np.where(known, given, middle)
    return capacity


def pools_of_slots(model: ClusterModel, rules: Rules, pool: Ints, evicted: Bools) -> Ints:
    """[slots] the pool where each replica is when everything that must come has come; -1: none."""
    of_class = np.full(len(rules.may_take), -1)
    for number in np.unique(rules.class_of):
        takers = np.flatnonzero(rules.may_take[number] & (pool >= 0))
        of_class[number] = pool[takers[0]] if len(takers) else -1
    here = np.where(model.slot_broker < 0, -1, pool[model.slot_broker])
    return np.where(evicted, of_class[rules.class_of[model.slot_partition]], here)


def means_of(model: ClusterModel, rules: Rules, pool: Ints, capacity: Floats, evicted: Bools) -> Floats:
    """[pools, RESOURCES] use of each pool when everything that must come is there."""
    pools = int(pool.max(initial=-1)) + 1
    where = pools_of_slots(model, rules, pool, evicted)
    leader_where = where[model.leader_slot]
    if model.slots:  # one that leads from outside may hand over to a pool
        leader_where = np.where(leader_where < 0, np.maximum.reduceat(where, model.slot_start[:-1]), leader_where)
    total = np.zeros((pools, RESOURCES))
    for r in range(RESOURCES):
        placed, led = where >= 0, leader_where >= 0
        total[:, r] = np.bincount(where[placed], model.slot_load[placed, r], pools)
        total[:, r] += np.bincount(leader_where[led], model.leader_load[led, r], pools)
    room = np.zeros((pools, RESOURCES))
    np.add.at(room, pool[pool >= 0], capacity[pool >= 0])
    return total / np.maximum(room, 1e-300)


def state_of(
    model: ClusterModel,
    rules: Rules,
    targets: Targets,
    budget: Budget,
    evicted: Bools,
    room: Floats,
    largest: Floats,
) -> State:
    """The state with every replica at home, those to be evicted too."""
    pool = pools_of(rules, model.alive)
    capacity = use_capacity(model)
    mean = means_of(model, rules, pool, capacity, evicted)
    unit = _unit(pool, capacity, mean)
    broker = model.slot_broker.astype(np.int64)
    row, must_lead = _must_lead(model, rules, pool)
    state = State(
        first=model.slot_start.astype(np.int64),
        partition=model.slot_partition.astype(np.int64),
        home=broker,
        returns=~evicted & _may_stay(model, rules, broker),
        free=rules.free_to_move | evicted,
        load=np.ascontiguousarray(model.slot_load),
        extra=np.ascontiguousarray(model.leader_load),
        price=np.where(evicted | (broker < 0), 0.0, _price(model, mean, capacity, pool)),
        leader_home=np.where(model.slots > 0, broker[model.leader_slot], -1),
        leader_price=_leader_price(model, pool),
        topic=model.partition_topic.astype(np.int64),
        topic_first=_topic_first(model),
        topic_row=_topic_rows(model),
        topic_most=_topic_most(model, broker, pool, targets.topic_spread),
        pool=pool,
        rack=model.rack.astype(np.int64),
        idc=model.idc.astype(np.int64),
        unit=unit,
        ceiling=_ceiling(model, rules, unit),
        largest=largest,
        class_of=rules.class_of.astype(np.int64),
        may_take=rules.may_take.copy(),
        may_lead=rules.may_lead.copy(),
        rack_max=rules.rack_max.astype(np.int64),
        keeps_crowds=rules.keeps_crowds,
        idc_min=rules.idc_min.astype(np.int64),
        idc_max=rules.idc_max.astype(np.int64),
        least_led=_least_led(model, rules),
        led_row=row,
        must_lead=must_lead,
        budget=np.array([budget.bytes, budget.leader_moves, budget.broker_bytes]),
        broker=broker.copy(),
        leader=model.leader_slot.astype(np.int64).copy(),
        dev=_dev(model, broker, unit),
        topic_count=_topic_count(model, broker),
        room=room,
        led=_led(model, row, must_lead.shape, broker),
        waits=np.zeros(model.slots, dtype=np.bool_),
        spent=np.zeros(2),
        copied_in=np.zeros(model.brokers),
        copied_out=np.zeros(model.brokers),
    )
    return _plain(state)


def _may_stay(model: ClusterModel, rules: Rules, broker: Ints) -> Bools:
    """[slots] those that have a broker, and one that may keep them."""
    return (broker >= 0) & rules.may_stay[rules.class_of[model.slot_partition], np.maximum(broker, 0)]


def _unit(pool: Ints, capacity: Floats, mean: Floats) -> Floats:
    """[brokers, RESOURCES] the dev that one unit of load makes; 0 where a mean broker has none."""
    of_broker = np.zeros(capacity.shape)
    of_broker[pool >= 0] = mean[pool[pool >= 0]]
    mean_load = capacity * of_broker
    return np.where(mean_load > _NOTHING, 1 / np.maximum(mean_load, _NOTHING), 0.0)


def _ceiling(model: ClusterModel, rules: Rules, unit: Floats) -> Floats:
    """[brokers, RESOURCES] the dev of each limit; inf: none."""
    ceiling = np.full((model.brokers, RESOURCES), np.inf)
    limits = [(r, rules.capacity_limit[r] * model.capacity[:, r]) for r in WITH_CAPACITY]
    if rules.most_replicas is not None:
        limits.append((Resource.REPLICAS, rules.most_replicas + _PART_OF_A_REPLICA))
    with np.errstate(invalid="ignore"):
        for r, limit in limits:
            ceiling[:, r] = np.where(unit[:, r] > 0, limit * unit[:, r] - 1, np.inf)
    return ceiling


def _price(model: ClusterModel, mean: Floats, capacity: Floats, pool: Ints) -> Floats:
    """[slots] its bytes as a share of a mean broker's, and a little."""
    pools = [mean[k, Resource.DISK] * capacity[pool == k, Resource.DISK].mean() for k in range(len(mean))]
    held = max(pools, default=0.0)
    price = model.slot_load[:, Resource.DISK] / held if held > 0 else np.zeros(model.slots)
    return price + _LEAST_PRICE


def _leader_price(model: ClusterModel, pool: Ints) -> float:
    mean_leaders = model.partitions / max(int((pool >= 0).sum()), 1)
    return _LEADER_PRICE / max(mean_leaders, 1.0)


def _least_led(model: ClusterModel, rules: Rules) -> Ints:
    none = np.zeros(len(model.topics), dtype=np.int64)
    return none if rules.least_leaders is None else rules.least_leaders.astype(np.int64)


def _must_lead(model: ClusterModel, rules: Rules, pool: Ints) -> tuple[Ints, Bools]:
    """[topics] rows of topics of which each broker must lead some, and [rows, brokers] which ones must."""
    wanted = _least_led(model, rules) > 0
    row = np.where(wanted, np.cumsum(wanted) - 1, -1).astype(np.int64)
    must = np.zeros((int(wanted.sum()), model.brokers), dtype=np.bool_)
    goes = np.asarray(rules.may_take.any(axis=1))
    may = rules.may_stay & rules.may_lead & model.alive & goes[:, None]
    here = wanted[model.partition_topic]
    for topic, of in np.unique(np.column_stack([model.partition_topic[here], rules.class_of[here]]), axis=0).tolist():
        must[row[topic]] |= may[of] & (pool >= 0)
    return row, must


def _led(model: ClusterModel, row: Ints, shape: tuple[int, ...], broker: Ints) -> Ints:
    led = np.zeros(shape, dtype=np.int64)
    row_of, where = row[model.partition_topic], broker[model.leader_slot]
    counted = (row_of >= 0) & (where >= 0)
    np.add.at(led, (row_of[counted], where[counted]), 1)
    return led


def _plain(state: State) -> State:
    """Every array writable and contiguous: one signature for the kernels, whatever the model's flags are."""
    parts: list[Any] = [plain(part) if isinstance(part, np.ndarray) else part for part in state]
    return State(*parts)


def _dev(model: ClusterModel, broker: Ints, unit: Floats) -> Floats:
    use = np.zeros((model.brokers, RESOURCES))
    led = broker[model.leader_slot]
    for r in range(RESOURCES):
        use[:, r] = np.bincount(broker[broker >= 0], model.slot_load[broker >= 0, r], model.brokers)
        use[:, r] += np.bincount(led[led >= 0], model.leader_load[led >= 0, r], model.brokers)
    return np.where(unit > 0, use * unit - 1, 0.0)


def _topic_first(model: ClusterModel) -> Ints:
    """Slots stand by topic, since partitions do."""
    partitions = np.searchsorted(model.partition_topic, np.arange(len(model.topics) + 1))
    return model.slot_start[partitions].astype(np.int64)


def _topic_rows(model: ClusterModel) -> Ints:
    many = np.diff(_topic_first(model)) > _FEW_SLOTS
    return np.where(many, np.cumsum(many) - 1, -1).astype(np.int64)


def _topic_count(model: ClusterModel, broker: Ints) -> npt.NDArray[np.int16]:
    row = _topic_rows(model)
    of_slot = row[model.partition_topic[model.slot_partition]]
    counted = (of_slot >= 0) & (broker >= 0)
    count = np.zeros((int(row.max(initial=-1)) + 1, model.brokers), dtype=np.int16)
    np.add.at(count, (of_slot[counted], broker[counted]), 1)
    return count


def _topic_most(model: ClusterModel, broker: Ints, pool: Ints, limited: bool) -> Ints:
    """Return how many replicas of each topic a broker may have: as many as its worst broker has now, or as few as an
    even spread takes.
    """
    slots = np.diff(_topic_first(model))
    if not limited:
        return np.full(len(slots), np.iinfo(np.int64).max)
    topic = model.partition_topic[model.slot_partition]
    placed = broker >= 0
    key, count = np.unique(topic[placed] * model.brokers + broker[placed], return_counts=True)
    most = np.zeros(len(slots), dtype=np.int64)
    np.maximum.at(most, key // model.brokers, count)
    takers = max(int((pool >= 0).sum()), 1)
    allowed: Ints = np.maximum(most, -(-slots // takers))
    return allowed
