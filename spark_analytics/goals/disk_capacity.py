"""Hard: what is copied to a disk fits, at the worst moment: all copies in, nothing freed yet.

Two limits, since log dirs may share a disk, with each other and (on a laptop) with everything else:
  - the replicas on the disk and what comes in stay below `limit` of its total;
  - what comes in leaves `reserve` of the total usable, whoever else uses the disk.
An offline log dir takes nothing.
"""

from __future__ import annotations

import numpy as np

from spark_analytics.goals.goal import Acceptance, Answers, answers
from spark_analytics.model.cluster_model import ClusterModel, Floats, Ints
from spark_analytics.model.placement import Placement


def head_room(model: ClusterModel, limit: float, reserve: float) -> Floats:
    """[disks] bytes that a plan may copy to each disk; never below 0."""
    disks = len(model.disk_total_bytes)
    held = np.bincount(model.log_dir_disk[model.slot_log_dir], model.size_bytes[model.slot_partition], disks)
    total = model.disk_total_bytes
    return np.maximum(np.minimum(limit * total - held, model.disk_usable_bytes - reserve * total), 0.0)


def room(placement: Placement, capacity: Floats, log_dirs: Ints) -> Floats:
    """[log dirs] bytes that still fit, of `capacity` as head_room tells it."""
    model = placement.model
    disk = model.log_dir_disk[log_dirs]
    return np.where(model.log_dir_offline[log_dirs], -np.inf, capacity[disk] - placement.incoming_bytes[disk])


def acceptance(placement: Placement, capacity: Floats, slots: Ints, log_dirs: Ints) -> Answers:
    """[slots, log dirs] of Acceptance. A replica may always go home: its bytes are still there."""
    model = placement.model
    fits = room(placement, capacity, log_dirs)
    size = model.size_bytes[model.slot_partition[slots]]
    away = log_dirs[None, :] != model.slot_log_dir[slots][:, None]
    too_big = answers((size[:, None] > fits[None, :]) & away)
    offline = answers(np.broadcast_to(model.log_dir_offline[log_dirs], too_big.shape), Acceptance.LOG_DIR_REJECT)
    return np.maximum(too_big, offline)
