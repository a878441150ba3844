"""What pages look at, through the member's own API and its metrics lake, kept for a few seconds.

What the API gives is kept by person: each sees what permissions leave him. What the lake tells knows no persons, so a
cluster is asked about only by who may see it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from fastapi import Request

from guardian.activity.wire import tiered_bytes
from guardian.client import GuardianClient
from guardian.console.copying import Copies, copies_by_broker
from guardian.errors import GuardianError, NotFound
from guardian.model.cordon import Cordon
from guardian.model.federation import Entry, Exclusion, Machine, Tenant, Topic
from guardian.model.ticket import OPEN_STATES, Ticket
from guardian.model.tickets.progress import Progress
from guardian.model.topology import Cluster
from guardian.model.wire.entries import entry_from_proto
from guardian.web.keeping import Kept, Key, StillBeingRead, Value
from guardian.web.observed import ClusterSeen, TopicSeen, TopicSize
from guardian.web.parts import Person, WebParts
from protos.guardian.v1 import activity_pb2, federation_pb2, insight_pb2, protection_pb2, raft_pb2, tiering_pb2

HOUR_MS = 3_600_000
_MOST_CROSSERS = 10  # of each line
_MOST_ON_BOARD = 300  # clusters: reading the lake takes a part of a second each


class _By:
    """A person, and what is asked. One of the same name who may see something else is another person."""

    __slots__ = ("asked", "person")

    def __init__(self, person: Person, *asked: object) -> None:
        self.person = person
        self.asked: tuple[Any, ...] = asked

    def __hash__(self) -> int:
        return hash((self.person.name, self.asked))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _By) and (self.person, self.asked) == (other.person, other.asked)


class Looks:
    """Of one member; all methods raise a GuardianError where there is no answer. Thread-safe."""

    def __init__(self, web: WebParts) -> None:
        self._web = web
        self._closing: list[Callable[[], None]] = []
        short_s = web.dear_wait_s
        self._seen = self._keep(self._look_seen, 15, 120, short_s)
        self._on_board = self._keep(self._look_seen, 60, 600, short_s)
        self._sizes = self._keep(web.observed.topics, 60, 300, short_s)
        self._topic_seen = self._keep(self._look_topic, 15, 60, short_s)
        self._clusters = self._keep(self._look_clusters, 2, 2)
        self._findings = self._keep(self._asking(lambda client: client.findings), 3, 3)
        self._healing = self._keep(self._asking(lambda client: client.healing), 3, 3)
        self._open_tickets = self._keep(self._look_open_tickets, 2, 2)
        self._ticket = self._keep(self._asking(lambda client: client.ticket), 2, 2)
        self._entries = self._keep(self._look_entries, 5, 5)
        self._protection = self._keep(self._asking(lambda client: client.protection), 3, 3)
        self._durability = self._keep(self._look_durability, 20, 300)
        self._disks = self._keep(self._asking(lambda client: client.disk_health), 20, 300, short_s)
        self._cordons = self._keep(self._asking(lambda client: client.cordons), 5, 5)
        self._activity = self._keep(self._look_activity, 30, 300)
        self._settings = self._keep(self._look_settings, 10, 60)
        self._quotas = self._keep(self._asking(lambda client: client.client_quotas), 10, 60)
        self._costs = self._keep(self._look_costs, 30, 300)
        self._tiered = self._keep(self._look_tiered, 20, 300, short_s)
        self._copying = self._keep(self._look_copying, 2, 10, short_s)
        self._directory = self._keep(self._look_directory, 5, 30, short_s)
        self._members = self._keep(self._look_members, 1, 1)
        self._link_use = self._keep(self._look_link_use, 30, 300)

    def close(self) -> None:
        for close in self._closing:
            close()

    def _keep(
        self, look: Callable[[Key], Value], fresh_s: float, stale_s: float, patience_s: float = 10.0
    ) -> Kept[Key, Value]:
        kept = Kept(look, fresh_s=fresh_s, stale_s=stale_s, patience_s=patience_s)
        self._closing.append(kept.close)
        return kept

    def _asking(self, call: Callable[[GuardianClient], Callable[..., Value]]) -> Callable[[_By], Value]:
        """Return what makes the call in the person's name."""
        return lambda key: call(self._client(key))(*key.asked)

    def person(self, request: Request) -> Person:
        """Return who asks. Raises NotSignedIn."""
        return self._web.user_of(request)

    def clusters(self, request: Request) -> tuple[Cluster, ...]:
        """Return the clusters that the person may see, by name."""
        person = self._web.user_of(request)
        return tuple(each for each in self._clusters.of(_By(person)) if person.sees(each.name))

    def cluster(self, request: Request, name: str) -> Cluster:
        """Raises NotFound, also for one that the person may not see: it is not even said that it exists."""
        found = next((each for each in self.clusters(request) if each.name == name), None)
        if found is None:
            raise NotFound(f"cluster is {name!r}, which is not registered: see the federation's page")
        return found

    def findings(self, request: Request, cluster: str = "") -> insight_pb2.FindingsReport:
        return self._findings.of(_By(self._web.user_of(request), cluster))

    def healing(self, request: Request, cluster: str = "") -> insight_pb2.HealingReport:
        return self._healing.of(_By(self._web.user_of(request), cluster))

    def open_tickets(self, request: Request, cluster: str = "") -> tuple[tuple[Ticket, Progress | None], ...]:
        """Those that are not over, newest first."""
        person = self._web.user_of(request)
        return tuple(each for each in self._open_tickets.of(_By(person, cluster)) if person.sees(each[0].cluster))

    def tickets_like(self, request: Request, text: str) -> tuple[Ticket, ...]:
        """The ticket of that id, and open ones whose ids begin with it."""
        person = self._web.user_of(request)
        found = {each.id: each for each, _ in self.open_tickets(request) if each.id.startswith(text)}
        with suppress(GuardianError):  # there is none of that id, or none that he may see
            found[text] = self._ticket.of(_By(person, text))[0]
        return tuple(each for each in found.values() if person.sees(each.cluster))

    def tenants(self, request: Request) -> tuple[Tenant, ...]:
        return tuple(each for each in self._table(request, federation_pb2.TENANTS) if isinstance(each, Tenant))

    def machines(self, request: Request) -> tuple[Machine, ...]:
        return tuple(each for each in self._table(request, federation_pb2.MACHINES) if isinstance(each, Machine))

    def directory(self, request: Request, cluster: str) -> tuple[Topic, ...]:
        """The topic directory of a cluster."""
        self.cluster(request, cluster)
        entries = self._table(request, federation_pb2.TOPICS, cluster)
        return tuple(each for each in entries if isinstance(each, Topic))

    def topics_by_tenant(self, request: Request) -> Mapping[tuple[str, str], tuple[Topic, ...]]:
        """The whole directory, by tenant (empty: of none) and cluster."""
        person = self._web.user_of(request)
        found = self._directory.of(_By(person))
        return {(tenant, cluster): topics for (tenant, cluster), topics in found.items() if person.sees(cluster)}

    def exclusions(self, request: Request, cluster: str) -> tuple[Exclusion, ...]:
        entries = self._table(request, federation_pb2.EXCLUSIONS, cluster)
        return tuple(each for each in entries if isinstance(each, Exclusion))

    def protection(self, request: Request, cluster: str) -> protection_pb2.ProtectionReport:
        return self._protection.of(_By(self._web.user_of(request), cluster))

    def durability(self, request: Request, cluster: str, topic: str = "") -> insight_pb2.DurabilityReport:
        """Asks Kafka."""
        return self._durability.of(_By(self._web.user_of(request), cluster, topic))

    def durability_soon(self, request: Request, cluster: str) -> insight_pb2.DurabilityReport:
        """Read durability as `durability` does, waited for no longer than what is read from the lake."""
        return self._durability.of(_By(self._web.user_of(request), cluster, ""), self._web.dear_wait_s)

    def disk_health(self, request: Request, cluster: str) -> insight_pb2.DiskHealthReport:
        return self._disks.of(_By(self._web.user_of(request), cluster))

    def cordons(self, request: Request, cluster: str) -> tuple[Cordon, ...]:
        return self._cordons.of(_By(self._web.user_of(request), cluster))

    def activity(
        self, request: Request, cluster: str, *, topic: str = "", broker: int | None = None
    ) -> activity_pb2.ListActivityReply:
        """Return the activity of the last hour: who used a topic, or what a broker did."""
        return self._activity.of(_By(self._web.user_of(request), cluster, topic, broker))

    def settings(self, request: Request, cluster: str, topic: str) -> insight_pb2.DescribeTopicsReply:
        """Asks Kafka."""
        return self._settings.of(_By(self._web.user_of(request), cluster, topic))

    def quotas(self, request: Request, cluster: str) -> insight_pb2.QuotasReport:
        """Asks Kafka."""
        return self._quotas.of(_By(self._web.user_of(request), cluster))

    def link_use(self, request: Request, cluster: str = "") -> insight_pb2.LinkUseReport:
        """Return what crossed lines between IDCs in the last quarter of an hour, and by whom: of a cluster, or of all
        that the person may see."""
        return self._link_use.of(_By(self._web.user_of(request), cluster))

    def costs(
        self, request: Request, cluster: Cluster
    ) -> tuple[activity_pb2.ListTopicUseReply, dict[str, int] | None, int]:
        """Return what topics moved in the last day and hold now; what of them is tiered, None: not known; the day's
        ms.
        """
        return self._costs.of(_By(self._web.user_of(request), cluster.name, cluster.cluster_id))

    def tiered(self, request: Request, cluster: Cluster, topic: str) -> tuple[int, int, int] | None:
        """Partitions, live segments and their bytes; zeros: nothing of the topic is tiered. None: that is not known, as
        no broker has told of a segment, or of some nobody knows whose they are."""
        known = self._tiered.of(_By(self._web.user_of(request), cluster.cluster_id))
        return known.get(topic, None if not known or "" in known else (0, 0, 0))

    def members(self, request: Request) -> Mapping[str, raft_pb2.RaftStatus | None]:
        """Return the members by endpoint; None: it does not answer."""
        return self._members.of(_By(self._web.user_of(request)))

    def seen(self, request: Request, cluster: str, span_ms: int = HOUR_MS) -> ClusterSeen:
        self.cluster(request, cluster)
        return self._seen.of((cluster, span_ms))

    def topic_sizes(self, request: Request, cluster: str) -> tuple[TopicSize, ...]:
        self.cluster(request, cluster)
        return self._sizes.of(cluster)

    def seen_everywhere(self, request: Request) -> Mapping[str, ClusterSeen | None]:
        """The last hour by cluster, up to a minute old; None: still being read, or not readable. All of them together
        are waited for no longer than one is."""
        until = time.monotonic() + self._web.dear_wait_s
        found: dict[str, ClusterSeen | None] = {}
        for cluster in self.clusters(request)[:_MOST_ON_BOARD]:
            try:
                found[cluster.name] = self._on_board.of((cluster.name, HOUR_MS), max(0.0, until - time.monotonic()))
            except GuardianError:
                found[cluster.name] = None
        return found

    def topics_everywhere(self, request: Request) -> Mapping[str, tuple[TopicSize, ...] | None]:
        """Return the topics by cluster; None: still being read. All of them together are waited for no longer than one
        is.
        """
        until = time.monotonic() + self._web.dear_wait_s
        found: dict[str, tuple[TopicSize, ...] | None] = {}
        for cluster in self.clusters(request):
            try:
                found[cluster.name] = self._sizes.of(cluster.name, max(0.0, until - time.monotonic()))
            except StillBeingRead:
                found[cluster.name] = None
        return found

    def copying(self, request: Request, cluster: str) -> Mapping[int, Copies]:
        """Return by broker what tickets that run copy."""
        self.cluster(request, cluster)
        return self._copying.of(_By(self._web.user_of(request), cluster))

    def topic_seen(self, request: Request, cluster: str, topic: str) -> TopicSeen:
        self.cluster(request, cluster)
        return self._topic_seen.of((cluster, topic))

    def _table(self, request: Request, table: federation_pb2.FederationTable, cluster: str = "") -> tuple[Entry, ...]:
        return self._entries.of(_By(self._web.user_of(request), table, cluster))

    def _client(self, key: _By) -> GuardianClient:
        return self._web.client_for(key.person)

    def _look_open_tickets(self, key: _By) -> tuple[tuple[Ticket, Progress | None], ...]:
        return tuple(self._client(key).walk_tickets(key.asked[0] if key.asked else "", OPEN_STATES))

    def _look_seen(self, key: tuple[str, int]) -> ClusterSeen:
        return self._web.observed.cluster(*key)

    def _look_topic(self, key: tuple[str, str]) -> TopicSeen:
        return self._web.observed.topic(*key, HOUR_MS)

    def _look_clusters(self, key: _By) -> tuple[Cluster, ...]:
        return tuple(sorted(self._client(key).list_clusters(), key=lambda each: each.name))

    def _look_entries(self, key: _By) -> tuple[Entry, ...]:
        return tuple(map(entry_from_proto, self._client(key).federation(*key.asked)))

    def _look_directory(self, key: _By) -> dict[tuple[str, str], tuple[Topic, ...]]:
        found: defaultdict[tuple[str, str], list[Topic]] = defaultdict(list)
        for entry in map(entry_from_proto, self._client(key).federation(federation_pb2.TOPICS)):
            if isinstance(entry, Topic):
                found[entry.tenant, entry.cluster].append(entry)
        return {where: tuple(topics) for where, topics in found.items()}

    def _look_copying(self, key: _By) -> dict[int, Copies]:
        tickets = [ticket for ticket, _ in self._open_tickets.of(key) if ticket.state.is_driven]
        seen = [self._ticket.of(_By(key.person, ticket.id)) for ticket in tickets]
        return copies_by_broker((ticket, execution) for ticket, execution in seen if execution is not None)

    def _look_durability(self, key: _By) -> insight_pb2.DurabilityReport:
        cluster, topic = key.asked
        return self._client(key).durability(cluster, [topic] if topic else ())

    def _look_activity(self, key: _By) -> activity_pb2.ListActivityReply:
        cluster, topic, broker = key.asked
        until_ms = self._web.now_ms() + 1
        since_ms = max(0, until_ms - HOUR_MS)
        if broker is None:
            return self._client(key).topic_activity(cluster, topic, since_ms, until_ms, 50)
        return self._client(key).broker_activity(cluster, broker, since_ms, until_ms, 50)

    def _look_link_use(self, key: _By) -> insight_pb2.LinkUseReport:
        until_ms = self._web.now_ms() + 1
        clusters = [each for each in key.asked if each]
        return self._client(key).link_use(max(0, until_ms - HOUR_MS // 4), until_ms, clusters, _MOST_CROSSERS)

    def _look_settings(self, key: _By) -> insight_pb2.DescribeTopicsReply:
        cluster, topic = key.asked
        return self._client(key).described_topics(cluster, [topic], with_settings=True)

    def _look_costs(self, key: _By) -> tuple[activity_pb2.ListTopicUseReply, dict[str, int] | None, int]:
        cluster, cluster_id = key.asked
        until_ms = self._web.now_ms() + 1
        day_ms = min(until_ms, 24 * HOUR_MS)
        client = self._client(key)
        use = client.topic_use(cluster, until_ms - day_ms, until_ms)
        try:
            return use, tiered_bytes(client.list_partitions(cluster_id)), day_ms
        except GuardianError:
            return use, None, day_ms

    def _look_tiered(self, key: _By) -> dict[str, tuple[int, int, int]]:
        found: dict[str, tuple[int, int, int]] = {}
        for summary in self._client(key).list_partitions(*key.asked):
            if summary.deleted and not _topic_of(summary):
                continue
            partitions, segments, size = found.setdefault(_topic_of(summary), (0, 0, 0))
            if summary.deleted:
                continue
            found[_topic_of(summary)] = (
                partitions + 1,
                segments + summary.live_segments,
                size + summary.live_bytes,
            )
        return found

    def _look_members(self, key: _By) -> dict[str, raft_pb2.RaftStatus | None]:
        """Asks all that are known of, at the same time: one that hangs must not hold up the others."""
        client = self._client(key)

        def status(endpoint: str) -> raft_pb2.RaftStatus | None:
            try:
                return client.raft_status(endpoint, timeout_s=1.5)
            except GuardianError:
                return None

        seen: dict[str, raft_pb2.RaftStatus | None] = {}
        to_ask = set(client.endpoints)
        with ThreadPoolExecutor(8, thread_name_prefix="web-members") as pool:
            while to_ask:
                asked = sorted(to_ask)
                seen.update(zip(asked, pool.map(status, asked), strict=True))
                told = {member.endpoint for each in seen.values() if each for member in each.members if member.endpoint}
                to_ask = told - set(seen)
        return _one_each(seen)


def _one_each(seen: dict[str, raft_pb2.RaftStatus | None]) -> dict[str, raft_pb2.RaftStatus | None]:
    """A member may be known by two addresses: the one that it tells of itself counts."""
    told = {member.endpoint for each in seen.values() if each for member in each.members if member.endpoint}
    names = {each.name for endpoint, each in seen.items() if each and endpoint in told}
    return {
        endpoint: each
        for endpoint, each in sorted(seen.items())
        if endpoint in told or not told or (each is not None and each.name not in names)
    }


def _topic_of(summary: tiering_pb2.PartitionSummary) -> str:
    return summary.claim.topic if summary.HasField("claim") else ""
