"""How load rises and falls: rates as functions of time, given by their integrals.

A counter at time t is a rate times an integral, so it is known at once for any t, never falls, and needs nothing that
came before. Times are seconds since the epoch. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Simulated counters began here (2024-01-01, UTC); an offset of a partition is what was written since.
BEGINNING_S = 1_704_067_200.0
_SWING = 0.6


@dataclass(frozen=True, slots=True)
class DailyWave:
    """Load around 1, from 0.4 in the depth of night to 1.6: `day_s` long, its peak at `peak`, a fraction of the day."""

    day_s: float
    peak: float

    def rate(self, at_s: float) -> float:
        """Return how much is done at this moment, on average 1."""
        return float(1.0 + _SWING * np.cos(self._angle(at_s)))

    def total(self, at_s: float) -> float:
        """The integral of the rate since the beginning: seconds of average load. Rises with every millisecond."""
        swung = np.sin(self._angle(at_s)) - np.sin(self._angle(BEGINNING_S))
        return float((at_s - BEGINNING_S) + _SWING * self.day_s / (2 * np.pi) * swung)

    def _angle(self, at_s: float) -> float:
        return 2 * np.pi * ((at_s / self.day_s) % 1.0 - self.peak)


@dataclass(frozen=True, slots=True, eq=False)
class Episodes:
    """Things that come and go: on for `share` of each period, from `offset_s` into it. Arrays, one entry a thing."""

    period_s: Floats
    offset_s: Floats
    share: float

    def on(self, at_s: float) -> npt.NDArray[np.bool_]:
        """Return which of the episodes are on."""
        return self._into(at_s) % 1.0 < self.share

    def total(self, at_s: float) -> Floats:
        """Return for how many seconds each episode was on since the beginning."""
        return (self._integral(at_s) - self._integral(BEGINNING_S)) * self.period_s

    def _integral(self, at_s: float) -> Floats:
        periods = self._into(at_s)
        return np.floor(periods) * self.share + np.minimum(periods % 1.0, self.share)

    def _into(self, at_s: float) -> Floats:
        return (at_s - self.offset_s) / self.period_s
