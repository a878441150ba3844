"""The steps of a search for balance: what could be done for one overloaded place, and which of it pays best.

Each function looks at every candidate at once, as a matrix of replicas by destinations, and returns the step with the
most relief per byte copied, or None when none is allowed or none pays. Nothing is changed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_analytics.goals import disk_capacity, leader_distribution, rack_aware, replication_factor, traffic_spread
from spark_analytics.goals.goal import Acceptance
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.placement import Placement
from spark_analytics.planners.settings import BalanceSettings

# Only the emptiest log dirs are tried as destinations: in a large cluster the others would not be chosen anyway.
_DESTINATIONS = 96
_EXCHANGE_DESTINATIONS = 16
# What a step must relieve for each mean log dir's worth of bytes that it copies; and at all, or it is rounding.
_PRICE = 1e-3
_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Source:
    """A place to take from: a broker, or one log dir."""

    is_broker: bool
    index: int


@dataclass(frozen=True, slots=True)
class Step:
    """Replicas that go to other log dirs together, as (slot, log dir); or the slot that becomes its leader."""

    score: float
    moves: tuple[tuple[int, int], ...] = ()
    leader: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What stays the same during a search."""

    settings: BalanceSettings
    online: Ints  # [online log dirs]
    capacity: Floats  # [disks] bytes that may be copied in
    broker_mean: float  # bytes/s
    log_dir_mean: float  # bytes/s, of those online
    log_dir_bytes: float  # the mean of the bytes held by a log dir
    replica_bytes: float  # the mean size of a replica

    @classmethod
    def of(cls, model: ClusterModel, settings: BalanceSettings) -> Terms:
        load = Placement.of(model).load
        online = np.flatnonzero(~model.log_dir_offline)
        held = float(model.size_bytes[model.slot_partition].sum())
        return cls(
            settings=settings,
            online=online,
            capacity=disk_capacity.head_room(model, settings.capacity_limit, settings.capacity_reserve),
            broker_mean=float(load.broker.mean()),
            log_dir_mean=float(load.log_dir.sum()) / max(len(online), 1),
            log_dir_bytes=max(held / max(len(online), 1), 1.0),
            replica_bytes=max(held / max(len(model.slot_partition), 1), 1.0),
        )


def best_move(placement: Placement, terms: Terms, source: Source) -> Step | None:
    """One replica leaves the source for another log dir."""
    model = placement.model
    slots, log_dirs = _replicas_on(placement, source), _destinations(placement, terms, source, _DESTINATIONS)
    if not len(slots) or not len(log_dirs):
        return None
    partition = model.slot_partition[slots]
    best = _best_exchange_of(
        placement,
        terms,
        placement.slot_log_dir[slots],
        log_dirs,
        written=np.broadcast_to(model.write_rate[partition][:, None], (len(slots), len(log_dirs))),
        traffic=placement.broker_traffic(slots)[:, None],
        copied=model.size_bytes[partition][:, None],
        allowed=_may_go(placement, slots, log_dirs) & _fit(placement, terms, slots, log_dirs),
    )
    if best is None:
        return None
    row, column, score = best
    return Step(score, moves=((int(slots[row]), int(log_dirs[column])),))


def best_exchange(placement: Placement, terms: Terms, source: Source) -> Step | None:
    """A replica on the source and a smaller one elsewhere change places."""
    model = placement.model
    ours, log_dirs = _replicas_on(placement, source), _destinations(placement, terms, source, _EXCHANGE_DESTINATIONS)
    theirs = np.flatnonzero(np.isin(placement.slot_log_dir, log_dirs) & model.movable[model.slot_partition])
    if not len(ours) or not len(theirs):
        return None
    of_ours, of_theirs = model.slot_partition[ours], model.slot_partition[theirs]
    our_dir, their_dir = placement.slot_log_dir[ours], placement.slot_log_dir[theirs]
    size, their_size = model.size_bytes[of_ours][:, None], model.size_bytes[of_theirs][None, :]
    best = _best_exchange_of(
        placement,
        terms,
        our_dir,
        their_dir,
        written=model.write_rate[of_ours][:, None] - model.write_rate[of_theirs][None, :],
        traffic=placement.broker_traffic(ours)[:, None] - placement.broker_traffic(theirs)[None, :],
        copied=size + their_size,
        allowed=(of_ours[:, None] != of_theirs[None, :])
        & _may_go(placement, ours, their_dir)
        & _may_go(placement, theirs, our_dir).T
        & _both_fit(placement, terms, our_dir, their_dir, size, their_size),
    )
    if best is None:
        return None
    row, column, score = best
    return Step(score, moves=((int(ours[row]), int(their_dir[column])), (int(theirs[column]), int(our_dir[row]))))


def best_transfer(placement: Placement, terms: Terms, source: Source) -> Step | None:
    """A leader whose consumers load the source, a broker, hands over to a follower: no bytes are copied."""
    if not source.is_broker:
        return None
    slots, brokers, partition = _followers_of_leaders_on(placement, source.index)
    read, load, target = placement.model.read_rate[partition], placement.load.broker, terms.settings.target_spread
    gain = traffic_spread.relief(load[source.index], -read, terms.broker_mean, target)
    gain = gain + traffic_spread.relief(load[brokers], read, terms.broker_mean, target)
    return _best_leader(placement, terms, slots, brokers, read, gain)


def best_leader_spread(placement: Placement, terms: Terms, source: Source) -> Step | None:
    """A leader on the source, a broker, hands over so that leaders and what they take in are more even."""
    slots, brokers, partition = _followers_of_leaders_on(placement, source.index)
    model = placement.model
    gain = leader_distribution.transfer_relief(
        placement.load, source.index, brokers, model.write_rate[partition], terms.settings.leader_spread
    )
    return _best_leader(placement, terms, slots, brokers, model.read_rate[partition], gain)


