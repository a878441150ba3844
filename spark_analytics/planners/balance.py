"""Balance the traffic of brokers and of their log dirs together, copying little data.

A local search that takes from the fullest place and gives to emptier ones:

    1. The source is the broker or log dir that is furthest above the mean, if it is above the target.
    2. The step with the most relief per byte is taken: a replica goes to another log dir, of this broker or another, or
       a leader hands over. When no step helps, two replicas change places; when that does not help either, the next
       place gets its turn.
    3. Leaders are spread, which copies nothing.
    4. Partitions whose move turned out not to be needed go home.

Every step keeps the hard goals and leaves no place fuller than the fullest, so the plan is sound whenever the search
ends, and no spread worsens. Each step makes the sum of the penalties smaller, so it ends. Ties go to the lower index,
so the same model gives the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from guardian.model.plan import PartitionMove, Plan
from spark_analytics.goals import leader_distribution, traffic_spread
from spark_analytics.model.cluster_model import ClusterModel, Floats
from spark_analytics.model.load import Load, load_now, load_of, spread, summaries
from spark_analytics.model.placement import Placement
from spark_analytics.planners import words
from spark_analytics.planners.settings import BalanceSettings
from spark_analytics.planners.steps import (
    Source,
    Step,
    Terms,
    best_exchange,
    best_leader_spread,
    best_move,
    best_transfer,
)

KIND = "balance"

_Reasons = dict[int, list[str]]  # by partition, in the order of the steps


def plan(model: ClusterModel, settings: BalanceSettings) -> Plan:
    """The plan for one cluster. Without moves when it is balanced, or when nothing can be done."""
    placement, terms = Placement.of(model), Terms.of(model, settings)
    reasons: _Reasons = {}
    _relieve(placement, terms, reasons)
    _spread_leaders(placement, terms, reasons)
    _give_back(placement, terms)
    return Plan(
        cluster=model.cluster,
        kind=KIND,
        moves=tuple(_moves(placement, reasons)),
        made_at_ms=model.at_ms,
        input=model.input,
        loads=summaries(model, load_now(model), load_of(model, placement.slot_log_dir, placement.leader_slot)),
    )


def _relieve(placement: Placement, terms: Terms, reasons: _Reasons) -> None:
    """Steps until every place is at the target, or a whole round over those above it helped none."""
    while True:
        stuck: set[Source] = set()
        steps = 0
        while (source := _fullest(placement, terms, stuck)) is not None:
            step = _best_step(placement, terms, source)
            if step is None:
                stuck.add(source)
            else:
                _take(placement, terms, step, source, reasons)
                steps += 1
        if not stuck or not steps:
            return


def _best_step(placement: Placement, terms: Terms, source: Source) -> Step | None:
    simple = (best_move(placement, terms, source), best_transfer(placement, terms, source))
    steps = [step for step in simple if step is not None]
    return max(steps, key=lambda step: step.score) if steps else best_exchange(placement, terms, source)


def _fullest(placement: Placement, terms: Terms, stuck: set[Source]) -> Source | None:
    """The place furthest above its mean, of those above the target that are not stuck."""
    broker = traffic_spread.deviation(placement.load.broker)
    log_dir = np.full(len(placement.load.log_dir), -1.0)
    log_dir[terms.online] = traffic_spread.deviation(placement.load.log_dir[terms.online])
    for source in stuck:
        (broker if source.is_broker else log_dir)[source.index] = -1.0
    is_broker = bool(broker.max() >= log_dir.max())
    deviations = broker if is_broker else log_dir
    index = int(deviations.argmax())
    return Source(is_broker, index) if deviations[index] > terms.settings.target_spread else None


def _spread_leaders(placement: Placement, terms: Terms, reasons: _Reasons) -> None:
    stuck: set[int] = set()
    while True:
        overload = leader_distribution.overload(placement.load)
        overload[sorted(stuck)] = -1.0
        index = int(overload.argmax())
        if overload[index] <= terms.settings.leader_spread:
            return
        step = best_leader_spread(placement, terms, Source(is_broker=True, index=index))
        if step is None or step.leader is None:
            stuck.add(index)
            continue
        reason = words.leader_hands_over(placement, step.leader)
        reasons.setdefault(int(placement.model.slot_partition[step.leader]), []).append(reason)
        placement.lead(step.leader)


def _take(placement: Placement, terms: Terms, step: Step, source: Source, reasons: _Reasons) -> None:
    partition = placement.model.slot_partition
    if step.leader is not None:
        reason = words.leader_hands_over(placement, step.leader)
        reasons.setdefault(int(partition[step.leader]), []).append(reason)
        placement.lead(step.leader)
        return
    (slot, log_dir), *others = step.moves
    reason = words.replica_moves(placement, terms, source, slot, log_dir)
    reasons.setdefault(int(partition[slot]), []).append(reason)
    for other, _ in others:
        reason = f"makes room for {placement.model.partitions[partition[slot]]}, which carries more"
        reasons.setdefault(int(partition[other]), []).append(reason)
    for moved, to in step.moves:
        placement.move(moved, to)


def _give_back(placement: Placement, terms: Terms) -> None:
    """Send home whole partitions, the largest copies first, while every spread stays as low as it is or as asked."""
    model = placement.model
    limits = _limits(model, placement.load, terms)
    away = np.flatnonzero(placement.slot_log_dir != model.slot_log_dir)
    partitions = model.slot_partition[away]
    copied = np.bincount(partitions, model.size_bytes[partitions], len(model.partitions))
    moved = np.unique(partitions)
    for partition in moved[np.argsort(-copied[moved], kind="stable")].tolist():
        slots = range(model.slot_start[partition], model.slot_start[partition + 1])
        tried = [(slot, int(placement.slot_log_dir[slot])) for slot in slots]
        leader = int(placement.leader_slot[partition])
        _settle(placement, [(slot, int(model.slot_log_dir[slot])) for slot in slots], int(model.leader_slot[partition]))
        if (_spreads(placement.load, terms) > limits).any():
            _settle(placement, tried, leader)


def _settle(placement: Placement, where: list[tuple[int, int]], leader: int) -> None:
    for slot, log_dir in where:
        placement.move(slot, log_dir)
    placement.lead(leader)


def _limits(model: ClusterModel, reached: Load, terms: Terms) -> Floats:
    """What giving back must keep: what was reached, or the target unless it was better than that before."""
    settings = terms.settings
    targets = np.array([settings.target_spread, settings.target_spread, settings.leader_spread])
    rounding = 1e-9
    kept: Floats = rounding + np.maximum(
        _spreads(reached, terms), np.minimum(targets, _spreads(load_now(model), terms))
    )
    return kept


def _spreads(load: Load, terms: Terms) -> Floats:
    """Of brokers, of log dirs, of leaders."""
    overload = leader_distribution.overload(load)
    return np.array([spread(load.broker), spread(load.log_dir[terms.online]), float(overload.max())])


def _moves(placement: Placement, reasons: _Reasons) -> Iterator[PartitionMove]:
    """What is different from the model, one move a partition, however many steps led there."""
    model = placement.model
    for partition, steps in sorted(reasons.items()):
        original = model.replicas(partition)
        leader = int(placement.leader_slot[partition])
        slots = range(model.slot_start[partition], model.slot_start[partition + 1])
        order = [leader, *(slot for slot in slots if slot != leader)]
        target = tuple(model.placement(int(placement.slot_log_dir[slot])) for slot in order)
        if target != original:
            yield PartitionMove(
                partition=model.partitions[partition],
                original=original,
                target=target,
                size_bytes=int(model.size_bytes[partition]),
                write_rate=float(model.write_rate[partition]),
                reason="; ".join(dict.fromkeys(steps)),
            )
