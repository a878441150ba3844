"""`guardian import` and `guardian export`: files of other tools become what Guardian has of them, and back."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.files import write_file
from guardian.cli.options import (
    ClusterOption,
    DryRunOption,
    EndpointsOption,
    Output,
    OutputOption,
    actor,
    connect,
)
from guardian.cli.printing import echo, echo_text
from guardian.client import GuardianClient
from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound
from guardian.federation.commands import declared, federation
from guardian.federation.commands.changes import say_how_many, show
from guardian.federation.commands.registered import registered
from guardian.federation.model import (
    IDC_POLICIES,
    MACHINES,
    TOPICS,
    Declaration,
    DeclaredBroker,
    DeclaredCluster,
    DeclaredEntry,
    EntryKey,
)
from guardian.federation.rules import declaring
from guardian.federation.wire import federation_writing
from guardian.interop import broker_sets_json, capacity_json, confluent_placement, reassignment_json, topicctl_yaml
from guardian.interop.json_file import read_json
from guardian.interop.topicctl_yaml import TopicctlTopic
from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.units import parse_duration_ms
from guardian.model.wire.lines import lines_from_proto

imports = typer.Typer(help="Take over files of other tools; says what of them can't be kept.", no_args_is_help=True)
exports = typer.Typer(help="Write files that other tools, and guardian apply, read.", no_args_is_help=True)

_SHOWN = 20

OutOption = Annotated[Path | None, typer.Option("--out", help="Write it here.", show_default="print")]


@imports.command("capacity")
def import_capacity(
    file: Annotated[Path, typer.Argument(help="Cruise Control's capacity.json, any of its three forms.")],
    cluster: ClusterOption = "",
    host_pattern: Annotated[
        str,
        typer.Option(
            "--host-pattern",
            help="What machines are called that Guardian does not know: kafka-{broker}, {cluster}-{broker}.",
            show_default="the host of the broker's reporter",
        ),
    ] = "",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Make Cruise Control's capacities those of the cluster's machines, which plans go by.

    What a broker's plugin tells of its host wins over them: they count where it tells nothing.

    Example: guardian import capacity capacity.json --cluster live --host-pattern 'kafka-{broker}' --dry-run
    """
    capacities = capacity_json.capacities_of(read_json(file, "capacity file"))
    with connect(endpoints) as client:
        known = declared.known(client)
        machines = [each.entry for each in known.entries.values() if isinstance(each.entry, Machine)]
        found = capacity_json.machines_of(capacities, registered(known.clusters, cluster), machines, host_pattern)
        entries = tuple(
            DeclaredEntry(EntryKey(MACHINES, "", each.host), _fields_of(each), str(file), f"machine {each.host}")
            for each in found.machines
        )
        changes = declaring.changes(Declaration(entries=entries), known, actor())
        _carry_out(client, changes, found.remarks, dry_run=dry_run, output=output)


