"""Disks against fixed limits of utilisation and await, over a window. Pure.

`core.disks` asks which disk is slower than its peers. Here the question is which one has more to do than it can,
whoever else is busy too. That is when its partitions' produce and fetch latencies go up, and something has to yield.

    utilisation = d(busy_ms) / dt          await = d(read_ms + write_ms) / d(reads + writes completed)

    OVER     one of them is at its limit or above, on the average of the whole time
    UNDER    both are below RECOVERED times their limits
    BETWEEN  neither: nothing is tightened, and nothing is released

The time is the window, or what has passed since something was last changed for the disk: what was before says nothing
of what the change has brought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import add, attrgetter
from typing import NamedTuple

from guardian.errors import InvalidInput
from guardian.model.protection import DiskCondition, DiskKey, DiskState

RECOVERED = 0.8
_COVERED = 0.8  # so much of the time must be known
_LEAST_IOS_PER_S = 2.0  # below it an await is of no I/O to speak of


@dataclass(frozen=True, slots=True)
class DiskLimits:
    """`utilisation` is a share of the time."""

    utilisation: float
    await_ms: float
    window_ms: int

    def __post_init__(self) -> None:
        if not 0 < self.utilisation <= 1:
            raise InvalidInput(f"utilisation is {self.utilisation:g}: use more than 0, up to 1")
        if self.await_ms <= 0 or self.window_ms <= 0:
            raise InvalidInput(f"await_ms is {self.await_ms:g} and window_ms {self.window_ms}: use more than 0")


@dataclass(frozen=True, slots=True)
class DiskCounters:
    """A disk's counters at one moment, as /proc/diskstats has them."""

    at_ms: int
    bytes_read: int
    bytes_written: int
    completed: int
    service_ms: int
    busy_ms: int
    in_flight: int = 0


_COUNTERS = attrgetter("at_ms", "bytes_read", "bytes_written", "completed", "service_ms", "busy_ms")


class _Sums(NamedTuple):
    """Sum the counters of a disk, in their order."""

    lasts_ms: int
    read: int
    written: int
    completed: int
    service_ms: int
    busy_ms: int


def judge_limits(
    key: DiskKey,
    log_dirs: tuple[str, ...],
    samples: Sequence[DiskCounters],
    limits: DiskLimits,
    now_ms: int,
    since_ms: int = 0,
    least_ms: int | None = None,
) -> DiskCondition:
    """`samples` in the order of time; those after `since_ms` count. `least_ms`: how long they must last to say anything
    (None: as long as the window)."""
    from_ms = max(now_ms - limits.window_ms, since_ms)
    sums = _sums(_within(samples, from_ms, since_ms))
    if sums.lasts_ms < _COVERED * (limits.window_ms if least_ms is None else min(least_ms, limits.window_ms)):
        why = f"{sums.lasts_ms / 1000:g} s of samples are too few"
        return DiskCondition(key, log_dirs, DiskState.UNKNOWN, 0.0, 0.0, 0.0, 0.0, from_ms, why)
    seconds = sums.lasts_ms / 1000
    utilisation = min(sums.busy_ms / sums.lasts_ms, 1.0)
    waits = sums.completed >= _LEAST_IOS_PER_S * seconds
    await_ms = sums.service_ms / sums.completed if waits and sums.completed else 0.0
    state, why = _state(utilisation, await_ms, limits, seconds)
    return DiskCondition(
        key, log_dirs, state, utilisation, await_ms, sums.read / seconds, sums.written / seconds, from_ms, why
    )


def _within(samples: Sequence[DiskCounters], from_ms: int, since_ms: int) -> list[DiskCounters]:
    """A window begins with the last sample before it; what was before a step does not count."""
    inside = [sample for sample in samples if sample.at_ms >= from_ms]
    if inside and inside[0].at_ms == from_ms:
        return inside
    return [sample for sample in samples if since_ms <= sample.at_ms < from_ms][-1:] + inside


def _sums(samples: Sequence[DiskCounters]) -> _Sums:
    """Over pairs of samples; counters that go backwards are a restart of the host, and the pair says nothing."""
    total = (0,) * 6
    for old, new in pairwise(map(_COUNTERS, samples)):
        lasts_ms, *counted = steps = tuple(now - before for before, now in zip(old, new, strict=True))
        if lasts_ms > 0 and min(counted) >= 0:
            total = tuple(map(add, total, steps))
    return _Sums(*total)


def _state(utilisation: float, await_ms: float, limits: DiskLimits, seconds: float) -> tuple[DiskState, str]:
    over = []
    if utilisation >= limits.utilisation:
        over.append(f"{utilisation:.0%} busy, limit {limits.utilisation:.0%}")
    if await_ms >= limits.await_ms:
        over.append(f"await {await_ms:.1f} ms, limit {limits.await_ms:g} ms")
    if over:
        return DiskState.OVER, f"{' and '.join(over)}, for {seconds:.0f} s"
    if utilisation < RECOVERED * limits.utilisation and await_ms < RECOVERED * limits.await_ms:
        return DiskState.UNDER, ""
    return DiskState.BETWEEN, f"within its limits, but not yet under {RECOVERED:.0%} of them"
