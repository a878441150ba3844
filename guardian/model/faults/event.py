"""Names what happens to brokers, controllers and links: a story is a list of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Nodes = frozenset[int]


@dataclass(frozen=True, slots=True)
class Cut:
    """No packet gets from `one` to `other`; nor back, unless `one_way`."""

    one: Nodes
    other: Nodes
    one_way: bool = False

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield (from, to) of each direction that is cut."""
        for a in self.one:
            for b in self.other - {a}:
                yield a, b
                if not self.one_way:
                    yield b, a


@dataclass(frozen=True, slots=True)
class Heal:
    """All links work again."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The process ends at once (kill -9); what it wrote is in the page cache and stays."""

    node: int


@dataclass(frozen=True, slots=True)
class PowerLoss:
    """The machine loses power: what was never fsynced is gone."""

    node: int


@dataclass(frozen=True, slots=True)
class Lose:
    """The machine is gone with its disks; a later start finds them empty."""

    node: int


@dataclass(frozen=True, slots=True)
class CleanStop:
    """The broker is stopped as its manual says (SIGTERM): leaders move first."""

    node: int


@dataclass(frozen=True, slots=True)
class Pause:
    """The process stands still (SIGSTOP, a long garbage collection, a frozen virtual machine)."""

    node: int


@dataclass(frozen=True, slots=True)
class Resume:
    """The process goes on where it stood still."""

    node: int


@dataclass(frozen=True, slots=True)
class Start:
    """The process is started again, with what its disks have."""

    node: int


@dataclass(frozen=True, slots=True)
class DiskFull:
    """The disk takes no more: a broker without a log dir on another one halts at its next write."""

    node: int


@dataclass(frozen=True, slots=True)
class DiskFree:
    """The disk has room again; the broker is to be started."""

    node: int


@dataclass(frozen=True, slots=True)
class LogDirFails:
    """The log dir that holds the partition fails (EIO); the broker goes on with its other ones."""

    node: int


@dataclass(frozen=True, slots=True)
class LogDirWorks:
    """The log dir that failed works again; the broker uses it from its next start on."""

    node: int


@dataclass(frozen=True, slots=True)
class SlowWrites:
    """Each write to the disk that holds the partition takes so many seconds from now on; 0: as before."""

    node: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SlowFollower:
    """The link over which a follower fetches carries no more than `share` of what is written."""

    node: int
    share: float


@dataclass(frozen=True, slots=True)
class FastFollower:
    """The link is as fast as before."""

    node: int


@dataclass(frozen=True, slots=True)
class ClockJump:
    """The wall clock is off by so many seconds from now on, against what it was before the story."""

    node: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ElectPreferred:
    """The first of the replicas is elected, if it is in sync: by hand, or by auto.leader.rebalance.enable."""


_Process = Kill | PowerLoss | Lose | CleanStop | Pause | Resume | Start
_Disk = DiskFull | DiskFree | LogDirFails | LogDirWorks | SlowWrites
ActOnNode = _Process | _Disk | SlowFollower | FastFollower | ClockJump
Act = ActOnNode | Cut | Heal | ElectPreferred


@dataclass(frozen=True, slots=True)
class Event:
    """An act, so many seconds after the story began."""

    at_s: float
    act: Act


@dataclass(frozen=True, slots=True)
class Story:
    """Events in the order of their times; `until_s` is when the story is over and its outcome is looked at."""

    name: str
    events: tuple[Event, ...]
    until_s: float

    @property
    def heals(self) -> bool:
        """Tell whether links that were cut work again before it is over."""
        return any(isinstance(event.act, Heal) for event in self.events)
