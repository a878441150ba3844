"""Keep what the leader's detectors see: one record a cluster, replaced whole, from which a new leader goes on."""

from __future__ import annotations

from guardian.errors import InvalidInput
from guardian.model.event import MAX_KEPT_FINDINGS
from metastore import keys
from metastore.records import Delete, Put
from metastore.store import ReadView
from metastore.tables.clusters import require_cluster
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2


def handle_put(command: records_pb2.KeptFindings, view: ReadView, _proposal: Proposal) -> Decision:
    """Replace what is kept of a cluster; without findings nothing is left."""
    if len(command.findings) > MAX_KEPT_FINDINGS:
        raise InvalidInput(f"findings: too many (got {len(command.findings)}); send up to {MAX_KEPT_FINDINGS}")
    key = keys.findings(command.cluster)
    if not command.findings:
        return ([Delete(key)] if view.get(key) is not None else []), records_pb2.CommandReply()
    if command.cluster:
        require_cluster(view, command.cluster)
    return [Put(key, command.SerializeToString(deterministic=True))], records_pb2.CommandReply()


def stored(view: ReadView) -> list[records_pb2.KeptFindings]:
    """Return what is kept, by cluster."""
    return [records_pb2.KeptFindings.FromString(value) for _, value in view.scan(keys.Table.FINDINGS.prefix)]
