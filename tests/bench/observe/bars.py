"""The bars of issue 6."""

from __future__ import annotations

from tests.bench.report import BarOn, Better, Measure

_LOWER, _RATIO, _OURS = Better.LOWER, BarOn.RATIO, BarOn.OURS

MEASURES = (
    Measure("cpu_vs_jmx", "broker CPU a collection; JMX mbean by mbean", "ms", _LOWER, 0.03, _RATIO),
    Measure("cpu_vs_exporter", "broker CPU a collection; jmx_prometheus_javaagent", "ms", _LOWER, 0.05, _RATIO),
    Measure("fleet_cpu_s", "CPU of a member for a round of the fleet", "s", _LOWER, 40.0, _OURS, inclusive=False),
    Measure("fleet_rss_mb", "memory of that member at its largest", "MB", _LOWER, 1500.0, _OURS, inclusive=False),
    Measure("audit_ns", "counting an authorization in a broker", "ns", _LOWER, 300.0, _OURS, inclusive=False),
    Measure("audit_query_s", "who did what in ten minutes of a day", "s", _LOWER, 2.0, _OURS, inclusive=False),
)
