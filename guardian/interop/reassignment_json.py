"""The file format of kafka-reassign-partitions, for plans that come from it or go to it.

    {"version": 1, "partitions": [
        {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "/data/disk2"]}]}

`log_dirs` may be left out: the brokers choose. The format says only where replicas go: it has no original placement,
no sizes and no reasons.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from guardian.errors import InvalidInput
from guardian.model.plan import RUN_PLAN, PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR, TopicPartition

_VERSION = 1
_MAX_CHARS = 256 * 1024 * 1024
_MAX_ID = 2**31 - 1
_SHOWN_CHARS = 60
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_FIELDS = frozenset({"topic", "partition", "replicas", "log_dirs"})


def read(text: str, cluster: str) -> Plan:
    """The plan for the cluster that the file describes; its moves have no `original`.

    Raises InvalidInput, naming the field, its value and the fix, for everything that the format does not allow.
    """
    if len(text) > _MAX_CHARS:
        raise InvalidInput(f"the reassignment file has {len(text)} characters: split it below {_MAX_CHARS}")
    document = _parse(text)
    if not isinstance(document, dict):
        raise _wrong("the reassignment file", document, 'use an object, such as {"version": 1, "partitions": []}')
    version = _field(document, "version", "", f"use {_VERSION}")
    if isinstance(version, bool) or version != _VERSION:
        raise _wrong("version", version, f"use {_VERSION}")
    fix = "use a list of objects with topic, partition and replicas"
    partitions = _field(document, "partitions", "", fix)
    if not isinstance(partitions, list):
        raise _wrong("partitions", partitions, fix)
    first_at: dict[TopicPartition, int] = {}
    moves = []
    for index, entry in enumerate(partitions):
        move = _read_move(entry, f"partitions[{index}]")
        if move.partition in first_at:
            raise InvalidInput(
                f"partitions[{index}] is {move.partition}, as is partitions[{first_at[move.partition]}]: keep one entry"
            )
        first_at[move.partition] = index
        moves.append(move)
    return Plan(cluster, RUN_PLAN, tuple(moves), input=f"a reassignment file of {len(moves)} partitions")


def write(moves: Iterable[PartitionMove], target: bool = True) -> str:
    """The file that carries the moves out, or (`target=False`) the one that rolls them back.

    Raises InvalidInput for a rollback of a move whose original placement is not known.
    """
    entries = []
    for move in moves:
        placements = move.target if target else move.original
        if move.is_new and not target:
            raise InvalidInput(f"{move.partition} is created by the plan: to undo that, delete its topic")
        if not placements:
            raise InvalidInput(
                f"original of {move.partition} is not known: make a ticket of the plan first, which fills it in"
            )
        entries.append(
            {
                "topic": move.partition.topic,
                "partition": move.partition.partition,
                "replicas": [placement.broker for placement in placements],
                "log_dirs": [placement.log_dir for placement in placements],
            }
        )
    return json.dumps({"version": _VERSION, "partitions": entries}, indent=1) + "\n"


def _parse(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"the reassignment file is not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except RecursionError as error:
        raise InvalidInput("the reassignment file is nested too deep: this format nests three levels") from error
    except ValueError as error:  # int() refuses more than some thousand digits
        raise InvalidInput("the reassignment file holds a number of thousands of digits: use ids and 1") from error


def _object(fields: list[tuple[str, object]]) -> dict[str, object]:
    entry: dict[str, object] = {}
    for name, value in fields:
        if name in entry:  # JSON parsers differ in which one they keep
            raise InvalidInput(f"field {_shown(name)} is given twice in one object: keep one")
        entry[name] = value
    return entry


def _read_move(entry: object, path: str) -> PartitionMove:
    if not isinstance(entry, dict):
        raise _wrong(path, entry, "use an object with topic, partition and replicas")
    if unknown := entry.keys() - _FIELDS:
        raise InvalidInput(
            f"{path} has a field {_shown(min(unknown))}: use only topic, partition, replicas and log_dirs"
        )
    topic = _field(entry, "topic", path, "use a topic's name")
    if not isinstance(topic, str) or not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise _wrong(f"{path}.topic", topic, "use a topic's name: up to 249 of a-z, A-Z, 0-9, '.', '_' and '-'")
    fix = "use a partition's number, such as 0"
    partition = _id(_field(entry, "partition", path, fix), f"{path}.partition", fix)
    brokers = _read_replicas(_field(entry, "replicas", path, "use a list of broker ids, such as [1, 2]"), path)
    log_dirs = _read_log_dirs(entry.get("log_dirs"), len(brokers), path)
    return PartitionMove(
        TopicPartition(topic, partition),
        original=(),
        target=tuple(ReplicaPlacement(broker, log_dir) for broker, log_dir in zip(brokers, log_dirs, strict=True)),
    )


def _read_replicas(replicas: object, path: str) -> list[int]:
    fix = "use a list of broker ids, such as [1, 2]"
    if not isinstance(replicas, list) or not replicas:
        raise _wrong(f"{path}.replicas", replicas, fix)
    brokers: dict[int, None] = {}  # ordered, and quick to search however long a hostile list is
    for index, replica in enumerate(replicas):
        broker = _id(replica, f"{path}.replicas[{index}]", "use a broker id, such as 1")
        if broker in brokers:
            raise _wrong(f"{path}.replicas", replicas, f"name broker {broker} once")
        brokers[broker] = None
    return list(brokers)


def _read_log_dirs(log_dirs: object, replicas: int, path: str) -> list[str]:
    if log_dirs is None:
        return [ANY_LOG_DIR] * replicas
    fix = f"give {replicas}, one for each of replicas, such as {json.dumps([ANY_LOG_DIR] * min(replicas, 3))}"
    if not isinstance(log_dirs, list):
        raise _wrong(f"{path}.log_dirs", log_dirs, fix)
    if len(log_dirs) != replicas:
        raise InvalidInput(f"{path}.log_dirs has {len(log_dirs)} entries: {fix}")
    for index, log_dir in enumerate(log_dirs):
        if not isinstance(log_dir, str) or (log_dir != ANY_LOG_DIR and not log_dir.startswith("/")):
            raise _wrong(f"{path}.log_dirs[{index}]", log_dir, f'use "{ANY_LOG_DIR}" or an absolute path')
    return log_dirs


def _id(value: object, path: str, fix: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_ID:
        raise _wrong(path, value, fix)
    return value


def _field(entry: Mapping[str, object], name: str, path: str, fix: str) -> object:
    if name not in entry:
        raise InvalidInput(f"{path + '.' if path else ''}{name} is missing: {fix}")
    return entry[name]


def _wrong(path: str, value: object, fix: str) -> InvalidInput:
    return InvalidInput(f"{path} is {_shown(value)}: {fix}")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
