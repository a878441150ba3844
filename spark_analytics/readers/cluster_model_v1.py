"""cluster-model-v1: a cluster and its loads as one JSON object, so that a planner can be tried without a cluster.

    format    "cluster-model-v1"; `name` and `units` are optional
    brokers   id, rack, capacity {cpu, nw_in, nw_out, disk}; optional: host, idc, label, alive, new
    topics    optional: name, tenant, label
    replicas  topic, partition, broker, isLeader, load {cpu, nw_in, nw_out, disk}; the leader's load also says how much
              of it goes with the leadership: lead_cpu (default 0) and lead_nw_out (default: all of nw_out)

Units are percent for cpu, KB/s for traffic and MB for disk, decimal, as `units` says where it is given. The model has
one log dir a broker, "any". A million replicas are read by column: an error is looked for only once there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from guardian.errors import InvalidInput
from guardian.interop.json_file import JsonObject, flag, number, objects, part, read_json, text, whole
from guardian.model.topology import ANY_LOG_DIR, require_broker_id, require_label
from spark_analytics.model.cluster_model import ClusterModel
from spark_analytics.model.facts import BrokerFacts, Floats, Ints, LogDirFacts, ReplicaColumns, TopicFacts
from spark_analytics.model.resources import Resource

FORMAT = "cluster-model-v1"
_FIELDS = ("cpu", "nw_in", "nw_out", "disk")
_DEFAULT_UNITS = {"cpu": "percent", "nw_in": "KB/s", "nw_out": "KB/s", "disk": "MB"}
_UNITS: dict[str, dict[str, float]] = {
    "cpu": {"percent": 1.0},
    "nw_in": {"B/s": 1.0, "KB/s": 1e3, "MB/s": 1e6},
    "nw_out": {"B/s": 1.0, "KB/s": 1e3, "MB/s": 1e6},
    "disk": {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9},
}
# Loads are written with a few digits: a leader's share may exceed the whole by that much.
_ROUNDING = 1e-3


def read(path: Path) -> ClusterModel:
    """The model in a file. Raises InvalidInput that names the field, the value and the fix."""
    return model_of(read_json(path, "model"), path.name.split(".")[0])


def model_of(document: JsonObject, default_name: str = "model") -> ClusterModel:
    """The model in a parsed file."""
    if document.get("format") != FORMAT:
        raise InvalidInput(f"format is {document.get('format')!r}: use {FORMAT!r}")
    name = text("model", document, "name", default_name)
    units = _units(document)
    brokers = [_broker(where, item, units) for where, item in objects(document, "brokers")]
    topics = _topics(document)
    replicas = document.get("replicas")
    if not isinstance(replicas, list):
        raise InvalidInput("replicas is not there or no list: give one object a replica")
    try:
        columns = _columns(replicas, brokers, topics, units)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        _look_for_the_error(document, {broker.id for broker in brokers})
        raise InvalidInput(f"replicas can't be read ({error}): give one object a replica") from error
    held = np.bincount(columns.log_dir, columns.load[:, Resource.DISK], len(brokers))
    log_dirs = [
        LogDirFacts(broker.id, ANY_LOG_DIR, total := broker.capacity[Resource.DISK], max(total - used, 0.0))
        for broker, used in zip(brokers, held.tolist(), strict=True)
    ]
    facts = list(topics.values())
    return ClusterModel.from_arrays(name, brokers, log_dirs, facts, columns, input=f"{FORMAT} {name}")


def _units(document: JsonObject) -> Floats:
    given = {**_DEFAULT_UNITS, **(part("model", document, "units") if "units" in document else {})}
    for field in _FIELDS:
        if given[field] not in _UNITS[field]:
            raise InvalidInput(f"units.{field} is {given[field]!r}: use {' or '.join(_UNITS[field])}")
    return np.array([_UNITS[field][given[field]] for field in _FIELDS])


def _broker(where: str, item: JsonObject, units: Floats) -> BrokerFacts:
    broker_id = whole(where, item, "id")
    require_broker_id(broker_id)
    capacity = part(where, item, "capacity")
    cpu, nw_in, nw_out, disk = (
        number(f"{where}.capacity", capacity, field) * unit for field, unit in zip(_FIELDS, units.tolist(), strict=True)
    )
    require_label(label := text(where, item, "label", ""))
    return BrokerFacts(
        id=broker_id,
        rack=text(where, item, "rack", ""),
        idc=text(where, item, "idc", ""),
        host=text(where, item, "host", ""),
        label=label,
        alive=flag(where, item, "alive", True),
        new=flag(where, item, "new", False),
        capacity=(cpu, nw_in, nw_out, disk),
    )


def _topics(document: JsonObject) -> dict[str, TopicFacts]:
    if "topics" not in document:
        return {}
    topics = {}
    for where, item in objects(document, "topics"):
        require_label(label := text(where, item, "label", ""))
        name = text(where, item, "name")
        topics[name] = TopicFacts(name, tenant=text(where, item, "tenant", ""), label=label)
    return topics


def _columns(
    replicas: Sequence[Any], brokers: Sequence[BrokerFacts], topics: dict[str, TopicFacts], units: Floats
) -> ReplicaColumns:
    """`topics` gets those that only replicas name. A replica's log dir has the index of its broker."""
    names = [replica["topic"] for replica in replicas]
    for name in dict.fromkeys(names):
        if not isinstance(name, str):
            raise TypeError("topic")
        topics.setdefault(name, TopicFacts(name))
    topic_at = {name: index for index, name in enumerate(topics)}
    broker_at = {broker.id: index for index, broker in enumerate(brokers)}
    loads = [replica["load"] for replica in replicas]
    leads = np.array([replica["isLeader"] is True for replica in replicas], dtype=np.bool_)
    if sum(replica["isLeader"] is False for replica in replicas) + int(leads.sum()) != len(replicas):
        raise TypeError("isLeader")
    load = np.array([[load[field] for field in _FIELDS] for load in loads], dtype=np.float64).reshape(-1, len(_FIELDS))
    leader_load = np.zeros_like(load)
    led = np.flatnonzero(leads)
    leader_load[led, Resource.CPU] = [loads[row].get("lead_cpu", 0.0) for row in led.tolist()]
    leader_load[led, Resource.NW_OUT] = [loads[row].get("lead_nw_out", loads[row]["nw_out"]) for row in led.tolist()]
    return ReplicaColumns(
        topic=np.array([topic_at[name] for name in names], dtype=np.int64),
        partition=_whole([replica["partition"] for replica in replicas]),
        log_dir=np.array([broker_at[replica["broker"]] for replica in replicas], dtype=np.int64),
        leads=leads,
        load=_without_leading(load, leader_load) * units,
        leader_load=leader_load * units,
    )


def _whole(values: Sequence[Any]) -> Ints:
    numbers = np.array(values)
    if len(values) and numbers.dtype.kind != "i":
        raise TypeError("partition")
    return numbers.astype(np.int64)


def _without_leading(load: Floats, leader_load: Floats) -> Floats:
    """Below zero by more than rounding: the model refuses it, and says of which partition."""
    rest = load - leader_load
    return np.where((rest < 0) & (rest > -_ROUNDING * np.maximum(load, 1.0)), 0.0, rest)


def _look_for_the_error(document: JsonObject, broker_ids: set[int]) -> None:
    for where, item in objects(document, "replicas"):
        text(where, item, "topic")
        whole(where, item, "partition")
        broker = whole(where, item, "broker")
        if broker not in broker_ids:
            raise InvalidInput(f"{where}.broker is {broker}: use a broker that is in brokers, or add it there")
        leads = flag(where, item, "isLeader")
        load = part(where, item, "load")
        for field in _FIELDS:
            number(f"{where}.load", load, field)
        if leads:
            number(f"{where}.load", load, "lead_cpu", 0.0)
            number(f"{where}.load", load, "lead_nw_out", 0.0)
