"""What to do about troubles that last, without a person. Pure.

    findings ─▶ Trouble ─┬─ too many brokers at once ─▶ STORM: nothing is moved, a person is called
                         ├─ within its grace period ──▶ waits: a broker that comes back costs no move
                         ├─ a ticket of ours is open ─▶ waits for it; takes it back when the trouble is over
                         ├─ a person said no, or it failed again and again ─▶ a person is called
                         ├─ enough tickets this hour ─▶ waits
                         └─ else ─▶ Cure: a plan is asked for, and becomes a ticket with this as its evidence

What was done is read from the tickets themselves: each stores the troubles that it is for, so that a new leader knows
what an earlier one did. In memory are only findings (seen again soon) and plans that came to nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum

from guardian.core.findings import Seen, Watch
from guardian.core.relieving import ClusterPlaces, Relief, cluster_of, relief_of
from guardian.model.actor import Agent
from guardian.model.execution import Execution, TaskState
from guardian.model.finding import Detector, FindingKind, LastLook, Place, Sighting, Subject
from guardian.model.healing import HealingMode, HealingPolicy
from guardian.model.plan import PartitionMove, Plan
from guardian.model.text import Text, some
from guardian.model.ticket import MAX_TROUBLES, Ticket, TicketState, TicketTrouble
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from guardian.model.units import human_duration

CALM_MS = 60_000  # after a storm, and after this leader began to look
HELD_UP_MS = 300_000  # by what others move: then a person is called
TRIES = 3  # tickets for the same trouble that failed within a day: then a person is called
_REDUNDANT = 2  # living replicas
_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_EMPTIED_MS = _DAY_MS  # since a slow disk was emptied: an idle disk looks sound, so that nobody sees whether it is
_NAMED = 5
_MAX_LINES = 20
_MAX_LINE_CHARS = 500


class CureKind(StrEnum):
    """The kind of plan, as tickets name it."""

    HEAL = "heal"
    EMPTY_DISK = "empty-disk"
    BALANCE = "balance"
    RELIEVE = "relieve"
    LEADERS = "leaders"
    MIGRATE_IDC = "migrate-idc"


_CURES = {
    FindingKind.BROKER_DOWN: CureKind.HEAL,
    FindingKind.LOG_DIR_OFFLINE: CureKind.HEAL,
    FindingKind.SLOW_DISK: CureKind.EMPTY_DISK,
    FindingKind.DISK_FILLS: CureKind.RELIEVE,
    FindingKind.SKEW: CureKind.BALANCE,
}
# Those that can come all at once, of one cause that no move mends.
_STORMY = (FindingKind.BROKER_DOWN, FindingKind.LOG_DIR_OFFLINE, FindingKind.SLOW_DISK)
_WAITED_OUT = (FindingKind.FENCED_SERVES, FindingKind.STATE_UNKNOWN)  # nothing is healed before
_OF_LINES = (CureKind.LEADERS, CureKind.MIGRATE_IDC)
# What is not urgent is proposed at most: when to move so much for evenness is for a person to say.
_PROPOSED_AT_MOST = (CureKind.BALANCE, CureKind.RELIEVE, *_OF_LINES)
_URGENT_KINDS = frozenset(kind.value for kind in CureKind if kind not in _PROPOSED_AT_MOST)
_CURE_KINDS = frozenset(kind.value for kind in CureKind)  # of its author are also tickets of the guard of exclusions
_NEVER_RAN = (TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED)


class Standing(Enum):
    """What the last look at a trouble's place says of it."""

    PRESENT = "seen"
    OVER = "seen no more"
    UNKNOWN = "the last look failed"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that was seen, raised or not, and that healing knows a cure for. `relief` is that of a line; None:
    nothing can be planned that takes load off it. `disks` are how many its broker has, 0: not known."""

    subject: Subject
    evidence: Text
    since_ms: int
    standing: Standing = Standing.PRESENT
    brokers: tuple[int, ...] = ()
    log_dirs: tuple[str, ...] = ()
    replicas: int | None = None
    is_raised: bool = True
    relief: Relief | None = None
    disks: int = 0

    @property
    def is_healed(self) -> bool:
        """Nothing is left that it could harm: its replicas are elsewhere by now."""
        return self.replicas == 0

    @property
    def cure(self) -> CureKind:
        if self.subject.kind is FindingKind.LINE_NEAR_LIMIT:
            return CureKind.MIGRATE_IDC if self.relief is not None and self.relief.policy else CureKind.LEADERS
        return _CURES[self.subject.kind]


def troubles(watch: Watch, cluster: str, of_lines: Iterable[Trouble] = ()) -> tuple[Trouble, ...]:
    """Of one cluster, the gravest first, with those `of_lines` that fall to it. Findings that no plan cures are left
    out."""
    found = [
        _trouble(subject, seen, watch)
        for subject, seen in watch.seen.items()
        if subject.cluster == cluster and subject.kind in _CURES
    ]
    return tuple(sorted((*found, *of_lines), key=lambda each: (each.subject.kind.gravity, each.since_ms, each.subject)))


def has_lines(watch: Watch) -> bool:
    """Whether a line between IDCs is among what was seen."""
    return any(subject.kind is FindingKind.LINE_NEAR_LIMIT for subject in watch.seen)


def line_troubles(
    watch: Watch, places: Mapping[str, ClusterPlaces], tickets: Iterable[Ticket]
) -> Mapping[str, tuple[Trouble, ...]]:
    """By cluster, the lines near their limits that fall to it: a line is of no one cluster, its relief is planned in
    one. That is where a ticket for it is open already, or else where the most can be done about it. `tickets` are all
    of healing's own."""
    own = [ticket for ticket in tickets if not ticket.state.is_over]
    found: dict[str, tuple[Trouble, ...]] = {}
    for subject, seen in watch.seen.items():
        if subject.kind is not FindingKind.LINE_NEAR_LIMIT:
            continue
        crossers = seen.sighting.crossers
        under_way = (each.cluster for each in own if covers(each, subject._replace(cluster=each.cluster)))
        cluster = next(under_way, cluster_of(crossers, places))
        if cluster in places:
            trouble = _trouble(subject._replace(cluster=cluster), seen, watch)
            relief = relief_of(crossers, cluster, places[cluster])
            found[cluster] = (*found.get(cluster, ()), replace(trouble, relief=relief))
    return found


