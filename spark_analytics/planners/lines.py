"""What crosses the lines between data centres in a placement, and what that costs.

replication  each follower in another data centre than its leader: what the partition takes in
producers    write to the leader, wherever it is
consumers    read from a replica in their own data centre where there is one, and from the leader otherwise
copying      a new replica is read from the leader as it is before the plan

Clients may stand in data centres where the cluster has no broker: tables have those after the cluster's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guardian.model.tasks import ClientTraffic
from guardian.model.units import human_bytes
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import sums
from spark_analytics.model.resources import Resource
from spark_analytics.planners.arrays import at
from spark_analytics.search.found import Found

_MONTH = 30 * 86_400
_GB = 1e9


@dataclass(frozen=True, slots=True)
class LineUse:
    """All lines together: bytes, or bytes/s; `cost` in the price list's currency, None where a line has no price."""

    bytes: float
    cost: float | None


def cost_notes(
    model: ClusterModel, found: Found, partitions: Bools, clients: Sequence[ClientTraffic]
) -> tuple[str, ...]:
    """Three sentences: what crosses the lines for these partitions before the plan, while it copies, and after."""
    before, after = (
        _steady_words(model, slot_log_dir, leader_slot, partitions, clients)
        for slot_log_dir, leader_slot in (
            (model.slot_log_dir, model.leader_slot),
            (found.slot_log_dir, found.leader_slot),
        )
    )
    during = priced(model, model.idc_names, copied(model, found.slot_log_dir, partitions), 1.0)
    return (
        f"before: lines between data centres carry {before}",
        f"while it copies: {human_bytes(during.bytes)} more in all{_for(during, '')}",
        f"afterwards: they carry {after}",
    )


def _steady_words(
    model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints, partitions: Bools, clients: Sequence[ClientTraffic]
) -> str:
    """Say how much crosses, by whom, and for how much; without clients, that it is replication alone."""
    crossing = steady(model, slot_log_dir, leader_slot, partitions, clients)
    replicated = float(steady(model, slot_log_dir, leader_slot, partitions, ()).sum())
    of_clients = max(float(crossing.sum()) - replicated, 0.0)
    parts = f"replication {human_bytes(replicated)}/s, producers and consumers {human_bytes(of_clients)}/s"
    total = f"{human_bytes(float(crossing.sum()))}/s ({parts if clients else 'replication alone'})"
    return f"{total}{_for(priced(model, idcs_of(model, clients), crossing, _MONTH), ' a month')}"


def _for(use: LineUse, span: str) -> str:
    return "" if use.cost is None else f", for {use.cost:.2f}{span}"


def idcs_of(model: ClusterModel, clients: Sequence[ClientTraffic]) -> tuple[str, ...]:
    """The cluster's data centres, and after them those where only clients are."""
    return (*model.idc_names, *sorted({client.idc for client in clients} - {"", *model.idc_names}))


def priced(model: ClusterModel, idcs: Sequence[str], crossing: Floats, times: float) -> LineUse:
    """Return the use and the cost of lines for an [idcs, idcs] table of crossing bytes, so many times."""
    prices = {line.between: line.price_gb for line in model.lines}
    cost: float | None = 0.0
    for source, target in zip(*np.nonzero(crossing), strict=True):
        first, second = sorted((idcs[source], idcs[target]))
        price = prices.get((first, second))
        cost = None if price is None or cost is None else cost + price * float(crossing[source, target]) * times / _GB
    return LineUse(float(crossing.sum()) * times, cost)


def steady(
    model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints, partitions: Bools, clients: Sequence[ClientTraffic]
) -> Floats:
    """[idcs, idcs] bytes/s from one data centre to another."""
    idc = _idc_of(model, slot_log_dir)
    leader = idc[leader_slot]
    written = model.slot_load[model.leader_slot, Resource.NW_IN]
    slots = np.flatnonzero(partitions[model.slot_partition])
    of = model.slot_partition[slots]
    idcs = idcs_of(model, clients)
    table = _table(len(idcs), leader[of], idc[slots], written[of])
    for client in clients:
        if client.topic in model.topics and client.idc:
            table += _of_clients(model, client, idcs, idc, leader, partitions, written)
    return table


def _of_clients(
    model: ClusterModel,
    client: ClientTraffic,
    idcs: Sequence[str],
    idc: Ints,
    leader: Ints,
    partitions: Bools,
    written: Floats,
) -> Floats:
    """Shared out over the topic's partitions by what each takes in."""
    home = idcs.index(client.idc)
    of_topic = model.partition_topic == model.topic_index(client.topic)
    mine = np.flatnonzero(partitions & of_topic)
    total = written[of_topic].sum()
    share = written[mine] / total if total > 0 else np.full(len(mine), 1 / of_topic.sum())
    at_home = np.bincount(model.slot_partition[idc == home], minlength=model.partitions)[mine] > 0
    homes = np.full(len(mine), home)
    return _table(len(idcs), homes, leader[mine], share * client.produced) + _table(
        len(idcs), np.where(at_home, home, leader[mine]), homes, share * client.fetched
    )


def copied(model: ClusterModel, slot_log_dir: Ints, partitions: Bools) -> Floats:
    """[idcs, idcs] bytes that the plan copies between data centres."""
    before, after = _broker_of(model, model.slot_log_dir), _broker_of(model, slot_log_dir)
    moved = np.flatnonzero((before != after) & partitions[model.slot_partition])
    source = _idc_of(model, model.slot_log_dir)[model.leader_slot][model.slot_partition[moved]]
    target = _idc_of(model, slot_log_dir)[moved]
    return _table(len(model.idc_names), source, target, model.slot_load[moved, Resource.DISK])


def _broker_of(model: ClusterModel, slot_log_dir: Ints) -> Ints:
    return at(model.log_dir_broker, slot_log_dir, -1)


def _idc_of(model: ClusterModel, slot_log_dir: Ints) -> Ints:
    return at(model.idc, _broker_of(model, slot_log_dir), -1)


def _table(width: int, source: Ints, target: Ints, amount: Floats) -> Floats:
    """Sums by (from, to); what stays in one data centre, or is in none that is known, is left out."""
    crosses = (source != target) & (source >= 0) & (target >= 0)
    return sums(source[crosses] * width + target[crosses], amount[crosses], width * width).reshape(width, width)
