"""`guardian local`: real Kafka clusters, their traffic and a group of members on this machine.

What it runs on comes with the extra `local`, so it is imported when a command runs, not when the CLI starts.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from guardian.cli.options import Output, OutputOption
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
    sasl: Annotated[bool, typer.Option("--sasl", help="Let Guardian log in with a password (SASL/PLAIN).")] = False,
) -> None:
    """Start what does not run, and return when all of it serves.

    Example: guardian local up --clusters 1
    """
    federation = _federation()
    federation.up(members, clusters, brokers, workload=not no_workload, sasl=sasl)
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
    print(f"ended {_federation().down()} processes; the data is kept")


@app.command("wipe")
def wipe() -> None:
    """End every process and delete the data.

    Example: guardian local wipe
    """
    print(f"ended {_federation().wipe()} processes and deleted the data")


def _federation() -> Any:
    try:
        from deploy.local import federation
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"`guardian local` needs {error.name}, which is not installed: pip install 'kafka-guardian[local]'"
        ) from None
    return federation


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
        print("Nothing stands here. Next: guardian local up")
        return
    print_table(
        ("KIND", "NAME", "ENDPOINT", "PID", "STATE", "WHERE"),
        [
            (kind, name, at, str(pid or "-"), "runs" if pid else "not running", where)
            for kind, name, at, pid, where in rows
        ],
        right=("PID",),
    )
