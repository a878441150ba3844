"""migrate-idc: topics, a tenant or a cluster to other data centres, by a placement policy.

At the end the topics have the policy in the directory, else the next plan moves them back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from guardian.model.directory import Directory
from guardian.model.execution import DirectoryIntent
from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import MigrateIdc
from guardian.tickets.kinds import entries
from guardian.tickets.kinds.planned import PlannedKind


class MigrateIdcKind(PlannedKind[MigrateIdc]):
    name = MigrateIdc.kind
    task = MigrateIdc
    has_directory_intents = True
    tells_reads = True

    def topics_named(self, task: MigrateIdc) -> Sequence[str]:
        return task.topics

    def renew(self, task: MigrateIdc, cluster: str, directory: Directory) -> MigrateIdc:
        return replace(task, policy=directory.policy(task.policy.name))

    def promises(self, task: MigrateIdc) -> Iterator[str]:
        yield f"gives IDC policy {task.policy.name} to {entries.describe(task.topics, task.tenant)}"

    def topics_changed(self, task: MigrateIdc) -> tuple[frozenset[str] | None, frozenset[str]]:
        return entries.changed(task.topics, task.tenant, is_all=not task.topics and not task.tenant)

    def directory_intents(
        self, plan: Plan, task: MigrateIdc, moves: Sequence[PartitionMove], directory: Directory,
        topics: Mapping[str, int], empty: Collection[int],
    ) -> tuple[DirectoryIntent, ...]:  # fmt: skip
        values = _policies_after(task, topics, plan.cluster, directory)
        return entries.grouped(entries.of_topics(entries.IDC_POLICY, values, directory.topics_of(plan.cluster)))

    def remarks(self, task: MigrateIdc, directory: Directory) -> list[str]:
        if task.policy.name in {each.name for each in directory.policies}:
            return []
        return [f"policy {task.policy.name!r} is not in the directory (any more), so no topic has it from now on"]


def _policies_after(task: MigrateIdc, topics: Mapping[str, int], cluster: str, directory: Directory) -> dict[str, str]:
    """Return the policy of each topic with as many replicas as it places somewhere: others, made since, were never
    planned by it."""
    policy = next((each for each in directory.policies if each.name == task.policy.name), None)
    if policy is None:
        return {}
    names = task.topics or (() if task.tenant else ("*",))
    named = entries.meant(names, task.tenant, topics.keys(), directory.topics_of(cluster))
    return dict.fromkeys(sorted(topic for topic in named if topics.get(topic) in policy.factors), policy.name)


KIND = MigrateIdcKind()
