"""`guardian`: the front door for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from guardian import __version__, tracing
from guardian.cli import (
    acl,
    broker,
    brokers,
    cluster,
    context,
    docs,
    federation,
    healing,
    local,
    raft,
    ticket,
    tiering,
    token,
)
from guardian.cli.analyze import analyze
from guardian.cli.apply import app as apply
from guardian.cli.audit_export import audit
from guardian.cli.certs import app as certs
from guardian.cli.collection import collection
from guardian.cli.cordons import exclusions
from guardian.cli.disks import app as disks
from guardian.cli.disks import disk_readers
from guardian.cli.durability import durability
from guardian.cli.events import events
from guardian.cli.everywhere import everywhere
from guardian.cli.exits import INTERRUPTED, exit_code_of
from guardian.cli.findings import findings
from guardian.cli.forecast import forecast
from guardian.cli.interchange import exports, imports
from guardian.cli.links import links
from guardian.cli.login import login, logout
from guardian.cli.plan.commands import app as plan
from guardian.cli.server import server
from guardian.cli.status import status
from guardian.cli.support_bundle import support_bundle
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
app.add_typer(token.app, name="token")
app.command()(login)
app.command()(logout)
app.add_typer(raft.app, name="raft")
app.add_typer(tiering.app, name="tiering")
app.add_typer(plan, name="plan")
app.add_typer(what_if, name="what-if")
app.add_typer(ticket.app, name="ticket")
app.add_typer(acl.app, name="acl")
app.add_typer(healing.app, name="healing")
app.add_typer(certs, name="certs")
app.add_typer(apply, name="apply")
app.add_typer(imports, name="import")
app.add_typer(exports, name="export")
app.add_typer(local.app, name="local")
app.add_typer(context.app, name="context")
app.add_typer(docs.app, name="docs")
app.command("support-bundle")(support_bundle)


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


everywhere(app)  # the tree is complete


@contextmanager
def _traces() -> Iterator[None]:
    """Spans of what the command does, for whoever sets OpenTelemetry's own variable. `guardian server` has its file."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not endpoint or sys.argv[1:2] == ["server"]:
        yield
        return
    stop = tracing.start("guardian-cli", endpoint)
    try:
        yield
    finally:
        stop()


def main() -> None:
    """Exit codes: guardian.cli.exits."""
    try:
        with _traces():
            app()
    except GuardianError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # of `guardian … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
