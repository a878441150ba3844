"""What people have said of brokers, against a plan that anybody may have made: what must not be, in one sentence. Pure.

    excluded        a broker that somebody excluded gets no new replica
    label           a replica goes only where its topic may stand (placing.py)
    racks, IDCs     of a plan from a file: no partition gets replicas closer together, or further from its policy, than
                    they are now, unless the brokers that may hold it leave no other way

Only new places count: what stands somewhere already may stay. Planners keep all of it, and count more: this is for
plans of others, and for what was said since a plan was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from guardian.federation.rules.placing import labels_by_topic, suits
from guardian.model.directory import Directory
from guardian.model.federation import Exclusion
from guardian.model.plan import PartitionMove, Plan
from guardian.tickets.kinds.registry import kind_of_task


@dataclass(frozen=True, slots=True)
class Barring:
    """What bars the brokers of one cluster. `labels` are by broker, its own or its machine's;
    `of_topics` by topic; `shared` are those whose brokers anybody's topics may use."""

    exclusions: Mapping[int, Exclusion]
    labels: Mapping[int, str]
    of_topics: Mapping[str, Collection[str]]
    shared: Collection[str]
    new_topics: Collection[str] = ()  # of which nobody has said anything yet

    def why_not(self, move: PartitionMove, broker: int) -> str:
        """Say why the broker may not get a replica of the partition; empty when it may."""
        exclusion = self.exclusions.get(broker)
        if exclusion is not None:
            return f"{exclusion.who} excluded from new replicas: {exclusion.why}"
        topic, label = move.partition.topic, self.labels.get(broker, "")
        if topic in self.new_topics or suits(label, self.of_topics.get(topic, ()), self.shared):
            return ""
        mine = " or ".join(sorted(self.of_topics.get(topic, ())))
        its = f"has label {label}" if label else "has no label"
        return f"{its}, and topic {topic} may stand only on brokers {f'of {mine}' if mine else 'without one'}"


def barring(plan: Plan, directory: Directory, shared: Collection[str], now_ms: int) -> Barring:
    """Return what bars brokers, as it will be when the plan has been carried out: one that isolates a label gives it to
    brokers and topics.
    """
    labels = {number: each.label for number, each in directory.brokers_of(plan.cluster).items() if each.label}
    entries = directory.topics_of(plan.cluster)
    of_topics: dict[str, Collection[str]] = {**labels_by_topic(entries, directory.tenants)}
    moved = {move.partition.topic for move in plan.moves}
    of_brokers, of_these = kind_of_task(plan.task).labels_gained(plan.task, labels, moved, entries)
    labels |= of_brokers
    of_topics |= {name: (label,) for name, label in of_these.items()}
    own = plan.settings.shared_labels if plan.settings is not None else ()
    known = {entry.name for entry in entries}
    return Barring(
        {each.broker_id: each for each in directory.exclusions if _holds(each, plan.cluster, now_ms)},
        labels,
        of_topics,
        (*shared, *own),
        {move.partition.topic for move in plan.moves if move.is_new} - known,
    )


def why_barred(plan: Plan, bars: Barring) -> str:
    """The first new replica of the plan that must not be, with broker and reason; empty when there is none."""
    for move in plan.moves:
        for broker in move.added_brokers:
            why = bars.why_not(move, broker)
            if why:
                return f"{move.partition} would come to broker {broker}, which {why}"
    return ""


def why_crowded(plan: Plan, bars: Barring, directory: Directory, racks: Mapping[int, str]) -> str:
    """Name the first partition that a plan from a file would put into fewer racks, or further from what its IDC policy
    says. Empty when there is none. `racks` are those of the live brokers.

    Planners weigh what is possible, so their plans (with reasons) are not judged again.
    """
    if plan.is_ordered:
        return ""
    idcs = {number: each.idc for number, each in directory.brokers_of(plan.cluster).items()}
    policies = {policy.name: policy for policy in directory.policies}
    policy_of = {
        entry.name: policies[entry.idc_policy]
        for entry in directory.topics
        if entry.cluster == plan.cluster and entry.idc_policy in policies
    }
    for move in plan.moves:
        policy = policy_of.get(move.partition.topic)
        wanted = dict(policy.of_factor(len(move.target)).replicas) if policy is not None else {}
        why = _why_racks(move, bars, racks) or _why_idcs(move, wanted, idcs)
        if why:
            return why
    return ""


def _why_racks(move: PartitionMove, bars: Barring, racks: Mapping[int, str]) -> str:
    places = [racks.get(broker) for broker in move.target_brokers]
    if not all(places):
        return ""
    possible = {rack for broker, rack in racks.items() if not bars.why_not(move, broker)} | set(places)
    must_share = max(0, len(places) - len(possible))
    before = [racks.get(broker) or f"of broker {broker}" for broker in move.original_brokers]
    shared = len(places) - len(set(places))
    if shared <= max(must_share, len(before) - len(set(before))):
        return ""
    rack = next(rack for rack, count in Counter(places).items() if count > 1)
    together = ", ".join(str(broker) for broker in move.target_brokers if racks.get(broker) == rack)
    return (
        f"replicas of {move.partition} would share rack {rack} (brokers {together}), which they do not have to: "
        "choose brokers of other racks"
    )


def _why_idcs(move: PartitionMove, wanted: Mapping[str, int], idcs: Mapping[int, str]) -> str:
    if not wanted:
        return ""
    after = Counter(idcs.get(broker, "") for broker in move.target_brokers)
    before = Counter(idcs.get(broker, "") for broker in move.original_brokers)
    lacking = {idc: count - after[idc] for idc, count in wanted.items() if count > after[idc]}
    lacked = sum(max(0, count - before[idc]) for idc, count in wanted.items())
    if sum(lacking.values()) <= lacked:
        return ""
    idc = min(lacking)
    return (
        f"{move.partition} would have {after[idc]} replicas in {idc}, where its topic's IDC policy places "
        f"{wanted[idc]}: choose brokers there, or change the policy first (guardian plan migrate-idc)"
    )


def _holds(exclusion: Exclusion, cluster: str, now_ms: int) -> bool:
    return exclusion.cluster == cluster and not 0 < exclusion.until_ms <= now_ms
