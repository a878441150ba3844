"""How disks do against their peers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from guardian.model.text import Text

Numbers = npt.NDArray[np.int64]


class DiskVerdict(IntEnum):
    """From worst to best; values are those of the wire."""

    SLOW = 1  # slower than its peers, though it has no more to do
    SUSPECT = 2  # was so for a good part of the time
    BUSY = 3  # slower than its peers, and has more to do
    SOUND = 4
    IDLE = 5  # too little to do to be judged
    UNKNOWN = 6  # too few samples, or too few peers


@dataclass(frozen=True, slots=True, eq=False)
class DiskSeries:
    """A disk's counters, in the order of time, as /proc/diskstats has them."""

    broker: int
    disk: str
    at_ms: Numbers
    bytes: Numbers  # read and written
    completed: Numbers  # reads and writes
    service_ms: Numbers  # that these took, waiting included
    busy_ms: Numbers
    in_flight: Numbers
    log_dirs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        columns: tuple[npt.NDArray[Any], ...] = (
            self.bytes,
            self.completed,
            self.service_ms,
            self.busy_ms,
            self.in_flight,
        )
        if any(len(column) != len(self.at_ms) for column in columns):
            raise ValueError(f"counters of {self.disk} differ in length")


@dataclass(frozen=True, slots=True)
class Load:
    """What a disk does in an interval, or the median over several."""

    await_ms: float = 0.0
    busy: float = 0.0  # share of the time
    ios_per_s: float = 0.0
    bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class DiskHealth:
    """A verdict and what it rests on: medians over the intervals in which the disk is an outlier, else over all."""

    broker: int
    disk: str
    log_dirs: tuple[str, ...]
    verdict: DiskVerdict
    own: Load
    of_peers: Load
    siblings_await_ms: float
    odd_intervals: int
    judged_intervals: int
    since_ms: int
    peers: int
    why: Text


@dataclass(frozen=True, slots=True)
class DiskReport:
    """Disks, worst first; what is odd about whole brokers."""

    disks: tuple[DiskHealth, ...]
    remarks: tuple[str, ...]
