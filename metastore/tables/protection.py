"""What is held to protect a cluster's disks: one record a cluster, replaced whole by whoever saw it last."""

from __future__ import annotations

from dataclasses import replace

from guardian.errors import Conflict, InvalidInput
from guardian.model.protection import Protection
from guardian.model.wire.protection import protection_from_proto, protection_to_proto
from metastore import keys
from metastore.records import Put
from metastore.store import ReadView
from metastore.tables.clusters import require_cluster
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import protection_pb2, records_pb2


def handle_put(command: records_pb2.PutProtection, view: ReadView, _proposal: Proposal) -> Decision:
    """Saves it, unless somebody else did since."""
    wanted = protection_from_proto(command.protection)
    if not wanted.cluster:
        raise InvalidInput("cluster of the protection is empty: name the cluster")
    stored = stored_protection(view, wanted.cluster)
    if stored.revision != command.expected_revision:
        raise Conflict(
            f"protection of cluster {wanted.cluster} is at revision {stored.revision} and no longer at "
            f"{command.expected_revision}: decide anew"
        )
    if stored.is_idle:
        # Of a cluster that was dropped, what is still held may be taken back, but nothing begins.
        require_cluster(view, wanted.cluster)
    message = protection_to_proto(replace(wanted, revision=stored.revision + 1))
    record = Put(keys.protection(wanted.cluster), message.SerializeToString(deterministic=True))
    return [record], records_pb2.CommandReply(protection=message)


def stored_protection(view: ReadView, cluster: str) -> Protection:
    """Return what protects the cluster's disks; nothing at revision 0 before anything was held."""
    value = view.get(keys.protection(cluster))
    if value is None:
        return Protection(cluster)
    return protection_from_proto(protection_pb2.ProtectionState.FromString(value))


def stored_protections(view: ReadView) -> tuple[Protection, ...]:
    """Return the protections of all clusters that ever had something held."""
    found = view.scan(keys.Table.PROTECTION.prefix)
    return tuple(protection_from_proto(protection_pb2.ProtectionState.FromString(value)) for _, value in found)
