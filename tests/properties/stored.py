"""Strategies for whatever is stored: built from the declared types, with texts that look like those that Guardian
writes. What only random values can't be (a plan names a partition once) has a strategy of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from guardian.errors import InvalidInput
from guardian.execution.rules.executing import Circumstances
from guardian.execution.rules.slots import ExecutionLimits
from guardian.healing.model import HealingMode, HealingPolicy
from guardian.healing.rules.trouble import CureKind, Standing, Trouble
from guardian.healing.rules.verdict import Idle, Known
from guardian.health.model.finding import FindingKind, Subject
from guardian.model.actor import Agent
from guardian.model.cluster_state import BrokerNode, ClusterObservation, LogDir, LogDirReplica, PartitionState
from guardian.model.directory import Directory
from guardian.model.execution import Execution, ExecutionTask, TaskReason, TaskState
from guardian.model.federation import Exclusion, Topic
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import CreateTopic, EmptyDisk, Heal, Isolate, PlanTask
from guardian.model.tasks import LogDir as DiskToEmpty
from guardian.model.text import FOR_PEOPLE
from guardian.model.ticket import Ticket, TicketState, TicketTransition, TicketTrouble
from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule, everybody
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from guardian.tickets.kinds.throttle_override import ThrottleOverride

NOW = 1_000_000_000
BROKERS = (1, 2, 3, 4)
PARTITIONS = tuple(TopicPartition(topic, number) for topic in ("orders", "trades") for number in (0, 1))
_AGES = (0, NOW - 90_000_000, NOW - 3_000_000, NOW - 61_000, NOW - 1_000, NOW)

# Each of them once decided something, or looks as if it could.
SENTENCES = (
    "broker_down broker 1: broker 1 is fenced or gone, and is to have 5 replicas; 3 brokers live (for 9 min)",
    "log_dir_offline broker 2, log dir /d1: log dir /d1 of broker 2 is offline (broken)\nslow_disk broker 1: x",
    "empties broker 1, log dir /d1",
    "paused before its copy began",
    "never started: another tool moved it to [1, 2]",
    "never started",
    "topic orders was deleted",
    "cordoned.log.dirs is /d2: it was set by somebody else and is left alone",
    "taken offline by ticket t-1",
    "removed by ticket t-1",
    "waits for the room that stage 1 makes",
    "config.retention.ms",
    "broker 3 can't go: it is full",
    "-",
)
TEXTS = st.sampled_from(SENTENCES) | st.text(st.characters(categories=("L", "N")), min_size=1, max_size=9)
"""Never empty and always printable in the end: whoever stores an exclusion must give a reason."""


@cache
def made(hint: Any, name: str = "") -> SearchStrategy[Any]:  # noqa: PLR0911  one case for each kind of type
    """Return values of a type; `name` is that of the field or parameter."""
    if FOR_PEOPLE in getattr(hint, "__metadata__", ()):
        return TEXTS.map(lambda text: text.replace("\n", " ")) if name == "why" else TEXTS
    if hint in _OWN:
        return _OWN[hint]()
    kind, parts = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        return st.one_of(*(made(part, name) for part in parts))
    if kind is tuple and Ellipsis not in parts:
        return st.tuples(*(made(part, name) for part in parts))
    if kind in (tuple, list, frozenset, Collection, Iterable, Sequence, Set):
        collect = frozenset if kind is frozenset else tuple
        return st.lists(made(parts[0], name), max_size=3).map(collect)
    if kind is Mapping:
        return st.dictionaries(made(parts[0], "broker"), made(parts[1], name), max_size=3)
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        return _built(hint)
    return _plain(hint, name)


def _plain(hint: Any, name: str) -> SearchStrategy[Any]:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if hint is int:
        if name == "now_ms":
            return st.just(NOW)
        is_moment, is_broker = name.endswith("_ms"), "broker" in name or "replicas" in name or name == "node"
        return st.sampled_from(_AGES if is_moment else BROKERS if is_broker else range(4))
    if hint is str:
        return _NAMES.get(name, st.sampled_from(["", "a", "b"]))
    return {bool: st.booleans(), float: st.sampled_from([0.0, 1.0, 5e6]), NoneType: st.none(), bytes: st.just(b"x")}[
        hint
    ]


def _built(hint: Any, **own: SearchStrategy[Any]) -> SearchStrategy[Any]:
    hints = get_type_hints(hint, include_extras=True)
    names = [each.name for each in fields(hint) if each.init] if is_dataclass(hint) else list(hint._fields)
    parts = {name: own[name] if name in own else made(hints[name], name) for name in names}

    def build(given: dict[str, Any]) -> Any:
        try:
            return hint(**given)
        except InvalidInput:
            return None

    return st.fixed_dictionaries(parts).map(build).filter(lambda built: built is not None)


_TICKET_IDS = st.sampled_from(["t-1", "t-2", "t-3"])
_ACTORS = st.sampled_from([Agent.HEALING, Agent.HEALING, Agent.EXECUTOR, "ann"])
_NAMES: dict[str, SearchStrategy[str]] = {
    "cluster": st.just("live"),
    "author": _ACTORS,
    "actor": _ACTORS,
    "who": st.just("ann"),
    "by": st.just("ann"),
    "id": _TICKET_IDS,
    "ticket_id": _TICKET_IDS,
    "by_ticket": st.sampled_from(["", "t-1"]),
    "kind": st.sampled_from([*(kind.value for kind in CureKind), "stray-replicas", "remove-brokers"]),
    "reason": st.just("because"),  # of a parameter: what an actor says now
    "finding": st.sampled_from(["broker_down broker 1", "healing_failed broker_down broker 1", "storm healing"]),
    "value": st.sampled_from(["", "*", "/d2"]),
    "replaced": st.sampled_from(["", "*", "/d2"]),
}

_PLACES = st.builds(ReplicaPlacement, st.sampled_from(BROKERS), st.sampled_from(["/d1", "/d2", ANY_LOG_DIR]))
_REPLICAS = st.lists(_PLACES, min_size=1, max_size=3, unique_by=lambda place: place.broker).map(tuple)


@st.composite
def _moves(draw: Callable[[SearchStrategy[Any]], Any]) -> PartitionMove:
    return PartitionMove(
        draw(st.sampled_from(PARTITIONS)),
        draw(_REPLICAS),
        draw(_REPLICAS),
        size_bytes=draw(st.sampled_from([0, 10**6])),
        reason=draw(TEXTS),
        goal=draw(st.sampled_from(["", "exclusion"])),
        stage=draw(st.integers(0, 1)),
    )


_DIFFERENT_MOVES = st.lists(_moves(), min_size=1, max_size=3, unique_by=lambda move: move.partition).map(tuple)


@st.composite
def _tickets(draw: Callable[[SearchStrategy[Any]], Any]) -> Ticket:
    """Mostly healing's own, of late, and with a last line of the history that tells of the state."""
    likely = (TicketState.RUNNING, TicketState.PENDING, TicketState.REJECTED, TicketState.SUCCEEDED)
    state = draw(st.sampled_from([*TicketState, *likely, *likely]))
    at_ms = draw(st.sampled_from([NOW - 3_000_000, NOW - 301_000, NOW - 1_000]))
    last = TicketTransition(state, at_ms, draw(_ACTORS), draw(TEXTS))
    kind = draw(st.sampled_from([CureKind.HEAL.value, CureKind.EMPTY_DISK.value]) | _NAMES["kind"])
    own = {"kind": st.just(kind), "state": st.just(state), "history": st.just((last,)), "ask": st.none()}
    made_so: Ticket = draw(_built(Ticket, created_at_ms=st.just(at_ms), updated_at_ms=st.just(at_ms), **own))
    return made_so


