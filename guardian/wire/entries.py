"""The federation's entries: protobuf <-> model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.federation import Entry, Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.links import LinkSettings
from guardian.model.topology import Cluster
from protos.guardian.v1 import federation_pb2 as pb

DIRECTORY_TABLES = (pb.MACHINES, pb.TENANTS, pb.TOPICS, pb.IDC_POLICIES, pb.EXCLUSIONS)


def entry_to_proto(entry: Entry, revision: int = 0) -> pb.FederationEntry:
    match entry:
        case Machine():
            return pb.FederationEntry(machine=_machine_to_proto(entry), revision=revision)
        case Tenant():
            return pb.FederationEntry(tenant=_tenant_to_proto(entry), revision=revision)
        case Topic():
            return pb.FederationEntry(topic=_topic_to_proto(entry), revision=revision)
        case IdcPolicy():
            return pb.FederationEntry(idc_policy=_idc_policy_to_proto(entry), revision=revision)
        case Exclusion():
            return pb.FederationEntry(exclusion=_exclusion_to_proto(entry), revision=revision)


def entry_from_proto(message: pb.FederationEntry) -> Entry:
    """Without its revision. Raises InvalidInput when a field is wrong, or the entry is of no known kind."""
    match message.WhichOneof("entry"):
        case "machine":
            return _machine_from_proto(message.machine)
        case "tenant":
            return _tenant_from_proto(message.tenant)
        case "topic":
            return _topic_from_proto(message.topic)
        case "idc_policy":
            return _idc_policy_from_proto(message.idc_policy)
        case "exclusion":
            return _exclusion_from_proto(message.exclusion)
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


def _machine_to_proto(machine: Machine) -> pb.Machine:
    return pb.Machine(
        host=machine.host,
        idc=machine.idc,
        rack=machine.rack,
        disk_bytes=machine.disk_bytes,
        disks=machine.disks,
        nic_bytes_per_s=machine.nic_bytes_per_s,
        cores=machine.cores,
        cluster=machine.cluster,
        broker_id=machine.broker_id,
        label=machine.label,
    )


def _machine_from_proto(message: pb.Machine) -> Machine:
    return Machine(
        host=message.host,
        idc=message.idc,
        rack=message.rack,
        disk_bytes=message.disk_bytes,
        disks=message.disks,
        nic_bytes_per_s=message.nic_bytes_per_s,
        cores=message.cores,
        cluster=message.cluster,
        broker_id=message.broker_id,
        label=message.label,
    )


def _tenant_to_proto(tenant: Tenant) -> pb.Tenant:
    return pb.Tenant(name=tenant.name, owner=tenant.owner, labels=list(tenant.labels), description=tenant.description)


def _tenant_from_proto(message: pb.Tenant) -> Tenant:
    return Tenant(name=message.name, owner=message.owner, labels=tuple(message.labels), description=message.description)


def _topic_to_proto(topic: Topic) -> pb.Topic:
    return pb.Topic(
        cluster=topic.cluster,
        name=topic.name,
        topic_id=topic.topic_id,
        owner=topic.owner,
        tenant=topic.tenant,
        label=topic.label,
        idc_policy=topic.idc_policy,
        expected_bytes_in_per_s=topic.expected_bytes_in_per_s,
        expected_bytes_out_per_s=topic.expected_bytes_out_per_s,
    )


def _topic_from_proto(message: pb.Topic) -> Topic:
    return Topic(
        cluster=message.cluster,
        name=message.name,
        topic_id=message.topic_id,
        owner=message.owner,
        tenant=message.tenant,
        label=message.label,
        idc_policy=message.idc_policy,
        expected_bytes_in_per_s=message.expected_bytes_in_per_s,
        expected_bytes_out_per_s=message.expected_bytes_out_per_s,
    )


def _idc_policy_to_proto(policy: IdcPolicy) -> pb.IdcPolicy:
    return pb.IdcPolicy(
        name=policy.name, replicas=dict(policy.replicas), preferred_leader_idc=policy.preferred_leader_idc
    )


def _idc_policy_from_proto(message: pb.IdcPolicy) -> IdcPolicy:
    return IdcPolicy(
        name=message.name,
        replicas=tuple(sorted(message.replicas.items())),
        preferred_leader_idc=message.preferred_leader_idc,
    )


def _exclusion_to_proto(exclusion: Exclusion) -> pb.Exclusion:
    return pb.Exclusion(
        cluster=exclusion.cluster,
        broker_id=exclusion.broker_id,
        who=exclusion.who,
        why=exclusion.why,
        until_ms=exclusion.until_ms,
        by_ticket=exclusion.by_ticket,
    )


def _exclusion_from_proto(message: pb.Exclusion) -> Exclusion:
    return Exclusion(
        cluster=message.cluster,
        broker_id=message.broker_id,
        who=message.who,
        why=message.why,
        until_ms=message.until_ms,
        by_ticket=message.by_ticket,
    )
