"""`guardian machine|tenant|topic|idc-policy|exclusion|audit`: what Guardian knows besides clusters, and who changed it.

Several names in one command are changed together or not at all.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from guardian.cli.options import (
    ClusterOption,
    DryRunOption,
    EndpointsOption,
    OnlyClusterOption,
    Output,
    OutputOption,
    actor,
    connect,
    now_ms,
)
from guardian.cli.output_more import more_of
from guardian.cli.paging import Page, paged
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.cli.shared import made_of
from guardian.errors import InvalidInput
from guardian.federation.commands.registered import registered
from guardian.health.commands.kafka_settings import show_topic
from guardian.interop import confluent_placement
from guardian.model.federation import Entry, Exclusion, IdcPlacement, IdcPolicy, Machine, Tenant, Topic, name_of
from guardian.model.text import uuid_text
from guardian.model.units import human_bytes, parse_bytes, parse_duration_ms
from guardian.model.wire.actors import shown_actor
from guardian.model.wire.entries import asked_entry, entry_from_proto, entry_to_proto
from protos.guardian.v1 import federation_pb2 as pb

machines = typer.Typer(help="The pool of machines, free or in a cluster.", no_args_is_help=True)
tenants = typer.Typer(help="Tenants, and the broker labels that their topics may use.", no_args_is_help=True)
topics = typer.Typer(help="The topic directory: whose a topic is, and what is expected of it.", no_args_is_help=True)
idc_policies = typer.Typer(help="How many replicas live in which data centre.", no_args_is_help=True)
exclusions = typer.Typer(help="Brokers that get no new replicas.", no_args_is_help=True)
audit = typer.Typer(help="Who changed what in Guardian, and who did what on the clusters.", no_args_is_help=True)

OwnerOption = Annotated[str, typer.Option("--owner", help="The person or team that answers for it.")]
LabelOption = Annotated[str, typer.Option("--label", help="The label of the brokers where it lives; empty: any.")]

_Row = tuple[str, ...]
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Change:
    """Hold the options of commands that change entries, and how that is done: all of them, or none."""

    expect: int | None
    dry_run: bool
    endpoints: str
    output: Output

    def put(self, entries: Sequence[Entry]) -> None:
        puts = [pb.FederationChange(put=asked_entry(entry), expected_revision=self.expect) for entry in entries]
        self.make(puts, [name_of(entry) for entry in entries])

    def drop(self, dropped: dict[str, pb.FederationKey]) -> None:
        drops = [pb.FederationChange(drop=key, expected_revision=self.expect) for key in dropped.values()]
        self.make(drops, list(dropped))

    def make(self, changes: Sequence[pb.FederationChange], names: Sequence[str]) -> None:
        """Make the changes, and say what became of each entry."""
        with connect(self.endpoints) as client:
            revisions = client.change_federation(changes, dry_run=self.dry_run)
        rows = list(zip(names, changes, revisions, strict=True))
        if self.output is Output.JSON:
            print_json([{"entry": name, "revision": each, "dry_run": self.dry_run} for name, _, each in rows])
            return
        for name, change, revision in rows:
            echo(_outcome(name, change.HasField("drop"), revision, self.dry_run))


def changing(command: Callable[..., _Made]) -> Callable[..., _Made]:
    """Return the command with the options of a change, of which its first parameter is made."""
    return made_of(_change, command)


def _change(
    expect: Annotated[
        int | None,
        typer.Option("--expect", min=0, help="Change it only if it is at this revision (see list); 0: not there yet."),
    ] = None,
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> Change:
    return Change(expect, dry_run, endpoints, output)


@machines.command("list")
@paged
def list_machines(page: Page) -> None:
    """List the machines.

    Example: guardian machine list
    """
    columns = ("HOST", "IDC", "RACK", "DISKS", "DISK", "NIC/S", "CORES", "CLUSTER", "BROKER", "LABEL", "REV")

    def row(entry: pb.FederationEntry) -> _Row:
        machine = entry.machine
        return (
            machine.host,
            machine.idc or "-",
            machine.rack or "-",
            str(machine.disks),
            human_bytes(machine.disk_bytes),
            human_bytes(machine.nic_bytes_per_s),
            str(machine.cores),
            machine.cluster or "-",
            str(machine.broker_id) if machine.cluster else "-",
            machine.label or "-",
            str(entry.revision),
        )

    _list(page, pb.MACHINES, "", columns, row, ("DISKS", "DISK", "NIC/S", "CORES", "BROKER", "REV"))


@machines.command("put")
@changing
def put_machines(
    change: Change,
    hosts: Annotated[list[str], typer.Argument(help="Host names: one, or several that are alike.")],
    idc: Annotated[str, typer.Option(help="The data centre.")] = "",
    rack: Annotated[str, typer.Option(help="The rack.")] = "",
    disk: Annotated[str, typer.Option(metavar="SIZE", help="Bytes of all disks together, such as 48TB.")] = "",
    disks: Annotated[int, typer.Option(min=0, help="How many disks.")] = 0,
    nic: Annotated[str, typer.Option(metavar="RATE", help="Bytes/s of its network, such as 1.25GB.")] = "",
    cores: Annotated[int, typer.Option(min=0, help="How many CPU cores.")] = 0,
    cluster: Annotated[str, typer.Option(help="The cluster that it is in; empty: it is free.")] = "",
    broker: Annotated[
        int | None, typer.Option(min=0, help="The id of the broker on it: needed where --cluster is given.")
    ] = None,
    label: LabelOption = "",
) -> None:
    """Add machines, or replace their entries whole.

    Example: guardian machine put node-7 node-8 --idc shanghai --rack r4 --disk 48TB --disks 12 --cores 32 --dry-run
    """
    if cluster and len(hosts) > 1:
        raise InvalidInput(f"--cluster needs one host, since each has a broker id of its own: {len(hosts)} were given")
    if cluster and broker is None:
        raise InvalidInput(
            f"--broker: missing, though the machine is in a cluster (got --cluster {cluster}); give the id of the "
            "broker on it"
        )
    if broker is not None and not cluster:
        raise InvalidInput(f"--broker: without --cluster (got {broker}); name its cluster, or leave it out")
    disk_bytes, nic_bytes_per_s = _bytes("disk", disk), _bytes("nic", nic)
    entries = [
        Machine(host, idc, rack, disk_bytes, disks, nic_bytes_per_s, cores, cluster, broker or 0, label)
        for host in hosts
    ]
    change.put(entries)


@machines.command("drop")
@changing
def drop_machines(
    change: Change,
    hosts: Annotated[list[str], typer.Argument(help="Host names.")],
) -> None:
    """Forget machines.

    Example: guardian machine drop node-7 --dry-run
    """
    change.drop({f"machine {host}": pb.FederationKey(machine=host) for host in hosts})


@tenants.command("list")
@paged
def list_tenants(page: Page) -> None:
    """List the tenants.

    Example: guardian tenant list
    """

    def row(entry: pb.FederationEntry) -> _Row:
        tenant = entry.tenant
        labels = ", ".join(tenant.labels) or "any"
        return (tenant.name, tenant.owner or "-", labels, tenant.description, str(entry.revision))

    _list(page, pb.TENANTS, "", ("TENANT", "OWNER", "LABELS", "DESCRIPTION", "REV"), row, ("REV",))


@tenants.command("put")
@changing
def put_tenant(
    change: Change,
    name: Annotated[str, typer.Argument(help="The tenant's name.")],
    owner: OwnerOption = "",
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="A broker label that its topics may use; may be repeated; none: any."),
    ] = None,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
) -> None:
    """Add a tenant, or replace its entry whole.

    Example: guardian tenant put payments --owner ann --label gold --dry-run
    """
    change.put([Tenant(name, owner, tuple(label or ()), description)])


@tenants.command("drop")
@changing
def drop_tenants(
    change: Change,
    names: Annotated[list[str], typer.Argument(help="Tenants' names.")],
) -> None:
    """Forget tenants that have no topics.

    Example: guardian tenant drop payments
    """
    change.drop({f"tenant {name}": pb.FederationKey(tenant=name) for name in names})


@topics.command("list")
@paged
def list_topics(page: Page, cluster: OnlyClusterOption = "") -> None:
    """List the topics of the directory: those that somebody has put there, of all that Kafka has.

    Example: guardian topic list --cluster live
    """
    columns = ("CLUSTER", "TOPIC", "ID", "OWNER", "TENANT", "LABEL", "IDC POLICY", "IN/S", "OUT/S", "REV")

    def row(entry: pb.FederationEntry) -> _Row:
        topic = entry.topic
        return (
            topic.cluster,
            topic.name,
            uuid_text(topic.topic_id) or "-",
            topic.owner or "-",
            topic.tenant or "-",
            topic.label or "-",
            topic.idc_policy or "-",
            human_bytes(topic.expected_bytes_in_per_s),
            human_bytes(topic.expected_bytes_out_per_s),
            str(entry.revision),
        )

    if not _list(page, pb.TOPICS, cluster, columns, row, ("IN/S", "OUT/S", "REV")):
        of = f" of {cluster}" if cluster else ""
        echo(f"the directory has no topic{of}; what Kafka has: `guardian durability --cluster NAME`", err=True)


topics.command("show")(show_topic)


@topics.command("put")
@changing
def put_topics(
    change: Change,
    names: Annotated[list[str], typer.Argument(help="Topics: one, or several that are alike.")],
    cluster: ClusterOption = "",
    topic_id: Annotated[str, typer.Option("--id", help="Kafka's topic id, as kafka-topics --describe prints it.")] = "",
    owner: OwnerOption = "",
    tenant: Annotated[str, typer.Option(help="The tenant whose it is.")] = "",
    label: LabelOption = "",
    idc_policy: Annotated[str, typer.Option("--idc-policy", help="Where its replicas live.")] = "",
    expect_in: Annotated[str, typer.Option("--in", metavar="RATE", help="Expected bytes/s in, such as 20MB.")] = "",
    expect_out: Annotated[str, typer.Option("--out", metavar="RATE", help="Expected bytes/s out, such as 60MB.")] = "",
) -> None:
    """Add topics to the directory, or replace their entries whole. Nothing changes in Kafka.

    Example: guardian topic put orders --cluster live --tenant payments --label gold --in 20MB --out 60MB
    """
    bytes_in, bytes_out = _bytes("in", expect_in), _bytes("out", expect_out)
    uuid = _topic_id_bytes(topic_id)
    entries = [Topic(cluster, name, uuid, owner, tenant, label, idc_policy, bytes_in, bytes_out) for name in names]
    change.put(entries)


@topics.command("drop")
@changing
def drop_topics(
    change: Change,
    names: Annotated[list[str], typer.Argument(help="Topics.")],
    cluster: ClusterOption = "",
) -> None:
    """Take topics out of the directory. Nothing changes in Kafka.

    Example: guardian topic drop orders --cluster live
    """
    dropped = {
        f"topic {cluster}/{name}": pb.FederationKey(topic=pb.TopicKey(cluster=cluster, name=name)) for name in names
    }
    change.drop(dropped)


@idc_policies.command("list")
@paged
def list_idc_policies(page: Page) -> None:
    """List the IDC policies.

    Example: guardian idc-policy list
    """

    def row(entry: pb.FederationEntry) -> _Row:
        policy = entry.idc_policy
        of_each = (policy.replicas, *(other.replicas for other in policy.other_factors))
        replicas = " or ".join(", ".join(f"{idc}={count}" for idc, count in sorted(each.items())) for each in of_each)
        return (policy.name, replicas, policy.preferred_leader_idc or "-", str(entry.revision))

    _list(page, pb.IDC_POLICIES, "", ("IDC POLICY", "REPLICAS", "LEADERS IN", "REV"), row, ("REV",))


@idc_policies.command("put")
@changing
def put_idc_policy(
    change: Change,
    name: Annotated[str, typer.Argument(help="The policy's name.")],
    replicas: Annotated[list[str], typer.Option("--replicas", help="IDC=COUNT: how many live there; repeat it.")],
    leaders: Annotated[str, typer.Option(help="The data centre where leaders should be.")] = "",
    other_factors: Annotated[
        list[str] | None,
        typer.Option(
            "--other-factor",
            metavar="IDC=COUNT,IDC=COUNT",
            help="Where topics live whose replication factor is the sum of these; repeat it for each factor.",
            show_default="none",
        ),
    ] = None,
) -> None:
    """Add an IDC policy, or replace its entry whole.

    A migration by it asks for every replication factor that its topics have: say each that differs with --other-factor.

    Example: guardian idc-policy put two-cities --replicas shanghai=2 --replicas suzhou=1 --leaders shanghai
    Example: guardian idc-policy put all --replicas shanghai=2 --replicas suzhou=1 --other-factor shanghai=1,suzhou=1
    """
    others = tuple(map(_other_factor, other_factors or ()))
    change.put([IdcPolicy(name, tuple(map(_replicas, replicas)), leaders, others)])


@idc_policies.command("import")
@changing
def import_idc_policy(
    change: Change,
    name: Annotated[str, typer.Argument(help="The policy's name.")],
    file: Annotated[Path, typer.Argument(help="Confluent's placement constraints, the JSON of a topic.")],
    cluster: Annotated[
        str, typer.Option("--cluster", help="Its racks count as the data centres where they stand, in this cluster.")
    ] = "",
    topics_: Annotated[
        list[str] | None, typer.Option("--topic", help="A topic of --cluster that gets the policy; may be repeated.")
    ] = None,
) -> None:
    """Make an IDC policy of Confluent's placement constraints, and give it to topics; says what could not be kept.

    Nothing moves: guardian plan migrate-idc --policy NAME does that.

    Example: guardian idc-policy import two-cities placement.json --cluster live --topic orders --dry-run
    """
    if topics_ and not cluster:
        raise InvalidInput(f"--topic is {topics_[0]!r} and --cluster is missing: say whose topic it is")
    with connect(change.endpoints) as client:
        imported = confluent_placement.read(
            file, name, registered(client.list_clusters(), cluster) if cluster else None
        )
        changes = [pb.FederationChange(put=entry_to_proto(imported.policy), expected_revision=change.expect)]
        for topic in dict.fromkeys(topics_ or ()):
            (known,) = [*client.federation(pb.TOPICS, cluster=cluster, name=topic)] or [pb.FederationEntry()]
            changes.append(_with_policy(known, cluster, topic, name))
    for remark in imported.remarks:
        echo(f"Note: {remark}", err=True)
    change.make(changes, [name_of(entry_from_proto(change.put)) for change in changes])


def _with_policy(known: pb.FederationEntry, cluster: str, topic: str, policy: str) -> pb.FederationChange:
    """The topic's entry with this policy, made only if nobody changes it meanwhile."""
    put = pb.FederationEntry()
    put.CopyFrom(known if known.HasField("topic") else entry_to_proto(Topic(cluster, topic)))
    put.topic.idc_policy = policy
    return pb.FederationChange(put=put, expected_revision=known.revision)


