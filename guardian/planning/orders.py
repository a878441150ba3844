"""What a person asks a plan for: a task as he says it, and how it differs from what a member plans anyway.

Whoever carries an order out looks up what it only names (guardian.planning.rules.resolving): a policy, a topic of the
directory, the pool's machines. All other tasks are ordered as they are. Standard library only: a command line makes
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Isolate,
    Leaders,
    MigrateIdc,
    Relieve,
    Remove,
    ReplicationFactor,
)
from guardian.model.units import human_duration

LONGEST_WINDOW_MS = 6 * 3_600_000  # of the lake that a member reads for one plan
_ANY_POLICY = IdcPolicy("any", (("any", 1),))
_ANY_CLUSTER = "any"


@dataclass(frozen=True, slots=True)
class IsolateOrder:
    """As Isolate; `from_pool`: it may take the free machines of the pool."""

    kind: ClassVar[str] = Isolate.kind
    label: str
    topics: tuple[str, ...] = ()
    tenant: str = ""
    brokers: tuple[int, ...] = ()
    from_pool: bool = False
    release: int | None = None
    headroom: float = 0.0

    def __post_init__(self) -> None:
        self.task()

    def task(self, machines: tuple[Machine, ...] = (), first_id: int = 0) -> Isolate:
        """Return the task, which may take these machines. Raises InvalidInput."""
        return Isolate(
            label=self.label,
            topics=self.topics,
            tenant=self.tenant,
            machines=machines,
            brokers=self.brokers,
            release=self.release,
            headroom=self.headroom,
            first_id=first_id,
        )


@dataclass(frozen=True, slots=True)
class MigrateIdcOrder:
    """As MigrateIdc; `policy` is the name of one."""

    kind: ClassVar[str] = MigrateIdc.kind
    policy: str
    topics: tuple[str, ...] = ()
    tenant: str = ""

    def __post_init__(self) -> None:
        self.task(_ANY_POLICY)

    def task(self, policy: IdcPolicy) -> MigrateIdc:
        """Return the task with the policy of that name. Raises InvalidInput."""
        return MigrateIdc(policy, self.topics, self.tenant)


@dataclass(frozen=True, slots=True)
class CreateTopicOrder:
    """As CreateTopic; `topic` is its name, `configs` are by name, in its order."""

    kind: ClassVar[str] = CreateTopic.kind
    topic: str
    partitions: int
    replication_factor: int = 3
    expected_bytes: int = 0
    configs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "configs", tuple(sorted(self.configs)))
        self.task(Topic(_ANY_CLUSTER, self.topic))

    def task(self, topic: Topic) -> CreateTopic:
        """Return the task with what the directory says of the topic. Raises InvalidInput."""
        return CreateTopic(topic, self.partitions, self.replication_factor, self.expected_bytes, self.configs)


OrderedTask = (
    Balance
    | Leaders
    | IsolateOrder
    | MigrateIdcOrder
    | Remove
    | Add
    | CreateTopicOrder
    | ExpandTopic
    | ReplicationFactor
    | EmptyDisk
    | Relieve
    | Heal
)


@dataclass(frozen=True, slots=True)
class PlanOrder:
    """`changes` are settings by name, instead of the member's; topics of `exclude_topics` are excluded besides those
    that are anyway. `window_ms` is how much of the newest samples counts, 0: as much as is usual.

    Raises InvalidInput that names the field, the value and the fix.
    """

    task: OrderedTask
    changes: Mapping[str, Any] = field(default_factory=dict)
    exclude_topics: tuple[str, ...] = ()
    window_ms: int = 0

    def __post_init__(self) -> None:
        unknown = sorted(self.changes.keys() - {each.name for each in fields(PlannerSettings)})
        if unknown:
            raise InvalidInput(f"settings: {unknown[0]!r} is none; use those of [planner]")
        self.settings(PlannerSettings())
        if not 0 <= self.window_ms <= LONGEST_WINDOW_MS:
            raise InvalidInput(
                f"window: longer than a member looks at for a plan (got {human_duration(self.window_ms)}); use up to "
                f"{human_duration(LONGEST_WINDOW_MS)}, or plan with Spark (guardian plan ... --spark)"
            )

    def settings(self, settings: PlannerSettings) -> PlannerSettings:
        """Return the settings with the order's changes."""
        changed = replace(settings, **self.changes)
        excluded = tuple(dict.fromkeys((*changed.excluded_topics, *self.exclude_topics)))
        return replace(changed, excluded_topics=excluded)
