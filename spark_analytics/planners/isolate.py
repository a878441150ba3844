"""Isolate a label: its topics on machines of their own.

Grow    its brokers have no room for its topics, so it takes machines: as few as the sums of room.py allow, and of those
        sets the one for which least must be moved away, then the one with the smallest disks. A free machine joins as a
        new broker; a broker of the cluster is emptied of all that is not of the label
Shrink  `release` asks for machines back: those that are emptied for the least data, while the rest has room. They
        lose the label, and serve topics without one until they are removed: only then their machines are free. Sums
        choose a set; where the search finds no place for all of it, fewer, and single machines more while that goes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.federation import Machine
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Isolate
from guardian.model.topology import ANY_LOG_DIR
from spark_analytics.model.cluster_model import Bools, BrokerFacts, ClusterModel, LogDirFacts
from spark_analytics.model.edits import broker_facts, topic_facts, with_changes
from spark_analytics.model.facts import UNKNOWN
from spark_analytics.model.resources import Resource
from spark_analytics.planners.arrays import at, flags, nothing
from spark_analytics.planners.choosing import Cost, cheapest
from spark_analytics.planners.problem import Solution, only_what_must, solved
from spark_analytics.planners.room import Needs, shortage
from spark_analytics.planners.rules import Scope, compiled, untouchable
from spark_analytics.planners.topics import named, partitions_of

_MORE_TRIES = 20  # each is a search


def solve(model: ClusterModel, task: Isolate, settings: PlannerSettings) -> Solution:
    labelled = _with_topics(model, task)
    if task.release is not None:
        return _shrunk(labelled, task, task.release, settings)
    return _grown(labelled, task, settings)


def _with_topics(model: ClusterModel, task: Isolate) -> ClusterModel:
    """The model with the label on the task's topics."""
    facts = topic_facts(model)
    chosen = np.flatnonzero(named(model, task.topics, task.tenant)).tolist()
    edited = with_changes(model, topics=[replace(facts[topic], label=task.label) for topic in chosen])
    if task.label not in edited.label_names or not _topics(edited, task.label).any():
        raise InvalidInput(
            f"label is {task.label!r}, which no topic of cluster {model.cluster} has: name some in topics"
        )
    return edited


def _topics(model: ClusterModel, label: str) -> Bools:
    return np.asarray(model.topic_label == model.label_names.index(label))


def _brokers(model: ClusterModel, label: str) -> Bools:
    return np.asarray(model.broker_label == model.label_names.index(label)) & model.alive


def _grown(model: ClusterModel, task: Isolate, settings: PlannerSettings) -> Solution:
    """Takes one machine more until the sums allow it and the search finds a place for all that must move."""
    here = [machine for machine in task.machines if not machine.idc or machine.idc in model.idc_names]
    offers: list[Machine | int] = [*here, *sorted(task.brokers)]
    offered = _with(model, task, offers)
    labelled = partitions_of(offered, _topics(offered, task.label))
    needs = _needs(offered, task, settings)
    brokers = [offered.broker_index(broker) for broker in _ids(model, task, offers)]
    costs = _costs(offered, brokers, labelled)
    mine = _brokers(offered, task.label)
    mine[brokers] = False

    def fits(chosen: Sequence[int]) -> bool:
        return shortage(offered, needs, mine | flags(offered.brokers, [brokers[item] for item in chosen])) is None

    for size in range(len(offers) + 1):
        chosen = cheapest(costs, size, fits, _largest_first(offered, brokers))
        if chosen is None:
            continue
        taken = [offers[item] for item in chosen]
        joined = _with(model, task, taken)
        solution = _moved_in(joined, task.label, settings)
        if not solution.found.stuck and _falls_short(joined, task, settings) is None:
            joins = [
                (broker, each.host)
                for broker, each in zip(_ids(model, task, taken), taken, strict=True)
                if isinstance(each, Machine)
            ]
            return replace(solution, notes=tuple(_joined(model, task, taken)), joins=tuple(joins))
    why = shortage(offered, needs, mine | flags(offered.brokers, brokers)) or "not every replica finds a place on them"
    away = len(task.machines) - len(here)
    raise InvalidInput(
        f"label {task.label} has too few machines, with all {len(offers)} offered in machines and brokers: {why}"
        + (f"; {away} machines stand in data centres without a broker of cluster {model.cluster}" if away else "")
    )


