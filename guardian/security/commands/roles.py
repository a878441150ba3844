"""`guardian roles`: who has which role now, and where that stands."""

from __future__ import annotations

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table


def roles(endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show who has which role now, and whether the replicated store or the asked member's file says so.

    `guardian apply` changes the stored roles, by the section roles of federation.yaml. The approval policy in force is
    shown by `guardian ticket approvals`.

    Example: guardian roles -o json
    """
    with connect(endpoints) as client:
        known = client.roles()
    if output is Output.JSON:
        print_json(as_dict(known))
        return
    if not known.file:
        echo("Nobody needs a role: [security] is off, and whoever reaches a member may do everything.")
        return
    stored = f"stored at revision {known.revision}" if known.revision else "none are stored"
    echo(f"Roles of {known.file}; {stored}.")
    if known.damage:
        echo(f"Warning: {known.damage}. Only admins of everything by the file get in.")
    print_table(
        ("WHO", "ROLE", "CLUSTERS", "TENANTS", "FROM"),
        [
            (
                ", ".join(each.who),
                each.grant.role,
                ", ".join(each.grant.clusters),
                ", ".join(each.grant.tenants),
                source(each.grant.is_stored),
            )
            for each in known.grants
        ],
    )
    for denial in known.denied:
        echo(f"Denied: {denial.who} (by the {source(denial.is_stored)}).")
    for end in known.signed_out:
        echo(f"Signed out: {end.who}, sessions begun before {human_time(end.at_ms)} (by the {source(end.is_stored)}).")


def source(is_stored: bool) -> str:
    """Return where something stands: in the replicated store, or the file of the member that answers."""
    return "store" if is_stored else "file"
