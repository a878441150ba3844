"""Whether each thing that a task asks for is done.

A plan may leave undone what it names, one by one, and what rules that no placement can keep make impossible. A plan of
nothing is not believed even then: the checker looks itself whether there is a place (places.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial

from guardian.model.plan import Plan, ReplicaPlacement
from guardian.model.tasks import (
    Balance,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Isolate,
    Leaders,
    MigrateIdc,
    Remove,
    ReplicationFactor,
    Task,
)
from guardian.model.topology import TopicPartition
from spark_analytics.checker.added import names_against
from spark_analytics.checker.moves import astray, may_lead, possible_racks
from spark_analytics.checker.places import Places, Room
from spark_analytics.checker.world import RESOURCES, TopicFact, World

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Left:
    """Something undone; `what` may be said of many. `could` says what could be done instead, or nothing.

    `is_relaxed`: rules that no placement can keep are relaxed, which a plan tells without naming each partition.
    """

    what: str
    partition: TopicPartition
    could: Callable[[], str]
    is_relaxed: bool = False


def check_done(world: World, plan: Plan, task: Task, at: Places) -> Iterator[str]:
    """Yield what is left undone though it could be done, or though the plan does not say so."""
    room = Room(world, plan, at)
    undone: dict[str, list[TopicPartition]] = defaultdict(list)
    instead: dict[str, str] = {}
    for left in _left(world, room, task, at):
        if left.partition in world.unseen or left.partition in world.lost:
            continue
        is_named = left.partition in plan.excused.partitions
        if is_named and plan.moves:
            continue
        if left.what not in instead and (could := left.could()):
            instead[left.what] = could
        is_said = is_named or (left.is_relaxed and bool(plan.unmet))
        if left.what in instead or not is_said:
            undone[left.what].append(left.partition)
    for what, partitions in undone.items():
        names = ", ".join(map(str, sorted(partitions)[:_NAMED])) + (", ..." if len(partitions) > _NAMED else "")
        yield f"{what.format(len(partitions))} ({names}){_though(instead.get(what, ''))}"
    if isinstance(task, Remove):
        yield from _staying(world, plan, task, at)
    if isinstance(task, Isolate) and task.release is not None:
        yield from _kept_back(world, plan, task, task.release, at)
    if isinstance(task, CreateTopic | ExpandTopic):
        yield from _created(world, task, at)


def _though(instead: str) -> str:
    return f", though {instead}" if instead else ""


def _left(world: World, room: Room, task: Task, at: Places) -> Iterator[Left]:
    match task:
        case Heal() | Balance() | MigrateIdc() | Remove(balance=True):
            yield from _unhealed(world, room, at)
        case Isolate(release=None):
            yield from _mixed(world, room, task, at)
        case EmptyDisk():
            yield from _in_emptied(world, room, at)
        case ReplicationFactor():
            yield from _with_other_factor(room, task, at)
        case _:
            pass
    match task:
        case Remove():
            yield from _on_dead(world, room, at, set(task.brokers))
        case Heal() | Balance() | MigrateIdc() | Leaders() | Isolate(release=None):
            yield from _led_wrong(world, room, at)
        case _:
            pass


def _in_scope(world: World, at: Places) -> Iterator[tuple[TopicPartition, tuple[ReplicaPlacement, ...]]]:
    for partition, places in at.items():
        if world.scope is None or partition.topic in world.scope:
            yield partition, tuple(places)


def _unhealed(world: World, room: Room, at: Places) -> Iterator[Left]:
    yield from _on_dead(world, room, at, {broker for broker, fact in world.brokers.items() if not fact.alive})
    for partition, places in _in_scope(world, at):
        topic, brokers = world.topic(partition), [place.broker for place in places]
        elsewhere = partial(_elsewhere, room, partition)
        for place in places:
            if world.brokers[place.broker].alive and world.where(place) in world.offline:
                what = f"log dir {place.log_dir} of broker {place.broker} is offline and keeps {{}} replicas"
                yield Left(what, partition, partial(elsewhere, place, inside=True), is_relaxed=True)
            if world.brokers[place.broker].alive and not world.suits(topic, place.broker):
                is_against = place.broker in topic.forbidden
                goals = names_against(world, partition.topic, place.broker) if is_against else ""
                why = f"against {goals}" if is_against else "whose label is another"
                what = f"broker {place.broker} keeps {{}} replicas {why}"
                is_served = _is_served(world, topic, len(places))
                yield Left(what, partition, partial(elsewhere, place) if is_served else _nothing, is_relaxed=True)
        share, _ = possible_racks(world, topic, brokers, len(places))
        seen: Counter[str] = Counter()
        for place in filter(world.lives, places):
            rack = world.brokers[place.broker].rack
            seen[rack] += 1
            if seen[rack] > share:
                yield Left(
                    f"rack {rack} keeps {{}} replicas too many", partition, partial(elsewhere, place), is_relaxed=True
                )
        if topic.policy is not None and astray(world, topic.policy, brokers):
            what = f"{{}} partitions have replicas astray from {topic.policy.name}"
            yield Left(what, partition, partial(_nearer, world, room, partition, places), is_relaxed=True)


def _is_served(world: World, topic: TopicFact, replicas: int, but: Collection[int] = ()) -> bool:
    """Its label has brokers for all of them; otherwise what stands elsewhere stays there."""
    there = sum(
        fact.alive and not fact.leaving and broker not in but and world.suits(topic, broker)
        for broker, fact in world.brokers.items()
    )
    return there >= replicas


def _on_dead(world: World, room: Room, at: Places, brokers: set[int]) -> Iterator[Left]:
    dead = {broker for broker in brokers if not world.brokers[broker].alive}
    if not dead:
        return
    for partition, places in _in_scope(world, at):
        for place in places:
            if place.broker in dead:
                what = f"broker {place.broker} is dead and keeps {{}} replicas"
                yield Left(what, partition, partial(_elsewhere, room, partition, place))


def _elsewhere(room: Room, partition: TopicPartition, leaves: ReplicaPlacement | None, inside: bool = False) -> str:
    found = room.place_for(partition, leaves, inside=inside)
    return f"{partition} has a place on {found.broker}:{found.log_dir}" if found else ""


def _nothing() -> str:
    return ""


def _nearer(world: World, room: Room, partition: TopicPartition, places: tuple[ReplicaPlacement, ...]) -> str:
    """A place that leaves less astray."""
    policy, brokers = world.topic(partition).policy, [place.broker for place in places]
    for place in places:
        found = room.place_for(partition, place)
        if found is not None and policy is not None:
            after = [found.broker if broker == place.broker else broker for broker in brokers]
            if astray(world, policy, after) < astray(world, policy, brokers):
                return f"{partition} has a place on {found.broker}:{found.log_dir}"
    return ""


def _led_wrong(world: World, room: Room, at: Places) -> Iterator[Left]:
    for partition, places in _in_scope(world, at):
        topic, leader = world.topic(partition), places[0].broker if places else -1
        if places and not may_lead(world, topic, leader):
            others = [place.broker for place in places[1:] if may_lead(world, topic, place.broker)]
            if others:
                what = f"broker {leader} leads {{}} partitions that it should not"
                yield Left(what, partition, partial(_led_elsewhere, room, partition, others))


def _led_elsewhere(room: Room, partition: TopicPartition, others: list[int]) -> str:
    load = room.leads(partition)[: len(RESOURCES)]
    able = next((broker for broker in others if room.bears(broker, load)), None)
    return "" if able is None else f"broker {able} may lead {partition}"


def _in_emptied(world: World, room: Room, at: Places) -> Iterator[Left]:
    for partition, places in at.items():
        for place in places:
            if place in world.emptied:
                what = f"log dir {place.log_dir} of broker {place.broker} keeps {{}} replicas"
                yield Left(what, partition, partial(_elsewhere, room, partition, place, inside=True))


def _with_other_factor(room: Room, task: ReplicationFactor, at: Places) -> Iterator[Left]:
    for partition, places in at.items():
        if not is_named(partition.topic, task.topics) or len(places) == task.replication_factor:
            continue
        what = f"{{}} partitions have {len(places)} replicas, not {task.replication_factor}"
        if len(places) > task.replication_factor:
            yield Left(what, partition, lambda: "a replica can always be given up")
        else:
            yield Left(what, partition, partial(_elsewhere, room, partition, None))


def is_named(topic: str, names: tuple[str, ...]) -> bool:
    return any(topic.startswith(name[:-1]) if name.endswith("*") else topic == name for name in names)


def _mixed(world: World, room: Room, task: Isolate, at: Places) -> Iterator[Left]:
    """Topics of the label elsewhere, or others on its brokers."""
    for partition, places in at.items():
        topic = world.topic(partition)
        for place in places:
            is_mine = topic.label == task.label
            of_label = world.brokers[place.broker].label == task.label
            if not world.suits(topic, place.broker) and (is_mine or of_label):
                whose = f"of label {task.label}" if of_label else f"not of label {task.label}"
                what = f"broker {place.broker}, which is {whose}, keeps {{}} replicas that must not be there"
                is_served = is_mine or _is_served(world, topic, len(places), task.brokers)
                could = partial(_elsewhere, room, partition, place) if is_served else _nothing
                yield Left(what, partition, could, is_relaxed=not is_mine)


def _staying(world: World, plan: Plan, task: Remove, at: Places) -> Iterator[str]:
    """Living brokers that keep something else than what the plan names: none of them may be one that can be emptied.

    Moves of a plan that has some may have made the room that the checker finds: then it does not look.
    """
    kept = Counter(place.broker for places in at.values() for place in places if place.broker in task.brokers)
    for broker, count in sorted(kept.items()):
        if not world.brokers[broker].alive:
            continue
        named = plan.excused.partitions
        if broker not in plan.excused.brokers:
            if any(place.broker == broker for partition, on in at.items() if partition not in named for place in on):
                yield f"broker {broker} keeps {count} replicas"
        elif not plan.moves and _can_go(world, at, broker) and Room(world, plan, at).empties(broker, task.brokers):
            yield f"broker {broker} keeps {count} replicas, though others have room for all of them"


def _can_go(world: World, at: Places, broker: int) -> bool:
    """Nothing there must be left alone, and another broker serves its rack and label: no rule is about the last one."""
    fact = world.brokers[broker]
    alike = any(
        each.rack == fact.rack and each.label == fact.label and each.idc == fact.idc and not each.closed
        for other, each in world.brokers.items()
        if other != broker
    )
    untouchable = any(
        place.broker == broker for partition in world.unseen | world.lost for place in at.get(partition, ())
    )
    has_policies = any(topic.policy is not None for topic in world.topics.values())
    return alike and not untouchable and not has_policies


def _kept_back(world: World, plan: Plan, task: Isolate, release: int, at: Places) -> Iterator[str]:
    """Machines of the label that are asked back and hold something still."""
    held = {place.broker for places in at.values() for place in places}
    mine = [broker for broker, fact in world.brokers.items() if fact.label == task.label and fact.alive]
    empty = [broker for broker in mine if broker not in held]
    if len(empty) >= release:
        return
    told = f"{len(empty)} machines of label {task.label} are empty, not {release}"
    if not plan.unmet:
        yield told
    for broker in held.intersection(mine) if not task.headroom else ():
        if plan.unmet and _can_go(world, at, broker) and Room(world, plan, at).empties(broker, empty):
            yield f"{told}, though the others have room for all of broker {broker}"
            return


def _created(world: World, task: CreateTopic | ExpandTopic, at: Places) -> Iterator[str]:
    topic = task.topic.name if isinstance(task, CreateTopic) else task.topic
    numbers = sorted(partition.partition for partition in at if partition.topic == topic)
    if numbers != list(range(task.partitions)):
        yield f"topic {topic} would have {len(numbers)} partitions, not {task.partitions}"
    old = {partition: len(now) for partition, now in world.partitions.items() if partition.topic == topic}
    factor = task.replication_factor if isinstance(task, CreateTopic) else max(old.values(), default=1)
    for partition, places in at.items():
        if partition.topic == topic and partition not in old and len(places) != factor:
            yield f"{partition} would have {len(places)} replicas, not {factor}"
