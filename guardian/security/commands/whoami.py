"""`guardian whoami`: who the members take the caller for."""

from __future__ import annotations

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.security.commands.roles import source
from protos.guardian.v1 import identities_pb2, identity_pb2

_PROOFS = {
    identity_pb2.PROOF_CERTIFICATE: "by a client certificate",
    identity_pb2.PROOF_TOKEN: "by a token",
    identity_pb2.PROOF_OIDC: "by the provider of identities",
}


def whoami(endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show who the members take you for: your name, how it was proven, your roles, and until when.

    Example: guardian whoami -o json
    """
    with connect(endpoints) as client:
        known = client.who_am_i()
    if output is Output.JSON:
        print_json(as_dict(known))
        return
    for sentence in _sentences(known):
        echo(sentence)
    if known.grants:
        print_table(
            ("ROLE", "CLUSTERS", "TENANTS", "FROM"),
            [
                (grant.role, ", ".join(grant.clusters), ", ".join(grant.tenants), source(grant.is_stored))
                for grant in known.grants
            ],
        )


def _sentences(known: identities_pb2.WhoAmIReply) -> list[str]:
    if known.proof not in _PROOFS:
        return ["Nobody has to say who he is: [security] is off, and whoever reaches a member may do everything."]
    until = f", until {human_time(known.until_ms)}" if known.until_ms else ""
    said = [f"You are {known.name}, proven {_PROOFS[known.proof]}{until}."]
    if known.groups:
        said.append(f"Groups: {', '.join(known.groups)}.")
    if known.brokers:
        said.append(f"Your certificate bears the brokers {', '.join(known.brokers)}.")
    if not known.grants:
        said.append("No role is granted to you: ask an admin of Guardian to add you to the roles.")
    return said
