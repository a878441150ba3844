"""Predicts what a fault does to the topics of a cluster, from the cluster as it is now.

Partitions that differ in nothing but the names of their brokers are played once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from guardian.errors import InvalidInput
from guardian.model.cluster_state import Eligible, PartitionState
from guardian.model.durability import BrokerPlace, TopicFacts, TopicSettings
from guardian.model.faults.controller import NO_LEADER, Record, Settings
from guardian.model.faults.event import (
    Act,
    ClockJump,
    Cut,
    ElectPreferred,
    Event,
    Heal,
    Kill,
    Lose,
    PowerLoss,
    Start,
    Story,
)
from guardian.model.faults.outcome import Lost, Outcome, Span, outcome
from guardian.model.faults.stories import story
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning, Ended
from guardian.model.text import some

CUTS = range(1, 9)
MOST_S = 600.0
MOST_AHEAD_S = 366 * 86_400.0
UNKNOWN_QUORUM = (-2, -3, -4)  # ids that no node has
_CONTROLLERS_FROM = 1000


class Blow(IntEnum):
    """Kinds of fault. Values are those of the wire."""

    CUT = 1
    KILL = 2
    POWER = 3
    LOSE = 4
    CLOCK = 5


_ACTS: Mapping[Blow, Callable[[int], Act]] = {Blow.KILL: Kill, Blow.POWER: PowerLoss, Blow.LOSE: Lose}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault as a person asks about it.

    `number` is that of the cut, 1 to 8. `brokers`, `racks` and `idcs` are hit together. The fault lasts `seconds`: then
    links heal, clocks are right, or brokers are started in the order of `order`, else all at once; 0: for good.
    `ahead_s` is how much clocks are ahead, or behind if negative.
    """

    blow: Blow
    number: int = 0
    brokers: tuple[int, ...] = ()
    racks: tuple[str, ...] = ()
    idcs: tuple[str, ...] = ()
    seconds: float = 60.0
    order: tuple[int, ...] = ()
    every_s: float = 30.0
    ahead_s: float = 0.0

    def __post_init__(self) -> None:
        if (self.blow is Blow.CUT) != (self.number in CUTS):
            raise InvalidInput(f"cut: unknown number (got {self.number}); use 1 to 8, see guardian what-if cut --help")
        if not 0 <= self.seconds <= MOST_S:
            raise InvalidInput(f"seconds: out of range (got {self.seconds:g}); use 0 to {MOST_S:g}")
        if not 0 <= self.every_s * len(self.order) <= MOST_S:
            raise InvalidInput(
                f"every_s: too long (got {self.every_s:g} for each start); use {MOST_S:g} s for all at most"
            )
        if (self.blow is Blow.CLOCK) != (0 < abs(self.ahead_s) <= MOST_AHEAD_S):
            raise InvalidInput(f"ahead_s: out of range (got {self.ahead_s:g}); use up to a year for clocks, else 0")
        needs_brokers = self.number not in (7, 8)
        if needs_brokers and not (self.brokers or self.racks or self.idcs):
            raise InvalidInput("brokers, racks and idcs: nothing is hit (got none); name a broker, a rack or an IDC")

    def __str__(self) -> str:
        named = (("broker", self.brokers), ("rack", self.racks), ("IDC", self.idcs))
        hit = ", ".join(f"{noun} {each}" for noun, names in named for each in names)
        what = f"cut {self.number}" if self.blow is Blow.CUT else self.blow.name.lower()
        return f"{what} of {hit}" if hit else what


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as it is now; `elr` tells whether its controllers keep eligible leader replicas."""

    topics: Mapping[str, TopicFacts]
    brokers: Mapping[int, BrokerPlace]
    elr: bool = True
    controllers: tuple[int, ...] = UNKNOWN_QUORUM
    times: Times = field(default_factory=Times)


@dataclass(frozen=True, slots=True)
class TopicPrediction:
    """Tell what a fault does to a topic, for producers with acks=all or acks=1.

    `partitions` are those that it touches, `may_lose` and `loses` counts of them; the rest is of the worst of them.
    """

    topic: str
    acks_all: bool
    partitions: int
    may_lose: int
    loses: int
    lost: Lost
    lost_s: Span
    silent_s: Span
    ended: Ended
    awaited: tuple[int, ...]


def predict(now: Cluster, fault: Fault, acks: Iterable[bool] = (True, False)) -> list[TopicPrediction]:
    """Return what the fault does to each topic that it touches, the worst first."""
    hit = _hit(now, fault)
    told = _story(now, fault, hit)
    played: dict[object, Outcome] = {}
    found = []
    for name, facts in now.topics.items():
        settings = _settings(facts.settings, elr=now.elr)
        states = [
            _beginning(state, facts.eligible.get(number, Eligible()), now)
            for number, state in facts.partitions.items()
            if _is_touched(state, fault, hit)
        ]
        for acks_all in acks if states else ():
            outcomes = [_outcome(played, each, settings, told, now, acks_all=acks_all) for each in states]
            found.append(_worst(name, acks_all, outcomes))
    return sorted(found, key=lambda each: (-each.lost, -each.silent_s.most_s, each.topic, not each.acks_all))


def _settings(topic: TopicSettings, *, elr: bool) -> Settings:
    return Settings(topic.min_isr, topic.is_unclean, elr, topic.after_max_s, topic.before_max_s)


def _hit(now: Cluster, fault: Fault) -> frozenset[int]:
    unknown = [each for each in fault.brokers if each not in now.brokers]
    if unknown:
        raise InvalidInput(f"brokers: unknown (got {some(unknown)}); see `guardian broker list`")
    for noun, names in (("rack", fault.racks), ("idc", fault.idcs)):
        there = {getattr(place, noun) for place in now.brokers.values()} - {""}
        missing = sorted(set(names) - there)
        if missing:
            raise InvalidInput(
                f"{noun}s: unknown (got {some(missing)}); use {some(sorted(there)) or 'brokers, none has one'}"
            )
    inside = {broker for broker, place in now.brokers.items() if place.rack in fault.racks or place.idc in fault.idcs}
    return frozenset(inside | set(fault.brokers))


def _story(now: Cluster, fault: Fault, hit: frozenset[int]) -> Story:
    if fault.blow is Blow.CUT:
        heal: list[tuple[float, Act]] = [(fault.seconds, Heal())] if fault.seconds else []
        return story(str(fault), (0.0, _cut(now, fault.number, hit)), *heal)
    if fault.blow is Blow.CLOCK:
        moments = [(0.0, fault.ahead_s), *([(fault.seconds, 0.0)] if fault.seconds else [])]
        jumps = [(at_s, ClockJump(each, ahead_s)) for at_s, ahead_s in moments for each in sorted(hit)]
        return story(str(fault), *jumps)
    acts: list[tuple[float, Act]] = [(0.0, _ACTS[fault.blow](each)) for each in sorted(hit)]
    if fault.seconds:
        first = [each for each in fault.order if each in hit]
        acts += [(fault.seconds + fault.every_s * number, Start(each)) for number, each in enumerate(first)]
        last_s = fault.seconds + fault.every_s * len(first)
        acts += [(last_s, Start(each)) for each in sorted(hit - set(first))]
    return story(str(fault), *acts)


def _cut(now: Cluster, number: int, hit: frozenset[int]) -> Cut:
    controllers = frozenset(now.controllers)
    others = frozenset(now.brokers) - hit
    if number == 8:
        return Cut(controllers - frozenset(now.controllers[1:]), frozenset(now.controllers[1:]))
    if number == 7:
        return Cut(controllers, (hit or frozenset(now.brokers)) - controllers)
    if number in (1, 2):
        return Cut(hit, others)
    return Cut(hit, controllers - hit if number in (3, 4) else (others | controllers) - hit)


def _is_touched(state: PartitionState, fault: Fault, hit: frozenset[int]) -> bool:
    """Tell whether it is about this partition: cuts are about those that a hit broker leads, or those it follows."""
    if fault.number in (7, 8):
        return True
    if fault.number in (2, 4, 6) or fault.blow is Blow.CLOCK:
        return state.leader in hit
    if fault.number:
        return state.leader not in hit and not hit.isdisjoint(state.replicas)
    return not hit.isdisjoint(state.replicas)


def _beginning(state: PartitionState, eligible: Eligible, now: Cluster) -> Beginning:
    dead = frozenset(each for each in state.replicas if not now.brokers.get(each, BrokerPlace()).is_alive)
    leader = NO_LEADER if state.leader in dead else state.leader
    last = eligible.last_known[0] if eligible.last_known else NO_LEADER
    return Beginning(Record(state.replicas, leader, state.isr, eligible.replicas, last), dead)


def _outcome(
    played: dict[object, Outcome], start: Beginning, settings: Settings, told: Story, now: Cluster, *, acks_all: bool
) -> Outcome:
    names = {broker: number for number, broker in enumerate(start.record.replicas, 1)}
    for number, controller in enumerate(now.controllers, _CONTROLLERS_FROM):
        names.setdefault(controller, number)
    named = {names[each]: each for each in names}
    begins = _renamed_start(start, names)
    events = tuple(_renamed_events(told.events, names))
    key = (begins, settings, events, acks_all)
    if key not in played:
        controllers = tuple(names[each] for each in now.controllers)
        renamed = replace(told, events=events)
        played[key] = outcome(begins, settings, renamed, acks_all=acks_all, times=now.times, controllers=controllers)
    found = played[key]
    awaited, leaders, *elrs = (
        tuple(sorted(named[each] for each in ids)) for ids in (found.awaited, found.leaders, *found.elrs)
    )
    return replace(found, awaited=awaited, leaders=leaders, elrs=frozenset(elrs))


def _renamed_start(start: Beginning, names: Mapping[int, int]) -> Beginning:
    record = start.record
    return Beginning(
        Record(
            replicas=tuple(names[each] for each in record.replicas),
            leader=names.get(record.leader, NO_LEADER),
            isr=tuple(names[each] for each in record.isr if each in names),
            elr=tuple(names[each] for each in record.elr if each in names),
            last_known=names.get(record.last_known, NO_LEADER),
        ),
        frozenset(names[each] for each in start.dead),
    )


def _renamed_events(events: Iterable[Event], names: Mapping[int, int]) -> Iterator[Event]:
    """Yield what happens to the partition's own brokers and to the controllers."""
    for event in events:
        act = event.act
        if isinstance(act, Heal | ElectPreferred):
            yield event
        elif isinstance(act, Cut):
            one, other = (frozenset(names[each] for each in side if each in names) for side in (act.one, act.other))
            if one and other:
                yield replace(event, act=replace(act, one=one, other=other))
        elif act.node in names:
            yield replace(event, act=replace(act, node=names[act.node]))


def _worst(topic: str, acks_all: bool, outcomes: list[Outcome]) -> TopicPrediction:
    slowest = max(outcomes, key=lambda each: each.silent_s.most_s)
    worst = max(outcomes, key=lambda each: (each.lost, each.lost_s.most_s))
    return TopicPrediction(
        topic=topic,
        acks_all=acks_all,
        partitions=len(outcomes),
        may_lose=sum(not each.is_safe for each in outcomes),
        loses=sum(each.is_certain for each in outcomes),
        lost=worst.lost,
        lost_s=worst.lost_s,
        silent_s=slowest.silent_s,
        ended=slowest.ended,
        awaited=tuple(sorted({broker for each in outcomes for broker in each.awaited})),
    )
