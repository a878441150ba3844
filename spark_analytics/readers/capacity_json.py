"""Capacities of Cruise Control's capacity.json (guardian/interop/capacity_json.py) in a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from guardian.errors import InvalidInput
from guardian.interop.capacity_json import DEFAULT, Capacity, capacities_of, left_out, strangers
from guardian.interop.json_file import read_json
from guardian.model.topology import ANY_LOG_DIR
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.edits import broker_facts, log_dir_facts, with_changes
from spark_analytics.model.facts import BrokerFacts, LogDirFacts


def read(path: Path) -> dict[int, Capacity]:
    """Capacities by broker id, DEFAULT for the others. Raises InvalidInput: field, value, fix."""
    return capacities_of(read_json(path, "capacity file"))


def with_capacities(model: ClusterModel, capacities: Mapping[int, Capacity]) -> ClusterModel:
    """Return the model with these capacities; entries of brokers that it lacks do not count (`remarks` tells them).

    Raises InvalidInput where a broker of the model has none, or a log dir is not known.
    """
    brokers = broker_facts(model)
    log_dirs: dict[int, list[LogDirFacts]] = {}
    for log_dir in log_dir_facts(model):
        log_dirs.setdefault(log_dir.broker, []).append(log_dir)
    changed = [(broker, _given(capacities, broker.id)) for broker in brokers]
    return with_changes(
        model,
        brokers=[_broker(broker, capacity) for broker, capacity in changed],
        log_dirs=[each for broker, capacity in changed for each in _log_dirs(log_dirs.get(broker.id, []), capacity)],
    )


def remarks(model: ClusterModel, capacities: Mapping[int, Capacity]) -> tuple[str, ...]:
    """Say, in sentences, what of the file does not count for this model."""
    return tuple(left_out(strangers(capacities, model.broker_ids.tolist()), model.cluster))


def _given(capacities: Mapping[int, Capacity], broker: int) -> Capacity:
    given = capacities.get(broker) or capacities.get(DEFAULT)
    if given is None:
        raise InvalidInput(f"brokerId {broker} is missing: give its capacity, or one for brokerId {DEFAULT}")
    return given


def _broker(broker: BrokerFacts, given: Capacity) -> BrokerFacts:
    """Percent are of what the broker is known to have; of one core where that is not known."""
    known = broker.capacity[0] if broker.capacity[0] < float("inf") else 100.0
    cpu = given.cores * 100 if given.cores else given.cpu_percent / 100 * known
    return replace(broker, capacity=(cpu, given.nw_in, given.nw_out, given.disk_bytes))


def _log_dirs(log_dirs: list[LogDirFacts], given: Capacity) -> list[LogDirFacts]:
    """Resize the log dirs as the file gives them. Where a broker has one disk only, the sum is its size. Raises
    InvalidInput.
    """
    if [log_dir.path for log_dir in log_dirs] == [ANY_LOG_DIR]:
        return [_resized(log_dirs[0], given.disk_bytes)]
    for path in given.disks:
        if path not in {log_dir.path for log_dir in log_dirs}:
            broker = log_dirs[0].broker if log_dirs else "?"
            raise InvalidInput(
                f"DISK has {path}, which is no log dir of broker {broker}: use its log.dirs, "
                f"{', '.join(log_dir.path for log_dir in log_dirs)}"
            )
    return [_resized(log_dir, given.disks[log_dir.path]) for log_dir in log_dirs if log_dir.path in given.disks]


def _resized(log_dir: LogDirFacts, total: float) -> LogDirFacts:
    """Change the size of a log dir; what is used stays used."""
    used = max(log_dir.total_bytes - log_dir.usable_bytes, 0.0)
    return replace(log_dir, total_bytes=total, usable_bytes=max(total - used, 0.0))
