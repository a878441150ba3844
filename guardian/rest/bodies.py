"""What is sent to the API: each a JSON object; a field that it does not know is an error."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Annotated, Any, Literal, Union, cast

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field, create_model

from guardian.interop import reassignment_json
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Leaders,
    LogDir,
    Relieve,
    Remove,
    ReplicationFactor,
)
from guardian.planning.orders import CreateTopicOrder, IsolateOrder, MigrateIdcOrder, OrderedTask, PlanOrder
from guardian.tickets.kinds.registry import KINDS
from guardian.tickets.kinds.requested import RequestKind

_MAX_REASON_CHARS = 500
_REPLICATION_FACTOR = 3  # of a new topic, where nobody says


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LogDirBody(_Body):
    broker: int = Field(description="The broker's id.")
    path: str = Field(description="The absolute path of one of its log dirs.")


class PlanBody(_Body):
    """What a plan shall do; which fields a kind takes, its description says."""

    kind: Literal[
        "balance",
        "leaders",
        "isolate-label",
        "remove-brokers",
        "add-brokers",
        "expand-topic",
        "create-topic",
        "change-replication-factor",
        "empty-disk",
        "relieve",
        "heal",
        "migrate-idc",
    ] = Field(description="As of a ticket (docs: ticket kinds).")
    topics: list[str] = Field(
        [],
        description="balance, leaders, isolate-label, change-replication-factor, migrate-idc: these; a* is a prefix.",
    )
    tenant: str = Field("", description="isolate-label, migrate-idc: a tenant's topics.")
    brokers: list[int] = Field([], description="remove-brokers, add-brokers, relieve, isolate-label: which ones.")
    balance: bool = Field(False, description="remove-brokers: balance those that stay in the same plan.")
    away_from: list[int] = Field([], description="leaders: brokers that shall lead nothing.")
    log_dirs: list[LogDirBody] = Field([], description="empty-disk, relieve: which ones.")
    label: str = Field("", description="isolate-label: whose topics get machines of their own.")
    from_pool: bool = Field(False, description="isolate-label: take free machines of the pool.")
    release: int | None = Field(None, description="isolate-label: how many machines it gives back.")
    headroom: float = Field(0.0, description="isolate-label: share of today's load that must fit on top.")
    topic: str = Field("", description="create-topic, expand-topic: its name, as in the topic directory.")
    partitions: int = Field(0, description="create-topic, expand-topic: how many it has afterwards.")
    replication_factor: int = Field(0, description="create-topic, change-replication-factor; 0: 3 for a new topic.")
    expected_bytes: int = Field(0, ge=0, description="create-topic: what one replica of one partition will hold.")
    configs: dict[str, str] = Field({}, description="create-topic: its own configuration.")
    limit: float = Field(0.8, description="relieve: the share of a disk that may be used.")
    policy: str = Field("", description="migrate-idc: the IDC policy's name.")
    goals: list[str] = Field([], description="Soft goals, by Guardian's or Cruise Control's names; none: all.")
    excluded_topics: list[str] = Field([], description="Never moved but to keep a rule; a* is a prefix.")
    throttle: int = Field(0, ge=0, description="Bytes/s per broker; 0: the default.")
    settings: dict[str, Any] = Field(
        {},
        description="Settings that win over the members' [planner], by name (docs: configuration), such as max_bytes, "
        "max_seconds and target_spread; null: none.",
    )
    window_ms: int = Field(0, ge=0, description="How much of the newest samples counts; 0: what is usual.")

    def order(self) -> PlanOrder:
        """Return what is asked for. Raises InvalidInput: which fields a kind can't do without, its task says."""
        return PlanOrder(self._task(), self._changes(), tuple(self.excluded_topics), self.window_ms)

    def _task(self) -> OrderedTask:
        topics, brokers = tuple(self.topics), tuple(self.brokers)
        log_dirs = tuple(LogDir(each.broker, each.path) for each in self.log_dirs)
        tasks: dict[str, Any] = {
            "balance": lambda: Balance(topics),
            "leaders": lambda: Leaders(topics, tuple(self.away_from)),
            "isolate-label": lambda: IsolateOrder(
                self.label, topics, self.tenant, brokers, self.from_pool, self.release, self.headroom
            ),
            "remove-brokers": lambda: Remove(brokers, self.balance),
            "add-brokers": lambda: Add(brokers),
            "expand-topic": lambda: ExpandTopic(self.topic, self.partitions),
            "create-topic": lambda: CreateTopicOrder(
                self.topic,
                self.partitions,
                self.replication_factor or _REPLICATION_FACTOR,
                self.expected_bytes,
                tuple(self.configs.items()),
            ),
            "change-replication-factor": lambda: ReplicationFactor(topics, self.replication_factor),
            "empty-disk": lambda: EmptyDisk(log_dirs),
            "relieve": lambda: Relieve(self.limit, brokers, log_dirs),
            "heal": Heal,
            "migrate-idc": lambda: MigrateIdcOrder(self.policy, topics, self.tenant),
        }
        made: OrderedTask = tasks[self.kind]()
        return made

    def _changes(self) -> dict[str, Any]:
        """Return the settings that the body says, by name."""
        known = PlannerSettings.of({name: value for name, value in self.settings.items() if value is not None})
        defaults = {each.name: each.default for each in fields(PlannerSettings)}
        found = {
            name: getattr(known, name) if value is not None else defaults.get(name)
            for name, value in self.settings.items()
        }
        if self.goals:
            found["goals"] = tuple(self.goals)
        if self.throttle:
            found["throttle"] = float(self.throttle)
        return found


