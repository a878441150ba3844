"""Begins tickets that carry a plan: as it was approved, or, where it is stale, with one that was made anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from guardian.execution.loop.admitting import Job
from guardian.execution.loop.cluster_tick import ClusterTick
from guardian.execution.loop.commits import Commits
from guardian.execution.loop.directory_entries import DirectoryEntries
from guardian.execution.loop.new_plans import NewPlans
from guardian.execution.loop.observing import observe_known, scope_of
from guardian.execution.loop.ports import DriverSettings, ExecutionStore
from guardian.execution.rules.beginning import begin, tiered_topics
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import ClusterObservation
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.wire.plans import move_to_proto
from guardian.tickets.kinds.registry import kind_of
from guardian.tickets.kinds.requested import RequestKind
from guardian.tickets.rules.replanning import counted, doubts
from guardian.tickets.rules.sequences import cut


class PlanStart:
    """Begin approved tickets, or fail those whose plan is stale and can't be made anew."""

    def __init__(
        self,
        store: ExecutionStore,
        commits: Commits,
        new_plans: NewPlans,
        entries: DirectoryEntries,
        settings: DriverSettings,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._commits = commits
        self._new_plans = new_plans
        self._entries = entries
        self._tiered_warm_up_s = settings.tiered_warm_up_s
        self._max_ticket_bytes = settings.max_ticket_bytes
        self._max_plan_age_ms = int(settings.max_plan_age_s * 1000)
        self._now_ms = now_ms

    def begin(self, job: Job, plan: Plan, tick: ClusterTick) -> str:
        """Start the plan, and say so, or what is awaited. Raises GuardianError."""
        ticket, observation = job.ticket, tick.observation
        kind = kind_of(ticket)
        if isinstance(kind, RequestKind):
            return self._start(ticket, plan, observation, kind.opening)
        barred = self._why_of_sequence(ticket) or self._entries.why_barred(plan)
        stale, doubt = doubts(plan, observation, barred, self._max_plan_age_ms, self._now_ms())
        if not doubt:
            return self._start(ticket, plan, observation, f"starts {len(plan.moves)} moves")
        new = self._new_plans.ask(job, plan, tick)
        if new.waits:
            return f"{new.waits}, since the approved one is stale: {doubt}" if new.is_being_made else new.waits
        if new.plan is not None:
            return self._start_anew(ticket, new.plan, tick.admin, f"since the approved one was stale: {doubt}")
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

    def _start_anew(self, ticket: Ticket, plan: Plan, admin: KafkaAdmin, why: str) -> str:
        if not plan.moves and ticket.part is None:
            return self._give_up(ticket, f"a new plan has nothing to move, {why}")
        count = len(plan.moves)
        plan = self._beginning(ticket, plan)
        which = f"the first {len(plan.moves)} of {count}" if len(plan.moves) < count else f"{count}"
        observation = observe_known(admin, scope_of(plan), self._now_ms())
        return self._start(ticket, plan, observation, f"starts {which} moves of a new plan, {why}", is_anew=True)

    def _why_of_sequence(self, ticket: Ticket) -> str:
        """Return why a part must be planned anew, whatever its moves: the part before it was, and may have left moves
        to it that its own plan does not have."""
        if ticket.part is None or not ticket.follows_another:
            return ""
        before = self._store.execution(ticket.part.ids[ticket.part.number - 2])
        return f"{before.ticket_id}, the part before it, was planned anew" if before and before.is_anew else ""

    def _beginning(self, ticket: Ticket, plan: Plan) -> Plan:
        """Return as much of a new plan as the ticket holds: of a sequence, those that follow plan the rest anew."""
        if ticket.part is None or ticket.part.is_last:
            return plan
        return cut(plan, self._max_ticket_bytes, lambda move: move_to_proto(move).ByteSize())[0]

    def _start(
        self, ticket: Ticket, plan: Plan, observation: ClusterObservation, reason: str, *, is_anew: bool = False
    ) -> str:
        execution = begin(ticket, plan, tiered_topics(observation), self._tiered_warm_up_s)
        execution = replace(execution, tasks=counted(execution.tasks, observation.partitions), is_anew=is_anew)
        self._new_plans.forget(ticket.id)
        self._commits.advance(ticket, (TicketState.RUNNING, reason), execution, 0, is_led_on=True)
        return reason

    def _give_up(self, ticket: Ticket, reason: str) -> str:
        self._commits.advance(ticket, (TicketState.FAILED, reason), None, 0)
        return f"FAILED: {reason}"
