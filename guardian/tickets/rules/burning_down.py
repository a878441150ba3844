"""A ticket's bytes that are left, over its time so far, and when the rest may be over: soon, likely, late. Pure.

    bytes left
      │▔▔╲                     a task counts from its start to its end, evenly: nobody wrote down what was between
      │   ╲__  pause
      │      ╲▁▁▁╲ ▏ ╲ likely
      │           soon ╲ ╲ late
      └────────────────────▶ time

All of it is told by the execution as it is stored: any member draws the same curve, also after a restart. The band is
that of the ticket's own past. Its running time is cut into slices, and the rates of the slower and of the faster ones
say how late and how soon it may end. Of a ticket that is young the throttle and the slots say it (progressing.py).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from guardian.model.execution import Execution, ExecutionTask
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.progress import Progress
from guardian.tickets.rules.progressing import part_of, progress

MOST_POINTS = 200
_MOVING = (TicketState.RUNNING, TicketState.ROLLING_BACK)
_SLICES = 8
_LEAST_SLICES = 3
_LEAST_SLICE_MS = 1000
# Of the slices' rates in their order: below are the slowest quarter, above the fastest.
_SLOW, _FAST = 0.25, 0.75


@dataclass(frozen=True, slots=True)
class EndBand:
    """When the ticket may be over, in ms since the epoch: soon <= likely <= late. `late_ms` None: it can't be told,
    because for a good part of its time nothing was copied at all."""

    soon_ms: int
    likely_ms: int
    late_ms: int | None


@dataclass(frozen=True, slots=True)
class BurnDown:
    """`points` are (ms since the epoch, bytes left), in the order of time; `band` None: no end is in sight."""

    points: tuple[tuple[int, int], ...]
    total_bytes: int
    band: EndBand | None = None


@dataclass(frozen=True, slots=True)
class _Copied:
    """`bytes` that a task copied evenly from `begin_ms` to `end_ms`."""

    begin_ms: int
    end_ms: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _Curve:
    """Bytes copied by then; straight from each of its times to the next."""

    times: Sequence[int]
    copied: Sequence[float]

    def at(self, at_ms: float) -> float:
        after = bisect_right(self.times, at_ms)
        if not after:
            return 0.0
        if after == len(self.times):
            return self.copied[-1]
        begin, end = self.times[after - 1], self.times[after]
        before, then = self.copied[after - 1], self.copied[after]
        return before + (then - before) * (at_ms - begin) / (end - begin)


def burn_down(ticket: Ticket, execution: Execution | None, now_ms: int, far: Progress | None = None) -> BurnDown:
    """Return the curve of the way there, or of the way back where it is rolled back. A ticket that never began has no
    points. `far` is what a member that knows its settings says of it."""
    if execution is None:
        return BurnDown((), ticket.bytes_to_copy)
    parts = [(task, *part_of(ticket.state, task)) for task in execution.tasks]
    total = sum(part[1] for part in parts)
    copies = [_copied(task, copied, now_ms) for task, _, copied in parts if copied > 0]
    begin_ms = _began_ms(ticket, copies)
    if begin_ms is None:
        return BurnDown((), total)
    curve = _curve(copies)
    end_ms = max([now_ms] if not ticket.state.is_over else [begin_ms, *curve.times[-1:]])
    points = tuple((at_ms, total - round(curve.at(at_ms))) for at_ms in _times(curve, begin_ms, end_ms))
    return BurnDown(points, total, _band(ticket, far or progress(ticket, execution, now_ms), curve, now_ms))


def _copied(task: ExecutionTask, copied: int, now_ms: int) -> _Copied:
    """A copy that runs ends now, for all that is known; clocks of two members may differ by a little."""
    end_ms = task.ended_at_ms if task.state.is_over and task.ended_at_ms else now_ms
    return _Copied(min(task.started_at_ms or end_ms, end_ms), end_ms, copied)


def _began_ms(ticket: Ticket, copies: Sequence[_Copied]) -> int | None:
    """Return when the way that is shown began: the ticket's last start, or the first copy where history does not
    tell.
    """
    back = ticket.state in (TicketState.ROLLING_BACK, TicketState.ROLLED_BACK)
    wanted = TicketState.ROLLING_BACK if back else TicketState.RUNNING
    starts = [past.at_ms for past in ticket.history if past.state is wanted]
    return min([*starts[:1], *(copy.begin_ms for copy in copies)], default=None)


def _curve(copies: Sequence[_Copied]) -> _Curve:
    """The sum of all copies, in one sweep over their starts and ends."""
    slopes: defaultdict[int, float] = defaultdict(float)
    jumps: defaultdict[int, int] = defaultdict(int)
    for copy in copies:
        if copy.end_ms > copy.begin_ms:
            rate = copy.bytes / (copy.end_ms - copy.begin_ms)
            slopes[copy.begin_ms] += rate
            slopes[copy.end_ms] -= rate
        else:
            jumps[copy.end_ms] += copy.bytes
    times = sorted(slopes.keys() | jumps.keys())
    copied: list[float] = []
    so_far, slope, last_ms = 0.0, 0.0, 0
    for at_ms in times:
        so_far += slope * (at_ms - last_ms) + jumps.get(at_ms, 0)
        slope += slopes.get(at_ms, 0.0)
        copied.append(so_far)
        last_ms = at_ms
    return _Curve(times, copied)


def _times(curve: _Curve, begin_ms: int, end_ms: int) -> list[int]:
    """Return where the curve bends; of many bends as many moments as a chart can show, evenly spread."""
    inside = sorted({begin_ms, end_ms, *(at_ms for at_ms in curve.times if begin_ms <= at_ms <= end_ms)})
    if len(inside) <= MOST_POINTS:
        return inside
    step = (end_ms - begin_ms) / (MOST_POINTS - 1)
    return [begin_ms + round(step * number) for number in range(MOST_POINTS)]


def _band(ticket: Ticket, far: Progress, curve: _Curve, now_ms: int) -> EndBand | None:
    if ticket.state not in _MOVING or far.eta_ms is None:
        return None
    likely_ms = now_ms + far.eta_ms
    rates = sorted(_rates(ticket, curve, now_ms))
    if not far.left_bytes or len(rates) < _LEAST_SLICES or not rates[-1]:
        return _band_without_a_past(far, now_ms, likely_ms)
    slow, fast = (rates[min(int(len(rates) * share), len(rates) - 1)] for share in (_SLOW, _FAST))
    soon_ms = now_ms + round(far.left_bytes * 1000 / (fast or rates[-1]))
    late_ms = now_ms + round(far.left_bytes * 1000 / slow) if slow else None
    return EndBand(min(soon_ms, likely_ms), likely_ms, None if late_ms is None else max(late_ms, likely_ms))


def _band_without_a_past(far: Progress, now_ms: int, likely_ms: int) -> EndBand:
    """Return what the throttle and the slots say of the end of a ticket that is young."""
    soon_ms = likely_ms if far.least_ms is None else now_ms + far.least_ms
    return EndBand(soon_ms, likely_ms, likely_ms if far.most_ms is None else now_ms + far.most_ms)


def _rates(ticket: Ticket, curve: _Curve, now_ms: int) -> Iterator[float]:
    """bytes/s of each slice of the time in which the ticket moved; pauses are left out."""
    spans = list(_spans(ticket, now_ms))
    moved_ms = sum(end - begin for begin, end in spans)
    count = min(_SLICES, moved_ms // _LEAST_SLICE_MS)
    if count < _LEAST_SLICES:
        return
    cuts = [_moment(spans, moved_ms * number / count) for number in range(count + 1)]
    copied = [curve.at(at_ms) for at_ms in cuts]
    for number in range(count):
        yield (copied[number + 1] - copied[number]) * 1000 * count / moved_ms


def _spans(ticket: Ticket, now_ms: int) -> Iterator[tuple[int, int]]:
    """Yield when the ticket was in its present state: begin and end, in ms."""
    ends = [*(past.at_ms for past in ticket.history[1:]), now_ms]
    for past, end in zip(ticket.history, ends, strict=True) if ticket.history else ():
        if past.state is ticket.state and end > past.at_ms:
            yield past.at_ms, end


def _moment(spans: Sequence[tuple[int, int]], moved_ms: float) -> int:
    """The time by which the ticket had moved for so long."""
    for begin, end in spans:
        if moved_ms <= end - begin:
            return round(begin + moved_ms)
        moved_ms -= end - begin
    return spans[-1][1]
