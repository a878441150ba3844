"""The read side, in model types. A Views reads one snapshot, so all its answers are of the same moment.

For a linearizable read, pass a Barrier command through Raft first, then take a Views: it holds all that was
acknowledged before the barrier was proposed. Any thread may use it, beside the thread that applies commands.
"""

from __future__ import annotations

from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket
from guardian.model.topology import Cluster
from guardian.wire.federation import cluster_from_proto
from guardian.wire.plans import plan_from_proto
from guardian.wire.tickets import ticket_from_proto
from metastore import keys
from metastore.keys import PartitionId
from metastore.store import Snapshot
from metastore.tables import federation, plans, segments, tickets
from protos.guardian.v1 import federation_pb2, tickets_pb2, tiering_pb2


class Views:
    """What is not stored is None, or missing from the list. Raises StoreError when the store is closed or broken."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def applied_index(self) -> int:
        """The index of the last command that these answers know of."""
        return self._snapshot.applied_index

    def clusters(self) -> tuple[Cluster, ...]:
        """Every registered cluster, by name."""
        return tuple(cluster_from_proto(cluster) for cluster in federation.stored_clusters(self._snapshot))

    def cluster(self, name: str) -> Cluster | None:
        value = self._snapshot.get(keys.cluster(name))
        return cluster_from_proto(federation_pb2.Cluster.FromString(value)) if value is not None else None

    def ticket(self, ticket_id: str) -> Ticket | None:
        return tickets.stored_ticket(self._snapshot, ticket_id)

    def ticket_by_idempotency_key(self, idempotency_key: str) -> Ticket | None:
        """The ticket that the key made."""
        ticket_id = self._snapshot.get(keys.ticket_by_idempotency_key(idempotency_key))
        return self.ticket(ticket_id.decode()) if ticket_id is not None else None

    def tickets(self, cluster: str | None = None) -> tuple[Ticket, ...]:
        """The tickets of a cluster, or of all, newest first."""
        stored = self._snapshot.scan(keys.Table.TICKET.prefix)
        found = [ticket_from_proto(tickets_pb2.Ticket.FromString(value)) for _, value in stored]
        chosen = [ticket for ticket in found if cluster is None or ticket.cluster == cluster]
        return tuple(sorted(chosen, key=lambda ticket: (-ticket.created_at_ms, ticket.id)))

    def driven_tickets(self) -> tuple[Ticket, ...]:
        """The tickets that the executor has work on, oldest first."""
        return tuple(ticket for ticket in reversed(self.tickets()) if ticket.state.is_driven)

    def execution(self, ticket_id: str) -> Execution | None:
        return tickets.stored_execution(self._snapshot, ticket_id)

    def plan(self, plan_hash: str) -> Plan | None:
        """The plan; None also while parts of it are missing."""
        serialized = plans.serialized_plan(self._snapshot, plan_hash)
        return plan_from_proto(tickets_pb2.Plan.FromString(serialized)) if serialized is not None else None

    def has_plan(self, plan_hash: str) -> bool:
        """Whether all of the plan is stored."""
        return plans.is_complete(self._snapshot, plan_hash)

    def segment_events(
        self, partition: PartitionId, from_event_id: int, limit: int
    ) -> list[tiering_pb2.StoredSegmentEvent]:
        """At most `limit` events of the partition, from that id on, in order."""
        return segments.stored_events(self._snapshot, partition, from_event_id, limit)

    def live_segments(self, partition: PartitionId) -> list[tiering_pb2.SegmentEvent]:
        """The partition's segments that are not yet deleted, each with its newest state, by segment id."""
        return segments.live_segments(self._snapshot, partition)

    def next_event_id(self, partition: PartitionId) -> int:
        """The id that the partition's next event gets; ids start at 0."""
        return segments.next_event_id(self._snapshot, partition)