def _trouble(subject: Subject, seen: Seen, watch: Watch) -> Trouble:
    return Trouble(
        subject,
        seen.sighting.evidence,
        seen.since_ms,
        _standing(seen.last_seen_ms, watch.looks.get(seen.place, LastLook())),
        seen.sighting.brokers,
        seen.sighting.log_dirs,
        seen.sighting.replicas,
        seen.is_raised,
        disks=seen.sighting.disks,
    )


def is_seen(watch: Watch, cluster: str) -> bool:
    """Whether the last looks at the cluster's brokers and replicas succeeded: then what is not among the troubles is
    none."""
    lasts = [watch.looks.get(Place(each, cluster), LastLook()) for each in (Detector.BROKERS, Detector.REPLICAS)]
    return all(last.looked_at_ms > last.failed_at_ms for last in lasts) and not why_wait(watch, cluster)


def why_wait(watch: Watch, cluster: str) -> str:
    """Return why nothing is healed, as of the last look: the cluster's state is unknown, or a broker has lost the
    controllers and serves clients all the same; empty: nothing is in the way."""
    for subject, seen in sorted(watch.seen.items()):
        if subject.cluster == cluster and subject.kind in _WAITED_OUT:
            standing = _standing(seen.last_seen_ms, watch.looks.get(seen.place, LastLook()))
            if standing is not Standing.OVER:
                return seen.sighting.evidence
    return ""


def _standing(last_seen_ms: int, last: LastLook) -> Standing:
    if last.failed_at_ms > last.looked_at_ms:
        return Standing.UNKNOWN
    return Standing.PRESENT if last_seen_ms >= last.looked_at_ms else Standing.OVER


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
    """All that a decision about one cluster rests on. `brokers`: how many it is to have; `tickets`: healing's own
    there, `running`: ids of all that run there; `calm_since_ms`: when it was last a storm, or when this leader
    began to look; `stormed_ms`: when it was last a storm that this leader saw, 0: never; `is_seen`: the last looks at
    its brokers and replicas succeeded; `alive`: the brokers that live, as far as was seen; `idle`: those of its own
    tickets, by id, of which nothing moves; `held_back`: why nothing is healed now (`why_wait`)."""

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
        return _dead(troubles_of(self))

    @property
    def log_dirs(self) -> frozenset[tuple[int, str]]:
        """Broken, slow or full ones, and those that stay empty, as (broker, path)."""
        return _log_dirs(troubles_of(self))

    @property
    def relief(self) -> Relief | None:
        """That of the line, where it is for one."""
        return self.troubles[0].relief


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
        acts = tuple(act for act in _brakes(known, storm, now_ms) if act.ticket.kind not in _CURE_KINDS)
        return Decision(tuple(verdicts), None, acts, storm, _calls(known.cluster, storm, ()))
    if storm:
        verdicts = [_braked(trouble, known) for trouble in known.troubles]
        acts = tuple(_brakes(known, storm, now_ms))
        return Decision(tuple(verdicts), None, acts, storm, _calls(known.cluster, storm, ()))
    verdicts = [_verdict(policy, known, trouble, now_ms) for trouble in known.troubles]
    due = [verdict.trouble for verdict in verdicts if verdict.asks]
    soon = [verdict.trouble for verdict in verdicts if verdict.phase is Phase.GRACE and verdict.trouble.is_raised]
    cure = _cure(policy, known, due, soon, now_ms) if due else None
    acts = (*_needless(known, now_ms), *_brakes(known, storm, now_ms))
    return Decision(tuple(verdicts), cure, acts, "", _calls(known.cluster, "", verdicts))


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


