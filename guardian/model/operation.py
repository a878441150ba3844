"""A ticket that is more than one plan: what it asks for, and how far it got.

    Ask         what people want: these brokers removed, taken offline, brought online, restarted batch after batch
    Operation   the phase, and per broker what was done; stored with the execution, so that whoever leads goes on

The moves of an operation are ordinary tasks of its execution. An ask may be amended while it runs; its revision tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NamedTuple

from guardian.errors import InvalidInput
from guardian.model.plan import Plan
from guardian.model.text import Text
from guardian.model.topology import BrokerState, require_broker_id

MAX_BROKERS = 1000
MAX_ACCEPTED = 100
_MAX_BATCH = 1000
_MAX_HOOK_CHARS = 100
_MAX_WAIT_MS = 24 * 3600 * 1000
_PARTITION = re.compile(r"[A-Za-z0-9._-]{1,249}-[0-9]{1,9}")
_MAX_LEVEL = 32_767  # of a feature, on Kafka's wire


class HookAction(StrEnum):
    """Name what a hook does with one broker or controller."""

    STOP = "stop"
    START = "start"
    RESTART = "restart"


class Traits(NamedTuple):
    """Say what a kind of operation does to its brokers; an ask can't ask it for more.

    `empties` them, so that they may be gone already; `may_stop` them for good; `brings_back` those that are offline;
    `may_leave_unavailable` partitions that can't do without them. `has_batches`, of controllers too, restarted by a
    hook. `mark` is why an exclusion of its ticket is there.
    """

    empties: bool = False
    may_stop: bool = False
    brings_back: bool = False
    may_leave_unavailable: bool = False
    has_batches: bool = False
    mark: str = ""


class AskKind(StrEnum):
    """Also the kind of the ticket."""

    REMOVE = "remove-brokers"
    OFFLINE = "offline-brokers"
    ONLINE = "online-brokers"
    RESTART = "rolling-restart"

    @property
    def traits(self) -> Traits:
        return _TRAITS[self]

    @classmethod
    def with_trait(cls, name: str) -> str:
        """Return the kinds with a trait, for people."""
        return " and ".join(kind for kind in cls if getattr(kind.traits, name))


_TRAITS = {
    AskKind.REMOVE: Traits(empties=True, may_stop=True, mark="removed by ticket"),
    AskKind.OFFLINE: Traits(may_stop=True, may_leave_unavailable=True, mark="taken offline by ticket"),
    AskKind.ONLINE: Traits(brings_back=True),
    AskKind.RESTART: Traits(may_leave_unavailable=True, has_batches=True),
}


@dataclass(frozen=True, slots=True)
class Ask:
    """What a ticket asks for.

    `brokers` and `controllers` are sorted; `controllers` are nodes that are no brokers, of a rolling restart, in which
    they come last. Of a removal and of brokers taken offline, `shutdown` says that they are to be down at the end. They
    are stopped by `hook`, or, where it is empty, by a person, who is waited for. A removal without shutdown leaves its
    exclusions. `batch_limit` is how many brokers are restarted at once at most, 0: as many as ISR and rack allow.
    `accept_unavailable`: partitions that can't do without one of their brokers may be unavailable meanwhile.
    `back_within_ms` is how long a broker may be away, 0: the usual. `revision` counts the amendments. `finalize`: when
    all of a rolling restart is done, Kafka's `metadata.version` is raised, which nobody can take back, to the level
    `metadata_version`, 0: to the highest that all nodes support. A rolling restart does not wait for the trouble of
    `accepted_partitions` ("orders-3") and `accepted_brokers` (down, or out of sync), which is older than the ticket.
    """

    kind: AskKind
    brokers: tuple[int, ...]
    controllers: tuple[int, ...] = ()
    shutdown: bool = False
    hook: str = ""
    batch_limit: int = 0
    accept_unavailable: bool = False
    back_within_ms: int = 0
    revision: int = 0
    finalize: bool = False
    metadata_version: int = 0
    accepted_partitions: tuple[str, ...] = ()
    accepted_brokers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("brokers", "controllers", "accepted_brokers"):
            nodes = getattr(self, name)
            _require_nodes(name, nodes)
            object.__setattr__(self, name, tuple(sorted(nodes)))
        if not self.brokers and not self.controllers:
            raise InvalidInput(f"brokers of {self.kind} is empty: name at least one")
        both = sorted(set(self.brokers) & set(self.controllers))
        if both:
            raise InvalidInput(f"node {both[0]} is in brokers and in controllers: a combined node is a broker")
        self._require_what_fits_the_kind()
        _require_partitions(self.accepted_partitions)
        if not 0 <= self.batch_limit <= _MAX_BATCH:
            raise InvalidInput(f"batch_limit is {self.batch_limit}: use 0 to {_MAX_BATCH}, 0 for what ISR allows")
        if len(self.hook) > _MAX_HOOK_CHARS or not self.hook.isprintable():
            shown = self.hook[:_MAX_HOOK_CHARS]
            raise InvalidInput(f"hook is {shown!r}: use up to {_MAX_HOOK_CHARS} printable characters")
        if not 0 <= self.back_within_ms <= _MAX_WAIT_MS:
            raise InvalidInput(f"back_within_ms is {self.back_within_ms}: use 0 to {_MAX_WAIT_MS}, 0 for the usual")
        if not 0 <= self.metadata_version <= _MAX_LEVEL:
            raise InvalidInput(
                f"metadata_version is {self.metadata_version}: use a level such as 25, or 0 for the highest that all "
                "nodes support"
            )
        if self.metadata_version and not self.finalize:
            raise InvalidInput(
                f"metadata_version is {self.metadata_version}, but finalize is not set: without it nothing is raised"
            )

    @property
    def hook_action(self) -> HookAction | None:
        """Return what the ticket's hook will be asked to do; None: nothing."""
        traits = self.kind.traits
        if traits.has_batches:
            return HookAction.RESTART
        if traits.brings_back:
            return HookAction.START
        return HookAction.STOP if self.shutdown else None

    def require_no_idle_field(self) -> None:
        """Raises InvalidInput for a field that would be without effect: who gives it expects one. Asked of what is new
        only, since what was stored before is carried out as it is."""
        if self.shutdown and not self.kind.traits.may_stop:
            kinds = AskKind.with_trait("may_stop")
            raise InvalidInput(f"shutdown of {self.kind} is set: only {kinds} stop brokers for good; leave it out")
        if self.hook and self.hook_action is None:
            raise InvalidInput(
                f"hook of {self.kind} is {self.hook!r}, but shutdown is not set, so nothing is stopped: set shutdown, "
                "or leave hook out"
            )
        if self.accept_unavailable and not self.kind.traits.may_leave_unavailable:
            kinds = AskKind.with_trait("may_leave_unavailable")
            raise InvalidInput(
                f"accept_unavailable of {self.kind} is set: only {kinds} leave partitions without a broker; "
                "leave it out"
            )

    def _require_what_fits_the_kind(self) -> None:
        if self.kind.traits.has_batches:
            if not self.hook:
                raise InvalidInput(f"hook of {self.kind} is empty: name the [hooks.NAME] that restarts a broker")
            return
        kinds = AskKind.with_trait("has_batches")
        if self.controllers:
            raise InvalidInput(f"controllers is {list(self.controllers)}: only {kinds} takes controllers")
        if self.batch_limit:
            raise InvalidInput(f"batch_limit is {self.batch_limit}: only {kinds} has batches; leave it out")
        if self.finalize:
            raise InvalidInput(f"finalize of {self.kind} is set: only {kinds} raises metadata.version")
        accepted: tuple[tuple[str, tuple[str | int, ...]], ...] = (
            ("accepted_partitions", self.accepted_partitions),
            ("accepted_brokers", self.accepted_brokers),
        )
        for name, given in accepted:
            if given:
                raise InvalidInput(f"{name} is {list(given)}: only {kinds} waits for trouble; leave it out")


