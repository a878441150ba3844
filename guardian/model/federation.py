"""What people tell Guardian about a federation besides its clusters: who owns what, and what may live where.

Machine    a host, in a cluster or free for one
Tenant     whose topics they are, and on which brokers (by label) they may live
Topic      an entry of the topic directory
IdcPolicy  how many replicas in which data centre
Exclusion  no new replicas on this broker: who says so, why, until when
SharedDocument  roles or approval policy: what would otherwise be a file of each member
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from guardian.errors import InvalidInput
from guardian.model.text import Text
from guardian.model.topology import require_broker_id, require_label

TOPIC_ID_BYTES = 16
_RESERVED_TOPIC_IDS = (bytes(TOPIC_ID_BYTES), (1).to_bytes(TOPIC_ID_BYTES, "big"))  # org.apache.kafka.common.Uuid

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,126}")
_HOST = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9.:_\]-]{0,252}")
_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_MAX_LABELS = 100
_MAX_IDCS = 50
_MAX_REPLICAS = 100  # in one data centre
_MAX_TEXT_CHARS = 1000
_MAX_U64 = (1 << 64) - 1
_MAX_TIME_MS = (1 << 63) - 1
ROLES, APPROVAL_POLICY = "roles", "approval_policy"
DOCUMENTS = (ROLES, APPROVAL_POLICY)
_MAX_DOCUMENT_BYTES = 512 << 10  # a command has to fit into what Raft sends in one piece


@dataclass(frozen=True, slots=True)
class Machine:
    """`cluster` is empty while it is free, and `broker_id` is 0 then."""

    host: str
    idc: str = ""
    rack: str = ""
    disk_bytes: int = 0
    disks: int = 0
    nic_bytes_per_s: int = 0
    cores: int = 0
    cluster: str = ""
    broker_id: int = 0
    label: str = ""

    def __post_init__(self) -> None:
        if not _HOST.fullmatch(self.host):
            raise InvalidInput(f"host is {self.host!r}: use a host name or address of up to 253 characters")
        _require_text("idc", self.idc)
        _require_text("rack", self.rack)
        for field, value, most in (
            ("disk_bytes", self.disk_bytes, _MAX_U64),
            ("disks", self.disks, 10_000),
            ("nic_bytes_per_s", self.nic_bytes_per_s, _MAX_U64),
            ("cores", self.cores, 100_000),
        ):
            _require_number(f"{field} of machine {self.host}", value, most)
        require_broker_id(self.broker_id)
        if self.broker_id and not self.cluster:
            raise InvalidInput(
                f"broker_id of machine {self.host} is {self.broker_id} but cluster is empty: name the cluster it is in"
            )
        require_label(self.label)


@dataclass(frozen=True, slots=True)
class Tenant:
    """`labels` are those of the brokers that the tenant's topics may use, sorted; none: any."""

    name: str
    owner: str = ""
    labels: tuple[str, ...] = ()
    description: Text = ""

    def __post_init__(self) -> None:
        _require_name("name of the tenant", self.name)
        _require_text("owner", self.owner)
        _require_text("description", self.description)
        if len(self.labels) > _MAX_LABELS:
            raise InvalidInput(f"labels of tenant {self.name} has {len(self.labels)}: use up to {_MAX_LABELS}")
        if len(set(self.labels)) != len(self.labels):
            raise InvalidInput(f"labels of tenant {self.name} names one twice: {list(self.labels)}")
        for label in self.labels:
            if not label:
                raise InvalidInput(f"labels of tenant {self.name} has an empty one: leave it out")
            require_label(label)
        object.__setattr__(self, "labels", tuple(sorted(self.labels)))

    def may_use(self, label: str) -> bool:
        return not label or not self.labels or label in self.labels


@dataclass(frozen=True, slots=True)
class Topic:
    """An entry of the topic directory. `topic_id` is Kafka's, 16 bytes, or empty: not known yet."""

    cluster: str
    name: str
    topic_id: bytes = b""
    owner: str = ""
    tenant: str = ""
    label: str = ""
    idc_policy: str = ""
    expected_bytes_in_per_s: int = 0
    expected_bytes_out_per_s: int = 0

    def __post_init__(self) -> None:
        if not self.cluster:
            raise InvalidInput(f"cluster of topic {self.name!r} is empty: name the cluster that it is in")
        if not _TOPIC_NAME.fullmatch(self.name) or self.name in (".", ".."):
            raise InvalidInput(f"name of the topic is {self.name!r}: use 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'")
        if self.topic_id and (len(self.topic_id) != TOPIC_ID_BYTES or self.topic_id in _RESERVED_TOPIC_IDS):
            raise InvalidInput(
                f"topic_id of topic {self.name} is {self.topic_id.hex()}: "
                f"use the {TOPIC_ID_BYTES} bytes of Kafka's topic id, none of its reserved ones, or nothing"
            )
        _require_text("owner", self.owner)
        require_label(self.label)
        _require_number(f"expected_bytes_in_per_s of topic {self.name}", self.expected_bytes_in_per_s, _MAX_U64)
        _require_number(f"expected_bytes_out_per_s of topic {self.name}", self.expected_bytes_out_per_s, _MAX_U64)


