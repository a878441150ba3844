"""Each move by itself: the places that it names, and what the rules say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from guardian.model.federation import IdcPolicy
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR
from spark_analytics.checker.added import against
from spark_analytics.checker.rules import Rule, Violation
from spark_analytics.checker.world import DISK, Held, TopicFact, World

_CHANGES_RF = "change-replication-factor"


def check_move(world: World, plan: Plan, move: PartitionMove) -> Iterator[Violation]:
    name = str(move.partition)
    now = world.partitions.get(move.partition)
    if move.is_new and now is not None:
        yield Violation(Rule.PARTITION_NEW, name)
        return
    if now is None and not move.is_new:
        yield Violation(Rule.PARTITION_KNOWN, name)
        return
    now = now or ()
    unknown = list(_unknown(world, move, now))
    yield from unknown
    if not unknown:
        yield from _placed(world, plan, move, now)


def _unknown(world: World, move: PartitionMove, now: tuple[Held, ...]) -> Iterator[Violation]:
    """Yield violations that make the rest of the rules meaningless."""
    name = str(move.partition)
    if move.original and not _same_places(move.original, now):
        yield Violation(Rule.ORIGINAL, f"{name} is on {_words(now)}, the plan says {_words(move.original)}")
    brokers = [place.broker for place in move.target]
    if len(set(brokers)) < len(brokers):
        yield Violation(Rule.ONE_REPLICA_A_BROKER, f"{name} on brokers {brokers}")
    for place in move.target:
        if place.broker not in world.brokers:
            yield Violation(Rule.BROKER_KNOWN, f"{name} on broker {place.broker}")
        elif place.log_dir != ANY_LOG_DIR and place not in world.disk_of:
            yield Violation(Rule.LOG_DIR_KNOWN, f"{name} on {_words((place,))}")


def _same_places(claimed: tuple[ReplicaPlacement, ...], now: tuple[Held, ...]) -> bool:
    """The same log dirs on the same brokers, in any order: samples do not tell the order of followers."""
    where = {held.broker: held.log_dir for held in now}
    return len(claimed) == len(now) and all(
        place.broker in where and place.log_dir in (ANY_LOG_DIR, where[place.broker]) for place in claimed
    )


def _words(places: Collection[ReplicaPlacement] | Collection[Held]) -> str:
    return ", ".join(f"{place.broker}:{place.log_dir}" for place in places) or "no broker"


def _placed(world: World, plan: Plan, move: PartitionMove, now: tuple[Held, ...]) -> Iterator[Violation]:
    name = str(move.partition)
    topic = world.topic(move.partition)
    before, target = [held.broker for held in now], [place.broker for place in move.target]
    if len(target) != len(now) and plan.kind != _CHANGES_RF and not move.is_new:
        yield Violation(Rule.REPLICATION_FACTOR, f"{name} from {len(now)} to {len(target)}")
    sizes = [held.load[DISK] for held in now]
    if move.size_bytes and sizes and not min(sizes) - 1 <= move.size_bytes <= max(sizes) + 1:
        yield Violation(Rule.SIZE, f"{name} holds {min(sizes):.0f} to {max(sizes):.0f} B, not {move.size_bytes}")
    yield from _log_dirs(world, move, now)
    for broker in target:
        if broker not in before and world.brokers[broker].closed:
            yield Violation(Rule.CLOSED, f"{name} would go to broker {broker}")
        if broker not in before and broker in topic.forbidden:
            why = against(world, move.partition.topic, broker)
            yield Violation(Rule.ADDED_GOAL, f"{name} would go to broker {broker}: {why}")
        elif broker not in before and not world.suits(topic, broker):
            whose = world.brokers[broker].label or "nobody's"
            yield Violation(Rule.LABEL, f"{name} would go to broker {broker}, whose label is {whose}")
    yield from _racks(world, topic, move, now)
    yield from _idcs(world, topic, name, before, target)
    yield from _leader(world, topic, move, before)
    living = [held for held in now if world.lives(held.place)]
    here = {held.place for held in now}
    if now and not living and any(world.where(place) not in here for place in move.target):
        yield Violation(Rule.SOURCE, f"{name} is on {_words(now)}, none of which lives")
    if move.partition in world.unseen:
        yield Violation(Rule.UNSEEN, f"{name} on {_words(now)} and elsewhere")
    settings, title = world.settings, move.partition.topic
    is_pinned = settings.excludes(title) and not settings.leaders_of(title) and len(target) == len(now)
    if is_pinned and now and is_well(world, topic, now):
        yield Violation(Rule.PINNED, name)


def _log_dirs(world: World, move: PartitionMove, now: tuple[Held, ...]) -> Iterator[Violation]:
    here = {held.place for held in now}
    for place in move.target:
        log_dir = world.where(place)
        if log_dir in world.closed and log_dir not in here:
            yield Violation(Rule.LOG_DIR_CLOSED, f"{move.partition} on {_words((log_dir,))}")


def _racks(world: World, topic: TopicFact, move: PartitionMove, now: tuple[Held, ...]) -> Iterator[Violation]:
    """As few share each rack as did before, or as few as the brokers that may hold the partition allow: a rack that is
    crowded gives no other one leave. Those that are given up are not the ones that have racks of their own.

    What is left on a dead broker or disk, there being no other place for it, keeps nothing safe: its rack is free.
    """
    name, brokers = str(move.partition), [held.broker for held in now]
    was = Counter(world.brokers[broker].rack for broker in brokers)
    lost = {held.broker for held in now if not world.lives(held.place)}
    safe = {world.brokers[broker].rack for broker in brokers if broker not in lost and world.suits(topic, broker)}
    left = [place.broker in lost and not world.lives(place) for place in move.target]
    will = Counter(
        world.brokers[place.broker].rack for place, is_left in zip(move.target, left, strict=True) if not is_left
    )
    kept = [broker for broker in brokers if world.suits(topic, broker) or broker in move.target_brokers]
    share, distinct = possible_racks(world, topic, kept, len(move.target))
    crowded = [count for rack, count in will.items() if count > max(share, was[rack])]
    if crowded:
        yield Violation(Rule.RACKS, f"{name} would have {max(crowded)} replicas in one rack, {share} must be")
    elif len(move.target) < len(now) and len(will) < min(distinct, len(safe)):
        yield Violation(Rule.RACKS, f"{name} from {len(safe)} racks to {len(will)}")


def possible_racks(world: World, topic: TopicFact, before: list[int], replicas: int) -> tuple[int, int]:
    """(the least that the fullest rack must hold, the most racks) of so many replicas."""
    extra = tuple(sorted(broker for broker in before if _only_keeps(world, topic, broker)))
    key = (topic, replicas, extra)
    if key not in world.possible:
        world.possible[key] = _racks_of(world, topic, extra, replicas)
    return world.possible[key]


def _only_keeps(world: World, topic: TopicFact, broker: int) -> bool:
    """It may not take the partition, but what is there may stay."""
    fact = world.brokers[broker]
    return fact.alive and not fact.leaving and (fact.closed or not world.suits(topic, broker))


def _racks_of(world: World, topic: TopicFact, extra: tuple[int, ...], replicas: int) -> tuple[int, int]:
    usable = [
        fact
        for broker, fact in world.brokers.items()
        if broker in extra or (not fact.closed and world.is_open(broker) and world.suits(topic, broker))
    ]
    everywhere = (Counter(fact.rack for fact in usable), replicas)
    groups = [everywhere]
    if topic.policy is not None and replicas in topic.policy.factors:
        wanted = topic.policy.of_factor(replicas).replicas
        by_idc = [(Counter(fact.rack for fact in usable if fact.idc == idc), count) for idc, count in wanted]
        if all(sum(racks.values()) >= count for racks, count in by_idc):  # else the policy can't be kept
            groups = by_idc
    shares = [_share(racks, count) for racks, count in (everywhere, *groups)]
    return max(shares), sum(min(len(racks), count) for racks, count in groups)


def _share(racks: Counter[str], replicas: int) -> int:
    share = 1
    while sum(min(brokers, share) for brokers in racks.values()) < min(replicas, sum(racks.values())):
        share += 1
    return share


def _idcs(world: World, topic: TopicFact, name: str, before: list[int], target: list[int]) -> Iterator[Violation]:
    if topic.policy is None:
        return
    will = astray(world, topic.policy, target)
    was = _least_astray(world, topic, topic.policy, len(target))
    if before:
        was = max(was, astray(world, topic.policy, before))
    if will > was:
        it = "it has" if before else "it must have"
        yield Violation(Rule.IDC, f"{name} would have {will} replicas astray from {topic.policy.name}, {it} {was}")


def _least_astray(world: World, topic: TopicFact, policy: IdcPolicy, replicas: int) -> int:
    """Return how many replicas at least go against the IDC policy, as the brokers that may take the partition leave no
    other way.
    """
    takers = Counter(
        fact.idc for broker, fact in world.brokers.items() if not fact.closed and world.suits(topic, broker)
    )
    wanted = policy.of_factor(replicas).replicas
    more = replicas - sum(count for _, count in wanted)
    missing = sum(max(0, count - takers[idc]) for idc, count in wanted) if more >= 0 else 0
    placed = sum(min(takers[idc], count + max(0, more)) for idc, count in wanted)
    return missing + max(0, replicas - placed)


def astray(world: World, policy: IdcPolicy, brokers: list[int]) -> int:
    """Replicas missing where the policy wants them, and those beyond what it allows."""
    counts = Counter(world.brokers[broker].idc for broker in brokers)
    wanted = dict(policy.of_factor(len(brokers)).replicas)
    more = len(brokers) - sum(wanted.values())
    missing = sum(max(0, least - counts[idc]) for idc, least in wanted.items()) if more >= 0 else 0
    beyond = 0
    for idc, count in counts.items():
        most = wanted[idc] + max(0, more) if idc in wanted else 0
        beyond += max(0, count - most)
    return missing + beyond


def _leader(world: World, topic: TopicFact, move: PartitionMove, before: list[int]) -> Iterator[Violation]:
    name, target = str(move.partition), move.target_brokers
    leader = target[0]
    if not world.brokers[leader].alive:
        yield Violation(Rule.LEADER, f"{name} by broker {leader}, which is dead")
    elif before[:1] != [leader] and not may_lead(world, topic, leader):
        others = [broker for broker in target if may_lead(world, topic, broker)]
        if others and leader in topic.not_leading:
            why = against(world, move.partition.topic, leader, leads=True)
            yield Violation(Rule.ADDED_GOAL, f"{name} would be led by broker {leader}: {why}")
        elif others:
            yield Violation(Rule.LEADER, f"{name} by broker {leader}, though {others} may lead")


def may_lead(world: World, topic: TopicFact, broker: int) -> bool:
    fact = world.brokers[broker]
    preferred = topic.policy.preferred_leader_idc if topic.policy else ""
    is_near = not preferred or fact.idc == preferred
    is_let = broker not in world.not_leading and broker not in topic.not_leading
    return fact.alive and not fact.leaving and is_let and is_near


def is_well(world: World, topic: TopicFact, now: tuple[Held, ...]) -> bool:
    """Nothing forces it to move."""
    brokers = [held.broker for held in now]
    racks = Counter(world.brokers[broker].rack for broker in brokers)
    share, _ = possible_racks(world, topic, brokers, len(brokers))
    return (
        all(
            world.brokers[held.broker].alive
            and not world.brokers[held.broker].leaving
            and world.suits(topic, held.broker)
            and held.place not in world.closed
            for held in now
        )
        and max(racks.values()) <= share
        and (topic.policy is None or astray(world, topic.policy, brokers) == 0)
        and may_lead(world, topic, brokers[0])
    )
