"""Soft: brokers are as busy as one another, each for its cores."""

from __future__ import annotations

from spark_analytics.goals.spread import Spread
from spark_analytics.model.resources import Resource

GOAL = Spread(Resource.CPU, "cpu-spread", ("CpuUsageDistributionGoal",))
