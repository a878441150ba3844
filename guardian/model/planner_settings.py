"""What an operator may ask of any plan. Standard library only: a command line reads it before Spark is there.

In a member's configuration they are the section [planner]; a task (tasks.py) says what is to be done, these say how.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.model.settings import Section, check_ranges, read, real, section, setting
from guardian.model.throttle import DEFAULT_THROTTLE


def _leaders(path: str, value: object) -> tuple[tuple[str, int], ...]:
    return tuple((topic, int(each)) for topic, each in _numbers(path, value, is_whole=True))


def _weights(path: str, value: object) -> tuple[tuple[str, float], ...]:
    return tuple(_numbers(path, value))


def _numbers(path: str, value: object, *, is_whole: bool = False) -> Iterator[tuple[str, float]]:
    for name, each in sorted(section(path, value).items()):
        yield name, real(f"{path}.{name}", each, is_whole=is_whole)


@dataclass(frozen=True, slots=True)
class PlannerSettings(Section):
    """Say what any plan is asked for unless a command says otherwise (spark_analytics/README.md).

    Spreads are max/mean - 1 of use relative to capacity: where the planner stops, or as near as it gets. Limits are the
    share of a broker's capacity that a plan may fill; above it nothing is added.
    """

    target_spread: float | None = setting(
        None,
        "Spread of cpu, traffic and disk of brokers; default: within 9 %, which is where Cruise Control stops.",
        above=0,
        below=math.inf,
        example=0.2,
    )
    count_spread: float | None = setting(
        None,
        "Spread of numbers of replicas and of leaders; default: within 9 %, of leaders 17 %.",
        above=0,
        below=math.inf,
        example=0.1,
    )
    disk_spread: float = setting(0.1, "Spread of log dirs inside one broker.", above=0, below=math.inf)
    topic_spread: bool = setting(True, "No topic gets more replicas onto one broker than its worst broker has now.")
    cpu_limit: float = setting(0.7, "Limit of CPU.", above=0, most=1)
    network_limit: float = setting(0.8, "Limit of traffic, in and out.", above=0, most=1)
    disk_limit: float = setting(0.8, "Limit of disk space, copies under way included.", above=0, most=1)
    peak_limits: bool = setting(
        True, "Limits of CPU and network hold at the window's 95th percentile, not only at its median."
    )
    disk_reserve: float = setting(
        0.05, "Share of a disk that copies leave usable, whatever else fills it.", least=0, below=1
    )
    disk_io_limit: float = setting(
        0.8, "Limit of what a disk can read and write, where that is known.", above=0, most=1
    )
    growth_days: float = setting(
        3.0,
        "A disk keeps room for so many days' growth of what it holds, where the window saw six hours of it.",
        least=0,
        below=math.inf,
    )
    slow_disk: float = setting(
        8.0,
        "A disk whose requests take so many times the median disk's (and 50 ms) takes nothing new.",
        above=1,
        below=math.inf,
    )
    max_replicas: int = setting(10_000, "The most replicas on a broker.", least=1)
    min_leaders: tuple[tuple[str, int], ...] = setting(
        (),
        "How many partitions each broker leads of a topic at least; a name, or its beginning and a star.",
        example={"orders-*": 1},
        read=_leaders,
    )
    max_bytes: float = setting(
        math.inf, "The most that a plan may copy; what rules force is apart, as with the next two.", least=0
    )
    max_seconds: float = setting(math.inf, "The longest that a plan may take by its own estimate.", least=0)
    max_leader_moves: float = setting(math.inf, "The most leaders that a plan may change.", least=0)
    throttle: float = setting(
        float(DEFAULT_THROTTLE), "Bytes/s that each broker may spend on moving, in and out.", above=0, below=math.inf
    )
    excluded_topics: tuple[str, ...] = setting(
        (), "Topics that are never moved but to keep a rule; a name, or its beginning and a star.", example=["logs-*"]
    )
    shared_labels: tuple[str, ...] = setting(
        (), "Labels whose brokers anybody's topics may use too; those of others are exclusive.", example=["gold"]
    )
    goals: tuple[str, ...] = setting(
        (), "Soft goals, by Guardian's names or Cruise Control's; default: all.", example=["disk-spread"]
    )
    weights: tuple[tuple[str, float], ...] = setting(
        (), "Weights of soft goals, where they are not 1.", example={"disk-spread": 2}, read=_weights
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        for name, patterns in (
            ("excluded_topics", self.excluded_topics),
            ("min_leaders", [topic for topic, _ in self.min_leaders]),
        ):
            for topic in patterns:
                if not topic or "*" in topic[:-1]:
                    raise InvalidInput(f'{name} has {topic!r}: use a name, or its beginning and a star ("logs-*")')
        for topic, least in self.min_leaders:
            if least < 1:
                raise InvalidInput(f"min_leaders.{topic} is {least}: use a number from 1, or leave the topic out")
        for goal, weight in self.weights:
            if not 0 <= weight < math.inf:
                raise InvalidInput(f"weights.{goal} is {weight:g}: use a number from 0 up, such as 2")

    @classmethod
    def of(cls, table: Mapping[str, object]) -> PlannerSettings:
        """Return what a section [planner] says. Raises InvalidInput that names the field, the value and the fix."""
        return read(cls, table, "planner")

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """Return the limits of CPU, NW_IN, NW_OUT and DISK, as Resource has them."""
        return self.cpu_limit, self.network_limit, self.network_limit, self.disk_limit

    def excludes(self, topic: str) -> bool:
        """Return whether the topic is pinned."""
        return any(is_named(topic, pattern) for pattern in self.excluded_topics)

    def leaders_of(self, topic: str) -> int:
        """Return how many of the topic's partitions each broker leads at least."""
        return max((least for pattern, least in self.min_leaders if is_named(topic, pattern)), default=0)


def is_named(topic: str, pattern: str) -> bool:
    """Return whether the pattern names the topic: by its name, or by the beginning of it and a star."""
    return topic.startswith(pattern[:-1]) if pattern.endswith("*") else topic == pattern
