"""What all tickets of a cluster share in one tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import ClusterObservation
from guardian.model.ticket import Ticket


@dataclass(frozen=True, slots=True)
class ClusterTick:
    """Hold one cluster's admin, what was observed of it, and the tickets that are driven there. `standing` are the
    rates that people set for its brokers, bytes/s."""

    admin: KafkaAdmin
    observation: ClusterObservation
    tickets: Sequence[Ticket]
    standing: Mapping[int, int]

    def tickets_beside(self, ticket: Ticket) -> list[Ticket]:
        """Return all but this one."""
        return [each for each in self.tickets if each.id != ticket.id]
