"""Hard: brokers keep head-room of CPU. Above 70 % request queues grow faster than load does."""

from __future__ import annotations

from spark_analytics.goals.capacity import Capacity
from spark_analytics.model.resources import Resource

GOAL = Capacity(Resource.CPU, "cpu-capacity", ("CpuCapacityGoal",))
