"""What healing asks a planner for, and the tickets that it makes of the answer. Pure.

    Cure ─▶ the planner ─▶ plan ─▶ trimmed: only what the cure is for, and what nobody else moves ─▶ a ticket

The ticket stores the troubles that it is for, so that a new leader knows what an earlier one did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from guardian.healing.rules.relieving import Relief
from guardian.healing.rules.trouble import CureKind, Trouble
from guardian.health.model.finding import FindingKind
from guardian.model.actor import Agent
from guardian.model.execution import Execution, TaskState
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket, TicketState, TicketTrouble
from guardian.model.topology import TopicPartition
from guardian.model.units import human_duration
from guardian.tickets.rules.trimming import dead_brokers, is_healing, log_dirs_of, only_from, with_moves

# Since a slow disk was emptied: an idle disk looks sound, so that nobody sees whether it is.
EMPTIED_MS = 86_400_000
_REDUNDANT = 2  # living replicas
_MAX_LINES = 20
_MAX_LINE_CHARS = 500
_REFUSALS = (TicketState.REJECTED, TicketState.CANCELLING, TicketState.ROLLING_BACK)


@dataclass(frozen=True, slots=True)
class Cure:
    """A plan to ask for. `troubles`: what it is for. Brokers of `spared` are away for a short time: they keep what they
    hold, and get nothing. `emptied` are log dirs that were emptied lately and stay empty. Two cures with the same key
    make one ticket."""

    kind: CureKind
    cluster: str
    troubles: tuple[Trouble, ...]
    spared: frozenset[int]
    key: str
    submits: bool
    emptied: frozenset[tuple[int, str]] = frozenset()

    @property
    def dead_brokers(self) -> frozenset[int]:
        return dead_brokers(troubles_of(self))

    @property
    def log_dirs(self) -> frozenset[tuple[int, str]]:
        """Broken, slow or full ones, and those that stay empty, as (broker, path)."""
        return log_dirs_of(troubles_of(self))

    @property
    def relief(self) -> Relief | None:
        """That of the line, where it is for one."""
        return self.troubles[0].relief


def evidence_of(cure: Cure, now_ms: int) -> str:
    """Return what a ticket shows of why it was made: a line for each of the first troubles."""
    lines = [
        f"{trouble.subject.title}: {trouble.evidence}"[:_MAX_LINE_CHARS].replace("\n", " ")
        + f" (for {human_duration(now_ms - trouble.since_ms)})"
        for trouble in cure.troubles[:_MAX_LINES]
    ]
    if len(cure.troubles) > _MAX_LINES:
        lines.append(f"and {len(cure.troubles) - _MAX_LINES} more")
    if cure.relief is not None:
        lines.append(cure.relief.sentence)
    if cure.kind is CureKind.EMPTY_DISK:
        lines += [f"empties broker {broker}, log dir {path}" for broker, path in sorted(cure.log_dirs)]
    return "\n".join(lines)


def troubles_of(cure: Cure) -> tuple[TicketTrouble, ...]:
    """Return what a ticket stores of what it is for."""
    stored = [
        TicketTrouble(each.subject.kind, each.subject.name, each.brokers, each.log_dirs) for each in cure.troubles
    ]
    kept: dict[int, list[str]] = {}
    for broker, path in sorted(cure.emptied):
        kept.setdefault(broker, []).append(path)
    return (*stored, *(TicketTrouble(FindingKind.SLOW_DISK, "", (each,), tuple(kept[each])) for each in kept))


def trimmed(plan: Plan, cure: Cure, busy: Collection[TopicPartition] = ()) -> Plan:
    """The plan without what the cure is not for: a planner mends whatever is dead or broken, also a broker that is away
    for a moment. What such a broker would lose besides comes later, and so do partitions that are `busy` (another
    ticket or tool moves them)."""
    if cure.kind is CureKind.HEAL:
        plan = only_from(plan, troubles_of(cure))
        plan = with_moves(plan, [move for move in plan.moves if not _can_wait(move, cure)])
    return with_moves(plan, [move for move in plan.moves if move.partition not in busy])


def _can_wait(move: PartitionMove, cure: Cure) -> bool:
    """It would take a replica off a spared broker too, and there are enough others until that is back or is given up.
    With less than two, being redundant again is worth the copy.
    """
    takes = any(place.broker in cure.spared and place.broker not in move.target_brokers for place in move.original)
    away = cure.spared | cure.dead_brokers | {broker for broker, _ in cure.log_dirs}
    return takes and sum(place.broker not in away for place in move.original) >= _REDUNDANT


def moved_by(ticket: Ticket, work: Execution | Plan, kind: CureKind) -> frozenset[TopicPartition]:
    """The partitions that the ticket keeps from a cure of this kind: what is under way, and what will be as soon as it
    may. What heals does not wait for the latter where it may take days, or for ever: for moves that wait in another
    plan, or in a ticket that is paused. Those find their partitions elsewhere when their turn comes."""
    if isinstance(work, Plan):
        waits = kind is CureKind.HEAL and not is_healing(ticket)
        return frozenset() if waits else frozenset(move.partition for move in work.moves)
    comes_first = is_healing(ticket) or ticket.ask is not None
    yields = kind is CureKind.HEAL and (ticket.state is TicketState.PAUSED or not comes_first)
    return frozenset(
        task.move.partition
        for task in work.tasks
        if not task.state.is_over and not (yields and task.state is TaskState.PENDING)
    )


def emptied_lately(tickets: Iterable[Ticket], broker: int, now_ms: int) -> frozenset[tuple[int, str]]:
    """Return log dirs of the broker that were emptied lately."""
    return log_dirs_of(emptying_lately(tickets, broker, now_ms))


def emptying_lately(tickets: Iterable[Ticket], broker: int, now_ms: int) -> list[TicketTrouble]:
    """Return what tickets are for that have emptied slow disks of the broker, or are at it."""
    return [
        trouble
        for ticket in tickets
        if ticket.kind == CureKind.EMPTY_DISK
        and (ticket.state is TicketState.SUCCEEDED or ticket.state.is_driven)
        and now_ms - ticket.updated_at_ms < EMPTIED_MS
        for trouble in ticket.troubles
        if trouble.brokers == (broker,)
    ]


def was_withdrawn(ticket: Ticket) -> bool:
    """Return whether healing itself withdrew the ticket, as in a storm: that is nobody's word against another one."""
    said = [past for past in ticket.history if past.state in _REFUSALS]
    return bool(said) and said[-1].actor is Agent.HEALING


def was_refused(ticket: Ticket) -> bool:
    """Return whether somebody refused the ticket. The executor only carries out what somebody has said, so the last
    word that counts is a person's.
    """
    said = [past for past in ticket.history if past.state in _REFUSALS]
    return bool(said) and said[-1].actor is not Agent.HEALING
