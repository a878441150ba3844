"""Heals clusters: the leader's loop from findings to tickets.

    FindingsWatch.known() ─▶ rules.decision.decide ─┬─▶ LivePlanner.ask ─▶ the plan, trimmed ─▶ a ticket with evidence
                                                    ├─▶ withdraws, pauses, resumes tickets of its own
                                                    └─▶ FindingsWatch.report: a person is called

A ticket is the only thing that healing makes: approval, execution, throttles and the way back are those of any other.
Its idempotency key follows from the troubles and the tickets before it, so two leaders, or one that asks twice, make
one ticket. What is in memory (plans that came to nothing, since when it is calm) costs a new leader a grace period.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Protocol

import structlog

from guardian.errors import Conflict, GuardianError, InvalidInput, Undecided
from guardian.execution.loop.rehearsing import resolved_now
from guardian.federation.store import directory_of
from guardian.healing.model import HealingPolicies, HealingPolicy
from guardian.healing.rules.cure import Cure, evidence_of, moved_by, trimmed, troubles_of
from guardian.healing.rules.decision import Act, Decision, TicketAct, decide
from guardian.healing.rules.relieving import ClusterPlaces
from guardian.healing.rules.trouble import CureKind, Trouble, has_lines, is_seen, line_troubles, troubles, why_wait
from guardian.healing.rules.verdict import CALM_MS, Idle, Known, Tried, idle, remembered_ms
from guardian.health.loop.findings import FindingsWatch
from guardian.health.model.finding import Subject
from guardian.health.rules.findings import Watch
from guardian.kafka.admin import KafkaAdmin
from guardian.model.actor import Agent
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, EmptyDisk, Heal, Leaders, LogDir, MigrateIdc, Relieve, Task
from guardian.model.ticket import MAX_EXECUTION_BYTES, Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire.plans import move_to_proto
from guardian.planning.model import Lane
from guardian.replication.store.state import Views
from guardian.replication.store.store import ReplicatedStore
from guardian.tickets.rules import ticketing

_log = structlog.get_logger(__name__)
_BUSY_S = 60.0  # until partitions that another ticket moves are looked at again
_MAX_REASON_CHARS = 400


@dataclass(frozen=True, slots=True)
class ClusterHealing:
    """What healing knows and does in one cluster, for people."""

    policy: HealingPolicy
    known: Known
    decision: Decision
    decided_at_ms: int


@dataclass(slots=True)
class _Memory:
    """Of one cluster; a new leader does without it."""

    tried: dict[Subject, Tried] = field(default_factory=dict)
    storm_ms: int = 0
    asking: str = ""
    has_open: bool = True  # until it was looked
    last: ClusterHealing | None = None


class Planner(Protocol):
    """Make plans as guardian.planning.service.planning.LivePlanner does."""

    def ask(
        self, key: str, cluster: str, task: Task, settings: PlannerSettings | None = None, *, lane: Lane
    ) -> Plan | GuardianError | None:
        """None while the plan is being made; the answer is kept for its key."""

    def forget(self, key: str) -> None:
        """The next `ask` with this key begins anew."""


class Healer:
    """`tick` is for one thread, the rest for any. `connect` opens an admin connection, which is closed after use;
    `settings` are what plans are asked for."""

    def __init__(
        self,
        store: ReplicatedStore,
        findings: FindingsWatch,
        planner: Planner,
        connect: Callable[[Cluster], KafkaAdmin],
        policies: HealingPolicies,
        settings: PlannerSettings,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._findings = findings
        self._planner = planner
        self._connect = connect
        self._policies = policies
        self._settings = settings
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._memory: dict[str, _Memory] = {}
        self._leads_since_ms = -1
        self._failed: dict[str, str] = {}

    @property
    def policies(self) -> HealingPolicies:
        return self._policies

    def status(self) -> tuple[Mapping[str, ClusterHealing], int]:
        """Return what was decided last, by cluster, and since when this leader looks, in ms. Raises Unavailable on a
        follower.
        """
        _, leads_since_ms = self._findings.known()
        with self._lock:
            memory = self._memory if self._leads_since_ms == leads_since_ms else {}
            return {name: each.last for name, each in memory.items() if each.last is not None}, leads_since_ms

    def tick(self) -> list[str]:
        """Decides for each cluster once; what it did, a sentence each. Raises Unavailable when it does not lead."""
        watch, leads_since_ms = self._findings.known()
        views = self._store.read()
        clusters = {cluster.name: cluster for cluster in views.clusters()}
        self._begin(leads_since_ms, set(clusters))
        lines = self._lines(watch, views)
        said: list[str] = []
        for name, cluster in sorted(clusters.items()):
            try:
                said += [
                    f"healing of {name}: {each}" for each in self._heal(cluster, watch, views, lines.get(name, ()))
                ]
            except GuardianError as error:
                said.append(f"healing of {name}: {error}")
            except Exception as error:  # noqa: BLE001  one cluster's is none to leave all others unhealed
                said.append(f"healing of {name} failed: {error!r}")
                if self._failed.get(name) != said[-1]:
                    self._failed[name] = said[-1]
                    _log.exception("healing failed", cluster=name)
        return said

    def why_not_move(self, cluster: str) -> str:
        """Say why nothing is to be moved there by itself, whatever the mode; empty: it may be. Raises Unavailable on a
        follower.
        """
        _, leads_since_ms = self._findings.known()
        with self._lock:
            memory = self._memory.get(cluster) if self._leads_since_ms == leads_since_ms else None
            last, stormed_ms = (memory.last, memory.storm_ms) if memory is not None else (None, 0)
        if last is not None and last.known.held_back:
            return last.known.held_back
        if last is None or not last.known.is_seen:
            return "healing has not seen its brokers and replicas yet"
        if last.decision.storm:
            return last.decision.storm
        is_calm = not stormed_ms or self._now_ms() - stormed_ms >= CALM_MS
        return "" if is_calm else "there was a storm a short while ago"

    def _begin(self, leads_since_ms: int, clusters: set[str]) -> None:
        with self._lock:
            if leads_since_ms != self._leads_since_ms:
                self._memory, self._leads_since_ms = {}, leads_since_ms
            self._memory = {name: self._memory.get(name, _Memory()) for name in clusters}

    def _lines(self, watch: Watch, views: Views) -> Mapping[str, tuple[Trouble, ...]]:
        """Over the whole federation: which cluster is to relieve which line."""
        if not has_lines(watch):
            return {}
        directory = directory_of(views, None)
        policies = {policy.name: policy for policy in directory.policies}
        places = {
            cluster.name: ClusterPlaces(
                {broker.id: broker.idc for broker in cluster.brokers if broker.idc},
                {
                    topic.name: policies[topic.idc_policy]
                    for topic in directory.topics
                    if topic.cluster == cluster.name and topic.idc_policy in policies
                },
            )
            for cluster in directory.clusters
        }
        own = [ticket for ticket in views.open_tickets() if ticket.author is Agent.HEALING]
        return line_troubles(watch, places, own)

    def _heal(self, cluster: Cluster, watch: Watch, views: Views, lines: tuple[Trouble, ...]) -> list[str]:
        memory = self._memory[cluster.name]
        policy = self._policies.of(cluster.name)
        found = troubles(watch, cluster.name, lines)
        now_ms = self._now_ms()
        since_ms = now_ms - remembered_ms(policy)
        own = (cluster.name, Agent.HEALING)
        tickets = views.recent_tickets(since_ms, own) if found or memory.has_open else ()
        memory.has_open = any(not ticket.state.is_over for ticket in tickets)
        present = {trouble.subject for trouble in found}
        memory.tried = {subject: tried for subject, tried in memory.tried.items() if subject in present}
        calm_since_ms = max(self._leads_since_ms, memory.storm_ms)
        known = Known(
            cluster.name,
            self._findings.broker_count(cluster),
            found,
            tickets,
            memory.tried,
            calm_since_ms,
            _running(cluster.name, views) if memory.has_open else (),
            is_seen(watch, cluster.name),
            memory.storm_ms,
            self._findings.alive(cluster.name),
            _idle(tickets, views) if memory.has_open else {},
            why_wait(watch, cluster.name),
        )
        decision = decide(policy, known, now_ms)
        if decision.storm:
            memory.storm_ms = now_ms
        with self._lock:
            memory.last = ClusterHealing(policy, known, decision, now_ms)
        self._findings.report(cluster.name, decision.called)
        said = [decision.storm] if decision.storm else []
        said += [self._act(act, now_ms) for act in decision.acts]
        return [*said, *self._cure(cluster, decision.cure, policy, memory, views)]

    def _act(self, wanted: TicketAct, now_ms: int) -> str:
        """A ticket that was driven on meanwhile is looked at again at the next tick."""
        ticket, reason = wanted.ticket, wanted.reason[:_MAX_REASON_CHARS]
        try:
            transition = _transition(wanted.act, ticket, reason, now_ms)
            self._store.advance(ticket.id, ticket.state, transition, None, 0)
        except Conflict as error:
            return f"ticket {ticket.id} stays as it is: {error}"
        return f"ticket {ticket.id} is {transition.state.name} now: {reason}"

    def _cure(
        self, cluster: Cluster, cure: Cure | None, policy: HealingPolicy, memory: _Memory, views: Views
    ) -> list[str]:
        """Asks for the plan until it is there; one that is not wanted any more is forgotten."""
        key = cure.key if cure else ""
        if memory.asking and memory.asking != key:
            self._planner.forget(memory.asking)
        memory.asking = key
        if cure is None:
            return []
        settings = replace(self._settings, throttle=float(policy.throttle))
        answer = self._planner.ask(key, cluster.name, task_of(cure), settings, lane=Lane.HEALING)
        if answer is None:
            return []
        self._planner.forget(key)
        memory.asking = ""
        if isinstance(answer, Undecided):
            return self._note(memory, cure, f"no plan yet: {answer}", _BUSY_S)
        if isinstance(answer, GuardianError):
            return self._note(memory, cure, f"no plan: {answer}", policy.rest_s, is_failure=True)
        return self._carry_on(cluster, cure, answer, policy, memory, views)

    def _carry_on(
        self, cluster: Cluster, cure: Cure, plan: Plan, policy: HealingPolicy, memory: _Memory, views: Views
    ) -> list[str]:
        wanted = trimmed(plan, cure)
        with closing(self._connect(cluster)) as admin:
            busy = dict.fromkeys(admin.list_reassignments(), "another tool") | _busy(views, cluster.name, cure.kind)
            free = trimmed(wanted, cure, busy)
            if not free.moves:
                return self._came_to_nothing(memory, cure, plan, wanted, busy, policy)
            try:
                complete = _fitting(resolved_now(admin, free))
            except Undecided as error:
                return self._note(memory, cure, f"no ticket yet: {error}", _BUSY_S)
            except GuardianError as error:
                why = f"the plan does not fit the cluster: {error}"
                return self._note(memory, cure, why, policy.rest_s, is_failure=True)
        ticket = self._ticket(complete, cure, policy)
        memory.has_open = True
        state = ticket.state.name
        return [f"ticket {ticket.id} ({ticket.kind}, {ticket.moves} moves) is {state}, for {_titles(cure)}"]

    def _came_to_nothing(
        self,
        memory: _Memory,
        cure: Cure,
        plan: Plan,
        wanted: Plan,
        busy: Mapping[TopicPartition, str],
        policy: HealingPolicy,
    ) -> list[str]:
        if wanted.moves:
            movers = ", ".join(sorted({busy[move.partition] for move in wanted.moves}))
            moving = f"{len(wanted.moves)} partitions are being moved by {movers}: looks again when they are not"
            return self._note(memory, cure, moving, _BUSY_S, is_busy=True)
        if wanted.unmet:
            unmet = f"nothing can be moved: {'; '.join(wanted.unmet[:3])}"
            return self._note(memory, cure, unmet, policy.rest_s, is_failure=True)
        if plan.moves and cure.spared:
            waits = "all that there is to move waits for brokers in their grace period"
            return self._note(memory, cure, waits, _BUSY_S)
        if cure.relief is not None:
            there = "nothing is left to move for the line: look whether its clients set client.rack, or widen it"
            return self._note(memory, cure, there, policy.rest_s, is_failure=True)
        return self._note(memory, cure, "there was nothing to move", policy.rest_s)

    def _note(
        self,
        memory: _Memory,
        cure: Cure,
        sentence: str,
        rest_s: float,
        *,
        is_failure: bool = False,
        is_busy: bool = False,
    ) -> list[str]:
        now_ms = self._now_ms()
        for subject in (trouble.subject for trouble in cure.troubles):
            before = memory.tried.get(subject)
            since_ms = (before.busy_since_ms if before is not None else 0) or now_ms
            until_ms = now_ms + round(rest_s * 1000)
            memory.tried[subject] = Tried(until_ms, sentence, is_failure, since_ms if is_busy else 0)
        return [f"{_titles(cure)}: {sentence}"]

    def _ticket(self, plan: Plan, cure: Cure, policy: HealingPolicy) -> Ticket:
        now_ms = self._now_ms()
        state = TicketState.PENDING if cure.submits else TicketState.DRAFT
        reason = f"heals {_titles(cure)}"[:_MAX_REASON_CHARS]
        ticket = Ticket(
            id=f"t-{secrets.token_hex(4)}",
            cluster=plan.cluster,
            kind=plan.kind,
            state=state,
            author=Agent.HEALING,
            plan_hash=self._store.put_plan(plan),
            throttle=policy.throttle,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            history=(TicketTransition(state, now_ms, Agent.HEALING, reason),),
            idempotency_key=cure.key,
            moves=len(plan.moves),
            bytes_to_copy=plan.bytes_to_copy,
            evidence=evidence_of(cure, now_ms),
            troubles=troubles_of(cure),
        )
        return self._store.add_ticket(ticket)


def task_of(cure: Cure) -> Task:
    """Return the task that a planner is asked for. Raises InvalidInput."""
    if cure.relief is not None:
        relief = cure.relief
        return MigrateIdc(relief.policy, relief.topics) if relief.policy else Leaders(relief.topics, relief.away_from)
    log_dirs = tuple(LogDir(broker, path) for broker, path in sorted(cure.log_dirs))
    match cure.kind:
        case CureKind.HEAL:
            return Heal()
        case CureKind.EMPTY_DISK:
            return EmptyDisk(log_dirs)
        case CureKind.BALANCE:
            return Balance()
        case CureKind.RELIEVE:
            return Relieve(log_dirs=log_dirs)
        case CureKind.LEADERS | CureKind.MIGRATE_IDC:
            raise InvalidInput(f"relief of a plan of kind {cure.kind} is empty: only a line's relief is planned so")


def _transition(act: Act, ticket: Ticket, reason: str, now_ms: int) -> TicketTransition:
    decide = {Act.WITHDRAW: ticketing.cancel, Act.PAUSE: ticketing.pause, Act.RESUME: ticketing.resume}[act]
    return decide(ticket, Agent.HEALING, reason, now_ms)


def _busy(views: Views, cluster: str, kind: CureKind) -> dict[TopicPartition, str]:
    """Partitions that tickets keep from the cure, each with one of them."""
    found: dict[TopicPartition, str] = {}
    for ticket in views.driven_tickets(cluster):
        work = views.execution(ticket.id) or views.plan(ticket.plan_hash)
        if work is not None:
            found |= dict.fromkeys(moved_by(ticket, work, kind), f"ticket {ticket.id}")
    return found


def _running(cluster: str, views: Views) -> tuple[str, ...]:
    """Tickets that the executor is at."""
    return tuple(ticket.id for ticket in views.driven_tickets(cluster) if ticket.state is not TicketState.APPROVED)


def _idle(tickets: Sequence[Ticket], views: Views) -> dict[str, Idle]:
    """Those of healing's own, by id, of which nothing moves."""
    begun = [(each, views.execution(each.id)) for each in tickets if each.state is TicketState.RUNNING]
    found = {each.id: idle(each, execution) for each, execution in begun if execution is not None}
    return {ticket_id: still for ticket_id, still in found.items() if still is not None}


def _fitting(plan: Plan) -> Plan:
    """Cut the plan to as many moves, from the first on, as one ticket holds: the next one has the rest."""
    left, moves = MAX_EXECUTION_BYTES, []
    for move in plan.moves:
        left -= move_to_proto(move).ByteSize()
        if left < 0:
            break
        moves.append(move)
    return plan if len(moves) == len(plan.moves) else replace(plan, moves=tuple(moves))


def _titles(cure: Cure) -> str:
    return ", ".join(trouble.subject.title for trouble in cure.troubles)
