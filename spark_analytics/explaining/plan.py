"""From a placement that the search found to a plan that can be judged and carried out.

    found ─▶ changes ─▶ relief and causes ─▶ order in safe stages ─▶ moves, loads, goals, links, seconds, what is unmet

Everything follows from the arguments, in one order of partitions, brokers and sums: the same input gives the same plan,
to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from guardian.model.plan import LOG_DIRS, Excused, LoadResource, LoadSummary, PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from spark_analytics.explaining.asked import Asked
from spark_analytics.explaining.changes import Changes, Origin, changes_of
from spark_analytics.explaining.credit import GOALS, LOG_DIR_BYTES, Credit, credit_of
from spark_analytics.explaining.forced import Cause, causes_of, goal_of, sentence
from spark_analytics.explaining.measure import Places, brokers_measured, log_dirs_measured
from spark_analytics.explaining.ordering import NEVER, ranked, stages_of
from spark_analytics.explaining.reasons import Spent, reason
from spark_analytics.explaining.transfers import transfers_of
from spark_analytics.explaining.unmet import left_out, missed_targets, overloaded_pools, stuck_replicas, uneven_log_dirs
from spark_analytics.explaining.words import GOAL_NAMES, ROOM, reliefs
from spark_analytics.goals.goal import Placed
from spark_analytics.goals.registry import judged
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import BYTES, load_now, sums
from spark_analytics.model.resources import RESOURCES, Resource
from spark_analytics.search.found import Found
from spark_analytics.search.goal import Targets
from spark_analytics.search.rules import Rules

_RESOURCES = tuple(LoadResource(resource.name.lower()) for resource in Resource)
_RESIDUE = 1e-9  # of the largest load: what adding and taking away again leaves


def plan_of(before: ClusterModel, after: ClusterModel, rules: Rules, found: Found, asked: Asked, kind: str) -> Plan:
    """The plan that turns the cluster as it is (`before`) into what was found on the edited model (`after`).

    `rules` and `found` are about the edited model, which is `before` itself where nothing was edited.
    """
    origin = Origin.of(before, after)
    changes = changes_of(origin, after, found.slot_log_dir, found.leader_slot)
    brokers, log_dirs = measured(origin, after, rules, changes)
    full = _fullness(after, log_dirs.before[:, BYTES])
    cause = causes_of(changes, after, rules, full, found.forced)
    credit = credit_of(changes, brokers, log_dirs, asked_for(asked.targets))
    rank = _rank(changes, cause, credit)
    stage = stages_of(changes, after, rules, brokers.before, log_dirs.before, rank)
    never = stage == NEVER
    left = changes.chosen(never)
    if never.any():
        keep = ~never
        cause = cause[keep[changes.item]]
        changes, stage = changes.chosen(keep), stage[keep]
        brokers, log_dirs = measured(origin, after, rules, changes)
        credit = credit_of(changes, brokers, log_dirs, asked_for(asked.targets))
        rank = _rank(changes, cause, credit)
    transfers = transfers_of(changes, stage, after, asked.throttle)
    missed = tuple(missed_targets(after, rules, asked, brokers))
    placed = _placed(after, rules, asked.targets, found, changes)
    uneven = tuple(uneven_log_dirs(after, placed.slot_log_dir, log_dirs, asked.targets.disk_level))
    spent = Spent(float(changes.copied[cause == Cause.NONE].sum()), _leader_moves(changes))
    unmet = (
        *asked.unmet,
        *overloaded_pools(after, rules, brokers),
        *stuck_replicas(after, rules, found),
        *left_out(left, after),
        *(f"{told}: {reason(each, found, asked, spent)}" for told, each in missed),
        *uneven,
    )
    forced = _forced(changes, after, rules, full, cause)
    moves = list(
        _moves(origin, after, changes, credit, stage, forced, reliefs(changes, credit, after, brokers, log_dirs))
    )
    return Plan(
        cluster=before.cluster,
        kind=kind,
        moves=tuple(moves[at] for at in np.lexsort((rank, stage)).tolist()),
        made_at_ms=before.at_ms,
        input=before.input,
        loads=load_table(after, rules, brokers, log_dirs),
        goals=judged(Placed.of(after, rules, asked.targets), placed),
        unmet=tuple(dict.fromkeys(unmet)),
        links=transfers.links,
        transfers=transfers.brokers,
        throttle=asked.throttle,
        seconds=transfers.seconds,
        notes=asked.notes,
        racks=transfers.racks,
        excused=_excused(after, asked, found, left, [each.resource for _, each in missed], bool(uneven)),
        joins=asked.joins,
    )


def _excused(
    model: ClusterModel, asked: Asked, found: Found, left: Changes, missed: Sequence[Resource], is_uneven: bool
) -> Excused:
    stuck = model.slot_partition[[each.slot for each in found.stuck]].tolist()
    partitions = {model.partition(each) for each in {*stuck, *left.partitions.tolist()}}
    names = {_RESOURCES[resource] for resource in missed} | ({LOG_DIRS} if is_uneven else set())
    return replace(
        asked.excused,
        partitions=asked.excused.partitions | partitions,
        resources=asked.excused.resources | names,
    )


def _fullness(model: ClusterModel, held: Floats) -> Floats:
    """[log dirs] the share of its disk that is used."""
    on_disk = sums(model.log_dir_disk, held, len(model.disk_total_bytes))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(on_disk / model.disk_total_bytes)[model.log_dir_disk]


def _placed(model: ClusterModel, rules: Rules, targets: Targets, found: Found, changes: Changes) -> Placed:
    """Return the placement as it will be: what was found, without what was left out."""
    kept = np.zeros(model.partitions, dtype=np.bool_)
    kept[changes.partitions] = True
    slots = np.where(kept[model.slot_partition], found.slot_log_dir, model.slot_log_dir)
    leaders = np.where(kept, found.leader_slot, model.leader_slot)
    return Placed.of(model, rules, targets, slots, leaders)


def _rank(changes: Changes, cause: Ints, credit: Credit) -> Ints:
    forced = changes.per_item((cause > 0).astype(np.float64)) > 0
    return ranked(forced, credit.relief, changes.per_item(changes.copied))


def measured(origin: Origin, after: ClusterModel, rules: Rules, changes: Changes) -> tuple[Places, Places]:
    """Measure how full brokers and log dirs are now, and after these changes."""
    used, held = np.zeros((after.brokers, RESOURCES)), np.zeros((len(after.log_dirs), 2))
    now = load_now(origin.model)
    used[origin.broker], held[origin.log_dir] = now.broker, now.log_dir
    written = [np.column_stack([loads[:, Resource.DISK], changes.io]) for loads in (changes.was, changes.will)]
    return (
        brokers_measured(
            after, rules, used, _moved(used, changes.from_broker, changes.was, changes.to_broker, changes.will)
        ),
        log_dirs_measured(after, rules, held, _moved(held, changes.from_dir, written[0], changes.to_dir, written[1])),
    )


def _moved(loads: Floats, from_place: Ints, leaves: Floats, to_place: Ints, comes: Floats) -> Floats:
    after = loads.copy()
    for place, load, sign in ((from_place, leaves, -1), (to_place, comes, 1)):
        there = place >= 0
        for column in range(loads.shape[1]):
            after[:, column] += sign * sums(place[there], load[there, column], len(loads))
    return np.where(after > _RESIDUE * np.abs(loads).max(axis=0, initial=0.0), after, 0.0)


def asked_for(targets: Targets) -> Bools:
    """[credit.GOALS] which goals count; all of them where none was asked for."""
    asked = np.zeros(GOALS, dtype=np.bool_)
    asked[:RESOURCES] = np.isfinite(targets.cv) | np.isfinite(targets.max_over_mean)
    asked[LOG_DIR_BYTES:] = np.isfinite(targets.disk_level)
    return asked if asked.any() else ~asked


def _leader_moves(changes: Changes) -> int:
    return int((changes.leads & ~changes.led & ~changes.is_new[changes.item]).sum())


def _moves(
    origin: Origin,
    after: ClusterModel,
    changes: Changes,
    credit: Credit,
    stage: Ints,
    forced: Mapping[int, tuple[str, str]],
    texts: Iterator[str],
) -> Iterator[PartitionMove]:
    """One for each item, in the order of the items."""
    place = _Placements(after)
    home, start = origin.home.tolist(), origin.model.slot_start.tolist()
    real = origin.found_at[changes.partitions].tolist()
    begins = np.searchsorted(changes.item, np.arange(changes.items + 1)).tolist()
    order = np.lexsort((~changes.leads, changes.item))  # the leader first
    target = changes.to_dir[order].tolist()
    topic = after.partition_topic[changes.partitions].tolist()
    number = after.partition_number[changes.partitions].tolist()
    goals = credit.goal.tolist()
    for item, (evens, gain, size, rate, relief, at) in enumerate(
        zip(
            texts,
            credit.gain.tolist(),
            _sizes(changes),
            _largest(changes, Resource.NW_IN),
            credit.relief.tolist(),
            stage.tolist(),
            strict=True,
        )
    ):
        is_new = real[item] < 0
        slots = () if is_new else home[start[real[item]] : start[real[item] + 1]]
        goal, reason = forced.get(item) or (GOAL_NAMES[goals[item]] if gain > 0 else ROOM, evens)
        yield PartitionMove(
            partition=TopicPartition(after.topics[topic[item]], number[item]),
            original=tuple([place[slot] for slot in slots if slot >= 0]),
            target=tuple([place[to] for to in target[begins[item] : begins[item + 1]] if to >= 0]),
            size_bytes=size,
            write_rate=rate,
            reason=reason,
            goal=goal,
            relief=relief,
            stage=at,
            is_new=is_new,
        )


class _Placements(dict[int, ReplicaPlacement]):
    """The placement of each log dir, made once."""

    def __init__(self, model: ClusterModel) -> None:
        super().__init__()
        self._brokers = model.broker_ids[model.log_dir_broker].tolist()
        self._paths = model.log_dirs

    def __missing__(self, log_dir: int) -> ReplicaPlacement:
        self[log_dir] = made = ReplicaPlacement(self._brokers[log_dir], self._paths[log_dir])
        return made


def _forced(
    changes: Changes, model: ClusterModel, rules: Rules, full: Floats, cause: Ints
) -> dict[int, tuple[str, str]]:
    """{item: (goal, sentence)} of those that had to move, by their first replica that had to."""
    told: dict[int, tuple[str, str]] = {}
    for row in np.flatnonzero(cause > 0).tolist():
        item = int(changes.item[row])
        if item not in told:
            because = Cause(int(cause[row]))
            told[item] = (
                goal_of(changes, rules, row, because),
                sentence(changes, model, rules, full, row, because),
            )
    return told


def _sizes(changes: Changes) -> list[int]:
    """[items] bytes of one replica: the mean of those that are copied, so that their sum is right."""
    copies = changes.per_item(changes.copies.astype(np.float64))
    mean = changes.per_item(changes.copied) / np.maximum(copies, 1)
    largest = np.array(_largest(changes, Resource.DISK))
    return [round(size) for size in np.where(copies > 0, mean, largest).tolist()]


def _largest(changes: Changes, resource: Resource) -> list[float]:
    """[items]"""
    largest = np.zeros(changes.items)
    np.maximum.at(largest, changes.item, np.maximum(changes.was[:, resource], changes.will[:, resource]))
    return [float(load) for load in largest]


def load_table(model: ClusterModel, rules: Rules, brokers: Places, log_dirs: Places) -> tuple[LoadSummary, ...]:
    """Six rows for each broker, and two for each of its log dirs, where it has some that are known."""
    known = np.array([path != ANY_LOG_DIR for path in model.log_dirs], dtype=np.bool_)
    leaving = ~brokers.counts
    left = leaving[model.log_dir_broker] | model.log_dir_offline | ~rules.log_dir_may_stay
    paths = ["", *model.log_dirs]
    names = [*_RESOURCES, LoadResource.DISK, LoadResource.DISK_IO]
    on_broker, on_dir = np.indices(brokers.before.shape), np.indices(log_dirs.before.shape)[:, known]
    broker = np.concatenate([on_broker[0].ravel(), model.log_dir_broker[on_dir[0]].ravel()])
    path = np.concatenate([np.zeros(on_broker[0].size, dtype=np.int64), 1 + on_dir[0].ravel()])
    name = np.concatenate([on_broker[1].ravel(), RESOURCES + on_dir[1].ravel()])
    order = np.lexsort((name, path, broker))

    def column(of_brokers: Floats | Bools, of_dirs: Floats | Bools) -> list[float]:
        values: list[float] = np.concatenate([of_brokers.ravel(), of_dirs[known].ravel()])[order].tolist()
        return values

    return tuple(
        map(
            LoadSummary,
            model.broker_ids[broker[order]].tolist(),
            map(paths.__getitem__, path[order].tolist()),
            column(brokers.before, log_dirs.before),
            column(brokers.after, log_dirs.after),
            map(names.__getitem__, name[order].tolist()),
            column(_shown(brokers.capacity), _shown(log_dirs.capacity)),
            column(*(np.repeat(flags[:, None], wide, axis=1) for flags, wide in ((leaving, RESOURCES), (left, 2)))),
        )
    )


def _shown(capacity: Floats) -> Floats:
    return np.where(np.isfinite(capacity), capacity, 0.0)
