"""Hard: no disk of a broker holds more than a share of its bytes: the broker's sum hides the one that is full."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spark_analytics.goals.goal import Hard, Placed
from spark_analytics.model.cluster_model import Floats, Ints
from spark_analytics.model.load import BYTES


class LogDirCapacity(Hard):
    name = "log-dir-capacity"
    aliases = ("IntraBrokerDiskCapacityGoal",)

    def measure(self, placed: Placed) -> float:
        """Disks beyond the limit."""
        return float(len(_over(placed)))

    def violations(self, placed: Placed) -> Iterator[str]:
        model, use = placed.model, _use(placed)
        for disk in _over(placed).tolist():
            where = " and ".join(placed.log_dir(at) for at in np.flatnonzero(model.log_dir_disk == disk).tolist())
            yield f"{where} holds {use[disk]:.0%} of its disk, above {placed.rules.disk_limit:.0%}"


def _use(placed: Placed) -> Floats:
    """[disks] 0 where the size is not known."""
    model = placed.model
    held = np.bincount(model.log_dir_disk, placed.load.log_dir[:, BYTES], len(model.disk_total_bytes))
    return np.asarray(
        np.divide(held, model.disk_total_bytes, out=np.zeros(len(held)), where=model.disk_total_bytes > 0)
    )


def _over(placed: Placed) -> Ints:
    """The worst first."""
    model, use = placed.model, _use(placed)
    lives = np.zeros(len(use), dtype=np.bool_)
    lives[model.log_dir_disk] = model.alive[model.log_dir_broker]
    over = np.flatnonzero(lives & (use > placed.rules.disk_limit * (1 + 1e-9)))
    return over[np.argsort(-use[over], kind="stable")]


GOAL = LogDirCapacity()