@st.composite
def _known(draw: Callable[[SearchStrategy[Any]], Any]) -> Known:
    """A cluster that is calm and seen more often than chance would have it, or nothing would ever be done; most of the
    tickets are for the troubles of now."""
    found = tuple(draw(st.lists(_troubles(), min_size=1, max_size=3, unique_by=lambda each: each.subject)))
    tickets = draw(st.lists(_tickets(), min_size=1, max_size=3))
    return Known(
        "live",
        12,
        found,
        tuple(replace(each, troubles=tuple(map(_stored, found))) if draw(st.booleans()) else each for each in tickets),
        calm_since_ms=draw(st.sampled_from([0, 0, 0, NOW])),
        running=draw(made(tuple[str, ...], "id")),
        is_seen=draw(st.sampled_from([True, True, False])),
        alive=draw(st.sampled_from([frozenset(BROKERS), frozenset({1, 2})])),
        idle=draw(st.dictionaries(_TICKET_IDS, made(Idle), max_size=1)),
        held_back=draw(st.sampled_from(["", "", "", "a broker is fenced and serves"])),
    )


@st.composite
def _executions(draw: Callable[[SearchStrategy[Any]], Any]) -> Execution:
    likely = st.sampled_from([*TaskState, TaskState.PENDING, TaskState.PENDING])
    own = {
        "reason": st.sampled_from(TaskReason),
        "state": likely,
        "topic_configs": st.just(()),
        "topic_partitions": st.just(0),
    }
    tasks = tuple(
        draw(_built(ExecutionTask, number=st.just(number), move=st.just(move), **own))
        for number, move in enumerate(draw(_DIFFERENT_MOVES), start=1)
    )
    return Execution(draw(_TICKET_IDS), tasks, note=draw(TEXTS), revision=draw(st.integers(0, 2)))


