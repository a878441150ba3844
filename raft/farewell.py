"""Last words of a member that can't start: it joins no group, it only tells the others why it is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raft.configuration import Configuration
from raft.errors import CannotStart
from raft.network.tls import TlsFiles
from raft.network.transport import Network
from raft.node.library import new_poller
from raft.node.parting import Parting
from raft.protocol import LastWords
from raft.rules.admission import Introduction
from raft.storage.identity import open_identity
from raft.storage.journal import Journal

_TELLING_S = 3.0  # the others dial a member that they miss once a second
_READING_S = 0.3  # until they have read it
_POLL_S = 0.02
_UNKNOWN = (1 << 63) - 1


def tell_others(
    name: str,
    listen: str,
    peers: Mapping[str, str],
    directory: Path,
    words: LastWords,
    *,
    tls: TlsFiles | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> frozenset[str]:
    """Returns who was told, within some seconds; nobody when the address can't be had.

    The others are those of the log in `directory`, where that can still be read, else `peers`.
    """
    left = _what_is_left(name, directory)
    configuration = left.configuration
    others = dict(peers)
    if configuration is not None:
        others = {member.name: member.address for member in configuration.members if member.name != name}
    poller = new_poller()
    told: set[str] = set()
    try:
        network = Network(
            poller,
            name,
            listen,
            client_address="",
            group_id=lambda: configuration.group_id if configuration is not None else "",
            on_message=lambda _sender, _message: None,
            on_connected=lambda member: _tell(parting, member, told),
            on_disconnected=lambda _member: None,
            introduce=lambda: left.introduction,
            find_lapse=lambda _peer, _is_new: None,
            admits=others.__contains__,
            tls=tls,
        )
    except CannotStart:
        return frozenset()
    parting = Parting(network)
    parting.begin(words, ())
    network.set_members(others)
    until = clock() + _TELLING_S
    while clock() < until and not told.issuperset(others):
        _turn(network, poller, clock())
    until = clock() + _READING_S
    while clock() < until:
        _turn(network, poller, clock())
    network.close()
    return frozenset(told)


def _turn(network: Network, poller: Any, now: float) -> None:
    network.tick(now)
    poller.poll(_POLL_S)


def _tell(parting: Parting, member: str, told: set[str]) -> None:
    parting.connected(member)
    told.add(member)


@dataclass(frozen=True, slots=True)
class _Left:
    """What can still be read of a damaged folder."""

    introduction: Introduction
    configuration: Configuration | None


def _what_is_left(name: str, directory: Path) -> _Left:
    """Read what remains of a member's identity, log position and configuration. Without its log a member can't say how
    long the log was. It takes no part, so it need not prove that it is whole.
    """
    configuration, incarnation, last_index, configuration_index = None, "", _UNKNOWN, _UNKNOWN
    if directory.is_dir() and any(directory.iterdir()):
        with suppress(CannotStart, OSError):
            journal = Journal(directory)
            configuration, last_index = journal.configuration, journal.last_index
            configuration_index = journal.configuration_index
            journal.close()
        with suppress(CannotStart, OSError):
            incarnation = open_identity(directory, name, is_new=False).incarnation
    own = configuration.member(name) if configuration is not None else None
    if own is not None and not incarnation:
        incarnation = own.incarnation
    return _Left(Introduction(name, incarnation, last_index, configuration_index), configuration)
