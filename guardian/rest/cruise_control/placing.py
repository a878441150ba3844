"""Where replicas are, before and after a plan, and what each broker then carries. Pure.

    partition ── leader, replicas, each on its log dir with its size ─┐
    rates     ── bytes/s written and read, of the leader ─────────────┴─▶ what a broker holds, takes in and gives out

Units are Cruise Control's: MB and KB of 1024. A leader gives its consumers what they read and its followers what is
written; a broker's potential is what it would give if it led all that it holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from guardian.lake.model.recent_rates import PartitionRate, Rates
from guardian.model.cluster_state import LiveFacts
from guardian.model.plan import LoadResource, Plan
from guardian.model.topology import ANY_LOG_DIR, TopicPartition

MB = 1024 * 1024
KB = 1024
_NOTHING = PartitionRate()


@dataclass(frozen=True, slots=True)
class Replica:
    """`log_dir` is empty where no broker shows it."""

    broker: int
    log_dir: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Placed:
    """One partition; `leader` is -1 when there is none."""

    leader: int
    replicas: tuple[Replica, ...]


Placement = Mapping[TopicPartition, Placed]


@dataclass(frozen=True, slots=True)
class DiskLoad:
    """`is_dead`: its log dir is offline."""

    path: str
    used_mb: float
    total_mb: float
    leaders: int
    replicas: int
    is_dead: bool = False


@dataclass(frozen=True, slots=True)
class BrokerLoad:
    """One broker, or all of one host. Capacities are 0 where they are not known."""

    broker: int
    host: str
    rack: str
    state: str
    disk_mb: float = 0.0
    disk_capacity_mb: float = 0.0
    cpu_percent: float = 0.0
    leader_in_kb: float = 0.0
    follower_in_kb: float = 0.0
    out_kb: float = 0.0
    potential_out_kb: float = 0.0
    replicas: int = 0
    leaders: int = 0
    in_capacity_kb: float = 0.0
    out_capacity_kb: float = 0.0
    cores: float = 0.0
    disks: tuple[DiskLoad, ...] = ()

    @property
    def disk_percent(self) -> float:
        """-1 where the capacity is not known."""
        return 100 * self.disk_mb / self.disk_capacity_mb if self.disk_capacity_mb > 0 else -1.0


def placement_of(facts: LiveFacts) -> dict[TopicPartition, Placed]:
    """Return the placement as Kafka shows it; a partition that is being reassigned counts as where it will be."""
    shown = {
        (partition, log_dir.broker): Replica(log_dir.broker, log_dir.path, replica.size_bytes)
        for log_dir in facts.log_dirs
        if not log_dir.error
        for partition, replica in log_dir.replicas.items()
    }
    found = {}
    for partition, state in facts.partitions.items():
        replicas = [shown.get((partition, id), Replica(id, "", 0)) for id in facts.replicas_of(partition)]
        largest = max((replica.size_bytes for replica in replicas), default=0)
        whole = (each if each.log_dir else replace(each, size_bytes=largest) for each in replicas)
        found[partition] = Placed(state.leader, tuple(whole))
    return found


def after(placement: Placement, plan: Plan) -> dict[TopicPartition, Placed]:
    """Return the placement when every move of the plan is done, and preferred leaders lead."""
    moved = dict(placement)
    for move in plan.moves:
        before = moved.get(move.partition, Placed(-1, ()))
        where = {replica.broker: replica for replica in before.replicas}
        size = max((replica.size_bytes for replica in before.replicas), default=move.size_bytes)
        moved[move.partition] = Placed(
            move.target_brokers[0],
            tuple(_target(where.get(each.broker), each.broker, each.log_dir, size) for each in move.target),
        )
    return moved


def _target(known: Replica | None, broker: int, log_dir: str, size: int) -> Replica:
    if known is not None and log_dir in (ANY_LOG_DIR, known.log_dir):
        return known
    return Replica(broker, "" if log_dir == ANY_LOG_DIR else log_dir, size)


@dataclass(slots=True)
class _Sum:
    """What is added up for one broker."""

    bytes: int = 0
    leader_in: float = 0.0
    follower_in: float = 0.0
    out: float = 0.0
    potential: float = 0.0
    replicas: int = 0
    leaders: int = 0
    disks: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))


def broker_loads(
    facts: LiveFacts, placement: Placement, rates: Rates, cpu: Mapping[int, float] | None = None
) -> tuple[BrokerLoad, ...]:
    """Return the loads by broker id: those that live, and those that hold replicas though they don't. `cpu` is percent
    of a core; None: what their hosts were busy, by as many brokers as are on each.
    """
    sums: dict[int, _Sum] = {broker: _Sum() for broker in facts.brokers}
    for partition, placed in placement.items():
        rate = rates.partitions.get(partition, _NOTHING)
        given = rate.read + rate.written * max(0, len(placed.replicas) - 1)
        for replica in placed.replicas:
            total = sums.setdefault(replica.broker, _Sum())
            leads = replica.broker == placed.leader
            total.bytes += replica.size_bytes
            total.replicas += 1
            total.potential += given
            disk = total.disks[replica.log_dir]
            disk[0] += replica.size_bytes
            disk[2] += 1
            if leads:
                total.leaders += 1
                total.leader_in += rate.written
                total.out += given
                disk[1] += 1
            else:
                total.follower_in += rate.written
    busy = host_cpu(facts, rates) if cpu is None else cpu
    return tuple(_broker_load(facts, broker, sums[broker], rates, busy) for broker in sorted(sums))


def host_cpu(facts: LiveFacts, rates: Rates) -> dict[int, float]:
    """Percent of one core; brokers of one host all see the whole host's CPU, so each counts for its part."""
    on_host = Counter(node.host for node in facts.brokers.values())
    return {
        broker: busy / on_host[facts.brokers[broker].host] if broker in facts.brokers else busy
        for broker, busy in rates.cpu.items()
    }


