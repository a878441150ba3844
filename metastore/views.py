"""The read side, in model types. A Views reads one snapshot, so all its answers are of the same moment.

For a linearizable read, ask Raft for a read index first, then take a Views: it holds all that was acknowledged before.
Any thread may use it, beside the thread that applies commands. Segments have views of their own (segment_views).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guardian.errors import InvalidInput
from guardian.model.actor import Agent
from guardian.model.collection import CollectionAssignment
from guardian.model.cordon import Cordon
from guardian.model.event import Call, Event
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.protection import Protection
from guardian.model.ticket import DRIVEN_STATES, Ticket, TicketState
from guardian.model.topology import Cluster
from guardian.model.wire.actors import agent_of
from guardian.model.wire.federation import cluster_from_proto
from guardian.model.wire.plans import plan_from_proto
from guardian.model.wire.tickets import ticket_from_proto
from metastore import keys, levels
from metastore.store import Snapshot
from metastore.tables import (
    audit,
    clock,
    clusters,
    collection,
    cordons,
    ended_sessions,
    events,
    federation,
    findings,
    ids,
    plans,
    protection,
    sessions,
    ticket_index,
    ticket_order,
    tickets,
    user_tasks,
)
from metastore.tables.federation import Shown
from metastore.tables.pages import narrowed, referrers_behind, require_key_of, rows_under
from metastore.tables.proposal import Proposal
from metastore.tables.sessions import Session
from metastore.tables.ticket_order import PageLimits, TicketFilter, TicketPage
from protos.guardian.v1 import federation_pb2, placement_pb2, records_pb2, tickets_pb2, user_tasks_pb2

_WALK = PageLimits(tickets=200, size_bytes=1 << 20)


class Views:
    """What is not stored is None, or missing from the list. Raises StoreError when the store is closed or broken."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def snapshot(self) -> Snapshot:
        """Return the snapshot that is read here, for views of more."""
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

    def cluster_page(
        self, after: bytes, limit: int, max_bytes: int, shown: Shown | None = None
    ) -> tuple[list[federation_pb2.Cluster], bytes]:
        """Clusters as they are stored, by name; otherwise as `federation_page`."""
        rows, last = self._page_of(keys.Table.CLUSTER.prefix, keys.cluster, shown, after, limit, max_bytes)
        return [federation_pb2.Cluster.FromString(value) for _, value in rows], last

    def cordon_page(
        self, cluster: str, after: bytes, limit: int, max_bytes: int, shown: Shown | None = None
    ) -> tuple[list[placement_pb2.Cordon], bytes]:
        """Cordons as they are stored, by cluster (empty: all) and broker; otherwise as `federation_page`."""
        prefix = keys.cordons(cluster) if cluster else keys.Table.CORDON.prefix
        rows, last = self._page_of(prefix, keys.cordons, shown, after, limit, max_bytes)
        return [placement_pb2.Cordon.FromString(value) for _, value in rows], last

    def _page_of(
        self,
        prefix: bytes,
        of_cluster: Callable[[str], bytes],
        shown: Shown | None,
        after: bytes,
        limit: int,
        max_bytes: int,
    ) -> tuple[list[tuple[bytes, bytes]], bytes]:
        require_key_of(prefix, after)
        within = [prefix] if shown is None else narrowed(prefix, map(of_cluster, shown.clusters))
        return rows_under(self._snapshot, within, after, limit, max_bytes)

    def cluster(self, name: str) -> Cluster | None:
        stored = clusters.stored_cluster(self._snapshot, name)
        return cluster_from_proto(stored) if stored is not None else None

    def cluster_by_id(self, cluster_id: str) -> Cluster | None:
        """The registered cluster with this cluster.id of Kafka's."""
        stored = clusters.stored_cluster_by_id(self._snapshot, cluster_id)
        return cluster_from_proto(stored) if stored is not None else None

    def collection(self) -> CollectionAssignment:
        """Return who collects which broker."""
        return collection.stored_assignment(self._snapshot)

    def protection(self, cluster: str) -> Protection:
        """Return what is held to protect the cluster's disks."""
        return protection.stored_protection(self._snapshot, cluster)

    def kept_findings(self) -> list[records_pb2.KeptFindings]:
        """Return what a leader's detectors saw last, by cluster."""
        return findings.stored(self._snapshot)

    def protections(self) -> tuple[Protection, ...]:
        """Return the protections of all clusters that ever had something held."""
        return protection.stored_protections(self._snapshot)

    def cordons(self, cluster: str | None = None) -> tuple[Cordon, ...]:
        """The brokers, of a cluster or of all, that get no new replicas, and what was set there."""
        return cordons.stored_cordons(self._snapshot, cluster)

    def user_tasks(self, cluster: str | None = None) -> tuple[user_tasks_pb2.UserTask, ...]:
        """The plans that people asked for lately, of a cluster or of all, by cluster and id."""
        return user_tasks.stored_tasks(self._snapshot, cluster)

    def user_task_answer(self, cluster: str, task_id: str) -> bytes:
        """Return the answer of a user task, compressed; empty: nothing is kept."""
        return user_tasks.stored_answer(self._snapshot, cluster, task_id)

    def events(self, after: int, limit: int) -> tuple[Event, ...]:
        """The next events of tickets and throttles behind the one with this id, oldest first."""
        return events.page(self._snapshot, after, limit)

    @property
    def last_event_id(self) -> int:
        """Return the greatest id that an event of what is applied here may have."""
        return events.last_event_id(self.applied_index)

    @property
    def newest_event_id(self) -> int:
        """Return the id of the newest event that is kept; 0: none is."""
        return events.newest_id(self._snapshot)

    def calls(self) -> tuple[Call, ...]:
        """Return what calls a person now."""
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

    def ticket_page(self, wanted: TicketFilter, after: bytes, limits: PageLimits) -> TicketPage:
        """Return the newest tickets behind the position that the former page gave, b"" at first. A page may be short,
        or empty, and not the last. Raises InvalidInput for what is no position."""
        if after and not keys.is_ticket_position(after):
            raise InvalidInput("page_token is another list's: use the next_page_token of the page before")
        return ticket_order.page(self._snapshot, wanted, after, limits)

    def position_of(self, ticket: tickets_pb2.Ticket) -> bytes:
        """Return the position behind which the page after this ticket begins."""
        return ticket_order.position_of(ticket)

    def walk_tickets(self, cluster: str = "", *, kind: str = "") -> Iterator[Ticket]:
        """Yield the tickets of a cluster and a kind, newest first, as whoever asks goes on: read by pages."""
        wanted, after = TicketFilter((cluster,) if cluster else (), kind), b""
        while True:
            page = self.ticket_page(wanted, after, _WALK)
            yield from map(ticket_from_proto, page.messages)
            if not page.after:
                return
            after = page.after

    def recent_tickets(self, since_ms: int, by: tuple[str, Agent] | None = None) -> tuple[Ticket, ...]:
        """Return the tickets that are not over, or ended at that time, since the epoch, or later, newest first. They
        are those of one of Guardian's own actors in a cluster, if these are given.
        """
        agent = None if by is None else (by[0], agent_of(by[1]))
        ended = map(ticket_from_proto, ticket_order.ended_since(self._snapshot, since_ms, agent))
        open_ones = self.open_tickets(None if by is None else by[0])
        return tuple(
            sorted((*(each for each in open_ones if by is None or each.author is by[1]), *ended), key=_newest_first)
        )

    def ticket_counts(self, cluster: str | None = None) -> Mapping[str, Counter[TicketState]]:
        """Return how many tickets are in each state, by cluster: of one, or of all that have some."""
        return ticket_index.counts(self._snapshot, cluster)

    def open_tickets(
        self, cluster: str | None = None, states: Collection[TicketState] | None = None
    ) -> tuple[Ticket, ...]:
        """Return the tickets of a cluster, or of all, that are not over, newest first; those in some states (None: in
        any). There may be any number of drafts, and they are read only where they are asked for."""
        return tuple(sorted(tickets.open_tickets(self._snapshot, cluster, states), key=_newest_first))

    def driven_tickets(self, cluster: str | None = None) -> tuple[Ticket, ...]:
        """Return the tickets of a cluster, or of all, that the executor has work on, oldest first."""
        return tuple(reversed(self.open_tickets(cluster, DRIVEN_STATES)))

    def execution(self, ticket_id: str) -> Execution | None:
        return tickets.stored_execution(self._snapshot, ticket_id)

    def execution_revision(self, ticket_id: str) -> int:
        """Return how often the ticket's execution was saved; 0: not yet."""
        return tickets.execution_revision(self._snapshot, ticket_id)

    def plan(self, plan_hash: str) -> Plan | None:
        """The plan; None also while parts of it are missing."""
        serialized = plans.serialized_plan(self._snapshot, plan_hash)
        return plan_from_proto(tickets_pb2.Plan.FromString(serialized)) if serialized is not None else None

    def has_plan(self, plan_hash: str) -> bool:
        """Return whether all of the plan is stored."""
        return plans.is_complete(self._snapshot, plan_hash)

    def federation_page(
        self,
        table: int,
        cluster: str,
        name: str,
        after: bytes,
        limit: int,
        max_bytes: int,
        shown: Shown | None = None,
    ) -> tuple[list[federation_pb2.FederationEntry], bytes]:
        """Return at most `limit` of the entries that are shown (None: all are) and, beyond the first, `max_bytes`, by
        key: of a table, of one cluster, or one only.

        `after` is the key that the former page gave (b"" at first); the second result is this page's, b"" when that was
        all. Raises InvalidInput.
        """
        prefix = federation.prefix_of(table, cluster, name)
        require_key_of(prefix, after)
        return federation.page(self._snapshot, prefix, after, limit, max_bytes, shown)

    def machines_of(self, cluster: str) -> list[federation_pb2.FederationEntry]:
        """Return the machines that are in the cluster, by host, without reading the others."""
        hosts = referrers_behind(self._snapshot, [keys.cluster(cluster)], keys.Table.MACHINE.prefix, b"")
        found = self._snapshot.get_many(list(hosts))
        return [federation_pb2.FederationEntry.FromString(value) for value in found if value is not None]

    def has_topic_of_tenant(self, tenant: str, clusters: Sequence[str]) -> bool:
        """Return whether a topic on one of the clusters, which ascend by name, is the tenant's."""
        return federation.is_named_by_topic_of(self._snapshot, keys.tenant(tenant), clusters)

    def has_topic_of_policy(self, idc_policy: str, clusters: Sequence[str]) -> bool:
        """Return whether a topic on one of the clusters, which ascend by name, has the IDC policy."""
        return federation.is_named_by_topic_of(self._snapshot, keys.idc_policy(idc_policy), clusters)

    def document(self, name: str) -> dict[str, Any] | None:
        """Return the settings of a stored document; None: none of that name is stored."""
        stored = federation.stored_document(self._snapshot, name)
        return stored.table if stored is not None else None

    def document_revision(self, name: str) -> int:
        """Return the index of the document's last change; 0: none of that name is stored."""
        return federation.document_revision(self._snapshot, name)

    def is_session_ended(self, cookie_hash: bytes, until_ms: int) -> bool:
        """Return whether the console's session, which is good until `until_ms`, was signed out."""
        return ended_sessions.is_ended(self._snapshot, cookie_hash, until_ms)

    def check_change(self, request: federation_pb2.ChangeFederationRequest) -> list[int]:
        """The revisions that a dry run answers. Raises what the change itself would be refused with."""
        dry = federation_pb2.ChangeFederationRequest(changes=request.changes, dry_run=True)
        _, reply = federation.handle_change(dry, self._snapshot, Proposal(self.applied_index + 1, 0))
        return list(reply.federation.revisions)

    def audit_page(
        self, from_ms: int, until_ms: int, actor: str, after: bytes, limit: int
    ) -> tuple[list[federation_pb2.AuditRecord], bytes]:
        """Return at most `limit` records, newest first; `until_ms` 0: no end. `after` and the second result as in
        `federation_page`; a page of one actor's may be empty and not the last. Raises InvalidInput.
        """
        require_key_of(keys.Table.AUDIT.prefix, after)
        return audit.page(self._snapshot, from_ms, until_ms, actor, after, limit)

    def highest_id(self, cluster_id: str, kind: int) -> int:
        """The highest number that was allocated to the cluster; 0: none. Raises InvalidInput."""
        return ids.highest(self._snapshot, cluster_id, kind)

    def session(self, session_id: int) -> Session | None:
        """The session, or None when it is not open."""
        return sessions.stored_session(self._snapshot, session_id)

    def sessions(self) -> int:
        """Return how many sessions are open."""
        return sessions.stored_totals(self._snapshot).sessions


@dataclass(frozen=True, slots=True)
class Look:
    """What is stored, at one moment that is at most `staleness_s` ago; 0: the look is linearizable."""

    views: Views
    staleness_s: float


def _newest_first(ticket: Ticket | tickets_pb2.Ticket) -> tuple[int, str]:
    return -ticket.created_at_ms, ticket.id
