"""Brokers that get no new replicas, and what was set there: a record each, changed only by whoever saw it last."""

from __future__ import annotations

from dataclasses import replace

from guardian.errors import Conflict, InvalidInput
from guardian.model.cordon import Cordon
from guardian.model.wire.cordons import cordon_from_proto, cordon_to_proto
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import ReadView
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import placement_pb2, records_pb2


def handle_put(command: placement_pb2.PutCordons, view: ReadView, _proposal: Proposal) -> Decision:
    """All of the changes or none. A cluster that was dropped may still have cordons: they are taken back."""
    if not command.cluster:
        raise InvalidInput("cluster of the cordons is empty: name the cluster")
    brokers = [cordon.broker_id for cordon in command.cordons] + [gone.broker_id for gone in command.dropped]
    if len(set(brokers)) != len(brokers):
        raise InvalidInput(f"the cordons of cluster {command.cluster} name a broker twice: {sorted(brokers)}")
    records: list[Record] = []
    for message in command.cordons:
        wanted = cordon_from_proto(message)
        if wanted.cluster != command.cluster:
            raise InvalidInput(f"cluster of the cordon is {wanted.cluster!r}: use that of the set, {command.cluster!r}")
        _require_revision(view, command.cluster, wanted.broker_id, wanted.revision)
        stored = cordon_to_proto(replace(wanted, revision=wanted.revision + 1))
        records.append(
            Put(keys.cordon(command.cluster, wanted.broker_id), stored.SerializeToString(deterministic=True))
        )
    for gone in command.dropped:
        _require_revision(view, command.cluster, gone.broker_id, gone.revision)
        records.append(Delete(keys.cordon(command.cluster, gone.broker_id)))
    return records, records_pb2.CommandReply()


def stored_cordons(view: ReadView, cluster: str | None = None) -> tuple[Cordon, ...]:
    """Those of a cluster, or of all, by cluster and broker."""
    prefix = keys.Table.CORDON.prefix if cluster is None else keys.cordons(cluster)
    return tuple(cordon_from_proto(placement_pb2.Cordon.FromString(value)) for _, value in view.scan(prefix))


def _require_revision(view: ReadView, cluster: str, broker_id: int, revision: int) -> None:
    value = view.get(keys.cordon(cluster, broker_id))
    found = placement_pb2.Cordon.FromString(value).revision if value is not None else 0
    if found != revision:
        raise Conflict(
            f"the cordon of broker {broker_id} of cluster {cluster} is at revision {found} and no longer at "
            f"{revision}: decide anew"
        )
