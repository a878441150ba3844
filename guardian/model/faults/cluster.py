"""Predicts what a fault does to the topics of a cluster, from the cluster as it is now.

Partitions that differ in nothing but the names of their brokers are played once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from guardian.errors import InvalidInput
from guardian.model.cluster_state import Eligible, LogDir, PartitionState
from guardian.model.durability import BrokerPlace, TopicFacts, TopicSettings
from guardian.model.faults.controller import NO_LEADER, Record, Settings
from guardian.model.faults.event import Act, Cut, ElectPreferred, Event, Heal, Story
from guardian.model.faults.fault import Blow, Fault, acts
from guardian.model.faults.outcome import Chance, Lost, Outcome, Span, outcome
from guardian.model.faults.stories import story
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning, Ended
from guardian.model.text import some
from guardian.model.topology import TopicPartition

UNKNOWN_QUORUM = (-2, -3, -4)  # ids that no node has
_CONTROLLERS_FROM = 1000


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as it is now; `elr` tells whether its controllers keep eligible leader replicas.

    `log_dirs` are those of the brokers that a fault of disks hits, with the replicas of `topics`. `metadata_dirs` name
    by broker the one that has its metadata log, without which it halts.
    """

    topics: Mapping[str, TopicFacts]
    brokers: Mapping[int, BrokerPlace]
    elr: bool = True
    controllers: tuple[int, ...] = UNKNOWN_QUORUM
    times: Times = field(default_factory=Times)
    log_dirs: tuple[LogDir, ...] = ()
    metadata_dirs: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicPrediction:
    """Tell what a fault does to a topic, for producers with acks=all or acks=1.

    `partitions` are those that it touches, `may_lose` and `loses` counts of them; the rest is of the worst of them.
    `read_lost` tells whether consumers had records that are gone, `unread_s` how long they get nothing new.
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
    read_lost: Chance
    unread_s: Span


def predict(now: Cluster, fault: Fault, acks: Iterable[bool] = (True, False)) -> list[TopicPrediction]:
    """Return what the fault does to each topic that it touches, the worst first."""
    hit = brokers_hit(now, fault)
    told = _story(now, fault, hit)
    on_other_dirs = _on_other_dirs(now, fault, hit)
    played: dict[object, Outcome] = {}
    found = []
    for name, facts in now.topics.items():
        settings = _settings(facts.settings, elr=now.elr)
        states = [
            (_beginning(state, facts.eligible.get(number, Eligible()), now), _without(told, spared))
            for number, state in facts.partitions.items()
            if _is_touched(state, fault, hit - (spared := on_other_dirs(TopicPartition(name, number))))
        ]
        for acks_all in acks if states else ():
            outcomes = [_outcome(played, each, settings, of_it, now, acks_all=acks_all) for each, of_it in states]
            found.append(_worst(name, acks_all, outcomes))
    return sorted(found, key=lambda each: (-each.lost, -each.silent_s.most_s, each.topic, not each.acks_all))


def _settings(topic: TopicSettings, *, elr: bool) -> Settings:
    return Settings(topic.min_isr, topic.is_unclean, elr, topic.after_max_s, topic.before_max_s)


def brokers_hit(now: Cluster, fault: Fault) -> frozenset[int]:
    """Return the brokers that the fault names, by racks and IDCs too. Raises InvalidInput for what is not there."""
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
    return story(str(fault), *acts(fault, hit, _halting(now, fault, hit)))


def _halting(now: Cluster, fault: Fault, hit: frozenset[int]) -> frozenset[int]:
    """Return the brokers that lose their metadata log, or the last log dir that works: they halt."""
    working: dict[int, set[str]] = {}
    for each in now.log_dirs:
        if not each.error:
            working.setdefault(each.broker, set()).add(each.path)
    failing = set(fault.log_dirs)
    return frozenset(
        each for each in hit if working.get(each, set()) <= failing or now.metadata_dirs.get(each) in failing
    )


def halting(now: Cluster, fault: Fault) -> tuple[int, ...]:
    """Return the brokers that a failing log dir takes down. Raises InvalidInput as `predict` does."""
    return tuple(sorted(_halting(now, fault, brokers_hit(now, fault)))) if fault.blow is Blow.LOG_DIR else ()


def _on_other_dirs(now: Cluster, fault: Fault, hit: frozenset[int]) -> Callable[[TopicPartition], frozenset[int]]:
    """Return what tells which of the brokers hold a partition on none of the fault's log dirs. Raises InvalidInput."""
    if not fault.log_dirs:
        return lambda _: frozenset()
    _require_log_dirs(now, fault, hit)
    there: dict[TopicPartition, set[int]] = {}
    for each in now.log_dirs:
        if each.path in fault.log_dirs:
            for name in each.replicas:
                there.setdefault(name, set()).add(each.broker)
    down = _halting(now, fault, hit) if fault.blow is Blow.LOG_DIR else frozenset()
    return lambda name: hit - down - there.get(name, set())


def _require_log_dirs(now: Cluster, fault: Fault, hit: frozenset[int]) -> None:
    for broker in sorted(hit):
        paths = {each.path for each in now.log_dirs if each.broker == broker}
        missing = [each for each in fault.log_dirs if each not in paths]
        if not paths:
            raise InvalidInput(f"brokers: one does not tell its log dirs now (got {broker}); start it, or leave it out")
        if missing:
            raise InvalidInput(
                f"log_dirs: broker {broker} has none of that path (got {some(missing)}); use {some(sorted(paths))}"
            )


def _without(told: Story, spared: frozenset[int]) -> Story:
    """Return the story of a partition that some of the brokers hold elsewhere."""
    if not spared:
        return told
    events = [
        each for each in told.events if isinstance(each.act, Heal | ElectPreferred | Cut) or each.act.node not in spared
    ]
    return replace(told, events=tuple(events))


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
    """Tell whether it is about this partition: cuts are about those that a hit broker leads, or those it follows; slow
    links about those that it follows."""
    if fault.number in (7, 8):
        return True
    if fault.number in (2, 4, 6) or fault.blow is Blow.CLOCK:
        return state.leader in hit
    if fault.blow is Blow.SLOW_FOLLOWER:
        return not hit.isdisjoint(set(state.replicas) - {state.leader})
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
        read_lost=max(each.read_lost for each in outcomes),
        unread_s=max((each.unread_s for each in outcomes), key=lambda span: span.most_s),
    )
