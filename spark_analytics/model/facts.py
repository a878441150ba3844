"""What a cluster model is made from: small records of brokers, log dirs and topics, and columns of replicas.

Brokers, log dirs and topics come as records: there are thousands. Replicas come as columns, one row a replica in any
order: there may be a million. What is said once a partition (its leader's load on top, its trend) stands in the row of
the replica that leads. PartitionFacts says the same one partition at a time, for small models and for edits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

UNKNOWN = float("inf")


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """`capacity` is CPU (percent of one core), NW_IN, NW_OUT (bytes/s) and DISK (bytes); inf where it is not known."""

    id: int
    rack: str = ""
    idc: str = ""
    host: str = ""
    label: str = ""
    alive: bool = True
    excluded: bool = False
    new: bool = False
    capacity: tuple[float, float, float, float] = (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)


@dataclass(frozen=True, slots=True)
class LogDirFacts:
    """`disk` names the disk below: log dirs of one broker with the same disk share its room."""

    broker: int
    path: str
    total_bytes: float
    usable_bytes: float
    disk: str = ""
    offline: bool = False
    io_capacity: float = UNKNOWN
    await_ms: float = float("nan")


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What the topic directory says; `expected_in` and `expected_out` are bytes/s of the whole topic, 0: not said."""

    name: str
    tenant: str = ""
    label: str = ""
    policy: str = ""
    expected_in: float = 0.0
    expected_out: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaColumns:
    """One row a replica. `topic` and `log_dir` are indices into the topics and log dirs given beside; -1: no place yet.

    `load` is what it costs as a follower, `leader_load` what leading adds; both have columns CPU, NW_IN, NW_OUT, DISK.
    `leader_load`, `peak`, `growth`, `movable` and `whole` are read in the row that leads; if none does, in the first.
    """

    topic: Ints
    partition: Ints
    log_dir: Ints
    leads: Bools
    load: Floats
    leader_load: Floats
    io: Floats | None = None
    peak: Floats | None = None
    growth: Floats | None = None
    movable: Bools | None = None
    whole: Bools | None = None


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """`replicas` begins with the leader; `unplaced` more replicas have no place yet. Rates are bytes/s.

    `size_bytes` is that of each replica, unless `sizes` gives one for each of `replicas`; `cpu` is a follower's,
    `leader_cpu` comes on top of it where it leads. `read_rate` is what the leader serves to consumers, `reads` what
    each of `replicas` serves by itself (follower fetching). The leader also sends what each other replica writes.
    """

    partition: TopicPartition
    replicas: tuple[ReplicaPlacement, ...]
    write_rate: float = 0.0
    read_rate: float = 0.0
    size_bytes: int = 0
    movable: bool = True
    unplaced: int = 0
    sizes: tuple[int, ...] = ()
    reads: tuple[float, ...] = ()
    cpu: float = 0.0
    leader_cpu: float = 0.0
    peak: float = 1.0
    growth: float = 0.0
    whole: bool = True


def columns_of(
    partitions: Sequence[PartitionFacts], topics: dict[str, int], log_dirs: dict[tuple[int, str], int]
) -> ReplicaColumns:
    """The columns of these partitions, all of whose topics and log dirs are known."""
    counts = [len(facts.replicas) + facts.unplaced for facts in partitions]
    rows = np.repeat(np.arange(len(partitions)), counts)
    first = np.cumsum([0, *counts])[:-1]
    nth = np.arange(len(rows)) - first[rows] if len(rows) else np.zeros(0, np.int64)
    leads = nth == 0

    def each(values: Sequence[float]) -> Floats:
        return np.array(values, dtype=np.float64)[rows]

    write = each([facts.write_rate for facts in partitions])
    cpu = each([facts.cpu for facts in partitions])
    size = _flat([_padded(facts.sizes, float(facts.size_bytes), facts) for facts in partitions])
    reads = _flat([_padded(facts.reads, 0.0, facts) for facts in partitions])
    served = each([facts.read_rate for facts in partitions]) + write * (each([float(n) for n in counts]) - 1)
    zero = np.zeros(len(rows))
    leader_cpu = each([facts.leader_cpu for facts in partitions])
    return ReplicaColumns(
        topic=np.array([topics[facts.partition.topic] for facts in partitions], dtype=np.int64)[rows],
        partition=np.array([facts.partition.partition for facts in partitions], dtype=np.int64)[rows],
        log_dir=np.array(
            list(
                chain.from_iterable(
                    [log_dirs[(at.broker, at.log_dir)] for at in facts.replicas] + [-1] * facts.unplaced
                    for facts in partitions
                )
            ),
            dtype=np.int64,
        ),
        leads=leads,
        load=np.column_stack([cpu, write, reads, size]),
        leader_load=np.column_stack([leader_cpu, zero, served, zero]),
        io=write,
        peak=each([facts.peak for facts in partitions]),
        growth=each([facts.growth for facts in partitions]),
        movable=np.array([facts.movable for facts in partitions], dtype=np.bool_)[rows],
        whole=np.array([facts.whole for facts in partitions], dtype=np.bool_)[rows],
    )


def _padded(given: Sequence[float], default: float, facts: PartitionFacts) -> list[float]:
    count = len(facts.replicas) + facts.unplaced
    return [*given, *[max(given, default=default) if given else default] * (count - len(given))]


def _flat(values: Sequence[Sequence[float]]) -> Floats:
    return np.array(list(chain.from_iterable(values)), dtype=np.float64)


def joined(first: ReplicaColumns, second: ReplicaColumns) -> ReplicaColumns:
    """The rows of both; every column must be there."""
    return ReplicaColumns(*(np.concatenate([getattr(first, name), getattr(second, name)]) for name in COLUMNS))


COLUMNS = tuple(ReplicaColumns.__slots__)
