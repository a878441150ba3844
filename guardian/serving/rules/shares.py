"""Who may hold how many connections of a port, and how many a port may have at all.

    descriptors of the process ─┬─ kept: the store, the journal, the lake, connections to brokers
                                ├─ gRPC   at most so many connections, and so many of one address
                                └─ HTTP   likewise

A port that is full makes room at whoever holds most of it, so that a newcomer from another address finds a place.
Idea: max-min fairness; what is over the level is the share of nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import TypeVar

from guardian.config import GRPC_PER_ADDRESS, HTTP_PER_ADDRESS, PortsConfig
from guardian.errors import InvalidInput

KEPT_DESCRIPTORS = 512
"""At least so many descriptors stay for the store, the journal, the lake and connections to brokers."""

GRPC_OVERSHOOT, HTTP_OVERSHOOT = 256, 64
"""Connections over a port's share that may be there for a moment: found or cut off, and not closed yet."""

_LEAST_GRPC, _LEAST_HTTP = 128, 64
_MOST_GRPC, _MOST_HTTP = 4096, 1024
_NETWORK_BITS = 64  # of IPv6: a host gets a whole network of addresses
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PortShare:
    """Limit the connections of one port: all of them, and those of one address."""

    connections: int
    per_address: int


GRPC_SHARE, HTTP_SHARE = (
    PortShare(_MOST_GRPC, GRPC_PER_ADDRESS),
    PortShare(_MOST_HTTP, HTTP_PER_ADDRESS),
)
"""What each port may hold where files are no limit."""


@dataclass(frozen=True, slots=True)
class PortShares:
    """Hold the limits of both ports that clients reach."""

    grpc: PortShare
    http: PortShare


def port_shares(ports: PortsConfig, open_files: int | None) -> PortShares:
    """Return what each port may hold when the process may have `open_files` open (None: as many as it likes).

    Raises InvalidInput when they don't leave enough for the store.
    """
    kept = KEPT_DESCRIPTORS + GRPC_OVERSHOOT + HTTP_OVERSHOOT
    least = kept + (ports.grpc_connections or _LEAST_GRPC) + (ports.http_connections or _LEAST_HTTP)
    if open_files is not None and open_files < least:
        raise InvalidInput(
            f"open files: the limit is too low for the store and the ports (got {open_files}, at least {least} are "
            "needed); raise the hard limit (LimitNOFILE= of a systemd unit, `ulimit -Hn` of a shell), or give "
            "ports.grpc_connections and ports.http_connections less"
        )
    spare = (1 << 20) if open_files is None else open_files - kept
    room = spare if open_files is None else min(spare, open_files - open_files // 2)
    others = ports.grpc_connections or _LEAST_GRPC
    http = ports.http_connections or min(_MOST_HTTP, spare - others, max(_LEAST_HTTP, room // 4))
    grpc = ports.grpc_connections or min(_MOST_GRPC, spare - http, max(_LEAST_GRPC, room - http))
    return PortShares(
        PortShare(grpc, min(grpc, ports.grpc_per_address)), PortShare(http, min(http, ports.http_per_address))
    )


def address_of_peer(peer: str) -> str:
    """Return the address of what gRPC calls a peer, such as ipv4:10.0.0.1:5000 or ipv6:%5B::1%5D:5000."""
    kind, _, rest = peer.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return peer
    return rest.rpartition(":")[0].replace("%5B", "").replace("%5D", "").strip("[]")


@lru_cache(4096)
def holder_of(address: str) -> str:
    """Return whose share a connection from this IP address counts against: an IPv4 address, or a network of IPv6."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(ip, IPv6Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    network = IPv6Address(int(ip) >> (128 - _NETWORK_BITS) << (128 - _NETWORK_BITS))
    return str(ip) if ip.is_loopback else f"{network}/{_NETWORK_BITS}"


class Held:
    """Count what holders hold; tell the sum and who holds most in the same time, however many holders there are."""

    def __init__(self) -> None:
        self.total = 0
        self._most = 0
        self._of: dict[str, int] = {}
        self._with: dict[int, dict[str, None]] = {}  # by number held, who holds so many

    def of(self, holder: str) -> int:
        """Return how many `holder` holds."""
        return self._of.get(holder, 0)

    def counts(self) -> Mapping[str, int]:
        """Return what each holder holds now."""
        return self._of

    @property
    def heaviest(self) -> str | None:
        """Return one who holds most; None: nobody holds any."""
        return next(iter(self._with[self._most])) if self._most else None

    def take(self, holder: str) -> None:
        """Count one more of `holder`."""
        self.total += 1
        self._set(holder, self.of(holder) + 1)
        self._most = max(self._most, self._of[holder])

    def give_back(self, holder: str) -> None:
        """Count one less of `holder`, who has one."""
        self.total -= 1
        self._set(holder, self._of[holder] - 1)
        if self._most not in self._with:
            self._most -= 1  # where he is now

    def _set(self, holder: str, number: int) -> None:
        before = self._of.pop(holder, 0)
        if before:
            del self._with[before][holder]
            if not self._with[before]:
                del self._with[before]
        if number:
            self._of[holder] = number
            self._with.setdefault(number, {})[holder] = None


def who_makes_room(newcomer: str, held: Held, share: PortShare) -> str | None:
    """Return whose connection has to go before one of `newcomer` is taken; None: there is room. It is his own where
    he has his share already, or where nobody would hold more than he; who has none yet has a place before anybody's
    last but his."""
    own = held.of(newcomer)
    if own >= share.per_address:
        return newcomer
    if held.total < share.connections:
        return None
    heaviest = held.heaviest or newcomer
    return heaviest if held.of(heaviest) > (own + 1 if own else 0) else newcomer


def over_share(
    held: Mapping[str, Sequence[_T]], share: PortShare, worth: Callable[[_T], tuple[bool, int]] | None = None
) -> list[_T]:
    """Return the connections that are too many. Of a holder's, the first are kept, in the order of `worth` where it is
    given: it is asked only about holders who have too many. What all hold is brought below `share.connections` by a
    level that is the same for all.
    """
    level = _level(Counter({holder: len(connections) for holder, connections in held.items()}), share)
    over: list[_T] = []
    for connections in held.values():
        if len(connections) > level:
            over += (connections if worth is None else sorted(connections, key=worth))[level:]
    return over


def _level(counts: Mapping[str, int], share: PortShare) -> int:
    low, high = 0, share.per_address
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(middle, count) for count in counts.values()) <= share.connections:
            low = middle
        else:
            high = middle - 1
    return low
