"""Client quotas: whom one is set for, and which of several holds for a client.

    rank  entity                          (KIP-55; the first that has the key holds, the rest are ignored)
     1    user U, client id C             a client's own
     2    user U, every client id
     3    user U
     4    every user, client id C
     5    every user, every client id
     6    every user
     7    client id C
     8    every client id

A quota holds on each broker by itself, and all clients of one entity share it: those of `user U` have one budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from guardian.errors import InvalidInput
from guardian.model.topology import TopicPartition
from guardian.model.units import human_bytes

EVERY = "<default>"  # as kafka-configs writes it
CONSUMER_BYTE_RATE = "consumer_byte_rate"
PRODUCER_BYTE_RATE = "producer_byte_rate"
WRITABLE_QUOTAS = frozenset({CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE})

_USER, _CLIENT_ID = "user", "client-id"


@dataclass(frozen=True, slots=True, order=True)
class QuotaEntity:
    """None: it is not part of the entity; EVERY: the default of all that have no quota of their own."""

    user: str | None = None
    client_id: str | None = None

    def __post_init__(self) -> None:
        if self.user is None and self.client_id is None:
            raise InvalidInput("quota entity has neither user nor client_id: give one of them")

    def __str__(self) -> str:
        parts = [f"user {self.user}"] if self.user is not None else []
        parts += [f"client id {self.client_id}"] if self.client_id is not None else []
        return ", ".join(parts)

    @property
    def name(self) -> str:
        """Text that tells every entity from every other."""
        parts = ((_USER, self.user), (_CLIENT_ID, self.client_id))
        return ",".join(f"{kind}={quote(value, safe='<>')}" for kind, value in parts if value is not None)

    @classmethod
    def of_name(cls, name: str) -> QuotaEntity:
        """The inverse of `name`. Raises InvalidInput."""
        found: dict[str, str] = {}
        for part in name.split(","):
            kind, is_pair, value = part.partition("=")
            if not is_pair or kind not in (_USER, _CLIENT_ID) or kind in found:
                raise InvalidInput(f"quota entity is {name!r}: use user=U, client-id=C, or both")
            found[kind] = unquote(value)
        return cls(found.get(_USER), found.get(_CLIENT_ID))


Quotas = Mapping[QuotaEntity, Mapping[str, float]]
QuotaChanges = Mapping[QuotaEntity, Mapping[str, float | None]]


def require_writable_quotas(changes: QuotaChanges) -> None:
    """Raises InvalidInput for a key outside WRITABLE_QUOTAS, and for a rate that would stop a client for good."""
    for entity, values in changes.items():
        for key, value in values.items():
            if key not in WRITABLE_QUOTAS:
                raise InvalidInput(f"quota of {entity} is {key!r}: use one of {', '.join(sorted(WRITABLE_QUOTAS))}")
            if value is not None and not (value >= 1 and float(value).is_integer()):
                raise InvalidInput(f"{key} of {entity} is {value}: use whole bytes/s, at least 1")


@dataclass(frozen=True, slots=True, order=True)
class QuotaClient:
    """A client as quotas know it; `user` None: nobody knows it. Without a login the user is ANONYMOUS."""

    client_id: str
    user: str | None = None

    def __str__(self) -> str:
        return f"client {self.client_id}" + (f" of user {self.user}" if self.user is not None else "")


@dataclass(frozen=True, slots=True)
class EffectiveQuota:
    entity: QuotaEntity
    value: float


def effective_quota(quotas: Quotas, key: str, client: QuotaClient) -> EffectiveQuota | None:
    """Return the quota that holds for the client now; None: nothing. Of a client whose user is not known, by its client
    id alone.
    """
    for entity in _ranks(client):
        value = quotas.get(entity, {}).get(key)
        if value is not None:
            return EffectiveQuota(entity, value)
    return None


def own_entity(client: QuotaClient) -> QuotaEntity:
    """Return where a quota hits this client and, as far as can be, nobody else."""
    return QuotaEntity(client.user, client.client_id)


def may_be_outranked(quotas: Quotas, key: str, entity: QuotaEntity) -> QuotaEntity | None:
    """An entity that may hold instead, of a client whose user is not known: any that names users."""
    if entity.user is not None:
        return None
    others = (each for each, values in quotas.items() if each.user is not None and key in values)
    return min((each for each in others if each.client_id in (None, EVERY, entity.client_id)), key=str, default=None)


def _ranks(client: QuotaClient) -> Iterator[QuotaEntity]:
    user, client_id = client.user, client.client_id
    if user is not None:
        yield QuotaEntity(user, client_id)
        yield QuotaEntity(user, EVERY)
        yield QuotaEntity(user)
        yield QuotaEntity(EVERY, client_id)
        yield QuotaEntity(EVERY, EVERY)
        yield QuotaEntity(EVERY)
    yield QuotaEntity(None, client_id)
    yield QuotaEntity(None, EVERY)


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a consumer group, as its coordinator knows it."""

    group: str
    client_id: str
    host: str
    partitions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """What consumer groups have committed; `silent` are coordinators that did not tell all of theirs."""

    by_group: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    silent: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """The members of consumer groups; `silent` are coordinators that did not tell theirs."""

    members: tuple[GroupMember, ...] = ()
    silent: frozenset[int] = frozenset()


def quota_text(key: str, value: float) -> str:
    """Return a quota's limit in words: bytes/s, percent of a thread's time, or so many a second."""
    if key.endswith("byte_rate"):
        return f"{human_bytes(value)}/s"
    return f"{value:g} %" if key == "request_percentage" else f"{value:g}/s"
