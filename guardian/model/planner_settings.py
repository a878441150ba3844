"""What an operator may ask of any plan. Standard library only: a command line reads it before Spark is there.

In a member's configuration they are the section [planner]; a task (tasks.py) says what is to be done, these say how.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from guardian.errors import InvalidInput
from guardian.model.throttle import DEFAULT_THROTTLE

_SPREADS = ("target_spread", "count_spread", "disk_spread")
_LIMITS = ("cpu_limit", "network_limit", "disk_limit", "disk_io_limit")
_SECTIONS = ("weights", "min_leaders")
_CAPS = ("max_bytes", "max_seconds", "max_leader_moves")


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """Spreads are max/mean - 1 of use relative to capacity: where the planner stops, or as near as it gets.

    target_spread   cpu, traffic and disk of brokers; None: within 9 %, which is where Cruise Control stops
    count_spread    numbers of replicas and of leaders; None: likewise
    disk_spread     log dirs inside one broker
    topic_spread    no topic gets more replicas onto one broker than its worst broker has now
    *_limit         the share of a broker's capacity that a plan may fill; above it nothing is added
    peak_limits     the limits of cpu and network hold at the window's 95th percentile, not only at its median
    disk_reserve    the share of a disk that copies leave usable, whatever else fills it
    disk_io_limit   the share of what a disk can read and write, where that is known, above which nothing is added
    growth_days     for so many days' growth of what it holds a disk keeps room
    slow_disk       a disk whose requests take so many times as long as the median disk's takes nothing new
    max_replicas    the most that a broker may hold
    min_leaders     of which topics each broker leads partitions, and how many at least: ("orders-*", 1)
    max_bytes, max_seconds, max_leader_moves
                    the most that a plan may cost: what it copies, how long that takes at least by the plan's own
                    estimate, and how many leaders change. Of tasks that even out, what rules force is apart
    throttle        bytes/s that each broker may spend on moving, in and out
    excluded_topics never moved but to keep a rule; "logs-*" stands for all topics that begin with "logs-"
    shared_labels   labels whose brokers anybody's topics may use too; the brokers of all others are exclusive
    goals           the soft goals asked for, by Guardian's names or Cruise Control's; none: all of them
    weights         of soft goals, where they are not 1
    """

    target_spread: float | None = None
    count_spread: float | None = None
    disk_spread: float = 0.1
    topic_spread: bool = True
    cpu_limit: float = 0.7
    network_limit: float = 0.8
    disk_limit: float = 0.8
    peak_limits: bool = True
    disk_reserve: float = 0.05
    disk_io_limit: float = 0.8
    growth_days: float = 3.0
    slow_disk: float = 8.0
    max_replicas: int = 10_000
    min_leaders: tuple[tuple[str, int], ...] = ()
    max_bytes: float = math.inf
    max_seconds: float = math.inf
    max_leader_moves: float = math.inf
    throttle: float = DEFAULT_THROTTLE
    excluded_topics: tuple[str, ...] = ()
    shared_labels: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        for name in _SPREADS:
            value = getattr(self, name)
            if value is not None:
                self._require(name, 0 < value < math.inf, "use a number above 0, such as 0.1")
        for name in _LIMITS:
            self._require(name, 0 < getattr(self, name) <= 1, "use a share above 0 and up to 1, such as 0.8")
        for name in _CAPS:
            self._require(name, getattr(self, name) >= 0, "use a number from 0 up, or leave it out")
        self._require("disk_reserve", 0 <= self.disk_reserve < 1, "use a share from 0 up to 1, such as 0.05")
        self._require("throttle", 0 < self.throttle < math.inf, "use bytes/s above 0, such as 50000000")
        self._require("growth_days", 0 <= self.growth_days < math.inf, "use days from 0, such as 3")
        self._require("slow_disk", self.slow_disk > 1, "use a number above 1, such as 8")
        self._require("max_replicas", self.max_replicas >= 1, "use a number from 1, such as 10000")
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

    def _require(self, name: str, is_right: bool, fix: str) -> None:
        if not is_right:
            raise InvalidInput(f"{name} is {getattr(self, name):g}: {fix}")

    @classmethod
    def of(cls, table: Mapping[str, object]) -> PlannerSettings:
        """From the section [planner]. Raises InvalidInput that names the field, the value and the fix."""
        types = {field.name: float if field.name in _SPREADS else type(field.default) for field in fields(cls)}
        for name in table:
            if name not in types:
                raise InvalidInput(f"planner.{name} is not known: use {', '.join(sorted(types))}")
        values = {name: _value(name, types[name], value) for name, value in table.items()}
        return cls(**values)  # type: ignore[arg-type]  # _value has made each of the field's own type

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """Of CPU, NW_IN, NW_OUT and DISK, as Resource has them."""
        return self.cpu_limit, self.network_limit, self.network_limit, self.disk_limit

    def excludes(self, topic: str) -> bool:
        """Whether the topic is pinned."""
        return any(is_named(topic, pattern) for pattern in self.excluded_topics)

    def leaders_of(self, topic: str) -> int:
        """How many of its partitions each broker leads at least."""
        return max((least for pattern, least in self.min_leaders if is_named(topic, pattern)), default=0)


def is_named(topic: str, pattern: str) -> bool:
    """By its name, or by the beginning of it and a star."""
    return topic.startswith(pattern[:-1]) if pattern.endswith("*") else topic == pattern


def _value(name: str, wanted: type, value: object) -> object:
    if wanted is bool:
        if isinstance(value, bool):
            return value
        raise InvalidInput(f"planner.{name} is {value!r}: use true or false")
    if wanted is float:
        return _number(name, value)
    if wanted is int:
        return _whole(name, value)
    if name in _SECTIONS:
        if not isinstance(value, Mapping):
            raise InvalidInput(f"planner.{name} is {value!r}: write it as a section, [planner.{name}]")
        number = _whole if name == "min_leaders" else _number
        return tuple((str(key), number(f"{name}.{key}", each)) for key, each in sorted(value.items()))
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidInput(f'planner.{name} is {value!r}: use a list of names, such as ["a", "b"]')
    return tuple(value)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidInput(f"planner.{name} is {value!r}: use a number")
    return float(value)


def _whole(name: str, value: object) -> int:
    number = _number(name, value)
    if not number.is_integer():
        raise InvalidInput(f"planner.{name} is {value!r}: use a whole number")
    return int(number)
