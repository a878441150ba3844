"""Drives the tickets of all clusters: each tick reads, decides, commits the intent, then acts.

    store ── tickets, executions ──▶ observe Kafka ──▶ core.executing.step ──▶ commit ──▶ send

The driver keeps nothing that it could not lose: whoever becomes the Raft leader makes a new one and goes on from the
store and from Kafka. It acts only after the store has confirmed, by a commit or a ReadIndex, that it still leads and
that the ticket is still what the decision was made from: leadership may have gone to another member and come back.

Clusters are driven in a thread each, so that one that does not answer holds up no other: a tick waits `PATIENCE_S` for
them and leaves a slower one to finish by itself; that cluster gets no second thread meanwhile. Tickets of one cluster
that share a broker run one after the other, the oldest first: they would share its rates, and could share partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from guardian.core.effects import Effect
from guardian.core.executing import ExecutionLimits, begin, brokers_of, step, tiered_topics, why_stale
from guardian.errors import GuardianError
from guardian.executor.observing import observe, scope_of
from guardian.executor.sending import send
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition

ACTOR = "executor"
PATIENCE_S = 5.0
_MAX_CLUSTERS = 128
_DEFAULT_LIMITS = ExecutionLimits()


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
        Unavailable when it can't be known whether it was stored.
        """

    def confirm(self, ticket_id: str, expected_state: TicketState, expected_revision: int) -> None:
        """Returns once a majority confirms that this member leads and that the ticket is as expected.

        Raises Unavailable when it leads no longer, and Conflict when somebody else has driven the ticket on meanwhile.
        """


@dataclass(frozen=True, slots=True)
class _Job:
    """A ticket with what it works from: its execution, or its plan before it began."""

    ticket: Ticket
    work: Execution | Plan


@dataclass(frozen=True, slots=True)
class _Basis:
    """What must still be so when an effect is sent."""

    ticket_id: str
    state: TicketState
    revision: int


