"""What the lake says of a cluster in a window of time, as a model.

The reader hands over one table a cluster: a row a broker, a log dir, a disk, a replica, told apart by `kind`. Here they
meet what people have told Guardian. Is there enough to plan from, what is still there at the end of the window, who
leads, whose topics these are and what may live where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from guardian.errors import InvalidInput
from guardian.lake.model.window import Window, utc_time
from guardian.lake.model.windows import BROKER, DISK, LOG_DIR, REPLICA
from guardian.model.directory import Directory, placed
from guardian.model.federation import Machine
from guardian.model.topology import Broker, BrokerState
from spark_analytics.lake.disks import DiskKey, io_capacities, io_rates
from spark_analytics.lake.hosts import Hosts, brokers_on, hosts_of
from spark_analytics.lake.liveness import Liveness, is_current
from spark_analytics.lake.measured import MIN_PAIRS, Busy, Replicas, columns_of, numbers
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.facts import UNKNOWN, Bools, BrokerFacts, LogDirFacts, TopicFacts

_Row = Mapping[str, Any]


def model_of(
    cluster: str,
    rows: pa.Table,
    window: Window,
    directory: Directory | None = None,
    hosts: Hosts | None = None,
) -> ClusterModel:
    """The model of a cluster. Raises InvalidInput when the window has too few samples of it, and says of which broker.

    `rows` as spark_analytics.lake.reader.model_rows makes them, those of this cluster, in any order. `hosts` are those
    of its brokers, where `directory` lacks the other clusters that may be on them; by itself it tells them.
    """
    if hosts is None:
        hosts = hosts_of(directory or Directory()).get(cluster, {})
    told = (directory or Directory()).of_cluster(cluster)
    brokers = sorted(_of_kind(rows, BROKER).to_pylist(), key=lambda row: row["broker"])
    dir_rows, replica_rows = _of_kind(rows, LOG_DIR), _of_kind(rows, REPLICA)
    liveness = Liveness.of(brokers, dir_rows, replica_rows, told)
    _require_samples(cluster, [row for row in brokers if row["broker"] not in liveness.gone], window)
    broker_ids = np.array([row["broker"] for row in brokers], dtype=np.int64)
    disks = {(row["broker"], row["disk"]): row for row in _of_kind(rows, DISK).to_pylist()}
    current_dirs = dir_rows.filter(pa.array(is_current(dir_rows, brokers)))
    log_dirs = _log_dirs(current_dirs.to_pylist(), disks, hosts)
    _require_replicas(cluster, brokers, replica_rows, liveness.shown)
    replicas = Replicas.of(replica_rows, broker_ids, liveness.present, liveness.lost)
    topics = topic_facts(replicas.topics, told)
    # What the dead did, others do now.
    cpu = {row["broker"]: number(row, "cpu", float("nan")) for row in brokers if row["broker"] not in liveness.gone}
    people = People.of(told, window.to_ms)
    columns = columns_of(
        cluster,
        replicas,
        log_dirs,
        broker_ids,
        topics,
        busy_of(broker_ids.tolist(), hosts, cpu),
        io_rates(disks, hosts),
    )
    return ClusterModel.from_arrays(
        cluster,
        [_broker(row, people, hosts, liveness) for row in brokers],
        log_dirs,
        topics,
        columns,
        told.tenants,
        told.policies,
        list(told.links.lines.values()),
        at_ms=window.to_ms,
        input=_input(brokers, window, liveness),
    )


def _of_kind(rows: pa.Table, kind: str) -> pa.Table:
    return rows.filter(pc.equal(rows["kind"], kind))


def _require_samples(cluster: str, brokers: Sequence[_Row], window: Window) -> None:
    lacking = [row["broker"] for row in brokers if row["pairs"] < MIN_PAIRS]
    if lacking or not brokers:
        enough = len(brokers) - len(lacking)
        which = f" (too few of broker {', '.join(map(str, lacking))})" if lacking else ""
        raise InvalidInput(
            f"cluster {cluster} has {enough} of {len(brokers)} brokers with samples between {window}{which}: "
            f"wait for a window with at least {MIN_PAIRS + 1} samples of each broker, or take a longer one"
        )


def _require_replicas(cluster: str, brokers: Sequence[_Row], replicas: pa.Table, current: Bools) -> None:
    """A broker that lost all its replicas within the window may as well lack samples: only the next window can tell."""
    broker = numbers(replicas, "broker", -1.0)
    gone = set(np.unique(broker).tolist()) - set(np.unique(broker[current]).tolist())
    for row in brokers:
        if row["broker"] in gone:
            raise InvalidInput(
                f"broker {row['broker']} of cluster {cluster} has no partition samples at "
                f"{utc_time(row['last_at_ms'])}, though it had some earlier in the window: take a window that begins "
                "later"
            )


def _log_dirs(rows: Sequence[_Row], disks: Mapping[DiskKey, _Row], hosts: Hosts) -> list[LogDirFacts]:
    capacities = io_capacities(disks, {_disk_of(row): float(row["total_bytes"]) for row in rows}, hosts)
    return [
        LogDirFacts(
            broker=row["broker"],
            path=row["log_dir"],
            total_bytes=row["total_bytes"],
            usable_bytes=row["usable_bytes"],
            disk=row["disk"] or "",
            offline=row["offline"],
            io_capacity=capacities[_disk_of(row)],
            await_ms=number(disks.get(_disk_of(row), {}), "await_ms", float("nan")),
        )
        for row in rows
    ]


def _disk_of(row: _Row) -> DiskKey:
    return row["broker"], row["disk"] or ""


def number(row: _Row, name: str, missing: float) -> float:
    """Return a value of the row, `missing` where nothing tells."""
    value = row.get(name)
    return missing if value is None else float(value)


def topic_facts(names: Sequence[str], told: Directory) -> list[TopicFacts]:
    """Return what the topic directory says of these topics, in their order."""
    entries = {topic.name: topic for topic in told.topics}
    return [
        TopicFacts(
            name,
            entry.tenant,
            entry.label,
            entry.idc_policy,
            float(entry.expected_bytes_in_per_s),
            float(entry.expected_bytes_out_per_s),
        )
        if (entry := entries.get(name))
        else TopicFacts(name)
        for name in names
    ]


def busy_of(brokers: Sequence[int], hosts: Hosts, cpu: Mapping[int, float]) -> Busy:
    """Brokers of one host all see the whole host's CPU: each counts for its part."""
    at = {host.name: number for number, host in enumerate(hosts.values(), len(brokers))}
    shares = [cpu.get(broker, float("nan")) / brokers_on(hosts, broker) for broker in brokers]
    places = [at[hosts[broker].name] if broker in hosts else number for number, broker in enumerate(brokers)]
    return Busy(cpu=np.array(shares, dtype=np.float64), host=np.array(places, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class People:
    """What was said of brokers: `away` are expected to be, `kept_free` take nothing."""

    entries: Mapping[int, Broker]
    machines: Mapping[int, Machine]
    away: frozenset[int]
    kept_free: frozenset[int]

    @classmethod
    def of(cls, told: Directory, at_ms: int) -> People:
        entries = {broker.id: broker for cluster in told.clusters for broker in cluster.brokers}
        excluded = {each.broker_id for each in told.exclusions if not 0 < each.until_ms <= at_ms}
        return cls(
            entries,
            {machine.broker_id: machine for machine in told.machines if machine.cluster},
            frozenset(broker.id for broker in entries.values() if broker.state is BrokerState.MAINTENANCE),
            frozenset(excluded | {each.id for each in entries.values() if each.state is not BrokerState.ACTIVE}),
        )


def broker_facts(
    broker: int,
    people: People,
    hosts: Hosts,
    *,
    rack: str,
    idc: str = "",
    cores: float,
    nic: float,
    alive: bool,
    takes_nothing: bool,
) -> BrokerFacts:
    """Return the facts of a broker. Where a broker and people differ, people are right about its IDC, the broker about
    its rack. How much of a shared host's CPU is a broker's can't be told.
    """
    machine = people.machines.get(broker)
    entry = placed(people.entries.get(broker) or Broker(broker), machine)
    cores = 0.0 if brokers_on(hosts, broker) > 1 else cores or (machine.cores if machine else 0)
    nic = nic or (machine.nic_bytes_per_s if machine else 0)
    return BrokerFacts(
        id=broker,
        rack=rack or entry.rack,
        idc=entry.idc or idc,
        host=machine.host if machine else "",
        label=entry.label,
        alive=alive,
        excluded=takes_nothing or broker in people.kept_free,
        capacity=(100.0 * cores or UNKNOWN, nic or UNKNOWN, nic or UNKNOWN, UNKNOWN),
    )


def _broker(row: _Row, people: People, hosts: Hosts, liveness: Liveness) -> BrokerFacts:
    """One that may be dead takes nothing."""
    broker = row["broker"]
    return broker_facts(
        broker,
        people,
        hosts,
        rack=row["rack"],
        idc=row["idc"],
        cores=number(row, "cores", 0.0),
        nic=number(row, "nic_bytes_per_s", 0.0),
        alive=broker not in liveness.gone,
        takes_nothing=broker in liveness.doubtful,
    )


def _input(rows: Sequence[_Row], window: Window, liveness: Liveness) -> str:
    brokers = [row for row in rows if row["broker"] not in liveness.gone]
    length = window.to_ms - window.from_ms
    complete = {row["broker"]: min(1.0, (row["covered_ms"] + row["interval_ms"]) / length) for row in brokers}
    least = min(complete, key=lambda broker: complete[broker])
    samples = sum(row["samples"] for row in brokers)
    failed = sum(row["failed"] for row in brokers)
    return (
        f"{samples} samples of {len(brokers)} brokers between {window}, {sum(complete.values()) / len(complete):.0%} "
        f"complete (least: broker {least} with {complete[least]:.0%}; failed collections: {failed})"
        + "".join(_gone_words(rows, liveness))
    )


def _gone_words(rows: Sequence[_Row], liveness: Liveness) -> Iterator[str]:
    for row in rows:
        if row["broker"] in liveness.dead:
            yield f"; broker {row['broker']} is dead: no sample since {utc_time(row['last_at_ms'])}, others lead now"
        elif row["broker"] in liveness.unseen:
            yield (
                f"; broker {row['broker']} counts as dead: no sample in the window, {row['failed']} collections failed"
            )
        elif row["broker"] in liveness.doubtful:
            yield (
                f"; broker {row['broker']} takes nothing: no sample since {utc_time(row['last_at_ms'])}, and whether "
                "it lives can't be told, as it led nothing that others hold (if it is dead, guardian plan remove "
                f"--broker {row['broker']})"
            )
