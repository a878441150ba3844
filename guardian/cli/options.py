"""Options that commands share, and where the CLI finds Guardian.

Endpoints come from --endpoints, else $GUARDIAN_ENDPOINTS, else the federation that `guardian local up` started in this
folder, else the embedded server's default.
"""

from __future__ import annotations

import getpass
import json
import re
from enum import StrEnum
from typing import Annotated

import typer

from deploy.local.home import STATE, default_home
from guardian.client import GuardianClient
from guardian.config import DEFAULT_ENDPOINT
from guardian.errors import InvalidInput

# Long enough for the members to elect a new leader, short enough for a person who waits.
_TIMEOUT_S = 15.0

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)B?(?:/s)?")
_RATE_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_MAX_RATE = 2.0**63  # the largest number in the request; the server says what it takes


class Output(StrEnum):
    """How a command prints its result."""

    TABLE = "table"
    JSON = "json"


EndpointsOption = Annotated[
    str,
    typer.Option(
        "--endpoints",
        envvar="GUARDIAN_ENDPOINTS",
        help="host:port of one or more members, separated by commas.",
        show_default="the federation of `guardian local`, else 127.0.0.1:9750",
    ),
]
OutputOption = Annotated[Output, typer.Option("-o", "--output", help="How to print the result.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the ticket's history.")]


def connect(endpoints: str, timeout_s: float = _TIMEOUT_S) -> GuardianClient:
    """A client of the members given, or found."""
    found = endpoints.split(",") if endpoints else _local_endpoints() or [DEFAULT_ENDPOINT]
    return GuardianClient([endpoint.strip() for endpoint in found], timeout_s=timeout_s, actor=_who())


def actor() -> str:
    """Who asks, for the record: the name of the user who runs the CLI."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise InvalidInput("this process's user has no name: set the environment variable USER to yours") from None


def _who() -> str:
    """The same where nobody need be named."""
    try:
        return actor()
    except InvalidInput:
        return ""


def parse_rate(text: str) -> int:
    """Bytes/s of a text such as 50MB, 800k or 1.5G (powers of ten, as networks count)."""
    match = _RATE.fullmatch(text.strip())
    rate = float(match[1]) * _RATE_UNITS[match[2]] if match else 0.0
    if not 1 <= rate <= _MAX_RATE:
        raise InvalidInput(f"throttle is {text!r}: use bytes per second, such as 50MB or 800k")
    return int(rate)


def _local_endpoints() -> list[str]:
    try:
        state = json.loads((default_home() / STATE).read_text())
        return [member["grpc"] for member in state["members"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
