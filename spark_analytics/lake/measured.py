"""From one row a replica, as measured on it, to what each replica costs: by column, for a million of them.

    size      its own, also a follower's
    in        what its partition takes in: the mean over those that led, weighted by how long each of them did
    out       a leader serves consumers and its followers; what a follower serves (fetch from follower) stays its own
    cpu       nobody measures it by replica. Each broker's busy time is divided among its replicas by traffic: of what a
              leader takes in 0.6, of what it sends 0.1, of what a follower writes 0.3
    disk io   what it writes; what its disk moved beyond all that is divided in the same way: what is served from there
              would follow the leaders, who move. Brokers of one host all see all of its disks: there it is nobody's

So a broker costs what was measured, and a replica takes what it costs along. What makes one broker's bytes dearer than
another's is mostly its clients' doing (small requests, TLS, compression), and clients follow the leader. Where it is
the machine (older cores), the next window tells what the replica costs on the new one. A broker whose bytes are more
than APART times dearer or cheaper than usual is busy with something else, or nearly idle, which no replica would take
along. Its replicas count as that many times. Brokers of one host can't be told apart by CPU and count as one.

A topic without a rate yet counts with the traffic that its owner announced, an equal share for each partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from guardian.errors import InvalidInput
from spark_analytics.model.canonical import disk_of
from spark_analytics.model.facts import Bools, Floats, Ints, LogDirFacts, ReplicaColumns, TopicFacts

# A median of fewer pairs of samples follows a single burst.
MIN_PAIRS = 3

# Of CPU for a byte: clients and machines of one cluster seldom differ by more.
APART = 3.0

_LEADER_IN, _LEADER_OUT, _FOLLOWER_IN = 0.6, 0.1, 0.3
_EVENLY = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Replicas:
    """Rows of the kind "replica", those that are still there. `broker`, `topic` and `path` are indices."""

    broker: Ints
    topic: Ints
    topics: tuple[str, ...]
    partition: Ints
    path: Ints
    paths: tuple[str, ...]
    leads: Bools
    at_ms: Ints
    size: Floats
    growth: Floats
    pairs: Floats
    led_ms: Floats
    write: Floats  # nan: not known; the next three as well
    write_p95: Floats
    read: Floats
    read_p95: Floats
    seen: Floats  # how many replicas the leader knows of
    lost: Bools  # on a dead broker or a broken disk: as it was last seen

    @classmethod
    def of(cls, rows: pa.Table, broker_ids: Ints, present: Bools, lost: Bools) -> Replicas:
        """`present` says of each row whether it counts."""
        lost = lost[present]
        rows = rows.filter(pa.array(present))
        topic, topics = coded(rows["topic"])
        path, paths = coded(rows["log_dir"])
        return cls(
            broker=np.searchsorted(broker_ids, _ints(rows, "broker")),
            topic=topic,
            topics=topics,
            partition=_ints(rows, "partition"),
            path=path,
            paths=paths,
            leads=_ints(rows, "is_leader") > 0,
            at_ms=_ints(rows, "at_ms"),
            size=numbers(rows, "size_bytes", 0.0),
            growth=numbers(rows, "growth_bytes_per_s", 0.0),
            pairs=numbers(rows, "rate_pairs", 0.0),
            led_ms=numbers(rows, "led_ms", 0.0),
            write=numbers(rows, "write_rate", np.nan),
            write_p95=numbers(rows, "write_p95", np.nan),
            read=numbers(rows, "read_rate", np.nan),
            read_p95=numbers(rows, "read_p95", np.nan),
            seen=numbers(rows, "replicas", np.nan),
            lost=lost,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Busy:
    """[brokers] `cpu` is percent of one core, nan where it is not known; those of one host have one number `host`."""

    cpu: Floats
    host: Ints


def coded(column: pa.ChunkedArray) -> tuple[Ints, tuple[str, ...]]:
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.array([], pa.string())
    coded = whole if isinstance(whole, pa.DictionaryArray) else whole.dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), tuple(coded.dictionary.to_pylist())


def _ints(rows: pa.Table, name: str) -> Ints:
    filled = pc.fill_null(rows[name].cast(pa.int64()), 0)
    return np.asarray(filled.to_numpy(), dtype=np.int64)


def numbers(rows: pa.Table, name: str, missing: float) -> Floats:
    """A column as floats, `missing` where it is null, or not there at all."""
    if name not in rows.column_names:
        return np.full(rows.num_rows, missing)
    filled = pc.fill_null(rows[name].cast(pa.float64()), missing)
    return np.nan_to_num(np.asarray(filled.to_numpy(), dtype=np.float64), nan=missing)


def columns_of(
    cluster: str,
    replicas: Replicas,
    log_dirs: Sequence[LogDirFacts],
    broker_ids: Ints,
    topics: Sequence[TopicFacts],
    busy: Busy,
    disk_io: Mapping[tuple[int, str], float],
) -> ReplicaColumns:
    """Compute what each replica costs. `topics` are those of `replicas`, in its order; `disk_io` bytes/s of (broker id,
    disk).
    """
    log_dir = _log_dirs_of(cluster, replicas, log_dirs, broker_ids)
    key = replicas.topic * (int(replicas.partition.max(initial=0)) + 1) + replicas.partition
    _, partition = np.unique(key, return_inverse=True)
    count = int(partition.max(initial=-1)) + 1
    first = _first_of_each(replicas, partition)
    leads = np.zeros(len(partition), dtype=np.bool_)
    leads[first] = replicas.leads[first]
    of_partition = _Rates.of(replicas, partition, count)
    expected = _expected(replicas, topics, first)
    known = of_partition.pairs >= MIN_PAIRS
    written = np.where(np.isnan(of_partition.write), expected[:, 0], of_partition.write)
    read = np.where(np.isnan(of_partition.read), expected[:, 1], of_partition.read)
    members = np.bincount(partition, minlength=count)
    seen = np.isnan(replicas.seen[first]) | (replicas.seen[first] == members)
    is_led = replicas.leads[first] & ~replicas.lost[first]
    lives = np.bincount(partition[~replicas.lost], minlength=count) > 0
    whole = np.where(lives, seen & is_led, True)
    served = np.where(replicas.led_ms > 0, 0.0, np.nan_to_num(replicas.read))
    into, out = written[partition], (read + written * (members - 1))[partition]
    load = np.column_stack([_FOLLOWER_IN * into + _LEADER_OUT * served, into, served, replicas.size])
    leader_load = np.column_stack(
        [(_LEADER_IN - _FOLLOWER_IN) * into + _LEADER_OUT * out, np.zeros(len(into)), out, np.zeros(len(into))]
    )
    scale = _cpu_scale(replicas.broker, load[:, 0] + leads * leader_load[:, 0], busy)[replicas.broker]
    load[:, 0] *= scale
    leader_load[:, 0] *= scale
    return ReplicaColumns(
        topic=replicas.topic,
        partition=replicas.partition,
        log_dir=log_dir,
        leads=leads,
        load=load,
        leader_load=leader_load,
        io=_disk_io(log_dir, into, log_dirs, disk_io),
        peak=of_partition.peak[partition],
        growth=replicas.growth[first[partition]],
        movable=(known & whole)[partition],
        whole=whole[partition],
    )


def _log_dirs_of(cluster: str, replicas: Replicas, log_dirs: Sequence[LogDirFacts], broker_ids: Ints) -> Ints:
    """[replicas] indices into `log_dirs`. Raises InvalidInput for one that is not there."""
    path_at = {path: index for index, path in enumerate(replicas.paths)}
    broker_at = {broker: index for index, broker in enumerate(broker_ids.tolist())}
    table = np.full((len(broker_ids), max(len(path_at), 1)), -1)
    for index, log_dir in enumerate(log_dirs):
        if log_dir.path in path_at:
            table[broker_at[log_dir.broker], path_at[log_dir.path]] = index
    found = table[replicas.broker, replicas.path] if len(replicas.path) else np.zeros(0, np.int64)
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        raise InvalidInput(
            f"partition {replicas.topics[replicas.topic[row]]}-{replicas.partition[row]} of cluster {cluster} is on "
            f"unknown log dir {replicas.paths[replicas.path[row]]} of broker {broker_ids[replicas.broker[row]]}: "
            "wait for its log dir samples, or take a window that begins later"
        )
    return found


def _first_of_each(replicas: Replicas, partition: Ints) -> Ints:
    """[partitions] the row that leads. Of two that say so the later one is right: it was sampled after the change."""
    order = np.lexsort((replicas.broker, -replicas.at_ms, ~replicas.leads, partition))
    return order[np.unique(partition[order], return_index=True)[1]]


@dataclass(frozen=True, slots=True, eq=False)
class _Rates:
    """By partition; nan where nobody led long enough to tell."""

    write: Floats
    read: Floats
    peak: Floats
    pairs: Floats

    @classmethod
    def of(cls, replicas: Replicas, partition: Ints, count: int) -> _Rates:
        led = (replicas.led_ms > 0) & ~np.isnan(replicas.write)
        weight = np.where(led, replicas.led_ms, 0.0)
        total = np.bincount(partition, weight, count)

        def mean(values: Floats) -> Floats:
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.bincount(partition, weight * np.nan_to_num(values), count) / total

        write, read = mean(replicas.write), mean(replicas.read)
        highest = mean(replicas.write_p95) + mean(replicas.read_p95)
        with np.errstate(invalid="ignore", divide="ignore"):
            peak = np.where(write + read > 0, highest / (write + read), 1.0)
        pairs = np.bincount(partition, np.where(led, replicas.pairs, 0.0), count).astype(np.float64)
        return cls(write, read, np.maximum(np.nan_to_num(peak, nan=1.0, posinf=1.0), 1.0), pairs)


def _expected(replicas: Replicas, topics: Sequence[TopicFacts], first: Ints) -> Floats:
    """[partitions, 2] an equal share of what the topic's owner announced."""
    announced = np.array([[topic.expected_in, topic.expected_out] for topic in topics]).reshape(-1, 2)
    topic = replicas.topic[first]
    partitions = np.bincount(topic, minlength=len(topics))
    return np.asarray(announced[topic] / partitions[topic][:, None])


