"""What may be asked: one frozen dataclass for each question. Standard library only: a command line makes them.

Carry       brokers, racks or data centres are gone: who carries their load
Grow        all traffic, or that of some topics, becomes so many times as much
Upgrade     brokers get so many times the capacity
Shrink      how many brokers could go
"""

from __future__ import annotations

from dataclasses import dataclass

from guardian.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Carry:
    brokers: tuple[int, ...] = ()
    racks: tuple[str, ...] = ()
    idcs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.brokers or self.racks or self.idcs):
            raise InvalidInput("brokers, racks and idcs are empty: name what is lost")

    def __str__(self) -> str:
        named = (("broker", self.brokers), ("rack", self.racks), ("IDC", self.idcs))
        return f"{', '.join(f'{what} {each}' for what, some in named for each in some)} lost"


@dataclass(frozen=True, slots=True)
class Grow:
    """`topics` empty: all of them. With `stored` the bytes on disk grow too, as under retention by time."""

    times: float
    topics: tuple[str, ...] = ()
    stored: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.times <= 1000:
            raise InvalidInput(f"times is {self.times:g}: use a factor above 0 and up to 1000, such as 2")

    def __str__(self) -> str:
        return f"traffic of {', '.join(self.topics) or 'all topics'} times {self.times:g}"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """`brokers` empty: all of them."""

    brokers: tuple[int, ...] = ()
    cpu: float = 1.0
    network: float = 1.0
    disk: float = 1.0

    def __post_init__(self) -> None:
        for name in ("cpu", "network", "disk"):
            if not 0 < getattr(self, name) <= 1000:
                raise InvalidInput(f"{name} is {getattr(self, name):g}: use a factor above 0 and up to 1000, such as 2")

    def __str__(self) -> str:
        which = f"broker {', '.join(map(str, self.brokers))}" if self.brokers else "all brokers"
        return f"{which} with cpu x{self.cpu:g}, network x{self.network:g}, disk x{self.disk:g}"


@dataclass(frozen=True, slots=True)
class Shrink:
    """`label`: only brokers of this label may go; empty: any."""

    label: str = ""

    def __str__(self) -> str:
        return f"how many brokers{f' of label {self.label}' if self.label else ''} could go"


Question = Carry | Grow | Upgrade | Shrink
