"""The answer of kafka_cluster_state: brokers, log dirs, and the partitions that are not as they should be. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from guardian.model.cluster_state import LogDir, PartitionState
from guardian.model.topology import TopicPartition

_KINDS = (
    ("offline", "Offline Partitions:"),
    ("with-offline-replicas", "Partitions with Offline Replicas:"),
    ("urp", "Under Replicated Partitions:"),
    ("under-min-isr", "Under MinIsr Partitions:"),
    ("other", "Other Partitions:"),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What Kafka says. `labels` are brokers' (Cruise Control's broker sets); `min_isr` is by topic; `tiered` topics
    have segments in remote storage; `controller` is the active controller's node."""

    brokers: Collection[int]
    partitions: Mapping[TopicPartition, PartitionState]
    log_dirs: tuple[LogDir, ...]
    labels: Mapping[int, str]
    min_isr: Mapping[str, int]
    tiered: Collection[str]
    controller: int = -1


def cluster_document(seen: Seen, topics: Collection[str] | None, *, verbose: bool) -> dict[str, Any]:
    """`topics` None: all; the counts are of all in any case."""
    return {
        "KafkaBrokerState": _brokers(seen),
        "KafkaPartitionState": _partitions(seen, topics, verbose=verbose),
        "version": 1,
    }


def _brokers(seen: Seen) -> dict[str, Any]:
    ids = sorted(seen.brokers)
    leaders: Counter[int] = Counter(state.leader for state in seen.partitions.values() if state.leader >= 0)
    replicas = Counter(id for state in seen.partitions.values() for id in state.replicas)
    out_of_sync = Counter(id for state in seen.partitions.values() for id in state.replicas if id not in state.isr)
    broken = _broken(seen)
    offline = Counter(
        id for partition, state in seen.partitions.items() for id in _offline(seen, broken, partition, state)
    )
    everybody = sorted({*ids, *replicas})

    def counts(counter: Counter[int]) -> dict[str, int]:
        return {str(id): counter[id] for id in everybody}

    return {
        "LeaderCountByBrokerId": counts(leaders),
        "ReplicaCountByBrokerId": counts(replicas),
        "OutOfSyncCountByBrokerId": counts(out_of_sync),
        "OfflineReplicaCountByBrokerId": counts(offline),
        "IsController": {str(id): id == seen.controller for id in everybody},
        "OnlineLogDirsByBrokerId": {str(id): _dirs(seen, id, is_online=True) for id in everybody},
        "OfflineLogDirsByBrokerId": {str(id): _dirs(seen, id, is_online=False) for id in everybody},
        "BrokerSetByBrokerId": {str(id): seen.labels[id] for id in everybody if seen.labels.get(id)},
        "Summary": {
            "Brokers": len(ids),
            "Topics": len({partition.topic for partition in seen.partitions}),
            "Replicas": sum(replicas.values()),
            "Leaders": sum(leaders.values()),
            "AvgReplicationFactor": sum(replicas.values()) / len(seen.partitions) if seen.partitions else 0.0,
            "AvgReplicasPerBroker": sum(replicas.values()) / len(ids) if ids else 0.0,
            "AvgLeadersPerBroker": sum(leaders.values()) / len(ids) if ids else 0.0,
            "MaxReplicasPerBroker": max((replicas[id] for id in ids), default=0),
            "MaxLeadersPerBroker": max((leaders[id] for id in ids), default=0),
            "StdReplicasPerBroker": _deviation([replicas[id] for id in ids]),
            "StdLeadersPerBroker": _deviation([leaders[id] for id in ids]),
        },
    }


def _deviation(counts: list[int]) -> float:
    return statistics.pstdev(counts) if counts else 0.0


def _dirs(seen: Seen, broker: int, *, is_online: bool) -> list[str]:
    return sorted(each.path for each in seen.log_dirs if each.broker == broker and bool(each.error) != is_online)


def _broken(seen: Seen) -> frozenset[int]:
    return frozenset(each.broker for each in seen.log_dirs if each.error)


