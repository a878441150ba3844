"""What disks can move, from what they did: their bytes by the share of the time that they were at it.

A disk with time to spare may be at it with a few small requests, which says nothing of what it could carry. Only one
that is at it half of the time (BUSY) tells. Nor does one that answers fast (FAST_MS): it serves many requests at once,
and is at it long before it can do no more. No disk's limit is below what it has been seen to move. Where at least half
of the disks of one size in a cluster tell, the others of that size are taken for alike, as they came with the same
machines. Of all others nothing is known. Brokers of one host all see the whole traffic of its disks: what of that is
theirs can't be told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import median
from typing import Any

from spark_analytics.lake.hosts import Hosts, brokers_on
from spark_analytics.model.facts import UNKNOWN

BUSY = 0.5
FAST_MS = 2.0

DiskKey = tuple[int, str]
"""Broker and disk."""


def io_capacities(
    disks: Mapping[DiskKey, Mapping[str, Any]], sizes: Mapping[DiskKey, float], hosts: Hosts
) -> dict[DiskKey, float]:
    """bytes/s of each of `sizes`, whose bytes they have; inf where nothing tells."""
    alone = {key: row for key, row in disks.items() if key in sizes and brokers_on(hosts, key[0]) == 1}
    own = {key: row["io_rate"] / row["busy"] for key, row in alone.items() if _tells(row)}
    alike: dict[float, list[float]] = defaultdict(list)
    for key, capacity in own.items():
        alike[sizes[key]].append(capacity)
    of_size = Counter(sizes[key] for key in alone)
    usual = {size: median(known) for size, known in alike.items() if 2 * len(known) >= of_size[size]}
    return {
        key: max(own.get(key, usual.get(size, UNKNOWN)), _number(alone[key], "io_p95")) if key in alone else UNKNOWN
        for key, size in sizes.items()
    }


def io_rates(disks: Mapping[DiskKey, Mapping[str, Any]], hosts: Hosts) -> dict[DiskKey, float]:
    """bytes/s that each disk moves, of those that are one broker's alone."""
    return {key: _number(row, "io_rate") for key, row in disks.items() if brokers_on(hosts, key[0]) == 1}


def _tells(row: Mapping[str, Any]) -> bool:
    return _number(row, "busy") >= BUSY and _number(row, "await_ms") >= FAST_MS and _number(row, "io_rate") > 0


def _number(row: Mapping[str, Any], name: str) -> float:
    return float(row.get(name) or 0.0)
