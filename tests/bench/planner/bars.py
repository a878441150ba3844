"""The bars of issue 7 that are the planner's own; the peer is Cruise Control, by its stored plans."""

from __future__ import annotations

from tests.bench.report import BarOn, Better, Measure

_LOWER, _RATIO, _OURS = Better.LOWER, BarOn.RATIO, BarOn.OURS

MEASURES = (
    Measure("data_mixed", "data moved, mixed hardware; the worst model", "TB", _LOWER, 0.75, _RATIO),
    Measure("data_skew", "data moved, skewed clusters; the worst model", "TB", _LOWER, 0.90, _RATIO),
    Measure("data_expand", "data moved onto new brokers, at the same spread", "TB", _LOWER, 0.90, _RATIO),
    Measure("data_drain", "data moved off dead brokers, at the same spread", "TB", _LOWER, 1.02, _RATIO),
    Measure("leader_moves", "leaders moved, from 100 brokers on; the worst model", "", _LOWER, 1.0, _RATIO, False),
    Measure("spread", "spreads worse than the peer's, and rules broken", "", _LOWER, 0.0, _OURS),
    Measure("blind", "fresh clusters with a target neither met nor proven out of reach", "", _LOWER, 0.0, _OURS),
    Measure("cpu_100", "CPU, 100 brokers, 20k replicas", "s", _LOWER, 0.7, _OURS, inclusive=False),
    Measure("cpu_1000", "CPU, 1000 brokers, 200k replicas", "s", _LOWER, 10.0, _OURS, inclusive=False),
    Measure("cpu_5000", "CPU, 5000 brokers, 1M replicas", "s", _LOWER, 90.0, _OURS, inclusive=False),
    Measure("memory_5000", "memory at its largest, model included", "GB", _LOWER, 4.0, _OURS, inclusive=False),
    Measure("disks_100", "CPU with 14 disks a broker / with one", "x", _LOWER, 2.0, _OURS),
    Measure("disks_1000", "CPU with 14 disks a broker / with one", "x", _LOWER, 2.0, _OURS),
    Measure("growth", "exponent of CPU over replicas, 20k to 1M", "", _LOWER, 1.4, _OURS),
    Measure(
        "lake_to_plans_s",
        "20 clusters, 1M replicas, 24 h: from lake to plans",
        "s",
        _LOWER,
        600.0,
        _OURS,
        inclusive=False,
    ),
    Measure("large_cluster_s", "300 brokers of them alone, warm", "s", _LOWER, 60.0, _OURS, inclusive=False),
    Measure("cold_start", "a new process to its first plan, compiled before", "s", _LOWER, 3.0, _OURS, inclusive=False),
)