@imports.command("broker-sets")
def import_broker_sets(
    file: Annotated[Path, typer.Argument(help="Cruise Control's brokerSets.json.")],
    cluster: ClusterOption = "",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Make Cruise Control's broker sets labels of the cluster's brokers.

    Example: guardian import broker-sets brokerSets.json --cluster live --dry-run
    """
    given = broker_sets_json.sets_of(read_json(file, "broker sets file"))
    with connect(endpoints) as client:
        known = declared.known(client)
        found = registered(known.clusters, cluster)
        sets, strange = broker_sets_json.of_cluster(given, [broker.id for broker in found.brokers], cluster)
        brokers = {
            broker: DeclaredBroker(str(file), f"brokerSetId {name}", label=name) for broker, name in sets.items()
        }
        wanted = DeclaredCluster(cluster, str(file), "brokerSets", brokers=brokers)
        changes = declaring.changes(Declaration(clusters=(wanted,)), known, actor())
        left = [broker.id for broker in found.brokers if broker.id not in sets]
        remarks = [
            "plans keep topics of other labels, and of none, off these brokers: give topics their label "
            "(guardian topic put), or name labels in shared_labels of [planner]"
        ]
        if left:
            remarks.append(f"broker {', '.join(map(str, left[:10]))} is in no set: it keeps the label that it has")
        remarks += strange
        _carry_out(client, changes, remarks, dry_run=dry_run, output=output)


# The same as guardian idc-policy import, where people look for it who bring files.
_PLACEMENT_HELP = inspect.getdoc(federation.import_idc_policy) or ""
imports.command("placement", help=_PLACEMENT_HELP.replace("guardian idc-policy import", "guardian import placement"))(
    federation.import_idc_policy
)


@imports.command("topic")
def import_topic(
    file: Annotated[Path, typer.Argument(help="topicctl's YAML of one topic or several; - reads standard input.")],
    cluster: Annotated[
        str, typer.Option("--cluster", help="Guardian's name of the cluster.", show_default="meta.cluster of the file")
    ] = "",
    owner: Annotated[
        str, typer.Option("--owner", help="Who answers for it.", show_default="its label owner or team")
    ] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant whose it is.")] = "",
    window: Annotated[
        str,
        typer.Option(
            help="How much of the newest traffic a placement goes by; over 1h Spark chooses it here.",
            show_default="15m",
        ),
    ] = "",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Put topicctl's topics into the directory, and make draft tickets that create, or expand, them.

    Static placement is kept as it is. Any other is chosen by Guardian's planner, in a member.
    What Kafka refuses of a static placement is found first, and then nothing is stored; a later refusal says what
    stays.

    Example: guardian import topic topics/orders.yaml --cluster live --dry-run
    """
    topics = topicctl_yaml.read(declared.text_of(file), "standard input" if str(file) == "-" else str(file))
    with connect(endpoints) as client:
        known = declared.known(client)
        wanted = [(topic, registered(known.clusters, cluster or topic.cluster).name) for topic in topics]
        there = {(name, topic.name): _partitions(client, name, topic.name) for topic, name in wanted}
        entries = []
        for topic, name in wanted:
            given = {"owner": owner or topic.owner, "tenant": tenant}
            fields = {field: value for field, value in given.items() if value}
            entries.append(DeclaredEntry(EntryKey(TOPICS, name, topic.name), fields, topic.where, "meta"))
        changes = declaring.changes(Declaration(entries=tuple(entries)), known, actor())
        remarks = [f"{topic.name}: {remark}" for topic, _ in wanted for remark in topic.remarks]
        placed = [each for each in wanted if each[0].assignments or there[each[1], each[0].name] >= each[0].partitions]
        tried = [_create(client, topic, name, there[name, topic.name], dry_run=True)[0] for topic, name in placed]
        _carry_out(client, changes, remarks, dry_run=dry_run, output=output)
        stays = [] if dry_run else [f"{change.name} in the directory" for change in changes.entries]
        with _telling_what_stays(stays):
            for number, (topic, name) in enumerate(placed):
                made = (tried[number], "") if dry_run else _create(client, topic, name, there[name, topic.name])
                echo(made[0], err=output is Output.JSON)
                stays += [f"draft ticket {made[1]}"] if made[1] else []
    window_ms = parse_duration_ms("window", window) if window else 0
    with _telling_what_stays(stays):
        for topic, name in wanted:
            if (topic, name) not in placed:
                _plan(topic, name, there[name, topic.name], window_ms, endpoints, output, dry_run=dry_run)
                stays += [] if dry_run else [f"what was planned for topic {name}/{topic.name}"]


@imports.command("reassignment")
def import_reassignment(
    file: Annotated[Path, typer.Argument(help="A file of kafka-reassign-partitions; - reads standard input.")],
    cluster: ClusterOption = "",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
) -> None:
    """Make a draft ticket of a reassignment that another tool has planned.

    Example: guardian import reassignment moves.json --cluster live --dry-run
    """
    plan = reassignment_json.read(declared.text_of(file), cluster)
    with connect(endpoints) as client:
        ticket, resolved = client.create_ticket(plan, author=actor(), dry_run=dry_run)
    if dry_run:
        echo(f"{file} can run on cluster {cluster}: {len(resolved.moves)} partitions move; nothing was stored")
    else:
        echo(f"Draft ticket {ticket.id} for cluster {cluster}. Next: guardian ticket submit {ticket.id}")


@exports.command("federation")
def export_federation(out: OutOption = None, endpoints: EndpointsOption = "") -> None:
    """Write the federation as it is, as the file that guardian apply reads: to apply it changes nothing.

    Example: guardian export federation --out federation.yaml
    """
    with connect(endpoints) as client:
        known = declared.known(client)
        try:
            links = lines_from_proto(client.lines())
        except InvalidInput as error:
            links = None
            echo(f"Note: links are left out, since the members' file of them is wrong: {error}", err=True)
    _write(out, federation_writing.write(known, links))


@exports.command("capacity")
def export_capacity(cluster: ClusterOption = "", out: OutOption = None, endpoints: EndpointsOption = "") -> None:
    """Write what the cluster's machines have as Cruise Control's capacity.json.

    Example: guardian export capacity --cluster live --out capacity.json
    """
    with connect(endpoints) as client:
        known = declared.known(client)
    found = registered(known.clusters, cluster)
    machines = [each.entry for each in known.entries.values() if isinstance(each.entry, Machine)]
    of_cluster = [machine for machine in machines if machine.cluster == cluster]
    text = capacity_json.write(of_cluster)
    sized = {machine.broker_id for machine in of_cluster if capacity_json.is_sized(machine)}
    left = [str(broker.id) for broker in found.brokers if broker.id not in sized]
    if left:
        echo(f"Note: broker {', '.join(left)} is left out: disk, nic or cores of it are not known", err=True)
    _write(out, text)


@exports.command("broker-sets")
def export_broker_sets(cluster: ClusterOption = "", out: OutOption = None, endpoints: EndpointsOption = "") -> None:
    """Write the labels of the cluster's brokers as Cruise Control's brokerSets.json.

    Example: guardian export broker-sets --cluster live --out brokerSets.json
    """
    with connect(endpoints) as client:
        found = registered(client.list_clusters(), cluster)
    _write(out, broker_sets_json.write({broker.id: broker.label for broker in found.brokers}))


@exports.command("placement")
def export_placement(
    policy: Annotated[str, typer.Argument(help="An IDC policy's name.")],
    out: OutOption = None,
    endpoints: EndpointsOption = "",
) -> None:
    """Write an IDC policy as Confluent's placement constraints, version 2.

    Example: guardian export placement two-cities --out placement.json
    """
    with connect(endpoints) as client:
        known = declared.known(client)
    stored = known.entries.get(EntryKey(IDC_POLICIES, "", policy))
    if stored is None or not isinstance(stored.entry, IdcPolicy):
        raise NotFound(f"policy is {policy!r}, which does not exist: see `guardian idc-policy list`")
    if stored.entry.preferred_leader_idc:
        echo(f"Note: that leaders are preferred in {stored.entry.preferred_leader_idc} is left out", err=True)
    if stored.entry.other_factors:
        echo("Note: where topics of other replication factors live is left out", err=True)
    _write(out, confluent_placement.write(stored.entry))


@exports.command("topic")
def export_topic(
    cluster: ClusterOption = "",
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", help="A topic, or a pattern as a shell has them; may be repeated.", show_default="all"),
    ] = None,
    static: Annotated[
        bool, typer.Option("--static", help="With the brokers of each partition, which topicctl then keeps to.")
    ] = False,
    environment: Annotated[str, typer.Option("--environment", help="meta.environment, which topicctl wants.")] = "",
    region: Annotated[str, typer.Option("--region", help="meta.region, which topicctl wants.")] = "",
    out: OutOption = None,
    endpoints: EndpointsOption = "",
) -> None:
    """Write topics as they are in Kafka as topicctl's YAML, a document each; to import it changes nothing.

    Without --static topicctl may place new partitions as it likes, and leaves alone where Guardian put the others.

    Example: guardian export topic --cluster live --topic 'orders*' --environment prod --region eu --out topics.yaml
    """
    with connect(endpoints) as client:
        known = declared.known(client)
        name = registered(known.clusters, cluster).name
        described = client.described_topics(name, topics or [])
    found = []
    for each in described.topics:
        entry = known.entries.get(EntryKey(TOPICS, name, each.topic))
        owner = entry.entry.owner if entry is not None and isinstance(entry.entry, Topic) else ""
        brokers = [tuple(partition.brokers) for partition in each.partitions]
        try:
            topic = topicctl_yaml.topic_of(name, each.topic, brokers, each.configs.items(), owner, is_static=static)
            found.append(topic)
        except InvalidInput as error:
            echo(f"Note: left out: {error}", err=True)
    if described.topics_in_all > len(described.topics):
        raise InvalidInput(
            f"cluster {name} has {described.topics_in_all} such topics, more than the {len(described.topics)} of one "
            "file: name fewer with --topic"
        )
    if not found:
        raise NotFound(f"cluster {name} has no topic that a file of topicctl can say: name one with --topic")
    if not (environment and region):
        echo("Note: topicctl wants meta.environment and meta.region: --environment and --region add them", err=True)
    _write(out, topicctl_yaml.write(found, environment, region))


