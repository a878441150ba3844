"""What a plan copies into, out of and inside each broker, between racks and data centres, and how long that takes.

Copies come from the partition's leader. A throttle holds for each broker and each way by itself, and for copies between
the log dirs of one broker once more, so a stage takes as long as the busiest of these. Lines that know what they carry
count too. Partitions grow meanwhile and slots are limited, hence "at least".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guardian.model.plan import BrokerTransfer, LinkTransfer, RackTransfer
from spark_analytics.explaining.changes import Changes
from spark_analytics.model.cluster_model import Bools, ClusterModel, Floats, Ints
from spark_analytics.model.load import sums

_GB = 1e9
_BITS = 8


@dataclass(frozen=True, slots=True)
class Transfers:
    """`seconds` of the whole plan. Brokers and links without copies are left out."""

    brokers: tuple[BrokerTransfer, ...]
    links: tuple[LinkTransfer, ...]
    racks: tuple[RackTransfer, ...]
    seconds: float


def transfers_of(changes: Changes, stage: Ints, model: ClusterModel, throttle: int) -> Transfers:
    """`stage` [items]; with throttle 0 only the lines take time. Lines and their prices are the model's."""
    stages = int(stage.max(initial=0)) + 1
    copied = changes.copied
    source = changes.source[changes.item]
    inside = changes.copies & (changes.from_broker == changes.to_broker)
    outside = changes.copies & ~inside & (source >= 0)
    arrives = changes.copies & ~inside
    ways = [
        _by_place(stage[changes.item[rows]], stages, broker[rows], model.brokers, copied[rows])
        for rows, broker in ((arrives, changes.to_broker), (outside, source), (inside, changes.to_broker))
    ]
    rate = throttle or np.inf
    links, line_seconds = _links(changes, outside, source, stage, stages, model)
    busiest = np.array([way.max(axis=1, initial=0.0) for way in ways]).max(axis=0) / rate
    coming, going, within = (way.sum(axis=0) for way in ways)
    return Transfers(
        brokers=tuple(
            BrokerTransfer(
                int(model.broker_ids[broker]),
                round(coming[broker]),
                round(going[broker]),
                round(within[broker]),
                float(max(coming[broker], going[broker], within[broker]) / rate),
            )
            for broker in np.flatnonzero(coming + going + within).tolist()
        ),
        links=links,
        racks=_racks(changes, outside, source, model),
        seconds=float(np.maximum(busiest, line_seconds).sum()),
    )


def _by_place(stage: Ints, stages: int, place: Ints, places: int, amount: Floats) -> Floats:
    """[stages, places]"""
    return sums(stage * places + place, amount, stages * places).reshape(stages, places)


def _racks(changes: Changes, outside: Bools, source: Ints, model: ClusterModel) -> tuple[RackTransfer, ...]:
    """Those that copy something, by name."""
    count = len(model.rack_names)
    rows = np.flatnonzero(outside)
    pairs, at = np.unique(model.rack[source[rows]] * count + model.rack[changes.to_broker[rows]], return_inverse=True)
    copied = sums(at, changes.copied[rows], len(pairs))
    return tuple(
        RackTransfer(model.rack_names[pair // count], model.rack_names[pair % count], round(total))
        for pair, total in zip(pairs.tolist(), copied.tolist(), strict=True)
    )


def _links(
    changes: Changes, outside: Bools, source: Ints, stage: Ints, stages: int, model: ClusterModel
) -> tuple[tuple[LinkTransfer, ...], Floats]:
    """The links used, by name; and [stages] how long the slowest of them takes."""
    count = len(model.idc_names)
    if not count:
        return (), np.zeros(stages)
    rows = np.flatnonzero(outside)
    leaves, enters = model.idc[source[rows]], model.idc[changes.to_broker[rows]]
    crosses = (leaves >= 0) & (enters >= 0) & (leaves != enters)
    rows, leaves, enters = rows[crosses], leaves[crosses], enters[crosses]
    copied = _by_place(stage[changes.item[rows]], stages, leaves * count + enters, count * count, changes.copied[rows])
    known = {line.between: line for line in model.lines}
    links, slowest = [], np.zeros(stages)
    for pair in np.flatnonzero(copied.sum(axis=0)).tolist():
        ends = model.idc_names[pair // count], model.idc_names[pair % count]
        line = known.get(_between(ends))
        rate = line.bits_per_s / _BITS if line and line.bits_per_s else np.inf
        total = float(copied[:, pair].sum())
        price = line.price_gb if line else None
        links.append(LinkTransfer(*ends, round(total), total / rate, None if price is None else price * total / _GB))
        slowest = np.maximum(slowest, copied[:, pair] / rate)
    return tuple(links), slowest


def _between(ends: Sequence[str]) -> tuple[str, str]:
    first, second = sorted(ends)
    return first, second
