"""The read side, in model types. A Views reads one snapshot, so all its answers are of the same moment.

For a linearizable read, ask Raft for a read index first, then take a Views: it holds all that was acknowledged before.
Any thread may use it, beside the thread that applies commands. Segments have views of their own (segment_views).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from guardian.errors import InvalidInput, NotFound
from guardian.model.actor import Agent
from guardian.model.collection import CollectionAssignment
from guardian.model.cordon import Cordon
from guardian.model.event import Call, Event
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.protection import Protection
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Cluster
from guardian.wire.actors import agent_of
from guardian.wire.federation import cluster_from_proto
from guardian.wire.plans import plan_from_proto
from guardian.wire.tickets import ticket_from_proto
from metastore import keys, levels
from metastore.store import Snapshot
from metastore.tables import (
    audit,
    clock,
    clusters,
    collection,
    cordons,
    events,
    federation,
    ids,
    plans,
    protection,
    sessions,
    ticket_index,
    tickets,
)
from metastore.tables.proposal import Proposal
from metastore.tables.sessions import Session
from protos.guardian.v1 import federation_pb2, tickets_pb2


class Views:
    """What is not stored is None, or missing from the list. Raises StoreError when the store is closed or broken."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def snapshot(self) -> Snapshot:
        """What is read here, for views of more."""
        return self._snapshot

    @property
    def applied_index(self) -> int:
        """The index of the last command that these answers know of."""
        return self._snapshot.applied_index

    @property
    def clock_ms(self) -> int:
        """The group's clock; 0: it was never set."""
        return clock.stored_clock(self.snapshot)

    @property
    def level(self) -> int:
        """The feature level in force: which commands may be proposed."""
        return levels.stored_level(self._snapshot)

    def clusters(self) -> tuple[Cluster, ...]:
        """Every registered cluster, by name."""
        return tuple(cluster_from_proto(cluster) for cluster in clusters.stored_clusters(self._snapshot))

    def cluster(self, name: str) -> Cluster | None:
        value = self._snapshot.get(keys.cluster(name))
        return cluster_from_proto(federation_pb2.Cluster.FromString(value)) if value is not None else None

    def cluster_by_id(self, cluster_id: str) -> Cluster | None:
        """The registered cluster with this cluster.id of Kafka's."""
        stored = clusters.stored_clusters(self._snapshot)
        return next((cluster_from_proto(each) for each in stored if each.cluster_id == cluster_id), None)

    def collection(self) -> CollectionAssignment:
        """Who collects which broker."""
        return collection.stored_assignment(self._snapshot)

    def protection(self, cluster: str) -> Protection:
        """What is held to protect the cluster's disks."""
        return protection.stored_protection(self._snapshot, cluster)

    def protections(self) -> tuple[Protection, ...]:
        """Of all clusters that ever had something held."""
        return protection.stored_protections(self._snapshot)

    def cordons(self, cluster: str | None = None) -> tuple[Cordon, ...]:
        """The brokers, of a cluster or of all, that get no new replicas, and what was set there."""
        return cordons.stored_cordons(self._snapshot, cluster)

    def events(self, after: int, limit: int) -> tuple[Event, ...]:
        """The next events of tickets and throttles behind the one with this id, oldest first."""
        return events.page(self._snapshot, after, limit)

    def calls(self) -> tuple[Call, ...]:
        """What calls a person now."""
        return events.calls(self._snapshot)

    def event_delivered(self, sink: str) -> int | None:
        """The last event that the sink was given; None: never any."""
        return events.delivered(self._snapshot, sink)

    def ticket(self, ticket_id: str) -> Ticket | None:
        return tickets.stored_ticket(self._snapshot, ticket_id)

    def ticket_by_idempotency_key(self, idempotency_key: str) -> Ticket | None:
        """The ticket that the key made."""
        ticket_id = self._snapshot.get(keys.ticket_by_idempotency_key(idempotency_key))
        return self.ticket(ticket_id.decode()) if ticket_id is not None else None

    def tickets(
        self,
        cluster: str | None = None,
        author: Agent | None = None,
        kind: str | None = None,
        states: Collection[TicketState] = (),
        after: str = "",
        limit: int | None = None,
    ) -> tuple[Ticket, ...]:
        """Return the tickets of a cluster, of one of Guardian's own actors, of a kind and in some states, or of all;
        newest first, so many behind that of an id. The others are not parsed, nor read where all states are open.

        Raises NotFound for such an id."""
        agent = agent_of(author) if author is not None else None
        numbers = {state.value for state in states}
        if states and not any(state.is_over for state in states):
            messages = tickets.open_messages(self._snapshot, cluster)
        else:
            rows = self._snapshot.scan(keys.Table.TICKET.prefix)
            messages = (tickets_pb2.Ticket.FromString(value) for _, value in rows)
        found = [
            message
            for message in messages
            if (cluster is None or message.cluster == cluster)
            and (agent is None or message.author_agent == agent)
            and (kind is None or message.kind == kind)
            and (not numbers or message.state in numbers)
        ]
        found.sort(key=_newest_first)
        if after:
            last = self.ticket(after)
            if last is None:
                raise NotFound(f"ticket {after!r} does not exist any more: begin the list anew")
            found = found[bisect_right(found, _newest_first(last), key=_newest_first) :]
        return tuple(map(ticket_from_proto, found[:limit]))

    def ticket_counts(self) -> Counter[TicketState]:
        """Return how many tickets are in each state."""
        return ticket_index.counts(self._snapshot)

    def open_tickets(self, cluster: str | None = None) -> tuple[Ticket, ...]:
        """Return the tickets of a cluster, or of all, that are not over, newest first."""
        return tuple(sorted(tickets.open_tickets(self._snapshot, cluster), key=_newest_first))

    def driven_tickets(self) -> tuple[Ticket, ...]:
        """Return the tickets that the executor has work on, oldest first."""
        return tuple(ticket for ticket in reversed(self.open_tickets()) if ticket.state.is_driven)

    def execution(self, ticket_id: str) -> Execution | None:
        return tickets.stored_execution(self._snapshot, ticket_id)

    def execution_revision(self, ticket_id: str) -> int:
        """How often the ticket's execution was saved; 0: not yet."""
        return tickets.execution_revision(self._snapshot, ticket_id)

    def plan(self, plan_hash: str) -> Plan | None:
        """The plan; None also while parts of it are missing."""
        serialized = plans.serialized_plan(self._snapshot, plan_hash)
        return plan_from_proto(tickets_pb2.Plan.FromString(serialized)) if serialized is not None else None

    def has_plan(self, plan_hash: str) -> bool:
        """Whether all of the plan is stored."""
        return plans.is_complete(self._snapshot, plan_hash)

    def federation_page(
        self, table: int, cluster: str, name: str, after: bytes, limit: int, max_bytes: int
    ) -> tuple[list[federation_pb2.FederationEntry], bytes]:
        """At most `limit` entries and, beyond the first, `max_bytes`, by key: of a table, of one cluster, or one only.

        `after` is the key that the former page gave (b"" at first); the second result is this page's, b"" when that was
        all. Raises InvalidInput.
        """
        prefix = federation.prefix_of(table, cluster, name)
        if after and not after.startswith(prefix):
            raise InvalidInput("page_token is another list's: use the next_page_token of the page before")
        return federation.page(self._snapshot, prefix, after, limit, max_bytes)

    def check_change(self, request: federation_pb2.ChangeFederationRequest) -> list[int]:
        """The revisions that a dry run answers. Raises what the change itself would be refused with."""
        dry = federation_pb2.ChangeFederationRequest(changes=request.changes, dry_run=True)
        _, reply = federation.handle_change(dry, self._snapshot, Proposal(self.applied_index + 1, 0))
        return list(reply.federation.revisions)

    def audit_page(
        self, from_ms: int, until_ms: int, actor: str, after: bytes, limit: int
    ) -> tuple[list[federation_pb2.AuditRecord], bytes]:
        """At most `limit` records, newest first; `until_ms` 0: no end. `after` and the second result as in
        `federation_page`; a page of one actor's may be empty and not the last. Raises InvalidInput."""
        if after and not after.startswith(keys.Table.AUDIT.prefix):
            raise InvalidInput("page_token is another list's: use the next_page_token of the page before")
        return audit.page(self._snapshot, from_ms, until_ms, actor, after, limit)

    def highest_id(self, cluster_id: str, kind: int) -> int:
        """The highest number that was allocated to the cluster; 0: none. Raises InvalidInput."""
        return ids.highest(self._snapshot, cluster_id, kind)

    def session(self, session_id: int) -> Session | None:
        """The session, or None when it is not open."""
        return sessions.stored_session(self._snapshot, session_id)

    def sessions(self) -> int:
        """How many are open."""
        return sessions.stored_totals(self._snapshot).sessions


@dataclass(frozen=True, slots=True)
class Look:
    """What is stored, at one moment that is at most `staleness_s` ago; 0: the look is linearizable."""

    views: Views
    staleness_s: float


def _newest_first(ticket: Ticket | tickets_pb2.Ticket) -> tuple[int, str]:
    return -ticket.created_at_ms, ticket.id
