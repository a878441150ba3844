"""What is done about one trouble, or why nothing is. Pure.

Trouble ─┬─ a ticket of ours is open ─▶ waits for it; held up for long: a person is called
         ├─ over, not known, or within its grace period ─▶ waits: a broker that comes back costs no move
         ├─ no plan helps ─▶ a person is called
         ├─ a person said no, or it failed again and again ─▶ a person is called
         ├─ the last plan came to nothing ─▶ waits
         ├─ a storm lately, or enough tickets this hour ─▶ waits
         └─ else ─▶ asks for a plan
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from guardian.healing.model import HealingPolicy
from guardian.healing.rules.cure import EMPTIED_MS, emptying_lately, was_refused
from guardian.healing.rules.trouble import (
    CURE_KINDS,
    PROPOSED_AT_MOST,
    URGENT_KINDS,
    CureKind,
    Standing,
    Trouble,
    covers,
    newest_for,
)
from guardian.health.model.finding import FindingKind, Subject
from guardian.model.execution import Execution, TaskState
from guardian.model.text import Text
from guardian.model.ticket import Ticket, TicketState
from guardian.model.units import human_duration

CALM_MS = 60_000  # after a storm, and after this leader began to look
HELD_UP_MS = 300_000  # by what others move: then a person is called
TRIES = 3  # tickets for the same trouble that failed within a day: then a person is called
_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Tried:
    """A plan that came to nothing: there was nothing to move now, or (`is_failure`) what there was could not be. Until
    `until_ms` nobody asks again. Since `busy_since_ms` all that there is to move is being moved by others; 0: it is
    not."""

    until_ms: int
    sentence: Text
    is_failure: bool = False
    busy_since_ms: int = 0


@dataclass(frozen=True, slots=True)
class Idle:
    """A ticket that has moves left, none of which is under way since `since_ms`, and what the first of them says."""

    since_ms: int
    why: Text


@dataclass(frozen=True, slots=True)
class Known:
    """All that a decision about one cluster rests on. `brokers`: how many it is to have. `tickets`: healing's own there
    that are not over or ended within `remembered_ms`; `running`: ids of all that run there. `calm_since_ms`: when it
    was last a storm, or when this leader began to look. `stormed_ms`: when it was last a storm that this leader saw, 0:
    never. `is_seen`: the last looks at its brokers and replicas succeeded. `alive`: the brokers that live, as far as
    was seen. `idle`: those of its own tickets, by id, of which nothing moves. `held_back`: why nothing is healed now
    (`why_wait`).
    """

    cluster: str
    brokers: int
    troubles: tuple[Trouble, ...]
    tickets: tuple[Ticket, ...] = ()
    tried: Mapping[Subject, Tried] = field(default_factory=dict)
    calm_since_ms: int = 0
    running: tuple[str, ...] = ()
    is_seen: bool = True
    stormed_ms: int = 0
    alive: frozenset[int] = frozenset()
    idle: Mapping[str, Idle] = field(default_factory=dict)
    held_back: str = ""


def idle(ticket: Ticket, execution: Execution) -> Idle | None:
    """None while something of the ticket moves, or nothing is left to."""
    left = [task for task in execution.tasks if not task.state.is_over]
    if ticket.state is not TicketState.RUNNING or not left:
        return None
    if any(task.state is not TaskState.PENDING for task in left):
        return None
    since_ms = max([ticket.updated_at_ms, *(task.ended_at_ms for task in execution.tasks)])
    return Idle(since_ms, f"{left[0].move.partition} {left[0].detail}")


def remembered_ms(policy: HealingPolicy) -> int:
    """Return for how long after its end, in ms, a ticket of healing's still has a say."""
    return max(_DAY_MS, EMPTIED_MS, int(policy.rest_s * 1000) << (TRIES - 2))


def tickets_of_last_hour(known: Known, now_ms: int, kinds: Collection[str] = URGENT_KINDS) -> int:
    """Those that healing made of these kinds: drafts that wait for a person hold up no healing."""
    return sum(ticket.kind in kinds and now_ms - ticket.created_at_ms < _HOUR_MS for ticket in known.tickets)


