"""A straight line through a series, and how sure its slope is, whatever the noise.

Slope: Theil-Sen, the median of the slopes between all pairs of points; the line goes through the median of what is left
over. Up to 29 % of the points may be anything (a restart, a burst, a copy that came and went) without moving it far.
Its interval takes quantiles of the same slopes by the variance of Kendall's statistic, with no assumption about the
noise: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the American Statistical
Association 63 (1968), after H. Theil (1950). Neighbouring samples are alike (a log grows by segments, traffic with the
hour of the day), which would make such intervals too narrow. So the variance is enlarged for the effective number of
independent points, n (1 - r) / (1 + r), with r the autocorrelation of what is left over at lag 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LEAST_POINTS = 4
_MOST_POINTS = 400  # the pairs are the square of them: longer series are thinned to medians
_BAND = 1.96  # of the normal distribution: 95 %
_MOST_ALIKE = 0.98
_MEDIAN_ERROR = 1.2533  # of a median, in those of a mean: the root of pi / 2


@dataclass(frozen=True, slots=True)
class Line:
    """`value` is the line's at the last point; slopes are per unit of x, with the 95 % band.

    `value_low` and `value_high` are those of the lines with the lowest and the highest slope. These turn about the
    middle of the points, where the level is known best, and are moved by how sure that is.
    """

    value: float
    slope: float
    slope_low: float
    slope_high: float
    points: int
    value_low: float
    value_high: float


def fitted(x: Floats, y: Floats) -> Line | None:
    """The line of y over x; None: too few points. Points that are not finite, and of several at one x all but the
    first, are left out."""
    x, y = _thinned(*_cleaned(x, y))
    count = len(x)
    if count < _LEAST_POINTS:
        return None
    first, second = np.triu_indices(count, 1)
    slopes = np.sort((y[second] - y[first]) / (x[second] - x[first]))
    slope = float(np.median(slopes))
    middle, last = float(x.mean()), float(x[-1])
    rest = y - slope * (x - middle)
    level = float(np.median(rest))
    independent = _independence(rest - level)
    reach = _BAND * math.sqrt(count * (count - 1) * (2 * count + 5) / 18 / independent)
    low = min(float(slopes[max(math.floor((len(slopes) - reach) / 2), 0)]), slope)
    high = max(float(slopes[min(math.ceil((len(slopes) + reach) / 2), len(slopes) - 1)]), slope)
    error = _BAND * _MEDIAN_ERROR * float((rest - level).std()) / math.sqrt(count * independent)
    return Line(
        value=level + slope * (last - middle),
        slope=slope,
        slope_low=low,
        slope_high=high,
        points=count,
        value_low=level - error + low * (last - middle),
        value_high=level + error + high * (last - middle),
    )


def _cleaned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    sound = np.isfinite(x) & np.isfinite(y)
    at, first = np.unique(x[sound], return_index=True)
    return at, y[sound][first]


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The median y, at the middle, of each of equal parts of the time, where there are very many."""
    if len(x) <= _MOST_POINTS:
        return x, y
    part = np.minimum((x - x[0]) / (x[-1] - x[0]) * _MOST_POINTS, _MOST_POINTS - 1).astype(np.int64)
    begins = np.flatnonzero(np.r_[True, part[1:] != part[:-1]])
    pieces = [slice(begin, end) for begin, end in zip(begins, [*begins[1:], len(x)], strict=True)]
    return np.array([x[piece].mean() for piece in pieces]), np.array([np.median(y[piece]) for piece in pieces])


def _independence(rest: Floats) -> float:
    """(1 - r) / (1 + r): 1 for independent points, near 0 for a smooth curve."""
    power = float((rest * rest).sum())
    if power == 0:
        return 1.0
    alike = min(max(float((rest[1:] * rest[:-1]).sum()) / power, 0.0), _MOST_ALIKE)
    return (1 - alike) / (1 + alike)
