"""The answers of load and partition_load. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guardian.lake.model.recent_rates import PartitionRate, Rates
from guardian.model.topology import TopicPartition
from guardian.rest.cruise_control.placing import KB, MB, BrokerLoad, Placement, by_host

_NOTHING = PartitionRate()
_HEADINGS = (
    ("DISK_CAP(MB)", 20),
    ("DISK(MB)/_(%)_", 26),
    ("CORE_NUM", 20),
    ("CPU(%)", 15),
    ("NW_IN_CAP(KB/s)", 25),
    ("LEADER_NW_IN(KB/s)", 25),
    ("FOLLOWER_NW_IN(KB/s)", 25),
    ("NW_OUT_CAP(KB/s)", 25),
    ("NW_OUT(KB/s)", 20),
    ("PNW_OUT(KB/s)", 20),
    ("LEADERS/REPLICAS", 20),
)


def load_document(loads: Sequence[BrokerLoad], *, with_disks: bool = False) -> dict[str, Any]:
    """BrokerStats, without its version."""
    return {
        "hosts": [{"Host": load.host, "Rack": load.rack, **_stats(load)} for load in by_host(loads)],
        "brokers": [
            {
                "Host": load.host,
                "Broker": load.broker,
                "Rack": load.rack,
                "BrokerState": load.state,
                **_stats(load),
                **({"DiskState": _disks(load)} if with_disks else {}),
            }
            for load in loads
        ],
    }


def capacity_document(loads: Sequence[BrokerLoad]) -> dict[str, Any]:
    """Build the answer of `capacity_only`: what brokers have, not what they carry."""
    known = ("DiskCapacityMB", "NetworkInCapacity", "NetworkOutCapacity", "NumCore")
    whole = load_document(loads)
    return {
        part: [{key: value for key, value in row.items() if key in (*known, "Host", "Broker", "Rack")} for row in rows]
        for part, rows in whole.items()
    }


def _stats(load: BrokerLoad) -> dict[str, Any]:
    return {
        "DiskMB": load.disk_mb,
        "DiskPct": load.disk_percent,
        "CpuPct": load.cpu_percent,
        "LeaderNwInRate": load.leader_in_kb,
        "FollowerNwInRate": load.follower_in_kb,
        "NwOutRate": load.out_kb,
        "PnwOutRate": load.potential_out_kb,
        "Replicas": load.replicas,
        "Leaders": load.leaders,
        "DiskCapacityMB": load.disk_capacity_mb,
        "NetworkInCapacity": load.in_capacity_kb,
        "NetworkOutCapacity": load.out_capacity_kb,
        "NumCore": load.cores,
    }


def _disks(load: BrokerLoad) -> dict[str, Any]:
    return {
        disk.path: {
            "DiskMB": "DEAD" if disk.is_dead else disk.used_mb,
            "DiskPct": "DEAD" if disk.is_dead else 100 * disk.used_mb / disk.total_mb if disk.total_mb else -1.0,
            "NumLeaderReplicas": disk.leaders,
            "NumReplicas": disk.replicas,
        }
        for disk in load.disks
    }


def load_text(loads: Sequence[BrokerLoad], *, with_disks: bool = False) -> str:
    if not loads:
        return "No broker stats found."
    host = max(len(load.host) for load in loads)
    rack = max(10, *(len(load.rack) + 1 for load in loads))
    path = max((len(disk.path) + 10 for load in loads for disk in load.disks), default=1) if with_disks else 1
    heading = f"{'HOST':>{host}}{'BROKER':>15}{'RACK':>{rack}}{'LOGDIR' if with_disks else '':>{path}}"
    lines = ["", "", heading + "".join(f"{name:>{width}}" for name, width in _HEADINGS)]
    for load in loads:
        cores = f"{load.cores:>19.0f}" if load.cores % 1 == 0 else f"{load.cores:>19.2f}"
        lines.append(
            f"{load.host:>{host}},{load.broker:>14},{load.rack:>{rack - 1}},{'':>{path}}{load.disk_capacity_mb:>19.3f},"
            f"{load.disk_mb:>19.3f}/{load.disk_percent:05.2f},{cores},{load.cpu_percent:>14.3f},"
            f"{load.in_capacity_kb:>24.3f},{load.leader_in_kb:>24.3f},{load.follower_in_kb:>24.3f},"
            f"{load.out_capacity_kb:>24.3f},{load.out_kb:>19.3f},{load.potential_out_kb:>19.3f},"
            f"{load.leaders:>14}/{load.replicas}"
        )
        for disk in load.disks if with_disks else ():
            used = (
                f"{'DEAD':>19}/{'DEAD':>5}"
                if disk.is_dead
                else f"{disk.used_mb:>19.3f}/{_percent(disk.used_mb, disk.total_mb):05.2f}"
            )
            lines.append(f"{disk.path:>{host + 15 + rack + path}},{used},{disk.leaders:>119}/{disk.replicas}")
    return "\n".join(lines) + "\n"


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else -1.0


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """What a partition's leader carries: `cpu` in percent of a core, as its share of the broker's traffic."""

    partition: TopicPartition
    leader: int
    followers: tuple[int, ...]
    cpu: float
    disk_mb: float
    in_kb: float
    out_kb: float
    messages: float


_BY: Mapping[str, Callable[[PartitionLoad], float]] = {
    "cpu": lambda load: load.cpu,
    "disk": lambda load: load.disk_mb,
    "nw_in": lambda load: load.in_kb,
    "nw_out": lambda load: load.out_kb,
}


def partition_loads(
    placement: Placement,
    rates: Rates,
    cpu: Mapping[int, float],
    *,
    resource: str = "disk",
    topics: Collection[str] | None = None,
    partitions: tuple[int, int] = (0, 2**31),
    brokers: Collection[int] = (),
    entries: int = 2**31,
) -> list[PartitionLoad]:
    """Those of the topics (None: all), of partitions with these numbers, led by these brokers (none: any); the ones
    that need most of the resource first."""
    moved: dict[int, float] = {}
    for partition, placed in placement.items():
        moved[placed.leader] = moved.get(placed.leader, 0.0) + _traffic(rates, partition)
    found = []
    for partition, placed in placement.items():
        first, last = partitions
        if topics is not None and partition.topic not in topics:
            continue
        if not first <= partition.partition <= last or (brokers and placed.leader not in brokers):
            continue
        rate = rates.partitions.get(partition, _NOTHING)
        share = _traffic(rates, partition) / moved[placed.leader] if moved[placed.leader] else 0.0
        sizes = {replica.broker: replica.size_bytes for replica in placed.replicas}
        found.append(
            PartitionLoad(
                partition,
                placed.leader,
                tuple(replica.broker for replica in placed.replicas if replica.broker != placed.leader),
                share * cpu.get(placed.leader, 0.0),
                sizes.get(placed.leader, max(sizes.values(), default=0)) / MB,
                rate.written / KB,
                (rate.read + rate.written * max(0, len(placed.replicas) - 1)) / KB,
                rate.messages,
            )
        )
    found.sort(key=lambda load: (-_BY[resource](load), load.partition))
    return found[:entries]


def _traffic(rates: Rates, partition: TopicPartition) -> float:
    rate = rates.partitions.get(partition, _NOTHING)
    return rate.written + rate.read


def partition_document(loads: Iterable[PartitionLoad]) -> dict[str, Any]:
    return {
        "version": 1,
        "records": [
            {
                "topic": load.partition.topic,
                "partition": load.partition.partition,
                "leader": load.leader,
                "followers": list(load.followers),
                "cpu": load.cpu,
                "disk": load.disk_mb,
                "networkInbound": load.in_kb,
                "networkOutbound": load.out_kb,
                "msg_in": load.messages,
            }
            for load in loads
        ],
    }


def partition_text(loads: Sequence[PartitionLoad]) -> str:
    width = max((len(str(load.partition)) for load in loads), default=20) + 2
    columns = ("CPU (%_CORES)", "DISK (MB)", "NW_IN (KB/s)", "NW_OUT (KB/s)", "MSG_IN (#/s)")
    lines = [f"{'PARTITION':>{width}}{'LEADER':>10}{'FOLLOWERS':>30}" + "".join(f"{name:>19}" for name in columns)]
    lines += [
        f"{load.partition!s:>{width}}{load.leader:>10}{list(load.followers)!s:>30}{load.cpu:>19.6f}{load.disk_mb:>19.3f}"
        f"{load.in_kb:>19.3f}{load.out_kb:>19.3f}{load.messages:>19.3f}"
        for load in loads
    ]
    return "\n".join(lines) + "\n"