def cpu_of(plan: Plan, *, is_after: bool) -> dict[int, float] | None:
    """Return the CPU that the planner computed, in percent of a core; None where it knew of none."""
    rows = [load for load in plan.loads if load.resource == LoadResource.CPU and not load.log_dir]
    return {load.broker: load.after if is_after else load.before for load in rows} or None


def _broker_load(facts: LiveFacts, broker: int, total: _Sum, rates: Rates, cpu: Mapping[int, float]) -> BrokerLoad:
    node = facts.brokers.get(broker)
    dirs = [log_dir for log_dir in facts.log_dirs if log_dir.broker == broker]
    state = "DEAD" if node is None else "BAD_DISKS" if any(each.error for each in dirs) else "ALIVE"
    cores = float(rates.cores.get(broker, 0))
    nic = rates.nics.get(broker, 0.0) / KB
    disks = tuple(
        DiskLoad(
            each.path,
            total.disks[each.path][0] / MB,
            max(0, each.total_bytes) / MB,
            total.disks[each.path][1],
            total.disks[each.path][2],
            bool(each.error),
        )
        for each in sorted(dirs, key=lambda each: each.path)
    )
    return BrokerLoad(
        broker,
        node.host if node else "",
        (node.rack if node else "") or (node.host if node else ""),
        state,
        total.bytes / MB,
        sum(disk.total_mb for disk in disks if not disk.is_dead),
        cpu.get(broker, 0.0) / cores if cores else 0.0,
        total.leader_in / KB,
        total.follower_in / KB,
        total.out / KB,
        total.potential / KB,
        total.replicas,
        total.leaders,
        nic,
        nic,
        cores,
        disks,
    )


def by_host(loads: Iterable[BrokerLoad]) -> tuple[BrokerLoad, ...]:
    """Hosts by name, each with the sum of its brokers."""
    found: dict[str, BrokerLoad] = {}
    for load in loads:
        known = found.get(load.host)
        found[load.host] = load if known is None else _added(known, load)
    return tuple(found[host] for host in sorted(found))


def _added(one: BrokerLoad, other: BrokerLoad) -> BrokerLoad:
    return replace(
        one,
        disk_mb=one.disk_mb + other.disk_mb,
        disk_capacity_mb=one.disk_capacity_mb + other.disk_capacity_mb,
        cpu_percent=one.cpu_percent + other.cpu_percent,
        leader_in_kb=one.leader_in_kb + other.leader_in_kb,
        follower_in_kb=one.follower_in_kb + other.follower_in_kb,
        out_kb=one.out_kb + other.out_kb,
        potential_out_kb=one.potential_out_kb + other.potential_out_kb,
        replicas=one.replicas + other.replicas,
        leaders=one.leaders + other.leaders,
        in_capacity_kb=one.in_capacity_kb + other.in_capacity_kb,
        out_capacity_kb=one.out_capacity_kb + other.out_capacity_kb,
        cores=one.cores + other.cores,
    )