class IdcPlacement(NamedTuple):
    """Where the replicas of a partition live that has as many as this places: (data centre, how many), sorted."""

    replicas: tuple[tuple[str, int], ...]

    @property
    def factor(self) -> int:
        """The replication factor of the topics that this is for."""
        return sum(count for _, count in self.replicas)


@dataclass(frozen=True, slots=True)
class IdcPolicy:
    """Where the replicas of a partition live: `replicas` is (data centre, how many), sorted.

    `other_factors` says it for topics of other replication factors, each once, in ascending order.
    """

    name: str
    replicas: tuple[tuple[str, int], ...]
    preferred_leader_idc: str = ""
    other_factors: tuple[IdcPlacement, ...] = ()

    def __post_init__(self) -> None:
        _require_name("name of the IDC policy", self.name)
        self._require_counts("replicas", self.replicas)
        for each in self.other_factors:
            self._require_counts("other_factors", each.replicas)
        idcs = [idc for idc, _ in self.replicas]
        if len(set(self.factors)) != len(self.factors):
            raise InvalidInput(
                f"other_factors of IDC policy {self.name}: a replication factor has two placements "
                f"(got {sorted(self.factors)}); keep one of each"
            )
        if len(self.other_factors) > _MAX_REPLICAS:
            raise InvalidInput(
                f"other_factors of IDC policy {self.name}: too many (got {len(self.other_factors)}); "
                f"keep {_MAX_REPLICAS}"
            )
        if self.preferred_leader_idc and self.preferred_leader_idc not in idcs:
            raise InvalidInput(
                f"preferred_leader_idc of IDC policy {self.name} is {self.preferred_leader_idc!r}: "
                f"use one that has replicas, {', '.join(sorted(idcs))}"
            )
        object.__setattr__(self, "replicas", tuple(sorted(self.replicas)))
        others = (IdcPlacement(tuple(sorted(each.replicas))) for each in self.other_factors)
        object.__setattr__(self, "other_factors", tuple(sorted(others, key=lambda each: each.factor)))

    @property
    def factors(self) -> tuple[int, ...]:
        """The replication factors of which it says where their replicas live, that of `replicas` first."""
        return tuple(each.factor for each in (IdcPlacement(self.replicas), *self.other_factors))

    @property
    def idcs(self) -> frozenset[str]:
        """The data centres where replicas of some replication factor live."""
        return frozenset(idc for each in (IdcPlacement(self.replicas), *self.other_factors) for idc, _ in each.replicas)

    def of_factor(self, factor: int) -> IdcPolicy:
        """Return the policy as it is for topics of this replication factor: itself where it says nothing of that.

        Leaders are preferred nowhere where that factor has no replica in the preferred data centre.
        """
        found = next((each.replicas for each in self.other_factors if each.factor == factor), None)
        if found is None:
            return self
        leads = self.preferred_leader_idc if self.preferred_leader_idc in dict(found) else ""
        return IdcPolicy(self.name, found, leads)

    def _require_counts(self, field: str, replicas: Sequence[tuple[str, int]]) -> None:
        if not 1 <= len(replicas) <= _MAX_IDCS:
            raise InvalidInput(
                f"{field} of IDC policy {self.name} names {len(replicas)} data centres: use 1 to {_MAX_IDCS}"
            )
        idcs = [idc for idc, _ in replicas]
        if len(set(idcs)) != len(idcs):
            raise InvalidInput(f"{field} of IDC policy {self.name} names a data centre twice: {idcs}")
        for idc, count in replicas:
            _require_text("data centre", idc)
            if not idc or not 1 <= count <= _MAX_REPLICAS:
                raise InvalidInput(
                    f"{field} of IDC policy {self.name} has {count} in {idc!r}: "
                    f"give a data centre and 1 to {_MAX_REPLICAS}"
                )


