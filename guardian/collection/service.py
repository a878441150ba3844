"""Collection, wired to the group: each member's way to the assignment, and the leader's decisions on it.

Both look once a second (guardian.collection.store decodes only what has changed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from guardian.collection.rules.assigning import assign
from guardian.collection.store import KnownFederation, Registered
from guardian.errors import Conflict
from guardian.model.collection import BrokerKey, CollectionAssignment
from guardian.model.topology import Cluster
from guardian.model.wire.collection import assignment_to_proto
from guardian.replication.store.store import ReplicatedStore
from protos.guardian.v1 import records_pb2


class ReplicatedCollectionGroup:
    """guardian.collection.loop.membership.CollectionGroup over the store."""

    def __init__(self, store: ReplicatedStore, known: KnownFederation) -> None:
        self._store = store
        self._known = known

    def assignment(self) -> CollectionAssignment:
        return self._known.registered().assignment

    def staleness_s(self) -> float | None:
        return self._store.status().staleness_s

    def join(self, member: str, incarnation: str) -> None:
        join = records_pb2.JoinCollection(member=member, incarnation=incarnation)
        self._store.propose(records_pb2.Command(join_collection=join))

    def ack(self, member: str, incarnation: str, generation: int) -> None:
        ack = records_pb2.AckCollection(member=member, incarnation=incarnation, generation=generation)
        self._store.propose(records_pb2.Command(ack_collection=ack))


class CollectionAssigner:
    """What the leader does about it, once a tick."""

    def __init__(
        self, store: ReplicatedStore, known: KnownFederation, delay_s: float, now_ms: Callable[[], int]
    ) -> None:
        self._store = store
        self._known = known
        self._delay_ms = int(delay_s * 1000)
        self._now_ms = now_ms
        self._settled: tuple[Registered, Collection[str]] | None = None  # nothing was to be done about this

    def tick(self) -> list[str]:
        """Returns what was done, a sentence each. Raises GuardianError when the decision can't be committed."""
        registered, live = self._known.registered(), self._store.status().live_members
        if self._settled is not None and self._settled[0] is registered and self._settled[1] == live:
            return []
        before = registered.assignment
        after = assign(before, _reported(registered.clusters), live, self._now_ms(), self._delay_ms)
        if after is before:
            # Of a member that is gone something is to be done in time.
            is_waiting = any(seat.gone_since_ms for seat in before.seats.values())
            self._settled = None if is_waiting else (registered, live)
            return []
        command = records_pb2.Command(put_collection=records_pb2.PutCollection(assignment=assignment_to_proto(after)))
        try:
            self._store.propose(command)
        except Conflict:
            return []  # somebody joined or let go meanwhile: the next tick knows
        return _told(before, after, self._delay_ms)


def _reported(clusters: Collection[Cluster]) -> set[BrokerKey]:
    """Those that can be collected."""
    return {
        BrokerKey(cluster.name, broker.id)
        for cluster in clusters
        for broker in cluster.brokers
        if broker.reporter_endpoint
    }


def _told(before: CollectionAssignment, after: CollectionAssignment, delay_ms: int) -> list[str]:
    shares = Counter(before.owners.values())
    said = []
    for member, seat in before.seats.items():
        now = after.seats.get(member)
        if now is None:
            said.append(f"{member} has been gone for {delay_ms / 1000:g} s: its {shares[member]} brokers go to others")
        elif now.gone_since_ms and not seat.gone_since_ms:
            said.append(f"{member} is gone: its {shares[member]} brokers stay its own for {delay_ms / 1000:g} s")
    moving = sum(key not in before.moves for key in after.moves)
    return [*said, f"{moving} brokers move to members that have fewer"] if moving else said
