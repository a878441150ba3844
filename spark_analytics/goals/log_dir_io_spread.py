"""Soft: the disks of a broker are written and read alike: a hot one sets the latency of all that it serves."""

from __future__ import annotations

from spark_analytics.goals.log_dirs import LogDirSpread
from spark_analytics.model.load import IO

GOAL = LogDirSpread(IO, "disk_io", "log-dir-io-spread")
