"""What the search found: where every replica goes and who leads, how even that is, and what could not be done."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from spark_analytics.model.cluster_model import Bools, Floats, Ints
from spark_analytics.model.resources import RESOURCES


class Why(IntEnum):
    """Why a replica that has to leave, or has no place yet, was not placed: the first that leaves no broker."""

    NOT_ALLOWED = 1  # no broker may take it, or those that may hold the partition already
    RACKS = 2  # those that may are in racks that hold as many of its replicas as they may
    IDCS = 3  # the same of IDCs
    CAPACITY = 4  # those left have not enough capacity
    DISK_ROOM = 5  # none of their disks has room for the copy


@dataclass(frozen=True, slots=True)
class Stuck:
    """A replica that breaks a rule where it is, or has no place; it stays there."""

    slot: int
    why: Why


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """`cv` and `max_over_mean` are what was reached; `least_cv` and `least_max` what no placement can go below.

    A target below its least value is proven out of reach. One replica is larger than a broker's share, or racks are of
    such sizes that rules allow no even placement. Where `least_with_others` is True (only ever of CPU) that holds for
    placements that keep the targets of NW_OUT and LEADERS, as this one does.
    """

    slot_log_dir: Ints  # [slots]; -1 where no place was possible
    leader_slot: Ints  # [partitions]
    forced: Bools  # [slots] moved because a rule said so
    met: Bools  # [RESOURCES] the target is reached
    cv: Floats  # [RESOURCES]
    max_over_mean: Floats  # [RESOURCES]
    least_cv: Floats  # [RESOURCES]
    least_max: Floats  # [RESOURCES]
    disk_level: Floats  # [brokers] max/mean - 1 over its log dirs, the larger of bytes and io
    stuck: tuple[Stuck, ...] = ()
    least_with_others: Bools = field(default_factory=lambda: np.zeros(RESOURCES, dtype=np.bool_))  # [RESOURCES]
