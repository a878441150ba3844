"""Soft: brokers fill alike, each for its disks: the fullest one sets how long data can be kept."""

from __future__ import annotations

from spark_analytics.goals.spread import Spread
from spark_analytics.model.resources import Resource

GOAL = Spread(Resource.DISK, "disk-spread", ("DiskUsageDistributionGoal", "KafkaAssignerDiskUsageDistributionGoal"))
