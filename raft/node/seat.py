"""What the parts of one member share: who it is, its log, its Raft state, its links and its counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from raft.configuration import Configuration
from raft.node.library import Core, Message, Timing
from raft.rules.elections import LogEnd
from raft.storage.journal import Journal


class Links(Protocol):
    """The part of raft.network.transport.Network that the parts use."""

    def send(self, name: str, message: Message | bytes) -> bool: ...
    def is_connected(self, name: str) -> bool: ...
    def incarnation(self, name: str) -> str: ...


@dataclass(slots=True)
class Seat:
    """Used by the tick thread. `wake` may be called by any."""

    name: str
    incarnation: str  # of the data folder
    journal: Journal
    core: Core
    links: Links
    timing: Timing
    wake: Callable[[], None]
    counters: Counter[str] = field(default_factory=Counter)
    own_term_index: int = 0  # of the first entry of this leader's term
    is_outvoted: bool = False  # no majority is known to have this member's history (raft.node.vitals)

    @property
    def configuration(self) -> Configuration | None:
        return self.journal.configuration

    @property
    def log_end(self) -> LogEnd:
        return LogEnd(self.journal.last_term, self.journal.last_index)

    @property
    def is_settled_leader(self) -> bool:
        """Leads, and has committed an entry of its own term: so it knows of all that was committed before it."""
        return self.core.is_leader and self.core.commit_index >= self.own_term_index

    def other_members(self) -> list[str]:
        configuration = self.configuration
        return [one.name for one in configuration.members if one.name != self.name] if configuration is not None else []

    def other_voters(self) -> list[str]:
        configuration = self.configuration
        return sorted(configuration.voters - {self.name}) if configuration is not None else []

    def incarnations(self) -> dict[str, str]:
        """Return the incarnations of this member and of those that are connected, by name."""
        return {
            self.name: self.incarnation,
            **{name: self.links.incarnation(name) for name in self.other_members() if self.links.is_connected(name)},
        }

    def leader_to_ask(self) -> str | None:
        """Another member, connected, that leads."""
        leader = self.core.leader
        return leader if leader is not None and leader != self.name and self.links.is_connected(leader) else None
