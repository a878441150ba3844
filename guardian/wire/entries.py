"""The federation's entries: protobuf <-> model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.links import LinkSettings
from guardian.model.topology import Cluster
from guardian.wire.fields import filled, read
from protos.guardian.v1 import federation_pb2 as pb

DIRECTORY_TABLES = (pb.MACHINES, pb.TENANTS, pb.TOPICS, pb.IDC_POLICIES, pb.EXCLUSIONS)


_NOUNS: Mapping[str, type[Entry]] = {
    "machine": Machine,
    "tenant": Tenant,
    "topic": Topic,
    "idc_policy": IdcPolicy,
    "exclusion": Exclusion,
}
_FIELDS = {noun: field for field, noun in _NOUNS.items()}


def entry_to_proto(entry: Entry, revision: int = 0) -> pb.FederationEntry:
    message = pb.FederationEntry(revision=revision)
    filled(getattr(message, _FIELDS[type(entry)]), entry)
    return message


def entry_from_proto(message: pb.FederationEntry) -> Entry:
    """Without its revision. Raises InvalidInput when a field is wrong, or the entry is of no known kind."""
    field = message.WhichOneof("entry")
    if field is None:
        raise InvalidInput("the entry is empty: give a machine, tenant, topic, idc_policy or exclusion")
    return read(_NOUNS[field], getattr(message, field))


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
