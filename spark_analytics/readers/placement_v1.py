"""placement-v1: where replicas are to go, beside a cluster-model-v1.

    {"format": "placement-v1", "model": ..., "planner": ..., "wall_s": ..., "partitions": [
        {"topic": "t", "partition": 0, "leader": 7, "replicas": [[7, 3], [2, 2]], "log_dirs": ["/d1", "/d2"]}]}

A replica is [broker now, broker in the model], so that each keeps its own load. Plain lists of brokers are read too:
replicas that stay are paired with themselves, the others in their order. Partitions that are left out stay as they are.
`log_dirs` is there where the model knows more of them than "any".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from guardian.errors import InvalidInput
from guardian.interop.json_file import JsonObject, objects, read_json, text, whole, write_json
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from spark_analytics.model.cluster_model import ClusterModel, Ints, brokers_of

FORMAT = "placement-v1"


def write(
    path: Path,
    model: ClusterModel,
    slot_log_dir: Ints,
    leader_slot: Ints,
    planner: str = "guardian",
    wall_s: float = 0.0,
) -> None:
    """Partitions that change, in the order of the model."""
    write_json(path, document_of(model, slot_log_dir, leader_slot, planner, wall_s))


def document_of(
    model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints, planner: str = "guardian", wall_s: float = 0.0
) -> JsonObject:
    changed = leader_slot != model.leader_slot
    changed[model.slot_partition[slot_log_dir != model.slot_log_dir]] = True
    now, before = (_ids(model, log_dirs) for log_dirs in (slot_log_dir, model.slot_log_dir))
    starts, leaders = model.slot_start.tolist(), leader_slot.tolist()
    topic, number, log_dirs = model.partition_topic.tolist(), model.partition_number.tolist(), slot_log_dir.tolist()
    knows_log_dirs = any(path != ANY_LOG_DIR for path in model.log_dirs)
    partitions = []
    for partition in np.flatnonzero(changed).tolist():
        slots = range(starts[partition], starts[partition + 1])
        if any(now[slot] < 0 for slot in slots):
            continue  # a replica without a place can't be written as one
        entry: dict[str, object] = {
            "topic": model.topics[topic[partition]],
            "partition": number[partition],
            "leader": now[leaders[partition]],
            "replicas": [[now[slot], before[slot]] if before[slot] >= 0 else now[slot] for slot in slots],
        }
        if knows_log_dirs:
            entry["log_dirs"] = [model.log_dirs[log_dirs[slot]] for slot in slots]
        partitions.append(entry)
    return {
        "format": FORMAT,
        "model": model.cluster,
        "planner": planner,
        "wall_s": round(wall_s, 6),
        "partitions": partitions,
    }


def _ids(model: ClusterModel, log_dirs: Ints) -> list[int]:
    brokers = brokers_of(model, log_dirs)
    ids: list[int] = np.where(brokers < 0, -1, model.broker_ids[brokers]).tolist()
    return ids


def read(path: Path, model: ClusterModel) -> tuple[Ints, Ints]:
    """(slot_log_dir, leader_slot) of a placement of this model. Raises InvalidInput: field, value, fix."""
    return placement_of(read_json(path, "placement"), model)


def placement_of(document: JsonObject, model: ClusterModel) -> tuple[Ints, Ints]:
    """The same of a parsed file. Where it names no log dir, a new replica goes to the broker's first one online."""
    slot_log_dir, leader_slot = model.slot_log_dir.copy(), model.leader_slot.copy()
    places = _Places(model)
    broker_of, log_dir_of = _ids(model, model.slot_log_dir), model.slot_log_dir.tolist()
    starts = model.slot_start.tolist()
    for entry in _entries(document):
        partition = model.partition_index(entry.partition)
        slots = range(starts[partition], starts[partition + 1])
        home = {broker_of[slot]: slot for slot in slots}
        pairs = _paired(entry, [broker_of[slot] for slot in slots])
        for nth, (broker, origin) in enumerate(pairs):
            slot = home[origin]
            log_dir = entry.log_dirs[nth] if entry.log_dirs else ""
            slot_log_dir[slot] = places.at(entry.where, broker, log_dir, log_dir_of[slot])
            if broker == entry.leader:
                leader_slot[partition] = slot
    return slot_log_dir, leader_slot


def plan_of(path: Path, model: ClusterModel) -> Plan:
    """The placement as a plan from outside, to be checked: what the file says and nothing else."""
    document = read_json(path, "placement")
    moves = []
    for entry in _entries(document):
        log_dirs = entry.log_dirs or [ANY_LOG_DIR] * len(entry.brokers)
        places = [ReplicaPlacement(broker, at) for broker, at in zip(entry.brokers, log_dirs, strict=True)]
        places.sort(key=lambda place: place.broker != entry.leader)
        moves.append(PartitionMove(entry.partition, (), tuple(places)))
    planner = text("placement", document, "planner", "another planner")
    return Plan(model.cluster, "placement", tuple(moves), model.at_ms, f"a placement by {planner}")


