"""`guardian server`: one member of Guardian."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from guardian import config
from guardian.cli.leaving_out import leave_out
from guardian.errors import InvalidInput


def server(
    config_file: Annotated[
        Path | None, typer.Option("--config", help="The member's TOML file; without it: a group of one, on loopback.")
    ] = None,
    data: Annotated[
        Path, typer.Option("--data", help="Where a group of one keeps its data; not used with --config.")
    ] = Path(".guardian/server"),
) -> None:
    """Run a member: Raft, store, gRPC, HTTP, collector and, on the leader, the executor.

    Example: guardian server --config /etc/guardian/g1.toml
    """
    settings = config.load(config_file) if config_file else config.embedded(data)
    leave_out("pandas")
    try:
        from guardian.member.app import serve
        from guardian.member.stopping import StopDeadline
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"the server needs the package {error.name}, which is not installed: pip install 'kafka-guardian[server]'"
        ) from None
    serve(settings, StopDeadline())
