"""A cluster as Kafka shows it now, as a model: for plans that can't wait for the next window of the lake.

    Kafka   who lives, where each replica is, how large, what is being reassigned, which log dirs are offline
    lake    what replicas cost: rates, CPU, which disk is below a log dir (guardian.lake.rules.windows); it may lack all
    people  racks, IDCs, labels, exclusions, policies, machines (Directory)

A broker that Kafka does not list and that holds replicas is dead, unless people expect it to be away. Its replicas, and
those of log dirs that went offline, are lost ones, which have to be made anew elsewhere. That is on other brokers,
since Kafka moves nothing out of a log dir that failed. So a broker with one takes nothing new until it is repaired. A
partition that is being reassigned counts as where it will be. A replica that its broker does not show yet makes its
partition one that no plan touches: the next plan sees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from guardian.errors import ClusterUnavailable
from guardian.lake.model.windows import Windows
from guardian.model.cluster_state import LiveFacts, LogDir
from guardian.model.directory import Directory
from guardian.model.topology import ANY_LOG_DIR
from spark_analytics.lake.disks import io_capacities, io_rates
from spark_analytics.lake.hosts import Hosts, hosts_of
from spark_analytics.lake.measured import Replicas, columns_of
from spark_analytics.lake.window import People, broker_facts, busy_of, number, topic_facts
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.facts import UNKNOWN, Bools, BrokerFacts, LogDirFacts

# Of a disk that does not tell its size (Kafka before 3.3): more than any plan fills, and finite, as sums need it.
_BOUNDLESS = float(1 << 60)
_RATES = (
    "growth_bytes_per_s",
    "rate_pairs",
    "led_ms",
    "write_rate",
    "write_p95",
    "read_rate",
    "read_p95",
)


def live_model(
    facts: LiveFacts,
    directory: Directory | None = None,
    windows: Windows | None = None,
    why_no_rates: str = "",
    hosts: Hosts | None = None,
) -> ClusterModel:
    """`hosts` as for spark_analytics.lake.window.model_of. `windows` are those of this cluster, made by Spark or by a
    member; `why_no_rates` says why there are none.

    Raises ClusterUnavailable when a broker did not tell its log dirs, InvalidInput when the facts contradict."""
    told = (directory or Directory()).of_cluster(facts.cluster)
    if hosts is None:
        hosts = hosts_of(directory or Directory()).get(facts.cluster, {})
    lake = windows or Windows()
    people = People.of(told, facts.at_ms)
    silent = sorted(facts.brokers.keys() - {log_dir.broker for log_dir in facts.log_dirs})
    if silent:
        raise ClusterUnavailable(
            f"broker {', '.join(map(str, silent))} of cluster {facts.cluster} did not tell its log dirs, so that what "
            "it holds is not known: try again when it answers"
        )
    gone = {broker for partition in facts.partitions for broker in facts.replicas_of(partition)} - facts.brokers.keys()
    ids = sorted(facts.brokers.keys() | gone)
    dead = gone - people.away
    log_dirs = _log_dirs(facts, gone, dead, lake, hosts)
    rows = _rows(facts, lake)
    replicas = Replicas.of(
        rows.table, np.array(ids, dtype=np.int64), np.ones(rows.table.num_rows, np.bool_), rows.lost(dead)
    )
    columns = columns_of(
        facts.cluster,
        replicas,
        log_dirs,
        np.array(ids, dtype=np.int64),
        topic_facts(replicas.topics, told),
        busy_of(ids, hosts, lake.cpu),
        io_rates(lake.disks_by_name, hosts),
    )
    assert columns.whole is not None  # noqa: S101  # columns_of always tells
    whole = columns.whole & ~rows.unsettled
    movable = whole if not lake.replicas.num_rows else columns.movable & whole  # type: ignore[operator]
    return ClusterModel.from_arrays(
        facts.cluster,
        [_broker(broker, facts, people, hosts, lake, alive=broker not in dead) for broker in ids],
        log_dirs,
        topic_facts(replicas.topics, told),
        replace(columns, whole=whole, movable=movable),
        told.tenants,
        told.policies,
        list(told.links.lines.values()),
        at_ms=facts.at_ms,
        input=_input(facts, lake, dead, why_no_rates),
    )


def _broker(broker: int, facts: LiveFacts, people: People, hosts: Hosts, lake: Windows, *, alive: bool) -> BrokerFacts:
    node = facts.brokers.get(broker)
    return broker_facts(
        broker,
        people,
        hosts,
        rack=node.rack if node else "",
        cores=lake.cores.get(broker, 0.0),
        nic=lake.nics.get(broker, 0.0),
        alive=alive,
        takes_nothing=node is None or broker in facts.broken(),
    )


def _log_dirs(facts: LiveFacts, gone: set[int], dead: set[int], lake: Windows, hosts: Hosts) -> list[LogDirFacts]:
    """Those that brokers tell, and one for each broker that tells none; one that is expected back is not broken."""
    sizes = {
        (each.broker, lake.disk_of.get((each.broker, each.path), each.path)): float(each.total_bytes)
        for each in facts.log_dirs
        if not each.error and each.total_bytes >= 0
    }
    capacities = io_capacities(lake.disks_by_name, sizes, hosts)
    found = []
    for each in facts.log_dirs:
        disk = lake.disk_of.get((each.broker, each.path), "")
        key = (each.broker, disk or each.path)
        known = not each.error and each.total_bytes >= 0
        found.append(
            LogDirFacts(
                broker=each.broker,
                path=each.path,
                total_bytes=float(each.total_bytes) if known else 0.0 if each.error else _BOUNDLESS,
                usable_bytes=float(each.usable_bytes) if known else 0.0 if each.error else _BOUNDLESS,
                disk=disk,
                offline=bool(each.error),
                io_capacity=capacities.get(key, UNKNOWN),
                await_ms=number(lake.disks_by_name.get(key, {}), "await_ms", float("nan")),
            )
        )
    for broker in sorted(gone):
        size = 0.0 if broker in dead else _BOUNDLESS
        found.append(LogDirFacts(broker, ANY_LOG_DIR, size, size, offline=broker in dead))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """A row a replica, with the columns that `Replicas.of` reads; `unsettled` and `broken` are [rows]."""

    table: pa.Table
    unsettled: Bools
    broken: Bools

    def lost(self, dead: set[int]) -> Bools:
        return np.asarray(self.broken | np.isin(self.table["broker"].to_numpy(), sorted(dead)))


def _rows(facts: LiveFacts, lake: Windows) -> _Rows:
    held = {
        (partition, each.broker): (each.path, replica.size_bytes)
        for each in facts.log_dirs
        if not each.error
        for partition, replica in each.replicas.items()
    }
    first = _first_log_dirs(facts.log_dirs)
    unseen = {partition for partition, _ in facts.unseen()}
    partitions = sorted(facts.partitions)
    rows: dict[str, list[object]] = {
        name: [] for name in ("broker", "topic", "partition", "log_dir", "is_leader", "size_bytes")
    }
    unsettled, broken = [], []
    for partition in partitions:
        state, replicas = facts.partitions[partition], facts.replicas_of(partition)
        known = [held[partition, broker] for broker in replicas if (partition, broker) in held]
        largest = max((size for _, size in known), default=0)
        for broker in replicas:
            place = held.get((partition, broker))
            offline, online = first.get(broker, ("", ANY_LOG_DIR))
            is_broken = place is None and bool(offline) and partition not in facts.reassignments
            rows["broker"].append(broker)
            rows["topic"].append(partition.topic)
            rows["partition"].append(partition.partition)
            rows["log_dir"].append(place[0] if place else offline if is_broken else online or offline)
            rows["is_leader"].append(state.leader == broker)
            rows["size_bytes"].append(place[1] if place else largest)
            unsettled.append(partition in unseen)
            broken.append(is_broken)
    return _Rows(
        _with_rates(rows, facts.at_ms, lake), np.array(unsettled, dtype=np.bool_), np.array(broken, dtype=np.bool_)
    )


def _first_log_dirs(log_dirs: Sequence[LogDir]) -> dict[int, tuple[str, str]]:
    """Return by broker its first log dir that is offline and the first that is not; "": there is none."""
    found: dict[int, tuple[str, str]] = {}
    for each in sorted(log_dirs, key=lambda log_dir: (log_dir.broker, log_dir.path)):
        offline, online = found.get(each.broker, ("", ""))
        found[each.broker] = (offline or each.path, online) if each.error else (offline, online or each.path)
    return found


def _with_rates(rows: Mapping[str, list[object]], at_ms: int, lake: Windows) -> pa.Table:
    keys = zip(*(lake.replicas[name].to_pylist() for name in ("broker", "topic", "partition")), strict=True)
    at = {key: index for index, key in enumerate(keys)}
    wanted = zip(rows["broker"], rows["topic"], rows["partition"], strict=True)
    index = pa.array([at.get(key) for key in wanted], pa.int64())
    count = len(rows["broker"])
    columns = {
        "broker": pa.array(rows["broker"], pa.int32()),
        "topic": pa.array(rows["topic"], pa.string()),
        "partition": pa.array(rows["partition"], pa.int32()),
        "log_dir": pa.array(rows["log_dir"], pa.string()),
        "is_leader": pa.array(rows["is_leader"], pa.bool_()),
        "at_ms": pa.array([at_ms] * count, pa.int64()),
        "size_bytes": pa.array(rows["size_bytes"], pa.int64()),
        "replicas": pa.nulls(count, pa.int32()),
    }
    columns |= {name: lake.replicas[name].take(index).combine_chunks() for name in _RATES}
    return pa.table(columns)


def _input(facts: LiveFacts, lake: Windows, dead: set[int], why_no_rates: str) -> str:
    sampled = len(lake.sampled.keys() & facts.brokers.keys())
    no_rates = f"no rates: {why_no_rates or 'the lake has no new samples'}"
    rates = f"rates of {sampled} of them from the lake" if sampled else no_rates
    words = f"Kafka itself: {len(facts.partitions)} partitions on {len(facts.brokers)} live brokers, {rates}"
    if facts.reassignments:
        words += f"; {len(facts.reassignments)} partitions count as where their reassignment takes them"
    return words + "".join(f"; broker {broker} is dead" for broker in sorted(dead))
