"""`guardian cluster`: the clusters of the federation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.options import DryRunOption, EndpointsOption, Output, OutputOption, YesOption, confirm, connect
from guardian.cli.output_more import more_of
from guardian.cli.registered import registered
from guardian.cli.render import as_dict, print_json, print_table, say
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.interop import broker_sets_json
from guardian.interop.json_file import read_json
from guardian.model.topology import Broker, BrokerState, Cluster, ClusterSecurity, SecurityProtocol
from guardian.wire.federation import cluster_to_proto

_MAX_ID = 2**31 - 1
_MAX_ID_DIGITS = 10  # int() refuses thousands of them

_WIDE = ("CONTROLLERS", "CLUSTER ID", "PROTOCOL", "SAMPLING PAUSED")

app = typer.Typer(help="Register, list and remove Kafka clusters.", no_args_is_help=True)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="The federation's name for the cluster.")],
    bootstrap: Annotated[str, typer.Option(help="host:port of one or more brokers, separated by commas.")],
    bootstrap_controllers: Annotated[
        str,
        typer.Option(help="Likewise of its controllers, asked where no broker reaches them.", show_default="none"),
    ] = "",
    protocol: Annotated[SecurityProtocol, typer.Option(help="Kafka's security.protocol.")] = SecurityProtocol.PLAINTEXT,
    mechanism: Annotated[str, typer.Option(help="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.")] = "",
    username: Annotated[str, typer.Option(help="The SASL user.")] = "",
    password_secret: Annotated[
        str, typer.Option(help="The name of a file in every member's folder `secrets`, which holds the password.")
    ] = "",
    ca_secret: Annotated[str, typer.Option(help="Likewise, in PEM: the CA of the brokers.")] = "",
    idc: Annotated[
        list[str] | None, typer.Option("--idc", help="RACK=IDC: which data centre a rack is in; may be repeated.")
    ] = None,
    reporter: Annotated[
        list[str] | None,
        typer.Option("--reporter", help="BROKER=host:port of the plugin's gRPC endpoint; may be repeated."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="BROKER=LABEL, BROKER= for none; others keep theirs. May be repeated."),
    ] = None,
    broker_sets: Annotated[
        Path | None,
        typer.Option(
            "--broker-sets",
            help="Cruise Control's brokerSets.json: each set is a label; --label wins.",
            show_default="none",
        ),
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", help="BROKER=active|draining|maintenance; others keep theirs. May be repeated."),
    ] = None,
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Register a cluster, after Guardian has spoken to it; again: replace its entry, but keep labels and states.

    Example: guardian cluster add live --bootstrap k1:9092 --idc rack-a=shanghai --reporter 1=k1:9404 --label 1=gold
    """
    security = ClusterSecurity(
        protocol=protocol,
        sasl_mechanism=mechanism,
        username=username,
        password_secret=password_secret,
        ca_secret=ca_secret,
    )
    reporters = {_broker_id("reporter", key): value for key, value in _pairs("reporter", reporter).items()}
    sets = _sets(broker_sets) if broker_sets else {}
    labels = sets | {_broker_id("label", key): text for key, text in _pairs("label", label, may_be_empty=True).items()}
    states = {_broker_id("state", key): _state(text) for key, text in _pairs("state", state).items()}
    idcs = _pairs("idc", idc)
    brokers = tuple(Broker(broker, reporter=endpoint) for broker, endpoint in reporters.items())
    with connect(endpoints) as client:
        cluster = Cluster(
            name, bootstrap, security=security, brokers=brokers, bootstrap_controllers=bootstrap_controllers
        )
        if dry_run:
            _rehearse_registration(client, cluster, labels, states, output)
            return
        registered = client.register_cluster(cluster, idcs, labels=labels, states=states)
    sentence = f"cluster {registered.name} is registered: {len(registered.brokers)} brokers, id {registered.cluster_id}"
    say(sentence, as_dict(cluster_to_proto(registered)), output)
    if sets and output is Output.TABLE:
        names = ", ".join(sorted(set(sets.values())))
        print(
            f"Labels of broker sets: {names}. Plans keep topics of other labels, and of none, off these brokers: "
            f"give topics their label (guardian topic put TOPIC --cluster {name} --label SET), or name labels in "
            "shared_labels."
        )