class Phase(StrEnum):
    """How far healing is with a trouble."""

    OBSERVED = "observed"  # the cluster's policy does no more
    GRACE = "grace"
    BRAKED = "braked"  # by a storm, or by the rate limit
    ACTS = "acts"
    WAITS = "waits"
    DONE = "done"
    PERSON = "person"  # is called


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is done about a trouble, or why nothing is, in one sentence. With `asks` a plan is due for it."""

    trouble: Trouble
    phase: Phase
    sentence: Text
    ticket_id: str = ""
    asks: bool = False


def verdict_on(policy: HealingPolicy, known: Known, trouble: Trouble, now_ms: int) -> Verdict:
    """Return the first of all reasons for not asking for a plan now, or that one is asked for."""
    newest = newest_for(known.tickets, trouble.subject)
    if newest is not None and not newest.state.is_over:
        return _of_open(trouble, newest, known, now_ms)
    return (
        _not_now(policy, trouble, newest, now_ms)
        or _unplannable(known, trouble, now_ms)
        or _after_tickets(policy, known, trouble, newest, now_ms)
        or _after_plan(known, trouble, now_ms)
        or _held_back(policy, known, trouble, now_ms)
        or _asks(known, trouble, now_ms)
    )


def _of_open(trouble: Trouble, ticket: Ticket, known: Known, now_ms: int) -> Verdict:
    """A ticket of hours on the same brokers must not hold up healing in silence."""
    held_up_ms = now_ms - ticket.updated_at_ms
    running = [each for each in known.running if each != ticket.id]
    if ticket.state is TicketState.APPROVED and running and held_up_ms >= HELD_UP_MS:
        others = ", ".join(running[:_NAMED])
        sentence = (
            f"ticket {ticket.id} has been APPROVED for {human_duration(held_up_ms)} and does not start while {others} "
            "runs on its brokers: cancel that one, or wait for it"
        )
        return Verdict(trouble, Phase.PERSON, sentence, ticket.id)
    still = known.idle.get(ticket.id)
    if still is not None and now_ms - still.since_ms >= HELD_UP_MS:
        lasts = human_duration(now_ms - still.since_ms)
        sentence = f"ticket {ticket.id} has moved nothing for {lasts}: {still.why}"
        return Verdict(trouble, Phase.PERSON, sentence, ticket.id)
    waits = ticket.state in (TicketState.DRAFT, TicketState.PENDING)
    act = "guardian ticket submit" if ticket.state is TicketState.DRAFT else "guardian ticket approve"
    sentence = f"ticket {ticket.id} is {ticket.state.name}" + (f": {act} {ticket.id} lets it run" if waits else "")
    return Verdict(trouble, Phase.WAITS if waits else Phase.ACTS, sentence, ticket.id)


def _not_now(policy: HealingPolicy, trouble: Trouble, newest: Ticket | None, now_ms: int) -> Verdict | None:
    """It is over, nobody knows, or it may end by itself."""
    if trouble.standing is Standing.OVER:
        return Verdict(trouble, Phase.DONE, "is over", newest.id if newest else "")
    if trouble.standing is Standing.UNKNOWN:
        return Verdict(trouble, Phase.WAITS, "the last look failed: waits for one that succeeds")
    if trouble.is_healed:
        return Verdict(
            trouble, Phase.DONE, "nothing is left to move: repair it, or remove it", newest.id if newest else ""
        )
    if not trouble.is_raised:
        return Verdict(
            trouble, Phase.GRACE, "was seen once: waits for a second look, however short its grace period is"
        )
    grace_ms = round(_grace_s(policy, trouble) * 1000)
    left_ms = trouble.since_ms + grace_ms - now_ms
    if left_ms <= 0:
        return None
    sentence = f"waits {human_duration(left_ms)} of {human_duration(grace_ms)} for it to end by itself"
    return Verdict(trouble, Phase.GRACE, sentence)


def _grace_s(policy: HealingPolicy, trouble: Trouble) -> float:
    return {
        FindingKind.BROKER_DOWN: policy.broker_grace_s,
        FindingKind.LOG_DIR_OFFLINE: policy.log_dir_grace_s,
        FindingKind.SLOW_DISK: policy.slow_disk_grace_s,
    }.get(trouble.subject.kind, policy.balance_grace_s)


def _unplannable(known: Known, trouble: Trouble, now_ms: int) -> Verdict | None:
    """Return the verdict on what a planner need not be asked about; None: ask it."""
    if trouble.subject.kind is FindingKind.SLOW_DISK:
        if not trouble.log_dirs:
            sentence = (
                "nobody knows which of its broker's log dirs are on it, so none can be emptied: look at the disk, and "
                "at what the reporter says of its log dirs"
            )
            return Verdict(trouble, Phase.PERSON, sentence)
        slow = _slow_disks(known, trouble.brokers[0], now_ms) | {trouble.subject.name}
        if trouble.disks and len(slow) > 1 and 2 * len(slow) > trouble.disks:
            sentence = (
                f"{len(slow)} of the broker's {trouble.disks} disks are slow, or were emptied as slow within "
                f"{human_duration(EMPTIED_MS)}: what they share is slow (controller, cabling), look at it"
            )
            return Verdict(trouble, Phase.PERSON, sentence)
    if trouble.subject.kind is FindingKind.LINE_NEAR_LIMIT and trouble.relief is None:
        sentence = (
            "no move of leaders or replicas takes off the line what crosses it (producers, or replicas that are to be "
            "there): look who crosses, move clients, or widen the line"
        )
        return Verdict(trouble, Phase.PERSON, sentence)
    return None


def _slow_disks(known: Known, broker: int, now_ms: int) -> set[str]:
    """Names of the broker's disks that are slow now, or were emptied lately."""
    slow = [each for each in known.troubles if each.subject.kind is FindingKind.SLOW_DISK and broker in each.brokers]
    return {
        *(each.subject.name for each in slow if each.standing is not Standing.OVER),
        *(each.subject for each in emptying_lately(known.tickets, broker, now_ms) if each.subject),
    }


