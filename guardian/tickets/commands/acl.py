"""`guardian acl`: access rules put right by ticket, from a list that somebody reviewed."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from guardian.cli.options import ClusterOption, EndpointsOption, connect, now_ms
from guardian.cli.printing import echo_json
from guardian.model.acl import AclBinding
from guardian.model.units import parse_duration_ms
from guardian.tickets.kinds.acl_repair import as_rule
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
        reply = client.acl_use(cluster, now_ms() - parse_duration_ms("--since", since))
    unused = [_rule(acl) for acl in reply.acls if acl.verdict == pb.ACL_UNUSED]
    echo_json(json.dumps({"add": [], "remove": [as_rule(rule) for rule in sorted(unused)]}, indent=2))


def _rule(acl: pb.AclUse) -> AclBinding:
    """DENY rules are not judged: what comes here allows."""
    return AclBinding(
        acl.resource_type, acl.pattern_type, acl.resource_name, acl.principal, acl.host, acl.operation, "ALLOW"
    )
