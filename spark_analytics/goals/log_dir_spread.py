"""Soft: the log dirs of a broker fill alike."""

from __future__ import annotations

from spark_analytics.goals.log_dirs import LogDirSpread
from spark_analytics.model.load import BYTES

GOAL = LogDirSpread(BYTES, "disk", "log-dir-spread", ("IntraBrokerDiskUsageDistributionGoal",))
