"""What a plan is asked for: one frozen dataclass for each kind of plan, named as the ticket that carries it.

    balance                     even use of brokers and disks, even leaders
    leaders                     leaders only: nothing is copied
    isolate-label               a tenant's topics on machines of their own: grow, shrink, return machines to the pool
    migrate-idc                 topics, a tenant or a cluster to other data centres, by a placement policy
    remove-brokers              brokers become empty
    add-brokers                 new brokers take their share, and only they
    create-topic                where a new topic's partitions should be
    expand-topic                where more partitions of a topic should be
    change-replication-factor   more replicas, or fewer
    empty-disk                  log dirs become empty
    relieve                     the least data that brings full disks below a limit
    heal                        dead brokers, broken disks and broken rules, and nothing else

Kinds that move nothing have their tasks beside them (guardian/tickets/kinds).

Each holds all that its planner needs besides the model and the settings, as data that can be sent to a worker. Standard
library only: a command line makes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, ClassVar, cast

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import ANY_LOG_DIR, require_broker_id, require_label

_MAX_PARTITIONS = 100_000
_MAX_REPLICATION_FACTOR = 100


class PlanTask:
    """Be the base of what a plan is asked for, named as the kind of ticket; each is a frozen dataclass."""

    __slots__ = ()
    kind: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Balance(PlanTask):
    """`topics`: only these move; none: all. Names may end in a star."""

    kind: ClassVar[str] = "balance"
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Leaders(PlanTask):
    """`away_from`: brokers that lead nothing afterwards, where a follower elsewhere can."""

    kind: ClassVar[str] = "leaders"
    topics: tuple[str, ...] = ()
    away_from: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _require_brokers("away_from", self.away_from)


@dataclass(frozen=True, slots=True)
class Isolate(PlanTask):
    """Topics of `label` onto brokers of `label`, and nothing else there.

    topics, tenant   get the label by this plan, besides those that have it
    machines         the pool: free machines that the label may take; they join as brokers with the next free ids
    first_id         the first id that is free in the whole federation; the cluster's next one where that is larger
    brokers          brokers of the cluster, without a label, that it may take too: they are emptied of all else first
    release          how many machines it gives back: those that are emptied for the least data; None: keeps all
    headroom         how much more than today's load its machines must carry: 0.2 is a fifth more
    """

    kind: ClassVar[str] = "isolate-label"
    label: str
    topics: tuple[str, ...] = ()
    tenant: str = ""
    machines: tuple[Machine, ...] = ()
    brokers: tuple[int, ...] = ()
    release: int | None = None
    headroom: float = 0.0
    first_id: int = 0

    def __post_init__(self) -> None:
        if not self.label:
            raise InvalidInput("label is empty: name the label whose topics get machines of their own")
        require_label(self.label)
        _require_brokers("brokers", self.brokers)
        if self.release is not None and self.release < 1:
            raise InvalidInput(f"release is {self.release}: use a number of machines from 1, or leave it out")
        if self.release is not None and (self.machines or self.brokers):
            raise InvalidInput(f"release is {self.release} and machines to take are named: grow or shrink, not both")
        if not 0 <= self.headroom <= 10:
            raise InvalidInput(f"headroom is {self.headroom:g}: use a share of today's load from 0 to 10, such as 0.2")
        for machine in self.machines:
            if machine.cluster:
                raise InvalidInput(
                    f"machines has {machine.host}, which is in cluster {machine.cluster}: "
                    "name free machines there, and brokers of this cluster in brokers"
                )
        _require_once("machines", [machine.host for machine in self.machines])
        require_broker_id(self.first_id)


@dataclass(frozen=True, slots=True)
class ClientTraffic:
    """What the clients in one data centre write to and read from a topic, in bytes/s."""

    topic: str
    idc: str
    produced: float = 0.0
    fetched: float = 0.0


@dataclass(frozen=True, slots=True)
class MigrateIdc(PlanTask):
    """`topics` or `tenant` get `policy`; neither: every topic of the cluster.

    `clients` say who writes and reads from where, for the cost of lines (the model's) before and after.
    """

    kind: ClassVar[str] = "migrate-idc"
    policy: IdcPolicy
    topics: tuple[str, ...] = ()
    tenant: str = ""
    clients: tuple[ClientTraffic, ...] = ()

    def __post_init__(self) -> None:
        if self.topics and self.tenant:
            raise InvalidInput(f"tenant is {self.tenant!r} and topics are named: give one of them, or none for all")


@dataclass(frozen=True, slots=True)
class Remove(PlanTask):
    """`balance`: the others are balanced in the same plan; otherwise only what is on `brokers` moves."""

    kind: ClassVar[str] = "remove-brokers"
    brokers: tuple[int, ...]
    balance: bool = False

    def __post_init__(self) -> None:
        _require_some("brokers", self.brokers, "name those to remove")
        _require_brokers("brokers", self.brokers)


@dataclass(frozen=True, slots=True)
class Add(PlanTask):
    """`brokers` are in the model already, and hold little or nothing."""

    kind: ClassVar[str] = "add-brokers"
    brokers: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_some("brokers", self.brokers, "name those that were added")
        _require_brokers("brokers", self.brokers)


@dataclass(frozen=True, slots=True)
class CreateTopic(PlanTask):
    """`topic` says label, tenant, IDC policy and expected traffic; `expected_bytes` is what one replica will hold.

    `configs` are the topic's own, by name: they have no say in where it goes.
    """

    kind: ClassVar[str] = "create-topic"
    topic: Topic
    partitions: int
    replication_factor: int
    expected_bytes: int = 0
    configs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        _require_partitions(self.partitions)
        _require_once("configs", [name for name, _ in self.configs])
        _require_replication_factor(self.replication_factor)
        if self.expected_bytes < 0:
            raise InvalidInput(f"expected_bytes is {self.expected_bytes}: use a number from 0")


@dataclass(frozen=True, slots=True)
class ExpandTopic(PlanTask):
    """`partitions` is how many the topic has afterwards, as in kafka-topics --alter."""

    kind: ClassVar[str] = "expand-topic"
    topic: str
    partitions: int

    def __post_init__(self) -> None:
        _require_some("topic", self.topic, "name the topic")
        _require_partitions(self.partitions)


@dataclass(frozen=True, slots=True)
class ReplicationFactor(PlanTask):
    """Names of `topics` may end in a star."""

    kind: ClassVar[str] = "change-replication-factor"
    topics: tuple[str, ...]
    replication_factor: int

    def __post_init__(self) -> None:
        _require_some("topics", self.topics, "name those to change")
        _require_replication_factor(self.replication_factor)


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log dir, by broker and absolute path."""

    broker: int
    path: str

    def __post_init__(self) -> None:
        require_broker_id(self.broker)
        if not self.path.startswith("/") and self.path != ANY_LOG_DIR:
            raise InvalidInput(f"path of a log dir on broker {self.broker} is {self.path!r}: use an absolute path")


@dataclass(frozen=True, slots=True)
class EmptyDisk(PlanTask):
    """Replicas go to other log dirs of their broker while there is room, and to other brokers after that."""

    kind: ClassVar[str] = "empty-disk"
    log_dirs: tuple[LogDir, ...]

    def __post_init__(self) -> None:
        _require_some("log_dirs", self.log_dirs, "name those to empty, as broker and path")
        _require_once("log_dirs", [f"{each.broker}:{each.path}" for each in self.log_dirs])


@dataclass(frozen=True, slots=True)
class Relieve(PlanTask):
    """`limit` is the share of a disk's bytes that may be used; all disks of each of `brokers`, and those of `log_dirs`.

    Neither: every disk above the limit.
    """

    kind: ClassVar[str] = "relieve"
    limit: float = 0.8
    brokers: tuple[int, ...] = ()
    log_dirs: tuple[LogDir, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.limit <= 1:
            raise InvalidInput(f"limit is {self.limit:g}: use a share of the disk above 0 and up to 1, such as 0.8")
        _require_brokers("brokers", self.brokers)
        _require_once("log_dirs", [f"{each.broker}:{each.path}" for each in self.log_dirs])


@dataclass(frozen=True, slots=True)
class Heal(PlanTask):
    """Whatever lies on dead brokers and broken disks, shares a rack or an IDC, or stands outside its label."""

    kind: ClassVar[str] = "heal"


Task = (
    Balance
    | Leaders
    | Isolate
    | MigrateIdc
    | Remove
    | Add
    | CreateTopic
    | ExpandTopic
    | ReplicationFactor
    | EmptyDisk
    | Relieve
    | Heal
)


def parameters(asked: PlanTask | PlannerSettings) -> tuple[tuple[str, str], ...]:
    """Return what differs from the default, by name, as text for people."""
    return tuple(
        (field.name, _word(value))
        for field in fields(cast(Any, asked))
        if (value := getattr(asked, field.name)) != field.default
    )


def _word(value: object) -> str:
    match value:
        case tuple():
            return ", ".join(_word(each) for each in value)
        case Machine(host=name) | IdcPolicy(name=name) | Topic(name=name):
            return name
        case LogDir():
            return f"{value.broker}:{value.path}"
        case ClientTraffic():
            return f"{value.topic} from {value.idc}"
        case _:
            return str(value)


def _require_some(field: str, value: Collection[object], fix: str) -> None:
    if not value:
        raise InvalidInput(f"{field} is empty: {fix}")


def _require_once(field: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidInput(f"{field} names {name} twice: keep one")


def _require_brokers(field: str, brokers: tuple[int, ...]) -> None:
    for broker in brokers:
        require_broker_id(broker)
    _require_once(field, [f"broker {broker}" for broker in brokers])


def _require_partitions(partitions: int) -> None:
    if not 1 <= partitions <= _MAX_PARTITIONS:
        raise InvalidInput(f"partitions is {partitions}: use 1 to {_MAX_PARTITIONS}")


def _require_replication_factor(factor: int) -> None:
    if not 1 <= factor <= _MAX_REPLICATION_FACTOR:
        raise InvalidInput(f"replication_factor is {factor}: use 1 to {_MAX_REPLICATION_FACTOR}")