def _require_nodes(name: str, nodes: tuple[int, ...]) -> None:
    if len(nodes) > MAX_BROKERS:
        raise InvalidInput(f"{name} has {len(nodes)}: use up to {MAX_BROKERS}")
    for node in nodes:
        require_broker_id(node)
    if len(set(nodes)) != len(nodes):
        raise InvalidInput(f"{name} names one twice: {sorted(nodes)}")


def _require_partitions(names: tuple[str, ...]) -> None:
    if len(names) > MAX_ACCEPTED:
        raise InvalidInput(f"accepted_partitions has {len(names)}: use up to {MAX_ACCEPTED}")
    for name in names:
        if not _PARTITION.fullmatch(name):
            raise InvalidInput(
                f"accepted_partitions has {name[:_MAX_HOOK_CHARS]!r}: use topic-number, such as orders-3"
            )


class HookKey(NamedTuple):
    """One run of a hook. The same key again asks for the same run, which is not started twice."""

    node: int
    action: HookAction
    attempt: int


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """How a run ended; `output` is what it said, its last part where it said much."""

    is_ok: bool
    output: Text = ""


@dataclass(frozen=True, slots=True)
class HookRun:
    """A run of a hook as the store knows it: the intent is stored before it starts. `ended_at_ms` 0: not yet."""

    action: HookAction
    attempt: int
    asked_at_ms: int
    ended_at_ms: int = 0
    is_ok: bool = False
    output: Text = ""