@exports.command("reassignment")
def export_reassignment(
    ticket_id: Annotated[str, typer.Argument(metavar="TICKET", help="The ticket's id.")],
    rollback: Annotated[bool, typer.Option("--rollback", help="What takes its moves back.")] = False,
    out: OutOption = None,
    endpoints: EndpointsOption = "",
) -> None:
    """Write a ticket's moves as the JSON of kafka-reassign-partitions.

    Example: guardian export reassignment t-1a2b3c4d --rollback --out undo.json
    """
    with connect(endpoints) as client:
        ticket, _ = client.ticket(ticket_id)
        if not ticket.plan_hash:
            raise InvalidInput(
                f"ticket {ticket_id} has no plan: only tickets that were made of one have moves to write"
            )
        plan = client.plan(ticket.plan_hash)
    _write(out, reassignment_json.write(plan.moves, target=not rollback))


def _carry_out(
    client: GuardianClient, changes: declaring.Changes, remarks: Iterable[str], *, dry_run: bool, output: Output
) -> None:
    for remark in remarks:
        echo(f"Note: {remark}", err=True)
    if dry_run:
        for sentence in declared.check(client, changes):
            echo(f"Note: {sentence}", err=True)
        show(changes, output)
        say_how_many(changes, output, "would be made; nothing was stored")
        return
    for sentence in declared.carry_out(client, changes):
        echo(sentence, err=output is Output.JSON)
    if output is Output.JSON:
        show(changes, output)
    say_how_many(changes, output, "made")