@app.command("list")
def list_(endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """List the clusters and their brokers.

    Example: guardian cluster list
    """
    with connect(endpoints) as client:
        clusters = client.list_clusters()
    if output is Output.JSON:
        print_json([as_dict(cluster_to_proto(cluster)) for cluster in clusters])
        return
    brokers = [(cluster, broker) for cluster in clusters for broker in cluster.brokers]
    rows = [
        (
            cluster.name,
            str(broker.id),
            broker.state.name,
            broker.label or "-",
            broker.rack or "-",
            broker.idc or "-",
            broker.reporter_endpoint or "-",
            cluster.bootstrap,
            cluster.bootstrap_controllers or "-",
            cluster.cluster_id or "-",
            str(cluster.security.protocol),
            cluster.sampling_paused or "-",
        )
        for cluster, broker in brokers
    ]
    print_table(
        ("CLUSTER", "BROKER", "STATE", "LABEL", "RACK", "IDC", "REPORTER", "BOOTSTRAP", *_WIDE),
        rows,
        right=("BROKER",),
        wide=_WIDE,
        more=more_of([broker for _, broker in brokers], "registered_reporter", "metrics_url"),
    )


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The cluster's name.")],
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Forget a cluster; nothing changes in Kafka.

    Example: guardian cluster remove old --yes
    """
    with connect(endpoints) as client:
        if dry_run:
            _rehearse_removal(client, name, output)
            return
        confirm(f"Forget cluster {name}?", yes)
        client.remove_cluster(name)
    say(f"cluster {name} is forgotten", {"removed": name}, output)


def _rehearse_registration(
    client: GuardianClient,
    cluster: Cluster,
    labels: Mapping[int, str],
    states: Mapping[int, BrokerState],
    output: Output,
) -> None:
    """Against what is registered. Kafka itself is asked by a member, and only when the cluster is registered."""
    known = next((each for each in client.list_clusters() if each.name == cluster.name), None)
    named = sorted({broker.id for broker in cluster.brokers} | labels.keys() | states.keys())
    there = {broker.id for broker in known.brokers} if known is not None else set()
    news = sorted(set(named) - there) if known is not None else []
    what = f"replace its entry, of {len(there)} brokers at {known.bootstrap}" if known else "be registered"
    also = f"; broker {', '.join(map(str, news))} must be there by then" if news else ""
    sentence = (
        f"cluster {cluster.name} at {cluster.bootstrap} would {what}, if its brokers answer Guardian as they should"
        f"{also}; nothing was stored"
    )
    told = {"dry_run": True, "cluster": cluster.name, "replaces": known is not None, "not_known_yet": news}
    say(sentence, told, output)


def _rehearse_removal(client: GuardianClient, name: str, output: Output) -> None:
    known = registered(client.list_clusters(), name)
    hindering = [ticket.id for ticket in client.tickets(name) if not ticket.state.is_over]
    brokers = [broker.id for broker in known.brokers]
    verdict = f"not while these tickets are open: {', '.join(hindering)}" if hindering else "it can be forgotten"
    sentence = f"cluster {name} of {len(brokers)} brokers: {verdict}; nothing was changed"
    say(sentence, {"cluster": name, "brokers": brokers, "open_tickets": hindering}, output)


def _sets(file: Path) -> dict[int, str]:
    return broker_sets_json.sets_of(read_json(file, "broker sets file"))


def _pairs(option: str, values: list[str] | None, *, may_be_empty: bool = False) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values or []:
        key, separator, text = value.partition("=")
        if not separator or not key or not (text or may_be_empty):
            raise InvalidInput(f"--{option} is {value!r}: use KEY=VALUE")
        pairs[key] = text
    return pairs


def _broker_id(option: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > _MAX_ID_DIGITS or int(text) > _MAX_ID:
        raise InvalidInput(f"--{option} names broker {text!r}: use the broker's number")
    return int(text)


def _state(text: str) -> BrokerState:
    known = {state.name.lower(): state for state in BrokerState}
    if text.lower() not in known:
        raise InvalidInput(f"--state is {text!r}: use one of {', '.join(known)}")
    return known[text.lower()]
