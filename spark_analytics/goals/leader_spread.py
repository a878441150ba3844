"""Soft: brokers lead like numbers of partitions: requests cost by the partition, and so does a failover."""

from __future__ import annotations

from spark_analytics.goals.spread import Spread
from spark_analytics.model.resources import Resource

GOAL = Spread(Resource.LEADERS, "leader-spread", ("LeaderReplicaDistributionGoal",))
