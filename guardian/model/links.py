"""The lines between data centres: where clients are, what a line can carry and costs; and what crosses it.

A TOML file that all members have (`links` in a member's configuration), read again at each question.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from guardian.errors import InvalidInput
from guardian.model.settings import Section, check_ranges, load, read, read_all, section, setting, shown

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_BITS = 10**9
_MAX_NETWORKS = 1000


class Crossing(IntEnum):
    """Why bytes cross a line; values are those of the wire."""

    PRODUCE = 1
    CONSUME = 2
    REPLICATE = 3


class Direction(NamedTuple):
    """One way of a line."""

    from_idc: str
    to_idc: str


@dataclass(frozen=True, slots=True)
class Line:
    """`between` in alphabetical order. `bits_per_s` each way, 0: unknown; `price_gb` None: none is known."""

    between: tuple[str, str]
    bits_per_s: float = 0.0
    price_gb: float | None = None


@dataclass(frozen=True, slots=True)
class LineSection(Section):
    """Describe a link between two IDCs; what is left out is not watched, or has no cost."""

    between: tuple[str, ...] = setting(..., "The two IDCs.", example=["shanghai", "suzhou"])
    gbit_per_s: float | None = setting(None, "What it carries, each way.", above=0, below=math.inf, example=10.0)
    price_gb: float | None = setting(
        None, "Price of a GB (10^9 bytes), each way.", least=0, below=math.inf, example=0.02
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if len(set(self.between)) != 2:
            raise InvalidInput(f'between is {list(self.between)!r}: give two IDCs, such as ["shanghai", "suzhou"]')


def _currency(path: str, value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 10:
        raise InvalidInput(f"{path} is {shown(value)}: give a word of up to 10 characters, such as EUR")
    return value


def _networks(path: str, value: object) -> tuple[tuple[Network, str], ...]:
    found: dict[Network, str] = {}
    for idc, listed in section(path, value).items():
        if not isinstance(listed, list):
            raise InvalidInput(f'{path}.{idc} is {shown(listed)}: give a list, such as ["10.1.0.0/16"]')
        for text in listed:
            network = _network(idc, text)
            other = found.setdefault(network, idc)
            if other != idc:
                raise InvalidInput(f"networks has {text} in {other} and in {idc}: an address is in one of them")
    if len(found) > _MAX_NETWORKS:
        raise InvalidInput(f"networks has {len(found)} entries: use up to {_MAX_NETWORKS}, such as one prefix an IDC")
    return by_prefix(found.items())


def by_prefix(networks: Iterable[tuple[Network, str]]) -> tuple[tuple[Network, str], ...]:
    """The longest prefixes first, whatever the order in which they are told."""
    return tuple(
        sorted(networks, key=lambda each: (-each[0].prefixlen - 96 * (each[0].version == 4), each[1], str(each[0])))
    )


def _network(idc: str, text: object) -> Network:
    try:
        if not isinstance(text, str):
            raise ValueError("not a text")
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InvalidInput(f"networks.{idc} has {shown(text)}: use a prefix, such as 10.1.0.0/16 ({error})") from None


def _lines(path: str, value: object) -> dict[tuple[str, str], Line]:
    lines: dict[tuple[str, str], Line] = {}
    for each in read_all(LineSection, value, path):
        first, second = sorted(each.between)
        if (first, second) in lines:
            raise InvalidInput(f"{path} has {first} and {second} twice: describe each line once")
        lines[first, second] = Line((first, second), (each.gbit_per_s or 0.0) * _BITS, each.price_gb)
    return lines


@dataclass(frozen=True, slots=True)
class LinkSettings(Section):
    """Describe the links between IDCs. `networks` has the longest prefixes first."""

    networks: tuple[tuple[Network, str], ...] = setting(
        (),
        "The networks of each IDC's clients; the longest prefix wins.",
        example={"shanghai": ["10.1.0.0/16", "2001:db8:1::/48"]},
        read=_networks,
    )
    lines: Mapping[tuple[str, str], Line] = setting(dict, read=_lines, sections=(LineSection,), many="list")
    currency: str = setting("", "The currency of prices.", example="EUR", read=_currency)
    near: float = setting(
        0.8, "A finding from so much of a link's capacity on, in its busiest minute.", above=0, most=1
    )

    def line(self, direction: Direction) -> Line:
        """The line of this direction; one of which nothing is known if it is not listed."""
        first, second = sorted(direction)
        return self.lines.get((first, second), Line((first, second)))


@dataclass(frozen=True, slots=True)
class Crosser:
    """Who crosses a line: with replication only the topic is known. `is_estimated`: by its share of the requests."""

    direction: Direction
    crossing: Crossing
    cluster: str
    topic: str
    bytes: int
    principal: str = ""
    client_id: str = ""
    address: str = ""
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class ClientPlace:
    """What the clients in one IDC write to and read from a topic, in bytes/s."""

    topic: str
    idc: str
    produced: float
    fetched: float


@dataclass(frozen=True, slots=True)
class LinkUse:
    """One direction in a span of minutes: bytes by reason and by minute, and what it comes to."""

    direction: Direction
    bytes_by_crossing: Mapping[Crossing, int]
    estimated_bytes: int
    minute_bytes: tuple[int, ...]
    peak_at_ms: int
    peak_bits_per_s: float
    line: Line

    @property
    def bytes(self) -> int:
        return sum(self.bytes_by_crossing.values())

    @property
    def share(self) -> float:
        """Return the share of the capacity in the busiest minute; 0 where the capacity is unknown."""
        return self.peak_bits_per_s / self.line.bits_per_s if self.line.bits_per_s else 0.0

    @property
    def cost(self) -> float | None:
        return None if self.line.price_gb is None else self.line.price_gb * self.bytes / 10**9


def load_links(path: Path) -> LinkSettings:
    """Return the links of a file. Raises InvalidInput that names the field, the value and the fix."""
    return load(path, "links file", links_from_table)


def links_from_table(table: Mapping[str, object]) -> LinkSettings:
    """Return the links of a parsed file. Raises InvalidInput."""
    return read(LinkSettings, table)