def covers(ticket: Ticket, subject: Subject) -> bool:
    """Whether the ticket was made because of this, among others."""
    kind, cluster, name = subject
    return ticket.cluster == cluster and any((each.kind, each.subject) == (kind, name) for each in ticket.troubles)


def trimmed(plan: Plan, cure: Cure, busy: Collection[TopicPartition] = ()) -> Plan:
    """The plan without what the cure is not for: a planner mends whatever is dead or broken, also a broker that is away
    for a moment. What such a broker would lose besides comes later, and so do partitions that are `busy` (another
    ticket or tool moves them)."""
    if cure.kind is CureKind.HEAL:
        plan = _only_from(plan, troubles_of(cure))
        plan = _with(plan, [move for move in plan.moves if not _can_wait(move, cure)])
    return _with(plan, [move for move in plan.moves if move.partition not in busy])


def _can_wait(move: PartitionMove, cure: Cure) -> bool:
    """It would take a replica off a spared broker too, and there are enough others until that is back or is given up:
    with less than two, being redundant again is worth the copy."""
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


def is_healing(ticket: Ticket) -> bool:
    """Return whether healing made it to heal: such a ticket goes before others, a person's of this kind does not."""
    return ticket.author is Agent.HEALING and ticket.kind == CureKind.HEAL


def idle(ticket: Ticket, execution: Execution) -> Idle | None:
    """None while something of the ticket moves, or nothing is left to."""
    left = [task for task in execution.tasks if not task.state.is_over]
    if ticket.state is not TicketState.RUNNING or not left:
        return None
    if any(task.state is not TaskState.PENDING for task in left):
        return None
    since_ms = max([ticket.updated_at_ms, *(task.ended_at_ms for task in execution.tasks)])
    return Idle(since_ms, f"{left[0].move.partition} {left[0].detail}")


def trimmed_again(plan: Plan, ticket: Ticket) -> Plan:
    """A plan that was made anew for a ticket of healing's, without what the ticket is not for."""
    if not is_healing(ticket) or not ticket.troubles:
        return plan
    return _only_from(plan, ticket.troubles)


def _only_from(plan: Plan, found: Collection[TicketTrouble]) -> Plan:
    dead, broken = _dead(found), _log_dirs(found)
    return _with(plan, [move for move in plan.moves if _leaves(move, dead, broken)])


def _dead(found: Iterable[TicketTrouble]) -> frozenset[int]:
    return frozenset(broker for each in found if each.kind == FindingKind.BROKER_DOWN for broker in each.brokers)


def _log_dirs(found: Iterable[TicketTrouble]) -> frozenset[tuple[int, str]]:
    return frozenset((broker, path) for each in found for broker in each.brokers for path in each.log_dirs)


def _with(plan: Plan, moves: list[PartitionMove]) -> Plan:
    return plan if len(moves) == len(plan.moves) else replace(plan, moves=tuple(moves))


def _leaves(move: PartitionMove, dead: frozenset[int], broken: frozenset[tuple[int, str]]) -> bool:
    left = [place for place in move.original if place.broker not in move.target_brokers]
    return any(
        place.broker in dead
        or (place.broker, place.log_dir) in broken
        # A log dir that failed does not tell what was on it.
        or (place.log_dir == ANY_LOG_DIR and any(place.broker == broker for broker, _ in broken))
        for place in left
    )


def tickets_of_last_hour(known: Known, now_ms: int, kinds: Collection[str] = _URGENT_KINDS) -> int:
    """Those that healing made of these kinds: drafts that wait for a person hold up no healing."""
    return sum(ticket.kind in kinds and now_ms - ticket.created_at_ms < _HOUR_MS for ticket in known.tickets)