class Standing(Enum):
    """Where a broker stands in an operation. Values are those of the wire, and are stored: never renumber."""

    WAITING = 1
    UNDER_WAY = 2
    DONE = 3  # removed, empty, offline, online or restarted, whatever was asked for
    GONE = 4  # it was not in the cluster, or down in maintenance, when its turn came
    ELSEWHERE = 5  # another ticket does the same with it already
    RELEASED = 6  # it is no longer asked for: what was done to it is undone, then it is forgotten

    @property
    def is_over(self) -> bool:
        return self in (Standing.DONE, Standing.GONE, Standing.ELSEWHERE)


@dataclass(frozen=True, slots=True)
class BrokerWork:
    """One broker or controller of an operation.

    `is_excluded`: the exclusion of the broker is this ticket's own (the intent is stored before it is put), and
    `state_before` is what the federation said of the broker until then. `down_since_ms` is when it was seen down in
    one piece until now, 0: it is up; `was_down`: it was, since its hook was asked for. `was_out_of_sync`:
    replicas of the broker were when the operation began, which its restart may cure.
    """

    node: int
    is_controller: bool = False
    standing: Standing = Standing.WAITING
    is_excluded: bool = False
    state_before: BrokerState = BrokerState.ACTIVE
    hook: HookRun | None = None
    down_since_ms: int = 0
    was_down: bool = False
    detail: Text = ""
    was_out_of_sync: bool = False


class OperationPhase(Enum):
    """Values are those of the wire, and are stored: never renumber."""

    VALIDATE = 1
    EXCLUDE = 2
    PLAN = 3
    EXECUTE = 4
    SHUT_DOWN = 5
    CLEAN_UP = 6
    GATE = 7  # between two batches: is the cluster well?
    LEADERS_AWAY = 8
    RESTART = 9
    IN_SYNC = 10
    LEADERS_BACK = 11
    START = 12
    FINALIZE = 13  # all is restarted: metadata.version, where it was asked for


@dataclass(frozen=True, slots=True)
class Operation:
    """How far it got. `since_ms` is when the phase began, `detail` what it waits for, in one sentence.

    `ask_revision` is that of the ask which is being carried out; a ticket whose ask has a higher one was amended.
    `batch` are the nodes of the present batch. `first_task` is the number of the first task of the present round of
    moves, `plan_round` counts the plans that were asked for, the next one not before `retry_at_ms`.
    `harm` is what has gone wrong, since `harm_since_ms`; when it lasts, the ticket pauses.
    `well_since_ms` is since when the cluster was seen well, 0: it was not.
    `metadata_version_to` is the level to which `metadata.version` is raised from `metadata_version_from`, stored before
    Kafka is asked; 0: none was decided on.
    """

    phase: OperationPhase
    since_ms: int
    brokers: tuple[BrokerWork, ...] = ()
    batch: tuple[int, ...] = ()
    first_task: int = 1
    plan_round: int = 1
    retry_at_ms: int = 0
    harm: Text = ""
    harm_since_ms: int = 0
    well_since_ms: int = 0
    ask_revision: int = 0
    detail: Text = ""
    metadata_version_from: int = 0
    metadata_version_to: int = 0

    def work(self, node: int) -> BrokerWork | None:
        return next((work for work in self.brokers if work.node == node), None)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A plan that an operation needs: `kind` is that of the task of the planner, for all of `brokers` together. The
    same key again asks for the same plan."""

    key: str
    kind: AskKind
    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The plan for a request, completed from the live cluster, or one sentence that says why there is none."""

    key: str
    plan: Plan | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class VoterLag:
    """Tell how far a voter is behind the active controller: records, and ms since it last had all (None: not known)."""

    records: int
    ms: int | None = None


@dataclass(frozen=True, slots=True)
class Quorum:
    """The controllers' quorum: who is active, who votes, and which voters have caught up with the active one.

    `committed` is the metadata log's high watermark, -1 where it is not known; `behind` has the lag of each voter that
    has not caught up.
    """

    leader: int
    voters: frozenset[int]
    caught_up: frozenset[int] = field(default_factory=frozenset)
    committed: int = -1
    behind: Mapping[int, VoterLag] = field(default_factory=dict)

    @property
    def majority(self) -> int:
        """Return how many voters must live for anything to be decided."""
        return len(self.voters) // 2 + 1


@dataclass(frozen=True, slots=True)
class MetadataVersion:
    """Kafka's feature `metadata.version`: the level in force, and by broker that answered the highest that it supports.

    `refused` says by level why the controllers would not raise it to that one now, empty: they would. Levels that they
    were not asked about are not in it.
    """

    level: int
    supported: Mapping[int, int]
    refused: Mapping[int, str] = field(default_factory=dict)

    @property
    def highest(self) -> int:
        """The highest that all brokers that answered support."""
        return min(self.supported.values(), default=self.level)
