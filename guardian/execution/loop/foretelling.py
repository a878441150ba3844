"""What the driver would do about a ticket now, before it sends anything of it: for previews. Pure, with its own checks.

    another ticket holds its brokers          it waits
    its time is over                          it expires
    its plan is stale, or too old             it is planned anew; where that can't be: it fails, or starts all the same
    another tool moves partitions             it pauses
    other tickets move topics that it expands their moves are cancelled, and made again afterwards

In the driver's order: the first that holds is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from guardian.execution.loop.admitting import Job, admit
from guardian.execution.rules import expanding, foreign
from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import ConfigKey
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.tickets.rules.approving import why_expired
from guardian.tickets.rules.replanning import doubts
from guardian.tickets.rules.sequences import why_later


@dataclass(frozen=True, slots=True)
class Outlook:
    """Hold what a ticket meets. `driven` are all tickets of the cluster that the executor drives, `jobs` those of them
    whose turn it is, oldest first, with or without its own. `barred` is what somebody has said of its plan's brokers,
    `why_not_anew` why its plan could not be made anew, `protected` are the configuration keys that the protection of
    disks holds.
    """

    jobs: Sequence[Job]
    observation: ClusterObservation
    barred: str
    why_not_anew: str
    max_plan_age_ms: int
    now_ms: int
    protected: frozenset[ConfigKey] = frozenset()
    driven: Sequence[Ticket] = ()


def foretold(ticket: Ticket, work: Execution | Plan, begun: Execution, outlook: Outlook) -> str:
    """Say what comes before the first request, in one sentence; empty where nothing does. `begun` is the execution of
    `work`, as if it had started.
    """
    return (
        _waits(Job(ticket, work), outlook)
        or _expires(ticket, outlook)
        or (_doubted(work, outlook) if isinstance(work, Plan) else "")
        or _meets_others(ticket, begun, outlook)
        or _makes_way(ticket, begun, outlook)
    )


def _waits(job: Job, outlook: Outlook) -> str:
    later = why_later(job.ticket, outlook.driven)
    if later:
        return f"it {later}"
    jobs = [job if each.ticket.id == job.ticket.id else each for each in outlook.jobs]
    _, waiting = admit(jobs if job in jobs else [*jobs, job], {}, lambda each, _: each)
    why = waiting.get(job.ticket.id, "")
    return f"it {why}" if why else ""


def _expires(ticket: Ticket, outlook: Outlook) -> str:
    why = why_expired(ticket, outlook.now_ms)
    return f"it expires: {why}" if why else ""


def _doubted(plan: Plan, outlook: Outlook) -> str:
    stale, doubt = doubts(plan, outlook.observation, outlook.barred, outlook.max_plan_age_ms, outlook.now_ms)
    if not doubt:
        return ""
    if not outlook.why_not_anew:
        return f"its plan is made anew first, since it is stale: {doubt}; what follows is of the approved one"
    if stale:
        why = f"its plan is stale: {stale}; there is no new one: {outlook.why_not_anew}"
        return f"it fails, and nothing is changed: {why}"
    return f"it starts as approved, though {doubt}"


def _makes_way(ticket: Ticket, begun: Execution, outlook: Outlook) -> str:
    topics = expanding.expanded_topics(begun, outlook.observation)
    others = [each for each in outlook.jobs if each.ticket.id != ticket.id] if topics else []
    told = (
        expanding.cancelled_for(topics, each.ticket, each.work, outlook.observation)
        for each in others
        if isinstance(each.work, Execution)
    )
    return "; ".join(f"it {what}" for what in told if what)


def _meets_others(ticket: Ticket, begun: Execution, outlook: Outlook) -> str:
    executions = [each.work for each in outlook.jobs if isinstance(each.work, Execution)]
    works = foreign.found(outlook.observation, [*executions, begun])
    others = foreign.throttles(outlook.observation, [*executions, begun], outlook.protected)
    state = TicketState.RUNNING if ticket.state is TicketState.APPROVED else ticket.state
    noticed = foreign.notice(replace(ticket, state=state), begun, works, others)
    if noticed is None or noticed.transition is None:
        return ""
    if noticed.transition[0] is TicketState.PAUSED and state is TicketState.RUNNING:
        what = noticed.sentence if ticket.id else f"another tool moves {foreign.describe(works)}"
        return f"it pauses before it sends anything: {what}"
    return f"it {noticed.sentence}"
