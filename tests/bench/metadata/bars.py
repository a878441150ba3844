"""The bars of issue 4."""

from __future__ import annotations

from tests.bench.report import BarOn, Better, Measure

_LOWER, _HIGHER, _RATIO, _OURS = Better.LOWER, Better.HIGHER, BarOn.RATIO, BarOn.OURS

MEASURES = (
    Measure("events_100", "batches of 100 over streams; etcd: transactions of 100", "/s", _HIGHER, 1.5, _RATIO),
    Measure("events_100_p99", "the same: p99 of a batch", "ms", _LOWER, 1.0, _RATIO, inclusive=False),
    Measure("events_1000", "batches of 1000; etcd: its best batch size", "/s", _HIGHER, 2.0, _RATIO),
    Measure("write_1_p50", "single writes, one at a time: p50", "ms", _LOWER, 1.5, _RATIO),
    Measure("write_16", "single writes, 16 clients", "/s", _HIGHER, 1.0, _RATIO),
    Measure("pull_1000", "a pull of 1,000 of a partition's events: p50", "ms", _LOWER, 5.0, _OURS, inclusive=False),
    Measure("pull_10000", "a pull of 10,000: p50", "ms", _LOWER, 40.0, _OURS, inclusive=False),
    Measure("failover_p50", "kill -9 of the leader to the next write", "s", _LOWER, 1.5, _OURS, inclusive=False),
    Measure("failover_worst", "the worst of them", "s", _LOWER, 3.0, _OURS, inclusive=False),
)
SOAK_MEASURES = (
    Measure("restart_s", "kill -9 of a member, start to serving", "s", _LOWER, 10.0, _OURS, inclusive=False),
    Measure("rss_mb", "resident memory of the largest member", "MB", _LOWER, 1000.0, _OURS, inclusive=False),
    Measure("snapshot_p99", "p99 of writes during snapshots; peer: usual", "ms", _LOWER, 3.0, _RATIO, inclusive=False),
    Measure("pull_1000", "a pull of 1,000 of a partition's events: p50", "ms", _LOWER, 5.0, _OURS, inclusive=False),
    Measure("pull_10000", "a pull of 10,000: p50", "ms", _LOWER, 40.0, _OURS, inclusive=False),
)
