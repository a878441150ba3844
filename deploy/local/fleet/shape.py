"""Which clusters, brokers, topics and replicas a fleet has: worked out from its specification alone. Pure.

Brokers stand in three IDCs with three racks each. A partition has a replica in each IDC (as far as there are brokers),
on a log dir chosen by lot; the first replica whose disk lives leads. Topics differ in load by orders of magnitude, one
in twelve is hot for a while again and again. Of every twenty brokers one has a disk that is slow for hours; in every
cluster of ten brokers or more one disk is dead.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from uuid import UUID

import numpy as np
import numpy.typing as npt

from deploy.local.fleet.clocks import DailyWave, Episodes, Floats
from guardian.errors import InvalidInput

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

IDCS = ("shanghai", "suzhou", "hangzhou")
_RACKS = "abc"
_MAX_CLUSTERS = 250  # the second number of their addresses
_MAX_BROKERS = 20_000
_MOST_THIRD = 249  # the third number of brokers' addresses
_MAX_BROKERS_OF_CLUSTER = 250 * (_MOST_THIRD + 1)
_MAX_REPLICAS = 20_000
_MAX_SPEED = 1440.0
_MAX_PORT = 65_534
_DAY_S = 86_400.0
_REPLICATION = 3
_REPLICAS_OF_TOPIC = 8  # that a broker has, about
_HOT = 12
_SLOW = 20
_DEAD_FROM = 10
_INTERNAL = "__consumer_offsets"
_INTERNAL_PARTITIONS = 50
_TEAMS = ("payments", "search", "logs", "ads", "shop", "fraud", "maps", "mail")
_NOUNS = ("orders", "clicks", "events", "views", "changes", "alerts", "sessions", "metrics", "trades")
_REPLICA_BYTES_S = 30_000.0  # that are written to one, on average


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """What a fleet is to be. `replicas` a broker, about; `speed`: how many simulated days a day has."""

    brokers: int = 1000
    replicas: int = 1000
    clusters: int = 10
    seed: int = 1
    base_port: int = 9464
    speed: float = 1.0
    log_dirs: int = 4

    def __post_init__(self) -> None:
        """Raises InvalidInput."""
        _require("brokers", self.brokers, 1, _MAX_BROKERS)
        _require("partitions", self.replicas, 1, _MAX_REPLICAS)
        _require("clusters", self.clusters, 1, min(_MAX_CLUSTERS, self.brokers))
        _require("seed", self.seed, 0, 2**32 - 1)
        _require("base-port", self.base_port, 1024, _MAX_PORT)
        _require("speed", self.speed, 1 / 1024, _MAX_SPEED)
        if self.brokers_of(0) > _MAX_BROKERS_OF_CLUSTER:
            raise InvalidInput(
                f"clusters is {self.clusters}: use more, a cluster has at most {_MAX_BROKERS_OF_CLUSTER} brokers"
            )

    def brokers_of(self, index: int) -> int:
        """Return how many brokers the cluster at this index has; the first ones get what is left over."""
        return self.brokers // self.clusters + (index < self.brokers % self.clusters)

    @property
    def day_s(self) -> float:
        return _DAY_S / self.speed


@dataclass(frozen=True, slots=True)
class SimulatedBroker:
    """Where a broker stands, and where it listens: host:port of its reporter and of Kafka's own protocol."""

    id: int
    rack: str
    idc: str
    reporter: str
    listener: str


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """Entry i is topic i: its load, and who takes part in it."""

    names: tuple[str, ...]
    partitions: Ints
    rates: Floats  # messages a second of one partition, on average
    message_bytes: Floats
    readers: Ints  # consumer groups
    heat: Floats  # how many times the average is added while it is hot; mostly 0
    hot: Episodes


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """Entry i is partition i of the cluster; (i, k) its k-th replica. Brokers are positions, -1: no leader."""

    topics: Ints
    numbers: Ints
    brokers: Ints
    dirs: Ints
    dead: Bools
    leaders: Ints


