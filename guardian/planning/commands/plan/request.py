"""What every planning command shares: which clusters, who plans, how even, how dear, and where results go.

A member plans, from what Kafka shows now and the newest samples. Spark on this machine plans from the same, where that
is asked for, or for windows that are too long for members: what Kafka shows it is told by a member.
"""

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
from guardian.lake.model.window import recent_window
from guardian.model.units import human_duration, parse_duration_ms
from guardian.planning.commands.plan.overrides import Overrides
from guardian.planning.orders import LONGEST_WINDOW_MS, OrderedTask, PlanOrder

LOCAL = "local[*]"

_WindowOption = Annotated[
    str,
    typer.Option(
        help="How much of the newest traffic to look at, such as 5m; over 6h implies --spark.",
        show_default="15m",
    ),
]
_LakeOption = Annotated[
    str,
    typer.Option(help="The lake's path or URL; implies --spark.", show_default="the one that Guardian writes"),
]
_SparkOption = Annotated[
    bool,
    typer.Option("--spark", help="Plan with Spark on this machine: the plan is the one that a member makes."),
]


@dataclass(frozen=True, slots=True)
class Request:
    """The shared options, parsed. `window_ms` is how much of the newest samples counts, 0: as much as is usual;
    `why_spark` says why Spark plans here, empty: a member does."""

    overrides: Overrides
    clusters: tuple[str, ...]
    window_ms: int
    why_spark: str
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
        window: _WindowOption = "",
        spark: _SparkOption = False,
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
        lake: _LakeOption = "",
        master: Annotated[str, typer.Option(help="The Spark master; implies --spark.", show_default=LOCAL)] = "",
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
        window_ms = parse_duration_ms("window", window) if window else 0
        return cls(
            overrides=overrides,
            clusters=clusters,
            window_ms=window_ms,
            why_spark=why_spark(window_ms, is_asked_for=spark, lake=lake, master=master),
            lake=lake,
            master=master or LOCAL,
            dry_run=dry_run,
            out=out,
            rollback=rollback,
            picture=picture,
            expires_in_ms=expires_in_ms(expires),
            key=key,
            endpoints=endpoints,
            output=output,
        )

    def window(self, at_ms: int) -> tuple[int, int]:
        """Return what Spark looks at, as a member would at that time: [from, to) in ms since the epoch."""
        window = recent_window(at_ms, self.window_ms)
        return window.from_ms, window.to_ms

    def newest(self) -> tuple[int, int]:
        """Return the window of clients' traffic, in ms since the epoch; zeros: as much as is usual."""
        until_ms = now_ms()
        return (until_ms - self.window_ms, until_ms) if self.window_ms else (0, 0)

    def order(self, task: OrderedTask) -> PlanOrder:
        """Return what a member is asked for. Raises InvalidInput."""
        return PlanOrder(task, self.overrides.by_name(), self.overrides.exclude_topics, self.window_ms)


def why_spark(window_ms: int, *, is_asked_for: bool = False, lake: str = "", master: str = "") -> str:
    """Return why Spark is to plan here; empty: a member plans."""
    if is_asked_for:
        return "--spark was given"
    if lake or master:
        return f"{'--lake' if lake else '--master'} was given"
    if window_ms > LONGEST_WINDOW_MS:
        longest = human_duration(LONGEST_WINDOW_MS)
        return f"--window is {human_duration(window_ms)}, and a member looks at {longest} at most"
    return ""


request = made_of(Overrides.of, Request.of)
"""The request of all options together, which typer reads as they are here."""