_STOPPING = ("remove-brokers", "offline-brokers")


class AskBody(_Body):
    """A ticket that is more than one plan: brokers removed, taken offline or online, or restarted in batches."""

    kind: Literal["remove-brokers", "offline-brokers", "online-brokers", "rolling-restart"]
    brokers: list[int] = Field([], description="Ids.")
    controllers: list[int] = Field([], description="rolling-restart: nodes that are no brokers; they come last.")
    shutdown: bool | None = Field(
        None, description="remove-brokers, offline-brokers: they are to be down at the end; left out: true."
    )
    hook: str = Field("", description="[hooks.NAME] that stops, starts or restarts them.")
    batch_limit: int = Field(0, ge=0, description="rolling-restart: at once at most; 0: as ISR allows.")
    accept_unavailable: bool = Field(False, description="Partitions may be unavailable meanwhile.")
    back_within_ms: int = Field(
        0, ge=0, description="online-brokers, rolling-restart: each must be back by then; 0: the usual."
    )
    finalize: bool = Field(False, description="rolling-restart: raise metadata.version at the end, for good.")
    metadata_version: int = Field(0, ge=0, description="finalize: to this level; 0: the highest that all support.")
    accepted_partitions: list[str] = Field(
        [], description="rolling-restart: partitions, such as orders-3, whose trouble nothing waits for."
    )
    accepted_brokers: list[int] = Field(
        [], description="rolling-restart: brokers that are down or out of sync, and that nothing waits for."
    )

    def ask(self) -> Ask:
        """Raises InvalidInput."""
        return Ask(
            AskKind(self.kind),
            tuple(self.brokers),
            tuple(self.controllers),
            self.kind in _STOPPING if self.shutdown is None else self.shutdown,
            self.hook,
            self.batch_limit,
            self.accept_unavailable,
            self.back_within_ms,
            finalize=self.finalize,
            metadata_version=self.metadata_version,
            accepted_partitions=tuple(self.accepted_partitions),
            accepted_brokers=tuple(self.accepted_brokers),
        )


def _request_body(kind: RequestKind[Any]) -> type[_Body]:
    """Return the body of a kind of ticket that sends requests, by what the kind says of its options."""
    fields: dict[str, Any] = {"kind": (Literal[kind.name], Field(description=kind.help.partition("\n")[0]))}
    for option in kind.options:
        value: Any = list[str] if option.is_many else str
        default = ... if option.default is None else [] if option.is_many else option.default
        fields[option.name] = (value, Field(default, description=option.help))
    name = "".join(word.capitalize() for word in kind.name.split("-"))
    return create_model(f"{name}Body", __base__=_Body, **fields)


