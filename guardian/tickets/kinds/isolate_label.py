"""isolate-label: a label's topics on machines of their own.

    grow      brokers that the plan was offered and puts replicas on       get the label
    shrink    brokers that the plan empties, and that are empty by now     lose it
    topics    those that the plan names, by themselves or by their tenant  get it: the next plan leaves them then

Machines that join as new brokers have the label from the start: whoever registers them gives it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.execution import DirectoryIntent, Subject
from guardian.model.federation import Tenant, Topic
from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import Isolate
from guardian.tickets.kinds import entries
from guardian.tickets.kinds.entries import LABEL, Entry, meant
from guardian.tickets.kinds.planned import PlannedKind


class IsolateLabel(PlannedKind[Isolate]):
    name = Isolate.kind
    task = Isolate
    has_directory_intents = True

    def renew(self, task: Isolate, cluster: str, directory: Directory) -> Isolate:
        free = {machine.host for machine in directory.free_machines()}
        return replace(task, machines=tuple(each for each in task.machines if each.host in free))

    def promises(self, task: Isolate) -> Iterator[str]:
        if task.brokers:
            yield f"gives label {task.label} to brokers {', '.join(map(str, task.brokers))} where they get replicas"
        if task.release is not None:
            yield f"takes label {task.label} off the brokers that become empty"
        if task.topics or task.tenant:
            yield f"gives label {task.label} to {entries.describe(task.topics, task.tenant)}"

    def needs_admin(self, task: Isolate) -> bool:
        return bool(task.brokers or task.machines or task.release is not None)

    def topics_changed(self, task: Isolate) -> tuple[frozenset[str] | None, frozenset[str]]:
        return entries.changed(task.topics, task.tenant, is_all=False)

    def labels_gained(
        self, task: Isolate, brokers: Mapping[int, str], moved: Collection[str], topics: Collection[Topic]
    ) -> tuple[Mapping[int, str], Mapping[str, str]]:
        taken = {broker: task.label for broker in task.brokers if not brokers.get(broker)}
        return taken, topics_after(task, moved, topics)

    def emptied(self, task: Isolate, moves: Sequence[PartitionMove]) -> frozenset[int]:
        if task.release is None:
            return frozenset()
        before = {broker for move in moves for broker in move.original_brokers}
        return frozenset(before - {broker for move in moves for broker in move.target_brokers})

    def directory_intents(
        self, plan: Plan, task: Isolate, moves: Sequence[PartitionMove], directory: Directory,
        topics: Mapping[str, int], empty: Collection[int],
    ) -> tuple[DirectoryIntent, ...]:  # fmt: skip
        known = directory.topics_of(plan.cluster)
        of_topics = entries.of_topics(LABEL, topics_after(task, topics, known), known)
        return entries.grouped(iter((*_of_brokers(task, moves, plan.cluster, directory, empty), *of_topics)))


KIND = IsolateLabel()


def labels_after(task: Isolate, moves: Sequence[PartitionMove], empty: Collection[int]) -> dict[int, str]:
    """Return the label of each broker whose label changes, by id; empty text: none. `empty` hold no replicas."""
    emptied = KIND.emptied(task, moves) & set(empty)
    taken = {broker for move in moves for broker in move.target_brokers} & set(task.brokers)
    return dict.fromkeys(sorted(taken), task.label) | dict.fromkeys(sorted(emptied), "")


def topics_after(task: Isolate, existing: Collection[str], topics: Collection[Topic]) -> dict[str, str]:
    """Return the label of each topic that gets it, by name. `existing` are the cluster's topics, `topics` what the
    directory says of them."""
    labels = {topic.name: topic.label for topic in topics}
    named = meant(task.topics, task.tenant, existing, topics)
    return dict.fromkeys(sorted(topic for topic in named if labels.get(topic, "") != task.label), task.label)


def require_usable(
    label: str, names: Sequence[str], tenant: str, topics: Collection[Topic], tenants: Collection[Tenant]
) -> None:
    """Raise InvalidInput when a topic that would get the label is of a tenant that may not use it."""
    of_topic = {topic.name: topic.tenant for topic in topics}
    by_name = {each.name: each for each in tenants}
    for topic in sorted(meant(names, tenant, of_topic.keys(), topics)):
        owner = by_name.get(of_topic[topic])
        if owner is not None and not owner.may_use(label):
            raise InvalidInput(
                f"label is {label!r}, and topic {topic} is of tenant {owner.name}, which may use "
                f"{', '.join(owner.labels)}: give it that label too (guardian tenant put), or leave the topic out"
            )


def _of_brokers(
    task: Isolate, moves: Sequence[PartitionMove], cluster: str, directory: Directory, empty: Collection[int]
) -> Iterator[Entry]:
    """Leave out brokers that the federation does not know, and what has another label by now, which is not emptied for
    this one. Machines, which planners ask where a broker has no label, are labelled only where they had one."""
    after, label = labels_after(task, moves, empty), task.label
    known = directory.cluster(cluster)
    for broker in known.brokers if known is not None else ():
        if broker.id in after and (after[broker.id] or broker.label == label):
            yield Entry(Subject.BROKER, LABEL, str(broker.id), after[broker.id], broker.label)
    for machine in directory.machines:
        value = after.get(machine.broker_id) if machine.cluster == cluster else None
        if value is not None and machine.label and (value or machine.label == label):
            yield Entry(Subject.MACHINE, LABEL, machine.host, value, machine.label)