@dataclass(frozen=True, slots=True)
class Exclusion:
    """No new replicas on this broker. `until_ms` is since the epoch; 0: until it is lifted. `by_ticket` is the id of
    the ticket that put it and will lift it; empty: a person did."""

    cluster: str
    broker_id: int
    who: str
    why: Text
    until_ms: int = 0
    by_ticket: str = ""

    def __post_init__(self) -> None:
        require_broker_id(self.broker_id)
        named = f"the exclusion of broker {self.broker_id}"
        if not self.cluster:
            raise InvalidInput(f"cluster of {named} is empty: name the cluster that it is in")
        if not self.who.strip():
            raise InvalidInput(f"who of {named} is empty: name the person or service that answers for it")
        if not self.why.strip():
            raise InvalidInput(f"why of {named} is empty: give the reason, for whoever wants to lift it")
        _require_text("who", self.who)
        _require_text("why", self.why)
        _require_text("by_ticket", self.by_ticket)
        _require_number(f"until_ms of {named}", self.until_ms, _MAX_TIME_MS)


@dataclass(frozen=True, slots=True)
class SharedDocument:
    """Hold the settings of a file that would otherwise lie on each member, one of DOCUMENTS, as canonical JSON.

    What the settings mean is decided by whoever reads them (guardian.federation.rules.documents): what a member knows,
    such as its time zones, must not decide what is stored. Raises InvalidInput.
    """

    name: str
    json: str

    def __post_init__(self) -> None:
        if self.name not in DOCUMENTS:
            raise InvalidInput(f"name of the document is {self.name[:100]!r}: use {' or '.join(DOCUMENTS)}")
        size = len(self.json.encode(errors="surrogatepass"))
        if size > _MAX_DOCUMENT_BYTES:
            raise InvalidInput(
                f"{self.name}: too large to be stored (got {size} bytes); use up to {_MAX_DOCUMENT_BYTES}, such as by "
                "patterns and groups instead of names"
            )
        try:
            self.json.encode()
            table = json.loads(self.json)
            is_canonical = isinstance(table, dict) and _canonical(table) == self.json
        except (ValueError, RecursionError):
            is_canonical = False
        if not is_canonical:
            raise InvalidInput(
                f"{self.name}: no canonical JSON object (got {self.json[:60]!r}); sort its keys and leave out spaces"
            )

    @property
    def table(self) -> dict[str, Any]:
        """Return the settings by name."""
        table: dict[str, Any] = json.loads(self.json)
        return table


def document_of(name: str, table: Mapping[str, Any]) -> SharedDocument:
    """Return the document with these settings. Raises InvalidInput."""
    return SharedDocument(name, _canonical(table))


class SettingChange(NamedTuple):
    """Say what came to a setting of a document (`sign` +), or went from it (-), as JSON."""

    sign: str
    setting: str
    text: str


def document_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[SettingChange, ...]:
    """Return what went and what came, by setting; of lists and tables each item by itself."""
    found: list[SettingChange] = []
    for setting in sorted({*before, *after}):
        old, new = _items(before.get(setting)), _items(after.get(setting))
        found += (SettingChange("-", setting, text) for text in old if text not in new)
        found += (SettingChange("+", setting, text) for text in new if text not in old)
    if not found and before != after:
        found.append(SettingChange("~", "order", "of the items"))
    return tuple(found)


def _items(value: object) -> dict[str, None]:
    """Return the items in their order, to be looked up quickly: there may be ten thousand."""
    if isinstance(value, list):
        return dict.fromkeys(_shown(each) for each in value)
    if isinstance(value, dict):
        return dict.fromkeys(f"{_shown(name)}: {_shown(each)}" for name, each in sorted(value.items()))
    return {} if value is None else {_shown(value): None}


def _shown(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _canonical(table: Mapping[str, Any]) -> str:
    return json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


Entry = Machine | Tenant | Topic | IdcPolicy | Exclusion | SharedDocument


def name_of(entry: Entry) -> str:
    """The entry as people name it, such as "topic live/orders"."""
    match entry:
        case Machine():
            return f"machine {entry.host}"
        case Tenant():
            return f"tenant {entry.name}"
        case Topic():
            return f"topic {entry.cluster}/{entry.name}"
        case IdcPolicy():
            return f"IDC policy {entry.name}"
        case Exclusion():
            return f"exclusion of broker {entry.broker_id} of cluster {entry.cluster}"
        case SharedDocument():
            return entry.name.replace("_", " ")


def _require_name(field: str, value: str) -> None:
    if not _NAME.fullmatch(value):
        raise InvalidInput(
            f"{field} is {value!r}: use up to 127 of a-z, A-Z, 0-9, '.', '_' and '-', starting with a letter or digit"
        )


def _require_text(field: str, value: str) -> None:
    if len(value) > _MAX_TEXT_CHARS or not value.isprintable():
        shown = value if len(value) <= 100 else f"{value[:100]}..."
        raise InvalidInput(f"{field} is {shown!r}: use up to {_MAX_TEXT_CHARS} printable characters")


def _require_number(field: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise InvalidInput(f"{field} is {value}: use 0 to {most}")
