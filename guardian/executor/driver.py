"""Drives the tickets of all clusters: each tick reads, decides, commits the intent, then acts.

    store ── tickets, executions ──▶ observe Kafka ──▶ core.executing.step ──▶ commit ──▶ send

The driver keeps nothing that it could not lose: whoever becomes the Raft leader makes a new one and goes on from the
store and from Kafka. It acts only after the store has confirmed, by a commit or a ReadIndex, that it still leads and
that the ticket is still what the decision was made from: leadership may have gone to another member and come back.

Clusters are driven in a thread each, so that one that does not answer holds up no other: a tick waits `PATIENCE_S` for
them and leaves a slower one to finish by itself; that cluster gets no second thread meanwhile. A tick begins with the
clusters that waited longest, and leaves to the next one what it does not come to in `ROUND_S`: however many there are,
a tick is short. Which tickets of a cluster go on, and which wait for one another, is told in admitting.py.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import structlog

from guardian import tracing
from guardian.core import foreign, gaining, losing
from guardian.core.approving import why_expired
from guardian.core.barring import barring, why_barred
from guardian.core.effects import ConfigChange, ConfigKey, SettleDebts
from guardian.core.executing import (
    Circumstances,
    Step,
    begin,
    brokers_of,
    leads_on,
    looks_once_more,
    may_soon_be_over,
    step,
    tiered_topics,
    under_way,
)
from guardian.core.holding import held
from guardian.core.kinds.registry import KINDS, kind_of, kind_of_task, lowest_rates
from guardian.core.kinds.requested import Moment, RequestKind
from guardian.core.labelling import describe, emptied_by, leaving, owned, remarks, takes_back, to_say
from guardian.core.operations.effects import AnyEffect, OperationEffect
from guardian.core.operations.step import begin as begin_operation
from guardian.core.operations.step import operate
from guardian.core.operations.world import Mover, OperationStep
from guardian.core.owned_settings import applied, restored
from guardian.core.replanning import (
    continued,
    counted,
    counted_topics,
    doubts,
    grown,
    is_at_its_end,
    why_anew,
    why_beyond,
    why_unmet,
)
from guardian.core.slots import ExecutionLimits, line_shares
from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput, Undecided
from guardian.executor.admitting import (
    Job,
    admit,
    at_work,
    beside_of,
    copies_under_way,
    moves_between,
    scope_of_job,
    side_by_side,
)
from guardian.executor.around import Surroundings
from guardian.executor.observing import observe, observe_known, scope_of, why_wait
from guardian.executor.operating import Operations
from guardian.executor.proving import Proof, since_boot_s
from guardian.executor.rehearsing import resolved_now
from guardian.executor.request_facts import TopicUses, read_facts
from guardian.executor.sending import send, send_request
from guardian.kafka.admin import KafkaAdmin
from guardian.model.actor import Agent
from guardian.model.cluster_state import ClusterObservation
from guardian.model.directory import Directory
from guardian.model.execution import Execution, ForeignWork, TaskState
from guardian.model.operation import Ask
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition

_log = structlog.get_logger(__name__)

PATIENCE_S = 1.0
ROUND_S = 0.28
_AT_ONCE = 4  # more would only wait for each other's turn in the interpreter,
_GIVES_WAY_S = 0.025  # ... but one that has not ended by then waits for its brokers
_MAX_CLUSTERS = 128
_DEFAULT_LIMITS = ExecutionLimits()
_SETTLE_PAUSE_MS = 10_000
_GAINS_PAUSE_MS = 5_000
_REPLAN_PAUSE_MS = 10_000  # a planner that could not see the cluster


class ExecutionStore(Protocol):
    """What the executor keeps, replicated. Called from several threads, of different clusters, at once."""

    def driven_tickets(self) -> Sequence[Ticket]:
        """Tickets that the executor has work on, oldest first; a linearizable read. Raises Unavailable."""

    def execution(self, ticket_id: str) -> Execution | None:
        """The ticket's execution; None before it began."""

    def plan(self, plan_hash: str) -> Plan:
        """Raises NotFound."""

    def advance(
        self,
        ticket_id: str,
        expected_state: TicketState,
        transition: TicketTransition | None,
        execution: Execution | None,
        expected_revision: int,
    ) -> None:
        """Stores a new state, a new execution, or both, at once; the store counts the revision up.

        Raises Conflict unless the ticket's state and, with an execution, its revision (0: none yet) are as expected,
        Unavailable when it can't be known whether it was stored, or when this member leads no longer: what was stored
        then is the new leader's to act on.
        """

    def protected_keys(self, cluster: str) -> frozenset[ConfigKey]:
        """The configuration keys that the protection of disks holds there."""

    def confirm(self, ticket_id: str, expected_state: TicketState, expected_revision: int) -> None:
        """Returns once a majority confirms that this member leads and that the ticket is as expected.

        Raises Unavailable when it leads no longer, and Conflict when somebody else has driven the ticket on meanwhile.
        """


@dataclass(frozen=True, slots=True)
class _Anew:
    """A new plan that may begin, or what is awaited, or why there is none: the approval does not cover it (`beyond`),
    or it can't be made. `present` are the partitions that it knew of the ticket's topics. Where the planner could not
    see the cluster, `asks_at_ms` is when it is asked again."""

    plan: Plan | None = None
    waits: str = ""
    is_being_made: bool = False
    beyond: str = ""
    why_none: str = ""
    present: frozenset[TopicPartition] = frozenset()
    asks_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class _Gains:
    """What is left of a ticket's copies, and what was said of it: only for people; looked at again at `next_ms`."""

    next_ms: int
    gains: Mapping[gaining.Way, gaining.Gain] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Basis:
    """What must still be so when an effect is sent."""

    ticket_id: str
    state: TicketState
    revision: int


