"""From a model and what a task touches to Rules: labels, tenants, IDC policies, racks and exclusions as arrays.

A topic with a label lives on brokers with that label, one without on those of its tenant's labels, or where its tenant
has none, on brokers without a label. Brokers with a label hold nothing else, unless the label is shared (settings).
Goals of other packages leave fewer of these brokers (added.py).

Partitions that share all of this, their replication factor and their standing towards the rules, share a class:

    (demands of the topic, replication factor)      a kind: which brokers may hold it, how many replicas per IDC
    + held          a replica is on a broker that keeps it but takes no more: that broker's rack counts for it
    + the IDCs that it breaks already, in a task that does not mend (it may stay so, and never gets worse)

Racks that it crowds already may stay so in such a task too, but none comes to be crowded in their place.

What no placement can keep is relaxed as little as can be, and told in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from guardian.model.federation import IdcPolicy
from guardian.model.planner_settings import PlannerSettings
from guardian.model.text import some
from spark_analytics.extensions.installed import Installed, installed
from spark_analytics.goals.min_leaders import leading_brokers
from spark_analytics.model.cluster_model import Bools, ClusterModel, Ints, living_slots
from spark_analytics.planners import limits
from spark_analytics.planners.added import Demands
from spark_analytics.planners.arrays import at, distinct, unique_rows
from spark_analytics.planners.topics import may_move
from spark_analytics.search.rules import Added, Rules

NO_LIMIT = 1 << 30  # replicas per rack or IDC

_Item = TypeVar("_Item", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """What of a cluster a task touches; None: all of it, or none in `must_leave`, `leaving`, `not_leading`, `emptied`.

    A task that does not mend leaves alone what breaks a rule already (a replica on a dead broker, two in one rack). So
    it moves what it was asked to move and nothing else.
    """

    partitions: Bools | None = None  # [partitions] all others stay as they are, whatever rule they break
    free: Bools | None = None  # [slots] may move though no rule asks for it
    must_leave: Bools | None = None  # [slots]
    leaving: Bools | None = None  # [brokers] must become empty
    taking: Bools | None = None  # [brokers] only these may take replicas
    not_leading: Bools | None = None  # [brokers]
    emptied: Bools | None = None  # [log dirs] must become empty
    mends: bool = True


def compiled(
    model: ClusterModel,
    settings: PlannerSettings,
    scope: Scope | None = None,
    goals: Sequence[Installed] | None = None,
) -> tuple[Rules, tuple[str, ...]]:
    """Return the rules, and a sentence for each demand that no placement can meet.

    `goals` are those of other packages; None: all that are installed. Raises InvalidInput when one of them is wrong.
    """
    demands = Demands.of(model, settings, installed() if goals is None else goals)
    scope, untouched = _without_untouchable(model, scope or Scope())
    kinds = _Kinds.of(model, settings, scope, demands)
    idc_min, idc_max, policies_unmet = _idc_limits(model, kinds)
    classes = _Classes.of(model, scope, kinds, idc_min, idc_max)
    pinned = classes.has_pinned
    emptied = _flags(scope.emptied, len(model.log_dirs))
    closed = (limits.slow(model, settings) | limits.busy(model, settings))[model.log_dir_disk]
    rules = Rules(
        class_of=classes.of_partition,
        may_stay=_with_pinned(kinds.may_stay[classes.kind], pinned, True),
        may_take=_with_pinned(kinds.may_take[classes.kind], pinned, False),
        may_lead=_with_pinned(_may_lead(model, scope, kinds)[classes.kind], pinned, True),
        idc_min=_with_pinned(classes.idc_min, pinned, 0),
        idc_max=_with_pinned(classes.idc_max, pinned, NO_LIMIT),
        rack_max=_with_pinned(classes.rack_max, pinned, NO_LIMIT),
        log_dir_may_take=~model.log_dir_offline
        & ~emptied
        & ~closed
        & (model.alive & ~_crippled(model))[model.log_dir_broker],
        log_dir_may_stay=~emptied & (~model.log_dir_offline | (not scope.mends)),
        capacity_limit=limits.capacity_limit(model, settings),
        disk_limit=settings.disk_limit,
        free_to_move=_free(model, settings, scope),
        must_leave=_flags(scope.must_leave, model.slots),
        disk_reserve=settings.disk_reserve,
        disk_spare=limits.disk_spare(model, settings),
        disk_io_limit=settings.disk_io_limit,
        mends=scope.mends,
        keeps_crowds=not scope.mends,
        most_replicas=np.full(model.brokers, settings.max_replicas),
        least_leaders=np.array([settings.leaders_of(topic) for topic in model.topics], dtype=np.int64),
        compared=_with_pinned(kinds.compared[classes.kind], pinned, False),
        added=_added(demands, settings, kinds.added[classes.kind], pinned),
    )
    return rules, (*untouched, *kinds.unmet, *policies_unmet, *_too_few_to_lead(model, rules))


def _added(demands: Demands, settings: PlannerSettings, row: Ints, pinned: bool) -> Added | None:
    """Return the demands by class."""
    if not demands.goals:
        return None
    return Added(
        goals=demands.goals,
        settings=settings,
        may_hold=np.stack([_with_pinned(of_each[row], pinned, True) for of_each in demands.hold]),
        may_lead=np.stack([_with_pinned(of_each[row], pinned, True) for of_each in demands.lead]),
    )


def _crippled(model: ClusterModel) -> Bools:
    """[brokers] that take nothing new and have lost a log dir: Kafka moves nothing out of it to the broker's others."""
    failed = np.zeros(model.brokers, np.bool_)
    failed[model.log_dir_broker[model.log_dir_offline]] = True
    return failed & model.excluded


