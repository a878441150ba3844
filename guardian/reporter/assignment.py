"""Which member collects which broker: rendezvous hashing, so that all members agree without asking each other.

Each member has a score for each broker, and the highest takes it. A member that dies or joins changes no score of the
others, so only its own share moves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import NamedTuple


class BrokerKey(NamedTuple):
    """A broker of the federation: the cluster's name and the broker's id."""

    cluster: str
    broker: int

    def __str__(self) -> str:
        return f"{self.cluster}/{self.broker}"


def share(brokers: Iterable[BrokerKey], live_members: Collection[str], me: str) -> list[BrokerKey]:
    """The brokers that `me` collects, sorted; none while `me` is not among the live members."""
    if me not in live_members:
        return []
    return sorted(broker for broker in brokers if owner(broker, live_members) == me)


def owner(broker: BrokerKey, live_members: Collection[str]) -> str:
    """The member that collects the broker. Raises ValueError when there is no live member."""
    return max(live_members, key=lambda member: (_score(member, broker), member))


def _score(member: str, broker: BrokerKey) -> bytes:
    return blake2b(f"{member}\0{broker.cluster}\0{broker.broker}".encode(), digest_size=8).digest()
