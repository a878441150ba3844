"""Names a fault as a person asks about it, and tells it as what happens to brokers and links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from guardian.errors import InvalidInput
from guardian.model.faults.event import (
    Act,
    ActOnNode,
    CleanStop,
    ClockJump,
    DiskFull,
    FastFollower,
    Kill,
    LogDirFails,
    LogDirWorks,
    Lose,
    PowerLoss,
    SlowFollower,
    SlowWrites,
    Start,
)
from guardian.model.faults.stories import REPAIR_S

CUTS = range(1, 9)
MOST_S = 600.0
MOST_AHEAD_S = 366 * 86_400.0
Timed = tuple[float, Act]


class Blow(IntEnum):
    """Kinds of fault. Values are those of the wire."""

    CUT = 1
    KILL = 2
    POWER = 3
    LOSE = 4
    CLOCK = 5
    LOG_DIR = 6
    SLOW_FOLLOWER = 7
    SLOW_DISK = 8

    def __str__(self) -> str:
        """Return its name as the command line has it."""
        return self.name.lower().replace("_", "-")


_DEATHS: Mapping[Blow, Callable[[int], Act]] = {Blow.KILL: Kill, Blow.POWER: PowerLoss, Blow.LOSE: Lose}
_ON_DISKS = frozenset({Blow.LOG_DIR, Blow.SLOW_DISK})


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault as a person asks about it.

    `number` is that of the cut, 1 to 8. `brokers`, `racks` and `idcs` are hit together, of `log_dirs` only what is on
    them. The fault lasts `seconds`: then links heal, clocks are right, disks are repaired, or brokers are started in
    the order of `order`, else all at once; 0: for good. `ahead_s` is how much clocks are ahead, or behind if negative.
    `share` is how much of what is written a follower's link carries, `each_s` how long a disk takes for each write.
    """

    blow: Blow
    number: int = 0
    brokers: tuple[int, ...] = ()
    racks: tuple[str, ...] = ()
    idcs: tuple[str, ...] = ()
    seconds: float = 60.0
    order: tuple[int, ...] = ()
    every_s: float = 30.0
    ahead_s: float = 0.0
    log_dirs: tuple[str, ...] = ()
    share: float = 0.0
    each_s: float = 0.0

    def __post_init__(self) -> None:
        if (self.blow is Blow.CUT) != (self.number in CUTS):
            raise InvalidInput(f"cut: unknown number (got {self.number}); use 1 to 8, see guardian what-if cut --help")
        if not 0 <= self.seconds <= MOST_S:
            raise InvalidInput(f"seconds: out of range (got {self.seconds:g}); use 0 to {MOST_S:g}")
        if not 0 <= self.every_s * len(self.order) <= MOST_S:
            raise InvalidInput(
                f"every_s: too long (got {self.every_s:g} for each start); use {MOST_S:g} s for all at most"
            )
        if (self.blow is Blow.CLOCK) != (0 < abs(self.ahead_s) <= MOST_AHEAD_S):
            raise InvalidInput(f"ahead_s: out of range (got {self.ahead_s:g}); use up to a year for clocks, else 0")
        if (self.blow is Blow.SLOW_FOLLOWER) != (0 < self.share < 1):
            raise InvalidInput(
                f"share: out of range (got {self.share:g}); use more than 0 and less than 1 for slow followers, else 0"
            )
        if (self.blow is Blow.SLOW_DISK) != (0 < self.each_s <= MOST_S):
            raise InvalidInput(
                f"each_s: out of range (got {self.each_s:g}); use up to {MOST_S:g} s for slow disks, else 0"
            )
        self._check_who_is_hit()

    def _check_who_is_hit(self) -> None:
        if self.log_dirs and self.blow not in _ON_DISKS:
            raise InvalidInput(
                f"log_dirs: not of this fault (got {self.log_dirs[0]}); name them for log dirs and slow disks"
            )
        if self.blow is Blow.LOG_DIR and not self.log_dirs:
            raise InvalidInput("log_dirs: nothing fails (got none); name a log dir, see `guardian disk show`")
        needs_brokers = self.number not in (7, 8)
        if needs_brokers and not (self.brokers or self.racks or self.idcs):
            raise InvalidInput("brokers, racks and idcs: nothing is hit (got none); name a broker, a rack or an IDC")

    def __str__(self) -> str:
        named = (("broker", self.brokers), ("rack", self.racks), ("IDC", self.idcs), ("log dir", self.log_dirs))
        hit = ", ".join(f"{noun} {each}" for noun, names in named for each in names)
        what = f"cut {self.number}" if self.blow is Blow.CUT else str(self.blow)
        return f"{what} of {hit}" if hit else what


def acts(fault: Fault, hit: Iterable[int], halting: frozenset[int]) -> Iterator[Timed]:
    """Yield what happens to the brokers that any fault but a cut hits, with seconds; `halting` lose their last log
    dir."""
    brokers = sorted(hit)
    if fault.blow in _DEATHS:
        yield from _deaths(fault, brokers)
    elif fault.blow is Blow.LOG_DIR:
        for broker in brokers:
            yield from _log_dir_of(broker, fault.seconds, halts=broker in halting)
    else:
        for broker in brokers:
            begins, ends = _between(fault, broker)
            yield 0.0, begins
            if fault.seconds:
                yield fault.seconds, ends


def _deaths(fault: Fault, brokers: list[int]) -> Iterator[Timed]:
    dies = _DEATHS[fault.blow]
    yield from ((0.0, dies(each)) for each in brokers)
    if fault.seconds:
        first = [each for each in fault.order if each in brokers]
        yield from ((fault.seconds + fault.every_s * number, Start(each)) for number, each in enumerate(first))
        last_s = fault.seconds + fault.every_s * len(first)
        yield from ((last_s, Start(each)) for each in brokers if each not in first)


def _log_dir_of(broker: int, seconds: float, *, halts: bool) -> Iterator[Timed]:
    """Yield the failure, and the repair, for which the broker is down; a broker without another log dir halts."""
    back_s = seconds + REPAIR_S
    yield 0.0, DiskFull(broker) if halts else LogDirFails(broker)
    if seconds and not halts:
        yield seconds, CleanStop(broker)
        yield back_s, LogDirWorks(broker)
    if seconds:
        yield back_s, Start(broker)


def _between(fault: Fault, broker: int) -> tuple[ActOnNode, ActOnNode]:
    """Return what begins and ends a fault with which the broker goes on."""
    if fault.blow is Blow.CLOCK:
        return ClockJump(broker, fault.ahead_s), ClockJump(broker, 0.0)
    if fault.blow is Blow.SLOW_FOLLOWER:
        return SlowFollower(broker, fault.share), FastFollower(broker)
    return SlowWrites(broker, fault.each_s), SlowWrites(broker, 0.0)
