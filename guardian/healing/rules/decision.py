"""What to do about troubles that last, without a person: one decision for a cluster. Pure.

    findings ─▶ Trouble ─┬─ too many brokers at once ─▶ STORM: nothing is moved, a person is called
                         ├─ a verdict (guardian.healing.rules.verdict) says that it waits, or calls a person
                         └─ else ─▶ Cure: a plan is asked for, and becomes a ticket with this as its evidence

What was done is read from the tickets themselves: each stores the troubles that it is for, so that a new leader knows
what an earlier one did. In memory are only findings (seen again soon) and plans that came to nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from guardian.healing.model import HealingMode, HealingPolicy
from guardian.healing.rules.cure import Cure, emptied_lately
from guardian.healing.rules.trouble import (
    CURE_KINDS,
    PROPOSED_AT_MOST,
    CureKind,
    Standing,
    Trouble,
    covers,
    newest_for,
    troubled_brokers,
)
from guardian.healing.rules.verdict import CALM_MS, Known, Phase, Verdict, remembered_ms, verdict_on
from guardian.health.model.finding import FindingKind, Sighting, Subject
from guardian.model.actor import Agent
from guardian.model.text import Text, some
from guardian.model.ticket import MAX_TROUBLES, Ticket, TicketState

# Those that can come all at once, of one cause that no move mends.
_STORMY = (FindingKind.BROKER_DOWN, FindingKind.LOG_DIR_OFFLINE, FindingKind.SLOW_DISK)
_NEVER_RAN = (TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED)
_NAMED = 5


class Act(Enum):
    """What is done to a ticket of healing's own."""

    WITHDRAW = "withdraw"  # REJECTED when it never ran, else CANCELLING
    PAUSE = "pause"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class TicketAct:
    act: Act
    ticket: Ticket
    reason: Text


@dataclass(frozen=True, slots=True)
class Decision:
    """`cure` is the next plan to ask for; `storm` why nothing is moved, empty: there is none; `called` what a person is
    told besides the troubles themselves."""

    verdicts: tuple[Verdict, ...]
    cure: Cure | None = None
    acts: tuple[TicketAct, ...] = ()
    storm: str = ""
    called: tuple[Sighting, ...] = ()


def decide(policy: HealingPolicy, known: Known, now_ms: int) -> Decision:
    """The same input gives the same decision; whoever repeats one after a crash does nothing twice."""
    storm = _storm(policy, known)
    if policy.mode is HealingMode.OBSERVE:
        verdicts = [
            Verdict(each, Phase.OBSERVED, "healing observes here: see [healing] mode") for each in known.troubles
        ]
        # The guard of exclusions moves replicas in every mode: a storm stops it in every mode.
        acts = tuple(act for act in _brakes(known, storm, now_ms) if act.ticket.kind not in CURE_KINDS)
        return Decision(tuple(verdicts), None, acts, storm, _calls(known.cluster, storm, ()))
    if storm:
        verdicts = [_braked(trouble, known) for trouble in known.troubles]
        acts = tuple(_brakes(known, storm, now_ms))
        return Decision(tuple(verdicts), None, acts, storm, _calls(known.cluster, storm, ()))
    verdicts = [verdict_on(policy, known, trouble, now_ms) for trouble in known.troubles]
    due = [verdict.trouble for verdict in verdicts if verdict.asks]
    soon = [verdict.trouble for verdict in verdicts if verdict.phase is Phase.GRACE and verdict.trouble.is_raised]
    cure = _cure(policy, known, due, soon, now_ms) if due else None
    acts = (*_needless(known, now_ms), *_brakes(known, storm, now_ms))
    return Decision(tuple(verdicts), cure, acts, "", _calls(known.cluster, "", verdicts))


def _storm(policy: HealingPolicy, known: Known) -> str:
    """Say why nothing is moved; empty when there is no storm. Those that wait out their grace period count; those whose
    replicas are elsewhere by now don't.
    """
    troubled = {
        broker
        for trouble in known.troubles
        if trouble.subject.kind in _STORMY and trouble.standing is not Standing.OVER and not trouble.is_healed
        for broker in trouble.brokers
    }
    most = policy.most_troubled(known.brokers)
    if len(troubled) <= most:
        return ""
    return (
        f"{len(troubled)} of {known.brokers} brokers are in trouble at once ({some(sorted(troubled), _NAMED)}), more "
        f"than the {most} that healing deals with: nothing is moved, look for what they have in common (power, rack, "
        "network, a release)"
    )


