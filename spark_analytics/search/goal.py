"""What the search is asked for: how even, for which resources, at what price, within what budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_analytics.model.cluster_model import Floats
from spark_analytics.model.resources import RESOURCES

# CPU, NW_IN, NW_OUT, DISK, REPLICAS, LEADERS: inside what operators know, 9 % around the mean, in all but leaders.
_CV = (0.042, 0.048, 0.050, 0.047, 0.060, 0.078)
_MAX_OVER_MEAN = (1.08, 1.085, 1.085, 1.085, 1.09, 1.165)


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Over brokers that may take replicas, of use relative to capacity; counts relative to the mean. inf: not asked.

    `disk_level` is for log dirs inside one broker: max/mean - 1 of bytes and of io.
    """

    cv: Floats  # [RESOURCES] standard deviation / mean
    max_over_mean: Floats  # [RESOURCES]
    disk_level: float = 0.1
    topic_spread: bool = True  # no topic gets more replicas onto one broker than its worst broker has now

    @classmethod
    def default(cls) -> Targets:
        return cls(np.array(_CV), np.array(_MAX_OVER_MEAN))

    @classmethod
    def none(cls, disk_level: float = float("inf")) -> Targets:
        """Nothing moves but what rules force."""
        return cls(np.full(RESOURCES, np.inf), np.full(RESOURCES, np.inf), disk_level)

    @classmethod
    def of_spread(cls, spread: float) -> Targets:
        """Every resource within `spread` above its mean: 0.1 asks for max/mean 1.1, cv 0.06; leaders for twice that."""
        factor = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0])
        return cls(0.6 * spread * factor, 1 + spread * factor)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a plan may copy, forced moves apart: they are made whatever they cost, and come first.

    Leaders that may not lead where they are hand over whatever `leader_moves` says, and whatever that adds elsewhere.

    `broker_bytes` is for what is copied into any one broker, and for what is copied from the leaders on any one broker.
    """

    bytes: float = float("inf")
    leader_moves: float = float("inf")
    broker_bytes: float = float("inf")
