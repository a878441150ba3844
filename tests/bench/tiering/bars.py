"""The bars of issue 5."""

from __future__ import annotations

from tests.bench.report import BarOn, Better, Measure

_LOWER, _HIGHER, _RATIO, _OURS = Better.LOWER, Better.HIGHER, BarOn.RATIO, BarOn.OURS

MEASURES = (
    Measure("rlmm_1", "segment events, one under way", "/s", _HIGHER, 10.0, _RATIO),
    Measure("rlmm_1000", "1,000 under way", "/s", _HIGHER, 5.0, _RATIO),
    Measure("lookup_ns", "a look-up: p50", "ns", _LOWER, 300.0, _OURS),
    Measure("heap_per_segment", "heap of a broker a segment", "B", _LOWER, 0.5, _RATIO),
    Measure("move_in_ms", "a partition with 1,000 segments that moves in", "ms", _LOWER, 100.0, _OURS, inclusive=False),
    Measure("reload_s", "to be loaded after a restart", "s", _LOWER, 1.0, _OURS, inclusive=False),
)
