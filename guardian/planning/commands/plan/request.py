"""What every planning command shares: which clusters, from which samples, how even, how dear, and where results go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.options import (
    EndpointsOption,
    ExpiresOption,
    KeyOption,
    Output,
    OutputOption,
    cluster_of,
    expires_in_ms,
    now_ms,
)
from guardian.cli.shared import made_of
from guardian.errors import InvalidInput
from guardian.model.units import parse_duration_ms
from guardian.planning.commands.plan.overrides import Overrides


@dataclass(frozen=True, slots=True)
class Request:
    """The shared options, parsed. `window` is [from, to) in ms since the epoch."""

    overrides: Overrides
    clusters: tuple[str, ...]
    window: tuple[int, int]
    lake: str
    master: str
    dry_run: bool
    out: Path | None
    rollback: Path | None
    picture: Path | None
    endpoints: str
    output: Output
    expires_in_ms: int = 0
    key: str = ""

    @classmethod
    def of(
        cls,
        overrides: Overrides,
        cluster: Annotated[
            list[str] | None,
            typer.Option(
                "--cluster", metavar="NAME", help="Plan for it; may be repeated.", show_default="the context's"
            ),
        ] = None,
        window: Annotated[
            str, typer.Option(help="How much of the newest traffic to look at, such as 5m or 24h.")
        ] = "1h",
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, store nothing.")] = False,
        out: Annotated[
            Path | None, typer.Option(help="Write the plan's kafka-reassign-partitions JSON here (one cluster only).")
        ] = None,
        rollback: Annotated[
            Path | None, typer.Option(help="Write the JSON that undoes the plan here (one cluster only).")
        ] = None,
        picture: Annotated[
            Path | None, typer.Option(help="Draw the plan as an HTML page, which needs no network (one cluster only).")
        ] = None,
        lake: Annotated[
            str, typer.Option(help="The lake's path or URL.", show_default="the one that Guardian writes")
        ] = "",
        master: Annotated[str, typer.Option(help="The Spark master.")] = "local[*]",
        expires: ExpiresOption = "",
        key: KeyOption = "",
        endpoints: EndpointsOption = "",
        output: OutputOption = Output.TABLE,
    ) -> Request:
        clusters = tuple(dict.fromkeys(cluster or [cluster_of("", endpoints)]))
        if len(clusters) > 1 and (out or rollback or picture):
            raise InvalidInput("--out, --rollback and --picture hold one cluster's plan: give one --cluster")
        if len(clusters) > 1 and key:
            raise InvalidInput(f"--idempotency-key is {key!r}, and it makes one ticket: give one --cluster")
        until_ms = now_ms()
        return cls(
            overrides=overrides,
            clusters=clusters,
            window=(until_ms - parse_duration_ms("window", window), until_ms),
            lake=lake,
            master=master,
            dry_run=dry_run,
            out=out,
            rollback=rollback,
            picture=picture,
            expires_in_ms=expires_in_ms(expires),
            key=key,
            endpoints=endpoints,
            output=output,
        )


request = made_of(Overrides.of, Request.of)
"""The request of all options together, which typer reads as they are here."""