class Driver:
    """`admin_for` gives the admin of a cluster by name, which one thread at a time uses.

    It may raise NotFound or ClusterUnavailable: then the cluster's tickets wait. A new replica of a tiered topic gets
    the lead when its local log holds what is written in `tiered_warm_up_s`; at once when that is 0.
    """

    def __init__(
        self,
        store: ExecutionStore,
        admin_for: Callable[[str], KafkaAdmin],
        limits: ExecutionLimits = _DEFAULT_LIMITS,
        *,
        now_ms: Callable[[], int],
        tiered_warm_up_s: float = 600.0,
    ) -> None:
        self._store = store
        self._admin_for = admin_for
        self._limits = limits
        self._now_ms = now_ms
        self._tiered_warm_up_s = tiered_warm_up_s
        self._pool = ThreadPoolExecutor(_MAX_CLUSTERS, thread_name_prefix="executor")
        self._ticking: dict[str, Future[list[str]]] = {}
        # Kafka's answers of the last tick: only for people, so a new leader may start without them.
        self._refusals: dict[str, dict[TopicPartition, str]] = {}

    def tick(self) -> list[str]:
        """One round over all clusters; one sentence a ticket. Raises Unavailable when the store does not answer.

        What one cluster's thread did not expect is raised too, when the others have ended; the next tick tries again.
        """
        by_cluster: dict[str, list[Ticket]] = {}
        for ticket in self._store.driven_tickets():
            by_cluster.setdefault(ticket.cluster, []).append(ticket)
        for cluster, tickets in by_cluster.items():
            if cluster not in self._ticking:
                self._ticking[cluster] = self._pool.submit(self._tick_cluster, cluster, tickets)
        wait(self._ticking.values(), timeout=PATIENCE_S)
        # All that ended are taken out before one of them may raise: else those behind it would never tick again.
        ended = [self._ticking.pop(cluster) for cluster in sorted(self._ticking) if self._ticking[cluster].done()]
        late = [f"cluster {cluster} has not answered yet: its tickets wait" for cluster in sorted(self._ticking)]
        return [sentence for future in ended for sentence in future.result()] + late

    def close(self) -> None:
        """Returns when the ticks under way have ended."""
        self._pool.shutdown()

    def _tick_cluster(self, cluster: str, tickets: list[Ticket]) -> list[str]:
        jobs, sentences = self._admit(tickets)
        if not jobs:
            return sentences
        try:
            admin = self._admin_for(cluster)
            observation = observe(admin, (scope_of(job.work) for job in jobs), self._now_ms())
        except GuardianError as error:
            return sentences + [f"ticket {job.ticket.id} waits: {error}" for job in jobs]
        return sentences + [self._drive_safely(job, admin, observation) for job in jobs]

    def _admit(self, tickets: list[Ticket]) -> tuple[list[_Job], list[str]]:
        """The tickets that may go on now. Those that began come first; each holds its brokers against later ones."""
        jobs: list[_Job] = []
        sentences: list[str] = []
        holders: dict[int, str] = {}
        for ticket in sorted(tickets, key=lambda t: t.state is TicketState.APPROVED):
            try:
                work = self._work(ticket)
            except GuardianError as error:
                sentences.append(f"ticket {ticket.id} waits: {error}")
                continue
            brokers = brokers_of(work)
            blocked = {holders[broker] for broker in brokers if broker in holders}
            if blocked and ticket.state is TicketState.APPROVED:
                sentences.append(f"ticket {ticket.id} waits for {', '.join(sorted(blocked))}, on the same brokers")
            else:
                jobs.append(_Job(ticket, work))
            holders = dict.fromkeys(brokers, ticket.id) | holders
        return jobs, sentences

    def _work(self, ticket: Ticket) -> Execution | Plan:
        execution = self._store.execution(ticket.id)
        return execution if execution is not None else self._store.plan(ticket.plan_hash)

    def _drive_safely(self, job: _Job, admin: KafkaAdmin, observation: ClusterObservation) -> str:
        try:
            return f"ticket {job.ticket.id}: {self._drive(job, admin, observation)}"
        except GuardianError as error:
            return f"ticket {job.ticket.id} waits: {error}"

    def _drive(self, job: _Job, admin: KafkaAdmin, observation: ClusterObservation) -> str:
        if isinstance(job.work, Plan):
            return self._begin(job.ticket, job.work, observation)
        return self._step(job.ticket, job.work, admin, observation)

    def _begin(self, ticket: Ticket, plan: Plan, observation: ClusterObservation) -> str:
        stale = why_stale(plan, observation)
        if stale:
            reason = f"the plan is stale, nothing was changed: {stale}"
            self._store.advance(ticket.id, ticket.state, self._transition(TicketState.FAILED, reason), None, 0)
            return f"FAILED: {reason}"
        execution = begin(ticket, plan, tiered_topics(observation), self._tiered_warm_up_s)
        reason = f"starts {len(execution.tasks)} moves"
        self._store.advance(ticket.id, ticket.state, self._transition(TicketState.RUNNING, reason), execution, 0)
        return reason

    def _step(self, ticket: Ticket, execution: Execution, admin: KafkaAdmin, observation: ClusterObservation) -> str:
        refusals = self._refusals.pop(ticket.id, {})
        now = self._now_ms()
        decided = step(ticket.state, execution, observation, self._limits, ticket.throttle, now, refusals)
        transition = self._transition(*decided.transition) if decided.transition else None
        decided_from = _Basis(ticket.id, ticket.state, execution.revision)
        changed = transition is not None or decided.execution != execution
        if changed:
            self._store.advance(ticket.id, ticket.state, transition, decided.execution, execution.revision)
            state = transition.state if transition is not None else ticket.state
            decided_from = _Basis(ticket.id, state, execution.revision + 1)
        notes = self._send(decided_from, admin, decided.effects, confirmed=changed)
        return "; ".join((decided.sentence, *notes))

    def _send(self, basis: _Basis, admin: KafkaAdmin, effects: Sequence[Effect], confirmed: bool) -> list[str]:
        """Each effect follows a confirmation of its own: a commit just now, or a ReadIndex and a look at the ticket."""
        notes: list[str] = []
        for effect in effects:
            if not confirmed:
                self._store.confirm(basis.ticket_id, basis.state, basis.revision)
            confirmed = False
            outcome = send(admin, effect)
            self._remember(basis.ticket_id, outcome.refusals)
            notes += outcome.notes
        return notes

    def _remember(self, ticket_id: str, refusals: Mapping[TopicPartition, str]) -> None:
        if refusals:
            self._refusals.setdefault(ticket_id, {}).update(refusals)

    def _transition(self, state: TicketState, reason: str) -> TicketTransition:
        return TicketTransition(state, self._now_ms(), ACTOR, reason)
