"""What brokers and log dirs did, hour by hour: for forecasts, which look back over weeks.

A log dir's bytes are those at the hour's end; a broker's loads are the hour's mean, each pair of samples weighing as
long as it lasts (guardian.lake.rules.windows says what a pair tells). A pair belongs to the hour in which it ends.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from guardian.lake.model.schema import table_of
from guardian.lake.model.windows import SERIES
from guardian.lake.rules.rates import Floats, Ints
from guardian.lake.rules.windows import BrokerPairs, broker_pairs, latest_of, nic_speeds

DISK, CPU, NW_IN, NW_OUT = "disk", "cpu", "nw_in", "nw_out"
_HOUR_MS = 3_600_000


def hourly(brokers: pa.Table, log_dirs: pa.Table, nics: pa.Table) -> pa.Table:
    """Return the rows of SERIES. The tables have the columns that guardian.lake.rules.windows names for each."""
    return pa.concat_tables([_disks(log_dirs), *_loads(broker_pairs(brokers), nic_speeds(nics))])


def _disks(samples: pa.Table) -> pa.Table:
    online = samples.filter(pc.and_(pc.invert(samples["offline"]), pc.greater(samples["total_bytes"], 0)))
    hour = pa.array(online["at_ms"].to_numpy() // _HOUR_MS, pa.int64())
    rows = latest_of(online.append_column("hour", hour), ("broker", "log_dir", "hour"), ("total_bytes", "usable_bytes"))
    total = rows["total_bytes"].to_numpy().astype(np.float64)
    return table_of(
        SERIES,
        {
            **{name: rows[name].combine_chunks() for name in ("broker", "log_dir", "at_ms")},
            "resource": pa.array([DISK] * rows.num_rows, pa.string()),
            "value": total - rows["usable_bytes"].to_numpy(),
            "capacity": total,
        },
    )


def _loads(pairs: BrokerPairs, speeds: dict[int, float]) -> list[pa.Table]:
    """A table for each resource."""
    broker = pairs.brokers[pairs.group]
    hour = pairs.at_ms // _HOUR_MS
    keys, group = np.unique(np.stack([broker, hour], axis=1), axis=0, return_inverse=True)
    group, count = group.reshape(-1), len(keys)
    at_ms = np.zeros(count, dtype=np.int64)
    np.maximum.at(at_ms, group, pairs.at_ms)
    cores = np.full(count, -np.inf)
    np.fmax.at(cores, group, pairs.cores)
    of_cpu = np.where(np.isfinite(cores), 100.0 * cores, np.nan)
    of_nic = np.array([speeds.get(each, np.nan) for each in keys[:, 0].tolist()], dtype=np.float64)
    found = []
    for name, rate, capacity in (
        (CPU, pairs.cpu, of_cpu),
        (NW_IN, pairs.nw_in, of_nic),
        (NW_OUT, pairs.nw_out, of_nic),
    ):
        value = _mean(group, rate, pairs.lasts_ms, count)
        known = ~np.isnan(value)
        found.append(
            table_of(
                SERIES,
                {
                    "broker": keys[known, 0],
                    "log_dir": pa.array([""] * int(known.sum()), pa.string()),
                    "resource": pa.array([name] * int(known.sum()), pa.string()),
                    "at_ms": at_ms[known],
                    "value": value[known],
                    "capacity": pa.array(capacity[known], from_pandas=True),
                },
            )
        )
    return found


def _mean(group: Ints, rate: Floats, lasts_ms: Floats, count: int) -> Floats:
    """Return the mean by group, each pair weighing as long as it lasts; nan where no pair tells."""
    told = ~np.isnan(rate)
    weight = np.bincount(group[told], lasts_ms[told], count)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.bincount(group[told], rate[told] * lasts_ms[told], count) / weight