@st.composite
def _observations(draw: Callable[[SearchStrategy[Any]], Any]) -> ClusterObservation:
    alive = draw(st.sets(st.sampled_from(BROKERS), min_size=2))
    partitions: dict[TopicPartition, PartitionState] = {}
    replicas: dict[tuple[int, str], dict[TopicPartition, LogDirReplica]] = {}
    for partition in draw(st.sets(st.sampled_from(PARTITIONS))):
        brokers = tuple(draw(st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True)))
        in_sync = tuple(broker for broker in brokers if broker in alive)
        partitions[partition] = PartitionState(in_sync[0] if in_sync else -1, brokers, in_sync)
        for broker in in_sync:
            path = draw(st.sampled_from(["/d1", "/d2"]))
            replicas.setdefault((broker, path), {})[partition] = LogDirReplica(10**6, 0, is_future=False)
    log_dirs = tuple(
        LogDir(broker, path, "", 10**9, 10**8, replicas.get((broker, path), {}))
        for broker in sorted(alive)
        for path in ("/d1", "/d2")
    )
    nodes = {broker: BrokerNode(broker, "host", 9092) for broker in alive}
    return ClusterObservation(NOW, nodes, partitions, {}, log_dirs, {})


_DISKS = {FindingKind.LOG_DIR_OFFLINE: "log dir /d1", FindingKind.SLOW_DISK: "disk sdb"}


@st.composite
def _subjects(draw: Callable[[SearchStrategy[Any]], Any]) -> Subject:
    kinds = (FindingKind.BROKER_DOWN, *_DISKS, FindingKind.FENCED_SERVES)
    kind, broker = draw(st.sampled_from(kinds)), draw(st.sampled_from(BROKERS))
    return Subject(kind, "live", f"broker {broker}" + (f", {_DISKS[kind]}" if kind in _DISKS else ""))


@st.composite
def _troubles(draw: Callable[[SearchStrategy[Any]], Any]) -> Trouble:
    subject = draw(_subjects().filter(lambda found: found.kind is not FindingKind.FENCED_SERVES))
    return Trouble(
        subject,
        draw(TEXTS),
        draw(st.sampled_from([0, 0, NOW - 1_000])),
        draw(st.sampled_from([Standing.PRESENT] * 5 + [Standing.OVER, Standing.UNKNOWN])),
        (_broker_of(subject),),
        ("/d1",) if subject.kind in _DISKS else (),
        draw(st.sampled_from([None, 5, 5, 5, 0])),
        disks=draw(st.sampled_from([0, 2, 8])),
    )


def _broker_of(subject: Subject) -> int:
    return next(broker for broker in BROKERS if f"broker {broker}" in subject.name)


def _ticket_troubles() -> SearchStrategy[TicketTrouble]:
    return _troubles().map(_stored)


def _stored(found: Trouble) -> TicketTrouble:
    return TicketTrouble(found.subject.kind, found.subject.name, found.brokers, found.log_dirs)


_POLICIES = (
    everybody(),
    everybody(author_may_approve=False),
    ApprovalPolicy((ApprovalRule("heal", kinds=("heal",), authors=(Agent.HEALING,), automatic=True, max_moves=2),)),
)
_ASKS = (Ask(AskKind.REMOVE, (1, 2)), Ask(AskKind.OFFLINE, (1,)), Ask(AskKind.RESTART, (1, 2, 3), hook="systemd"))
_CARE = st.sampled_from([HealingMode.ACT] * 5 + [HealingMode.OBSERVE])

_TASKS: tuple[PlanTask | None, ...] = (
    None,
    Heal(),
    EmptyDisk((DiskToEmpty(1, "/d1"),)),
    CreateTopic(Topic("live", "orders"), 2, 1, configs=(("retention.ms", "1"),)),
    ThrottleOverride(1, 50_000_000, NOW),
    Isolate("gold", brokers=(1, 2)),
)


@st.composite
def _plans(draw: Callable[[SearchStrategy[Any]], Any]) -> Plan:
    task = draw(st.sampled_from(_TASKS))
    kind = st.just(task.kind) if task is not None else _NAMES["kind"]
    asked = {"task": st.just(task), "settings": st.sampled_from([None, PlannerSettings()])}
    made_so: Plan = draw(_built(Plan, moves=_DIFFERENT_MOVES, kind=kind, **asked))
    return made_so


_OWN: dict[Any, Callable[[], SearchStrategy[Any]]] = {
    TopicPartition: lambda: st.sampled_from(PARTITIONS),
    ReplicaPlacement: lambda: _PLACES,
    PartitionMove: _moves,
    Plan: _plans,
    Directory: lambda: made(tuple[Exclusion, ...]).map(lambda found: Directory(exclusions=found)),
    Execution: _executions,
    Execution | Plan: lambda: _executions() | _plans(),
    ClusterObservation: _observations,
    Subject: _subjects,
    Trouble: _troubles,
    TicketTrouble: _ticket_troubles,
    Ticket: _tickets,
    Known: _known,
    Ask: lambda: st.sampled_from(_ASKS),
    TaskState: lambda: st.sampled_from(TaskState),
    ApprovalPolicy: lambda: st.sampled_from(_POLICIES),
    ExecutionLimits: lambda: st.just(ExecutionLimits()),
    Circumstances: lambda: st.just(Circumstances()),
    HealingPolicy: lambda: _CARE.map(lambda mode: HealingPolicy(mode, storm_share=0.5)),
}
