"""The federation's directory, fetched whole: for commands that decide on this machine."""

from __future__ import annotations

import typer

from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.federation import Exclusion, IdcPolicy, Machine, Tenant, Topic
from guardian.model.links import LinkSettings
from guardian.wire.entries import entry_from_proto
from guardian.wire.lines import lines_from_proto
from protos.guardian.v1 import federation_pb2 as pb


def read_directory(client: GuardianClient) -> Directory:
    """With the lines between IDCs, unless the members' file of them is wrong, which is said on stderr: little depends
    on them. Raises Unavailable when no member answers."""
    entries = [
        entry_from_proto(entry)
        for table in (pb.MACHINES, pb.TENANTS, pb.TOPICS, pb.IDC_POLICIES, pb.EXCLUSIONS)
        for entry in client.federation(table)
    ]
    return Directory(
        clusters=client.list_clusters(),
        machines=tuple(entry for entry in entries if isinstance(entry, Machine)),
        tenants=tuple(entry for entry in entries if isinstance(entry, Tenant)),
        topics=tuple(entry for entry in entries if isinstance(entry, Topic)),
        policies=tuple(entry for entry in entries if isinstance(entry, IdcPolicy)),
        exclusions=tuple(entry for entry in entries if isinstance(entry, Exclusion)),
        links=_links(client),
    )


def _links(client: GuardianClient) -> LinkSettings:
    try:
        return lines_from_proto(client.lines())
    except InvalidInput as error:
        typer.echo(f"What lines between IDCs carry and cost is not known: {error}", err=True)
        return LinkSettings()
