"""How long copying takes: at least, and at most where nobody else needs what it uses. Pure.

    rate  ┌───────── what is asked       at least  rates rise as soon as they may, Kafka lets through what it saved up,
         /                                         the busiest way alone counts
       /   every 2 to 3 s by a quarter   at most   rates rise slowly, a move finds each of its ways as busy as can be,
    ──╯    a tenth of what is asked                each round of slots waits for a look

A way is into a broker, out of it, or between its log dirs: each has the broker's rate. A broker whose rate had to fall,
or stands still below what is asked, is taken to stay so at most. Clients that need the disks later make it longer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.execution import AdaptedRate
from guardian.model.plan import PartitionMove, Plan
from guardian.model.units import range_text
from guardian.throttle.rules.adapting import ThrottleSettings, first_rate

_QUICK_RISE, _SLOW_RISE = 1.25, 1.2  # a rise is a quarter, down to two digits
_FREE_RISES = 1.5  # of a rate that never fell, in the time in which one that fell rises once
_SAVED_UP_S = 10.0  # Kafka judges a rate by its last windows together: an idle broker lets so much through at once
_SOON_S = 0.1  # between two looks while there is more to do
_FETCH_S = 0.5  # replica.fetch.wait.max.ms: until a follower asks for what is new
_LOOKS = 3  # before the first copy, and after the last one, until nothing is set any more
_SMALLEST = 1 / 16  # of a slot
_MOST_WRITTEN = 2 / 3  # of a rate, which never goes below 1.5 times what producers write

Way = tuple[str, int]  # "in", "out" or "inside", and the broker


@dataclass(frozen=True, slots=True)
class Pacing:
    """Say what members are configured to: slots, the throttle, and seconds between two looks."""

    limits: ExecutionLimits = field(default_factory=lambda: ExecutionLimits(per_broker_in=2, slot_bytes=1_000_000))
    throttle: ThrottleSettings = field(default_factory=ThrottleSettings)
    tick_s: float = 1.0


USUAL_PACING = Pacing()


@dataclass(frozen=True, slots=True)
class Left:
    """What is left to copy of a move: so many bytes to each place that takes a copy."""

    move: PartitionMove
    bytes_each: float

    @classmethod
    def whole(cls, move: PartitionMove) -> Left:
        """Return all of a move that has not begun."""
        return cls(move, 0.0 if move.is_new else float(move.size_bytes))

    @property
    def ways(self) -> list[Way]:
        """Those that it uses, once for each copy that goes through."""
        source = self.move.original_brokers[:1]
        into = self.move.added_brokers
        return [
            *(("in", broker) for broker in into),
            *(("out", broker) for broker in source * len(into)),
            *(("inside", replica.broker) for replica in self.move.log_dir_moves),
        ]


@dataclass(frozen=True, slots=True)
class Asked:
    """Bytes/s per broker that a ticket asks for, and up to which rates may rise where there is room; 0: no throttle.

    `rates` are the present ones, at `now_ms`.
    """

    throttle: int
    max_throttle: int = 0
    rates: tuple[AdaptedRate, ...] = ()
    now_ms: int = 0


@dataclass(frozen=True, slots=True)
class Lasting:
    """Seconds; `most_s` None: nothing bounds it, as without a throttle."""

    least_s: float
    most_s: float | None


def lasting(left: Iterable[Left], asked: Asked, pacing: Pacing) -> Lasting:
    """Return how long it takes from now on until all of it is copied and nothing is set any more."""
    stages: defaultdict[int, list[Left]] = defaultdict(list)
    for each in left:
        stages[each.move.stage].append(each)
    if not stages:
        return Lasting(0.0, 0.0)
    loads = [_Load.of(moves, pacing.limits) for _, moves in sorted(stages.items())]
    return Lasting(_least_s(loads, asked, pacing), _most_s(loads, asked, pacing))


def lasting_of(plan: Plan, pacing: Pacing = USUAL_PACING) -> Lasting:
    """Return how long a plan takes from its ticket's start on, at the plan's throttle; links take their time too."""
    found = lasting(map(Left.whole, plan.moves), Asked(plan.throttle), pacing)
    links_s = max((link.seconds for link in plan.links), default=0.0)
    most_s = None if found.most_s is None else found.most_s + links_s / pacing.throttle.line_share
    return Lasting(max(found.least_s, links_s), most_s)


def takes_s(plan: Plan) -> list[float | None]:
    """Return how long a plan takes as JSON has it: at least, and at most (None: nothing bounds it)."""
    found = lasting_of(plan)
    return [round(found.least_s, 1), None if found.most_s is None else round(found.most_s, 1)]


def lasting_text(plan: Plan) -> str:
    """Return such as `4 to 9 min`, by the usual slots and throttle; empty where the plan copies nothing, or as fast as
    it can."""
    if not plan.throttle or not plan.bytes_to_copy:
        return ""
    found = lasting_of(plan)
    return range_text(found.least_s * 1000, None if found.most_s is None else found.most_s * 1000)


@dataclass(frozen=True, slots=True)
class _Load:
    """A stage: bytes by way, rounds of slots, and for each move what its ways carry in all."""

    by_way: Mapping[Way, float]
    rounds: float
    longest: float  # bytes of all ways that some move uses, the most of all moves
    written: float  # bytes/s, into the broker that takes most of those that run at once

    @classmethod
    def of(cls, moves: list[Left], limits: ExecutionLimits) -> _Load:
        by_way: defaultdict[Way, float] = defaultdict(float)
        slots: defaultdict[Way, float] = defaultdict(float)
        written: defaultdict[Way, list[float]] = defaultdict(list)
        for each in moves:
            for way in each.ways:
                by_way[way] += each.bytes_each
                written[way].append(each.move.write_rate)
            for way in {*each.ways}:
                slots[way] += _weight(each, limits)
        rounds = [slots[way] / (limits.per_broker_out if way[0] == "out" else limits.per_broker_in) for way in slots]
        return cls(
            by_way,
            max([*rounds, len(moves) / limits.per_cluster]),
            max(sum(by_way[way] for way in {*each.ways}) for each in moves),
            max((sum(sorted(rates)[-limits.per_broker_in :]) for rates in written.values()), default=0.0),
        )


def _weight(left: Left, limits: ExecutionLimits) -> float:
    if not limits.slot_bytes or left.bytes_each <= 0:
        return 1.0
    return min(1.0, max(_SMALLEST, left.bytes_each / limits.slot_bytes))


def _least_s(loads: list[_Load], asked: Asked, pacing: Pacing) -> float:
    """Rates go on from stage to stage, and rise as soon as they may."""
    waits = (_LOOKS + sum(math.ceil(load.rounds) for load in loads)) * _SOON_S
    if not asked.throttle:
        return waits
    known = {each.broker: each.rate for each in asked.rates if each.line is None}
    first = first_rate(asked.throttle, asked.max_throttle, pacing.throttle)
    begin = max([first.begins, *known.values()])
    rise_s = pacing.throttle.rise_s / _FREE_RISES
    busiest = sum(max(load.by_way.values(), default=0.0) for load in loads)
    copying_s = _seconds(busiest, begin, first.ends, rise_s, _QUICK_RISE, 0.0 if known else _SAVED_UP_S)
    return max(waits, copying_s)


def _most_s(loads: list[_Load], asked: Asked, pacing: Pacing) -> float | None:
    """Each stage begins slowly, a move waits for all that its ways carry, each round for a look."""
    if not asked.throttle:
        return None
    first = first_rate(asked.throttle, asked.throttle, pacing.throttle)
    begin, end = _at_worst(first.begins, first.ends, asked, pacing.throttle)
    rise_s = pacing.throttle.rise_s + pacing.tick_s
    look_s = pacing.tick_s + _FETCH_S
    total = 2 * _LOOKS * look_s
    for load in loads:
        slower = 1 / (1 - min(_MOST_WRITTEN, load.written / end))
        total += math.ceil(load.rounds) * 2 * look_s
        if load.longest:
            total += pacing.throttle.window_s + _seconds(load.longest * slower, begin, end, rise_s, _SLOW_RISE, 0.0)
    return total


def _at_worst(begin: float, end: float, asked: Asked, settings: ThrottleSettings) -> tuple[float, float]:
    """Return where the slowest broker's rate is, and where it gets to: one that fell, or stands still, gets no
    further.
    """
    known = [each for each in asked.rates if each.line is None and not each.idle_since_ms]
    if not known:
        return begin, end
    slowest = min(known, key=lambda each: each.rate)
    stands_still = asked.now_ms - slowest.changed_at_ms > 2 * (settings.rise_s + settings.settle_s) * 1000
    is_held = slowest.rate < end and (slowest.trouble > 0 or stands_still)
    return (slowest.rate, slowest.rate) if is_held else (min(slowest.rate, end), end)


def _seconds(size: float, begin: float, end: float, rise_s: float, rise: float, saved_up_s: float) -> float:
    """Until so many bytes are through, at a rate that begins low and rises step by step."""
    passed, left, rate = 0.0, size, begin
    while rate < end and left > rate * (saved_up_s + rise_s):
        left -= rate * rise_s
        passed += rise_s
        rate = min(end, rate * rise)
    return passed + max(0.0, left / rate - saved_up_s)
