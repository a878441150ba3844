"""How many brokers could go: some that can, and a proof that no more can.

can    brokers are taken out one by one, the smallest and then the least data first, as long as the sums of
       planners/room.py have nothing against what is left (count, capacity, racks, data centres). Sums say "no" for
       sure and "yes" only probably, so their removal is planned: a broker for whose replicas no place is found stays,
       and the sums are asked again without it; at last such brokers are tried once more, one by one
proof  whichever brokers stay, the largest ones carry the most. As many as it takes of the largest to carry all the
       load below a limit must stay, and as many as the highest replication factor
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Remove
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints, brokers_of
from spark_analytics.model.load import load_now
from spark_analytics.model.resources import WITH_CAPACITY, Resource
from spark_analytics.planners import remove
from spark_analytics.planners.room import Needs, shortage
from spark_analytics.planners.rules import Scope, compiled, untouchable
from spark_analytics.search.rules import Rules

_TRIES = 6  # of planning, together and then one by one


@dataclass(frozen=True, slots=True)
class Shrinking:
    """`could_go` are ids in the order in which they would; `at_most` is proven. `why` is what stops the next one."""

    could_go: tuple[int, ...]
    at_most: int
    proof: str
    why: str


def shrinking(model: ClusterModel, settings: PlannerSettings, may_go: Bools) -> Shrinking:
    """`may_go` [brokers]: others stay."""
    settings = replace(settings, max_bytes=math.inf, max_seconds=math.inf, max_leader_moves=math.inf)
    rules, _ = compiled(model, settings, Scope(mends=False))
    loads = load_now(model).broker
    at_most, proof = _proof(model, rules, loads, may_go)
    allowed = may_go & model.alive & ~_holds(model, untouchable(model))
    candidates = allowed.copy()
    going: list[int] = []
    why = ""
    for _ in range(_TRIES):
        chosen, by_sums = _by_sums(model, rules, loads, candidates, at_most)
        going, by_plan = _planned(model, settings, chosen)
        why = why or by_plan or by_sums
        if len(going) == len(chosen):
            break
        candidates[np.setdiff1d(chosen, going)] = False
    barred = np.flatnonzero(allowed & ~candidates)
    for broker in barred[np.argsort(loads[barred, Resource.DISK], kind="stable")][:_TRIES].tolist():
        more, _ = _planned(model, settings, [*going, broker]) if len(going) < at_most else ([], "")
        going = more if len(more) > len(going) else going
    return Shrinking(tuple(model.broker_ids[going].tolist()), max(at_most, len(going)), proof, why)


def _holds(model: ClusterModel, partitions: Bools) -> Bools:
    """[brokers] that hold a replica of one of these."""
    held = np.zeros(model.brokers, dtype=np.bool_)
    held[model.slot_broker[partitions[model.slot_partition] & (model.slot_broker >= 0)]] = True
    return held


def _by_sums(model: ClusterModel, rules: Rules, loads: Floats, candidates: Bools, most: int) -> tuple[list[int], str]:
    """(brokers, why the next one stays)"""
    needs = Needs.of(model, rules, ~untouchable(model))
    kinds = _kinds(model, rules)
    remaining = model.alive.copy()
    chosen: list[int] = []
    stopped: dict[int, str] = {}
    left = np.flatnonzero(candidates)
    order = np.lexsort((left, loads[left, Resource.DISK], model.capacity[left, Resource.DISK]))
    for broker in left[order].tolist():
        if len(chosen) == most or int(kinds[broker]) in stopped:
            continue
        remaining[broker] = False
        why = shortage(model, needs, remaining) if loads[broker, Resource.REPLICAS] else None
        if why is None:
            chosen.append(broker)
        else:
            remaining[broker] = True
            stopped[int(kinds[broker])] = why
    return chosen, next(iter(stopped.values()), "")


def _planned(model: ClusterModel, settings: PlannerSettings, chosen: list[int]) -> tuple[list[int], str]:
    """Those that a plan of their removal empties, and why another one stays."""
    if not chosen:
        return [], ""
    solution, stays = remove.solve_and_explain(model, Remove(tuple(model.broker_ids[chosen].tolist())), settings)
    where = brokers_of(model, solution.found.slot_log_dir)
    held = np.bincount(where[where >= 0], minlength=model.brokers)
    return [broker for broker in chosen if not held[broker]], stays[min(stays)] if stays else ""


def _kinds(model: ClusterModel, rules: Rules) -> Ints:
    """[brokers] those that sums can't tell apart have the same number: one of them can't go, so none can."""
    facts = np.column_stack(
        [model.rack, model.idc, model.broker_label, np.nan_to_num(model.capacity, posinf=-1.0), rules.may_take.T]
    )
    return np.asarray(np.unique(facts, axis=0, return_inverse=True)[1]).reshape(-1)


def _proof(model: ClusterModel, rules: Rules, loads: Floats, may_go: Bools) -> tuple[int, str]:
    """(how many can go at most, why)."""
    alive = int(model.alive.sum())
    replicas = np.diff(model.slot_start)
    must_stay, why = int(replicas.max(initial=1)), f"replication factor {int(replicas.max(initial=1))}"
    kept = loads[:, : len(WITH_CAPACITY)]  # a broker above its limit may keep what it has
    capacity = np.maximum(model.capacity * rules.capacity_limit, kept)[model.alive]
    for column in WITH_CAPACITY:
        largest = np.sort(capacity[:, column])[::-1]
        total = float(loads[model.alive, column].sum())
        if not np.isfinite(largest).all() or not total:
            continue
        needed = int(np.searchsorted(np.cumsum(largest), total * (1 - 1e-9))) + 1
        if needed > must_stay:
            must_stay, why = needed, f"the {column.name.lower()} of all is below the limit on {needed} brokers at least"
    most = min(max(alive - must_stay, 0), int((may_go & model.alive).sum()))
    return most, f"{must_stay} of {alive} brokers must stay: {why}"
