"""`guardian status`: the members of Guardian, as each sees itself."""

from __future__ import annotations

from guardian.cli.options import EndpointsOption, Output, OutputOption, connect
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, print_json, print_table, require_an_answer
from guardian.errors import GuardianError
from protos.guardian.v1.federation_pb2 import Member


def status(endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show each member: its leader, term, applied index and share of the brokers. One endpoint is enough to find all.

    Example: guardian status -o json
    """
    with connect(endpoints) as client:
        seen: list[tuple[str, Member | None]] = []
        for endpoint in client.known_endpoints():
            try:
                seen.append((endpoint, client.member_at(endpoint)))
            except GuardianError:
                seen.append((endpoint, None))
    if output is Output.JSON:
        print_json([{"endpoint": endpoint, "member": as_dict(member) if member else None} for endpoint, member in seen])
        return
    print_table(
        ("ENDPOINT", "NAME", "LEADER", "TERM", "APPLIED", "LIVE", "COLLECTS", "VERSION", "LAKE"),
        [_row(endpoint, member) for endpoint, member in seen],
        right=("TERM", "APPLIED"),
        wide=("VERSION", "LAKE"),
    )
    for member in (member for _, member in seen if member):
        for sentence in member.cautions:
            echo(f"Caution, {member.name}: {sentence}", err=True)
    require_an_answer([member for _, member in seen if member], [endpoint for endpoint, _ in seen])


def _row(endpoint: str, member: Member | None) -> tuple[str, ...]:
    if member is None:
        return (endpoint, "unreachable", *["-"] * 7)
    return (
        endpoint,
        member.name,
        member.leader or "none",
        str(member.term),
        str(member.applied_index),
        ",".join(member.live_members),
        f"{len(member.collects)} brokers" if len(member.collects) != 1 else member.collects[0],
        member.version,
        member.lake_url or "-",
    )