def _cure(policy: HealingPolicy, known: Known, due: Sequence[Trouble], soon: Sequence[Trouble], now_ms: int) -> Cure:
    """Choose the cure of the gravest trouble. Dead brokers and broken disks are cured together, and slow disks of one
    broker, those that are due `soon` too; everything else one at a time. What leaves a slow disk must not go to another
    slow one, nor back to one that was emptied.
    """
    first = due[0]
    together = [first]
    emptied: frozenset[tuple[int, str]] = frozenset()
    if first.cure is CureKind.HEAL:
        together = [each for each in due if each.cure is first.cure][:MAX_TROUBLES]
    elif first.cure is CureKind.EMPTY_DISK:
        together = [each for each in (*due, *soon) if each.cure is first.cure and each.brokers == first.brokers]
        emptied = emptied_lately(known.tickets, first.brokers[0], now_ms)
    away = [each for each in known.troubles if each.subject.kind is FindingKind.BROKER_DOWN and each not in together]
    newest = [newest_for(known.tickets, each.subject) for each in together]
    # Of an older ticket for the same nothing is known here; its key must not come again.
    era = f"era {now_ms // remembered_ms(policy)}"
    parts = [known.cluster, *(each.subject.title for each in together), *(each.id if each else era for each in newest)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return Cure(
        first.cure,
        known.cluster,
        tuple(together),
        frozenset(broker for each in away for broker in each.brokers),
        f"healing/{first.cure}/{digest}",
        submits=policy.mode is HealingMode.ACT and first.cure not in PROPOSED_AT_MOST,
        emptied=emptied,
    )


def _braked(trouble: Trouble, known: Known) -> Verdict:
    newest = newest_for(known.tickets, trouble.subject)
    ticket_id = newest.id if newest is not None and not newest.state.is_over else ""
    return Verdict(trouble, Phase.BRAKED, "too much is wrong at once: nothing is moved, a person is called", ticket_id)


def _brakes(known: Known, storm: str, now_ms: int) -> Iterable[TicketAct]:
    """Return what a storm stops, and what goes on after one."""
    if storm:
        return [_stopped(ticket, storm) for ticket in known.tickets if _is_moving(ticket)]
    return _resumed(known, now_ms)


def _is_moving(ticket: Ticket) -> bool:
    """Runs, or would without a person."""
    return ticket.state in (TicketState.PENDING, TicketState.APPROVED, TicketState.RUNNING)


def _stopped(ticket: Ticket, storm: str) -> TicketAct:
    act = Act.PAUSE if ticket.state is TicketState.RUNNING else Act.WITHDRAW
    return TicketAct(act, ticket, f"storm: {storm}")


def _needless(known: Known, now_ms: int) -> Iterable[TicketAct]:
    """Stop tickets for dead brokers and broken disks that are all back. What did not start is not started, what moves
    to a place of a broker that is back goes home. This is done only where it is known that they are back, and not
    merely not seen. Of a broker that is stopped nobody sees that a log dir of it is broken, and one that is being
    removed is no trouble.
    """
    if not known.is_seen or now_ms - known.calm_since_ms < CALM_MS:
        return
    troubled = troubled_brokers(trouble for trouble in known.troubles if trouble.cure is CureKind.HEAL)
    for ticket in known.tickets:
        if ticket.kind != CureKind.HEAL or not ticket.troubles or _is_wanted(ticket, known):
            continue
        brokers = {broker for trouble in ticket.troubles for broker in trouble.brokers}
        if brokers & troubled or not brokers <= known.alive:
            continue
        if ticket.state in (*_NEVER_RAN, TicketState.RUNNING, TicketState.PAUSED):
            yield TicketAct(Act.WITHDRAW, ticket, "what it was for is over")


def _resumed(known: Known, now_ms: int) -> Iterable[TicketAct]:
    """Resume what a storm has paused when it has been calm for a while."""
    if now_ms - known.calm_since_ms < CALM_MS:
        return
    for ticket in known.tickets:
        paused = ticket.state is TicketState.PAUSED and ticket.history and ticket.history[-1].actor is Agent.HEALING
        # A disk that is being emptied looks sound; of all others it is seen whether they are still wanted.
        is_judged = ticket.kind in CURE_KINDS and ticket.kind != CureKind.EMPTY_DISK and ticket.troubles
        if paused and (not is_judged or _is_wanted(ticket, known)):
            yield TicketAct(Act.RESUME, ticket, "the storm is over")


def _is_wanted(ticket: Ticket, known: Known) -> bool:
    """Tell whether something that the ticket was made for is still among the troubles."""
    return any(covers(ticket, trouble.subject) for trouble in known.troubles)


def _calls(cluster: str, storm: str, verdicts: Iterable[Verdict]) -> tuple[Sighting, ...]:
    show = f"guardian healing status --cluster {cluster}"
    called = [Sighting(Subject(FindingKind.STORM, cluster, "healing"), storm, show)] if storm else []
    for verdict in verdicts:
        if verdict.phase is Phase.PERSON:
            subject = Subject(FindingKind.HEALING_FAILED, cluster, verdict.trouble.subject.title)
            called.append(Sighting(subject, verdict.sentence, show, brokers=verdict.trouble.brokers))
    return tuple(called)
