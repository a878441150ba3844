"""What a plan costs beside what it was allowed to, and the counts that it must keep. What rules force is apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from math import inf

from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import Add, Balance, Heal, Isolate, Leaders, Remove, Task
from guardian.model.topology import TopicPartition
from spark_analytics.checker.moves import is_well, may_lead
from spark_analytics.checker.places import Places
from spark_analytics.checker.rules import Rule, Violation
from spark_analytics.checker.world import DISK, REPLICAS, TOLERANCE, World


def check_costs(world: World, plan: Plan, task: Task | None, at: Places) -> Iterator[Violation]:
    evens = isinstance(task, Balance | Add) or (isinstance(task, Remove) and task.balance)
    rescues = evens or task is None or isinstance(task, Leaders | Heal)
    chosen = [
        move
        for move in plan.moves
        if not move.is_new and not (_is_forced(world, move) if rescues else _is_lost_in_part(world, move))
    ]
    if not isinstance(task, Isolate):  # machines are taken or not: its plan tells what it costs too much
        yield from _budgets(world, chosen)
    if evens and world.settings.topic_spread and not world.settings.goals:
        yield from _crowded(world, at, plan, chosen)
    if evens or isinstance(task, Leaders):
        yield from _leader_budget(world, chosen)
    yield from _replicas(world, at)
    must = {move.partition for move in plan.moves if _must(world, move) or (not evens and _leader_leaves(world, move))}
    yield from _leaders(world, at, must)


def _must(world: World, move: PartitionMove) -> bool:
    """It breaks a rule as it is, or is asked to change."""
    now = world.partitions.get(move.partition, ())
    return len(move.target) != len(now) or not is_well(world, world.topic(move.partition), now)


def _leader_leaves(world: World, move: PartitionMove) -> bool:
    now = world.partitions.get(move.partition, ())
    return bool(now) and now[0].broker not in move.target_brokers


def _is_forced(world: World, move: PartitionMove) -> bool:
    """The same, or it mends what a broker must hold or lead."""
    now = world.partitions[move.partition]
    most = world.settings.max_replicas
    return (
        _must(world, move)
        or any(world.carried[held.broker][REPLICAS] > most for held in now)
        or bool(world.settings.leaders_of(move.partition.topic))
    )


def _is_lost_in_part(world: World, move: PartitionMove) -> bool:
    """It has a replica on a dead broker or disk: that is saved whatever it costs."""
    return not all(world.lives(held.place) for held in world.partitions[move.partition])


def _budgets(world: World, chosen: list[PartitionMove]) -> Iterator[Violation]:
    settings = world.settings
    copied = sum(_copied(world, move) for move in chosen)
    if copied > settings.max_bytes * (1 + TOLERANCE):
        yield Violation(Rule.BUDGET, f"{copied:.0f} B to copy, {settings.max_bytes:.0f} B are allowed")
    into: dict[int, float] = defaultdict(float)
    for move in chosen:
        for broker in move.target_brokers:
            into[broker] += _copied(world, move, broker)
    for broker, size in sorted(into.items()):
        if settings.max_seconds < inf and size > settings.max_seconds * settings.throttle * (1 + TOLERANCE):
            yield Violation(
                Rule.BUDGET,
                f"{size:.0f} B into broker {broker} take {size / settings.throttle:.0f} s, "
                f"{settings.max_seconds:.0f} s are allowed",
            )


def _leader_budget(world: World, chosen: list[PartitionMove]) -> Iterator[Violation]:
    settings = world.settings
    led = sum(_changes_leader(world, move) for move in chosen)
    if led > settings.max_leader_moves:
        yield Violation(Rule.BUDGET, f"{led} leaders move, {settings.max_leader_moves:.0f} are allowed")


def _copied(world: World, move: PartitionMove, into: int | None = None) -> float:
    """Bytes, at least: the plan does not say which replica goes where. Between log dirs of a broker they count too."""
    now = world.partitions[move.partition]
    home = {held.broker: held for held in now}
    copied = 0.0
    for place in move.target:
        if into not in (None, place.broker):
            continue
        held = home.get(place.broker)
        if held is None:
            copied += min(each.load[DISK] for each in now)
        elif world.where(place) not in (None, held.place):
            copied += held.load[DISK]
    return copied


def _changes_leader(world: World, move: PartitionMove) -> bool:
    """Return whether leadership passes from one replica to another, for sure: a leader that is copied may lead on."""
    before = [held.broker for held in world.partitions[move.partition]]
    leads = move.target[0].broker
    return leads != before[0] and (leads in before or before[0] in move.target_brokers)


def _crowded(world: World, at: Places, plan: Plan, chosen: list[PartitionMove]) -> Iterator[Violation]:
    """Topics with more replicas on one broker than their worst broker has now, or than an even spread takes.

    Where rules force some of them there, the others have been there first.
    """
    takers = sum(
        not fact.closed and any(world.suits(topic, broker) for topic in set(world.topics.values()))
        for broker, fact in world.brokers.items()
    )
    before = Counter((partition.topic, held.broker) for partition, now in world.partitions.items() for held in now)
    after = Counter((partition.topic, place.broker) for partition, on in at.items() for place in on)
    most: Counter[str] = Counter()
    slots: Counter[str] = Counter()
    for (topic, _), count in before.items():
        most[topic] = max(most[topic], count)
        slots[topic] += count
    free = {move.partition for move in chosen}
    told = {
        (move.partition.topic, broker)
        for move in plan.moves
        for broker in move.target_brokers
        if move.partition not in free
    }
    for move in chosen:
        topic = move.partition.topic
        allowed = max(most[topic], -(-slots[topic] // max(takers, 1)))
        for broker in set(move.target_brokers) - {held.broker for held in world.partitions[move.partition]}:
            if after[topic, broker] > allowed and (topic, broker) not in told:
                told.add((topic, broker))
                yield Violation(
                    Rule.TOPIC_SPREAD, f"broker {broker} with {after[topic, broker]} replicas of {topic}, not {allowed}"
                )


def _replicas(world: World, at: Places) -> Iterator[Violation]:
    held = Counter(place.broker for on in at.values() for place in on)
    most = world.settings.max_replicas
    for broker, count in sorted(held.items()):
        was = world.carried[broker][REPLICAS]
        if count > most and count > was:
            yield Violation(Rule.REPLICAS, f"broker {broker} from {was:.0f} to {count} replicas, {most} may be there")


def _leaders(world: World, at: Places, forced: Set[TopicPartition]) -> Iterator[Violation]:
    """A broker that led as many as it must leads them on, while it may; not what was `forced` to change.

    Where partitions are too few for all, a lack may go from one broker to another.
    """
    asked = {topic: least for topic in world.topics if (least := world.settings.leaders_of(topic))}
    if not asked:
        return
    before = Counter(
        (partition.topic, now[0].broker)
        for partition, now in world.partitions.items()
        if now and partition.topic in asked
    )
    after = Counter((partition.topic, on[0].broker) for partition, on in at.items() if on and partition.topic in asked)
    for (topic, broker), was in sorted(before.items()):
        led, fact = after[topic, broker], world.topics[topic]
        had = {partition for partition, now in world.partitions.items() if now and now[0].broker == broker}
        must = any(partition.topic == topic and at[partition][0].broker != broker for partition in had & forced)
        may = may_lead(world, fact, broker) and world.suits(fact, broker) and not must
        if may and was >= asked[topic] > led:
            yield Violation(
                Rule.LEADERS, f"broker {broker} from {was} to {led} of {topic}, {asked[topic]} must be there"
            )
