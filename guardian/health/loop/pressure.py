"""How busy disks were and how long producers waited while copies went, from the lake: beside a ticket's throttle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from guardian.health.loop.lake_facts import disk_series
from guardian.health.model.disks import DiskSeries
from guardian.lake.model.schema import METRIC_SAMPLES
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader
from guardian.web.pressure import BrokerPressure, PressureSeen

_PRODUCE_P99 = "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce:99thPercentile"
_MOST_POINTS = 240
_Series = tuple[tuple[int, float], ...]


def pressure_seen(lake: LakeReader, cluster: str, brokers: Collection[int], window: Window) -> PressureSeen:
    """Read how busy these brokers' disks were and how long producers waited. Raises InvalidInput when the window has
    more than a member reads for one question, and Unavailable when the lake can't be read.
    """
    disks: dict[int, list[_Series]] = defaultdict(list)
    for series in disk_series(lake, cluster, window):
        if series.broker in brokers:
            disks[series.broker].append(_busy(series))
    waits = _produce_p99(lake, cluster, brokers, window)
    found = {
        broker: BrokerPressure(_thinned(_busiest(disks.get(broker, []))), _thinned(waits.get(broker, ())))
        for broker in sorted(disks.keys() | waits.keys())
    }
    return PressureSeen({broker: each for broker, each in found.items() if each != BrokerPressure()})


def _busy(series: DiskSeries) -> _Series:
    """The share of each interval; a counter that goes backwards is a restart of the host."""
    lasts, busy = np.diff(series.at_ms), np.diff(series.busy_ms)
    good = (lasts > 0) & (busy >= 0)
    shares = np.minimum(busy[good] / lasts[good], 1.0)
    return tuple(zip(series.at_ms[1:][good].tolist(), shares.tolist(), strict=True))


def _busiest(disks: Collection[_Series]) -> _Series:
    """A broker's disks are read at once, so their times are the same."""
    highest: dict[int, float] = {}
    for series in disks:
        for at_ms, share in series:
            highest[at_ms] = max(highest.get(at_ms, 0.0), share)
    return tuple(sorted(highest.items()))


def _produce_p99(lake: LakeReader, cluster: str, brokers: Collection[int], window: Window) -> dict[int, _Series]:
    wanted = (ds.field("metric") == _PRODUCE_P99) & ds.field("broker").isin(pa.array(sorted(brokers), pa.int32()))
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for batch in lake.batches(METRIC_SAMPLES, cluster, window, ("at_ms", "broker", "value"), where=wanted):
        columns = (batch[name].to_pylist() for name in ("at_ms", "broker", "value"))
        for at_ms, broker, value in zip(*columns, strict=True):
            found[broker][at_ms] = value
    return {broker: tuple(sorted(values.items())) for broker, values in found.items()}


def _thinned(series: _Series) -> _Series:
    """Thin the series to as many points as a chart can show: of each stretch the highest, since that is what one looks
    for.
    """
    size = -(-len(series) // _MOST_POINTS)
    if size <= 1:
        return series
    return tuple(max(series[at : at + size], key=lambda point: point[1]) for at in range(0, len(series), size))
