"""Clusters: name -> entry, and Kafka's cluster.id -> name. A name stands for one Kafka cluster, which has one name."""

from __future__ import annotations

from dataclasses import replace

from guardian.errors import Conflict, InvalidInput, NotFound
from guardian.model.ticket import TicketState
from guardian.model.wire.federation import cluster_from_proto, cluster_to_proto
from guardian.model.wire.protection import protection_from_proto
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from metastore.tables import ticket_index
from metastore.tables.overlay import first_referrer
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import federation_pb2, placement_pb2, protection_pb2, records_pb2, tickets_pb2


def handle_put(command: records_pb2.PutCluster, view: ReadView, _proposal: Proposal) -> Decision:
    """Registers a cluster, or replaces the entry of the same cluster, where it is what the proposer read."""
    cluster = cluster_from_proto(command.cluster)
    if not cluster.cluster_id:
        raise InvalidInput(f"cluster_id of cluster {cluster.name} is empty: fill in Kafka's cluster.id")
    stored = stored_cluster(view, cluster.name)
    if command.HasField("expected") and (
        stored is None or cluster_from_proto(stored) != cluster_from_proto(command.expected)
    ):
        raise Conflict(f"cluster {cluster.name} is no longer registered as it was read: look at it again")
    for other in (stored, stored_cluster_by_id(view, cluster.cluster_id)):
        if other is not None and (other.name, other.cluster_id) != (cluster.name, cluster.cluster_id):
            raise Conflict(
                f"cluster {other.name} is registered with cluster_id {other.cluster_id}, which does not fit "
                f"{cluster.name} with {cluster.cluster_id}: remove {other.name} first"
            )
    value = cluster_to_proto(cluster).SerializeToString(deterministic=True)
    records: list[Record] = [Put(keys.cluster(cluster.name), value)]
    if stored is None:
        records.append(Put(keys.cluster_by_id(cluster.cluster_id), cluster.name.encode()))
    return records, records_pb2.CommandReply()


def handle_register_reporter(
    command: federation_pb2.RegisterReporterRequest, view: ReadView, _proposal: Proposal
) -> Decision:
    """Notes what a broker's plugin says of itself; the rest of the broker stays as it is."""
    found = stored_cluster_by_id(view, command.cluster_id)
    if found is None:
        raise NotFound(f"cluster_id is {command.cluster_id!r}, which is not registered: run `guardian cluster add`")
    cluster = cluster_from_proto(found)
    if cluster.broker(command.broker_id) is None:
        raise NotFound(
            f"broker_id is {command.broker_id}, which is not registered in cluster {cluster.name}: "
            "run `guardian cluster add` again"
        )
    brokers = tuple(
        replace(broker, registered_reporter=command.reporter, metrics_url=command.metrics_url)
        if broker.id == command.broker_id
        else broker
        for broker in cluster.brokers
    )
    if brokers == cluster.brokers:
        return [], records_pb2.CommandReply()
    value = cluster_to_proto(replace(cluster, brokers=brokers)).SerializeToString(deterministic=True)
    return [Put(keys.cluster(cluster.name), value)], records_pb2.CommandReply()


def handle_drop(command: records_pb2.DropCluster, view: ReadView, _proposal: Proposal) -> Decision:
    """Forgets a cluster on which no ticket is open, in which nothing that Guardian has set is left to take back, and
    which no entry of the federation names."""
    cluster = stored_cluster(view, command.name)
    if cluster is None:
        raise _not_registered(command.name)
    referrer = first_referrer(view, keys.cluster(command.name))
    if referrer is not None:
        raise Conflict(f"cluster {command.name} is named by {referrer}: drop that first")
    for ticket_id in ticket_index.open_ids(view, command.name):
        state = TicketState(tickets_pb2.Ticket.FromString(view.get(keys.ticket(ticket_id)) or b"").state)
        raise Conflict(
            f"cluster {command.name} has ticket {ticket_id}, which is {state.name}: cancel it or wait until it is over"
        )
    _require_untouched(view, command.name)
    gone: list[Record] = [Delete(keys.cluster(command.name)), Delete(keys.cluster_by_id(cluster.cluster_id))]
    if view.get(keys.findings(command.name)) is not None:
        gone.append(Delete(keys.findings(command.name)))
    return gone, records_pb2.CommandReply()


def _require_untouched(view: ReadView, name: str) -> None:
    """Require that Guardian has set nothing in the cluster: only Guardian knows how to take that back. Raises
    Conflict.
    """
    value = view.get(keys.protection(name))
    if value is not None and not protection_from_proto(protection_pb2.ProtectionState.FromString(value)).is_idle:
        raise Conflict(
            f"cluster {name} has quotas or throttles that protect its disks: run "
            f"`guardian disk release --cluster {name}` and wait until `guardian disk queue` shows none"
        )
    cordons = view.scan(keys.cordons(name))
    if cordons:
        brokers = [str(placement_pb2.Cordon.FromString(value).broker_id) for _, value in cordons]
        raise Conflict(
            f"cluster {name} has cordons on broker {', '.join(brokers)}: lift their exclusions and wait until "
            "`guardian exclusion cordons` shows none"
        )


def stored_clusters(view: ReadView) -> list[federation_pb2.Cluster]:
    """Every cluster, by name."""
    return [federation_pb2.Cluster.FromString(value) for _, value in view.scan(keys.Table.CLUSTER.prefix)]


def stored_cluster(view: Lookup, name: str) -> federation_pb2.Cluster | None:
    """Return the cluster of that name; None: it is not registered."""
    value = view.get(keys.cluster(name))
    return federation_pb2.Cluster.FromString(value) if value is not None else None


def stored_cluster_by_id(view: Lookup, cluster_id: str) -> federation_pb2.Cluster | None:
    """Return the cluster that has this cluster.id of Kafka's, by index; None: it is not registered."""
    name = view.get(keys.cluster_by_id(cluster_id))
    return stored_cluster(view, name.decode()) if name is not None else None


def require_cluster(view: Lookup, name: str) -> None:
    """Raises NotFound unless the cluster is registered."""
    if view.get(keys.cluster(name)) is None:
        raise _not_registered(name)


def _not_registered(name: str) -> NotFound:
    return NotFound(f"cluster {name!r} is not registered: `guardian cluster list` shows those that are")