class ClusterShape:
    """One simulated cluster; all that it has is worked out when it is first asked for."""

    def __init__(self, spec: FleetSpec, index: int) -> None:
        self.spec = spec
        self.index = index
        self.name = f"sim-{index + 1}"
        self.id = _kafka_uuid(spec.seed, "cluster", index)
        self.wave = DailyWave(spec.day_s, peak=(spec.clusters // 2 + index) / spec.clusters % 1.0)

    @cached_property
    def brokers(self) -> tuple[SimulatedBroker, ...]:
        """Broker 1, 2, ...: each has an address of its own, all on loopback."""
        return tuple(self._broker(position) for position in range(self.spec.brokers_of(self.index)))

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The path of each log dir, the same on every broker."""
        return tuple(f"/data/disk{number + 1}/kafka" for number in range(self.spec.log_dirs))

    @property
    def controller(self) -> str:
        """Return where the cluster's one controller listens, as host:port; it is no broker."""
        return f"127.{self.index + 1}.{_MOST_THIRD + 1}.1:{self.spec.base_port + 1}"

    def topic_id(self, topic: int) -> UUID:
        """The id of a topic, which no other topic of any cluster has."""
        key = (self.spec.seed, self.index, "topic", topic)
        return UUID(int=number_of(*key, 0) << 64 | number_of(*key, 1))

    @cached_property
    def topics(self) -> Topics:
        random = self._random(1)
        copies = min(_REPLICATION, len(self.brokers))
        partitions = max(1, round(len(self.brokers) * self.spec.replicas / copies))
        counts = _counts(partitions, max(1, self.spec.replicas // _REPLICAS_OF_TOPIC), random)
        count = len(counts)
        weights = random.lognormal(0.0, 1.0, count)
        weights *= partitions / (weights * counts).sum()
        message_bytes = random.integers(200, 4000, count).astype(np.float64)
        heat = np.where(np.arange(count) % _HOT == min(1, count - 1), 8.0, 0.0)
        period_s = self.spec.day_s * random.uniform(0.2, 0.4, count)
        return Topics(
            tuple(_topic_name(topic) for topic in range(count)),
            counts,
            weights * _REPLICA_BYTES_S / message_bytes,
            message_bytes,
            random.integers(0, 4, count).astype(np.int32),
            heat,
            Episodes(period_s, random.uniform(0, 1, count) * period_s, 0.1),
        )

    @cached_property
    def partitions(self) -> Partitions:
        random = self._random(2)
        topics = np.repeat(np.arange(len(self.topics.names), dtype=np.int32), self.topics.partitions)
        numbers = np.concatenate([np.arange(n, dtype=np.int32) for n in self.topics.partitions])
        brokers = self._placed(len(topics), random)
        dirs = random.integers(0, self.spec.log_dirs, brokers.shape).astype(np.int32)
        dead = self.dead_dirs[brokers, dirs]
        first_alive = np.argmin(dead, axis=1)
        leaders = brokers[np.arange(len(topics)), first_alive]
        leaders[dead.all(axis=1)] = -1
        return Partitions(topics, numbers, brokers, dirs, dead, leaders)

    @cached_property
    def dead_dirs(self) -> Bools:
        """(broker, dir): disks that have died."""
        dead = np.zeros((len(self.brokers), self.spec.log_dirs), np.bool_)
        if len(self.brokers) >= _DEAD_FROM:
            random = self._random(3)
            dead[random.integers(len(self.brokers)), random.integers(self.spec.log_dirs)] = True
        return dead

    @cached_property
    def slow_dirs(self) -> Bools:
        """(broker, dir): disks that fail slowly, in episodes."""
        random = self._random(4)
        slow = np.zeros((len(self.brokers), self.spec.log_dirs), np.bool_)
        count = max(1, len(self.brokers) // _SLOW)
        brokers = random.choice(len(self.brokers), count, replace=False)
        slow[brokers, random.integers(0, self.spec.log_dirs, count)] = True
        return slow & ~self.dead_dirs

    @cached_property
    def slowness(self) -> Episodes:
        """Return the episodes in which the slow disk of each broker, if any, is slow."""
        random = self._random(5)
        period_s = self.spec.day_s * random.uniform(0.1, 0.2, len(self.brokers))
        return Episodes(period_s, random.uniform(0, 1, len(self.brokers)) * period_s, 0.4)

    def written(self, at_s: float) -> Floats:
        """Return by topic for how many seconds of its average load it was written to since the beginning."""
        return self.wave.total(at_s) + self.topics.heat * self.topics.hot.total(at_s)

    def slow_seconds(self, position: int, at_s: float) -> Floats:
        """Return by log dir for how many seconds its disk was slow since the beginning."""
        return np.where(self.slow_dirs[position], self.slowness.total(at_s)[position], 0.0)

    def is_slow(self, position: int, at_s: float) -> bool:
        """Return whether a disk of the broker is slow at this moment."""
        return bool(self.slow_dirs[position].any() and self.slowness.on(at_s)[position])

    def _placed(self, partitions: int, random: np.random.Generator) -> Ints:
        """(partition, replica): broker positions, one of each IDC; the IDC that comes first differs."""
        by_idc = [
            np.array([at for at, broker in enumerate(self.brokers) if broker.idc == idc], np.int32) for idc in IDCS
        ]
        columns = [_dealt(members, partitions, random) for members in by_idc if len(members)]
        placed = np.stack(columns, axis=1)
        order = random.permuted(np.tile(np.arange(len(columns)), (partitions, 1)), axis=1)
        return np.take_along_axis(placed, order, axis=1)

    def _broker(self, position: int) -> SimulatedBroker:
        idc = IDCS[position % len(IDCS)]
        rack = f"{idc}-{_RACKS[position // len(IDCS) % len(_RACKS)]}"
        host = f"127.{self.index + 1}.{position // 250}.{position % 250 + 1}"
        reporter, listener = f"{host}:{self.spec.base_port}", f"{host}:{self.spec.base_port + 1}"
        return SimulatedBroker(position + 1, rack, idc, reporter, listener)

    def _random(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.spec.seed, self.index, purpose])


def fleet(spec: FleetSpec) -> list[ClusterShape]:
    """The clusters of a fleet."""
    return [ClusterShape(spec, index) for index in range(spec.clusters)]


def number_of(*what: object) -> int:
    """64 bits, never 0, that are always the same for the same things."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=8).digest()) or 1


def _require(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise InvalidInput(f"{name} is {value:g}: use {least:g} to {most:g}")


def _kafka_uuid(*what: object) -> str:
    digest = blake2b(repr(what).encode(), digest_size=16).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _counts(partitions: int, topics: int, random: np.random.Generator) -> Ints:
    """Partitions of each topic, one at least: Kafka's own has 50 at most, the others share the rest unevenly."""
    internal = max(1, min(_INTERNAL_PARTITIONS, partitions // 4))
    rest = partitions - internal
    others = min(topics, rest)
    if not others:
        return np.array([internal], np.int32)
    shares = random.uniform(0.3, 1.7, others)
    counts = 1 + np.floor((rest - others) * shares / shares.sum()).astype(np.int32)
    counts[: rest - int(counts.sum())] += 1
    return np.concatenate([[internal], counts]).astype(np.int32)


def _dealt(members: Ints, count: int, random: np.random.Generator) -> Ints:
    """`count` entries, each member as often as any other to within one, in an order by lot."""
    return random.permutation(np.resize(random.permutation(members), count))


def _topic_name(index: int) -> str:
    if index == 0:
        return _INTERNAL
    team, noun = _TEAMS[index % len(_TEAMS)], _NOUNS[index % len(_NOUNS)]
    return f"{team}.{noun}-{index}"


def team_of(topic: str) -> str:
    """Return who owns a simulated topic: the part of its name before the dot."""
    return topic.partition(".")[0]
