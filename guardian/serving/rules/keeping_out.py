"""Who gets no more connections while a port is flooded, and the filter by which the kernel keeps him out. Pure.

The filter is classic BPF (Linux: Documentation/networking/filter.rst), which a listening socket runs on each packet
that comes for it. It drops most of the first packets of connections (SYN without ACK) of some addresses. Who was kept
out tries again by himself, a second later at first, and one of a few gets in. So he who is not the flood, and comes
from the same address, is answered late instead of never. Connections that are there already are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from guardian.serving.rules.shares import PortShare

MOST_HOLDERS = 64
"""Of whom a filter knows, the heaviest first: each costs a comparison for each connection that begins."""

_GETS_IN_ONE_IN = 8  # a power of two
_LOAD_BYTE, _LOAD_WORD, _AND, _JUMP, _IF_EQUAL, _RETURN = 0x30, 0x20, 0x54, 0x05, 0x15, 0x06
_PASS, _DROP = 0xFFFFFFFF, 0
_EXTRA = 0xFFFFF000  # what the kernel tells besides the packet: SKF_AD_OFF
_PROTOCOL, _RANDOM = _EXTRA + 0, _EXTRA + 56
_NETWORK = 0xFFF00000  # SKF_NET_OFF: the IP header; offsets without it are of the TCP header
_FLAGS = 13
_SYN, _SYN_AND_ACK = 0x02, 0x12
_SOURCE_V4, _SOURCE_V6 = _NETWORK + 12, _NETWORK + 8
_IPV4, _IPV6 = 0x0800, 0x86DD
_WORD_BITS = 32


class Instruction(NamedTuple):
    """Hold one of classic BPF: what it does, how many to skip where its test holds and where not, and its number."""

    code: int
    if_true: int
    if_false: int
    value: int


def gets_no_more(held: Mapping[str, int], share: PortShare) -> list[str]:
    """Return the holders who have their share, the heaviest first; of a port that is full, who has more than most."""
    is_full = sum(held.values()) >= share.connections
    over = [
        holder
        for holder, count in held.items()
        if count >= share.per_address or (is_full and count * len(held) >= share.connections)
    ]
    return sorted(over, key=lambda holder: -held[holder])[:MOST_HOLDERS]


def keeping_out(holders: Iterable[str]) -> list[Instruction]:
    """Return the filter that keeps these out, as `holder_of` names them: IPv4 addresses, and networks of IPv6."""
    v4: list[Instruction] = []
    v6: list[Instruction] = []
    for holder in holders:
        if "/" in holder:
            v6 += _drop_network(ip_network(holder))
        elif isinstance(address := ip_address(holder), IPv4Address):
            v4 += _drop_words(_SOURCE_V4, [int(address)])
        else:
            v6 += _drop_words(_SOURCE_V6, _words(address))
    v4.append(Instruction(_RETURN, 0, 0, _PASS))
    v6.append(Instruction(_RETURN, 0, 0, _PASS))
    return [
        Instruction(_LOAD_BYTE, 0, 0, _FLAGS),
        Instruction(_AND, 0, 0, _SYN_AND_ACK),
        Instruction(_IF_EQUAL, 1, 0, _SYN),
        Instruction(_RETURN, 0, 0, _PASS),
        Instruction(_LOAD_WORD, 0, 0, _RANDOM),
        Instruction(_AND, 0, 0, _GETS_IN_ONE_IN - 1),
        Instruction(_IF_EQUAL, 0, 1, 0),
        Instruction(_RETURN, 0, 0, _PASS),
        Instruction(_LOAD_WORD, 0, 0, _PROTOCOL),
        Instruction(_IF_EQUAL, 2, 0, _IPV4),
        Instruction(_IF_EQUAL, 2, 0, _IPV6),
        Instruction(_RETURN, 0, 0, _PASS),
        Instruction(_JUMP, 0, 0, 1),
        Instruction(_JUMP, 0, 0, len(v4)),
        *v4,
        *v6,
    ]


def _drop_network(network: object) -> list[Instruction]:
    """Compare the first half of the source's address, which is its network of 64 bits."""
    return _drop_words(_SOURCE_V6, _words(network.network_address)[:2]) if isinstance(network, IPv6Network) else []


def _drop_words(at: int, words: list[int]) -> list[Instruction]:
    """Drop the packet if the words from here on are these, and go on otherwise."""
    compared = [
        instruction
        for number, word in enumerate(words)
        for instruction in (
            Instruction(_LOAD_WORD, 0, 0, at + 4 * number),
            Instruction(_IF_EQUAL, 0, 2 * (len(words) - number) - 1, word),
        )
    ]
    return [*compared, Instruction(_RETURN, 0, 0, _DROP)]


def _words(address: IPv6Address) -> list[int]:
    whole = int(address)
    return [whole >> shift & 0xFFFFFFFF for shift in range(128 - _WORD_BITS, -1, -_WORD_BITS)]