def _offline(seen: Seen, broken: frozenset[int], partition: TopicPartition, state: PartitionState) -> list[int]:
    """Return the replicas on a broker that is down, or out of sync where a log dir failed and no other shows it."""
    shown = {each.broker for each in seen.log_dirs if each.broker in broken and partition in each.replicas}
    return [
        id
        for id in state.replicas
        if id not in seen.brokers or (id in broken and id not in shown and id not in state.isr)
    ]


def _partitions(seen: Seen, topics: Collection[str] | None, *, verbose: bool) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind, _ in _KINDS if kind != "other" or verbose}
    broken = _broken(seen)
    for partition in sorted(seen.partitions):
        if topics is not None and partition.topic not in topics:
            continue
        state = seen.partitions[partition]
        offline = _offline(seen, broken, partition, state)
        min_isr = seen.min_isr.get(partition.topic, 1)
        row = {
            "topic": partition.topic,
            "partition": partition.partition,
            "leader": state.leader,
            "replicas": list(state.replicas),
            "in-sync": list(state.isr),
            "out-of-sync": [id for id in state.replicas if id not in state.isr],
            "offline": offline,
            "min-isr": min_isr,
            "remote-storage-enabled": partition.topic in seen.tiered,
        }
        kinds = [
            kind
            for kind, is_so in (
                ("offline", state.leader < 0),
                ("with-offline-replicas", bool(offline)),
                ("urp", len(state.isr) < len(state.replicas)),
                ("under-min-isr", len(state.isr) < min_isr),
            )
            if is_so
        ]
        for kind in kinds or (["other"] if verbose else []):
            found[kind].append(row)
    return found


def cluster_text(seen: Seen, topics: Collection[str] | None, *, verbose: bool) -> str:
    brokers = _brokers(seen)
    columns = (
        "LeaderCountByBrokerId",
        "ReplicaCountByBrokerId",
        "OutOfSyncCountByBrokerId",
        "OfflineReplicaCountByBrokerId",
        "IsController",
        "BrokerSetByBrokerId",
    )
    headings = ("BROKER", "LEADER(S)", "REPLICAS", "OUT-OF-SYNC", "OFFLINE", "IS_CONTROLLER", "BROKER-SET")
    lines = ["Brokers:", "".join(f"{name:>20}" for name in headings)]
    for id in brokers["LeaderCountByBrokerId"]:
        cells = [str(brokers[column].get(id, "")).lower() for column in columns]
        lines.append("".join(f"{cell:>20}" for cell in (id, *cells)))
    lines += ["", "LogDirs of brokers:", f"{'BROKER':>20}  ONLINE-LOGDIRS  OFFLINE-LOGDIRS"]
    for id, online in brokers["OnlineLogDirsByBrokerId"].items():
        lines.append(f"{id:>20}  {_listed(online)}  {_listed(brokers['OfflineLogDirsByBrokerId'][id])}")
    partitions = _partitions(seen, topics, verbose=verbose)
    for kind, heading in _KINDS:
        if kind in partitions:
            lines += ["", heading, *_rows(partitions[kind])]
    return "\n".join(lines) + "\n"


def _listed(paths: Iterable[str]) -> str:
    return "[" + ", ".join(paths) + "]"


def _rows(rows: list[dict[str, Any]]) -> list[str]:
    width = max((len(row["topic"]) for row in rows), default=20) + 2
    headings = f"{'TOPIC':>{width}}{'PARTITION':>10}{'LEADER':>10}{'REPLICAS':>30}{'IN-SYNC':>30}{'OUT-OF-SYNC':>25}"
    return [
        headings + f"{'OFFLINE':>25}{'MIN-ISR':>10}",
        *(
            f"{row['topic']:>{width}}{row['partition']:>10}{row['leader']:>10}{row['replicas']!s:>30}"
            f"{row['in-sync']!s:>30}{row['out-of-sync']!s:>25}{row['offline']!s:>25}{row['min-isr']:>10}"
            for row in rows
        ),
    ]
