"""Soft: brokers lead even numbers of partitions, and take in even bytes/s as leaders.

Leadership moves by the order of the replicas and copies nothing. Counts matter besides bytes, because requests and
fetch sessions cost by the partition.
"""

from __future__ import annotations

import numpy as np

from spark_analytics.goals.traffic_spread import deviation, relief
from spark_analytics.model.cluster_model import Floats, Ints
from spark_analytics.model.load import Load


def overload(load: Load) -> Floats:
    """[brokers] by how much each exceeds the mean, in leaders or in bytes in, whichever is more."""
    return np.maximum(deviation(load.leaders), deviation(load.leader_bytes_in))


def transfer_relief(load: Load, source: int, brokers: Ints, write_rate: Floats, target: float) -> Floats:
    """How much better off the two brokers are when a partition's leader goes from `source` to each of `brokers`.

    `write_rate` of the partitions has the shape of `brokers`.
    """
    one = np.ones_like(write_rate)
    gain = np.zeros_like(write_rate)
    for loads, amount in ((load.leaders, one), (load.leader_bytes_in, write_rate)):
        mean = float(loads.mean())
        gain += relief(loads[source], -amount, mean, target) + relief(loads[brokers], amount, mean, target)
    return gain