class Replanner(Protocol):
    """Makes the plan of a stale ticket anew. Called from several threads, of different clusters, at once."""

    def replan(self, ticket: Ticket, plan: Plan) -> Plan | ClusterUnavailable | str | None:
        """Return a plan for the same task from the cluster as it is now, or a sentence why there is none.

        None while it is made; ClusterUnavailable where the planner could not see the cluster, which decides nothing.
        Never waits: it is asked again at the next tick. An answer is given once, and kept by who asked; the call after
        it begins anew.
        """


class Labels(Protocol):
    """What the federation's directory says, labels and policies among it. Called from several threads, of different
    clusters, at once.

    Each raises Unavailable; `say` raises Conflict when somebody else changed the same at this moment, InvalidInput when
    a topic's tenant may not use the label, and NotFound where there is no such policy.
    """

    def directory(self, cluster: str) -> Directory:
        """Of this cluster."""

    def say(self, cluster: str, changes: Mapping[ConfigKey, ConfigChange]) -> None:
        """Change fields of entries (subject, name, field) by compare and set; empty text: none. Said again, nothing
        changes. Brokers and machines that the directory does not have are left out, topics get an entry."""


class Driver:
    """`admin_for` gives the admin of a cluster by name, which one thread at a time uses.

    It may raise NotFound or ClusterUnavailable: then the cluster's tickets wait. A new replica of a tiered topic gets
    the lead when its local log holds what is written in `tiered_warm_up_s`; at once when that is 0. `replan` makes
    plans anew that do not fit the cluster any more, or whose input is older than `max_plan_age_s` (0: never too old).
    `operations` are for tickets that ask for brokers to be removed, restarted, ...: without, those wait. `labels`
    are where brokers and topics that a ticket isolates get theirs, and what bars brokers from new replicas; those with
    `shared_labels` also hold topics without one. `elapsed_s` is the clock of a tick's length, `since_boot_s` that of
    proofs (proving.py), `pool` where clusters are ticked: a thread each, unless a simulation has it otherwise. `uses`
    tells who uses topics; None: nobody knows.
    """

    def __init__(
        self,
        store: ExecutionStore,
        admin_for: Callable[[str], KafkaAdmin],
        limits: ExecutionLimits = _DEFAULT_LIMITS,
        *,
        now_ms: Callable[[], int],
        tiered_warm_up_s: float = 600.0,
        replan: Replanner | None = None,
        around: Surroundings | None = None,
        max_plan_age_s: float = 0.0,
        operations: Operations | None = None,
        labels: Labels | None = None,
        shared_labels: Collection[str] = (),
        elapsed_s: Callable[[], float] = time.monotonic,
        since_boot_s: Callable[[], float] = since_boot_s,
        pool: Executor | None = None,
        uses: TopicUses | None = None,
    ) -> None:
        self._store = store
        self._uses = uses
        self._admin_for = admin_for
        self._limits = limits
        self._now_ms = now_ms
        self._tiered_warm_up_s = tiered_warm_up_s
        self._replan = replan
        self._around = around
        self._max_plan_age_ms = int(max_plan_age_s * 1000)
        self._pool = pool or ThreadPoolExecutor(_MAX_CLUSTERS, thread_name_prefix="executor")
        self._ticking: dict[str, Future[list[str]]] = {}
        self._elapsed_s = elapsed_s
        self._since_boot_s = since_boot_s
        self._turns: dict[str, int] = {}  # the tick in which a cluster had its turn
        self._ticks = 0
        self._is_behind = False
        self._said: dict[str, list[str]] = {}
        # Kafka's answers of the last tick: only for people, so a new leader may start without them.
        self._refusals: dict[str, dict[TopicPartition, str]] = {}
        self._standing: dict[str, dict[int, int]] = {}
        self._refused_requests: dict[str, tuple[str, ...]] = {}
        self._refused_since_ms: dict[str, int] = {}
        self._rests: dict[tuple[str, TicketState], int] = {}  # until when there is nothing to read again
        # What a controller has put back since the last tick: asked for again, it does so again.
        self._settled: dict[str, frozenset[ConfigKey]] = {}
        self._next_settling_ms: dict[str, int] = {}
        self._operations = operations
        self._labels = labels
        self._made: dict[str, _Anew] = {}
        self._gains: dict[str, _Gains] = {}
        self._shared_labels = shared_labels
        self._driven: Sequence[Ticket] = ()
        self._has_more = False
        self._logged: dict[str, str] = {}

    def tick(self) -> list[str]:
        """A round over the clusters, those first that waited longest; one sentence a ticket, of its last turn.

        Raises Unavailable when the store does not answer. What one cluster's thread did not expect is raised too, when
        the others have ended; the next tick tries again.
        """
        self._has_more = False
        by_cluster: dict[str, list[Ticket]] = {}
        self._driven = self._store.driven_tickets()
        driven = {ticket.id for ticket in self._driven}
        self._rests = {key: until_ms for key, until_ms in self._rests.items() if key[0] in driven}
        for known in self._known_of_tickets():
            for ticket_id in [each for each in list(known) if each not in driven]:
                known.pop(ticket_id, None)
        if self._operations is not None:
            self._operations.keep_only(driven)
        for ticket in self._driven:
            by_cluster.setdefault(ticket.cluster, []).append(ticket)
        wait(self._begin_round(by_cluster), timeout=PATIENCE_S)
        # All that ended are taken out before one of them may raise: else those behind it would never tick again.
        ended = {c: self._ticking.pop(c) for c in sorted(self._ticking) if self._ticking[c].done()}
        self._said = {cluster: said for cluster, said in self._said.items() if cluster in by_cluster}
        for cluster in self._ticking:
            self._said[cluster] = [f"cluster {cluster} has not answered yet: its tickets wait"]
        for cluster, future in ended.items():
            self._said[cluster] = future.result()
        return [sentence for cluster in sorted(self._said) for sentence in self._said[cluster]]

    def _begin_round(self, by_cluster: Mapping[str, list[Ticket]]) -> set[Future[list[str]]]:
        """What began of it: all clusters that are free, or as many as it comes to in `ROUND_S`."""
        self._ticks += 1
        self._is_behind = False
        self._turns = {cluster: self._turns.get(cluster, 0) for cluster in by_cluster}
        free = sorted(by_cluster.keys() - self._ticking.keys(), key=lambda cluster: (self._turns[cluster], cluster))
        end_s = self._elapsed_s() + ROUND_S
        began: set[Future[list[str]]] = set()
        for cluster in free:
            running = {future for future in began if not future.done()}
            if len(running) >= _AT_ONCE:
                wait(running, timeout=_GIVES_WAY_S, return_when=FIRST_COMPLETED)
            self._is_behind = bool(began) and self._elapsed_s() > end_s
            if self._is_behind:
                break
            self._turns[cluster] = self._ticks
            self._ticking[cluster] = self._pool.submit(self._tick_cluster, cluster, by_cluster[cluster])
            began.add(self._ticking[cluster])
        return began

    def has_more(self) -> bool:
        """Whether the next tick should come soon: the last one made a step that another may follow, or saw what may end
        at any moment, or did not come to all."""
        return self._has_more or self._is_behind

    def close(self) -> None:
        """Returns when the ticks under way have ended."""
        self._pool.shutdown()

    def _tick_cluster(self, cluster: str, tickets: list[Ticket]) -> list[str]:
        jobs, sentences = self._admit(tickets)
        if not jobs:
            return sentences
        try:
            admin = self._admin_for(cluster)
            look_around = self._around.ask(cluster, at_work(jobs)) if self._around else None
            observation = observe(admin, map(scope_of_job, jobs), self._now_ms())
            around = look_around() if look_around else None
        except Undecided as error:
            return sentences + [self._wait_safely(job, str(error)) for job in jobs]
        except GuardianError as error:
            return sentences + [f"ticket {job.ticket.id} waits: {error}" for job in jobs]
        whys = {job.ticket.id: why_wait(scope_of_job(job), observation) for job in jobs}
        sentences += [self._wait_safely(job, whys[job.ticket.id]) for job in jobs if whys[job.ticket.id]]
        jobs = [job for job in jobs if not whys[job.ticket.id]]
        if not jobs:
            return sentences
        self._standing[cluster] = self._standing_rates(tickets)
        works, others = self._foreign(cluster, tickets, observation)
        copies = copies_under_way(jobs, observation, self._now_ms()) if len(jobs) > 1 else {}
        jobs = side_by_side(jobs) if len(jobs) > 1 else jobs
        jobs = [replace(job, around=around, foreign=works, others=others, under_way=copies) for job in jobs]
        return sentences + [self._drive_safely(job, admin, observation) for job in jobs]

    def _standing_rates(self, tickets: Sequence[Ticket]) -> dict[int, int]:
        """What people said that moves may take of brokers, by tickets that stand for it."""
        limiting = [each for each in tickets if each.state is TicketState.RUNNING and kind_of(each).limits_rates]
        return lowest_rates(self._store.plan(ticket.plan_hash) for ticket in limiting)

    def _foreign(
        self, cluster: str, tickets: Sequence[Ticket], observation: ClusterObservation
    ) -> tuple[tuple[ForeignWork, ...] | None, str]:
        """What other tools move on the cluster, and their throttles; None when what is ours is not all known."""
        try:
            executions = [each for ticket in tickets if (each := self._store.execution(ticket.id)) is not None]
            works = foreign.found(observation, executions)
            protected = self._store.protected_keys(cluster) if works else frozenset()
        except GuardianError:
            return None, ""
        return works, foreign.throttles(observation, executions, protected) if works else ""

    def _admit(self, tickets: list[Ticket]) -> tuple[list[Job], list[str]]:
        """The tickets that may go on now, and what is said of the others."""
        sentences: list[str] = []
        found: list[Job] = []
        for ticket in tickets:
            try:
                found.append(Job(ticket, self._work(ticket)))
            except GuardianError as error:
                sentences.append(f"ticket {ticket.id} waits: {error}")
        moving = self._moving(tickets)
        admitted, waiting = admit(found, moving, lambda job, holders: self._with_answer(job, holders, moving))
        return admitted, sentences + [f"ticket {ticket_id} {why}" for ticket_id, why in waiting.items()]

    def _with_answer(self, job: Job, before: Mapping[int, str], moving: Mapping[int, Collection[str]]) -> Job:
        """With the plan that its operation waits for, once nobody else moves replicas between the same brokers: what is
        planned while a ticket runs keeps out of the way of others as those keep out of its."""
        ticket = job.ticket
        if ticket.ask is None or self._operations is None:
            return job
        answer = self._operations.plan_answer(ticket, lambda: self._admin_for(ticket.cluster))
        if answer is None or answer.plan is None:
            return replace(job, answer=answer)
        planned = brokers_of(answer.plan)
        others = {each for broker in planned for each in moving.get(broker, ()) if each != ticket.id}
        others |= {before[broker] for broker in planned if broker in before}
        if others:
            return replace(job, withheld=f"its plan waits for {', '.join(sorted(others))}, on the same brokers")
        return replace(job, answer=answer)

    def _work(self, ticket: Ticket) -> Execution | Plan:
        execution = self._store.execution(ticket.id)
        if execution is not None:
            return execution
        return begin_operation(ticket, self._now_ms()) if ticket.ask else self._store.plan(ticket.plan_hash)

    def _wait_safely(self, job: Job, why: str) -> str:
        """Keeps what a ticket waits for where people look, and sends nothing. An operation begins by waiting; a plan
        begins only once it can be compared with what is there."""
        sentence, ticket = f"waits: {why}", job.ticket
        execution = job.work
        has_begun = ticket.state is not TicketState.APPROVED
        try:
            expired = self._expire(ticket)
            if expired:
                return f"ticket {ticket.id}: {expired}"
            if (has_begun or ticket.ask) and isinstance(execution, Execution) and execution.note != sentence:
                noted = replace(execution, note=sentence)
                begins = None if has_begun else self._transition(TicketState.RUNNING, sentence)
                self._store.advance(ticket.id, ticket.state, begins, noted, execution.revision)
        except GuardianError as error:
            return f"ticket {ticket.id} waits: {error}"
        return f"ticket {ticket.id} {sentence}"

    def _drive_safely(self, job: Job, admin: KafkaAdmin, observation: ClusterObservation) -> str:
        try:
            said = self._expire(job.ticket) or self._drive(job, admin, observation)
            return f"ticket {job.ticket.id}: {said}"
        except GuardianError as error:
            return f"ticket {job.ticket.id} waits: {error}"
        except Exception as error:  # noqa: BLE001  what nobody foresaw of one ticket must not stop those beside it
            sentence = f"ticket {job.ticket.id} failed in a way nobody foresaw: {error!r}"
            if self._logged.get(job.ticket.id) != sentence:
                self._logged[job.ticket.id] = sentence
                _log.exception("ticket", ticket=job.ticket.id)
            return sentence

    def _expire(self, ticket: Ticket) -> str:
        """Where there was no leader to see to it, or the one that is has not come to it yet; empty: it goes on."""
        expired = why_expired(ticket, self._now_ms())
        if not expired:
            return ""
        self._store.advance(ticket.id, ticket.state, self._transition(TicketState.EXPIRED, expired), None, 0)
        return f"EXPIRED: {expired}"

    def _drive(self, job: Job, admin: KafkaAdmin, observation: ClusterObservation) -> str:
        if job.ticket.kind not in KINDS:
            return f"waits: only newer members know tickets of kind {job.ticket.kind}"
        if isinstance(job.work, Plan):
            return self._begin(job, job.work, admin, observation)
        kind = kind_of(job.ticket)
        if isinstance(kind, RequestKind):
            return self._request(kind, job.ticket, job.work, admin)
        has_begun = job.ticket.state is not TicketState.APPROVED
        noticed = self._notice(job, job.work) if has_begun else None
        if noticed is None:
            return self._go_on(job, job.work, admin, observation)
        if noticed.transition:
            return noticed.sentence
        # Other tools may begin and end something at each tick: that holds up nothing.
        stored = replace(noticed.execution, revision=job.work.revision + 1)
        return "; ".join((self._go_on(job, stored, admin, observation), noticed.sentence))

    def _go_on(self, job: Job, execution: Execution, admin: KafkaAdmin, observation: ClusterObservation) -> str:
        if job.ticket.ask is not None:
            return self._operate(job, job.ticket.ask, execution, admin, observation)
        return self._step(job, execution, admin, observation)

    def _notice(self, job: Job, execution: Execution) -> foreign.Notice | None:
        """Stores that the ticket pauses for other tools, goes on after them, or what they do; mostly nothing."""
        if job.foreign is None:
            return None
        ticket = job.ticket
        noticed = foreign.notice(ticket, execution, job.foreign, job.others)
        if noticed is None:
            return None
        self._has_more = True
        transition = self._transition(*noticed.transition) if noticed.transition else None
        self._store.advance(ticket.id, ticket.state, transition, noticed.execution, execution.revision)
        return noticed

    def _begin(self, job: Job, plan: Plan, admin: KafkaAdmin, observation: ClusterObservation) -> str:
        """Starts the plan as it was approved, or, where it is stale, one that was made anew."""
        ticket = job.ticket
        kind = kind_of(ticket)
        if isinstance(kind, RequestKind):
            return self._start(ticket, plan, observation, kind.opening)
        stale, doubt = doubts(plan, observation, self._why_barred(plan), self._max_plan_age_ms, self._now_ms())
        if not doubt:
            return self._start(ticket, plan, observation, f"starts {len(plan.moves)} moves")
        new = self._anew(job, plan, admin, observation)
        if new.waits:
            return f"{new.waits}, since the approved one is stale: {doubt}" if new.is_being_made else new.waits
        if new.plan is not None:
            return self._start_anew(ticket, new.plan, admin, f"since the approved one was stale: {doubt}")
        if stale or new.beyond:
            why = f"; there is no new one: {new.why_none}" if new.why_none else ""
            reason = f"the plan is stale, nothing was changed: {stale}{why}"
            if new.beyond:
                reason = (
                    f"nothing was changed: a new plan needs an approval of its own, {new.beyond}; it was made since"
                )
                reason += f" the approved one was stale: {doubt}"
            return self._give_up(ticket, reason)
        return self._start(ticket, plan, observation, f"starts {len(plan.moves)} moves as approved, though {doubt}")

    def _why_barred(self, plan: Plan) -> str:
        """What somebody said of its brokers since it was approved."""
        if self._labels is None:
            return ""
        directory = self._labels.directory(plan.cluster)
        return why_barred(plan, barring(plan, directory, self._shared_labels, self._now_ms()))

    def _start_anew(self, ticket: Ticket, plan: Plan, admin: KafkaAdmin, why: str) -> str:
        if not plan.moves:
            return self._give_up(ticket, f"a new plan has nothing to move, {why}")
        observation = observe_known(admin, scope_of(plan), self._now_ms())
        return self._start(ticket, plan, observation, f"starts {len(plan.moves)} moves of a new plan, {why}")

    def _anew(
        self,
        job: Job,
        plan: Plan,
        admin: KafkaAdmin,
        observation: ClusterObservation,
        present: Collection[TopicPartition] = (),
    ) -> _Anew:
        """The task of this plan, planned anew; `present` are the partitions of the ticket's topics. What was answered
        is kept while it can't be used: to be asked again at each tick, planners would do nothing else."""
        known = self._made.get(job.ticket.id)
        if known is not None and not known.is_being_made:
            if known.plan is None or not known.plan.moves:
                return known
            held_up = _held_up(job, known.plan, observation)
            if known.waits and held_up:
                return replace(known, waits=held_up)
            known = None  # the cluster is another one by now
        if known is not None and known.asks_at_ms:
            if self._now_ms() < known.asks_at_ms:
                return known
            known = None
        answer = self._replan.replan(job.ticket, plan) if self._replan else ""
        asked_of = known.present if known is not None else frozenset(present)
        made = replace(self._looked_at(job, answer, admin, observation), present=asked_of)
        self._made[job.ticket.id] = made
        return made

    def _looked_at(
        self,
        job: Job,
        answer: Plan | ClusterUnavailable | str | None,
        admin: KafkaAdmin,
        observation: ClusterObservation,
    ) -> _Anew:
        if answer is None:
            return _Anew(waits="waits for a new plan", is_being_made=True)
        if isinstance(answer, ClusterUnavailable):
            asks_at_ms = self._now_ms() + _REPLAN_PAUSE_MS
            return _Anew(waits=f"waits for a new plan ({answer})", is_being_made=True, asks_at_ms=asks_at_ms)
        if isinstance(answer, str):
            return _Anew(why_none=answer)
        in_flight = _reassigned(answer, observation)
        if in_flight or not answer.moves:
            return _Anew(answer, waits=in_flight)
        useless = losing.why_useless(answer.moves, observation)
        if useless:
            return _Anew(why_none=useless)
        plan = resolved_now(admin, answer)
        beyond = why_beyond(job.ticket, plan)
        return _Anew(beyond=beyond) if beyond else _Anew(plan, waits=_held_up(job, plan, observation))

    def _start(self, ticket: Ticket, plan: Plan, observation: ClusterObservation, reason: str) -> str:
        execution = begin(ticket, plan, tiered_topics(observation), self._tiered_warm_up_s)
        execution = replace(execution, tasks=counted(execution.tasks, observation.partitions))
        self._made.pop(ticket.id, None)
        self._has_more = True
        self._store.advance(ticket.id, ticket.state, self._transition(TicketState.RUNNING, reason), execution, 0)
        return reason

    def _known_of_tickets(self) -> Iterable[dict[str, Any]]:
        """All that is known by ticket, and is of no use once that is driven no longer."""
        return (
            self._made,
            self._gains,
            self._refusals,
            self._refused_requests,
            self._refused_since_ms,
            self._settled,
            self._next_settling_ms,
            self._logged,
        )

    def _give_up(self, ticket: Ticket, reason: str) -> str:
        self._store.advance(ticket.id, ticket.state, self._transition(TicketState.FAILED, reason), None, 0)
        return f"FAILED: {reason}"

    def _step(self, job: Job, execution: Execution, admin: KafkaAdmin, observation: ClusterObservation) -> str:
        ticket = job.ticket
        decided = self._mover(job, observation)(ticket.state, execution)
        if ticket.state in (TicketState.RUNNING, TicketState.PAUSED) and is_at_its_end(decided):
            decided = self._go_on_elsewhere(job, decided, admin, observation)
        if decided.transition and ticket.ask is None:
            decided = self._label(ticket, execution, decided, decided.transition, admin)
        decided_from, asked_at_s = self._save(ticket, execution, decided)
        notes = self._send(decided_from, admin, decided.effects, asked_at_s)
        return "; ".join((decided.sentence, *notes))

    def _save(self, ticket: Ticket, stored: Execution, decided: Step | OperationStep) -> tuple[_Basis, float | None]:
        """Store what was decided, where it changes something. Return what must still be so when its effects are sent,
        and, where it was stored, since when that is proven."""
        transition = self._transition(*decided.transition) if decided.transition else None
        self._note_more(
            ticket,
            decided.execution,
            is_led_on=transition is not None or leads_on(stored, decided.execution, decided.effects),
        )
        if transition is None and decided.execution == stored:
            return _Basis(ticket.id, ticket.state, stored.revision), None
        asked_at_s = self._since_boot_s()
        self._store.advance(ticket.id, ticket.state, transition, decided.execution, stored.revision)
        state = transition.state if transition is not None else ticket.state
        return _Basis(ticket.id, state, stored.revision + 1), asked_at_s

    def _note_more(self, ticket: Ticket, execution: Execution, *, is_led_on: bool) -> None:
        if is_led_on or may_soon_be_over(execution, ticket.throttle, self._now_ms()):
            self._has_more = True  # clusters are driven in threads: nobody takes it back before the next tick

    def _request(self, kind: RequestKind[Any], ticket: Ticket, execution: Execution, admin: KafkaAdmin) -> str:
        """Take the next step of a ticket that moves nothing: read what it is about, send what is missing."""
        if self._now_ms() < self._rests.get((ticket.id, ticket.state), 0):
            return execution.note
        plan, refused = self._store.plan(ticket.plan_hash), self._refused_requests.pop(ticket.id, ())
        if not refused:
            self._refused_since_ms.pop(ticket.id, None)
        task, moment = kind.task_of(plan), self._moment(ticket, execution)
        facts = read_facts(admin, ticket.cluster, kind.query(task, moment), self._uses)
        decided = kind.next_step(task, moment, facts, refused)
        if ticket.state is TicketState.PAUSED and not decided.transition:
            decided = replace(decided, effects=(), deleted=(), sentence=kind.idle)
        transition = self._transition(*decided.transition) if decided.transition else None
        basis = _Basis(ticket.id, ticket.state, execution.revision)
        deleted = tuple(sorted({*execution.deleted_topics, *decided.deleted}))
        noted = replace(execution, note=decided.sentence, deleted_topics=deleted)
        changed = transition is not None or noted != execution
        self._note_more(ticket, execution, is_led_on=changed or bool(decided.effects))
        asked_at_s = self._since_boot_s()
        if changed:
            self._store.advance(ticket.id, ticket.state, transition, noted, execution.revision)
            basis = replace(basis, revision=execution.revision + 1)
        self._rests[ticket.id, ticket.state] = self._now_ms() + decided.rests_ms
        proof = self._proof(basis, asked_at_s if changed else None)
        for effect in decided.effects:
            if not changed:
                proof.renew()
            with admin.each_change_proven_by(proof.require):
                self._refused_requests[ticket.id] = (
                    *self._refused_requests.get(ticket.id, ()),
                    *send_request(admin, effect),
                )
        if self._refused_requests.get(ticket.id):
            self._refused_since_ms.setdefault(ticket.id, self._now_ms())
        return decided.sentence

    def _moment(self, ticket: Ticket, execution: Execution) -> Moment:
        return Moment(
            ticket.state,
            next((past.at_ms for past in ticket.history if past.state is TicketState.RUNNING), 0),
            self._now_ms(),
            ticket.updated_at_ms,
            frozenset(execution.deleted_topics),
            self._refused_since_ms.get(ticket.id, 0),
        )

    def _label(
        self, ticket: Ticket, stored: Execution, decided: Step, end: tuple[TicketState, str], admin: KafkaAdmin
    ) -> Step:
        """The step with what the ticket says of brokers and topics: stored first, then said, and only then it is over.

        One that is taken back says what it replaced. Whoever goes on after a crash says the same again.
        """
        state, reason = end
        if self._labels is None:
            return decided
        if takes_back(ticket, state):
            if not stored.directory:
                return decided
            self._store.confirm(ticket.id, ticket.state, stored.revision)
            self._labels.say(ticket.cluster, restored(owned(stored.directory)))
            return replace(decided, execution=replace(decided.execution, directory=()))
        plan = self._store.plan(ticket.plan_hash)
        if state is not TicketState.SUCCEEDED or not kind_of_task(plan.task).has_directory_intents:
            return decided
        moves = [task.move for task in decided.execution.tasks if task.state is TaskState.DONE]
        directory = self._labels.directory(ticket.cluster)
        held = _held_by(admin, emptied_by(plan.task, moves))
        if not stored.directory:
            factors = {each.topic: len(state.replicas) for each, state in admin.describe_partitions().items()}
            empty = {broker for broker, partitions in held.items() if not partitions}
            intents = to_say(plan, moves, directory, factors, empty)
            if intents:
                sentence = f"says in the directory: {describe(intents)}"
                execution = replace(decided.execution, directory=intents, note=sentence)
                return replace(decided, execution=execution, transition=None, sentence=sentence)
        else:
            self._store.confirm(ticket.id, ticket.state, stored.revision)
            self._labels.say(ticket.cluster, applied(owned(stored.directory)))
        left = {broker: held.get(broker, frozenset()) for broker in leaving(plan, moves)}
        words = "; ".join((reason, *remarks(plan, stored.directory, left, directory)))
        return replace(decided, transition=(state, words))

    def _go_on_elsewhere(self, job: Job, decided: Step, admin: KafkaAdmin, observation: ClusterObservation) -> Step:
        """The step with the tasks of a new plan, where a dead broker took some or topics grew; as it was, with a word
        about that, where there is none."""
        ticket, tasks = job.ticket, decided.execution.tasks
        topics = counted_topics(tasks)
        present = admin.describe_partitions(topics) if topics else {}
        expanded = grown(tasks, present)
        why = why_anew(tasks, expanded)
        if not why:
            return _ended(decided, why_unmet(expanded, ""))
        new = self._anew(job, self._store.plan(ticket.plan_hash), admin, observation, present)
        if new.waits:
            return _waiting(decided, f"{new.waits}, since {why}" if new.is_being_made else new.waits)
        if new.plan is not None and new.plan.moves:
            seen = observe_known(admin, scope_of(new.plan), self._now_ms())
            begun = begin(ticket, new.plan, tiered_topics(seen), self._tiered_warm_up_s).tasks
            partitions = {each for each in seen.partitions if each.topic not in topics} | new.present
            tasks = continued(tasks, counted(begun, partitions), Counter(each.topic for each in new.present))
            self._made.pop(ticket.id, None)
            going_on = _waiting(decided, f"goes on with {len(begun)} moves of a new plan, since {why}")
            return replace(going_on, execution=replace(going_on.execution, tasks=tasks))
        is_met = new.plan is not None
        why_none = "a new plan has nothing to move" if is_met else new.beyond or new.why_none
        lost = f"there is no new plan: {why_none}" if why_none and any(map(losing.is_lost, tasks)) else ""
        unmet = why_unmet(expanded, "" if lost else why_none, is_met=is_met)
        return _ended(decided, "; ".join(filter(None, (lost, unmet))))

    def _mover(self, job: Job, observation: ClusterObservation) -> Mover:
        """`step` with all else bound; what Kafka answered to the last tick is told once."""
        ticket, around, others = job.ticket, job.around, job.under_way
        idcs = around.idcs if around is not None else {}
        refusals = self._refusals.pop(ticket.id, {})
        settled = self._settled.pop(ticket.id, frozenset())

        def move(state: TicketState, execution: Execution) -> Step:
            share = replace(around, lines=line_shares(around.lines, ticket.id, others, idcs)) if around else None
            decided = step(
                state,
                execution,
                observation,
                self._limits,
                ticket.throttle,
                self._now_ms(),
                Circumstances(
                    around=share,
                    max_throttle=ticket.max_throttle,
                    standing=self._standing.get(ticket.cluster, {}),
                    refusals=refusals,
                    settled=settled,
                    others=[copy for other, copies in others.items() if other != ticket.id for copy in copies],
                    beside=beside_of(job),
                    held_by_others=self._held_by_others(ticket) if looks_once_more(execution) else frozenset(),
                    since_ms=ticket.updated_at_ms,
                    remarks=self._remarks(ticket, execution, observation),
                ),
            )
            if others:  # those that come later in this tick see what it starts
                others[ticket.id] = under_way(decided.execution, observation, self._now_ms())
                job.holds[ticket.id] = held(decided.execution)
            return decided

        return move

    def _remarks(self, ticket: Ticket, execution: Execution, observation: ClusterObservation) -> tuple[str, ...]:
        """What to say of its copies; of none where nothing of it is throttled."""
        if not execution.throttles:
            self._gains.pop(ticket.id, None)
            return ()
        now_ms = self._now_ms()
        known = self._gains.get(ticket.id, _Gains(now_ms))
        if known.next_ms <= now_ms:
            gains = gaining.watched(known.gains, under_way(execution, observation, now_ms), observation, now_ms)
            said = gaining.remarks(gains, execution.throttles, observation, now_ms)
            known = self._gains[ticket.id] = _Gains(now_ms + _GAINS_PAUSE_MS, gains, said)
        return known.remarks

    def _held_by_others(self, ticket: Ticket) -> frozenset[ConfigKey]:
        """The configuration keys that other tickets and the protection of disks hold, as they are stored now."""
        others = [each for each in self._driven if each.cluster == ticket.cluster and each.id != ticket.id]
        executions = [execution for each in others if (execution := self._store.execution(each.id)) is not None]
        held = {ConfigKey.of(intent) for execution in executions for intent in execution.throttles}
        return self._store.protected_keys(ticket.cluster) | held

    def _operate(
        self, job: Job, ask: Ask, execution: Execution, admin: KafkaAdmin, observation: ClusterObservation
    ) -> str:
        """A ticket that is more than one plan."""
        ticket, operations = job.ticket, self._operations
        if operations is None:
            raise InvalidInput(f"ticket {ticket.id} is {ask.kind}, which this executor was not made for")
        if ticket.state is TicketState.APPROVED:
            reason = f"begins with {', '.join(map(str, (*ask.brokers, *ask.controllers)))}"
            running = self._transition(TicketState.RUNNING, reason)
            self._has_more = True
            self._store.advance(ticket.id, ticket.state, running, execution, execution.revision)
            return reason
        others = self._other_operations(ticket)
        world = operations.world(ticket, ask, observation, admin, job.answer, others, job.moving, execution.operation)
        decided = operate(ticket, execution, world, self._mover(job, observation), self._now_ms())
        basis, asked_at_s = self._save(ticket, execution, decided)
        operation = decided.execution.operation
        operations.want(ticket, decided.plan_wanted, operation.phase if operation is not None else None)

        def carry_out(effect: OperationEffect) -> str:
            return operations.carry_out(ticket, effect, observation, admin)

        notes = self._send(basis, admin, decided.effects, asked_at_s, carry_out)
        waits = (job.withheld, operations.delay(ticket)) if decided.plan_wanted else ()
        return "; ".join((decided.sentence, *filter(None, waits), *notes))

    def _other_operations(self, ticket: Ticket) -> list[tuple[Ticket, Execution]]:
        """As they are stored now: one of them may have been driven on in this very tick."""
        others = [each for each in self._driven if each.cluster == ticket.cluster and each.id != ticket.id and each.ask]
        found = [(each, self._store.execution(each.id)) for each in others]
        return [(each, execution) for each, execution in found if execution is not None]

    def _moving(self, tickets: Sequence[Ticket]) -> dict[int, set[str]]:
        """By broker, the tickets that move replicas to or from it now. Only asked for where an operation may wait."""
        found: dict[int, set[str]] = {}
        if all(ticket.ask is None for ticket in tickets):
            return found
        for ticket in tickets:
            execution = self._store.execution(ticket.id)
            for broker in moves_between(ticket, execution) if execution is not None else ():
                found.setdefault(broker, set()).add(ticket.id)
        return found

    def _send(
        self,
        basis: _Basis,
        admin: KafkaAdmin,
        effects: Sequence[AnyEffect],
        proven_at_s: float | None,
        carry_out: Callable[[OperationEffect], str] | None = None,
    ) -> list[str]:
        """Each effect follows a confirmation of its own: a commit just now, or a ReadIndex and a look at the ticket.
        `proven_at_s` is when that commit was begun, None: there was none."""
        notes: list[str] = []
        proof, confirmed = self._proof(basis, proven_at_s), proven_at_s is not None
        for effect in effects:
            if isinstance(effect, SettleDebts) and self._settles_later(basis.ticket_id):
                continue
            if not confirmed:
                proof.renew()
            confirmed = False
            span = tracing.span("executor.send", basis.ticket_id, effect=type(effect).__name__)
            with span, admin.each_change_proven_by(proof.require):
                if isinstance(effect, OperationEffect):
                    proof.require()
                    notes += filter(None, [carry_out(effect)] if carry_out is not None else ())
                    continue
                outcome = send(admin, effect)
            self._remember(basis.ticket_id, outcome.refusals)
            if outcome.settled:
                self._settled[basis.ticket_id] = outcome.settled
            notes += outcome.notes
        return notes

    def _proof(self, basis: _Basis, at_s: float | None) -> Proof:
        return Proof(
            lambda: self._store.confirm(basis.ticket_id, basis.state, basis.revision), self._since_boot_s, at_s
        )

    def _settles_later(self, ticket_id: str) -> bool:
        """Controllers that can't be reached cost seconds at each attempt."""
        if self._now_ms() < self._next_settling_ms.get(ticket_id, 0):
            return True
        self._next_settling_ms[ticket_id] = self._now_ms() + _SETTLE_PAUSE_MS
        return False

    def _remember(self, ticket_id: str, refusals: Mapping[TopicPartition, str]) -> None:
        if refusals:
            self._refusals.setdefault(ticket_id, {}).update(refusals)

    def _transition(self, state: TicketState, reason: str) -> TicketTransition:
        return TicketTransition(state, self._now_ms(), Agent.EXECUTOR, reason)