def _too_few_to_lead(model: ClusterModel, rules: Rules) -> Iterator[str]:
    """Topics that have fewer partitions than their brokers are to lead."""
    for topic, least, brokers in leading_brokers(model, rules):
        partitions, count = int((model.partition_topic == topic).sum()), int(brokers.sum())
        if partitions < least * count:
            yield (
                f"min_leaders asks each of {count} brokers to lead {least} of topic {model.topics[topic]}, which has "
                f"{partitions} partitions: give it at least {least * count}, or leave it out of min_leaders"
            )


def _with_pinned(rows: npt.NDArray[_Item], pinned: bool, value: _Item | int | bool) -> npt.NDArray[_Item]:
    """A last row for partitions that the task does not touch: they break no rule, wherever they are."""
    if not pinned:
        return rows
    return np.concatenate([rows, np.full((1, *rows.shape[1:]), value, dtype=rows.dtype)])


def _without_untouchable(model: ClusterModel, scope: Scope) -> tuple[Scope, tuple[str, ...]]:
    """Partitions that no plan may touch stay as they are, and a sentence of those that the task was to move."""
    left = untouchable(model)
    if not left.any():
        return scope, ()
    inside = _flags(scope.partitions, model.partitions, default=True)
    concerned = inside & (scope.mends | (_count(model, _forced_out(model, scope)) > 0))
    must_leave = _flags(scope.must_leave, model.slots) & ~left[model.slot_partition]
    words = tuple(untouchable_words(model, left & concerned))
    return replace(scope, partitions=inside & ~left, must_leave=must_leave), words


def untouchable(model: ClusterModel) -> Bools:
    """[partitions] Without a living replica there is nobody to copy from; of one not seen whole, the rest would go."""
    return _lost(model) | ~model.whole


def untouchable_words(model: ClusterModel, which: Bools) -> Iterator[str]:
    """A sentence for each kind among these."""
    lost = _lost(model)
    yield from _lost_words(model, which & lost)
    yield from unseen_words(model, which & ~lost & ~model.whole)


def living(model: ClusterModel) -> Ints:
    """[partitions] replicas on brokers that live and disks that work."""
    return _count(model, living_slots(model))


def _lost(model: ClusterModel) -> Bools:
    return np.asarray((_count(model, model.slot_log_dir >= 0) > 0) & (living(model) == 0))


def _count(model: ClusterModel, slots: Bools) -> Ints:
    """[partitions] how many of these slots each has."""
    return np.bincount(model.slot_partition[slots], minlength=model.partitions)


def _forced_out(model: ClusterModel, scope: Scope) -> Bools:
    """[slots] what the task itself wants to leave."""
    leaving, emptied = _flags(scope.leaving, model.brokers), _flags(scope.emptied, len(model.log_dirs))
    return (
        at(leaving, model.slot_broker, False)
        | at(emptied, model.slot_log_dir, False)
        | _flags(scope.must_leave, model.slots)
    )


def _lost_words(model: ClusterModel, lost: Bools) -> Iterator[str]:
    which = np.flatnonzero(lost).tolist()
    if not which:
        return
    brokers = np.unique(model.slot_broker[lost[model.slot_partition]])
    down = ", ".join(str(model.broker_ids[broker]) for broker in brokers[:5].tolist())
    verb = "stay as they are, having" if len(which) > 1 else "stays as it is, having"
    yield (
        f"{some([str(model.partition(partition)) for partition in which])} {verb} no living replica to copy from: "
        f"bring back a disk or broker of {down}" + (" and others" if len(brokers) > 5 else "")
    )