@idc_policies.command("drop")
@changing
def drop_idc_policies(
    change: Change,
    names: Annotated[list[str], typer.Argument(help="Policies' names.")],
) -> None:
    """Forget IDC policies that no topic has.

    Example: guardian idc-policy drop two-cities
    """
    dropped = {f"IDC policy {name}": pb.FederationKey(idc_policy=name) for name in names}
    change.drop(dropped)


@exclusions.command("list")
@paged
def list_exclusions(page: Page, cluster: OnlyClusterOption = "") -> None:
    """List the excluded brokers.

    Example: guardian exclusion list --cluster live
    """

    def row(entry: pb.FederationEntry) -> _Row:
        exclusion = entry.exclusion
        until = human_time(exclusion.until_ms) if exclusion.until_ms else "lifted"
        shown = (exclusion.who, exclusion.why, exclusion.by_ticket or "-", until, str(entry.revision))
        return (exclusion.cluster, str(exclusion.broker_id), *shown)

    columns = ("CLUSTER", "BROKER", "WHO", "WHY", "TICKET", "UNTIL", "REV")
    _list(page, pb.EXCLUSIONS, cluster, columns, row, ("BROKER", "REV"))


@exclusions.command("add")
@changing
def add_exclusions(
    change: Change,
    brokers: Annotated[list[int], typer.Argument(min=0, help="Broker ids.")],
    why: Annotated[str, typer.Option("--reason", help="Why, for whoever wants to lift it.")],
    cluster: ClusterOption = "",
    who: Annotated[
        str, typer.Option("--owner", help="The person or team that answers for it.", show_default="you")
    ] = "",
    lasting: Annotated[str, typer.Option("--for", help="How long, such as 2h; else until it is lifted.")] = "",
) -> None:
    """Exclude brokers from getting new replicas: all of them, or none.

    Example: guardian exclusion add 3 4 --cluster live --reason "fan broken" --for 2h
    """
    until_ms = now_ms() + parse_duration_ms("for", lasting) if lasting else 0
    entries = [Exclusion(cluster, broker, who or actor(), why, until_ms) for broker in brokers]
    change.put(entries)


