"""Plans made anew for tickets whose own does not fit the cluster any more, looked at before they may begin.

replanner ──▶ useless, or beyond the approval ──▶ none, and why
         ──▶ moves what is being moved, or what others hold ──▶ waits
         ──▶ else: it may begin
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from guardian.errors import ClusterUnavailable
from guardian.execution.loop.admitting import Job
from guardian.execution.loop.cluster_tick import ClusterTick
from guardian.execution.loop.memory import forget_others
from guardian.execution.loop.ports import Replanner
from guardian.execution.loop.rehearsing import resolved_now
from guardian.execution.rules import losing
from guardian.execution.rules.brokers import brokers_of
from guardian.execution.rules.expanding import only_expands
from guardian.model.cluster_state import ClusterObservation
from guardian.model.plan import Plan
from guardian.model.topology import TopicPartition
from guardian.tickets.rules.replanning import why_beyond

_REPLAN_PAUSE_MS = 10_000  # a planner that could not see the cluster


@dataclass(frozen=True, slots=True)
class NewPlan:
    """Hold a new plan that may begin, or what is awaited, or why there is none: the approval does not cover it
    (`beyond`), or it can't be made. `present` are the partitions that it knew of the ticket's topics. Where the planner
    could not see the cluster, `asks_at_ms` is when it is asked again."""

    plan: Plan | None = None
    waits: str = ""
    is_being_made: bool = False
    beyond: str = ""
    why_none: str = ""
    present: frozenset[TopicPartition] = frozenset()
    asks_at_ms: int = 0


class NewPlans:
    """Ask for new plans. What was answered is kept while it can't be used: to be asked again at each tick, planners
    would do nothing else."""

    def __init__(self, replanner: Replanner | None, now_ms: Callable[[], int]) -> None:
        self._replanner = replanner
        self._now_ms = now_ms
        self._made: dict[str, NewPlan] = {}

    def ask(self, job: Job, plan: Plan, tick: ClusterTick, present: Collection[TopicPartition] = ()) -> NewPlan:
        """Return the task of this plan, planned anew. `present` are the partitions of the ticket's topics.

        Raises GuardianError when the new plan can't be resolved against the cluster.
        """
        known = self._made.get(job.ticket.id)
        if known is not None and not known.is_being_made:
            if known.plan is None or not known.plan.moves:
                return known
            held_up = _held_up(job, known.plan, tick.observation)
            if known.waits and held_up:
                return replace(known, waits=held_up)
            known = None  # the cluster is another one by now
        if known is not None and known.asks_at_ms:
            if self._now_ms() < known.asks_at_ms:
                return known
            known = None
        answer = self._replanner.replan(job.ticket, plan) if self._replanner else ""
        asked_of = known.present if known is not None else frozenset(present)
        made = replace(self._checked(job, answer, tick), present=asked_of)
        self._made[job.ticket.id] = made
        return made

    def forget(self, ticket_id: str) -> None:
        """Drop what was answered: it was used."""
        self._made.pop(ticket_id, None)

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forget all other tickets: they are driven no longer."""
        forget_others(self._made, ticket_ids)

    def _checked(self, job: Job, answer: Plan | ClusterUnavailable | str | None, tick: ClusterTick) -> NewPlan:
        if answer is None:
            return NewPlan(waits="waits for a new plan", is_being_made=True)
        if isinstance(answer, ClusterUnavailable):
            asks_at_ms = self._now_ms() + _REPLAN_PAUSE_MS
            return NewPlan(waits=f"waits for a new plan ({answer})", is_being_made=True, asks_at_ms=asks_at_ms)
        if isinstance(answer, str):
            return NewPlan(why_none=answer)
        in_flight = _reassigned(answer, tick.observation)
        if in_flight or not answer.moves:
            return NewPlan(answer, waits=in_flight)
        useless = losing.why_useless(answer.moves, tick.observation)
        if useless:
            return NewPlan(why_none=useless)
        plan = resolved_now(tick.admin, answer, _ours(job, tick.observation))
        beyond = why_beyond(job.ticket, plan)
        return NewPlan(beyond=beyond) if beyond else NewPlan(plan, waits=_held_up(job, plan, tick.observation))


def _ours(job: Job, observation: ClusterObservation) -> frozenset[TopicPartition]:
    """Return the partitions that tickets reassign; none while it is not known which of them other tools do."""
    if job.foreign is None:
        return frozenset()
    return frozenset(observation.reassignments.keys() - {work.partition for work in job.foreign})


def _held_up(job: Job, plan: Plan, observation: ClusterObservation) -> str:
    """Say what a plan that was made anew waits for; empty when it may begin."""
    taken = {} if only_expands(plan) else job.taken
    blocking = sorted({taken[broker] for broker in brokers_of(plan) if broker in taken})
    if blocking:
        return f"waits for {', '.join(blocking)}, on the same brokers as its new plan"
    return _reassigned(plan, observation)


def _reassigned(plan: Plan, observation: ClusterObservation) -> str:
    """Say what a plan that was made anew waits for, of the reassignments under way."""
    moved = next((each.partition for each in plan.moves if each.partition in observation.reassignments), None)
    return f"waits for the reassignment of {moved}, which its new plan moves" if moved is not None else ""