def _needs(model: ClusterModel, task: Isolate, settings: PlannerSettings) -> Needs:
    labelled = partitions_of(model, _topics(model, task.label))
    rules, _ = compiled(model, settings, Scope(partitions=labelled))
    return Needs.of(model, rules, labelled & ~untouchable(model)).times(1 + task.headroom)


def _falls_short(joined: ClusterModel, task: Isolate, settings: PlannerSettings) -> str | None:
    """Ask again of the brokers as they will be: ids, by which a goal may go, differ with who joins."""
    return shortage(joined, _needs(joined, task, settings), _brokers(joined, task.label))


def _with(model: ClusterModel, task: Isolate, taken: Sequence[Machine | int]) -> ClusterModel:
    """The model with these machines in it, and the label on them and on these brokers."""
    facts = broker_facts(model)
    brokers, log_dirs = [], []
    for broker_id, each in zip(_ids(model, task, taken), taken, strict=True):
        if isinstance(each, Machine):
            brokers.append(_joining(broker_id, each, task.label))
            log_dirs.append(LogDirFacts(broker_id, ANY_LOG_DIR, each.disk_bytes, each.disk_bytes))
        else:
            brokers.append(replace(_unlabelled(model, facts, each), label=task.label))
    return with_changes(model, brokers=brokers, log_dirs=log_dirs)


def _ids(model: ClusterModel, task: Isolate, taken: Sequence[Machine | int]) -> list[int]:
    """The broker that each is, or will be."""
    free = count(max(int(model.broker_ids.max()) + 1, task.first_id))
    return [next(free) if isinstance(each, Machine) else each for each in taken]


def _joining(broker_id: int, machine: Machine, label: str) -> BrokerFacts:
    if not machine.disk_bytes:
        raise InvalidInput(f"disk_bytes of machine {machine.host} is 0: say how much it holds, or leave it out")
    return BrokerFacts(
        id=broker_id,
        rack=machine.rack,
        idc=machine.idc,
        host=machine.host,
        label=label,
        new=True,
        capacity=(
            machine.cores * 100.0 or UNKNOWN,
            float(machine.nic_bytes_per_s) or UNKNOWN,
            float(machine.nic_bytes_per_s) or UNKNOWN,
            float(machine.disk_bytes),
        ),
    )


def _unlabelled(model: ClusterModel, facts: Sequence[BrokerFacts], broker: int) -> BrokerFacts:
    found = facts[model.broker_index(broker)]
    if found.label:
        raise InvalidInput(f"brokers has {broker}, which has label {found.label}: name brokers without a label")
    if not found.alive or found.excluded:
        state = "excluded from new replicas" if found.alive else "down"
        raise InvalidInput(f"brokers has {broker}, which is {state}: name another")
    return found


def _costs(model: ClusterModel, brokers: Sequence[int], labelled: Bools) -> list[Cost]:
    """Return for each broker how much must be moved off it, and how large its disks are, in bytes."""
    others = ~labelled[model.slot_partition] & (model.slot_log_dir >= 0)
    held = np.bincount(model.slot_broker[others], model.slot_load[others, Resource.DISK], model.brokers)
    return [(float(held[broker]), float(model.capacity[broker, Resource.DISK])) for broker in brokers]


def _largest_first(model: ClusterModel, brokers: Sequence[int]) -> list[int]:
    """Positions in `brokers`: of each rack the largest, then of each the second largest, and so on."""
    by_size = sorted(range(len(brokers)), key=lambda item: (-model.capacity[brokers[item], Resource.DISK], item))
    seen: Counter[int] = Counter()
    nth = {}
    for item in by_size:
        rack = int(model.rack[brokers[item]])
        nth[item] = seen[rack]
        seen[rack] += 1
    return sorted(by_size, key=lambda item: nth[item])