@exclusions.command("lift")
@changing
def lift_exclusions(
    change: Change,
    brokers: Annotated[list[int], typer.Argument(min=0, help="Broker ids.")],
    cluster: ClusterOption = "",
) -> None:
    """Lift exclusions: all of them, or none when one of the brokers is not excluded.

    A broker that a removal has emptied takes new replicas again.

    Example: guardian exclusion lift 3 4 --cluster live
    """
    lifted = {
        f"exclusion of broker {broker} of cluster {cluster}": pb.FederationKey(
            exclusion=pb.ExclusionKey(cluster=cluster, broker_id=broker)
        )
        for broker in brokers
    }
    change.drop(lifted)


@audit.command("changes")
@paged
def changes(
    page: Page,
    since: Annotated[str, typer.Option(help="How far back, such as 24h; else all that is kept.")] = "",
    who: Annotated[str, typer.Option("--actor", help="Only what this person or service did.")] = "",
) -> None:
    """Show who changed what, newest first, and what was refused.

    Example: guardian audit changes --since 24h
    """
    from_ms = now_ms() - parse_duration_ms("--since", since) if since else 0
    with connect(page.endpoints) as client:
        records = page.rows(lambda token, size: client.audit_page(from_ms, 0, who, token, size))
    if page.output is Output.JSON:
        print_json([as_dict(record) for record in records])
        page.say_more()
        return
    rows = [
        (human_time(record.at_ms), shown_actor(record), record.action, record.subject, record.error or record.detail)
        for record in records
    ]
    print_table(
        ("WHEN", "WHO", "ACTION", "SUBJECT", "DETAIL OR REFUSAL"), rows, more=more_of(records, "index", "detail")
    )
    page.say_more()