def _cpu_scale(broker: Ints, share: Floats, busy: Busy) -> Floats:
    """[brokers] what one unit of traffic costs; as usual where it is not known, 0 where it never is."""
    known = ~np.isnan(busy.cpu)
    traffic = np.where(known, np.bincount(broker, share, len(known)), 0.0)
    _, host = np.unique(busy.host, return_inverse=True)
    weight = np.bincount(host, traffic).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        price = np.bincount(host, np.where(known, busy.cpu, 0.0)) / weight
    price = np.where(weight > 0, price, np.nan)
    usual = _median(price[weight > 0], weight[weight > 0])
    return np.asarray(np.clip(np.where(np.isnan(price), usual, price), usual / APART, usual * APART)[host])


def _median(values: Floats, weights: Floats) -> float:
    """0 of none."""
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    summed = np.cumsum(weights[order])
    return float(values[order][np.argmax(summed >= summed[-1] / 2)])


def _disk_io(
    log_dir: Ints,
    written: Floats,
    log_dirs: Sequence[LogDirFacts],
    disk_io: Mapping[tuple[int, str], float],
) -> Floats:
    """Bytes/s of each replica."""
    disks = {key: index for index, key in enumerate(dict.fromkeys(disk_of(each) for each in log_dirs))}
    disk_of_dir = np.array([disks[disk_of(each)] for each in log_dirs], dtype=np.int64)
    disk = disk_of_dir[log_dir] if len(log_dir) else log_dir
    measured = np.array([disk_io.get(key, 0.0) for key in disks])
    beyond = np.maximum(measured - np.bincount(disk, written, len(disks)), 0.0)
    for shares in (written, np.full(len(disk), _EVENLY)):
        total = np.bincount(disk, shares, len(disks))
        able = total > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.where(able[disk], shares * (beyond / total)[disk], 0.0)
        written = written + part
        beyond = np.where(able, 0.0, beyond)
    return written
