"""Soft: brokers send alike, to consumers and to followers, each for its network."""

from __future__ import annotations

from spark_analytics.goals.spread import Spread
from spark_analytics.model.resources import Resource

GOAL = Spread(Resource.NW_OUT, "nw-out-spread", ("NetworkOutboundUsageDistributionGoal",))
