"""What an expansion meets before there is a ticket of it: moves of its topics, which give way, or are other tools'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guardian.execution.loop.observing import Scope, observe
from guardian.execution.rules import expanding, foreign
from guardian.kafka.admin import KafkaAdmin
from guardian.model.plan import Plan
from guardian.model.topology import TopicPartition
from guardian.replication.store.state import Views


@dataclass(frozen=True, slots=True)
class Meeting:
    """Hold the partitions that tickets of Guardian reassign, and in sentences what becomes of their moves."""

    ours: frozenset[TopicPartition] = frozenset()
    notes: Sequence[str] = ()


def meeting(admin: KafkaAdmin, views: Views, plan: Plan, now_ms: int) -> Meeting:
    """Return what a ticket of the plan would meet of others' moves. Kafka is asked only where the plan expands topics.

    Raises ClusterUnavailable.
    """
    topics = expanding.topics_expanded(plan)
    if not topics:
        return Meeting()
    tickets = views.driven_tickets(plan.cluster)
    begun = [(ticket, work) for ticket in tickets if (work := views.execution(ticket.id)) is not None]
    observation = observe(admin, [Scope(topics)], now_ms)
    others = {work.partition for work in foreign.found(observation, [work for _, work in begun])}
    notes = [expanding.cancelled_for(topics, ticket, work, observation) for ticket, work in begun]
    return Meeting(
        frozenset(observation.reassignments.keys() - others), [f"the ticket first {note}" for note in notes if note]
    )
