"""Soft: brokers take in alike: produced bytes and replicated ones, each for its network."""

from __future__ import annotations

from spark_analytics.goals.spread import Spread
from spark_analytics.model.resources import Resource

GOAL = Spread(Resource.NW_IN, "nw-in-spread", ("NetworkInboundUsageDistributionGoal",))