def _after_tickets(
    policy: HealingPolicy, known: Known, trouble: Trouble, newest: Ticket | None, now_ms: int
) -> Verdict | None:
    """Return what an earlier ticket for the same means for a new one; None when nothing is against it."""
    if newest is None:
        return None
    last = newest.history[-1] if newest.history else None
    refused = newest.state in (TicketState.REJECTED, TicketState.CANCELLED, TicketState.ROLLED_BACK)
    if refused and was_refused(newest) and now_ms - newest.updated_at_ms < _DAY_MS:
        why = f" ({last.reason})" if last and last.reason else ""
        sentence = f"ticket {newest.id} is {newest.state.name}{why}: healing leaves it to a person for a day"
        return Verdict(trouble, Phase.PERSON, sentence, newest.id)
    lately = [
        ticket
        for ticket in known.tickets
        if covers(ticket, trouble.subject) and now_ms - ticket.updated_at_ms < _DAY_MS
    ]
    failed = [ticket for ticket in lately if ticket.state is TicketState.FAILED]
    if len(failed) >= TRIES:
        reason = newest.history[-1].reason if newest.history else ""
        sentence = f"{len(failed)} tickets failed within a day, the last one, {newest.id}, because {reason}"
        return Verdict(trouble, Phase.PERSON, sentence, newest.id)
    rest_ms = round(policy.rest_s * 1000) * 2 ** max(0, len(failed) - 1)
    left_ms = newest.updated_at_ms + rest_ms - now_ms
    if newest.state in (TicketState.SUCCEEDED, TicketState.FAILED) and left_ms > 0:
        phase = Phase.DONE if newest.state is TicketState.SUCCEEDED else Phase.WAITS
        sentence = f"ticket {newest.id} is {newest.state.name}: looks for what is left in {human_duration(left_ms)}"
        return Verdict(trouble, phase, sentence, newest.id)
    return None


def _after_plan(known: Known, trouble: Trouble, now_ms: int) -> Verdict | None:
    tried = known.tried.get(trouble.subject)
    if tried is None or now_ms >= tried.until_ms:
        return None
    if _is_held_up(trouble, tried, now_ms):
        return _held_up(trouble, tried, now_ms)
    return Verdict(trouble, Phase.PERSON if tried.is_failure else Phase.WAITS, tried.sentence)


def _held_back(policy: HealingPolicy, known: Known, trouble: Trouble, now_ms: int) -> Verdict | None:
    if known.held_back:
        return Verdict(trouble, Phase.WAITS, f"waits: {known.held_back}")
    is_proposed = trouble.cure in PROPOSED_AT_MOST
    calm_ms = known.calm_since_ms + CALM_MS - now_ms
    if calm_ms > 0 and trouble.cure is not CureKind.HEAL:
        return Verdict(trouble, Phase.WAITS, f"waits {human_duration(calm_ms)} for the cluster to be calm")
    stormed_ms = known.stormed_ms + CALM_MS - now_ms
    if known.stormed_ms and stormed_ms > 0:
        return Verdict(trouble, Phase.WAITS, f"waits {human_duration(stormed_ms)}: there was a storm")
    made = tickets_of_last_hour(known, now_ms, CURE_KINDS - URGENT_KINDS if is_proposed else URGENT_KINDS)
    if made < policy.tickets_per_hour:
        return None
    told = f"{made} healing tickets were made within an hour, the most allowed: waits"
    if trouble.cure is CureKind.HEAL:
        return Verdict(trouble, Phase.PERSON, f"{told}, look what breaks so often, or raise tickets_per_hour")
    return Verdict(trouble, Phase.BRAKED, told)


def _asks(known: Known, trouble: Trouble, now_ms: int) -> Verdict:
    """A person who was called meanwhile stays called until there is an answer."""
    tried = known.tried.get(trouble.subject)
    if tried is not None and _is_held_up(trouble, tried, now_ms):
        return replace(_held_up(trouble, tried, now_ms), asks=True)
    return Verdict(trouble, Phase.ACTS, "asks for a plan", asks=True)


def _is_held_up(trouble: Trouble, tried: Tried, now_ms: int) -> bool:
    is_urgent = trouble.cure not in PROPOSED_AT_MOST
    return is_urgent and bool(tried.busy_since_ms) and now_ms - tried.busy_since_ms >= HELD_UP_MS


def _held_up(trouble: Trouble, tried: Tried, now_ms: int) -> Verdict:
    lasts = human_duration(now_ms - tried.busy_since_ms)
    return Verdict(trouble, Phase.PERSON, f"for {lasts} {tried.sentence}; cancel what holds it up, or wait for it")
