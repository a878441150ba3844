"""Who belongs to the group. A configuration is an entry of the log. The newest one in a member's log is in force there,
committed or not (Ongaro's thesis, section 4.1), so two changes never overlap and any two majorities share a member.

Each change adds, promotes or removes one member, so that the majorities before and after it intersect.

A voter is its name and the incarnation of its data folder. A voter that comes back with another folder has forgotten
its votes and its log, so it is refused. The first configuration can't know the incarnations: until a leader has
recorded them (the group is founded then), an election takes the votes of all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from raft.errors import ChangeRefused

MAX_TEXT = 255
"""Characters of a name, an address or a group id."""

MAX_MEMBERS = 64
"""Of a group, learners too: so many fit into an entry that all members take."""


class Role(Enum):
    VOTER = "voter"
    LEARNER = "learner"  # is fed; neither votes nor counts


@dataclass(frozen=True, slots=True)
class Member:
    """`address` is the host:port that other members reach it at. `incarnation` is its data folder's; "": not recorded,
    as with every learner."""

    name: str
    address: str
    role: Role = Role.VOTER
    incarnation: str = ""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Members by name, sorted; `group_id` is the same for all members and all time."""

    group_id: str
    members: tuple[Member, ...]
    voters: frozenset[str] = field(init=False, repr=False, compare=False)  # kept: it is asked for all the time
    is_founded: bool = field(init=False, repr=False, compare=False)
    """Whether the incarnation of each voter is recorded."""

    def __post_init__(self) -> None:
        voters = [member for member in self.members if member.role is Role.VOTER]
        object.__setattr__(self, "voters", frozenset(member.name for member in voters))
        object.__setattr__(self, "is_founded", all(member.incarnation for member in voters))

    @classmethod
    def of_voters(cls, group_id: str, addresses: Mapping[str, str]) -> Configuration:
        return cls(group_id, tuple(Member(name, address) for name, address in sorted(addresses.items())))

    @property
    def learners(self) -> frozenset[str]:
        return frozenset(member.name for member in self.members if member.role is Role.LEARNER)

    @property
    def majority(self) -> int:
        """Return the number of voters that form a majority."""
        return len(self.voters) // 2 + 1

    def member(self, name: str) -> Member | None:
        return next((member for member in self.members if member.name == name), None)

    def with_learner(self, name: str, address: str) -> Configuration:
        """Raises ChangeRefused when the name or the address is none, or somebody else's, or the group is large enough.
        The same again changes nothing."""
        for text in (name, address):
            if not (text and _is_text(text)):
                raise ChangeRefused(
                    f"member: name and address are 1 to {MAX_TEXT} characters of ASCII (got {text[:80]!r})"
                )
        for member in self.members:
            if member.name == name and member.address == address:
                return self
            if member.name == name or member.address == address:
                raise ChangeRefused(
                    f"member {member.name} at {member.address} is in the group already: remove it before you add "
                    f"{name} at {address}"
                )
        if len(self.members) >= MAX_MEMBERS:
            raise ChangeRefused(f"the group has {MAX_MEMBERS} members: remove one before you add {name}")
        return self._with((*self.members, Member(name, address, Role.LEARNER)))

    def with_promoted(self, name: str, incarnation: str) -> Configuration:
        """Raises ChangeRefused when there is no such member. A voter already: changes nothing."""
        promoted = self._require(name)
        if promoted.role is Role.VOTER:
            return self
        return self._with((*self._others(name), Member(name, promoted.address, Role.VOTER, incarnation)))

    def founded(self, incarnations: Mapping[str, str]) -> Configuration:
        """The same members, with the incarnations of the voters. One that is recorded already stays."""
        return self._with(
            tuple(
                replace(member, incarnation=member.incarnation or incarnations.get(member.name, ""))
                if member.role is Role.VOTER
                else member
                for member in self.members
            )
        )

    def without(self, name: str) -> Configuration:
        """Raises ChangeRefused for the last voter. One that is not there: changes nothing."""
        if self.voters == {name}:
            raise ChangeRefused(f"member {name} is the group's last voter: promote another one first")
        return self._with(self._others(name))

    def to_bytes(self) -> bytes:
        members = [
            {"name": m.name, "address": m.address, "role": m.role.value, "incarnation": m.incarnation}
            for m in self.members
        ]
        return json.dumps({"group_id": self.group_id, "members": members}, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Configuration:
        """Raises ValueError when it is none."""
        try:
            stored = json.loads(data)
            members = tuple(
                Member(str(m["name"]), str(m["address"]), Role(m["role"]), str(m["incarnation"]))
                for m in stored["members"]
            )
            group_id = str(stored["group_id"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"no configuration: {error}") from error
        if not all(member.name for member in members):
            raise ValueError("no configuration: a member has no name")
        if len(members) > MAX_MEMBERS:
            raise ValueError(f"no configuration: {len(members)} members are more than {MAX_MEMBERS}")
        parts = (part for member in members for part in (member.name, member.address, member.incarnation))
        for text in (group_id, *parts):
            if not _is_text(text):
                raise ValueError(f"no configuration: {text[:80]!r} is no name or address")
        if len({member.name for member in members}) != len(members):
            raise ValueError("no configuration: it has a member twice")
        return cls(group_id, members)

    def _require(self, name: str) -> Member:
        member = self.member(name)
        if member is None:
            known = ", ".join(member.name for member in self.members)
            raise ChangeRefused(f"member {name} is not in the group ({known}): add it first")
        return member

    def _others(self, name: str) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.name != name)

    def _with(self, members: tuple[Member, ...]) -> Configuration:
        return Configuration(self.group_id, tuple(sorted(members, key=lambda member: member.name)))


def _is_text(text: str) -> bool:
    return len(text) <= MAX_TEXT and text.isascii() and text.isprintable()
