"""topicctl's topics: one YAML document each, several in a file.

    meta: {name: orders, cluster: live, environment: production, region: eu, description: ...}
    spec:
      partitions: 12
      replicationFactor: 3
      retentionMinutes: 1440
      settings: {cleanup.policy: delete, max.message.bytes: 5242880}
      placement: {strategy: balanced-leaders, picker: randomized}

A topic becomes a ticket that creates it. With the strategy `static` it gets the replicas that the file names. With any
other one Guardian's planner chooses them, by disk use and traffic, in different racks and by label and IDC policy. What
of the file is not kept is told in remarks.

What is written is read back as the same topics. topicctl wants an environment and a region in each, which Guardian does
not know: who exports says them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from guardian.errors import InvalidInput
from guardian.interop.yaml_tree import Node, parse_all
from guardian.model.federation import Topic
from guardian.model.plan import RUN_PLAN, PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import CreateTopic, ExpandTopic
from guardian.model.throttle import LISTS
from guardian.model.topology import TopicPartition

_META = ("name", "cluster", "environment", "region", "description", "labels", "consumers")
_SPEC = ("partitions", "replicationFactor", "retentionMinutes", "settings", "placement", "migration")
_PLACEMENT = ("strategy", "picker", "staticAssignments", "staticRackAssignments")
_STRATEGIES = ("any", "balanced-leaders", "in-rack", "cross-rack", "static", "static-in-rack")
_RETENTION = "retention.ms"
_LISTS = frozenset({"cleanup.policy"})  # topicctl writes a list where Kafka has commas
# They belong to a move that is under way, and are gone when it is over.
_PASSING = LISTS
_MAX_PARTITIONS = 10_000
_MAX_REPLICAS = 100
_MAX_ID = 2**31 - 1
_MAX_TOPICS = 1000
_MAX_MINUTES = 2**40
_MAX_DIGITS = 19


@dataclass(frozen=True, slots=True)
class TopicctlTopic:
    """`assignments` are the brokers of each partition where the file names them; `remarks` say what is not kept."""

    where: str
    name: str
    cluster: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...] = ()
    assignments: tuple[tuple[int, ...], ...] = ()
    owner: str = ""
    remarks: tuple[str, ...] = ()


def read(text: str, file: str) -> tuple[TopicctlTopic, ...]:
    """The topics of the file, in its order. Raises InvalidInput: file:line, field, value, fix."""
    found: dict[tuple[str, str], TopicctlTopic] = {}
    for document in parse_all(text, file):
        if document.is_null:
            continue  # what a --- at the end leaves
        topic = _topic(document)
        earlier = found.setdefault((topic.cluster, topic.name), topic)
        if earlier is not topic:
            raise InvalidInput(f"{topic.where}: topic {topic.name} is in {earlier.where} too: keep one")
        if len(found) > _MAX_TOPICS:
            raise InvalidInput(f"{file} has more than {_MAX_TOPICS} topics: split it")
    if not found:
        raise InvalidInput(f"{file} has no topic: give a document with meta and spec")
    return tuple(found.values())


def write(topics: Iterable[TopicctlTopic], environment: str = "", region: str = "") -> str:
    """The file of these topics, a document each: what `read` makes of it is these topics, but for place and remarks."""
    documents = [_document(topic, environment, region) for topic in topics]
    return yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=120, explicit_start=True)


def topic_of(
    cluster: str,
    name: str,
    brokers: Sequence[Sequence[int]],
    configs: Iterable[tuple[str, str]],
    owner: str = "",
    *,
    is_static: bool = False,
) -> TopicctlTopic:
    """A topic as Kafka has it; `is_static`: with its brokers. Raises InvalidInput for what no such file can say."""
    factors = sorted({len(each) for each in brokers})
    if len(factors) != 1:
        listed = " and ".join(map(str, factors)) or "no"
        raise InvalidInput(
            f"topic {name} has partitions of {listed} replicas: topicctl knows one replicationFactor for all of them"
        )
    kept = tuple(sorted((key, value) for key, value in configs if key not in _PASSING))
    placed = tuple(tuple(each) for each in brokers) if is_static else ()
    return TopicctlTopic("", name, cluster, len(brokers), factors[0], kept, placed, owner)


def plan_of(topic: TopicctlTopic, cluster: str, there: int = 0) -> Plan:
    """The plan that creates the partitions which the file places, from number `there` on, where there are so many."""
    moves = tuple(
        PartitionMove(
            TopicPartition(topic.name, number),
            (),
            tuple(ReplicaPlacement(broker) for broker in brokers),
            reason="placed so by a file of topicctl",
            is_new=True,
        )
        for number, brokers in enumerate(topic.assignments)
        if number >= there
    )
    task: CreateTopic | ExpandTopic = ExpandTopic(topic.name, topic.partitions)
    if not there:
        entry = Topic(cluster, topic.name, owner=topic.owner)
        task = CreateTopic(entry, topic.partitions, topic.replication_factor, configs=topic.configs)
    return Plan(cluster, RUN_PLAN, moves, input=f"a topicctl file, topic {topic.name}", task=task)


def _document(topic: TopicctlTopic, environment: str, region: str) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": topic.name}
    given = {"cluster": topic.cluster, "environment": environment, "region": region}
    meta |= {field: value for field, value in given.items() if value}
    if topic.owner:
        meta["labels"] = {"owner": topic.owner}
    spec: dict[str, Any] = {"partitions": topic.partitions, "replicationFactor": topic.replication_factor}
    settings = dict(topic.configs)
    if (minutes := _minutes(settings.get(_RETENTION, ""))) is not None:
        spec["retentionMinutes"] = minutes
        del settings[_RETENTION]
    if settings:
        spec["settings"] = {name: _written(name, value) for name, value in settings.items()}
    placement: dict[str, Any] = {"strategy": "static" if topic.assignments else "any"}
    if topic.assignments:
        placement["staticAssignments"] = [list(brokers) for brokers in topic.assignments]
    spec["placement"] = placement
    return {"meta": meta, "spec": spec}


def _minutes(retention: str) -> int | None:
    """Return the retention in whole minutes; what is shorter, or for ever, is said as the setting that Kafka has."""
    minutes, rest = divmod(_whole(retention) or 0, 60_000)
    return minutes if minutes and not rest and minutes <= _MAX_MINUTES else None


def _written(name: str, value: str) -> str | int | bool | list[str]:
    if name in _LISTS and "," in value:
        return value.split(",")
    if value in ("true", "false"):
        return value == "true"
    number = _whole(value)
    return value if number is None else number


def _whole(text: str) -> int | None:
    """None where the number would be written in another way, as 007 would."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > _MAX_DIGITS or str(int(text)) != text:
        return None
    return int(text)