def _moved_in(model: ClusterModel, label: str, settings: PlannerSettings) -> Solution:
    """The label's topics move in, what is not the label's moves out, and nothing else moves."""
    touched = partitions_of(model, _topics(model, label))
    inside = at(_brokers(model, label), model.slot_broker, False)
    touched[model.slot_partition[inside]] = True
    return solved(only_what_must(model, settings, Scope(partitions=touched, free=nothing(model.slots))))


def _joined(model: ClusterModel, task: Isolate, taken: Sequence[Machine | int]) -> Iterator[str]:
    for broker_id, each in zip(_ids(model, task, taken), taken, strict=True):
        if isinstance(each, Machine):
            rack = f" in rack {each.rack}" if each.rack else ""
            yield (
                f"machine {each.host} joins as broker {broker_id}{rack}: start a broker with that id there, give it "
                f"label {task.label}, and plan again without the pool for a ticket"
            )
        else:
            yield f"broker {broker_id} gets the label"


def _shrunk(model: ClusterModel, task: Isolate, release: int, settings: PlannerSettings) -> Solution:
    """Release as many of the machines asked for as can go, at the least data."""
    needs = _needs(model, task, settings)
    left = untouchable(model)
    mine = _brokers(model, task.label)
    brokers = np.flatnonzero(mine & ~_holding(model, left)).tolist()
    costs = _costs(model, brokers, nothing(model.partitions))

    def fits(chosen: Sequence[int]) -> bool:
        return shortage(model, needs, mine & ~flags(model.brokers, [brokers[item] for item in chosen])) is None

    leaving, solution = [], None
    for size in range(min(release, len(brokers)), 0, -1):
        chosen = cheapest(costs, size, fits, _largest_first(model, brokers)[::-1])
        solution = None if chosen is None else _emptied(model, settings, [brokers[item] for item in chosen])
        if chosen is not None and solution is not None:
            leaving = list(chosen)
            break
    tries = 0
    for item in sorted(range(len(brokers)), key=lambda item: costs[item]):
        if len(leaving) < release and tries < _MORE_TRIES and item not in leaving and fits([*leaving, item]):
            tries += 1
            more = _emptied(model, settings, [brokers[each] for each in (*leaving, item)])
            leaving, solution = ([*leaving, item], more) if more else (leaving, solution)
    if solution is None:
        raise InvalidInput(
            f"release is {release}, and label {task.label} can spare none of its {int(mine.sum())} machines"
        )
    unmet = () if len(leaving) == release else (f"{len(leaving)} of the {release} machines asked back can go",)
    notes = tuple(_returned(model, sorted(brokers[item] for item in leaving)))
    return replace(solution, unmet=(*solution.unmet, *unmet), notes=notes)


def _emptied(model: ClusterModel, settings: PlannerSettings, leaving: Sequence[int]) -> Solution | None:
    """None where a replica finds no place."""
    scope = Scope(leaving=flags(model.brokers, leaving), free=nothing(model.slots), mends=False)
    solution = solved(only_what_must(model, settings, scope))
    return None if solution.found.stuck else solution


def _holding(model: ClusterModel, partitions: Bools) -> Bools:
    """[brokers] those with replicas of these partitions."""
    slots = partitions[model.slot_partition] & (model.slot_broker >= 0)
    return np.bincount(model.slot_broker[slots], minlength=model.brokers) > 0


def _returned(model: ClusterModel, leaving: Sequence[int]) -> Iterator[str]:
    """A ticket takes the label off those that it empties, so the others are for a person. What Kafka still has as a
    broker is no free machine yet."""
    holding = _holding(model, ~nothing(model.partitions))
    for broker in leaving:
        number, host = model.broker_ids[broker], model.hosts[broker]
        name = f"broker {number}" + (f" on {host}" if host else "")
        is_free = (
            "without it, it serves any topic that has no label, and its machine is free for other clusters once it is "
            f"removed (guardian broker remove {number} --cluster {model.cluster})"
        )
        if holding[broker]:
            yield f"{name} becomes empty and loses its label: {is_free}"
        else:
            yield (f"{name} is empty already: take its label off (guardian cluster add --label {number}=); {is_free}")
