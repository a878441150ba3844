"""`guardian plan`: plans are made by Spark from the lake; what they would change is shown before anything is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.options import (
    EndpointsOption,
    Output,
    OutputOption,
    actor,
    connect,
    parse_rate,
)
from guardian.cli.render import as_dict, print_json, print_table
from guardian.errors import InvalidInput
from guardian.kafka import reassignment_json
from guardian.model.plan import ANY_LOG_DIR, LoadSummary, PartitionMove, Plan, ReplicaPlacement, spreads
from guardian.model.units import human_bytes, parse_duration_ms
from guardian.wire.plans import plan_to_proto

app = typer.Typer(help="Make plans from the metrics lake.", no_args_is_help=True)


@app.command("balance")
def balance(
    cluster: Annotated[list[str], typer.Option("--cluster", help="The cluster to balance; may be repeated.")],
    window: Annotated[str, typer.Option(help="How much of the newest traffic to look at, such as 5m or 24h.")] = "1h",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, store nothing.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the plan's kafka-reassign-partitions JSON here (one cluster only).")
    ] = None,
    rollback: Annotated[
        Path | None, typer.Option(help="Write the JSON that undoes the plan here (one cluster only).")
    ] = None,
    throttle: Annotated[str, typer.Option(help="Bytes/s per broker for copies, such as 50MB.")] = "50MB",
    lake: Annotated[str, typer.Option(help="The lake's path or URL; by default the one that Guardian writes.")] = "",
    master: Annotated[str, typer.Option(help="The Spark master.")] = "local[*]",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan moves from the most to the least loaded disks and brokers, and make a draft ticket of each plan.

    Example: guardian plan balance --cluster live --window 30m --dry-run
    """
    if (out or rollback) and len(cluster) > 1:
        raise InvalidInput("--out and --rollback hold one cluster's plan: give one --cluster")
    window_ms = parse_duration_ms("window", window)
    rate = parse_rate(throttle)
    with connect(endpoints) as client:
        if not lake:
            lake = client.member().lake_url
        plans = _make_plans(lake, cluster, window_ms, master)
        for plan in plans:
            _write_files(plan, out, rollback)
        if output is Output.JSON:
            print_json([as_dict(plan_to_proto(plan)) for plan in plans])
        for plan in plans:
            if output is Output.TABLE:
                show_plan(plan)
            if dry_run or not plan.moves:
                continue
            ticket, _ = client.create_ticket(plan, author=actor(), throttle=rate)
            typer.echo(
                f"Draft ticket {ticket.id} for cluster {plan.cluster}. Next: guardian ticket submit {ticket.id}",
                err=output is Output.JSON,
            )


def _make_plans(lake: str, clusters: Sequence[str], window_ms: int, master: str) -> list[Plan]:
    try:
        from spark_analytics.jobs.balance import balance as balance_job
        from spark_analytics.jobs.session import local_session
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"`guardian plan` needs {error.name}, which is not installed: pip install 'kafka-guardian[analyze]'"
        ) from None

    until_ms = time.time_ns() // 1_000_000
    typer.echo(f"Reading {window_ms / 1000:g} s of the lake {lake} with Spark ({master})...", err=True)
    with local_session("guardian plan balance", master) as spark:
        plans = balance_job(spark, lake, clusters, until_ms - window_ms, until_ms)
    return [plans[name] for name in clusters]


def _write_files(plan: Plan, out: Path | None, rollback: Path | None) -> None:
    for path, target in ((out, True), (rollback, False)):
        if path is not None:
            try:
                path.write_text(reassignment_json.write(plan.moves, target=target))
            except OSError as error:
                raise InvalidInput(f"{path} can't be written: {error.strerror}") from None
            typer.echo(f"Wrote {path}", err=True)


def show_plan(plan: Plan) -> None:
    """Prints the plan's moves, and traffic before and after per broker and log dir."""
    print(f"Cluster {plan.cluster}: {len(plan.moves)} moves, {human_bytes(plan.bytes_to_copy)} to copy. {plan.input}")
    names = short_log_dirs(
        [place for move in plan.moves for place in (*move.original, *move.target)]
        + [ReplicaPlacement(load.broker, load.log_dir) for load in plan.loads if load.log_dir]
    )
    if plan.moves:
        print_table(
            ("PARTITION", "FROM", "TO", "COPY", "WHY"),
            [
                (
                    str(move.partition),
                    _places(move.original, names),
                    _places(move.target, names),
                    human_bytes(move.bytes_to_copy) if move.bytes_to_copy else "leader only",
                    shortened(move.reason, names),
                )
                for move in plan.moves
            ],
            right=("COPY",),
        )
    show_loads(plan.loads, names)


def show_loads(loads: Sequence[LoadSummary], names: Mapping[str, str]) -> None:
    """Prints traffic before and after, and the spread (max/mean - 1), per broker and per log dir.

    `names` are those that `short_log_dirs` gives.
    """
    for title, chosen in (
        ("broker", [load for load in loads if not load.log_dir]),
        ("log dir", [load for load in loads if load.log_dir]),
    ):
        if not chosen:
            continue
        print()
        print_table(
            (title.upper(), "BEFORE/s", "AFTER/s", "BEFORE", "AFTER"),
            [
                (
                    f"{load.broker}:{names.get(load.log_dir, load.log_dir)}" if load.log_dir else str(load.broker),
                    human_bytes(load.before),
                    human_bytes(load.after),
                    _bar(load.before, chosen),
                    _bar(load.after, chosen),
                )
                for load in chosen
            ],
            right=("BEFORE/s", "AFTER/s"),
        )
        before, after = spreads(chosen)[title]
        print(f"spread over {title}s (max/mean - 1): {before:.2f} -> {after:.2f}")


def short_log_dirs(places: Iterable[ReplicaPlacement]) -> dict[str, str]:
    """Log dir paths without what all of a broker's have in common: /data/kafka/d1 beside /data/kafka/d2 is d1."""
    by_broker: dict[int, set[str]] = {}
    for place in places:
        if place.log_dir != ANY_LOG_DIR:
            by_broker.setdefault(place.broker, set()).add(place.log_dir)
    names: dict[str, str] = {}
    for paths in by_broker.values():
        common = os.path.commonpath(paths) if len(paths) > 1 else str(Path(min(paths)).parent)
        for path in paths:
            names[path] = os.path.relpath(path, common)
    return names


def shortened(text: str, names: Mapping[str, str]) -> str:
    """A sentence with its log dirs' short names."""
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path])
    return text


def _bar(value: float, loads: Sequence[LoadSummary], width: int = 20) -> str:
    highest = max(max(load.before, load.after) for load in loads)
    return "█" * round(width * value / highest) if highest > 0 else ""


def _places(places: Sequence[ReplicaPlacement], names: Mapping[str, str]) -> str:
    return ", ".join(
        str(place.broker) if place.log_dir == ANY_LOG_DIR else f"{place.broker}:{names[place.log_dir]}"
        for place in places
    )


def describe_move(move: PartitionMove, names: Mapping[str, str]) -> str:
    """`[1:d0, 2:d1] -> [3:d0, 2:d1]`"""
    return f"[{_places(move.original, names)}] -> [{_places(move.target, names)}]"
