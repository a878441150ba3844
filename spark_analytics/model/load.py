"""What traffic is, for a broker and for a log dir, and how unevenly it is spread. Bytes/s throughout.

    log dir  = what is written to its replicas: each replica of a partition writes what the partition's leader takes in
    broker   = produce into the partitions that it leads
             + replication into the partitions that it follows     (these two: the sum over its log dirs)
             + what consumers fetch from the partitions that it leads

What a leader sends to its followers is left out: it equals what they write, which is counted where it is written.
Moving replicas and leaders about changes neither total, so a mean is constant while a plan is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guardian.model.plan import LoadSummary
from spark_analytics.model.cluster_model import ClusterModel, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """The loads of one placement: `broker` and `log_dir` in bytes/s, `leaders` and `leader_bytes_in` per broker."""

    broker: Floats  # [brokers]
    log_dir: Floats  # [log dirs]
    leaders: Floats  # [brokers]
    leader_bytes_in: Floats  # [brokers]


def load_of(model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints) -> Load:
    """The load when replicas lie as `slot_log_dir` says and are led by `leader_slot`."""
    brokers = len(model.broker_ids)
    written = model.write_rate[model.slot_partition]
    leader_broker = model.log_dir_broker[slot_log_dir[leader_slot]]
    return Load(
        broker=_sums(model.log_dir_broker[slot_log_dir], written, brokers)
        + _sums(leader_broker, model.read_rate, brokers),
        log_dir=_sums(slot_log_dir, written, len(model.log_dirs)),
        leaders=_sums(leader_broker, np.ones(len(leader_slot)), brokers),
        leader_bytes_in=_sums(leader_broker, model.write_rate, brokers),
    )


def _sums(places: Ints, amounts: Floats, count: int) -> Floats:
    return np.bincount(places, amounts, count).astype(np.float64)


def load_now(model: ClusterModel) -> Load:
    return load_of(model, model.slot_log_dir, model.leader_slot)


def spread(loads: Floats) -> float:
    """max/mean - 1: 0 when even, 1 when the busiest has twice its share. 0 when there is no load at all."""
    mean = float(loads.mean()) if len(loads) else 0.0
    return float(loads.max()) / mean - 1 if mean > 0 else 0.0


def summaries(model: ClusterModel, before: Load, after: Load) -> tuple[LoadSummary, ...]:
    """One row a broker, each followed by one row for each of its log dirs that are online."""
    rows: list[LoadSummary] = []
    for index, broker in enumerate(model.broker_ids.tolist()):
        rows.append(LoadSummary(broker, "", float(before.broker[index]), float(after.broker[index])))
        rows.extend(
            LoadSummary(broker, model.log_dirs[log_dir], float(before.log_dir[log_dir]), float(after.log_dir[log_dir]))
            for log_dir in np.flatnonzero((model.log_dir_broker == index) & ~model.log_dir_offline).tolist()
        )
    return tuple(rows)
