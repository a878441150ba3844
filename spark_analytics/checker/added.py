"""What goals of other packages forbid, asked of each goal's own `judge`, one broker and topic after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from guardian.model.plan import Plan
from spark_analytics.checker.world import BrokerFact, TopicFact, World
from spark_analytics.extensions.goal import Broker, Placement, Topic
from spark_analytics.extensions.installed import Installed, installed


def with_added(world: World, plan: Plan) -> World:
    """Return the world with the brokers that each topic may not use, those of the plan too that the model has not.

    Raises InvalidInput when a goal is wrong.
    """
    if not installed():
        return world
    brokers = {broker: _broker(broker, fact) for broker, fact in world.brokers.items()}
    named = {move.partition.topic: world.topic(move.partition) for move in plan.moves}
    topics = {name: _judged(world, name, fact, brokers) for name, fact in {**named, **world.topics}.items()}
    return replace(world, topics=topics)


def against(world: World, topic: str, broker: int, leads: bool = False) -> str:
    """Return why the broker may not hold, or lead, replicas of the topic: goal by goal, each with its package."""
    told = _forbidding(world, topic, world.topics[topic], _broker(broker, world.brokers[broker]), leads)
    return "; ".join(f"goal {goal.name} of {goal.package}: {why}" for goal, why in told)


def names_against(world: World, topic: str, broker: int) -> str:
    """Return the names of the goals that forbid it."""
    told = _forbidding(world, topic, world.topics[topic], _broker(broker, world.brokers[broker]), leads=False)
    return " and ".join(f"goal {goal.name}" for goal, _ in told)


def _judged(world: World, name: str, fact: TopicFact, brokers: Mapping[int, Broker]) -> TopicFact:
    """Whoever may not hold a replica may not lead it."""

    def forbidden(leads: bool) -> frozenset[int]:
        return frozenset(id for id, broker in brokers.items() if any(_forbidding(world, name, fact, broker, leads)))

    holding = forbidden(leads=False)
    return replace(fact, forbidden=holding, not_leading=holding | forbidden(leads=True))


def _forbidding(
    world: World, name: str, fact: TopicFact, broker: Broker, leads: bool
) -> Iterator[tuple[Installed, str]]:
    topic = Topic(name, fact.tenant, fact.label, fact.policy.name if fact.policy else "")
    for goal in installed():
        if why := goal.judge(Placement(topic, broker, leads, world.settings)):
            yield goal, why


def _broker(number: int, fact: BrokerFact) -> Broker:
    """A rack that a broker has for itself alone is none."""
    rack = "" if fact.rack == f"(broker {number})" else fact.rack
    return Broker(number, fact.host, rack, fact.idc, fact.label)
