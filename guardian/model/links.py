"""The lines between data centres: where clients are, what a line can carry and costs; and what crosses it.

TOML, in one file that all members have (`links` in a member's configuration), read again at each question:

currency = "EUR"
near     = 0.8                                  # a finding from so much of a line's capacity on, in its busiest minute

[networks]                                      # where clients are; the longest prefix wins
shanghai = ["10.1.0.0/16", "2001:db8:1::/48"]   # the same names as the brokers' idc
suzhou   = ["10.2.0.0/16"]

[[lines]]
between    = ["shanghai", "suzhou"]
gbit_per_s = 10.0                               # each way; none: its limit is not watched
price_gb   = 0.02                               # a GB (10^9 bytes), each way; none: no cost is told
"""

from __future__ import annotations

import ipaddress
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from guardian.errors import InvalidInput

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
class LinkSettings:
    """What people say of their lines. `networks` has the longest prefixes first."""

    networks: tuple[tuple[Network, str], ...] = ()
    lines: Mapping[tuple[str, str], Line] = field(default_factory=dict)
    currency: str = ""
    near: float = 0.8

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
        """Of the capacity, in the busiest minute; 0 where the capacity is unknown."""
        return self.peak_bits_per_s / self.line.bits_per_s if self.line.bits_per_s else 0.0

    @property
    def cost(self) -> float | None:
        return None if self.line.price_gb is None else self.line.price_gb * self.bytes / 10**9


def load_links(path: Path) -> LinkSettings:
    """Raises InvalidInput that names the field, the value and the fix."""
    try:
        table = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"links file {path} can't be read: {error}") from None
    try:
        return links_from_table(table)
    except InvalidInput as error:
        raise InvalidInput(f"links file {path}: {error}") from None


def links_from_table(table: Mapping[str, object]) -> LinkSettings:
    """The same of a parsed file."""
    _refuse_unknown("", table, {"currency", "near", "networks", "lines"})
    currency = table.get("currency", "")
    if not isinstance(currency, str) or not currency.isprintable() or len(currency) > 10:
        raise InvalidInput(f"currency is {currency!r}: give a word of up to 10 characters, such as EUR")
    near = _number("near", table.get("near", 0.8))
    if not 0 < near <= 1:
        raise InvalidInput(f"near is {near:g}: give a share of the capacity, above 0 and up to 1")
    networks, lines = table.get("networks", {}), table.get("lines", [])
    if not isinstance(networks, dict):
        raise InvalidInput(f"networks is {networks!r}: write it as a section, [networks]")
    if not isinstance(lines, list):
        raise InvalidInput(f"lines is {lines!r}: write each line as a section, [[lines]]")
    return LinkSettings(_networks(networks), _lines(lines), currency, near)


def _networks(table: Mapping[str, object]) -> tuple[tuple[Network, str], ...]:
    found: dict[Network, str] = {}
    for idc, listed in table.items():
        if not isinstance(listed, list):
            raise InvalidInput(f'networks.{idc} is {listed!r}: give a list, such as ["10.1.0.0/16"]')
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
        raise InvalidInput(f"networks.{idc} has {text!r}: use a prefix, such as 10.1.0.0/16 ({error})") from None


def _lines(sections: list[object]) -> dict[tuple[str, str], Line]:
    lines: dict[tuple[str, str], Line] = {}
    for position, section in enumerate(sections):
        line = _line(f"lines[{position}]", section)
        if line.between in lines:
            raise InvalidInput(f"lines has {' and '.join(line.between)} twice: describe each line once")
        lines[line.between] = line
    return lines


def _line(title: str, section: object) -> Line:
    if not isinstance(section, dict):
        raise InvalidInput(f"{title} is {section!r}: write it as a section, [[lines]]")
    _refuse_unknown(f"{title}.", section, {"between", "gbit_per_s", "price_gb"})
    between = section.get("between")
    listed = between if isinstance(between, list) else []
    if len(listed) != 2 or listed[0] == listed[1] or not all(isinstance(idc, str) and idc for idc in listed):
        raise InvalidInput(f'{title}.between is {between!r}: give two IDCs, such as ["shanghai", "suzhou"]')
    first, second = sorted(listed)
    gbit = _number(f"{title}.gbit_per_s", section["gbit_per_s"]) if "gbit_per_s" in section else 0.0
    price = _number(f"{title}.price_gb", section["price_gb"]) if "price_gb" in section else None
    if "gbit_per_s" in section and gbit == 0:
        raise InvalidInput(f"{title}.gbit_per_s is 0: give what the line carries, or leave it out")
    return Line((first, second), gbit * _BITS, price)


def _number(title: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value >= 0 and math.isfinite(value)):
        raise InvalidInput(f"{title} is {value!r}: give a number from 0")
    return float(value)


def _refuse_unknown(prefix: str, table: Mapping[str, object], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise InvalidInput(f"{prefix}{key} is not known: use {', '.join(sorted(known))}")