_REQUESTS = {name: kind for name, kind in KINDS.items() if isinstance(kind, RequestKind)}
RequestBody = Annotated[  # type: ignore[valid-type]
    Union[tuple(map(_request_body, _REQUESTS.values()))],  # noqa: UP007  made at run time
    Field(discriminator="kind", description="A ticket that sends requests and moves nothing; options are texts."),
]


FaultBody = Annotated[dict[str, Any], Body(json_schema_extra={"$ref": "#/components/schemas/PredictFaultRequest"})]


class TicketBody(_Body):
    """One of `plan` (the planner makes it), `reassignment` (of kafka-reassign-partitions), `ask` and `request`."""

    cluster: str = Field(description="The cluster's name.")
    plan: PlanBody | None = None
    reassignment: dict[str, Any] | None = Field(None, description='{"version": 1, "partitions": [...]}')
    ask: AskBody | None = None
    request: RequestBody | None = None  # type: ignore[valid-type]  # made at run time
    throttle: int = Field(0, ge=0, description="Bytes/s per broker, where copies begin; 0: the default.")
    max_throttle: int = Field(0, ge=0, description="Bytes/s up to which it may rise; 0: no more than throttle.")
    unthrottled: bool = Field(False, description="No throttle at all; not with ask.")
    change_replication_factor: bool = Field(False, description="reassignment: more replicas, or fewer, on purpose.")
    expires_in_ms: int = Field(
        0, ge=-1, description="Not started after so long it expires; 0: as the policy says; -1: never."
    )
    submit: bool = Field(False, description="Ask for approval at once; else it is a draft.")
    dry_run: bool = Field(False, description="Check all of it, store nothing.")
    reason: str = Field("", max_length=_MAX_REASON_CHARS)
    author: str = Field("", description="Counts while security is off; else it is who is signed in.")
    idempotency_key: str = Field("", max_length=200, description="The same key again answers with the same ticket.")

    def requested(self, now_ms: int) -> Plan:
        """Return the plan that carries `request`. Raises InvalidInput."""
        given = cast(BaseModel, self.request).model_dump()
        kind = _REQUESTS[given.pop("kind")]
        texts = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
        return kind.plan(self.cluster, kind.read(texts, now_ms))

    def reassigned(self) -> Plan:
        """Return the plan that is `reassignment`. Raises InvalidInput."""
        return _reassigned(self.reassignment, self.cluster, is_resizing=self.change_replication_factor)


class PreviewBody(_Body):
    """A reassignment, as a ticket of it would be made."""

    reassignment: dict[str, Any] = Field(description='{"version": 1, "partitions": [...]}')
    change_replication_factor: bool = Field(False, description="More replicas, or fewer, on purpose.")
    throttle: int = Field(0, ge=0, description="Bytes/s per broker, where copies begin; 0: the default.")
    max_throttle: int = Field(0, ge=0, description="Bytes/s up to which it may rise; 0: no more than throttle.")
    unthrottled: bool = Field(False, description="No throttle at all.")

    def plan(self, cluster: str) -> Plan:
        """Return the plan that it is. Raises InvalidInput."""
        return _reassigned(self.reassignment, cluster, is_resizing=self.change_replication_factor)


def _reassigned(document: dict[str, Any] | None, cluster: str, *, is_resizing: bool) -> Plan:
    plan = reassignment_json.read(json.dumps(document), cluster)
    return replace(plan, kind=ReplicationFactor.kind) if is_resizing else plan


class ActionBody(_Body):
    reason: str = Field("", max_length=_MAX_REASON_CHARS)
    actor: str = Field("", description="Counts while security is off; else it is who is signed in.")


class ThrottleBody(ActionBody):
    throttle: int = Field(ge=1, description="Bytes/s per broker.")
    max_throttle: int = Field(0, ge=0, description="Bytes/s up to which it may rise; 0: no more.")


class ApproveBody(ActionBody):
    revision: int | None = Field(None, ge=0, description="Only while its ask is at this revision (`ask.revision`).")


class AmendBody(ActionBody):
    """All that a ticket of brokers asks for from now on."""

    brokers: list[int] = Field(description="Ids.")
    controllers: list[int] = Field([], description="rolling-restart: nodes that are no brokers.")
    revision: int | None = Field(None, ge=0, description="Only while its ask is at this revision; left out: as it is.")
