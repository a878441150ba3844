"""Hard: brokers keep head-room of what their network sends: a lagging consumer reads hours in minutes."""

from __future__ import annotations

from spark_analytics.goals.capacity import Capacity
from spark_analytics.model.resources import Resource

GOAL = Capacity(Resource.NW_OUT, "nw-out-capacity", ("NetworkOutboundCapacityGoal",))
