"""Soft: brokers hold like numbers of replicas: restarts, files and fetch sessions cost by the replica."""

from __future__ import annotations

from spark_analytics.goals.spread import Spread
from spark_analytics.model.resources import Resource

GOAL = Spread(Resource.REPLICAS, "replica-spread", ("ReplicaDistributionGoal",))
