"""A window of time, and what the lake says of a cluster in it, as a model.

The reader hands over one table a cluster: a row a broker, a log dir, a replica, told apart by `kind`. Here they meet:
is there enough to plan from, what is still there at the end of the window, who leads, which rate is a partition's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from guardian.errors import InvalidInput
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts

BROKER, LOG_DIR, REPLICA = "broker", "log_dir", "replica"

# A median of fewer pairs of samples follows a single burst.
MIN_PAIRS = 3

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Window:
    """[from_ms, to_ms), in ms since the epoch, on the brokers' clocks."""

    from_ms: int
    to_ms: int

    def __post_init__(self) -> None:
        if not 0 <= self.from_ms < self.to_ms:
            raise InvalidInput(f"window is from {self.from_ms} to {self.to_ms} ms: it must end after it begins")

    def __str__(self) -> str:
        return f"{_time(self.from_ms)} and {_time(self.to_ms)}"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def model_of(cluster: str, rows: pa.Table, window: Window) -> ClusterModel:
    """The model of a cluster. Raises InvalidInput when the window has too few samples of it, and says of which broker.

    `rows` as spark_analytics.lake.reader.model_rows makes them, those of this cluster.
    """
    brokers = {row["broker"]: row for row in _of_kind(rows, BROKER)}
    _require_samples(cluster, brokers, window)
    log_dirs = [row for row in _of_kind(rows, LOG_DIR) if _is_current(row, brokers)]
    replicas = _of_kind(rows, REPLICA)
    current = [row for row in replicas if _is_current(row, brokers)]
    _require_replicas(cluster, brokers, replicas, current)
    return ClusterModel.of(
        cluster=cluster,
        brokers=[BrokerFacts(row["broker"], row["rack"], row["idc"]) for row in brokers.values()],
        log_dirs=[
            LogDirFacts(
                row["broker"], row["log_dir"], row["total_bytes"], row["usable_bytes"], row["disk"], row["offline"]
            )
            for row in log_dirs
        ],
        partitions=_partitions(current),
        at_ms=window.to_ms,
        input=_input(brokers, window),
    )


def _of_kind(rows: pa.Table, kind: str) -> list[dict[str, Any]]:
    chosen: list[dict[str, Any]] = rows.filter(pc.equal(rows["kind"], kind)).to_pylist()
    return chosen


def _require_samples(cluster: str, brokers: Mapping[int, _Row], window: Window) -> None:
    lacking = sorted(broker for broker, row in brokers.items() if row["pairs"] < MIN_PAIRS)
    if lacking or not brokers:
        enough = len(brokers) - len(lacking)
        which = f" (too few of broker {', '.join(map(str, lacking))})" if lacking else ""
        raise InvalidInput(
            f"cluster {cluster} has {enough} of {len(brokers)} brokers with samples between {window}{which}: "
            f"wait for a window with at least {MIN_PAIRS + 1} samples of each broker, or take a longer one"
        )


def _is_current(row: _Row, brokers: Mapping[int, _Row]) -> bool:
    """Whether it was still there when the broker was last sampled; else it was deleted, or has moved away."""
    broker = brokers.get(row["broker"])
    return broker is not None and row["at_ms"] > broker["last_at_ms"] - broker["interval_ms"] / 2


def _require_replicas(
    cluster: str, brokers: Mapping[int, _Row], replicas: Iterable[_Row], current: Iterable[_Row]
) -> None:
    """A broker that lost all its replicas within the window may as well lack samples: only the next window can tell."""
    seen, left = {row["broker"] for row in replicas}, {row["broker"] for row in current}
    for broker in sorted((seen - left) & brokers.keys()):
        raise InvalidInput(
            f"broker {broker} of cluster {cluster} has no partition samples at {_time(brokers[broker]['last_at_ms'])}, "
            "though it had some earlier in the window: take a window that begins later"
        )


def _partitions(replicas: Iterable[_Row]) -> list[PartitionFacts]:
    together: dict[TopicPartition, list[_Row]] = {}
    for row in replicas:
        together.setdefault(TopicPartition(row["topic"], row["partition"]), []).append(row)
    return [_partition(partition, rows) for partition, rows in together.items()]


def _partition(partition: TopicPartition, rows: list[_Row]) -> PartitionFacts:
    """Two brokers that both say they lead were sampled before and after a change: the later one is right."""
    first, *others = sorted(rows, key=lambda row: (not row["is_leader"], -row["at_ms"], row["broker"]))
    return PartitionFacts(
        partition=partition,
        replicas=tuple(ReplicaPlacement(row["broker"], row["log_dir"]) for row in (first, *others)),
        write_rate=first["write_rate"] or 0.0,
        read_rate=first["read_rate"] or 0.0,
        size_bytes=max(row["size_bytes"] for row in rows),
        movable=first["is_leader"] and (first["rate_pairs"] or 0) >= MIN_PAIRS,
    )


def _input(brokers: Mapping[int, _Row], window: Window) -> str:
    length = window.to_ms - window.from_ms
    complete = {
        broker: min(1.0, (row["covered_ms"] + row["interval_ms"]) / length) for broker, row in sorted(brokers.items())
    }
    least = min(complete, key=lambda broker: complete[broker])
    samples = sum(row["samples"] for row in brokers.values())
    failed = sum(row["failed"] for row in brokers.values())
    return (
        f"{samples} samples of {len(brokers)} brokers between {window}, {sum(complete.values()) / len(complete):.0%} "
        f"complete (least: broker {least} with {complete[least]:.0%}; failed collections: {failed})"
    )
