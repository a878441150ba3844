"""What issue 30 asks of a member that is flooded, as its text gives it."""

from __future__ import annotations

from tests.bench.report import BarOn, Better, Measure

MEASURES = (
    Measure(
        "flood_ready_ms",
        "GET /healthz from an address of its own, 99 %, worst flood",
        "ms",
        Better.LOWER,
        500,
        BarOn.OURS,
    ),
    Measure("flood_write_p99", "acknowledged writes, 99 %, worst flood over quiet", "ms", Better.LOWER, 5, BarOn.RATIO),
    Measure("flood_rss_mb", "growth of the flooded member's memory, worst flood", "MB", Better.LOWER, 300, BarOn.OURS),
    Measure("flood_elections", "elections of all floods", "elections", Better.LOWER, 0, BarOn.OURS),
    Measure("flood_tick_s", "longest pause between two ticks of the executor", "s", Better.LOWER, 5, BarOn.OURS),
)
