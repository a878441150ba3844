"""Options that commands share, and where the CLI finds Guardian (`guardian.cli.contexts` says in which order)."""

from __future__ import annotations

import getpass
import socket
import sys
import time
from dataclasses import dataclass
from typing import Annotated

import typer

from guardian.cli import contexts, output
from guardian.cli.credentials import bearing_of
from guardian.cli.output import Output
from guardian.cli.printing import echo
from guardian.cli.tls_options import tls_of
from guardian.client import ClientTls, GuardianClient
from guardian.client.bearing import Bearing
from guardian.errors import InvalidInput
from guardian.model.actor import reads_as_agent
from guardian.model.text import escaped
from guardian.model.throttle import DEFAULT_THROTTLE
from guardian.model.units import bytes_text, parse_duration_ms

__all__ = [
    "DEFAULT_THROTTLE_TEXT", "ClusterOption", "DryRunOption", "EndpointsOption", "ExpiresOption", "KeyOption",
    "OnlyClusterOption", "OnlyClustersOption", "Output", "OutputOption", "ReasonOption", "ThrottleOption",
    "YesOption", "actor", "cluster_of", "confirm", "connect", "expires_in_ms", "now_ms", "use",
]  # fmt: skip

# Long enough for the members to elect a new leader, short enough for a person who waits.
_TIMEOUT_S = 15.0

DEFAULT_THROTTLE_TEXT = bytes_text(DEFAULT_THROTTLE)
PANEL = "How to reach Guardian"  # under which help shows the options of every command


EndpointsOption = Annotated[
    str,
    typer.Option(
        "--endpoints",
        envvar="GUARDIAN_ENDPOINTS",
        help="host:port of one or more members, separated by commas.",
        show_default="the context's, the federation of `guardian local`, or 127.0.0.1:9750",
        rich_help_panel=PANEL,
    ),
]
OutputOption = Annotated[
    Output, typer.Option("-o", "--output", callback=output.choose, help="How to print the result.")
]
ClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="The cluster's name.", show_default="the context's")
]
OnlyClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="Only this cluster.", show_default="all")
]
OnlyClustersOption = Annotated[
    list[str] | None,
    typer.Option("--cluster", metavar="NAME", help="Only this cluster; may be repeated.", show_default="all"),
]
ThrottleOption = Annotated[
    str,
    typer.Option(
        "--throttle",
        metavar="RATE",
        help="Bytes/s per broker for copies, such as 50MB.",
        show_default=DEFAULT_THROTTLE_TEXT,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the ticket's history.")]
KeyOption = Annotated[
    str, typer.Option("--idempotency-key", help="The same key again answers with the ticket that it made.")
]
ExpiresOption = Annotated[
    str, typer.Option("--expires", help="Not started after so long it expires: 12h, 7d, never. \\[the policy's]")
]


@dataclass(frozen=True, slots=True)
class Connection:
    """What was typed of how to reach Guardian, besides --endpoints: of this process, which runs one command. The last
    three are PEM files."""

    context: str = ""
    timeout: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""
    token_file: str = ""


_connection = Connection()


def use(connection: Connection) -> None:
    """Commands connect like that from now on."""
    global _connection  # noqa: PLW0603  a process runs one command
    _connection = connection


def given() -> Connection:
    """Return what was typed."""
    return _connection


def chosen(endpoints: str = "") -> contexts.Chosen:
    """Return whom commands talk to, and why."""
    return contexts.choose(endpoints, _connection.context)


def connect(endpoints: str) -> GuardianClient:
    """A client of the members given, or found."""
    found = chosen(endpoints)
    given_s = parse_duration_ms("--timeout", _connection.timeout) / 1000 if _connection.timeout else None
    asked_s = given_s or (found.context.timeout_s if found.context else None) or _TIMEOUT_S
    return GuardianClient(
        found.endpoints,
        timeout_s=asked_s,
        actor=_who(),
        tls=client_tls(endpoints),
        bearing=client_bearing(endpoints),
    )


def client_tls(endpoints: str) -> ClientTls | None:
    """Return TLS as typed, as the environment says, or as the context does; None: in plain text."""
    typed = (_connection.ca, _connection.certificate, _connection.key)
    return tls_of(typed, chosen(endpoints).context)


def client_bearing(endpoints: str) -> Bearing | None:
    """The token that is shown with each call; None: none."""
    found = chosen(endpoints)
    return bearing_of(_connection.token_file, found.context, found.endpoints)


def cluster_of(given: str, endpoints: str) -> str:
    """Return the cluster given, else the context's. Raises InvalidInput where there is neither."""
    context = chosen(endpoints).context
    found = given or (context.cluster if context else "")
    if not found:
        raise InvalidInput(
            "--cluster is missing: give --cluster NAME (guardian cluster list), or the context a default "
            "(guardian context add CONTEXT --cluster NAME)"
        )
    return found


def actor() -> str:
    """Return who asks, for the record: the user who runs the CLI; with the host, where that is what Guardian calls
    itself. Raises InvalidInput when the user has no name.
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        raise InvalidInput("this process's user has no name: set the environment variable USER to yours") from None
    return f"{user}@{socket.gethostname()}" if reads_as_agent(user) else user


def confirm(question: str, yes: bool) -> None:
    """Asks a person unless `yes`. Raises InvalidInput where nobody answers, and typer.Abort on no."""
    if yes:
        return
    try:
        agreed = typer.confirm(escaped(question), err=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        echo(err=True)
        raise InvalidInput(f"nobody is here to answer {question!r}: give --yes to go on without") from None
    if not agreed:
        raise typer.Abort


def _who() -> str:
    """The same where nobody need be named."""
    try:
        return actor()
    except InvalidInput:
        return ""


def expires_in_ms(text: str) -> int:
    """Parse `ExpiresOption` as requests have it, in ms: 0 is the policy's, -1 never. Raises InvalidInput."""
    if text == "never":
        return -1
    return parse_duration_ms("expires", text) if text else 0


def now_ms() -> int:
    """Return the ms since the epoch by this machine's clock."""
    return time.time_ns() // 1_000_000
