"""`guardian acl`: access rules put right by ticket, from a list that somebody reviewed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.options import (
    ClusterOption,
    EndpointsOption,
    KeyOption,
    Output,
    OutputOption,
    ReasonOption,
    actor,
    connect,
)
from guardian.cli.render import as_dict, print_json
from guardian.core import repairing
from guardian.errors import InvalidInput
from guardian.model.acl import AclBinding
from guardian.model.ticket import TicketState
from guardian.model.units import parse_duration_ms
from guardian.wire.tickets import ticket_to_proto
from protos.guardian.v1 import activity_pb2 as pb

app = typer.Typer(help="Put access rules right: add what is missing, take out what nobody uses.", no_args_is_help=True)


@app.command("propose")
def propose(
    cluster: ClusterOption = "",
    since: Annotated[str, typer.Option(help="How far back use counts, such as 30d.")] = "30d",
    endpoints: EndpointsOption = "",
) -> None:
    """Print the rules that nobody used as a file for `guardian acl repair`: review it before you submit it.

    Example: guardian acl propose --cluster live --since 30d > rules.json
    """
    with connect(endpoints) as client:
        reply = client.acl_use(cluster, time.time_ns() // 1_000_000 - parse_duration_ms("--since", since))
    unused = [_rule(acl) for acl in reply.acls if acl.verdict == pb.ACL_UNUSED]
    print(json.dumps({"add": [], "remove": [repairing.as_rule(rule) for rule in sorted(unused)]}, indent=2))


@app.command("repair")
def repair(
    rules: Annotated[Path, typer.Option("--rules", help='A file of {"add": \\[rule, ...], "remove": \\[rule, ...]}.')],
    cluster: ClusterOption = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be changed on the cluster, store nothing.")
    ] = False,
    key: KeyOption = "",
    reason: ReasonOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for approval of a reviewed list of access rules: what is missing is added, then the others are taken out.

    Example: guardian acl repair --cluster live --rules rules.json --dry-run
    """
    plan = repairing.plan_of(cluster, repairing.read(_text(rules)))
    with connect(endpoints) as client:
        ticket, resolved = client.create_ticket(
            plan, author=actor(), submit=True, reason=reason, idempotency_key=key, dry_run=dry_run
        )
    asked = repairing.repair_of(resolved)
    if output is Output.JSON:
        changes = {"add": list(map(repairing.as_rule, asked.add)), "remove": list(map(repairing.as_rule, asked.remove))}
        print_json({"ticket": None if dry_run else as_dict(ticket_to_proto(ticket)), **changes})
        return
    for note in resolved.notes:
        print(note)
    if dry_run:
        print(f"{rules} can run on cluster {cluster}; nothing was stored.")
    elif ticket.state is TicketState.PENDING:
        print(f"Ticket {ticket.id} is {ticket.state.name}. Next: guardian ticket approve {ticket.id}")
    else:
        print(f"Ticket {ticket.id} is {ticket.state.name}.")


def _rule(acl: pb.AclUse) -> AclBinding:
    """DENY rules are not judged: what comes here allows."""
    return AclBinding(
        acl.resource_type, acl.pattern_type, acl.resource_name, acl.principal, acl.host, acl.operation, "ALLOW"
    )


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise InvalidInput(f"rules {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"rules {path} is not text: give a JSON file") from None