def of_plan(plan: Plan, model: ClusterModel) -> tuple[Ints, Ints]:
    """(slot_log_dir, leader_slot) when a plan of this model is carried out, that creates nothing and keeps all numbers
    of replicas: those that stay are paired with themselves, the others in their order. Raises InvalidInput."""
    slot_log_dir, leader_slot = model.slot_log_dir.copy(), model.leader_slot.copy()
    places = _Places(model)
    broker_of, log_dir_of = _ids(model, model.slot_log_dir), model.slot_log_dir.tolist()
    starts = model.slot_start.tolist()
    for move in plan.moves:
        name = str(move.partition)
        partition = model.partition_index(move.partition)
        slots = range(starts[partition], starts[partition + 1])
        home = {broker_of[slot]: slot for slot in slots}
        brokers = list(move.target_brokers)
        entry = _Entry(name, move.partition, brokers[0], brokers, [], [place.log_dir for place in move.target])
        for (broker, origin), log_dir in zip(_paired(entry, list(home)), entry.log_dirs, strict=True):
            slot = home[origin]
            slot_log_dir[slot] = places.at(name, broker, log_dir, log_dir_of[slot])
            if broker == entry.leader:
                leader_slot[partition] = slot
    return slot_log_dir, leader_slot


def kept(plan: Plan, model: ClusterModel, slot_log_dir: Ints, leader_slot: Ints) -> tuple[Ints, Ints]:
    """A placement without what the plan made of it leaves out: moves that no order is safe for."""
    moves = np.zeros(model.partitions, dtype=np.bool_)
    moves[[model.partition_index(move.partition) for move in plan.moves]] = True
    return (
        np.where(moves[model.slot_partition], slot_log_dir, model.slot_log_dir),
        np.where(moves, leader_slot, model.leader_slot),
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """`origins` is empty where the file has a plain list."""

    where: str
    partition: TopicPartition
    leader: int
    brokers: list[int]
    origins: list[int]
    log_dirs: list[str]


def _entries(document: JsonObject) -> Iterator[_Entry]:
    if document.get("format", FORMAT) != FORMAT:
        raise InvalidInput(f"format is {document['format']!r}: use {FORMAT!r}")
    seen: dict[TopicPartition, str] = {}
    for where, item in objects(document, "partitions"):
        partition = TopicPartition(text(where, item, "topic"), whole(where, item, "partition"))
        if partition in seen:
            raise InvalidInput(f"{where} is {partition}, as is {seen[partition]}: keep one entry")
        seen[partition] = where
        brokers, origins = _replicas(where, item.get("replicas"))
        leader = whole(where, item, "leader")
        if leader not in brokers:
            raise InvalidInput(f"{where}.leader is {leader}: use one of its replicas, {brokers}")
        yield _Entry(where, partition, leader, brokers, origins, _log_dirs(where, item, len(brokers)))


def _replicas(where: str, value: object) -> tuple[list[int], list[int]]:
    if not isinstance(value, list) or not value:
        raise InvalidInput(f"{where}.replicas is {value!r}: use a list of [broker now, broker in the model]")
    pairs = [item for item in value if isinstance(item, list) and len(item) == _PAIR and all(map(_is_id, item))]
    plain = [item for item in value if _is_id(item)]
    if len(value) not in (len(pairs), len(plain)):
        raise InvalidInput(f"{where}.replicas is {value!r}: use [broker now, broker in the model] for each of them")
    brokers = [now for now, _ in pairs] if pairs else plain
    if len(set(brokers)) < len(brokers):
        raise InvalidInput(f"{where}.replicas names a broker twice, {brokers}: use another one")
    return brokers, [origin for _, origin in pairs]


_PAIR = 2


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**31 - 1


def _log_dirs(where: str, item: JsonObject, count: int) -> list[str]:
    value = item.get("log_dirs", [])
    ok = isinstance(value, list) and all(isinstance(at, str) and at.startswith(("/", ANY_LOG_DIR)) for at in value)
    if not ok or len(value) not in (0, count):
        raise InvalidInput(f"{where}.log_dirs is {value!r}: give the path of one for each replica, or leave it out")
    return list(value)


def _paired(entry: _Entry, before: Sequence[int]) -> list[tuple[int, int]]:
    """[(broker now, broker in the model)] of an entry."""
    origins = entry.origins
    if not origins and len(entry.brokers) == len(before):
        left = iter([broker for broker in before if broker not in entry.brokers])
        origins = [broker if broker in before else next(left) for broker in entry.brokers]
    if sorted(origins) != sorted(before):
        raise InvalidInput(
            f"{entry.where}.replicas is {entry.brokers} from {origins}: "
            f"pair each with one of {sorted(before)}, where the replicas of {entry.partition} are in the model"
        )
    return list(zip(entry.brokers, origins, strict=True))


class _Places:
    """Which log dir a broker's path is, or which one it would take."""

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._broker: list[int] = model.broker_ids[model.log_dir_broker].tolist()
        self._index = {key: log_dir for log_dir, key in enumerate(zip(self._broker, model.log_dirs, strict=True))}
        self._first: dict[int, int] = {}
        for log_dir in reversed(range(len(model.log_dirs))):
            broker = self._broker[log_dir]
            if not model.log_dir_offline[log_dir] or broker not in self._first:
                self._first[broker] = log_dir

    def at(self, where: str, broker: int, path: str, now: int) -> int:
        """`now` is where the replica lies: it stays there unless the file says otherwise."""
        if path and path != ANY_LOG_DIR:
            if (broker, path) not in self._index:
                raise InvalidInput(f"{where}.log_dirs has {path} of broker {broker}: name a log dir of the model")
            return self._index[(broker, path)]
        if now >= 0 and self._broker[now] == broker:
            return now
        if broker not in self._first:
            self._model.broker_index(broker)
            raise InvalidInput(f"{where}.replicas has broker {broker}, which has no log dir: use another one")
        return self._first[broker]
