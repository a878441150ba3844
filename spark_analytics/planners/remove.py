"""Remove brokers: as many of those asked for as can go, and why the others can't.

The smallest go first, since they leave most room for the others. A broker stays where the sums speak against its going
(room.py), or where the search finds no place for one of its replicas. Then all of it stays, since half a removal helps
nobody. A dead broker always goes, since each replica that finds a place is one more that is safe. Only what is on the
leaving brokers moves, so the plan copies what they hold and not a byte more, unless the others are to be balanced too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Remove
from guardian.model.units import human_bytes
from spark_analytics.explaining.no_place import limited, no_place
from spark_analytics.model.cluster_model import Bools, ClusterModel, Ints
from spark_analytics.model.load import sums
from spark_analytics.model.resources import Resource
from spark_analytics.planners.arrays import flags, nothing
from spark_analytics.planners.problem import Problem, Solution, balancing, only_what_must, solved
from spark_analytics.planners.room import Needs, shortage
from spark_analytics.planners.rules import Scope, compiled, unseen_words, untouchable, untouchable_words
from spark_analytics.search.found import Why

_SINGLE_TRIES = 4
_WHY = {
    Why.NOT_ALLOWED: "no other broker may hold it",
    Why.RACKS: "the other racks hold as many of its replicas as they may",
    Why.IDCS: "the IDC policy leaves no other place",
    Why.CAPACITY: "no broker that may hold it has capacity left",
    Why.DISK_ROOM: "no disk that may hold it has room for the copy",
}


def solve(model: ClusterModel, task: Remove, settings: PlannerSettings) -> Solution:
    return solve_and_explain(model, task, settings)[0]


def solve_and_explain(model: ClusterModel, task: Remove, settings: PlannerSettings) -> tuple[Solution, dict[int, str]]:
    """Return the solution, and by its index each broker that must stay with the reason."""
    asked = np.array(sorted(model.broker_index(broker) for broker in task.brokers), dtype=np.int64)
    if len(asked) == model.brokers:
        raise InvalidInput(f"brokers names all {model.brokers} brokers of cluster {model.cluster}: some must remain")
    untouched = _with_untouchable(model, asked)
    free = _leaving(asked, untouched)
    without_room = _without_room(model, settings, free)
    stays = untouched | without_room
    stays |= _beyond_budget(model, settings, _leaving(asked, stays).tolist())
    solution, stays = _as_many_as_can(model, task, settings, asked, stays, list(without_room))
    why = untouchable_words(model, _held_by(model, list(untouched)) & untouchable(model))
    unmet = dict.fromkeys((*solution.unmet, *why, *_words(model, stays), *_unknown(model, asked)))
    kept = frozenset(model.broker_ids[sorted(stays)].tolist())
    excused = replace(solution.excused, brokers=kept, whole=kept)
    return replace(solution, unmet=tuple(unmet), notes=(_summary(asked, stays),), excused=excused), stays


def _as_many_as_can(
    model: ClusterModel,
    task: Remove,
    settings: PlannerSettings,
    asked: Ints,
    stays: Mapping[int, str],
    hindered: Sequence[int],
) -> tuple[Solution, dict[int, str]]:
    """Those asked for go but those that stay, to which come those that can't become empty.

    `hindered`: those that might go if others stay.
    """
    stays, given_up = dict(stays), list[dict[int, str]]()
    while True:
        solution, stuck = _tried(model, task, settings, asked, stays)
        if not stuck:
            break
        # One broker that stays may make room for the next; but not for long, as each try is a search.
        given_up.append(stuck if len(given_up) >= _SINGLE_TRIES else dict(list(stuck.items())[:1]))
        stays |= given_up[-1]
    # What was in the way of the first may stay by now; the last were tried beside all that stay.
    again = (*hindered, *chain.from_iterable(given_up[:-1])) if given_up else ()
    for broker in again[:_SINGLE_TRIES]:
        others = stays.keys() - {broker}
        going = _leaving(asked, others)
        if _without_room(model, settings, going) or _beyond_budget(model, settings, going.tolist()):
            continue
        more, stuck = _tried(model, task, settings, asked, others)
        if not stuck:
            solution = more
            del stays[broker]
    return solution, stays


def _leaving(asked: Ints, stays: Collection[int]) -> Ints:
    return np.array([broker for broker in asked.tolist() if broker not in stays], dtype=np.int64)


def _tried(
    model: ClusterModel, task: Remove, settings: PlannerSettings, asked: Ints, stays: Collection[int]
) -> tuple[Solution, dict[int, str]]:
    """Return the solution in which the brokers asked for go that do not stay, and which of them can't become empty, and
    why.
    """
    leaving = _leaving(asked, stays)
    solution = solved(_problem(model, task, settings, leaving))
    return solution, _stuck_on(model, solution, leaving)


def _problem(model: ClusterModel, task: Remove, settings: PlannerSettings, leaving: Ints) -> Problem:
    if task.balance:
        return balancing(model, settings, Scope(leaving=flags(model.brokers, leaving)))
    scope = Scope(leaving=flags(model.brokers, leaving), free=nothing(model.slots), mends=False)
    return only_what_must(model, settings, scope)


def _with_untouchable(model: ClusterModel, asked: Ints) -> dict[int, str]:
    """Brokers that hold partitions which no plan may touch."""
    stays: dict[int, str] = {}
    for slot in np.flatnonzero(untouchable(model)[model.slot_partition] & np.isin(model.slot_broker, asked)).tolist():
        broker, index = int(model.slot_broker[slot]), int(model.slot_partition[slot])
        if model.alive[broker]:
            why = "none of its replicas lives" if model.whole[index] else "not all of its replicas are known"
            stays.setdefault(broker, f"{model.partition(index)} must not be moved, as {why}")
    return stays


def _beyond_budget(model: ClusterModel, settings: PlannerSettings, asked: Sequence[int]) -> dict[int, str]:
    """Return those brokers whose replicas are too much for the budget, and why. The dead go whatever they hold, then
    those that hold least.
    """
    placed = model.slot_broker >= 0
    held = sums(model.slot_broker[placed], model.slot_load[placed, Resource.DISK], model.brokers)
    spent, stays = 0.0, {}
    for broker in sorted(asked, key=lambda broker: (model.alive[broker], held[broker], broker)):
        if model.alive[broker] and held[broker] and spent + held[broker] > settings.max_bytes:
            stays[broker] = f"the {human_bytes(held[broker])} that it holds are more than the budget allows"
        else:
            spent += held[broker]
    return stays


def _held_by(model: ClusterModel, brokers: Sequence[int]) -> Bools:
    """[partitions] those with a replica on one of them."""
    on = model.slot_partition[np.isin(model.slot_broker, brokers)]
    return flags(model.partitions, on)


def _unknown(model: ClusterModel, asked: Ints) -> Iterator[str]:
    """Say what can't be moved off brokers: what they hold that no sample shows."""
    held = np.bincount(model.slot_broker[model.slot_broker >= 0], minlength=model.brokers)
    if (~model.alive & (held == 0))[asked].any():
        yield from unseen_words(model, ~model.whole)


