"""Which log dirs a task means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from guardian.errors import InvalidInput
from guardian.model.tasks import LogDir
from spark_analytics.model.cluster_model import Bools, ClusterModel
from spark_analytics.planners.arrays import at, nothing


def flagged(model: ClusterModel, log_dirs: Sequence[LogDir]) -> Bools:
    """[log dirs] flags. Raises InvalidInput for one that its broker has not."""
    flags = nothing(len(model.log_dirs))
    for each in log_dirs:
        on = np.flatnonzero(model.log_dir_broker == model.broker_index(each.broker)).tolist()
        paths = {model.log_dirs[index]: index for index in on}
        if each.path not in paths:
            raise InvalidInput(
                f"log_dirs has {each.path}, which broker {each.broker} of cluster {model.cluster} has not: "
                f"use one of {', '.join(sorted(paths))}"
            )
        flags[paths[each.path]] = True
    return flags


def slots_on(model: ClusterModel, log_dirs: Bools) -> Bools:
    """[slots] flags."""
    return at(log_dirs, model.slot_log_dir, False)