def _held_by(admin: KafkaAdmin, brokers: Collection[int]) -> dict[int, frozenset[TopicPartition]]:
    """By broker that tells, what it holds."""
    held: dict[int, frozenset[TopicPartition]] = {}
    for each in admin.describe_log_dirs(brokers) if brokers else ():
        held[each.broker] = held.get(each.broker, frozenset()) | each.replicas.keys() | each.future_replicas.keys()
    return held


def _held_up(job: Job, plan: Plan, observation: ClusterObservation) -> str:
    """What a plan that was made anew waits for; empty when it may begin."""
    blocking = sorted({job.taken[broker] for broker in brokers_of(plan) if broker in job.taken})
    if blocking:
        return f"waits for {', '.join(blocking)}, on the same brokers as its new plan"
    return _reassigned(plan, observation)


def _reassigned(plan: Plan, observation: ClusterObservation) -> str:
    """What a plan that was made anew waits for, of the reassignments under way."""
    moved = next((each.partition for each in plan.moves if each.partition in observation.reassignments), None)
    return f"waits for the reassignment of {moved}, which its new plan moves" if moved is not None else ""


def _waiting(decided: Step, sentence: str) -> Step:
    """The step of a ticket that does not end yet, with this to say of it."""
    return replace(decided, execution=replace(decided.execution, note=sentence), transition=None, sentence=sentence)


def _ended(decided: Step, more: str) -> Step:
    """The step with more to say of the ticket's end."""
    if decided.transition is None or not more:
        return decided
    state, reason = decided.transition
    sentence = f"{state.name}: {reason}; {more}"
    return replace(
        decided,
        execution=replace(decided.execution, note=sentence),
        transition=(state, f"{reason}; {more}"),
        sentence=sentence,
    )
