"""Soft: the traffic of brokers, and of log dirs, is even: max/mean - 1 is at most the target.

`penalty` is what a planner makes smaller. It is convex, so going from a full place to an emptier one pays, and steeper
above the target, so the worst place pays most. `acceptance` is hard: no place may come to exceed the one that is the
fullest now, hence no step ever worsens a spread.
"""

from __future__ import annotations

import numpy as np

from spark_analytics.model.cluster_model import Bools, Floats

# Above the target the penalty is steep enough to pay for leaving several other places a little less even.
_STEEP = 8.0


def deviation(loads: Floats) -> Floats:
    """load / mean - 1; zeros when there is no load at all."""
    mean = loads.mean() if len(loads) else 0.0
    return loads / mean - 1 if mean > 0 else np.zeros_like(loads)


def penalty(deviations: Floats, target: float) -> Floats:
    over = np.maximum(deviations - target, 0.0)
    return deviations * deviations + _STEEP * over * over


def relief(load: Floats, change: Floats, mean: float, target: float) -> Floats:
    """By how much the penalty of places with `load` falls when each takes in `change`; 0 when there is no load."""
    if mean <= 0:
        return np.zeros(np.broadcast_shapes(load.shape, change.shape))
    before, after = load / mean - 1, (load + change) / mean - 1
    return np.asarray(penalty(before, target) - penalty(after, target))


def acceptance(load: Floats, change: Floats, fullest: float) -> Bools:
    """Whether a place stays within the fullest one, or is not made fuller."""
    return np.asarray((change <= 0) | (load + change <= fullest))
