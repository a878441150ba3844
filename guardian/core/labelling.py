"""What a ticket says in the directory, of brokers and topics, once it has succeeded; and takes back. Pure.

    isolate-label   grow      brokers that the plan was offered and puts replicas on       get the label
                    shrink    brokers that the plan empties, and that are empty by now     lose it
                    topics    those that the plan names, by themselves or by their tenant  get the label, else the next
                                                                                           plan takes them off again
    migrate-idc     topics    those that the plan names; of a whole cluster all            get the policy, else the next
                                                                                           plan moves them back

What it will say is stored with what that replaces, then said, and only then the ticket is over. Both ways by the
changes of the engine (owned_settings.py): what somebody else said meanwhile stays. A ticket that never said anything
takes nothing back. Machines that join as new brokers have the label from the start: whoever registers them gives it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.execution import DirectoryIntent, Subject
from guardian.model.federation import Tenant, Topic
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove, Plan
from guardian.model.planner_settings import is_named
from guardian.model.tasks import Isolate, MigrateIdc, PlanTask
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

LABEL, IDC_POLICY = "label", "idc_policy"  # of an entry
_NAMED = 3

_Said = tuple[Subject, str, str, str, str]  # subject, field, name, value, replaced


def to_say(
    plan: Plan,
    moves: Sequence[PartitionMove],
    directory: Directory,
    factors: Mapping[str, int],
    empty: Collection[int],
) -> tuple[DirectoryIntent, ...]:
    """What the plan says when `moves` of it have been done, and what that replaces in the directory as it is.

    `factors` are the cluster's topics with their replication factors, `empty` brokers without replicas.
    """
    task, entries = plan.task, _entries(plan.cluster, directory)
    if isinstance(task, Isolate):
        said = [*_of_brokers(task, moves, plan.cluster, directory, empty)]
        said += _of_topics(LABEL, topics_after(task, factors, entries), plan.cluster, directory)
    elif isinstance(task, MigrateIdc):
        said = [*_of_topics(IDC_POLICY, _migrated(task, factors, entries, directory), plan.cluster, directory)]
    else:
        said = []
    grouped: dict[tuple[Subject, str, str, str], list[str]] = {}
    for subject, field, name, value, replaced in said:
        if value != replaced:
            grouped.setdefault((subject, field, value, replaced), []).append(name)
    return tuple(
        DirectoryIntent(subject, field, tuple(names), value, replaced)
        for (subject, field, value, replaced), names in grouped.items()
    )


def owned(intents: Sequence[DirectoryIntent]) -> list[OwnedSetting]:
    """Return the intents as settings of single entries. They are stored by groups: a cluster has many topics."""
    return [
        OwnedSetting(each.subject.value, name, each.field, (each.value,), each.replaced)
        for each in intents
        for name in each.names
    ]


def takes_back(ticket: Ticket, state: TicketState) -> bool:
    """Whether a ticket that becomes `state` takes back what it said, or was about to: one that has not succeeded says
    nothing. Where a way back was stopped halfway it stays said, until the rest has gone back too."""
    if state is TicketState.ROLLED_BACK:
        return True
    states = {state, *(past.state for past in ticket.history)}
    return TicketState.SUCCEEDED not in states


def describe(intents: Sequence[DirectoryIntent]) -> str:
    """In words, for people."""
    return "; ".join(
        f"{each.field} {each.value or 'none'} instead of {each.replaced or 'none'} of {each.subject.value} "
        f"{_some(each.names)}"
        for each in intents
    )


def leaving(plan: Plan, moves: Sequence[PartitionMove]) -> frozenset[int]:
    """The brokers that a plan which gives machines back means to empty."""
    emptied = emptied_by(plan.task, moves)
    marked = {load.broker for load in plan.loads if load.is_leaving and not load.log_dir}
    return emptied & marked if marked else emptied


def why_not_emptied(plan: Plan, partitions: Mapping[TopicPartition, Collection[int]], alive: Collection[int]) -> str:
    """Which of the brokers that a plan gives back would keep what, as the plan does not know of it; empty: none would.

    `partitions` are all of the cluster, with their brokers.
    """
    moves = {move.partition: move.target_brokers for move in plan.moves}
    for broker in sorted(leaving(plan, plan.moves) & set(alive)):
        left = [
            each for each, brokers in partitions.items() if broker in moves.get(each, brokers) and broker in brokers
        ]
        if left:
            return (
                f"broker {broker} would not become empty: it holds {_some(list(map(str, sorted(left))))}, which the "
                "plan leaves there; wait until they are collected (guardian collection), then plan again"
            )
    return ""


def remarks(
    plan: Plan,
    intents: Sequence[DirectoryIntent],
    held: Mapping[int, Collection[TopicPartition]],
    directory: Directory,
) -> list[str]:
    """What the end of the ticket has to say besides: what was meant and could not be said. `held` is what the brokers
    hold that were to be emptied."""
    said = {name for each in intents if each.subject is Subject.BROKER for name in each.names}
    words = [
        f"broker {broker} is not empty and keeps its label: it holds {_some(list(map(str, sorted(partitions))))}"
        for broker, partitions in sorted(held.items())
        if partitions and str(broker) not in said
    ]
    task = plan.task
    if isinstance(task, MigrateIdc) and task.policy.name not in {each.name for each in directory.policies}:
        words.append(f"policy {task.policy.name!r} is not in the directory (any more), so no topic has it from now on")
    return words


def emptied_by(task: PlanTask | None, moves: Sequence[PartitionMove]) -> frozenset[int]:
    """Return the brokers that a task which gives machines back takes replicas off, and puts none on. `moves` are what
    was done."""
    if not isinstance(task, Isolate) or task.release is None:
        return frozenset()
    before = {broker for move in moves for broker in move.original_brokers}
    return frozenset(before - {broker for move in moves for broker in move.target_brokers})


def labels_after(task: Isolate, moves: Sequence[PartitionMove], empty: Collection[int]) -> dict[int, str]:
    """The label of each broker whose label changes, by id; empty text: none. `empty` are brokers without replicas."""
    emptied = emptied_by(task, moves) & set(empty)
    taken = {broker for move in moves for broker in move.target_brokers} & set(task.brokers)
    return dict.fromkeys(sorted(taken), task.label) | dict.fromkeys(sorted(emptied), "")


def topics_after(task: Isolate, existing: Collection[str], entries: Collection[Topic]) -> dict[str, str]:
    """The label of each topic that gets it, by name. `existing` are the cluster's topics, `entries` what the directory
    says of them."""
    labels = {entry.name: entry.label for entry in entries}
    meant = _meant(task.topics, task.tenant, existing, entries)
    return dict.fromkeys(sorted(topic for topic in meant if labels.get(topic, "") != task.label), task.label)


def require_usable(
    label: str, names: Sequence[str], tenant: str, entries: Collection[Topic], tenants: Collection[Tenant]
) -> None:
    """Raises InvalidInput when a topic that would get the label is of a tenant that may not use it."""
    of_topic = {entry.name: entry.tenant for entry in entries}
    by_name = {each.name: each for each in tenants}
    for topic in sorted(_meant(names, tenant, of_topic.keys(), entries)):
        owner = by_name.get(of_topic[topic])
        if owner is not None and not owner.may_use(label):
            raise InvalidInput(
                f"label is {label!r}, and topic {topic} is of tenant {owner.name}, which may use "
                f"{', '.join(owner.labels)}: give it that label too (guardian tenant put), or leave the topic out"
            )


def _of_brokers(
    task: Isolate,
    moves: Sequence[PartitionMove],
    cluster: str,
    directory: Directory,
    empty: Collection[int],
) -> Iterator[_Said]:
    """Brokers that the federation does not know are left out. Their machines, which planners ask where a broker has no
    label, say nothing else. What another label has by now is not emptied for this one."""
    after, label = labels_after(task, moves, empty), task.label
    known = directory.cluster(cluster)
    for broker in known.brokers if known is not None else ():
        if broker.id in after and (after[broker.id] or broker.label == label):
            yield Subject.BROKER, LABEL, str(broker.id), after[broker.id], broker.label
    for machine in directory.machines:
        value = after.get(machine.broker_id) if machine.cluster == cluster else None
        if value is not None and machine.label and (value or machine.label == label):
            yield Subject.MACHINE, LABEL, machine.host, value, machine.label


def _of_topics(field: str, values: Mapping[str, str], cluster: str, directory: Directory) -> Iterator[_Said]:
    """Topics of which the directory does not know have said nothing."""
    now = {entry.name: entry for entry in _entries(cluster, directory)}
    for name, value in values.items():
        yield Subject.TOPIC, field, name, value, getattr(now[name], field) if name in now else ""


def _migrated(
    task: MigrateIdc, factors: Mapping[str, int], entries: Collection[Topic], directory: Directory
) -> dict[str, str]:
    """Topics with as many replicas as the policy places: others, made since, were never planned by it."""
    policy = next((each for each in directory.policies if each.name == task.policy.name), None)
    if policy is None:
        return {}
    names = task.topics or (() if task.tenant else ("*",))
    total = sum(count for _, count in policy.replicas)
    meant = _meant(names, task.tenant, factors.keys(), entries)
    return dict.fromkeys(sorted(topic for topic in meant if factors.get(topic) == total), policy.name)


def _entries(cluster: str, directory: Directory) -> list[Topic]:
    return [entry for entry in directory.topics if entry.cluster == cluster]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _meant(names: Sequence[str], tenant: str, existing: Collection[str], entries: Collection[Topic]) -> set[str]:
    named = {topic for topic in existing for name in names if is_named(topic, name)}
    return named | {entry.name for entry in entries if tenant and entry.tenant == tenant}
