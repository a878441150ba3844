"""Which tickets of a cluster go on in a tick, and which wait for brokers that others hold. Pure.

Those that began come first; each holds its brokers against later ones, for tickets that shared a broker would share its
rates, and could share partitions. What began is never held up: two that waited for each other would wait for ever.

A ticket that heals does not wait for other plans: it goes on beside them, move by move. None of either begins a copy
where the other is at one, and those of the other wait while it has any left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from guardian.execution.loop.observing import Scope, scope_of
from guardian.execution.loop.operating import held_by, is_moving, scope_of_ask
from guardian.execution.rules.brokers import brokers_at_work, brokers_held, brokers_of
from guardian.execution.rules.copies import under_way
from guardian.execution.rules.expanding import Expansions, only_expands
from guardian.execution.rules.holding import Beside, Hold, beside, claimed, held
from guardian.execution.rules.last_look import looks_once_more
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution, ForeignWork
from guardian.model.operation import PlanAnswer
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.throttle.rules.adapting import Around
from guardian.throttle.rules.throttling import Copy
from guardian.tickets.rules.trimming import is_healing


@dataclass(frozen=True, slots=True)
class Job:
    """A ticket with what it works from: its execution, or its plan before it began. `taken` are the brokers of all
    other tickets that go on, by ticket: what is planned only now keeps off them. `moving` are those between which
    others move replicas now. `answer` is the plan that an operation waits for; `withheld` says why it does not get one
    that is there."""

    ticket: Ticket
    work: Execution | Plan
    taken: Mapping[int, str] = field(default_factory=dict)
    moving: Mapping[int, str] = field(default_factory=dict)
    around: Around | None = None
    answer: PlanAnswer | None = None
    withheld: str = ""
    foreign: tuple[ForeignWork, ...] | None = None  # what other tools move; None when that is not known
    others: str = ""  # their throttles, in words
    under_way: dict[str, tuple[Copy | None, ...]] = field(default_factory=dict)  # by ticket of the cluster, this tick
    holds: dict[str, Hold] = field(default_factory=dict)  # the same
    claims: Mapping[str, Hold] = field(default_factory=dict)  # of heal tickets that go before this one
    expansions: Expansions = field(default_factory=Expansions)  # on the cluster, this tick


def admit(
    found: Sequence[Job],
    moving: Mapping[int, Collection[str]],
    with_answer: Callable[[Job, Mapping[int, str]], Job],
) -> tuple[list[Job], dict[str, str]]:
    """The jobs that may go on now, and by its id what each other ticket waits for.

    `moving` are, by broker, the tickets that move replicas to or from it now. `with_answer` gives a job the plan that
    it waits for, unless it is for brokers that those before it hold.
    """
    jobs: list[Job] = []
    waiting: dict[str, str] = {}
    # By whether it is healing that asks: a rolling restart, which may take days, keeps less from it.
    holders: dict[bool, dict[int, str]] = {False: {}, True: {}}
    # One that waits for another must not be waited for by that one.
    admitted: dict[bool, dict[int, str]] = {False: {}, True: {}}
    for each in sorted(found, key=_turn):
        ticket, job = each.ticket, with_answer(each, holders[False])
        held = {from_healing: _held(job, from_healing) for from_healing in (False, True)}
        before = holders[is_healing(ticket)]
        blocked = {before[broker] for broker in held[False] if broker in before}
        if blocked and not _has_begun(job) and not _finds_out_itself(ticket) and not _goes_beside(job):
            waiting[ticket.id] = f"waits for {', '.join(sorted(blocked))}, on the same brokers"
        else:
            jobs.append(job)
            admitted = {key: dict.fromkeys(held[key], ticket.id) | known for key, known in admitted.items()}
        holders = {key: dict.fromkeys(held[key], ticket.id) | known for key, known in holders.items()}
    taken = [{b: t for b, t in admitted[is_healing(job.ticket)].items() if t != job.ticket.id} for job in jobs]
    return [
        replace(job, taken=others, moving=_without(moving, job.ticket.id))
        for job, others in zip(jobs, taken, strict=True)
    ], waiting


def _has_begun(job: Job) -> bool:
    """Return whether the ticket touches brokers already; before, it waits until no other ticket holds one of them."""
    if job.ticket.state is TicketState.ROLLING_BACK:
        return isinstance(job.work, Execution) and _goes_back(job.work)
    return job.ticket.state is not TicketState.APPROVED


def _goes_back(execution: Execution) -> bool:
    """Return whether a roll-back has begun. Held up on its way, it would leave its throttles to the ticket that it
    waits for, which may wait for its moves.
    """
    return bool(execution.throttles) or bool(is_moving(execution)) or looks_once_more(execution)


def moves_between(ticket: Ticket, execution: Execution) -> frozenset[int]:
    """The brokers between which it moves replicas now; a roll-back comes to all of its own, one after the other. One
    that looks once more would take the rates of another for its own."""
    is_back = ticket.state is TicketState.ROLLING_BACK and _goes_back(execution)
    return brokers_of(execution) if is_back or looks_once_more(execution) else is_moving(execution)


def _turn(job: Job) -> tuple[int, int]:
    """Those that began come first, then what heals, then those that will go back, in the order in which they were asked
    to, then new ones."""
    if _has_begun(job):
        return 0, 0
    if is_healing(job.ticket) and job.ticket.state is TicketState.APPROVED:
        return 1, 0
    return (2, job.ticket.updated_at_ms) if job.ticket.state is TicketState.ROLLING_BACK else (3, 0)


def copies_under_way(
    jobs: Sequence[Job], observation: ClusterObservation, now_ms: int
) -> dict[str, tuple[Copy | None, ...]]:
    """Return by ticket what its active tasks copy."""
    return {job.ticket.id: under_way(job.work, observation, now_ms) for job in jobs if isinstance(job.work, Execution)}


def side_by_side(jobs: Sequence[Job]) -> list[Job]:
    """The jobs, each with what the others are at, and with what heal tickets before it are still to move. What only
    waits to begin claims nothing: it may wait for what would wait for it."""
    holds = {job.ticket.id: held(job.work) for job in jobs if isinstance(job.work, Execution)}
    claims: dict[str, Hold] = {}
    found: list[Job] = []
    for job in sorted(jobs, key=lambda each: not is_healing(each.ticket)):
        found.append(replace(job, holds=holds, claims=dict(claims)))
        if _goes_first(job) and isinstance(job.work, Execution):
            claims[job.ticket.id] = claimed(job.work)
    order = {job.ticket.id: at for at, job in enumerate(jobs)}
    return sorted(found, key=lambda each: order[each.ticket.id])


def beside_of(job: Job) -> Beside:
    """Return what all other tickets keep from this one at this moment of the tick."""
    others = {ticket_id: hold for ticket_id, hold in job.holds.items() if ticket_id != job.ticket.id}
    found = beside([*job.claims.items(), *others.items()])
    topics, ticket_id = job.expansions, job.ticket.id
    return replace(found, expanding=topics.by_others(ticket_id), moving=topics.moved_by_others(ticket_id))


def at_work(jobs: Sequence[Job]) -> frozenset[int]:
    return frozenset().union(*(brokers_at_work(job.work) for job in jobs))


def _finds_out_itself(ticket: Ticket) -> bool:
    """Brokers that another ticket holds keep no removal from beginning: it may ask for nothing new."""
    return ticket.ask is not None and ticket.ask.kind.traits.empties


def _goes_beside(job: Job) -> bool:
    """Return whether it copies nothing and sets no rate: a topic is expanded before moves of it go on."""
    return isinstance(job.work, Plan) and only_expands(job.work)


def _goes_first(job: Job) -> bool:
    return is_healing(job.ticket) and job.ticket.state is TicketState.RUNNING


def _held(job: Job, from_healing: bool) -> frozenset[int]:
    """Return the brokers that the ticket keeps from others. From healing, other plans keep only what they are at
    (`side_by_side`). What waits in them, as in one that is paused for days, would keep a dead broker's partitions from
    being made whole.
    """
    ticket = job.ticket
    if from_healing and ticket.ask is None and not _is_whole(job):
        return frozenset()
    if ticket.ask is None or not isinstance(job.work, Execution):
        return brokers_held(job.work, ticket.state)
    is_paused = ticket.state is TicketState.PAUSED
    return held_by(ticket.ask, job.work, job.answer, from_healing=from_healing, is_paused=is_paused)


def _is_whole(job: Job) -> bool:
    """Return whether the ticket's moves come one after the other, whatever heals beside it. So do those of a heal
    ticket that is not held up, and of a roll-back, which has no order of its own with others.
    """
    is_back = job.ticket.state is TicketState.ROLLING_BACK
    return is_back or (is_healing(job.ticket) and job.ticket.state is not TicketState.PAUSED)


def _without(moving: Mapping[int, Collection[str]], ticket_id: str) -> dict[int, str]:
    """Return by broker the first ticket but this one."""
    others = {broker: sorted(set(each) - {ticket_id}) for broker, each in moving.items()}
    return {broker: each[0] for broker, each in others.items() if each}


def scope_of_job(job: Job) -> Scope:
    if job.ticket.ask is not None and isinstance(job.work, Execution):
        return scope_of_ask(job.work, job.answer)
    return scope_of(job.work, back=job.ticket.state is TicketState.ROLLING_BACK)
