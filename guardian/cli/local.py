"""`guardian local`: real Kafka clusters, their traffic and a group of members on this machine, or simulated brokers.

What it runs on comes with the extra `local`, so it is imported when a command runs, not when the CLI starts.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.printing import echo
from guardian.cli.render import print_json, print_table
from guardian.errors import InvalidInput

app = typer.Typer(
    help="Kafka clusters, traffic and Guardian members on this machine ($GUARDIAN_LOCAL, else .guardian/local).",
    no_args_is_help=True,
)


@app.command("up")
def up(
    members: Annotated[int, typer.Option(help="Guardian members; 0: none.")] = 3,
    clusters: Annotated[int, typer.Option(help="Kafka clusters: live, bulk, cluster-3, ...; 0: none.")] = 2,
    brokers: Annotated[int, typer.Option(help="Brokers of each cluster; 0: its controller only.")] = 3,
    no_workload: Annotated[bool, typer.Option("--no-workload", help="Make no topics and no traffic.")] = False,
    sasl: Annotated[bool, typer.Option("--sasl", help="Let Guardian log in with a password (SCRAM-SHA-512).")] = False,
    tls: Annotated[
        bool, typer.Option("--tls", help="Certificates for members, brokers' reporters and you, made here.")
    ] = False,
) -> None:
    """Start what does not run, and return when all of it serves.

    Example: guardian local up --clusters 1
    """
    federation = _federation()
    federation.up(members, clusters, brokers, workload=not no_workload, sasl=sasl, tls=tls)
    _show(federation.status())


@app.command("status")
def status(output: OutputOption = Output.TABLE) -> None:
    """Show members, controllers and brokers, and which of them do not run.

    Example: guardian local status -o json
    """
    found = _federation().status()
    if output is Output.JSON:
        print_json(found)
    else:
        _show(found)


@app.command("down")
def down() -> None:
    """End every process and keep the data: `up` goes on with it.

    Example: guardian local down
    """
    echo(f"ended {_federation().down()} processes; the data is kept")


@app.command("wipe")
def wipe() -> None:
    """End every process and delete the data.

    Example: guardian local wipe
    """
    echo(f"ended {_federation().wipe()} processes and deleted the data")


@app.command("fleet")
def fleet(
    brokers: Annotated[int, typer.Option(help="Simulated brokers in all.")] = 1000,
    partitions: Annotated[int, typer.Option(help="Replicas on each of them, about.")] = 1000,
    clusters: Annotated[
        int | None, typer.Option(help="Clusters: sim-1, sim-2, ...", show_default="one for every 100 brokers")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one makes another fleet; the same one the same.")] = 1,
    base_port: Annotated[int, typer.Option(help="The port of all reporters; the next one speaks Kafka.")] = 9464,
    speed: Annotated[float, typer.Option(help="Simulated days in a day: how fast load rises and falls.")] = 1.0,
    no_register: Annotated[bool, typer.Option("--no-register", help="Serve only; Guardian is told nothing.")] = False,
    endpoints: EndpointsOption = "",
) -> None:
    """Simulate a fleet of brokers in one process, and register its clusters with Guardian.

    They answer as brokers with the plugin do: all metrics, their hosts, who reads and writes. Load has days and nights,
    some topics are hot for a while, some disks are slow or dead. It runs until Ctrl-C; started again, it goes on.

    Tickets run on it: replicas move as fast as throttles let them, and nobody produces or consumes. Metrics tell load
    as it was before; what tickets changed is forgotten when it ends.

    Example: guardian local fleet --brokers 100 --partitions 500 --speed 24
    """
    run = _local("fleet.run")
    spec = run.FleetSpec(brokers, partitions, clusters or -(-brokers // 100) or 1, seed, base_port, speed)
    run.run(spec, None if no_register else lambda: connect(endpoints))


def _federation() -> Any:
    return _local("federation")


def _local(module: str) -> Any:
    try:
        return import_module(f"deploy.local.{module}")
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"`guardian local` needs {error.name}, which is not installed: pip install 'kafka-guardian[local]'"
        ) from None


def _show(found: dict[str, Any]) -> None:
    rows = [("member", member["name"], member["grpc"], member["pid"], member["data"]) for member in found["members"]]
    for cluster in found["clusters"]:
        name = cluster["name"]
        listeners = iter(cluster["bootstrap"].split(","))
        rows += [("controller", f"{name}/{node['id']}", "", node["pid"], "") for node in cluster["controllers"]]
        rows += [
            ("broker", f"{name}/{node['id']}", next(listeners), node["pid"], f"{node['idc']}, rack {node['rack']}")
            for node in cluster["brokers"]
        ]
    if not rows:
        echo("Nothing stands here. Next: guardian local up")
        return
    print_table(
        ("KIND", "NAME", "ENDPOINT", "PID", "STATE", "WHERE"),
        [
            (kind, name, at, str(pid or "-"), "runs" if pid else "not running", where)
            for kind, name, at, pid, where in rows
        ],
        right=("PID",),
    )
    for member in found["members"]:
        if member["pid"]:
            echo(f"The console, of {member['name']}: {member['console']}")
