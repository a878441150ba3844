"""Who somebody is, as it was proven, and what that lets him do.

    viewer < operator < approver < admin      people and their programs: each may do what those before it may
    planner                                   programs that plan: operators whose plans bear the kind that they state
    broker                                    brokers' plugins: segment metadata, ids, their own placement; nothing else

A grant is a role, on clusters and for tenants whose names match a pattern. A role that is limited to some clusters says
nothing of what belongs to no cluster (machines, tenants, the Raft group). But who may look at any cluster may look at
that. One that is limited to some tenants is good for what is known to be those tenants' own, all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase

from guardian.errors import InvalidInput
from guardian.model.actor import MAX_NAME_CHARS, Proof
from guardian.model.settings import shown

_BROKER_SCHEME = "broker:"
_BROKER_ID = re.compile(r"([a-z0-9][a-z0-9._-]{0,62})/(\d{1,10})", re.ASCII)
_PATTERN = re.compile(r"[^\s/]{1,255}")


class Role(Enum):
    """Order the roles by what they may do. PLANNER and BROKER stand beside it: no other role includes PLANNER."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMIN = "admin"
    PLANNER = "planner"
    BROKER = "broker"

    def includes(self, other: Role) -> bool:
        """Return whether who has this role may do what the other one may."""
        if Role.BROKER in (self, other):
            return self is other or (self is Role.ADMIN and other is Role.BROKER)
        if other is Role.PLANNER:
            return self is other
        return _LADDER.index(Role.OPERATOR if self is Role.PLANNER else self) >= _LADDER.index(other)


_LADDER = (Role.VIEWER, Role.OPERATOR, Role.APPROVER, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class Grant:
    """A role on the clusters and for the tenants that match one of the patterns. `is_stored`: it stands in the
    replicated store, and not in the member's file."""

    role: Role
    clusters: tuple[str, ...] = ("*",)
    tenants: tuple[str, ...] = ("*",)
    is_stored: bool = False

    @property
    def is_root(self) -> bool:
        """Return whether it makes an admin of everything by the member's file, whom nothing that is stored can shut
        out.
        """
        return self.role is Role.ADMIN and not self.is_stored and "*" in self.clusters and "*" in self.tenants

    def covers(self, cluster: str, tenants: frozenset[str] | None) -> bool:
        """`cluster` empty: no one cluster, so that only a grant on all covers it. `tenants`: whose it is; None: it is
        not known, or not of tenants. An empty name among them stands for what belongs to nobody."""
        if "*" not in self.clusters and not (cluster and _matches(self.clusters, cluster)):
            return False
        if "*" in self.tenants:
            return True
        return bool(tenants) and all(name and _matches(self.tenants, name) for name in tenants or ())


@dataclass(frozen=True, slots=True)
class BrokerId:
    """A broker of a registered cluster, as its certificate bears it: a URI, such as broker:live/1."""

    cluster: str
    id: int

    def __str__(self) -> str:
        return f"{self.cluster}/{self.id}"

    @property
    def uri(self) -> str:
        return f"{_BROKER_SCHEME}{self}"

    @classmethod
    def parse(cls, field_name: str, text: str) -> BrokerId:
        """Parse CLUSTER/ID. Raises InvalidInput."""
        match = _BROKER_ID.fullmatch(text)
        if match is None:
            raise InvalidInput(f"{field_name} is {text[:MAX_NAME_CHARS]!r}: use CLUSTER/ID, such as live/1")
        return cls(match[1], int(match[2]))


def brokers_in(uris: Iterable[str]) -> tuple[BrokerId, ...]:
    """Return the brokers that a certificate with these URIs bears. Raises InvalidInput for a broker: that is none."""
    named = (uri.removeprefix(_BROKER_SCHEME) for uri in uris if uri.startswith(_BROKER_SCHEME))
    return tuple(BrokerId.parse("the certificate's broker", text) for text in named)


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody whose name is proven, as `proof` says. `groups` are those that a provider of identities told; `brokers`
    those that his certificate bears: where there are any, the role of a broker is good on their clusters only.
    `until_ms`: when what was shown is good no more; 0: that is not known, or never."""

    name: str
    grants: tuple[Grant, ...] = ()
    proof: Proof = Proof.NONE
    groups: tuple[str, ...] = ()
    brokers: tuple[BrokerId, ...] = ()
    until_ms: int = field(default=0, compare=False)

    def may(self, role: Role, cluster: str = "", tenants: frozenset[str] | None = None) -> bool:
        """Return whether he has the role, or one above it, there."""
        return any(
            grant.role.includes(role) and grant.covers(cluster, tenants) and self._is_borne(grant, cluster)
            for grant in self.grants
        )

    def tenants_of(self, role: Role, cluster: str) -> tuple[str, ...]:
        """Return the patterns of the tenants that his role on the cluster is limited to; none: it is not limited."""
        held = [grant for grant in self.grants if grant.role.includes(role) and grant.covers(cluster, None)]
        if held:
            return ()
        some = (grant for grant in self.grants if grant.role.includes(role))
        return tuple(
            dict.fromkeys(
                tenant
                for grant in some
                if "*" in grant.clusters or _matches(grant.clusters, cluster)
                for tenant in grant.tenants
            )
        )

    def is_broker(self, cluster: str, broker_id: int) -> bool:
        """Return whether he may speak for the broker: his certificate bears it, or he is an admin of the cluster."""
        return BrokerId(cluster, broker_id) in self.brokers or self.may(Role.ADMIN, cluster)

    def may_somewhere(self, role: Role) -> bool:
        """Return whether he has the role, or one above it, on any cluster at all."""
        return any(grant.role.includes(role) for grant in self.grants)

    def may_for_some(self, role: Role, cluster: str) -> bool:
        """Return whether he has the role on the cluster, if only for some tenants."""
        held = (grant for grant in self.grants if grant.role.includes(role))
        return any("*" in grant.clusters or (cluster != "" and _matches(grant.clusters, cluster)) for grant in held)

    def sees(self, cluster: str) -> bool:
        """Return whether what is said of the cluster may be shown to him, whoever's topics are on it."""
        return self.may_for_some(Role.VIEWER, cluster)

    @property
    def is_root(self) -> bool:
        """Return whether he is admin of everything by the member's file."""
        return any(grant.is_root for grant in self.grants)

    def _is_borne(self, grant: Grant, cluster: str) -> bool:
        is_bound = grant.role is Role.BROKER and self.brokers
        return not is_bound or any(broker.cluster == cluster for broker in self.brokers)

    @property
    def is_broker_only(self) -> bool:
        return bool(self.grants) and all(grant.role is Role.BROKER for grant in self.grants)


# Whoever reaches a member without [security]: it listens on loopback only, or as it was told in so many words.
LOCAL = Identity("local", (Grant(Role.ADMIN),))


def require_patterns(field_name: str, value: object) -> tuple[str, ...]:
    """Patterns of names, as of the shell. Raises InvalidInput."""
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f'{field_name} is {shown(value)}: give a list of names or patterns, such as ["live-*"]')
    for text in value:
        if not _PATTERN.fullmatch(text):
            raise InvalidInput(f"{field_name} has {text!r}: a pattern has up to 255 characters, no space, no slash")
    return tuple(value)


def _matches(patterns: Iterable[str], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