def _topic(document: Node) -> TopicctlTopic:
    sections = document.only(("meta", "spec"))
    for name in ("meta", "spec"):
        if name not in sections:
            raise InvalidInput(f"{document.where}: {name} is missing: give meta and spec of a topic")
    meta, spec = sections["meta"].only(_META), sections["spec"].only(_SPEC)
    name = _named(sections["meta"], meta, "name")
    try:
        Topic("any", name)
    except InvalidInput as error:
        raise meta["name"].refused(error) from None
    for field in ("partitions", "replicationFactor"):
        if field not in spec:
            raise InvalidInput(f"{sections['spec'].where}: spec.{field} is missing: give a number from 1")
    partitions = spec["partitions"].whole(1, _MAX_PARTITIONS)
    factor = spec["replicationFactor"].whole(1, _MAX_REPLICAS)
    placement = spec["placement"].only(_PLACEMENT) if "placement" in spec else {}
    return TopicctlTopic(
        where=document.where,
        name=name,
        cluster=meta["cluster"].string() if "cluster" in meta else "",
        partitions=partitions,
        replication_factor=factor,
        configs=_configs(spec),
        assignments=_assignments(placement, partitions, factor),
        owner=_owner(meta),
        remarks=tuple(_remarks(meta, spec, placement)),
    )