@contextmanager
def _telling_what_stays(stays: Sequence[str]) -> Iterator[None]:
    """Say beside a refusal what of the import is there by then, and how to take it back."""
    try:
        yield
    except (GuardianError, typer.Exit) as error:
        if not stays:
            raise
        listed = ", ".join(stays[:_SHOWN]) + (f" and {len(stays) - _SHOWN} more" if len(stays) > _SHOWN else "")
        sentence = (
            f"the import stopped on the way, and this stays: {listed}. Cancel draft tickets (guardian ticket cancel) "
            "before you import again; entries may stay, or go with guardian topic drop"
        )
        if isinstance(error, GuardianError):
            raise type(error)(f"{error}; {sentence}") from error
        echo(f"Note: {sentence}", err=True)
        raise


def _create(
    client: GuardianClient, topic: TopicctlTopic, cluster: str, there: int, *, dry_run: bool = False
) -> tuple[str, str]:
    """Return what was done, in one sentence, and the ticket's id, empty where none was made."""
    if there >= topic.partitions:
        more = f", more than the {topic.partitions} of the file" if there > topic.partitions else ""
        return f"topic {cluster}/{topic.name} exists with {there} partitions{more}: nothing to create", ""
    plan = topicctl_yaml.plan_of(topic, cluster, there)
    try:
        ticket, plan = client.create_ticket(plan, author=actor(), dry_run=dry_run)
    except (InvalidInput, Conflict) as error:
        raise type(error)(f"{topic.where}: {error}") from None
    what = f"topic {cluster}/{topic.name}: {len(plan.moves)} partitions on the brokers that the file names"
    if dry_run:
        return f"{what}; no ticket was made", ""
    return f"{what}. Draft ticket {ticket.id}. Next: guardian ticket submit {ticket.id}", ticket.id


def _plan(
    topic: TopicctlTopic,
    cluster: str,
    there: int,
    window_ms: int,
    endpoints: str,
    output: Output,
    *,
    dry_run: bool,
) -> None:
    """Plan the topic's partitions as `guardian plan preallocate` does it."""
    from guardian.model.tasks import ExpandTopic
    from guardian.planning.commands.plan.carrying_out import carry_out
    from guardian.planning.commands.plan.overrides import Overrides
    from guardian.planning.commands.plan.request import LOCAL, Request, why_spark
    from guardian.planning.orders import CreateTopicOrder

    new = CreateTopicOrder(topic.name, topic.partitions, topic.replication_factor, 0, topic.configs)
    request = Request(
        overrides=Overrides(),
        clusters=(cluster,),
        window_ms=window_ms,
        why_spark=why_spark(window_ms),
        lake="",
        master=LOCAL,
        dry_run=dry_run,
        out=None,
        rollback=None,
        picture=None,
        endpoints=endpoints,
        output=output,
    )
    carry_out(request, ExpandTopic(topic.name, topic.partitions) if there else new)


def _partitions(client: GuardianClient, cluster: str, topic: str) -> int:
    """Return how many partitions the topic has; 0: it does not exist. The cluster is known to be registered."""
    try:
        report = client.durability(cluster, [topic])
    except NotFound:
        return 0
    return next((each.partitions for each in report.topics if each.topic == topic), 0)


def _fields_of(machine: Machine) -> dict[str, object]:
    """All but the key."""
    return {field.name: getattr(machine, field.name) for field in dataclasses.fields(machine) if field.name != "host"}


def _write(out: Path | None, text: str) -> None:
    if out is None:
        echo_text(text)
    else:
        write_file(out, text)