def _without_room(model: ClusterModel, settings: PlannerSettings, asked: Ints) -> dict[int, str]:
    """Brokers that must stay, and why."""
    rules, _ = compiled(model, settings, Scope(mends=False))
    needs = Needs.of(model, rules, ~untouchable(model))
    held = np.bincount(model.slot_broker[model.slot_broker >= 0], minlength=model.brokers)
    size = np.where(model.alive, model.capacity[:, Resource.DISK], 0.0)
    order = asked[np.lexsort((asked, held[asked], size[asked]))]
    stays: dict[int, str] = {}
    remaining = ~nothing(model.brokers)
    for broker in order.tolist():
        remaining[broker] = False
        why = shortage(model, needs, remaining) if held[broker] and model.alive[broker] else None
        if why is not None:
            stays[broker] = why
            remaining[broker] = True
    return stays


def _stuck_on(model: ClusterModel, solution: Solution, leaving: Ints) -> dict[int, str]:
    """Return the leaving brokers that can't become empty, and why."""
    stuck: dict[int, str] = {}
    going = set(leaving[model.alive[leaving]].tolist())
    rules, found = solution.problem.rules, solution.found
    for each in found.stuck:
        broker = int(model.slot_broker[each.slot])
        if broker in going - stuck.keys():
            partition = model.partition(int(model.slot_partition[each.slot]))
            why = no_place(model, rules, found, each) or _WHY[each.why]
            why += limited(rules, int(rules.class_of[model.slot_partition[each.slot]]))
            stuck[broker] = f"there is no place for {partition}: {why}"
    return stuck


def _words(model: ClusterModel, stays: Mapping[int, str]) -> list[str]:
    return [f"broker {model.broker_ids[broker]} can't go: {why}" for broker, why in sorted(stays.items())]


def _summary(asked: Ints, stays: Mapping[int, str]) -> str:
    return f"{len(asked) - len(stays)} of the {len(asked)} brokers asked for can go"