def unseen_words(model: ClusterModel, unseen: Bools) -> Iterator[str]:
    """Say of partitions that are not whole that they stay, and how to mend that."""
    which = np.flatnonzero(unseen).tolist()
    if not which:
        return
    broken = model.log_dir_offline & model.alive[model.log_dir_broker]
    gone = [f"{place.broker}:{place.log_dir}" for place in map(model.placement, np.flatnonzero(broken).tolist())]
    held = np.bincount(model.slot_broker[model.slot_broker >= 0], minlength=model.brokers)
    gone += [f"broker {broker}" for broker in model.broker_ids[~model.alive & (held == 0)].tolist()]
    names = some([str(model.partition(partition)) for partition in which])
    stays = "stay as they are: their leaders know" if len(which) > 1 else "stays as it is: its leader knows"
    fix = "take a later window, or see guardian durability"
    if gone:
        fix = f"bring back {some(gone)}, or take a window that begins before that was lost"
    yield f"{names} {stays} of more replicas than were sampled, or nobody leads: {fix}"


@dataclass(frozen=True, slots=True, eq=False)
class _Kinds:
    """One row for each (demands of the topic, replication factor)."""

    of_partition: Ints  # [partitions]; -1: out of scope
    replicas: Ints  # [kinds]
    policy: Ints  # [kinds]
    added: Ints  # [kinds] the row of the demands of other packages' goals
    may_stay: Bools  # [kinds, brokers]
    may_take: Bools  # [kinds, brokers]
    may_lead: Bools  # [kinds, brokers] by the goals of other packages
    compared: Bools  # [kinds, brokers] may take, were it not for those that the task says are to take all
    unmet: tuple[str, ...]

    @classmethod
    def of(cls, model: ClusterModel, settings: PlannerSettings, scope: Scope, added: Demands) -> _Kinds:
        tenant = _limiting_tenant(model)
        columns = [model.topic_label, tenant, model.topic_policy, added.row_of_topic]
        demands, demand_of_topic = unique_rows(np.column_stack(columns))
        replicas = np.diff(model.slot_start)
        width = int(replicas.max(initial=0)) + 1
        key = demand_of_topic[model.partition_topic] * width + replicas
        key[~_flags(scope.partitions, model.partitions, default=True)] = -1
        keys, of_partition = distinct(key)
        demand, replicas_of = keys // width, keys % width
        may_stay, compared, unmet = _places(model, settings, scope, demands[demand], replicas_of, added)
        row = demands[demand, 3]
        return cls(
            of_partition=of_partition,
            replicas=replicas_of,
            policy=demands[demand, 2],
            added=row,
            may_stay=may_stay,
            may_take=compared & _flags(scope.taking, model.brokers, default=True),
            may_lead=added.may_lead[row],
            compared=compared,
            unmet=unmet,
        )


def _limiting_tenant(model: ClusterModel) -> Ints:
    """[topics] the tenant whose labels say where the topic may live; -1: its own label does, or nothing."""
    limits: Bools = np.asarray(model.tenant_labels.any(axis=1))
    tenant = model.topic_tenant
    applies = (model.topic_label < 0) & (tenant >= 0)
    applies[applies] = limits[tenant[applies]]
    return np.where(applies, tenant, -1)


def _places(
    model: ClusterModel, settings: PlannerSettings, scope: Scope, demands: Ints, replicas: Ints, added: Demands
) -> tuple[Bools, Bools, tuple[str, ...]]:
    """[kinds, brokers] may stay, may take whoever is to take; and which labels and goals have too few brokers."""
    remains = ~_flags(scope.leaving, model.brokers)
    usable = model.alive & remains
    takes = usable & ~model.excluded
    shared = np.array([name in settings.shared_labels for name in model.label_names], dtype=np.bool_)
    may_stay = np.zeros((len(demands), model.brokers), dtype=np.bool_)
    may_take = np.zeros_like(may_stay)
    unmet: dict[str, None] = {}
    for kind, (label, tenant, policy, row) in enumerate(demands.tolist()):
        of_label = _suits(model, shared, label, tenant)
        suits = of_label & added.may_hold[row]
        brokers, all_of_label = int((usable & suits).sum()), int((usable & of_label).sum())
        enough = brokers >= replicas[kind]
        if not enough and brokers < all_of_label:
            unmet[_too_few_allowed(added.names(row, usable & of_label), brokers, int(replicas[kind]))] = None
        elif not enough and not of_label.all():
            unmet[_too_few(model, label, tenant, brokers, int(replicas[kind]))] = None
        if policy >= 0:
            suits = suits & (model.idc >= 0)
        may_take[kind] = takes & suits
        may_stay[kind] = (usable & suits if enough else usable) if scope.mends else remains
    return may_stay, may_take, tuple(unmet)


