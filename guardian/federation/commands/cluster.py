"""`guardian cluster`: the clusters of the federation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.options import DryRunOption, EndpointsOption, Output, OutputOption, YesOption, confirm, connect
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_json, print_table, say
from guardian.cli.shared import made_of
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.federation.commands.registered import registered
from guardian.federation.commands.serving import Serving
from guardian.health.commands.past import show_cluster
from guardian.interop import broker_sets_json
from guardian.interop.json_file import read_json
from guardian.model.ticket import OPEN_STATES
from guardian.model.topology import (
    KERBEROS_SERVICE,
    SASL_MECHANISMS,
    Broker,
    BrokerState,
    Cluster,
    ClusterSecurity,
    SecurityProtocol,
)
from guardian.model.wire.federation import cluster_to_proto

_MAX_ID = 2**31 - 1
_MAX_ID_DIGITS = 10  # int() refuses thousands of them

_WIDE = ("CONTROLLERS", "CLUSTER ID", "PROTOCOL", "SAMPLING PAUSED")

app = typer.Typer(help="Register, list and remove Kafka clusters.", no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class _BrokerOptions:
    """What the options say of the cluster's brokers and racks. `sets` are the labels that a file of broker sets gives;
    they are among `labels` unless a --label replaces them."""

    brokers: tuple[Broker, ...]
    sets: Mapping[int, str]
    labels: Mapping[int, str]
    states: Mapping[int, BrokerState]
    idcs: Mapping[str, str]

    @classmethod
    def of(
        cls,
        reporter: list[str] | None,
        broker_sets: Path | None,
        label: list[str] | None,
        state: list[str] | None,
        idc: list[str] | None,
    ) -> _BrokerOptions:
        """Read the options as they were typed. Raises InvalidInput."""
        reporters = _by_broker("reporter", reporter)
        sets = _sets(broker_sets) if broker_sets else {}
        labels = _by_broker("label", label, may_be_empty=True)
        states = {broker: _state(text) for broker, text in _by_broker("state", state).items()}
        idcs = _pairs("idc", idc)
        brokers = tuple(Broker(broker, reporter=endpoint) for broker, endpoint in reporters.items())
        return cls(brokers, sets, labels, states, idcs)


def _login(
    protocol: Annotated[SecurityProtocol, typer.Option(help="Kafka's security.protocol.")] = SecurityProtocol.PLAINTEXT,
    mechanism: Annotated[str, typer.Option(help=f"One of {', '.join(SASL_MECHANISMS)}.")] = "",
    username: Annotated[
        str, typer.Option(help="The SASL user, the client's id at --token-endpoint, or Kerberos' principal.")
    ] = "",
    password_secret: Annotated[
        str, typer.Option(help="The name of a file in every member's folder `secrets`, which holds the password.")
    ] = "",
    ca_secret: Annotated[str, typer.Option(help="Likewise, in PEM: the CA of the brokers.")] = "",
    certificate_secret: Annotated[
        str, typer.Option(help="Likewise, in PEM: the certificate that Guardian shows to brokers.")
    ] = "",
    key_secret: Annotated[str, typer.Option(help="Likewise, in PEM: its key.")] = "",
    tls_server_name: Annotated[
        str, typer.Option(help="A name in every broker's certificate, where they are reached by others.")
    ] = "",
    token_secret: Annotated[str, typer.Option(help="Likewise: the token of OAUTHBEARER, renewed by others.")] = "",
    token_endpoint: Annotated[
        str, typer.Option(help="https://... which gives a token for --username and --password-secret.")
    ] = "",
    token_scope: Annotated[str, typer.Option(help="Scopes to ask it for, separated by spaces.")] = "",
    token_ca_secret: Annotated[str, typer.Option(help="Likewise, in PEM: the CA of --token-endpoint.")] = "",
    keytab_secret: Annotated[str, typer.Option(help="Likewise: the keytab of GSSAPI.")] = "",
    kerberos_service: Annotated[str, typer.Option(help="The brokers' service.", show_default=KERBEROS_SERVICE)] = "",
) -> ClusterSecurity:
    """Return how brokers are connected to."""
    return ClusterSecurity(
        protocol,
        mechanism,
        username,
        password_secret=password_secret,
        ca_secret=ca_secret,
        certificate_secret=certificate_secret,
        key_secret=key_secret,
        tls_server_name=tls_server_name,
        token_secret=token_secret,
        token_endpoint=token_endpoint,
        token_scope=token_scope,
        token_ca_secret=token_ca_secret,
        keytab_secret=keytab_secret,
        kerberos_service=kerberos_service,
    )


def add(
    security: ClusterSecurity,
    name: Annotated[str, typer.Argument(help="The federation's name for the cluster.")],
    bootstrap: Annotated[str, typer.Option(help="host:port of one or more brokers, separated by commas.")],
    bootstrap_controllers: Annotated[
        str,
        typer.Option(help="Likewise of its controllers, asked where no broker reaches them.", show_default="none"),
    ] = "",
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
    given = _BrokerOptions.of(reporter, broker_sets, label, state, idc)
    with connect(endpoints) as client:
        cluster = Cluster(
            name, bootstrap, security=security, brokers=given.brokers, bootstrap_controllers=bootstrap_controllers
        )
        if dry_run:
            _rehearse_registration(client, cluster, given, output)
            return
        _register(client, cluster, given, output)
    if given.sets and output is Output.TABLE:
        _explain_labels(name, given.sets)


app.command("add")(made_of(_login, add))


@app.command("list")
def list_(endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """List the clusters: how many of their brokers serve now, and what is found; brokers: `guardian broker list`.

    Example: guardian cluster list
    """
    with connect(endpoints) as client:
        clusters, serving = client.list_clusters(), Serving.seen(client)
    if output is Output.JSON:
        print_json([{**as_dict(cluster_to_proto(each)), "serving": serving.ids(each.name)} for each in clusters])
        return
    rows = [
        (
            cluster.name,
            str(len(cluster.brokers)),
            serving.of_cluster(cluster),
            serving.findings_of(cluster.name),
            cluster.bootstrap,
            cluster.bootstrap_controllers or "-",
            cluster.cluster_id or "-",
            str(cluster.security.protocol),
            cluster.sampling_paused or "-",
        )
        for cluster in clusters
    ]
    print_table(
        ("CLUSTER", "BROKERS", "SERVE", "FINDINGS", "BOOTSTRAP", *_WIDE),
        rows,
        right=("BROKERS", "SERVE", "FINDINGS"),
        wide=_WIDE,
    )


app.command("show")(show_cluster)


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


def _register(client: GuardianClient, cluster: Cluster, given: _BrokerOptions, output: Output) -> None:
    registered = client.register_cluster(cluster, given.idcs, labels=given.labels, states=given.states, sets=given.sets)
    known = [broker.id for broker in registered.brokers]
    for remark in broker_sets_json.of_cluster(given.sets, known, cluster.name)[1]:
        echo(f"Note: {remark}", err=True)
    sentence = f"cluster {registered.name} is registered: {len(registered.brokers)} brokers, id {registered.cluster_id}"
    say(sentence, as_dict(cluster_to_proto(registered)), output)


def _explain_labels(cluster: str, sets: Mapping[int, str]) -> None:
    """Print what labels made of broker sets mean for topics."""
    names = ", ".join(sorted(set(sets.values())))
    echo(
        f"Labels of broker sets: {names}. Plans keep topics of other labels, and of none, off these brokers: "
        f"give topics their label (guardian topic put TOPIC --cluster {cluster} --label SET), or name labels in "
        "shared_labels."
    )


def _rehearse_registration(client: GuardianClient, cluster: Cluster, given: _BrokerOptions, output: Output) -> None:
    """Against what is registered. Kafka itself is asked by a member, and only when the cluster is registered."""
    known = next((each for each in client.list_clusters() if each.name == cluster.name), None)
    named = sorted({broker.id for broker in cluster.brokers} | given.labels.keys() | given.states.keys())
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
    hindering = [ticket.id for ticket in client.tickets(name, OPEN_STATES)]
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


def _by_broker(option: str, values: list[str] | None, *, may_be_empty: bool = False) -> dict[int, str]:
    pairs = _pairs(option, values, may_be_empty=may_be_empty)
    return {_broker_id(option, key): text for key, text in pairs.items()}


def _broker_id(option: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > _MAX_ID_DIGITS or int(text) > _MAX_ID:
        raise InvalidInput(f"--{option} names broker {text!r}: use the broker's number")
    return int(text)


def _state(text: str) -> BrokerState:
    known = {state.name.lower(): state for state in BrokerState}
    if text.lower() not in known:
        raise InvalidInput(f"--state is {text!r}: use one of {', '.join(known)}")
    return known[text.lower()]
