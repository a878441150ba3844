"""Which brokers and topics get a label, or give it back, once a ticket that isolates one is over. Pure.

    grow      brokers that the plan was offered and puts replicas on        get the label
    shrink    brokers that the plan empties, and that are empty by now      lose it: anybody's again, or for the pool
    topics    those that the plan names, by themselves or by their tenant   get the label, else the next plan that
                                                                            heals would take them off its brokers

Rolled back, all of it is as before. Machines that join as new brokers have the label from the start: whoever registers
them gives it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from guardian.errors import InvalidInput
from guardian.model.federation import Tenant, Topic
from guardian.model.plan import PartitionMove

ISOLATE_LABEL = "isolate-label"  # the kind of plan


def emptied_by(settings: Mapping[str, str], moves: Sequence[PartitionMove]) -> frozenset[int]:
    """The brokers that a plan which gives machines back takes replicas off, and puts none on. `settings` are what was
    asked for, `moves` what was done."""
    if "release" not in settings:
        return frozenset()
    before = {broker for move in moves for broker in move.original_brokers}
    return frozenset(before - {broker for move in moves for broker in move.target_brokers})


def labels_after(settings: Mapping[str, str], moves: Sequence[PartitionMove], empty: Collection[int]) -> dict[int, str]:
    """The label of each broker whose label changes, by id; empty text: none. `empty` are brokers without replicas."""
    label = settings.get("label", "")
    if not label:
        return {}
    emptied = emptied_by(settings, moves) & set(empty)
    return dict.fromkeys(sorted(_taken(settings, moves)), label) | dict.fromkeys(sorted(emptied), "")


def labels_before(
    settings: Mapping[str, str], moves: Sequence[PartitionMove], now: Mapping[int, str]
) -> dict[int, str]:
    """As `labels_after`, when `moves` have been taken back; `now` are the brokers' labels. What somebody else said of a
    broker meanwhile stays."""
    label = settings.get("label", "")
    taken = {broker for broker in _taken(settings, moves) if label and now.get(broker) == label}
    emptied = {broker for broker in emptied_by(settings, moves) if label and now.get(broker) == ""}
    return dict.fromkeys(sorted(taken), "") | dict.fromkeys(sorted(emptied), label)


def topics_after(
    settings: Mapping[str, str], existing: Collection[str], entries: Collection[Topic], *, back: bool = False
) -> dict[str, str]:
    """The label of each topic whose label changes, by name. `existing` are the cluster's topics, `entries` what the
    directory says of them; `back`: the plan has been taken back, so they lose it."""
    label = settings.get("label", "")
    names = [name for name in settings.get("topics", "").split(", ") if name]
    labels = {entry.name: entry.label for entry in entries}
    meant = _meant(names, settings.get("tenant", ""), existing, entries)
    changing = sorted(topic for topic in meant if label and (labels.get(topic, "") == label) is back)
    return dict.fromkeys(changing, "" if back else label)


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


def _meant(names: Sequence[str], tenant: str, existing: Collection[str], entries: Collection[Topic]) -> set[str]:
    named = {topic for topic in existing for name in names if _is_named(topic, name)}
    return named | {entry.name for entry in entries if tenant and entry.tenant == tenant}


def _taken(settings: Mapping[str, str], moves: Sequence[PartitionMove]) -> frozenset[int]:
    offered = {int(name) for name in settings.get("brokers", "").split(", ") if name.isdecimal()}
    return frozenset(offered & {broker for move in moves for broker in move.target_brokers})


def _is_named(topic: str, name: str) -> bool:
    return topic.startswith(name[:-1]) if name.endswith("*") else topic == name