def _suits(model: ClusterModel, shared: Bools, label: int, tenant: int) -> Bools:
    """[brokers] those whose label is right for a topic with this one, or of this tenant."""
    if label >= 0:
        return np.asarray(model.broker_label == label)
    if tenant >= 0:
        return at(model.tenant_labels[tenant], model.broker_label, False)
    return at(shared, model.broker_label, True)


def _too_few(model: ClusterModel, label: int, tenant: int, brokers: int, replicas: int) -> str:
    if label >= 0:
        whose, fix = f"of label {model.label_names[label]}", "give the label more"
    elif tenant >= 0:
        whose, fix = f"with a label of tenant {model.tenant_names[tenant]}", "give its labels more"
    else:
        whose, fix = "without a label", "give these topics a label, or leave brokers without one"
    return (
        f"{brokers} brokers {whose} can hold replicas and topics have replication factor {replicas}: "
        f"what stands elsewhere stays there; {fix}"
    )


def _too_few_allowed(goals: str, brokers: int, replicas: int) -> str:
    return (
        f"{brokers} brokers can hold replicas by {goals} and topics have replication factor {replicas}: "
        "what stands elsewhere stays there; add brokers that hold them"
    )


def _idc_limits(model: ClusterModel, kinds: _Kinds) -> tuple[Ints, Ints, tuple[str, ...]]:
    """[kinds, idcs] least and most replicas; and what no placement can meet."""
    low = np.zeros((len(kinds.replicas), len(model.idc_names)), dtype=np.int64)
    high = np.full_like(low, NO_LIMIT)
    unmet: dict[str, None] = {}
    for kind in np.flatnonzero(kinds.policy >= 0).tolist():
        replicas = int(kinds.replicas[kind])
        policy = model.policies[kinds.policy[kind]].of_factor(replicas)
        wanted = np.zeros(len(model.idc_names), dtype=np.int64)
        for idc, count in policy.replicas:
            if idc in model.idc_names:
                wanted[model.idc_names.index(idc)] = count
        low[kind], high[kind] = _limits_of(policy, wanted, replicas)
        places = kinds.may_stay[kind] | kinds.may_take[kind]
        there = np.bincount(model.idc[places & (model.idc >= 0)], minlength=len(wanted))
        for sentence in _policy_unmet(model, policy, replicas, there):
            unmet[sentence] = None
        if (there < low[kind]).any() or sum(count for _, count in policy.replicas) != wanted.sum():
            low[kind], high[kind] = np.minimum(low[kind], there), NO_LIMIT
    return low, high, tuple(unmet)


def _limits_of(policy: IdcPolicy, wanted: Ints, replicas: int) -> tuple[Ints, Ints]:
    """More replicas than the policy names go to its data centres; fewer leave some of its places empty."""
    total = sum(count for _, count in policy.replicas)
    if replicas < total:
        return np.zeros_like(wanted), wanted
    return wanted, np.where(wanted > 0, wanted + replicas - total, 0)


