"""What a person may ask for in the browser: a form for each kind of plan, and for each operation on brokers. Pure.

A plan (PlanForm) is made by the member and shown before anything is stored. An operation (AskForm) makes its plans
while its ticket runs, and its form shows what it would do now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from guardian.console.filling import Field, Shape, values_of
from guardian.model.operation import Ask, AskKind
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    Balance,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Leaders,
    Relieve,
    Remove,
    ReplicationFactor,
)
from guardian.model.throttle import DEFAULT_THROTTLE
from guardian.model.units import bytes_text
from guardian.planning.orders import CreateTopicOrder, IsolateOrder, MigrateIdcOrder, OrderedTask, PlanOrder

_TOPICS = Field("topics", "Topics", Shape.WORDS, "only these; a star at the end stands for any rest", "all")
_BROKERS = Field("brokers", "Brokers", Shape.COUNTS, "their ids", "3, 7", is_required=True)
_LOG_DIRS = Field("log_dirs", "Log dirs", Shape.LOG_DIRS, "as BROKER:/PATH", "3:/data/a")
_TENANT = Field("tenant", "Tenant", help="its topics")
_PARTITIONS = Field(
    "partitions", "Partitions", Shape.COUNT, "how many the topic has afterwards", "12", is_required=True
)
_FACTOR = Field("replication_factor", "Replicas", Shape.COUNT, "of each partition", default="3", is_required=True)
THROTTLE = "throttle"
WINDOW = "window"
SETTINGS = (
    Field(THROTTLE, "Throttle", Shape.RATE, "bytes/s a broker, for copies", default=bytes_text(DEFAULT_THROTTLE)),
    Field("max_bytes", "Copy at most", Shape.BYTES, "the best plan for it", "any"),
    Field("max_seconds", "Take at most", Shape.DURATION, "by the plan's own estimate", "any"),
    Field("target_spread", "Spread asked for", Shape.NUMBER, "max/mean - 1 of brokers", "0.08"),
    Field("goals", "Soft goals", Shape.WORDS, "by Guardian's or Cruise Control's names", "all"),
    Field("exclude_topics", "Topics that stay", Shape.WORDS, "a star at the end stands for any rest", "none"),
    Field(WINDOW, "Window", Shape.DURATION, "how much of the newest traffic counts, up to 1h", "the usual"),
)


@dataclass(frozen=True, slots=True)
class PlanForm:
    """`wish` is what people come for, `what` one sentence; `make` takes the values of `fields` by name."""

    name: str
    wish: str
    what: str
    make: Callable[..., OrderedTask]
    fields: tuple[Field, ...] = ()

    @property
    def settings(self) -> tuple[Field, ...]:
        """Return the fields that all plans have."""
        return SETTINGS

    def order(self, given: Mapping[str, str]) -> PlanOrder:
        """Return what was asked for, as typed into the fields. Raises InvalidInput."""
        task = self.make(**values_of(self.fields, given))
        changes = values_of(SETTINGS, given)
        excluded, window_ms = changes.pop("exclude_topics", ()), changes.pop(WINDOW, 0)
        if "max_seconds" in changes:
            changes["max_seconds"] /= 1000
        for name in ("throttle", "max_bytes"):
            if name in changes:
                changes[name] = float(changes[name])
        if changes.get(THROTTLE) == PlannerSettings().throttle:
            del changes[THROTTLE]  # as shown before anybody typed: the member's own holds
        return PlanOrder(task, changes, excluded, window_ms)


@dataclass(frozen=True, slots=True)
class AskForm:
    """As PlanForm, of an operation."""

    name: str
    wish: str
    what: str
    kind: AskKind
    fields: tuple[Field, ...] = (_BROKERS,)

    @property
    def settings(self) -> tuple[Field, ...]:
        """Return the fields that are folded away."""
        return SETTINGS[:1]

    def ask(self, given: Mapping[str, str]) -> Ask:
        """Return what was asked for, as typed into the fields. Raises InvalidInput."""
        return Ask(self.kind, **{"brokers": (), **values_of(self.fields, given)})

    def throttle(self, given: Mapping[str, str]) -> int:
        """Return the bytes/s a broker for copies; 0: the usual. Raises InvalidInput."""
        throttle: int = values_of(self.settings, given).get(THROTTLE, 0)
        return throttle


Form = PlanForm | AskForm

_HOOK = Field("hook", "Hook", help="[hooks.NAME] of the members that does it; without one a person is waited for")
_SHUTDOWN = Field("shutdown", "They are to be down at the end", Shape.TICK)
_UNAVAILABLE = Field("accept_unavailable", "Partitions may be unavailable meanwhile", Shape.TICK)
_BACK_WITHIN = Field("back_within_ms", "Back within", Shape.DURATION, "how long a broker may be away", "the usual")

FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        PlanForm(
            "relieve",
            "Relieve a full disk",
            "The least data that brings disks below a limit, now. Without names: every disk above it.",
            Relieve,
            (
                Field("limit", "Below", Shape.NUMBER, "share of a disk's bytes", default="0.8"),
                replace(_BROKERS, help="all of their disks", is_required=False),
                _LOG_DIRS,
            ),
        ),
        PlanForm(
            "empty-disk",
            "Empty a disk",
            "Onto other disks of the same broker while there is room, then onto other brokers.",
            EmptyDisk,
            (replace(_LOG_DIRS, is_required=True),),
        ),
        PlanForm(
            "heal",
            "Heal",
            "Moves what lies on dead brokers and broken disks, or breaks a rule, and nothing else.",
            Heal,
        ),
        PlanForm(
            "balance", "Balance", "Even use of brokers, disks and leaders, for the least data.", Balance, (_TOPICS,)
        ),
        PlanForm(
            "leaders",
            "Move leaders",
            "Nothing is copied: the order of replicas changes, and who leads.",
            Leaders,
            (_TOPICS, replace(_BROKERS, name="away_from", label="Away from", help="these lead nothing afterwards",
                              is_required=False)),
        ),
        PlanForm(
            "migrate-idc",
            "Move to other IDCs",
            "Topics, a tenant, or without names all of the cluster, by an IDC policy.",
            MigrateIdcOrder,
            (Field("policy", "IDC policy", help="the name of one (guardian idc-policy list)", is_required=True),
             _TOPICS, _TENANT),
        ),
        PlanForm(
            "isolate-label",
            "Isolate a label",
            "Its topics onto machines of their own, and nothing else there; or machines given back.",
            IsolateOrder,
            (
                Field("label", "Label", help="the label whose topics get machines of their own", is_required=True),
                replace(_TOPICS, help="these get the label as well", example="none"),
                _TENANT,
                replace(_BROKERS, help="of the cluster, without a label, that it may take", is_required=False),
                Field("from_pool", "It may take free machines of the pool", Shape.TICK),
                Field("release", "Give back", Shape.COUNT, "this many machines", "none"),
                Field("headroom", "Headroom", Shape.NUMBER, "share of today's load that must fit on top", "0.2"),
            ),
        ),
        PlanForm(
            "add-brokers", "Fill new brokers", "They get their share, and nothing else moves.", Add, (_BROKERS,)
        ),
        PlanForm(
            "empty-brokers",
            "Empty brokers",
            "What is on them moves to others; they stay in the cluster.",
            Remove,
            (_BROKERS, Field("balance", "Balance the others in the same plan", Shape.TICK)),
        ),
        PlanForm(
            "create-topic",
            "Create a topic",
            "Where its partitions go, by disk use and expected traffic, inside its label's machines and IDCs.",
            CreateTopicOrder,
            (
                Field("topic", "Topic", is_required=True),
                _PARTITIONS,
                _FACTOR,
                Field("expected_bytes", "Expected size", Shape.BYTES, "of one replica of one partition", "20GB"),
                Field("configs", "Configuration", Shape.PAIRS, "KEY=VALUE, one a line", "retention.ms=86400000"),
            ),
        ),
        PlanForm(
            "expand-topic",
            "More partitions",
            "Where those that are added go.",
            ExpandTopic,
            (Field("topic", "Topic", is_required=True), _PARTITIONS),
        ),
        PlanForm(
            "change-replication-factor",
            "More replicas, or fewer",
            "Of all partitions of topics.",
            ReplicationFactor,
            (replace(_TOPICS, help="a star at the end stands for any rest", is_required=True, example="orders"),
             _FACTOR),
        ),
        AskForm(
            "remove-brokers",
            "Remove brokers",
            "Emptied, stopped and gone from the cluster.",
            AskKind.REMOVE,
            (_BROKERS, replace(_SHUTDOWN, default="true"), _HOOK),
        ),
        AskForm(
            "offline-brokers",
            "Take brokers offline",
            "Their leaders move away first, and healing leaves them alone.",
            AskKind.OFFLINE,
            (_BROKERS, replace(_SHUTDOWN, default="true"), _HOOK, _UNAVAILABLE, _BACK_WITHIN),
        ),
        AskForm("online-brokers", "Bring brokers back", "They lead again what they led.", AskKind.ONLINE),
        AskForm(
            "rolling-restart",
            "Restart brokers",
            "In batches, as many at once as in-sync replicas and racks allow.",
            AskKind.RESTART,
            (
                _BROKERS,
                replace(_BROKERS, name="controllers", label="Controllers", help="nodes that are no brokers; they come "
                        "last", is_required=False, example="none"),
                replace(_HOOK, help="[hooks.NAME] of the members that restarts one", is_required=True),
                Field("batch_limit", "At once", Shape.COUNT, "at most", "as many as may be"),
                _UNAVAILABLE,
                _BACK_WITHIN,
            ),
        ),
    )
}  # fmt: skip
