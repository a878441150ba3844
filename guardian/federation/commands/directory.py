"""The federation's directory, fetched whole: for commands that decide on this machine."""

from __future__ import annotations

from guardian.cli.printing import echo
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.model.directory import Directory
from guardian.model.links import LinkSettings
from guardian.model.wire.entries import DIRECTORY_TABLES, directory_of_entries
from guardian.model.wire.lines import lines_from_proto


def read_directory(client: GuardianClient) -> Directory:
    """Read the directory with the lines between IDCs. Where the members' file of lines is wrong they are left out,
    which is said on stderr: little depends on them. Raises Unavailable when no member answers.
    """
    entries = (entry for table in DIRECTORY_TABLES for entry in client.federation(table))
    return directory_of_entries(client.list_clusters(), entries, _links(client))


def _links(client: GuardianClient) -> LinkSettings:
    try:
        return lines_from_proto(client.lines())
    except InvalidInput as error:
        echo(f"What lines between IDCs carry and cost is not known: {error}", err=True)
        return LinkSettings()
