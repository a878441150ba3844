"""`guardian`: the front door for people."""

from __future__ import annotations

import sys

import typer

from guardian import __version__
from guardian.cli import acl, broker, brokers, cluster, federation, healing, local, raft, ticket, tiering
from guardian.cli.analyze import analyze
from guardian.cli.audit import audit
from guardian.cli.collection import collection
from guardian.cli.cordons import exclusions
from guardian.cli.disks import app as disks
from guardian.cli.disks import disk_readers
from guardian.cli.durability import durability
from guardian.cli.events import events
from guardian.cli.findings import findings
from guardian.cli.forecast import forecast
from guardian.cli.links import links
from guardian.cli.plan.commands import app as plan
from guardian.cli.server import server
from guardian.cli.status import status
from guardian.cli.whatif import app as what_if
from guardian.errors import GuardianError

app = typer.Typer(
    help="One control service for a federation of Apache Kafka clusters.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(server)
app.command()(status)
app.command()(collection)
app.command()(findings)
app.command()(durability)
app.command()(disk_readers)
app.command()(links)
app.command()(events)
app.command()(analyze)
app.command()(forecast)
app.add_typer(disks, name="disks")
app.add_typer(cluster.app, name="cluster")
app.add_typer(broker.app, name="broker")
app.add_typer(brokers.app, name="brokers")
app.add_typer(federation.machines, name="machine")
app.add_typer(federation.tenants, name="tenant")
app.add_typer(federation.topics, name="topic")
app.add_typer(federation.idc_policies, name="idc-policy")
app.add_typer(exclusions, name="exclusion")
app.add_typer(audit, name="audit")
app.add_typer(raft.app, name="raft")
app.add_typer(tiering.app, name="tiering")
app.add_typer(plan, name="plan")
app.add_typer(what_if, name="what-if")
app.add_typer(ticket.app, name="ticket")
app.add_typer(acl.app, name="acl")
app.add_typer(healing.app, name="healing")
app.add_typer(local.app, name="local")


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    """Exit codes: 0 done, 1 the ticket watched did not succeed or `tiering verify` found differences, 2 wrong input or
    nothing could be done."""
    try:
        app()
    except GuardianError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