def _storm(policy: HealingPolicy, known: Known) -> str:
    """Why nothing is moved. Those that wait out their grace period count; those whose replicas are elsewhere by now
    don't."""
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


def troubled_brokers(found: Iterable[Trouble]) -> frozenset[int]:
    """Those that something present is about."""
    return frozenset(broker for each in found if each.standing is not Standing.OVER for broker in each.brokers)


def _verdict(policy: HealingPolicy, known: Known, trouble: Trouble, now_ms: int) -> Verdict:
    newest = _newest(known.tickets, trouble.subject)
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


def _asks(known: Known, trouble: Trouble, now_ms: int) -> Verdict:
    """A person who was called meanwhile stays called until there is an answer."""
    tried = known.tried.get(trouble.subject)
    if tried is not None and _is_held_up(trouble, tried, now_ms):
        return replace(_held_up(trouble, tried, now_ms), asks=True)
    return Verdict(trouble, Phase.ACTS, "asks for a plan", asks=True)


def _is_held_up(trouble: Trouble, tried: Tried, now_ms: int) -> bool:
    is_urgent = trouble.cure not in _PROPOSED_AT_MOST
    return is_urgent and bool(tried.busy_since_ms) and now_ms - tried.busy_since_ms >= HELD_UP_MS


def _held_up(trouble: Trouble, tried: Tried, now_ms: int) -> Verdict:
    lasts = human_duration(now_ms - tried.busy_since_ms)
    return Verdict(trouble, Phase.PERSON, f"for {lasts} {tried.sentence}; cancel what holds it up, or wait for it")


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


def _unplannable(known: Known, trouble: Trouble, now_ms: int) -> Verdict | None:
    """What a planner need not be asked about."""
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
                f"{human_duration(_EMPTIED_MS)}: what they share is slow (controller, cabling), look at it"
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
        *(each.subject for each in _emptying(known, broker, now_ms) if each.subject),
    }


def _emptied(known: Known, broker: int, now_ms: int) -> frozenset[tuple[int, str]]:
    """Log dirs of the broker that were emptied lately."""
    return _log_dirs(_emptying(known, broker, now_ms))


def _emptying(known: Known, broker: int, now_ms: int) -> list[TicketTrouble]:
    """Return what tickets are for that have emptied slow disks of the broker, or are at it."""
    return [
        trouble
        for ticket in known.tickets
        if ticket.kind == CureKind.EMPTY_DISK
        and (ticket.state is TicketState.SUCCEEDED or ticket.state.is_driven)
        and now_ms - ticket.updated_at_ms < _EMPTIED_MS
        for trouble in ticket.troubles
        if trouble.brokers == (broker,)
    ]


def _held_back(policy: HealingPolicy, known: Known, trouble: Trouble, now_ms: int) -> Verdict | None:
    if known.held_back:
        return Verdict(trouble, Phase.WAITS, f"waits: {known.held_back}")
    is_proposed = trouble.cure in _PROPOSED_AT_MOST
    calm_ms = known.calm_since_ms + CALM_MS - now_ms
    if calm_ms > 0 and trouble.cure is not CureKind.HEAL:
        return Verdict(trouble, Phase.WAITS, f"waits {human_duration(calm_ms)} for the cluster to be calm")
    stormed_ms = known.stormed_ms + CALM_MS - now_ms
    if known.stormed_ms and stormed_ms > 0:
        return Verdict(trouble, Phase.WAITS, f"waits {human_duration(stormed_ms)}: there was a storm")
    made = tickets_of_last_hour(known, now_ms, _CURE_KINDS - _URGENT_KINDS if is_proposed else _URGENT_KINDS)
    if made < policy.tickets_per_hour:
        return None
    told = f"{made} healing tickets were made within an hour, the most allowed: waits"
    if trouble.cure is CureKind.HEAL:
        return Verdict(trouble, Phase.PERSON, f"{told}, look what breaks so often, or raise tickets_per_hour")
    return Verdict(trouble, Phase.BRAKED, told)


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


def _after_tickets(
    policy: HealingPolicy, known: Known, trouble: Trouble, newest: Ticket | None, now_ms: int
) -> Verdict | None:
    """What an earlier ticket for the same means for a new one; None when nothing is against it."""
    if newest is None:
        return None
    last = newest.history[-1] if newest.history else None
    refused = newest.state in (TicketState.REJECTED, TicketState.CANCELLED, TicketState.ROLLED_BACK)
    if refused and _was_refused(newest) and now_ms - newest.updated_at_ms < _DAY_MS:
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


