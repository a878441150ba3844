"""The form that goals inside a broker share: its log dirs carry alike, each for its disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guardian.model.units import beside_mean
from spark_analytics.goals.goal import Placed
from spark_analytics.model.cluster_model import Floats
from spark_analytics.model.load import BYTES, IO, disk_scale
from spark_analytics.model.resources import Resource


@dataclass(frozen=True)
class LogDirSpread:
    """`measure` is max/mean - 1 of the log dirs of the least even broker; `column` is BYTES or IO."""

    is_hard: ClassVar[bool] = False
    resources: ClassVar[tuple[Resource, ...]] = ()
    column: int
    what: str
    name: str
    aliases: tuple[str, ...] = ()

    def target(self, placed: Placed) -> float:
        return float(placed.targets.disk_level)

    def measure(self, placed: Placed) -> float:
        return float(self._deviations(placed).max(initial=0.0))

    def violations(self, placed: Placed) -> Iterator[str]:
        deviation, target = self._deviations(placed), self.target(placed)
        above = np.flatnonzero(deviation > target + 1e-9)
        for log_dir in above[np.argsort(-deviation[above], kind="stable")].tolist():
            yield (
                f"{placed.log_dir(log_dir)} {self.what} {beside_mean(deviation[log_dir])} of its broker, "
                f"{target:.1%} was asked"
            )

    def _deviations(self, placed: Placed) -> Floats:
        """[log dirs] 0 for those that do not count."""
        model = placed.model
        broker, counts = model.log_dir_broker, placed.rules.log_dir_may_take & placed.counts[model.log_dir_broker]
        loads, capacity = placed.load.log_dir[:, self.column], disk_scale(model)[:, self.column]
        total = np.bincount(broker[counts], loads[counts], model.brokers)
        room = np.bincount(broker[counts], capacity[counts], model.brokers)
        mean = np.divide(total, room, out=np.zeros(model.brokers), where=room > 0)[broker]
        used = counts & (mean > 0)
        return np.where(used, np.divide(loads / capacity, mean, out=np.ones(len(loads)), where=mean > 0) - 1, 0.0)


BYTES_SPREAD = LogDirSpread(BYTES, "disk", "log-dir-spread", ("IntraBrokerDiskUsageDistributionGoal",))
# A disk that is read and written more than the others sets the latency of all that it serves.
IO_SPREAD = LogDirSpread(IO, "disk_io", "log-dir-io-spread")
