"""Takes the next step of tickets that carry a plan: decide, store, send.

One that is at its end goes on with a new plan, where a dead broker took some of its tasks or topics grew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from guardian.execution.loop.admitting import Job
from guardian.execution.loop.cluster_tick import ClusterTick
from guardian.execution.loop.commits import Commits
from guardian.execution.loop.directory_entries import DirectoryEntries
from guardian.execution.loop.effect_sender import EffectSender
from guardian.execution.loop.movers import Movers
from guardian.execution.loop.new_plans import NewPlans
from guardian.execution.loop.observing import observe_known, scope_of
from guardian.execution.loop.ports import ExecutionStore
from guardian.execution.rules import losing
from guardian.execution.rules.beginning import begin, tiered_topics
from guardian.execution.rules.executing import Step
from guardian.model.execution import Execution
from guardian.model.ticket import TicketState
from guardian.tickets.rules.replanning import (
    continued,
    counted,
    counted_topics,
    grown,
    is_at_its_end,
    why_anew,
    why_unmet,
)


class PlanSteps:
    """Step tickets that move replicas."""

    def __init__(
        self,
        movers: Movers,
        continuation: Continuation,
        entries: DirectoryEntries,
        commits: Commits,
        sender: EffectSender,
    ) -> None:
        self._movers = movers
        self._continuation = continuation
        self._entries = entries
        self._commits = commits
        self._sender = sender

    def step(self, job: Job, execution: Execution, tick: ClusterTick) -> str:
        """Take the step, and say what was done and what is awaited. Raises GuardianError."""
        ticket = job.ticket
        decided = self._movers.of(job, tick)(ticket.state, execution)
        if ticket.state in (TicketState.RUNNING, TicketState.PAUSED) and is_at_its_end(decided):
            decided = self._continuation.go_on(job, decided, tick)
        if decided.transition and ticket.ask is None:
            decided = self._entries.say(ticket, execution, decided, decided.transition, tick.admin)
        basis = self._commits.save(ticket, execution, decided)
        notes = self._sender.send(basis, tick.admin, decided.effects)
        return "; ".join((decided.sentence, *notes))


class Continuation:
    """Add the tasks of a new plan to tickets that are not met by their own."""

    def __init__(
        self, store: ExecutionStore, new_plans: NewPlans, tiered_warm_up_s: float, now_ms: Callable[[], int]
    ) -> None:
        self._store = store
        self._new_plans = new_plans
        self._tiered_warm_up_s = tiered_warm_up_s
        self._now_ms = now_ms

    def go_on(self, job: Job, decided: Step, tick: ClusterTick) -> Step:
        """Return the step with the tasks of a new plan; as it was, with a word about that, where there is none.

        Raises GuardianError.
        """
        ticket, tasks = job.ticket, decided.execution.tasks
        topics = counted_topics(tasks)
        present = tick.admin.describe_partitions(topics) if topics else {}
        expanded = grown(tasks, present)
        why = why_anew(tasks, expanded)
        if not why:
            return _ended(decided, why_unmet(expanded, ""))
        new = self._new_plans.ask(job, self._store.plan(ticket.plan_hash), tick, present)
        if new.waits:
            return _waiting(decided, f"{new.waits}, since {why}" if new.is_being_made else new.waits)
        if new.plan is not None and new.plan.moves:
            seen = observe_known(tick.admin, scope_of(new.plan), self._now_ms())
            begun = begin(ticket, new.plan, tiered_topics(seen), self._tiered_warm_up_s).tasks
            partitions = {each for each in seen.partitions if each.topic not in topics} | new.present
            tasks = continued(tasks, counted(begun, partitions), Counter(each.topic for each in new.present))
            self._new_plans.forget(ticket.id)
            going_on = _waiting(decided, f"goes on with {len(begun)} moves of a new plan, since {why}")
            return replace(going_on, execution=replace(going_on.execution, tasks=tasks))
        is_met = new.plan is not None
        why_none = "a new plan has nothing to move" if is_met else new.beyond or new.why_none
        lost = f"there is no new plan: {why_none}" if why_none and any(map(losing.is_lost, tasks)) else ""
        unmet = why_unmet(expanded, "" if lost else why_none, is_met=is_met)
        return _ended(decided, "; ".join(filter(None, (lost, unmet))))


def _waiting(decided: Step, sentence: str) -> Step:
    """Return the step of a ticket that does not end yet, with this to say of it."""
    return replace(decided, execution=replace(decided.execution, note=sentence), transition=None, sentence=sentence)


def _ended(decided: Step, more: str) -> Step:
    """Return the step with more to say of the ticket's end."""
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
