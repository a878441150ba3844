"""A plan before it becomes a ticket: completed from the live cluster, and tried where Kafka can try it.

What a controller would refuse to create (a name that collides, an unknown configuration, too many partitions) is found
now, by a request that only validates. A refusal by a creation policy does not count: the policy may take creations only
from a ticket that runs, and this one does not yet.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from guardian.errors import InvalidInput
from guardian.execution.loop.request_facts import TopicUses, read_facts
from guardian.execution.loop.sending import min_insync
from guardian.execution.rules.creating import topic_configs
from guardian.kafka.admin import KafkaAdmin
from guardian.model.effects import NewTopic
from guardian.model.plan import Plan
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds.requested import Moment, RequestKind
from guardian.tickets.rules.validating import resolve, topics_to_create

_POLICY_VIOLATION = "POLICY_VIOLATION"


def resolved_now(admin: KafkaAdmin, plan: Plan, ours: Collection[TopicPartition] = ()) -> Plan:
    """Return the plan with its originals filled in; of what is reassigned, `ours` gives way to expansions.

    Raises InvalidInput, Conflict or ClusterUnavailable.
    """
    topics = {move.partition.topic for move in plan.moves}
    description = admin.describe_cluster()
    partitions = admin.describe_partitions(topics)
    factors = {partition: len(state.replicas) for partition, state in partitions.items()}
    resized = {m.partition.topic for m in plan.moves if len(m.target) != factors.get(m.partition, len(m.target))}
    reassignments = admin.list_reassignments()
    made = resolve(
        plan,
        description,
        partitions,
        admin.describe_log_dirs(description.brokers),
        reassignments,
        min_insync(admin, resized) if resized else {},
        ours,
    )
    _rehearse(admin, made, topics_to_create(made, partitions), {each.topic for each in reassignments})
    return made


def resolved_request(
    admin: KafkaAdmin, kind: RequestKind[Any], plan: Plan, now_ms: int, uses: TopicUses | None
) -> Plan:
    """Return the plan of a kind without moves as it can be carried out now, tried where Kafka can try it.

    Raises InvalidInput or ClusterUnavailable.
    """
    facts = read_facts(
        admin, plan.cluster, kind.query(kind.task_of(plan), Moment(TicketState.APPROVED, 0, now_ms)), uses
    )
    resolved = kind.resolved(plan, facts, now_ms)
    tried = kind.trial(kind.task_of(resolved))
    for topic, why in admin.refused_topic_configs(tried).items() if tried else ():
        raise InvalidInput(f"cluster {plan.cluster} refuses the configuration of topic {topic}: {why}")
    return resolved


def _rehearse(admin: KafkaAdmin, plan: Plan, new_topics: frozenset[str], moved: Collection[str]) -> None:
    """Raises InvalidInput with the first thing that the cluster would refuse. What expands topics that are `moved` can
    only be tried once their moves have given way: Kafka refuses it until then."""
    new = {move.partition: move.target_brokers for move in plan.moves if move.is_new}
    topics = {
        name: NewTopic({each.partition: new[each] for each in new if each.topic == name}, topic_configs(plan))
        for name in sorted(new_topics)
    }
    added = {each: brokers for each, brokers in new.items() if each.topic not in {*new_topics, *moved}}
    refused = admin.create_topics(topics, True) if topics else {}
    refused |= admin.create_partitions(added, True) if added else {}
    for topic, why in refused.items():
        if not why.startswith(_POLICY_VIOLATION):
            doing = "creating" if topic in new_topics else "expanding"
            raise InvalidInput(f"cluster {plan.cluster} refuses {doing} topic {topic}: {why}")
