"""What tickets read and change of the federation, in the replicated store: exclusions, what is said of brokers, labels.

Changes are compare-and-set where they could undo somebody else's. An exclusion is lifted only as the entry that was
read, and only where it is still the operation's own. A cluster's brokers and machines are changed only in the entry
that was read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from guardian.errors import Conflict
from guardian.execution.operations.leaders import GOAL
from guardian.federation.store import directory_of, exclusions_of, stored_entries
from guardian.model.actor import Agent
from guardian.model.cordon import Cordon
from guardian.model.directory import Directory
from guardian.model.effects import ConfigChange, ConfigKey
from guardian.model.execution import Subject, TaskState
from guardian.model.federation import Entry, Exclusion, Machine, Topic
from guardian.model.operation import AskKind
from guardian.model.plan import PartitionMove
from guardian.model.topology import Broker, BrokerState
from guardian.model.wire.entries import entry_from_proto, entry_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore
from metastore.tables.federation import MAX_CHANGES
from protos.guardian.v1 import federation_pb2 as pb
from protos.guardian.v1 import records_pb2

_ATTEMPTS = 5  # against reporters that register at the same time
_REMEMBERED = 20  # tickets: those before them are of other times
_LOOKED_AT = 1_000  # of all that took brokers of the cluster offline


class ReplicatedOperationStore:
    """Implements `guardian.execution.loop.operating.OperationStore`, whose reads are this member's own, as the tick has
    read behind a ReadIndex before; and `guardian.execution.loop.ports.Labels`."""

    def __init__(self, store: ReplicatedStore, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._now_ms = now_ms

    def exclusions(self, cluster: str) -> Mapping[int, Exclusion]:
        now = self._now_ms()
        found = exclusions_of(self._store.read_local(), cluster)
        return {broker: each for broker, each in found.items() if not 0 < each.until_ms <= now}

    def broker_states(self, cluster: str) -> Mapping[int, BrokerState]:
        known = self._store.read_local().cluster(cluster)
        return {broker.id: broker.state for broker in known.brokers} if known is not None else {}

    def host_of(self, cluster: str, broker: int) -> str:
        machines = directory_of(self._store.read_local(), None).of_cluster(cluster).machines
        return next((each.host for each in machines if each.cluster and each.broker_id == broker), "")

    def cordon(self, cluster: str, broker: int) -> Cordon | None:
        return next((each for each in self._store.read_local().cordons(cluster) if each.broker_id == broker), None)

    def leader_moves(self, cluster: str, brokers: Collection[int]) -> Sequence[PartitionMove]:
        views = self._store.read_local()
        newest = islice(views.walk_tickets(cluster, kind=AskKind.OFFLINE), _LOOKED_AT)
        asked = (ticket for ticket in newest if ticket.ask is not None and set(ticket.ask.brokers) & set(brokers))
        executions = [views.execution(ticket.id) for ticket in islice(asked, _REMEMBERED)]
        return [
            task.move
            for execution in executions
            if execution is not None
            for task in execution.tasks
            if task.state is TaskState.DONE and task.move.goal == GOAL
        ]

    def offline_tickets(self, cluster: str) -> Collection[str]:
        views = self._store.read_local()
        named = {each.by_ticket for each in exclusions_of(views, cluster).values() if each.by_ticket}
        found = filter(None, map(views.ticket, named))
        return {ticket.id for ticket in found if ticket.kind == AskKind.OFFLINE}

    def put_exclusions(self, exclusions: Sequence[Exclusion]) -> None:
        self._change([pb.FederationChange(put=entry_to_proto(each)) for each in exclusions])

    def lift_exclusions(self, exclusions: Sequence[Exclusion]) -> None:
        views = self._store.read()
        changes = []
        for each in exclusions:
            entries, _ = views.federation_page(pb.EXCLUSIONS, each.cluster, str(each.broker_id), b"", 1, 1 << 20)
            for entry in entries:
                if entry_from_proto(entry) == each:
                    key = pb.FederationKey(exclusion=pb.ExclusionKey(cluster=each.cluster, broker_id=each.broker_id))
                    changes.append(pb.FederationChange(drop=key, expected_revision=entry.revision))
        self._change(changes)

    def set_broker_states(self, cluster: str, states: Mapping[int, BrokerState]) -> None:
        self._put_brokers(cluster, lambda broker: replace(broker, state=states.get(broker.id, broker.state)))

    def directory(self, cluster: str) -> Directory:
        return directory_of(self._store.read(), None).of_cluster(cluster)

    def say(self, cluster: str, changes: Mapping[ConfigKey, ConfigChange]) -> None:
        """Machines first: planners ask them where a broker has no label."""
        by_name: dict[Subject, _Changes] = {subject: defaultdict(dict) for subject in Subject}
        for key, change in changes.items():
            by_name[Subject(key.resource_type)][key.resource_name][key.key] = change
        if machines := by_name[Subject.MACHINE]:
            stored = stored_entries(self._store.read(), pb.MACHINES)
            self._amend_changed(
                [(entry, entry_from_proto(entry), machines.get(entry.machine.host, {})) for entry in stored]
            )
        if topics := by_name[Subject.TOPIC]:
            stored = stored_entries(self._store.read(), pb.TOPICS, cluster)
            known = {entry.topic.name: entry for entry in stored if entry.topic.name in topics}
            self._amend_changed(
                [(old := known.get(name), _topic(cluster, name, old), of_topic) for name, of_topic in topics.items()]
            )
        if brokers := by_name[Subject.BROKER]:
            self._put_brokers(cluster, lambda broker: _changed(broker, brokers.get(str(broker.id), {})))

    def forget_broker(self, cluster: str, broker: int) -> None:
        """Its machine first: who goes on after a crash in between finds the broker still there, and asks again."""
        views = self._store.read()
        if (known := views.cluster(cluster)) is None or known.broker(broker) is None:
            return
        self._amend(
            [
                (entry, replace(machine, cluster="", broker_id=0))
                for entry in stored_entries(views, pb.MACHINES)
                if (entry.machine.cluster, entry.machine.broker_id) == (cluster, broker)
                and isinstance(machine := entry_from_proto(entry), Machine)
            ]
        )
        self._put_brokers(cluster, lambda each: None if each.id == broker else each)

    def _put_brokers(self, cluster: str, changed: Callable[[Broker], Broker | None]) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            known = self._store.read().cluster(cluster)
            if known is None:
                return
            kept = tuple(each for broker in known.brokers if (each := changed(broker)) is not None)
            if kept == known.brokers:
                return
            try:
                now = cluster_to_proto(replace(known, brokers=kept))
                self._store.put_cluster(now, expected=cluster_to_proto(known), actor=Agent.EXECUTOR)
                return
            except Conflict:
                if attempt == _ATTEMPTS:
                    raise

    def _amend_changed(
        self, entries: Iterable[tuple[pb.FederationEntry | None, Entry, Mapping[str, ConfigChange]]]
    ) -> None:
        self._amend([(old, now) for old, entry, changes in entries if (now := _changed(entry, changes)) != entry])

    def _amend(self, entries: Sequence[tuple[pb.FederationEntry | None, Entry]]) -> None:
        """Puts each in place of what was read, None: of nothing. Raises Conflict when somebody else was quicker."""
        changes = [
            pb.FederationChange(put=entry_to_proto(new), expected_revision=old.revision if old else 0)
            for old, new in entries
        ]
        for start in range(0, len(changes), MAX_CHANGES):
            self._change(changes[start : start + MAX_CHANGES])

    def _change(self, changes: list[pb.FederationChange]) -> None:
        if changes:
            request = pb.ChangeFederationRequest(changes=changes)
            self._store.propose(records_pb2.Command(change_federation=request), actor=Agent.EXECUTOR)


_Changes = dict[str, dict[str, ConfigChange]]  # by name and field
_Labelled = TypeVar("_Labelled", bound=Broker | Entry)


def _changed(entry: _Labelled, changes: Mapping[str, ConfigChange]) -> _Labelled:
    """Return the entry with those fields changed that are as expected."""
    mine: dict[str, Any] = {
        field: change.value for field, change in changes.items() if getattr(entry, field) == change.expected
    }
    return replace(entry, **mine)


def _topic(cluster: str, name: str, entry: pb.FederationEntry | None) -> Topic:
    known = entry_from_proto(entry) if entry is not None else None
    return known if isinstance(known, Topic) else Topic(cluster, name)
