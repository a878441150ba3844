"""The federation's entries: protobuf <-> model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, SharedDocument, Tenant, Topic
from guardian.model.links import LinkSettings
from guardian.model.topology import Cluster
from guardian.model.wire.fields import ByHand, by_hand, filled, read
from protos.guardian.v1 import federation_pb2 as pb

DIRECTORY_TABLES = (pb.MACHINES, pb.TENANTS, pb.TOPICS, pb.IDC_POLICIES, pb.EXCLUSIONS)


_NOUNS: Mapping[str, type[Entry]] = {
    "machine": Machine,
    "tenant": Tenant,
    "topic": Topic,
    "idc_policy": IdcPolicy,
    "exclusion": Exclusion,
    "document": SharedDocument,
}
_FIELDS = {noun: field for field, noun in _NOUNS.items()}
# Members of all versions must store the same bytes: 0 was absent before the field could tell that it was left out.
by_hand(
    Machine,
    broker_id=ByHand(
        lambda message, broker_id: setattr(message, "broker_id", broker_id) if broker_id else None,
        lambda message: message.broker_id,
    ),
)


def entry_to_proto(entry: Entry, revision: int = 0) -> pb.FederationEntry:
    message = pb.FederationEntry(revision=revision)
    filled(getattr(message, _FIELDS[type(entry)]), entry)
    return message


def asked_entry(entry: Entry) -> pb.FederationEntry:
    """Return the entry as a request has it: a machine's broker id is given, also where it is 0."""
    return with_broker_id(entry_to_proto(entry))


def with_broker_id(message: pb.FederationEntry) -> pb.FederationEntry:
    """Say the broker id of a machine, also where it is 0, which is absent in what is stored."""
    if message.HasField("machine"):
        message.machine.broker_id = message.machine.broker_id  # what is assigned is there
    return message


def require_broker_id_given(message: pb.FederationEntry) -> None:
    """Refuse a machine of a cluster that leaves out its broker: many clusters have a broker 0, which is not meant."""
    machine = message.machine
    if machine.cluster and not machine.HasField("broker_id"):
        raise InvalidInput(
            f"broker_id of machine {machine.host}: missing, though it is in a cluster (got {machine.cluster!r}); give "
            "the id of the broker on it, also where that is 0"
        )


def entry_from_proto(message: pb.FederationEntry) -> Entry:
    """Read an entry without its revision. Raises InvalidInput when a field is wrong, or the entry is of no known
    kind.
    """
    field = message.WhichOneof("entry")
    if field is None:
        raise InvalidInput("the entry is empty: give a machine, tenant, topic, idc_policy, exclusion or document")
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