def _best_exchange_of(
    placement: Placement,
    terms: Terms,
    our_dir: Ints,
    their_dir: Ints,
    written: Floats,
    traffic: Floats,
    copied: Floats,
    allowed: Bools,
) -> tuple[int, int, float] | None:
    """(row, column, score) of the best net transfer from `our_dir` [rows] to `their_dir` [columns], bytes/s each."""
    load, target = placement.load, terms.settings.target_spread
    log_dir_of = placement.model.log_dir_broker
    our_broker, their_broker = log_dir_of[our_dir][:, None], log_dir_of[their_dir][None, :]
    carried = np.where(our_broker != their_broker, traffic, 0.0)
    fullest_log_dir, fullest_broker = load.log_dir.max(), load.broker.max()
    gain = np.zeros(written.shape)
    for at, change, mean, fullest in (
        (load.log_dir[our_dir][:, None], -written, terms.log_dir_mean, fullest_log_dir),
        (load.log_dir[their_dir][None, :], written, terms.log_dir_mean, fullest_log_dir),
        (load.broker[our_broker], -carried, terms.broker_mean, fullest_broker),
        (load.broker[their_broker], carried, terms.broker_mean, fullest_broker),
    ):
        gain += traffic_spread.relief(at, change, mean, target)
        allowed = allowed & traffic_spread.acceptance(at, change, fullest)
    pays = allowed & (gain > _LEAST + _PRICE * copied / terms.log_dir_bytes)
    if not pays.any():
        return None
    score = np.where(pays, gain / (copied + terms.replica_bytes), -np.inf)
    row, column = np.unravel_index(int(score.argmax()), score.shape)
    return int(row), int(column), float(score[row, column])


def _best_leader(
    placement: Placement, terms: Terms, slots: Ints, brokers: Ints, read: Floats, gain: Floats
) -> Step | None:
    within = traffic_spread.acceptance(placement.load.broker[brokers], read, placement.load.broker.max())
    pays = within & (gain > _PRICE)
    if not pays.any():
        return None
    best = int(np.where(pays, gain, -np.inf).argmax())
    return Step(float(gain[best]) / terms.replica_bytes, leader=int(slots[best]))


def _replicas_on(placement: Placement, source: Source) -> Ints:
    """Slots on the source that carry traffic and may be moved."""
    model = placement.model
    on = placement.slot_broker if source.is_broker else placement.slot_log_dir
    slots = np.flatnonzero(on == source.index)
    may = model.movable[model.slot_partition[slots]] & ~model.log_dir_offline[placement.slot_log_dir[slots]]
    carrying: Ints = slots[may & (placement.broker_traffic(slots) > 0)]
    return carrying


def _followers_of_leaders_on(placement: Placement, broker: int) -> tuple[Ints, Ints, Ints]:
    """(slots, their brokers, their partitions) of the followers of what the broker leads."""
    model = placement.model
    leaders = placement.leader_slot[(placement.slot_broker[placement.leader_slot] == broker) & model.movable]
    followers = placement.siblings[leaders].ravel()
    slots = followers[followers >= 0]
    return slots, placement.slot_broker[slots], model.slot_partition[slots]


def _destinations(placement: Placement, terms: Terms, source: Source, limit: int) -> Ints:
    """Log dirs to try, ascending: the emptiest, and for a log dir also the others of its broker."""
    load, model = placement.load, placement.model
    away = model.log_dir_broker[terms.online] if source.is_broker else terms.online
    candidates: Ints = terms.online[away != source.index]
    if len(candidates) <= limit:
        return candidates
    broker = model.log_dir_broker[candidates]
    fullness = load.log_dir[candidates] / max(terms.log_dir_mean, 1e-9)
    fullness += load.broker[broker] / max(terms.broker_mean, 1e-9)
    chosen = candidates[np.argsort(fullness, kind="stable")[:limit]]
    if not source.is_broker:
        chosen = np.union1d(chosen, candidates[broker == model.log_dir_broker[source.index]])
    return np.asarray(np.sort(chosen))


def _may_go(placement: Placement, slots: Ints, log_dirs: Ints) -> Bools:
    """[slots, log dirs] the hard goals about where the replicas of a partition stand."""
    kinds, at = np.unique(log_dirs, return_inverse=True)
    replicas = replication_factor.acceptance(placement, slots, kinds)
    racks = rack_aware.acceptance(placement, slots, kinds)
    answer = np.maximum(replicas, racks) == Acceptance.ACCEPT
    return np.asarray(answer[:, at])


def _fit(placement: Placement, terms: Terms, slots: Ints, log_dirs: Ints) -> Bools:
    return np.asarray(disk_capacity.acceptance(placement, terms.capacity, slots, log_dirs) == Acceptance.ACCEPT)


def _both_fit(
    placement: Placement, terms: Terms, our_dir: Ints, their_dir: Ints, size: Floats, their_size: Floats
) -> Bools:
    """Both copies fit, also when the two log dirs share a disk."""
    disk = placement.model.log_dir_disk
    ours = disk_capacity.room(placement, terms.capacity, our_dir)[:, None]
    theirs = disk_capacity.room(placement, terms.capacity, their_dir)[None, :]
    shared = disk[our_dir][:, None] == disk[their_dir][None, :]
    return np.asarray(
        (np.where(shared, size + their_size, size) <= theirs) & (np.where(shared, 0.0, their_size) <= ours)
    )