def _policy_unmet(model: ClusterModel, policy: IdcPolicy, replicas: int, there: Ints) -> Iterator[str]:
    total = sum(count for _, count in policy.replicas)
    if replicas != total:
        yield (
            f"IDC policy {policy.name} places {total} replicas and topics have replication factor {replicas}: "
            "change one of them, or say in the policy's other_factors where these live"
        )
    for idc, count in policy.replicas:
        brokers = int(there[model.idc_names.index(idc)]) if idc in model.idc_names else 0
        if brokers < count and replicas >= total:
            yield (
                f"IDC policy {policy.name} wants {count} replicas in {idc}, "
                f"where {brokers} brokers can hold them: add brokers there, or change the policy"
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Classes:
    """Kinds, told apart by what partitions have to do with the rules now. The pinned class, if any, comes last."""

    of_partition: Ints  # [partitions]
    has_pinned: bool
    kind: Ints  # [classes]
    rack_max: Ints  # [classes]
    idc_min: Ints  # [classes, idcs]
    idc_max: Ints  # [classes, idcs]

    @classmethod
    def of(cls, model: ClusterModel, scope: Scope, kinds: _Kinds, idc_min: Ints, idc_max: Ints) -> _Classes:
        inside = kinds.of_partition >= 0
        held = _held(model, kinds)
        needed = _racks_needed(model, kinds, idc_min)
        rack = np.zeros(model.partitions, dtype=np.int64)
        rack[inside] = needed[kinds.of_partition[inside], held[inside].astype(np.int64)]
        standing = np.zeros((model.partitions, 0), dtype=np.int64)
        if not scope.mends:
            standing = _idc_counts(model)
            standing[model.topic_policy[model.partition_topic] < 0] = 0
        key = np.column_stack([kinds.of_partition, rack, standing])[inside]
        rows, row_of = unique_rows(key)
        of_partition = np.full(model.partitions, len(rows))
        of_partition[inside] = row_of
        kind = rows[:, 0]
        low, high = idc_min[kind], idc_max[kind]
        if standing.shape[1]:
            now = rows[:, 2:]
            low, high = np.minimum(low, now), np.maximum(high, now)
        return cls(of_partition, bool((~inside).any()), kind, rows[:, 1], low, high)


def _held(model: ClusterModel, kinds: _Kinds) -> Bools:
    """[partitions] whether a replica is on a broker that keeps it but takes no more."""
    kind, broker = kinds.of_partition[model.slot_partition], model.slot_broker
    counts = (kind >= 0) & (broker >= 0)
    counts[counts] = (kinds.may_stay & ~kinds.may_take)[kind[counts], broker[counts]]
    return np.bincount(model.slot_partition[counts], minlength=model.partitions) > 0


def _racks_needed(model: ClusterModel, kinds: _Kinds, idc_min: Ints) -> Ints:
    """[kinds, 2] the most replicas that a rack must take: by the brokers that may take, and by those that may stay."""
    needed = np.ones((len(kinds.replicas), 2), dtype=np.int64)
    for kind, replicas in enumerate(kinds.replicas.tolist()):
        for column, brokers in enumerate((kinds.may_take[kind], kinds.may_stay[kind] | kinds.may_take[kind])):
            shares = [(brokers, replicas)]
            shares += [
                (brokers & (model.idc == idc), int(idc_min[kind, idc]))
                for idc in np.flatnonzero(idc_min[kind]).tolist()
            ]
            needed[kind, column] = max(rack_share(np.bincount(model.rack[on]), count) for on, count in shares)
    return needed


def rack_share(brokers: Ints, replicas: int) -> int:
    """The least most: how many of `replicas` one rack must take when racks have so many `brokers`."""
    wanted = min(replicas, int(brokers.sum()))
    share = 1
    while int(np.minimum(brokers, share).sum()) < wanted:
        share += 1
    return share


def _idc_counts(model: ClusterModel) -> Ints:
    """[partitions, idcs] replicas now."""
    width = len(model.idc_names)
    idc = np.where(model.slot_broker >= 0, model.idc[model.slot_broker], -1)
    key = (model.slot_partition * width + idc)[idc >= 0]
    return np.bincount(key, minlength=model.partitions * width).reshape(model.partitions, width)


def _may_lead(model: ClusterModel, scope: Scope, kinds: _Kinds) -> Bools:
    """[kinds, brokers] by the preferred data centre, where there is one, and by the goals of other packages."""
    usable = model.alive & ~_flags(scope.leaving, model.brokers) & ~_flags(scope.not_leading, model.brokers)
    lead = usable & kinds.may_lead
    for kind in np.flatnonzero(kinds.policy >= 0).tolist():
        policy = model.policies[kinds.policy[kind]].of_factor(int(kinds.replicas[kind]))
        preferred = policy.preferred_leader_idc
        if preferred in model.idc_names:
            lead[kind] &= model.idc == model.idc_names.index(preferred)
    return lead


def _free(model: ClusterModel, settings: PlannerSettings, scope: Scope) -> Bools:
    """[slots] what may move though no rule asks for it."""
    partitions = _flags(scope.partitions, model.partitions, default=True) & may_move(model, settings)
    free = partitions[model.slot_partition] & _flags(scope.free, model.slots, default=True)
    if not scope.mends:
        placed = model.slot_log_dir >= 0
        log_dir = np.where(placed, model.slot_log_dir, 0)
        free &= ~placed | (model.alive[model.log_dir_broker[log_dir]] & ~model.log_dir_offline[log_dir])
    return free


def _flags(given: Bools | None, size: int, default: bool = False) -> Bools:
    return np.full(size, default) if given is None else given