def _list(
    page: Page,
    table: pb.FederationTable,
    cluster: str,
    columns: Sequence[str],
    row: Callable[[pb.FederationEntry], _Row],
    right: Sequence[str],
) -> int:
    """Print the entries of a table; return how many."""
    with connect(page.endpoints) as client:
        entries = page.rows(lambda token, size: client.federation_page(table, cluster, "", token, size))
    if page.output is Output.JSON:
        print_json([_as_dict(entry) for entry in entries])
    else:
        print_table(columns, map(row, entries), right=right)
    page.say_more()
    return len(entries)


def _outcome(name: str, is_drop: bool, revision: int, dry_run: bool) -> str:
    if dry_run:
        verb = "would be dropped" if is_drop else "stays as it is" if revision else "would be stored"
        return f"{name} {verb}; nothing was stored"
    return f"{name} is dropped" if is_drop else f"{name} is stored at revision {revision}"


def _as_dict(entry: pb.FederationEntry) -> dict[str, Any]:
    found: dict[str, Any] = as_dict(entry)
    if entry.HasField("topic"):
        found["topic"]["topic_id"] = uuid_text(entry.topic.topic_id)
    return found


def _bytes(option: str, text: str) -> int:
    return parse_bytes(f"--{option}", text) if text else 0


def _replicas(text: str, option: str = "--replicas") -> tuple[str, int]:
    idc, _, count = text.partition("=")
    if not idc or not (count.isascii() and count.isdigit()) or len(count) > 3:
        raise InvalidInput(f"{option} is {text!r}: use IDC=COUNT, such as shanghai=2")
    return idc, int(count)


def _other_factor(text: str) -> IdcPlacement:
    return IdcPlacement(tuple(_replicas(each, "--other-factor") for each in text.split(",")))


def _topic_id_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"--id is {text!r}: use Kafka's topic id, 22 characters") from None