def was_withdrawn(ticket: Ticket) -> bool:
    """By healing itself, as in a storm: that is nobody's word against another one."""
    said = [past for past in ticket.history if past.state in _REFUSALS]
    return bool(said) and said[-1].actor is Agent.HEALING


def _was_refused(ticket: Ticket) -> bool:
    """By somebody: the executor only carries out what somebody has said, so the last word that counts is a person's."""
    said = [past for past in ticket.history if past.state in _REFUSALS]
    return bool(said) and said[-1].actor is not Agent.HEALING


_REFUSALS = (TicketState.REJECTED, TicketState.CANCELLING, TicketState.ROLLING_BACK)


def _after_plan(known: Known, trouble: Trouble, now_ms: int) -> Verdict | None:
    tried = known.tried.get(trouble.subject)
    if tried is None or now_ms >= tried.until_ms:
        return None
    if _is_held_up(trouble, tried, now_ms):
        return _held_up(trouble, tried, now_ms)
    return Verdict(trouble, Phase.PERSON if tried.is_failure else Phase.WAITS, tried.sentence)


def _grace_s(policy: HealingPolicy, trouble: Trouble) -> float:
    return {
        FindingKind.BROKER_DOWN: policy.broker_grace_s,
        FindingKind.LOG_DIR_OFFLINE: policy.log_dir_grace_s,
        FindingKind.SLOW_DISK: policy.slow_disk_grace_s,
    }.get(trouble.subject.kind, policy.balance_grace_s)


def _cure(policy: HealingPolicy, known: Known, due: Sequence[Trouble], soon: Sequence[Trouble], now_ms: int) -> Cure:
    """For the gravest; dead brokers and broken disks together, slow disks of one broker, those that are due
    `soon` too, everything else one at a time: what leaves a slow disk must not go to another slow one, nor back to one
    that was emptied."""
    first = due[0]
    together = [first]
    emptied: frozenset[tuple[int, str]] = frozenset()
    if first.cure is CureKind.HEAL:
        together = [each for each in due if each.cure is first.cure][:MAX_TROUBLES]
    elif first.cure is CureKind.EMPTY_DISK:
        together = [each for each in (*due, *soon) if each.cure is first.cure and each.brokers == first.brokers]
        emptied = _emptied(known, first.brokers[0], now_ms)
    away = [each for each in known.troubles if each.subject.kind is FindingKind.BROKER_DOWN and each not in together]
    newest = [_newest(known.tickets, each.subject) for each in together]
    parts = [known.cluster, *(each.subject.title for each in together), *(each.id if each else "" for each in newest)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return Cure(
        first.cure,
        known.cluster,
        tuple(together),
        frozenset(broker for each in away for broker in each.brokers),
        f"healing/{first.cure}/{digest}",
        submits=policy.mode is HealingMode.ACT and first.cure not in _PROPOSED_AT_MOST,
        emptied=emptied,
    )


def _newest(tickets: Iterable[Ticket], subject: Subject) -> Ticket | None:
    found = [ticket for ticket in tickets if covers(ticket, subject)]
    return max(found, key=lambda ticket: (ticket.created_at_ms, ticket.id), default=None)


def _braked(trouble: Trouble, known: Known) -> Verdict:
    newest = _newest(known.tickets, trouble.subject)
    ticket_id = newest.id if newest is not None and not newest.state.is_over else ""
    return Verdict(trouble, Phase.BRAKED, "too much is wrong at once: nothing is moved, a person is called", ticket_id)


def _brakes(known: Known, storm: str, now_ms: int) -> Iterable[TicketAct]:
    """What a storm stops, and what goes on after one."""
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
    """Tickets for dead brokers and broken disks that are all back: what did not start is not started, what moves to a
    place of a broker that is back goes home. Only where it is known that they are back, and not merely not seen: of a
    broker that is stopped nobody sees that a log dir of it is broken, and one that is being removed is no trouble."""
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
    """What a storm has paused goes on when it has been calm for a while."""
    if now_ms - known.calm_since_ms < CALM_MS:
        return
    for ticket in known.tickets:
        paused = ticket.state is TicketState.PAUSED and ticket.history and ticket.history[-1].actor is Agent.HEALING
        # A disk that is being emptied looks sound; of all others it is seen whether they are still wanted.
        is_judged = ticket.kind in _CURE_KINDS and ticket.kind != CureKind.EMPTY_DISK and ticket.troubles
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