def _named(section: Node, meta: dict[str, Node], field: str) -> str:
    if field not in meta:
        raise InvalidInput(f"{section.where}: {section.path}.{field} is missing: give the topic's name")
    return meta[field].string("use the topic's name")


def _owner(meta: dict[str, Node]) -> str:
    """Find the owner among the labels, which topicctl lets people choose: in those that are usual for it. Empty:
    none.
    """
    labels = dict(meta["labels"].mapping("use a mapping of texts")) if "labels" in meta else {}
    return next((labels[name].string() for name in ("owner", "team") if name in labels), "")


def _configs(spec: dict[str, Node]) -> tuple[tuple[str, str], ...]:
    settings = spec["settings"].mapping("use a mapping of topic settings") if "settings" in spec else ()
    found = {name: _config(node) for name, node in settings}
    if "retentionMinutes" in spec and (minutes := spec["retentionMinutes"].whole(0, _MAX_MINUTES)):
        if _RETENTION in found:
            spec["retentionMinutes"].wrong(f"settings has {_RETENTION} too: keep one")
        found[_RETENTION] = str(minutes * 60_000)
    return tuple(sorted(found.items()))


def _config(node: Node) -> str:
    """Return the value as Kafka takes it: lists with commas, and texts, numbers and booleans as they are written."""
    if node.items is not None:
        return ",".join(_config(item) for item in node.items)
    if node.fields is not None or node.is_null:
        node.wrong("use a text, a number, true, false or a list")
    text = str(node.value).lower() if isinstance(node.value, bool) else node.text
    if not text.isprintable():
        node.wrong("use printable characters")
    return text


def _assignments(placement: dict[str, Node], partitions: int, factor: int) -> tuple[tuple[int, ...], ...]:
    strategy = placement["strategy"].string() if "strategy" in placement else "any"
    if strategy not in _STRATEGIES:
        placement["strategy"].wrong(f"use one of {', '.join(_STRATEGIES)}")
    if strategy != "static":
        return ()
    if "staticAssignments" not in placement:
        raise InvalidInput(
            f"{placement['strategy'].where}: spec.placement.staticAssignments is missing, since strategy is 'static': "
            "give the brokers of each partition, such as [[1, 2], [2, 3]]"
        )
    rows = placement["staticAssignments"].list("use a list of lists of broker ids, such as [[1, 2], [2, 3]]")
    if len(rows) != partitions:
        placement["staticAssignments"].wrong(f"it has {len(rows)} entries: give {partitions}, one for each partition")
    found = []
    for row in rows:
        brokers = tuple(each.whole(0, _MAX_ID) for each in row.list("use a list of broker ids, such as [1, 2]"))
        if len(brokers) != factor or len(set(brokers)) != factor:
            row.wrong(f"give {factor} different brokers, as replicationFactor says")
        found.append(brokers)
    return tuple(found)


def _remarks(meta: dict[str, Node], spec: dict[str, Node], placement: dict[str, Node]) -> Iterator[str]:
    strategy = placement["strategy"].string() if "strategy" in placement else "any"
    if strategy in ("in-rack", "static-in-rack"):
        yield (
            f"placement {strategy} is not kept: here the replicas of a partition stand in different racks, so that the "
            "loss of one costs no data"
        )
    if "migration" in spec:
        yield "migration is left out: creating a topic copies nothing, and a ticket that moves has its own throttle"
    left = [name for name in ("description", "consumers", "environment", "region") if name in meta]
    if left:
        yield f"{', '.join(left)} of meta: left out, the topic directory has no such fields"
