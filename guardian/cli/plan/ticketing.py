"""Which plans can't be tickets yet, and what an operator does instead. Pure.

Tickets move replicas that are there, to brokers that are there. A plan that creates partitions, changes how many
replicas they have, or counts on machines that have not joined yet is carried out by other means, told with the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from guardian.model.directory import Directory
from guardian.model.plan import ANY_LOG_DIR, PartitionMove, Plan
from spark_analytics.planners.tasks import CreateTopic, ExpandTopic, Isolate, ReplicationFactor, Task

_SHOWN_CHARS = 4000
_NEVER = {
    CreateTopic.kind: "creates partitions",
    ExpandTopic.kind: "creates partitions",
    ReplicationFactor.kind: "changes the replication factor",
}


def warning(tasks: Collection[Task]) -> str:
    """Said before Spark is asked to plan; empty where a ticket can be."""
    for task in tasks:
        if task.kind in _NEVER:
            return f"A plan that {_NEVER[task.kind]} can't become a ticket yet: it is shown, with what to do instead."
        if isinstance(task, Isolate) and task.machines:
            return "A plan that takes machines of the pool can't become a ticket before they have joined the cluster."
    return ""


def instead_of_ticket(plan: Plan, directory: Directory, out: Path | None) -> tuple[str, ...]:
    """Why the plan can't be a ticket and how it is carried out, a sentence each; none: it can be one.

    `out` is the file that holds its kafka-reassign-partitions JSON, if any.
    """
    new = [move for move in plan.moves if move.is_new]
    if new:
        return ("It can't become a ticket yet, since it creates partitions.", *_creation(plan, new, out))
    if any(move.changes_replication_factor for move in plan.moves):
        return ("It can't become a ticket yet, since it changes the replication factor.", _reassignment(plan, out))
    joining = _joining(plan, directory)
    if joining:
        brokers = f"{'broker' if len(joining) == 1 else 'brokers'} {', '.join(map(str, joining))}"
        return (
            f"It can't become a ticket before {brokers} joined cluster {plan.cluster}: start the machines as its notes "
            "say, register the cluster again (guardian cluster add), and plan again without --from-pool.",
        )
    return ()


def _joining(plan: Plan, directory: Directory) -> list[int]:
    """Brokers that the plan uses and the cluster does not have; a cluster whose brokers are not known has all."""
    cluster = directory.cluster(plan.cluster)
    if cluster is None or not cluster.brokers:
        return []
    known = {broker.id for broker in cluster.brokers}
    before = {broker for move in plan.moves for broker in move.original_brokers}
    return sorted({broker for move in plan.moves for broker in move.target_brokers} - known - before)


def _creation(plan: Plan, new: Sequence[PartitionMove], out: Path | None) -> tuple[str, ...]:
    """kafka-topics wants a place for each partition from 0 on, and looks only at those of partitions that are new."""
    topic, last = new[0].partition.topic, max(move.partition.partition for move in new)
    places = {move.partition.partition: ":".join(map(str, move.target_brokers)) for move in new}
    assignment = ",".join(places.get(partition, places[last]) for partition in range(last + 1))
    how = f"--alter --partitions {last + 1}" if plan.kind == ExpandTopic.kind else "--create"
    command = f"kafka-topics --bootstrap-server BROKER:9092 {how} --topic {topic} --replica-assignment {assignment}"
    sentences = [f"Carry it out by: {command}" if len(command) <= _SHOWN_CHARS else _from_file(topic, how, last + 1)]
    if any(place.log_dir != ANY_LOG_DIR for move in new for place in move.target):
        sentences.append(
            f"kafka-topics leaves log dirs to the brokers: while the partitions are still empty, {_execute(out)} puts "
            "them where the plan says."
        )
    return tuple(sentences)


def _from_file(topic: str, how: str, partitions: int) -> str:
    option = how if how.startswith("--alter") else f"--create --partitions {partitions}"
    return f"Carry it out by kafka-topics {option} --topic {topic}, and while it is still empty by the file of --out."


def _reassignment(plan: Plan, out: Path | None) -> str:
    throttle = f" --throttle {plan.throttle}" if plan.throttle else ""
    return f"Carry it out by: {_execute(out)}{throttle}; when it is done, the same with --verify removes the throttle."


def _execute(out: Path | None) -> str:
    """The command; FILE is what --out writes."""
    file = out or "FILE (of --out)"
    return f"kafka-reassign-partitions --bootstrap-server BROKER:9092 --execute --reassignment-json-file {file}"
