"""Hard: brokers keep head-room of what their network takes in: replication catches up through it."""

from __future__ import annotations

from spark_analytics.goals.capacity import Capacity
from spark_analytics.model.resources import Resource

GOAL = Capacity(Resource.NW_IN, "nw-in-capacity", ("NetworkInboundCapacityGoal",))
