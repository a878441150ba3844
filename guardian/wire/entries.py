"""The federation's entries: protobuf <-> model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.links import LinkSettings
from guardian.model.topology import Cluster
from guardian.wire.fields import filled, read
from protos.guardian.v1 import federation_pb2 as pb

DIRECTORY_TABLES = (pb.MACHINES, pb.TENANTS, pb.TOPICS, pb.IDC_POLICIES, pb.EXCLUSIONS)


def entry_to_proto(entry: Entry, revision: int = 0) -> pb.FederationEntry:
    match entry:
        case Machine():
            return pb.FederationEntry(machine=filled(pb.Machine(), entry), revision=revision)
        case Tenant():
            return pb.FederationEntry(tenant=filled(pb.Tenant(), entry), revision=revision)
        case Topic():
            return pb.FederationEntry(topic=filled(pb.Topic(), entry), revision=revision)
        case IdcPolicy():
            return pb.FederationEntry(idc_policy=filled(pb.IdcPolicy(), entry), revision=revision)
        case Exclusion():
            return pb.FederationEntry(exclusion=filled(pb.Exclusion(), entry), revision=revision)


def entry_from_proto(message: pb.FederationEntry) -> Entry:
    """Without its revision. Raises InvalidInput when a field is wrong, or the entry is of no known kind."""
    match message.WhichOneof("entry"):
        case "machine":
            return read(Machine, message.machine)
        case "tenant":
            return read(Tenant, message.tenant)
        case "topic":
            return read(Topic, message.topic)
        case "idc_policy":
            return read(IdcPolicy, message.idc_policy)
        case "exclusion":
            return read(Exclusion, message.exclusion)
    raise InvalidInput("the entry is empty: give a machine, tenant, topic, idc_policy or exclusion")


def directory_of_entries(
    clusters: Sequence[Cluster], messages: Iterable[pb.FederationEntry], links: LinkSettings
) -> Directory:
    """All that people have told; `messages` are those of DIRECTORY_TABLES. Raises InvalidInput as above."""
    entries = [entry_from_proto(message) for message in messages]
    return Directory(
        clusters=tuple(clusters),
        machines=tuple(entry for entry in entries if isinstance(entry, Machine)),
        tenants=tuple(entry for entry in entries if isinstance(entry, Tenant)),
        topics=tuple(entry for entry in entries if isinstance(entry, Topic)),
        policies=tuple(entry for entry in entries if isinstance(entry, IdcPolicy)),
        exclusions=tuple(entry for entry in entries if isinstance(entry, Exclusion)),
        links=links,
    )
