"""Hard: brokers keep room on their disks: a full disk takes the broker down."""

from __future__ import annotations

from spark_analytics.goals.capacity import Capacity
from spark_analytics.model.resources import Resource

GOAL = Capacity(Resource.DISK, "disk-capacity", ("DiskCapacityGoal",))
