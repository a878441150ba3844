"""One step that makes a cluster more even: the answer to a plan of nothing that says no step would help.

A step counts only where it makes one resource clearly more even and no other one less so. A plan may do better than
that, but where even this was to be had, nothing was not all that could be done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from guardian.model.topology import TopicPartition
from spark_analytics.checker.moves import may_lead
from spark_analytics.checker.places import Places, Room
from spark_analytics.checker.world import DISK, LEADERS, REPLICAS, World

_APART = 1.0  # mean uses that lie between the two brokers
_SMALL = 0.25  # of a mean broker's load: a larger replica is dear to move
_COUNTS = (REPLICAS, LEADERS)
_LEADERSHIP = "the leadership"
_TRIED = 40  # replicas, and brokers for each

Use = Mapping[int, Sequence[float]]
"""{broker: [use / mean use of its pool, by resource]}"""


@dataclass(frozen=True, slots=True)
class May:
    """What of a partition a task may move."""

    replicas: bool
    leaders: bool


def helpful_step(
    world: World, room: Room, at: Places, use: Use, shares: Use, worst: int, resource: int, may: May
) -> str:
    """Name a step that could move something off the `worst` broker, or nothing. `shares` [broker] is what a unit of
    load is there.
    """
    for partition, broker, gives, what in _candidates(world, room, at, use, worst, resource):
        if (may.leaders if what == _LEADERSHIP else may.replicas) and _helps(
            use, shares, worst, broker, gives, resource
        ):
            return f"{what} of {partition} would go from broker {worst} to {broker}"
    return ""


def _candidates(
    world: World, room: Room, at: Places, use: Use, worst: int, resource: int
) -> Iterator[tuple[TopicPartition, int, Sequence[float], str]]:
    """(partition, where to, what it carries there, in words), the heaviest first."""
    on_it = [
        (partition, place, place == places[0])
        for partition, places in at.items()
        for place in places
        if place.broker == worst and _may_move(world, partition)
    ]
    loads = {partition: room.carries(partition, worst, leads) for partition, _, leads in on_it}
    on_it.sort(key=lambda item: (-loads[item[0]][resource], item[0]))
    emptiest = sorted(use, key=lambda broker: (use[broker][resource], broker))[:_TRIED]
    crowd = Crowd(world, at)
    for partition, place, leads in on_it[:_TRIED]:
        topic = world.topic(partition)
        for broker in emptiest:
            if leads and not may_lead(world, topic, broker):
                continue
            if any(other.broker == broker for other in at[partition]):
                if leads and room.bears(broker, (gives := room.leads(partition))[: DISK + 1]):
                    yield partition, broker, gives, _LEADERSHIP
            elif crowd.lets(partition.topic, broker) and room.place_on(broker, partition, place):
                yield partition, broker, loads[partition], "a replica"


def _may_move(world: World, partition: TopicPartition) -> bool:
    is_meant = world.scope is None or partition.topic in world.scope
    is_known = partition not in world.unseen | world.lost | world.unmoved
    return is_meant and is_known and not world.settings.excludes(partition.topic)


class Crowd:
    """How many replicas of a topic are on a broker, and on the one that has most."""

    def __init__(self, world: World, at: Places) -> None:
        self._is_limited = world.settings.topic_spread
        self._held = Counter((partition.topic, place.broker) for partition, on in at.items() for place in on)
        self._most: Counter[str] = Counter()
        for (topic, _), count in self._held.items():
            self._most[topic] = max(self._most[topic], count)

    def lets(self, topic: str, broker: int) -> bool:
        return not self._is_limited or self._held[topic, broker] < self._most[topic]


def _helps(use: Use, shares: Use, worst: int, to: int, gives: Sequence[float], resource: int) -> bool:
    for each, load in enumerate(gives):
        less, more = load * shares[worst][each], load * shares[to][each]
        was = (use[worst][each] - 1) ** 2 + (use[to][each] - 1) ** 2
        will = (use[worst][each] - less - 1) ** 2 + (use[to][each] + more - 1) ** 2
        is_far = use[worst][each] - use[to][each] >= _APART
        is_better = will < was and is_far if each == resource else will <= was + 1e-9
        if not is_better or (max(less, more) > _SMALL and each not in _COUNTS):
            return False
    return True
